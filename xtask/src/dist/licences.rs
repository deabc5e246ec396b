//! The licences of all crates in a program, with their texts: most of them require that these are passed on with it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::workspace;

/// How the names of files with licences begin, in lower case.
const BEGINNINGS: [&str; 5] = ["licen", "copying", "notice", "copyright", "unlicense"];

/// A crate in the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LicensedCrate {
    name: String,
    version: String,
    licence: String,
    repository: String,
    folder: PathBuf,
}

/// Returns the text of all licences in the program for this target.
pub(super) fn licence_texts(triple: &str) -> anyhow::Result<String> {
    let mut tree = workspace::cargo_command(
        "tree --locked --package frostline --edges normal --prefix none --format {p} --target",
    );
    let tree = workspace::command_output(tree.arg(triple))?;
    let mut metadata = workspace::cargo_command("metadata --locked --format-version 1");
    let metadata = workspace::command_output(&mut metadata)?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata")?;
    let crates = crates_of(&tree, &metadata);
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for one in &crates {
        for text in read_licences(&one.folder)? {
            texts.entry(text).or_default().insert(format!("{} {}", one.name, one.version));
        }
    }
    Ok(compose(&crates, &texts))
}

/// Returns the crates of registries that `cargo tree` lists as `NAME vVERSION`.
fn crates_of(tree: &str, metadata: &Value) -> BTreeSet<LicensedCrate> {
    let in_program: BTreeSet<(&str, &str)> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let found = packages.filter(|package| !package["source"].is_null()).filter_map(|package| {
        let text = |key: &str| package[key].as_str().unwrap_or_default().to_string();
        let (name, version) = (text("name"), text("version"));
        in_program.contains(&(name.as_str(), version.as_str())).then(|| LicensedCrate {
            licence: text("license"),
            repository: text("repository"),
            folder: Path::new(&text("manifest_path")).parent().unwrap_or(Path::new("")).into(),
            name,
            version,
        })
    });
    found.collect()
}

/// Returns the texts in a crate's folder, with the ends of lines of Unix.
fn read_licences(folder: &Path) -> anyhow::Result<BTreeSet<String>> {
    let place = || folder.display().to_string();
    let mut texts = BTreeSet::new();
    for entry in std::fs::read_dir(folder).with_context(place)? {
        let entry = entry.with_context(place)?;
        let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
        let is_code = name.ends_with(".rs");
        if !is_code && entry.path().is_file() && BEGINNINGS.iter().any(|start| name.starts_with(start)) {
            let bytes = std::fs::read(entry.path()).with_context(place)?;
            texts.insert(String::from_utf8_lossy(&bytes).replace("\r\n", "\n").trim().to_string());
        }
    }
    Ok(texts)
}

fn compose(crates: &BTreeSet<LicensedCrate>, texts: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut all = String::from(
        "This program contains the crates below and the standard library of Rust (MIT OR Apache-2.0).\nTheir licences follow the list.\n\n",
    );
    for LicensedCrate { name, version, licence, repository, .. } in crates {
        let line = format!("{name} {version}: {licence}, {repository}");
        all.push_str(line.trim_end_matches([',', ' ']));
        all.push('\n');
    }
    for (text, owners) in texts {
        let owners: Vec<&str> = owners.iter().map(String::as_str).collect();
        all.push_str(&format!("\n{}\n{}\n\n{text}\n", "=".repeat(80), owners.join(", ")));
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_crates_of_the_program_count_and_a_shared_text_is_there_once() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, file, text) in [
            ("a", "LICENSE-MIT", "MIT\r\ntext"),
            ("b", "license.txt", "MIT\ntext\n"),
            ("b", "licence.rs", "code"),
            ("c", "COPYING", "other"),
        ] {
            std::fs::create_dir_all(folder.path().join(name)).expect("a folder");
            std::fs::write(folder.path().join(name).join(file), text).expect("a file");
        }
        let package = |name: &str, source: Value| {
            let manifest = folder.path().join(name).join("Cargo.toml");
            json!({"name": name, "version": "1.0.0", "license": "MIT", "source": source, "manifest_path": manifest})
        };
        let metadata = json!({"packages": [package("a", json!("r")), package("b", json!("r")),
            package("c", json!("r")), package("frostline", Value::Null)]});
        let crates =
            crates_of("frostline v1.0.0 (folder)\na v1.0.0\nb v1.0.0\nc v2.0.0\na v1.0.0 (*)\n", &metadata);
        let names: Vec<&str> = crates.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for one in &crates {
            for text in read_licences(&one.folder).expect("texts") {
                texts.entry(text).or_default().insert(one.name.clone());
            }
        }
        let all = compose(&crates, &texts);
        assert_eq!(all.matches("MIT\ntext").count(), 1, "{all}");
        assert!(all.contains("\na, b\n\nMIT\ntext\n") && all.contains("a 1.0.0: MIT\n"), "{all}");
        assert!(!all.contains("code") && !all.contains("other"), "{all}");
    }
}
