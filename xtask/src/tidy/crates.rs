//! The allowed dependencies between crates: the table of ARCHITECTURE.md, compared with `cargo metadata`.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde::Deserialize;

use crate::{markdown, workspace};

/// The page with the table.
pub(super) const PAGE: &str = "ARCHITECTURE.md";

/// What one crate may depend on: a row of the table.
#[derive(Debug)]
pub(super) struct Charter {
    name: String,
    /// Whether it may use burn.
    burn: bool,
    /// The project's crates that it uses.
    uses: Vec<String>,
}

/// The rows of the table, from the ground up: a crate uses only crates above it. Tests may use `frostline-testing` too.
pub(super) fn parse_charters(page: &str) -> Vec<Charter> {
    let row = |cells: Vec<&str>| {
        let [name, _, burn, uses] = cells[..] else { return None };
        let uses = uses.split(',').map(str::trim).filter(|name| !name.is_empty()).map(full_name).collect();
        let name = name.strip_prefix('`')?.strip_suffix('`')?.to_string();
        Some(Charter { name, burn: burn == "yes", uses })
    };
    markdown::table_rows_below(page, "## Crates").into_iter().filter_map(row).collect()
}

/// The crate's name without the project's: `score`, `frostline`, `xtask`.
pub(super) fn short_name(charter: &Charter) -> &str {
    charter.name.strip_prefix("frostline-").unwrap_or(&charter.name)
}

/// The crate that a table calls `score`, `frostline` or `xtask`.
pub(super) fn full_name(short: &str) -> String {
    if ["xtask", "frostline"].contains(&short) { short.into() } else { format!("frostline-{short}") }
}

#[derive(Deserialize)]
struct CargoMetadata {
    packages: Vec<Package>,
}

/// A crate of the workspace.
#[derive(Deserialize)]
pub(super) struct Package {
    pub name: String,
    pub dependencies: Vec<PackageDependency>,
}

/// What a crate depends on directly.
#[derive(Deserialize)]
pub(super) struct PackageDependency {
    pub name: String,
    /// `dev`, `build`, or `None` for a normal dependency.
    pub kind: Option<String>,
    /// The registry; `None` for a crate of the workspace.
    pub source: Option<String>,
}

/// The workspace's crates as `cargo metadata` describes them.
pub(super) fn workspace_packages() -> anyhow::Result<Vec<Package>> {
    let text =
        workspace::command_output(&mut workspace::cargo_command("metadata --no-deps --format-version 1"))?;
    Ok(serde_json::from_str::<CargoMetadata>(&text).context("cargo metadata")?.packages)
}

/// The differences between the workspace's crates and the charters.
pub(super) fn check_charters(packages: &[Package], charters: &[Charter]) -> Vec<String> {
    let place: BTreeMap<&str, usize> =
        charters.iter().enumerate().map(|(place, charter)| (charter.name.as_str(), place)).collect();
    let mut faults = Vec::new();
    for (at, charter) in charters.iter().enumerate() {
        for other in
            charter.uses.iter().filter(|other| place.get(other.as_str()).is_none_or(|&other| other >= at))
        {
            faults.push(format!("{}: {PAGE} lists {other}, which is not above it", charter.name));
        }
    }
    for package in packages {
        let name = &package.name;
        let Some(&at) = place.get(name.as_str()) else {
            faults.push(format!("{name}: a crate without a row in {PAGE}"));
            continue;
        };
        let charter = &charters[at];
        for dependency in &package.dependencies {
            let other = dependency.name.as_str();
            let usual = dependency.kind.is_none();
            match place.get(other) {
                Some(&below) if !usual && below > at => {
                    faults.push(format!("{name}: its tests use {other}, which is not above it in {PAGE}"));
                }
                Some(_) if usual && !charter.uses.iter().any(|allowed| allowed == other) => {
                    faults.push(format!("{name}: it uses {other}, which its row in {PAGE} does not list"));
                }
                None if !charter.burn && names_burn(other) => {
                    faults
                        .push(format!("{name}: it uses {other}, but its row in {PAGE} does not allow burn"));
                }
                _ => {}
            }
        }
        let used = |other: &&String| {
            package.dependencies.iter().any(|found| found.name == **other && found.kind.is_none())
        };
        for idle in charter.uses.iter().filter(|other| !used(other)) {
            faults.push(format!("{name}: its row in {PAGE} lists {idle}, which it does not use"));
        }
    }
    let missing = charters.iter().filter(|charter| !packages.iter().any(|found| found.name == charter.name));
    faults.extend(missing.map(|charter| format!("{}: in {PAGE}, but not in the workspace", charter.name)));
    faults
}

fn names_burn(dependency: &str) -> bool {
    ["burn", "cubecl"].contains(&dependency.split('-').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "## Crates\n\n| crate | purpose | burn | uses |\n|---|---|---|---|\n| `frostline-a` | a | no | |\n\
                         | `frostline-b` | b | yes | a |\n| `xtask` | c | no | a, b |\n\n## More\n";

    /// The workspace of a table, with one more dependency.
    fn with_dependency(table: &str, package: &str, dependency: &str, kind: Option<&str>) -> Vec<String> {
        let new = |name: &str, kind: Option<&str>| PackageDependency {
            name: name.into(),
            kind: kind.map(String::from),
            source: None,
        };
        let crates = [
            ("frostline-a", vec![]),
            ("frostline-b", vec!["frostline-a"]),
            ("xtask", vec!["frostline-a", "frostline-b"]),
        ];
        let mut packages: Vec<Package> = crates
            .into_iter()
            .map(|(name, uses)| Package {
                name: name.into(),
                dependencies: uses.into_iter().map(|name| new(name, None)).collect(),
            })
            .collect();
        let found = packages.iter_mut().find(|found| found.name == package).expect("a crate");
        found.dependencies.push(new(dependency, kind));
        check_charters(&packages, &parse_charters(table))
    }

    #[test]
    fn each_breach_is_reported() {
        for (package, dependency, kind, faults) in [
            ("xtask", "serde", None, 0),
            ("frostline-a", "frostline-b", None, 1),
            ("frostline-a", "burn", None, 1),
            ("xtask", "burn-flex", Some("dev"), 1),
            ("frostline-b", "cubecl-core", None, 0),
            ("frostline-a", "frostline-b", Some("dev"), 1),
            ("frostline-b", "frostline-a", Some("dev"), 0),
        ] {
            assert_eq!(
                with_dependency(TABLE, package, dependency, kind).len(),
                faults,
                "{package} {dependency} {kind:?}"
            );
        }
        for (from, to) in [
            ("| `frostline-a` | a | no | |\n", "| `frostline-a` | a | no | xtask |\n"),
            ("| a, b |\n", "| a |\n"),
            ("\n## More", "| `frostline-d` | d | no | |\n\n## More"),
        ] {
            assert!(!with_dependency(&TABLE.replace(from, to), "xtask", "serde", None).is_empty(), "{to}");
        }
    }
}
