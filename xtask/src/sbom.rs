//! `cargo xtask sbom`: the bill of materials of a build of `frostline`, as CycloneDX 1.6.
//!
//! `cargo tree` says which crates the build has with its features and its platform, `cargo metadata` what they are and
//! what depends on what, and `Cargo.lock` the SHA-256 of their archives. There is no clock and no random number in it,
//! so the same commit gives the same file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::Command;

use anyhow::{Context as _, bail};
use frostline_sweep::Ending;
use frostline_sweep::fault::{Blame as _, Result};
use frostline_sweep::say;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::SbomArgs;
use crate::workspace;

/// The program that is described.
const ROOT: &str = "frostline";

/// Name and version.
type Id = (String, String);

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Clone, Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    /// `None` for a crate of the workspace.
    source: Option<String>,
    license: Option<String>,
    description: Option<String>,
    repository: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
struct EdgeKind {
    /// `dev`, `build`, or `None` for a normal dependency.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

/// Writes the bill of materials.
pub(crate) fn sbom(args: &SbomArgs) -> Result<Ending> {
    let bill = bill_of(args).environment()?;
    let text = serde_json::to_string_pretty(&bill).expect("plain data always serialises") + "\n";
    match &args.out {
        None => std::io::stdout().write_all(text.as_bytes()).environment()?,
        Some(path) => {
            let written = std::fs::write(path, text).with_context(|| path.display().to_string());
            written.environment()?;
            let count = bill["components"].as_array().map_or(0, Vec::len);
            say!("{}: {count} components", path.display());
        }
    }
    Ok(Ending::Done)
}

fn bill_of(args: &SbomArgs) -> anyhow::Result<Value> {
    let mut features = Vec::new();
    if args.no_default_features {
        features.push("--no-default-features".to_string());
    }
    if !args.features.is_empty() {
        features.extend(["--features".into(), args.features.join(",")]);
    }
    let mut tree = vec!["tree", "--locked", "--package", ROOT, "--edges", "normal,build"];
    tree.extend(["--prefix", "none", "--format", "{p}"]);
    let mut tree: Vec<String> = tree.into_iter().map(String::from).chain(features.clone()).collect();
    if let Some(target) = &args.target {
        tree.extend(["--target".into(), target.clone()]);
    }
    let in_build = listed(&cargo(&tree)?)?;
    // Of all crates and platforms; the build's are chosen below.
    let all = ["metadata", "--locked", "--all-features", "--format-version", "1"].map(String::from);
    let metadata: Metadata = serde_json::from_str(&cargo(&all)?).context("cargo metadata")?;
    let lock = std::fs::read_to_string(workspace::root().join("Cargo.lock")).context("Cargo.lock")?;
    let lock: Lock = toml::from_str(&lock).context("Cargo.lock")?;
    document(&in_build, &metadata, &lock)
}

/// The output of a call of cargo.
fn cargo(arguments: &[String]) -> anyhow::Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(arguments).current_dir(workspace::root()).output();
    let output = output.context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("cargo {}: {}", arguments[0], String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).context("cargo's output is not UTF-8")
}

/// The crates in the output of `cargo tree`: lines of `NAME vVERSION`, perhaps with more behind.
fn listed(tree: &str) -> anyhow::Result<BTreeSet<Id>> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        Some((name.to_string(), version.to_string()))
    };
    let lines = tree.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| of_line(line).with_context(|| format!("cargo tree: `{line}`"))).collect()
}

/// The document of the crates that the build has.
fn document(in_build: &BTreeSet<Id>, metadata: &Metadata, lock: &Lock) -> anyhow::Result<Value> {
    let checksums = lock.package.iter().filter_map(|locked| {
        Some(((locked.name.as_str(), locked.version.as_str()), locked.checksum.as_deref()?))
    });
    let checksums: BTreeMap<(&str, &str), &str> = checksums.collect();
    let has = |package: &&Package| in_build.contains(&(package.name.clone(), package.version.clone()));
    let mut packages: Vec<&Package> = metadata.packages.iter().filter(has).collect();
    packages.sort_by_key(|package| (&package.name, &package.version));
    if packages.len() != in_build.len() {
        bail!("cargo tree has {} crates, but cargo metadata describes {}", in_build.len(), packages.len());
    }
    let references: BTreeMap<&str, String> =
        packages.iter().map(|package| (package.id.as_str(), purl(package))).collect();
    let program = packages.iter().find(|package| package.name == ROOT);
    let program = program.with_context(|| format!("the build has no crate {ROOT}"))?;
    let component = |package: &Package, kind: &str| {
        component(package, kind, checksums.get(&(package.name.as_str(), package.version.as_str())))
    };
    let others = packages.iter().filter(|package| package.name != ROOT);
    let components: Vec<Value> = others.map(|package| component(package, "library")).collect();
    let mut dependencies: Vec<Value> = Vec::new();
    for package in &packages {
        let node = metadata.resolve.nodes.iter().find(|node| node.id == package.id);
        let edges = node.into_iter().flat_map(|node| &node.deps);
        let used = edges.filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev")));
        let on: BTreeSet<&String> = used.filter_map(|edge| references.get(edge.pkg.as_str())).collect();
        dependencies.push(json!({ "ref": purl(package), "dependsOn": on }));
    }
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": component(program, "application") },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn component(package: &Package, kind: &str, checksum: Option<&&str>) -> Value {
    let mut component = json!({
        "type": kind,
        "bom-ref": purl(package),
        "name": package.name,
        "version": package.version,
    });
    let fields = component.as_object_mut().expect("an object");
    if let Some(description) = &package.description {
        let words: Vec<&str> = description.split_whitespace().collect();
        fields.insert("description".into(), words.join(" ").into());
    }
    if let Some(checksum) = checksum {
        fields.insert("hashes".into(), json!([{ "alg": "SHA-256", "content": checksum }]));
    }
    if let Some(license) = &package.license {
        // Older crates write `MIT/Apache-2.0`, which is no SPDX expression.
        let expression = license.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ");
        fields.insert("licenses".into(), json!([{ "expression": expression }]));
    }
    fields.insert("purl".into(), purl(package).into());
    if let Some(repository) = &package.repository {
        fields.insert("externalReferences".into(), json!([{ "type": "vcs", "url": repository }]));
    }
    component
}

/// The package URL, which also identifies the component in the document. A crate of the workspace is in no registry.
fn purl(package: &Package) -> String {
    let version = package.version.replace('+', "%2B");
    match &package.source {
        Some(_) => format!("pkg:cargo/{}@{version}", package.name),
        None => format!("pkg:generic/{}@{version}", package.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, source: Option<&str>) -> Package {
        Package {
            id: format!("{name}#{version}"),
            name: name.into(),
            version: version.into(),
            source: source.map(String::from),
            license: Some("MIT/Apache-2.0".into()),
            description: Some("Two\n lines ".into()),
            repository: None,
        }
    }

    fn node(id: &str, on: &[(&str, Option<&str>)]) -> Node {
        let edge = |(pkg, kind): &(&str, Option<&str>)| Edge {
            pkg: (*pkg).into(),
            dep_kinds: vec![EdgeKind { kind: kind.map(String::from) }],
        };
        Node { id: id.into(), deps: on.iter().map(edge).collect() }
    }

    #[test]
    fn a_bill_has_what_the_build_has() {
        let metadata = Metadata {
            packages: vec![
                package("insta", "1.0.0", Some("registry")),
                package("zip", "1.0.0+a", Some("registry")),
                package("frostline", "0.1.0", None),
            ],
            resolve: Resolve {
                nodes: vec![
                    node("frostline#0.1.0", &[("zip#1.0.0+a", Some("build")), ("insta#1.0.0", Some("dev"))]),
                    node("zip#1.0.0+a", &[]),
                    node("insta#1.0.0", &[]),
                ],
            },
        };
        let checksum = Some("00".repeat(32));
        let locked = Locked { name: "zip".into(), version: "1.0.0+a".into(), checksum: checksum.clone() };
        let lock = Lock { package: vec![locked] };
        let tree = "frostline v0.1.0 (folder)\nzip v1.0.0+a\nzip v1.0.0+a (*)\n";
        let in_build = listed(tree).expect("two crates");
        let bill = document(&in_build, &metadata, &lock).expect("a bill");
        assert_eq!(bill["metadata"]["component"]["bom-ref"], "pkg:generic/frostline@0.1.0");
        let zip = json!({
            "type": "library",
            "bom-ref": "pkg:cargo/zip@1.0.0%2Ba",
            "name": "zip",
            "version": "1.0.0+a",
            "description": "Two lines",
            "hashes": [{ "alg": "SHA-256", "content": checksum }],
            "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            "purl": "pkg:cargo/zip@1.0.0%2Ba",
        });
        assert_eq!(bill["components"], json!([zip]));
        assert_eq!(
            bill["dependencies"],
            json!([
                { "ref": "pkg:generic/frostline@0.1.0", "dependsOn": ["pkg:cargo/zip@1.0.0%2Ba"] },
                { "ref": "pkg:cargo/zip@1.0.0%2Ba", "dependsOn": [] },
            ])
        );
        let more = listed("frostline v0.1.0\nserde v1.0.0\n").expect("two crates");
        assert!(document(&more, &metadata, &lock).is_err(), "a crate that is not described");
    }

    #[test]
    fn other_output_of_cargo_is_an_error() {
        assert!(listed("frostline v0.1.0\n\n[build-dependencies]\n").is_err());
    }
}
