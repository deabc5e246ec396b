//! Each direct dependency has a reason: the tables of docs/dependencies.md, compared with `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};

use super::crates::{Package, full_name};
use crate::markdown;

/// The page with the reasons.
pub(super) const PAGE: &str = "docs/dependencies.md";

/// The headings of the two tables.
const PROGRAM: &str = "## In libraries and programs";
const TESTS: &str = "## In tests and benchmarks only";

/// A table: the crates that use each dependency, by its name.
type DependencyTable = BTreeMap<String, BTreeSet<String>>;

/// The differences between the page and the packages of the workspace.
pub(super) fn check_dependencies(packages: &[Package], page: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (heading, for_tests) in [(PROGRAM, false), (TESTS, true)] {
        let (written, mut wrong) = read_table(page, heading);
        faults.append(&mut wrong);
        faults.extend(list_differences(heading, &written, &used_dependencies(packages, for_tests)));
    }
    faults
}

/// The direct dependencies from a registry. One that a crate uses in its code and in its tests is counted for its code
/// alone.
fn used_dependencies(packages: &[Package], for_tests: bool) -> DependencyTable {
    let mut table = DependencyTable::new();
    for package in packages {
        let external = package.dependencies.iter().filter(|dependency| dependency.source.is_some());
        let of_tests = |kind: &Option<String>| kind.as_deref() == Some("dev");
        let in_code: BTreeSet<&str> = external
            .clone()
            .filter(|dependency| !of_tests(&dependency.kind))
            .map(|dependency| dependency.name.as_str())
            .collect();
        for dependency in external {
            if for_tests != in_code.contains(dependency.name.as_str()) {
                table.entry(dependency.name.clone()).or_default().insert(package.name.clone());
            }
        }
    }
    table
}

/// The table below a heading: dependency, crates between commas, reason. Crates are written without `frostline-`.
fn read_table(page: &str, heading: &str) -> (DependencyTable, Vec<String>) {
    let (mut table, mut faults) = (DependencyTable::new(), Vec::new());
    for cells in markdown::table_rows_below(page, heading) {
        let [name, users, reason] = cells[..] else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else { continue };
        if reason.len() < 10 {
            faults.push(format!("{PAGE}: `{name}` has no reason"));
        }
        let users = users.split(',').map(|user| full_name(user.trim())).collect();
        if table.insert(name.into(), users).is_some() {
            faults.push(format!("{PAGE}: two rows for `{name}` under `{heading}`"));
        }
    }
    (table, faults)
}

fn list_differences(heading: &str, written: &DependencyTable, used: &DependencyTable) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, users) in used {
        let who = users.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        match written.get(name) {
            None => faults
                .push(format!("{PAGE}: add `{name}` with its reason under `{heading}`; it is used by {who}")),
            Some(named) if named != users => {
                let named = named.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                faults.push(format!("{PAGE}: `{name}` is used by {who}, not by {named}"));
            }
            Some(_) => {}
        }
    }
    for name in written.keys().filter(|name| !used.contains_key(*name)) {
        faults.push(format!("{PAGE}: no crate uses `{name}` as `{heading}` says; remove its row"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::crates::PackageDependency;

    fn test_package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let from_registry = |(name, kind): &(&str, Option<&str>)| PackageDependency {
            name: (*name).into(),
            kind: kind.map(String::from),
            source: Some("registry".into()),
        };
        let own = PackageDependency { name: "frostline-random".into(), kind: None, source: None };
        let dependencies = dependencies.iter().map(from_registry).chain([own]).collect();
        Package { name: name.into(), dependencies }
    }

    fn test_workspace() -> Vec<Package> {
        vec![
            test_package("frostline-score", &[("libm", None), ("insta", Some("dev"))]),
            test_package("xtask", &[("libm", Some("build")), ("insta", None), ("insta", Some("dev"))]),
        ]
    }

    const GOOD: &str = "\
# Dependencies

## In libraries and programs

| dependency | used by | reason |
|---|---|---|
| `insta` | xtask | snapshots in a command |
| `libm` | score, xtask | erfc and lgamma |

## In tests and benchmarks only

| dependency | used by | reason |
|---|---|---|
| `insta` | score | snapshots of tests |
";

    #[test]
    fn the_page_and_the_manifests_agree() {
        assert_eq!(check_dependencies(&test_workspace(), GOOD), Vec::<String>::new());
    }

    #[test]
    fn each_difference_is_reported() {
        let changed = |from: &str, to: &str| check_dependencies(&test_workspace(), &GOOD.replace(from, to));
        let faults = changed("| `libm` | score, xtask | erfc and lgamma |\n", "");
        assert_eq!(
            faults,
            [format!(
                "{PAGE}: add `libm` with its reason under `{PROGRAM}`; it is used by frostline-score, xtask"
            )]
        );
        let faults = changed("score, xtask", "score");
        assert_eq!(
            faults,
            [format!("{PAGE}: `libm` is used by frostline-score, xtask, not by frostline-score")]
        );
        assert_eq!(changed("`libm` | score, xtask |", "`libn` | score, xtask |").len(), 2);
        assert_eq!(changed("erfc and lgamma", ""), [format!("{PAGE}: `libm` has no reason")]);
        assert_eq!(
            changed("| `libm` |", "| `insta` | xtask | snapshots again |\n| `libm` |"),
            [format!("{PAGE}: two rows for `insta` under `{PROGRAM}`")]
        );
        assert_eq!(changed(TESTS, "## Other").len(), 1);
    }
}
