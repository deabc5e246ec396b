//! `cargo xtask sbom`: the bill of materials of a build of `frostline`, as CycloneDX 1.6.
//!
//! `cargo tree` lists the crates of the build, with its features and its platform, and which depends on which; `Cargo.lock` has
//! the SHA-256 of their archives. The file has no clock and no random number, so the same commit gives the same file.
//!
//! cargo-cyclonedx 0.5.9 does not replace it: it lists 669 crates, which all members and features need, although the
//! build has 366, and it writes paths of the machine and the time into the file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use anyhow::{Context as _, bail};
use frostline_sweep::Ending;
use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::say;
use serde_json::{Value, json};
use toml::Table;

use crate::args::SbomArgs;
use crate::workspace;

/// Writes the bill of materials.
pub(crate) fn write_sbom(args: &SbomArgs) -> CommandResult<Ending> {
    let mut command =
        workspace::cargo_command("tree --locked --package frostline --edges normal,build --prefix depth");
    command.args(["--format", "\t{p}\t{l}\t{r}\t", "--features", &args.features.join(",")]);
    command.args(args.no_default_features.then_some("--no-default-features"));
    command.args(args.target.iter().flat_map(|target| ["--target", target]));
    let tree = workspace::command_output(&mut command).blame_environment()?;
    let lock = std::fs::read_to_string(workspace::workspace_root().join("Cargo.lock"))
        .context("Cargo.lock")
        .blame_environment()?;
    let bill =
        bill_of(&tree, &lock.parse().context("Cargo.lock").blame_environment()?).blame_environment()?;
    let text = serde_json::to_string_pretty(&bill).expect("plain data always serialises") + "\n";
    match &args.out {
        None => std::io::stdout().write_all(text.as_bytes()).blame_environment()?,
        Some(path) => {
            let written = std::fs::write(path, text).with_context(|| path.display().to_string());
            written.blame_environment()?;
            say!("{}: {} components", path.display(), bill["components"].as_array().map_or(0, Vec::len));
        }
    }
    Ok(Ending::Done)
}

/// The document for the lines of `cargo tree`, whose first is the program: depth, crate, licence and repository between tabs.
fn bill_of(tree: &str, lock: &Table) -> anyhow::Result<Value> {
    let checksums = archive_checksums(lock);
    let (mut components, mut dependencies) = (BTreeMap::new(), BTreeMap::<String, BTreeSet<String>>::new());
    let mut above: Vec<String> = Vec::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let [depth, package, licence, repository, _] = *line.split('\t').collect::<Vec<_>>() else {
            bail!("cargo tree: `{line}`");
        };
        let mut words = package.split(' ');
        let (name, version) = words
            .next()
            .zip(words.next().and_then(|word| word.strip_prefix('v')))
            .with_context(|| format!("cargo tree: `{line}`"))?;
        let checksum = checksums.get(&(name, version));
        // A crate of the workspace is in no registry.
        let kind = if checksum.is_some() { "cargo" } else { "generic" };
        let purl = format!("pkg:{kind}/{name}@{}", version.replace('+', "%2B"));
        above.truncate(depth.parse().with_context(|| format!("cargo tree: `{line}`"))?);
        if let Some(parent) = above.last() {
            dependencies.entry(parent.clone()).or_default().insert(purl.clone());
        }
        dependencies.entry(purl.clone()).or_default();
        let mut component = json!({
            "type": if above.is_empty() { "application" } else { "library" },
            "bom-ref": purl, "name": name, "version": version, "purl": purl,
        });
        if let Some(checksum) = checksum {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        if !licence.is_empty() {
            // Older crates write `MIT/Apache-2.0`, which is no SPDX expression.
            let expression = licence.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ");
            component["licenses"] = json!([{ "expression": expression }]);
        }
        if !repository.is_empty() {
            component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
        }
        components.insert(purl.clone(), component);
        above.push(purl);
    }
    let program = above.first().and_then(|program| components.remove(program));
    let dependencies = dependencies.iter().map(|(from, on)| json!({ "ref": from, "dependsOn": on }));
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": program.context("cargo tree lists no crate")? },
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    }))
}

/// The SHA-256 of each archive, by name and version.
fn archive_checksums<'a>(lock: &'a Table) -> BTreeMap<(&'a str, &'a str), &'a str> {
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let entry = |package: &'a toml::Value| {
        let [name, version, checksum] = ["name", "version", "checksum"].map(|key| package.get(key)?.as_str());
        Some(((name?, version?), checksum?))
    };
    packages.filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_has_what_the_build_has() {
        let tree = "0\tfrostline v0.1.0 (folder)\tMIT\t\t\n1\tzip v1.0.0+a (proc-macro)\tMIT/Apache-2.0\thttps://e.org\t\n\
                    2\ta v1.0.0\t\t\t\n1\ta v1.0.0\t\t\t (*)\n";
        let checksum = "00".repeat(32);
        let lock = format!(
            "[[package]]\nname = \"zip\"\nversion = \"1.0.0+a\"\nchecksum = \"{checksum}\"\n\
                            [[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"1\"\n"
        );
        let bill = bill_of(tree, &lock.parse().expect("a lock file")).expect("a bill");
        assert_eq!(bill["metadata"]["component"]["bom-ref"], "pkg:generic/frostline@0.1.0");
        assert_eq!(bill["components"].as_array().expect("two crates").len(), 2);
        let zip = json!({
            "type": "library",
            "bom-ref": "pkg:cargo/zip@1.0.0%2Ba",
            "name": "zip",
            "version": "1.0.0+a",
            "hashes": [{ "alg": "SHA-256", "content": checksum }],
            "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            "purl": "pkg:cargo/zip@1.0.0%2Ba",
            "externalReferences": [{ "type": "vcs", "url": "https://e.org" }],
        });
        assert_eq!(bill["components"][1], zip);
        assert_eq!(
            bill["dependencies"],
            json!([
                { "ref": "pkg:cargo/a@1.0.0", "dependsOn": [] },
                { "ref": "pkg:cargo/zip@1.0.0%2Ba", "dependsOn": ["pkg:cargo/a@1.0.0"] },
                { "ref": "pkg:generic/frostline@0.1.0", "dependsOn": ["pkg:cargo/a@1.0.0", "pkg:cargo/zip@1.0.0%2Ba"] },
            ])
        );
    }

    #[test]
    fn other_output_of_cargo_is_an_error() {
        for tree in ["", "frostline v0.1.0\n", "x\tfrostline v0.1.0\t\t\t\n", "0\tfrostline\t\t\t\n"] {
            assert!(bill_of(tree, &Table::new()).is_err(), "{tree}");
        }
    }
}
