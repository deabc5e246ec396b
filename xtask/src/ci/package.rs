//! The step `package`: what `cargo package` would put into the package of each crate, without building it.
//!
//! `cargo package --workspace --exclude ... ` builds every package too, as it lies in it; that takes long, and is done before a
//! release (docs/development.md).

use std::collections::BTreeSet;

use anyhow::Context as _;

use super::outcome::StepOutcome;
use crate::tidy::packages::{LICENCES, is_published};
use crate::workspace;
use frostline_sweep::say;
use frostline_sweep::units::count_noun;

/// Files that cargo itself adds.
const CARGO: [&str; 4] = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml", "Cargo.toml.orig"];

/// Folders of a crate whose files are for users of the package.
const FOLDERS: [&str; 4] = ["src/", "examples/", "demo/", "configs/"];

/// Lists every package.
pub(super) fn check_packages(step: &str) -> anyhow::Result<StepOutcome> {
    say!("\n== {step}: the files of each package");
    let crates = workspace::workspace_root().join("crates");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&crates).with_context(|| crates.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if is_published(&format!("crates/{name}")) && crates.join(&name).join("Cargo.toml").is_file() {
            names.push(name);
        }
    }
    names.sort();
    let mut passed = true;
    for name in &names {
        let files = list_package(name)?;
        let faults = package_faults(name, &files);
        say!("{name:<20} {}", count_noun(files.len(), "file"));
        faults.iter().for_each(|fault| say!("error: {name}: {fault}"));
        passed &= faults.is_empty();
    }
    Ok(StepOutcome::from_passed(passed && !names.is_empty()))
}

fn list_package(name: &str) -> anyhow::Result<BTreeSet<String>> {
    let mut command = workspace::cargo_command("package --quiet --list --allow-dirty --package");
    let files = workspace::command_output(command.arg(name)).with_context(|| name.to_string())?;
    Ok(files.lines().map(|line| line.replace('\\', "/")).collect())
}

/// Returns what a package lacks, or has in excess.
fn package_faults(name: &str, files: &BTreeSet<String>) -> Vec<String> {
    let mut needed = vec!["README.md", "Cargo.toml", "src/lib.rs"];
    needed.extend(LICENCES);
    if name == "frostline-sweep" {
        needed.extend(["build.rs", "configs/reference.toml", "configs/references/partial-freezing.toml"]);
    }
    let lacking = needed.iter().filter(|file| !files.contains(**file));
    let mut faults: Vec<String> = lacking.map(|file| format!("{file} is not in the package")).collect();
    let belongs = |file: &str| {
        FOLDERS.iter().any(|folder| file.starts_with(folder))
            || CARGO.contains(&file)
            || LICENCES.contains(&file)
            || ["README.md", "build.rs"].contains(&file)
    };
    let extra = files.iter().filter(|file| !belongs(file) || file.ends_with(".snap"));
    faults.extend(extra.map(|file| format!("{file} does not belong into the package")));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_what_belongs_and_nothing_else() {
        let of = |more: &[&str]| -> BTreeSet<String> {
            let all = ["README.md", "Cargo.toml", "src/lib.rs", "LICENSE-MIT", "LICENSE-APACHE"];
            all.iter().chain(more).map(ToString::to_string).collect()
        };
        assert_eq!(
            package_faults("frostline-a", &of(&["Cargo.lock", "src/b/c.rs", "examples/d.rs"])),
            Vec::<String>::new()
        );
        for extra in ["tests/a.rs", "target/b.log", "src/c.snap", "tools/d.py"] {
            assert_eq!(package_faults("frostline-a", &of(&[extra])).len(), 1, "{extra}");
        }
        assert_eq!(package_faults("frostline-sweep", &of(&[])).len(), 3);
        assert_eq!(package_faults("frostline-a", &BTreeSet::new()).len(), 5);
    }
}
