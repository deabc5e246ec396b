//! The allowed dependencies between crates: the table of ARCHITECTURE.md as data, compared with `cargo metadata`.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context as _, bail};
use serde::Deserialize;

use crate::workspace;

/// What one crate may depend on.
struct Charter {
    name: &'static str,
    /// Whether it may use burn.
    burn: bool,
    /// The project's crates that it uses.
    uses: &'static [&'static str],
}

const fn pure(name: &'static str, uses: &'static [&'static str]) -> Charter {
    Charter { name, burn: false, uses }
}

const fn tensors(name: &'static str, uses: &'static [&'static str]) -> Charter {
    Charter { name, burn: true, uses }
}

/// From the ground up: a crate uses only crates above it in this list.
const CHARTERS: &[Charter] = &[
    // For tests only: not listed in the crates' charters.
    pure("frostline-testing", &[]),
    pure("frostline-random", &[]),
    pure("frostline-files", &[]),
    pure("frostline-conllu", &[]),
    pure("frostline-freeze", &[]),
    pure("frostline-align", &["files"]),
    pure("frostline-record", &["files", "freeze"]),
    pure("frostline-score", &["random"]),
    pure("frostline-python", &["align", "conllu", "files", "freeze", "record", "score"]),
    pure("frostline-assets", &["files"]),
    pure("frostline-track", &["files"]),
    pure("frostline-report", &["record", "score"]),
    pure("frostline-sweep", &["assets", "conllu", "files", "freeze", "record", "report", "track"]),
    pure("frostline-watch", &["files", "record", "report", "sweep"]),
    tensors("frostline-kernels", &["random", "record"]),
    tensors("frostline-model", &["files", "kernels", "random"]),
    tensors("frostline-train", &["align", "freeze", "kernels", "model", "random", "record", "score"]),
    tensors("frostline-tagger", &["align", "files", "kernels", "model", "record"]),
    tensors(
        "frostline-cell",
        &[
            "align", "assets", "conllu", "files", "freeze", "kernels", "model", "random", "record", "score",
            "tagger", "train",
        ],
    ),
    pure(
        "frostline",
        &[
            "align", "assets", "cell", "conllu", "files", "freeze", "kernels", "model", "record", "score",
            "sweep", "tagger", "train", "watch",
        ],
    ),
    pure("xtask", &["assets", "files", "random", "record", "sweep"]),
    pure(
        "frostline-fuzz",
        &[
            "align", "assets", "conllu", "files", "model", "record", "report", "sweep", "track", "train",
            "watch",
        ],
    ),
    pure("frostline-e2e", &["cell", "files", "frostline", "record", "xtask"]),
];

/// The crates' names without the project's: `score`, `frostline`, `xtask`.
pub(super) fn short_names() -> impl Iterator<Item = String> {
    CHARTERS.iter().map(|charter| charter.name.strip_prefix("frostline-").unwrap_or(charter.name).into())
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// A crate of the workspace.
#[derive(Deserialize)]
pub(super) struct Package {
    pub name: String,
    pub dependencies: Vec<Dependency>,
}

/// What a crate depends on directly.
#[derive(Deserialize)]
pub(super) struct Dependency {
    pub name: String,
    /// `dev`, `build`, or `None` for a normal dependency.
    pub kind: Option<String>,
    /// The registry; `None` for a crate of the workspace.
    pub source: Option<String>,
}

/// The workspace's crates as `cargo metadata` describes them.
pub(super) fn packages() -> anyhow::Result<Vec<Package>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(workspace::root())
        .output()
        .context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    Ok(metadata.packages)
}

/// The differences between the workspace's crates and the charters.
pub(super) fn check(packages: &[Package]) -> Vec<String> {
    let place: BTreeMap<&str, usize> =
        CHARTERS.iter().enumerate().map(|(place, charter)| (charter.name, place)).collect();
    let mut faults = Vec::new();
    for package in packages {
        let name = &package.name;
        let Some(&at) = place.get(name.as_str()) else {
            faults.push(format!("{name}: a crate without a charter; add it to xtask/src/tidy/crates.rs"));
            continue;
        };
        let charter = &CHARTERS[at];
        let allowed: Vec<String> = charter.uses.iter().map(|short| full(short)).collect();
        for dependency in &package.dependencies {
            let other = dependency.name.as_str();
            let usual = dependency.kind.is_none();
            match place.get(other) {
                Some(&below) if !usual && below > at => {
                    faults.push(format!("{name}: its tests use {other}, which is not below it"));
                }
                Some(_) if usual && !allowed.iter().any(|allowed| allowed == other) => {
                    faults.push(format!("{name}: it uses {other}, which its charter does not name"));
                }
                None if !charter.burn && names_burn(other) => {
                    faults
                        .push(format!("{name}: it uses {other}, but only crates with tensors may use burn"));
                }
                _ => {}
            }
        }
        let used = |other: &&String| {
            package.dependencies.iter().any(|found| found.name == **other && found.kind.is_none())
        };
        for idle in allowed.iter().filter(|other| !used(other)) {
            faults.push(format!("{name}: its charter names {idle}, which it does not use"));
        }
    }
    let missing = CHARTERS.iter().filter(|charter| !packages.iter().any(|found| found.name == charter.name));
    faults.extend(missing.map(|charter| format!("{}: chartered, but not in the workspace", charter.name)));
    faults
}

fn full(short: &str) -> String {
    if ["xtask", "frostline"].contains(&short) { short.into() } else { format!("frostline-{short}") }
}

fn names_burn(dependency: &str) -> bool {
    ["burn", "cubecl"]
        .iter()
        .any(|family| dependency == *family || dependency.starts_with(&format!("{family}-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The workspace as chartered.
    fn chartered() -> Vec<Package> {
        let usual = |name: String| Dependency { name, kind: None, source: None };
        CHARTERS
            .iter()
            .map(|charter| Package {
                name: charter.name.into(),
                dependencies: charter.uses.iter().map(|short| usual(full(short))).collect(),
            })
            .collect()
    }

    fn with(package: &str, dependency: &str, kind: Option<&str>) -> Vec<String> {
        let mut packages = chartered();
        let found = packages.iter_mut().find(|found| found.name == package).expect("a crate");
        found.dependencies.push(Dependency {
            name: dependency.into(),
            kind: kind.map(String::from),
            source: None,
        });
        check(&packages)
    }

    #[test]
    fn charters_only_point_up_the_list() {
        for (at, charter) in CHARTERS.iter().enumerate() {
            for short in charter.uses {
                let other = CHARTERS.iter().position(|other| other.name == full(short));
                assert!(other.is_some_and(|other| other < at), "{} uses {short}", charter.name);
            }
        }
        assert_eq!(check(&chartered()), Vec::<String>::new());
    }

    #[test]
    fn each_breach_is_reported() {
        assert_eq!(with("frostline-score", "frostline-record", None).len(), 1);
        assert_eq!(with("frostline-score", "burn", None).len(), 1);
        assert_eq!(with("xtask", "burn-flex", None).len(), 1);
        assert_eq!(with("frostline-report", "burn", Some("dev")).len(), 1);
        assert_eq!(with("frostline-model", "burn", None).len(), 0);
        assert_eq!(with("frostline-record", "frostline-report", Some("dev")).len(), 1);
        assert_eq!(with("frostline-report", "frostline-random", Some("dev")).len(), 0);
        let fewer: Vec<Package> = chartered().into_iter().skip(1).collect();
        assert_eq!(check(&fewer).len(), 1);
    }
}
