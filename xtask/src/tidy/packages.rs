//! Manifests of crates that can be published: what a registry shows of them, what goes into the package, and that a package
//! compiles without the rest of the workspace.

use std::path::{Component, Path};

use toml::{Table, Value};

/// Crates that others use and that are not published.
const UNPUBLISHED: [&str; 3] = ["frostline-bench", "frostline-python", "frostline-testing"];

/// The files of licences that a package contains.
pub(crate) const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The faults of the manifests and sources among these files; `read` gives a file's text.
pub(super) fn check_manifests(tracked: &[String], read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let parse = |name: &str| read(name).and_then(|text| text.parse::<Table>().ok());
    let Some(workspace) = parse("Cargo.toml") else { return vec!["Cargo.toml: it cannot be read".into()] };
    let mut faults = version_faults(&workspace);
    for name in tracked {
        let Some(folder) = name.strip_suffix("/Cargo.toml") else { continue };
        let Some(manifest) = parse(name) else { continue };
        let published = is_published(folder);
        let says = manifest["package"].get("publish").and_then(Value::as_bool) != Some(false);
        if published != says {
            faults.push(format!("{name}: publish is {says}, expected {published}"));
        }
        if published {
            faults.extend(manifest_faults(&manifest).into_iter().map(|fault| format!("{name}: {fault}")));
            faults.extend(licence_faults(folder, &read));
        }
    }
    for name in tracked.iter().filter(|name| name.ends_with(".rs")) {
        let Some(folder) = name.split("/src/").next().filter(|folder| is_published(folder)) else { continue };
        let text = read(name).unwrap_or_default();
        faults.extend(outside_includes(name, folder, &text));
    }
    faults
}

/// Whether the crate in this folder can be published.
pub(crate) fn is_published(folder: &str) -> bool {
    let name = folder.strip_prefix("crates/").filter(|name| !name.contains('/'));
    name.is_some_and(|name| !UNPUBLISHED.contains(&name))
}

/// Each crate of the workspace that others use has exactly its version, so that a package finds the others.
fn version_faults(workspace: &Table) -> Vec<String> {
    let version = workspace["workspace"]["package"]["version"].as_str().unwrap_or_default();
    let dependencies = workspace["workspace"]["dependencies"].as_table().into_iter().flatten();
    let ours = dependencies.filter(|(_, value)| value.get("path").is_some());
    let mut faults = Vec::new();
    for (name, value) in ours {
        let expected = (!UNPUBLISHED.contains(&name.as_str())).then(|| format!("={version}"));
        let found = value.get("version").and_then(Value::as_str);
        if found != expected.as_deref() {
            faults.push(format!("Cargo.toml: {name} has the version {found:?}, expected {expected:?}"));
        }
    }
    faults
}

/// What a manifest lacks.
fn manifest_faults(manifest: &Table) -> Vec<String> {
    let package = &manifest["package"];
    let list = |key: &str| -> Vec<&str> {
        let values = package.get(key).and_then(Value::as_array).into_iter().flatten();
        values.filter_map(Value::as_str).collect()
    };
    let mut faults = Vec::new();
    for key in ["description", "readme"] {
        if package.get(key).and_then(Value::as_str).is_none_or(str::is_empty) {
            faults.push(format!("`{key}` is missing"));
        }
    }
    let keywords = list("keywords");
    if !(1..=5).contains(&keywords.len()) || keywords.iter().any(|word| !is_keyword(word)) {
        faults.push(format!(
            "keywords {keywords:?}: expected one to five of at most 20 letters, digits, - or _"
        ));
    }
    if !(1..=5).contains(&list("categories").len()) {
        faults.push("`categories` has none, or more than five".into());
    }
    faults
}

fn is_keyword(word: &str) -> bool {
    let letters = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    letters && word.len() <= 20 && word.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Checks that a crate has the licences of the workspace. They are links, which `cargo package` follows.
fn licence_faults(folder: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let differs =
        |licence: &str| read(licence).is_none() || read(&format!("{folder}/{licence}")) != read(licence);
    let fault = |licence| format!("{folder}/{licence}: expected a link to ../../{licence}");
    LICENCES.into_iter().filter(|licence| differs(licence)).map(fault).collect()
}

/// Files outside of the crate's folder that its sources contain. Tests may: they are not compiled in a package.
fn outside_includes(name: &str, folder: &str, text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let depth = Path::new(name).components().count() - Path::new(folder).components().count() - 1;
    let mut faults = Vec::new();
    for (at, line) in code.lines().enumerate() {
        for kind in ["include_str!(", "include_bytes!(", "include!("] {
            let Some((_, rest)) = line.split_once(kind) else { continue };
            let path = rest.split('"').nth(1).unwrap_or_default();
            let up = Path::new(path).components().filter(|part| *part == Component::ParentDir).count();
            if up > depth {
                faults.push(format!("{name}:{}: {path} is outside of the package", at + 1));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str = "[workspace.package]\nversion = \"1.2.0\"\n[workspace.dependencies]\n\
                             frostline-a = { path = \"crates/frostline-a\", version = \"=1.2.0\" }\n\
                             frostline-testing = { path = \"crates/frostline-testing\" }\nserde = \"1\"\n";
    const GOOD: &str = "[package]\nname = \"frostline-a\"\ndescription = \"A\"\nreadme = \"README.md\"\n\
                        keywords = [\"nlp\"]\ncategories = [\"science\"]\ninclude = [\"/src\", \"/README.md\", \"/LICENSE-*\", \"!*.snap\"]\n";

    fn faults_of(workspace: &str, manifest: &str, source: &str) -> Vec<String> {
        let tracked = ["crates/frostline-a/Cargo.toml", "crates/frostline-a/src/b/c.rs", "xtask/Cargo.toml"]
            .map(String::from);
        check_manifests(&tracked, |name| match name {
            "Cargo.toml" => Some(workspace.into()),
            "xtask/Cargo.toml" => Some("[package]\npublish = false\n".into()),
            "crates/frostline-a/Cargo.toml" => Some(manifest.into()),
            "crates/frostline-a/src/b/c.rs" => Some(source.into()),
            _ => name.contains("LICENSE").then(|| "free".into()),
        })
    }

    #[test]
    fn a_complete_manifest_has_no_fault() {
        let source = "const A: &str = include_str!(\"../../README.md\");\n#[cfg(test)]\nmod tests {\n\
                      const B: &str = include_str!(\"../../../x\");\n}\n";
        assert_eq!(faults_of(WORKSPACE, GOOD, source), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_is_a_fault() {
        for (from, to) in [
            ("description = \"A\"\n", ""),
            ("[\"nlp\"]", "[]"),
            ("[\"nlp\"]", "[\"a keyword\"]"),
            ("[\"science\"]", "[]"),
            ("readme", "publish = false\nreadme"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let found = faults_of(WORKSPACE, &GOOD.replace(from, to), "");
            assert_eq!(found.len(), 1, "{from}: {found:?}");
        }
        assert_eq!(faults_of(&WORKSPACE.replace(", version = \"=1.2.0\"", ""), GOOD, "").len(), 1);
        assert_eq!(faults_of(WORKSPACE, GOOD, "const A: &str = include_str!(\"../../../x\");").len(), 1);
    }
}
