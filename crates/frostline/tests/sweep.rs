//! The installed program in an empty folder: plans by name, a whole sweep with the program as its own worker, the
//! report, completions and manual pages.

use std::path::Path;
use std::process::{Command, Output};

use frostline_record::Sweep;
use tempfile::TempDir;

fn frostline(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command.args(arguments).current_dir(folder).env_remove("COLUMNS").env_remove("RUST_LOG");
    command.output().expect("the binary starts")
}

fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = frostline(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_sweep_in_an_empty_folder_needs_nothing_else() {
    let folder = TempDir::new().unwrap();
    let small =
        ["--policies", "head-only", "--seeds", "42", "--set", "train.epochs=1", "--set", "data.first=40"];
    let sweep = [&["sweep", "--lang", "en"][..], &small].concat();
    let out = printed(folder.path(), &sweep);
    assert!(out.contains("built-in plan `demo`"), "{out}");
    assert!(out.contains("head-only"), "{out}");
    let sweeps: Vec<_> = std::fs::read_dir(folder.path().join("sweeps")).unwrap().flatten().collect();
    assert_eq!(sweeps.len(), 1, "one sweep's folder");
    let written = Sweep::read(&sweeps[0].path()).unwrap();
    let records = written.records(&sweeps[0].path()).unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].error, None);
    assert!(sweeps[0].path().join("report/report.md").exists());

    // The same command again finds the cell done, and the report can be written again.
    assert!(printed(folder.path(), &sweep).contains("1 cell here already"));
    let path = sweeps[0].path().display().to_string();
    assert!(printed(folder.path(), &["report", &path]).contains("1 of 1 cells"));
}

#[test]
fn plans_are_listed_and_printed() {
    let folder = TempDir::new().unwrap();
    let list = printed(folder.path(), &["plans"]);
    assert!(list.lines().any(|line| line.starts_with("paper ")), "{list}");
    let reference = printed(folder.path(), &["plans", "reference"]);
    std::fs::write(folder.path().join("mine.toml"), &reference).unwrap();
    let listed = printed(folder.path(), &["sweep", "--plan", "demo", "--list"]);
    assert!(listed.contains("30 cells"), "{listed}");
    let unknown = frostline(folder.path(), &["plans", "papers"]);
    assert_eq!(unknown.status.code(), Some(2));
    let unknown = frostline(folder.path(), &["sweep", "--plan", "papers"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("paper"), "the error lists the plans");
}

#[test]
fn the_version_names_backends_and_instruction_set() {
    let folder = TempDir::new().unwrap();
    let version = printed(folder.path(), &["--version"]);
    assert!(version.starts_with(concat!("frostline ", env!("CARGO_PKG_VERSION"))), "{version}");
    for part in ["backends: flex", "instruction set: ", "code: "] {
        assert!(version.contains(part), "{version}");
    }
    assert_eq!(printed(folder.path(), &["-V"]).lines().count(), 1);
}

#[test]
fn shells_and_man_get_every_command() {
    let folder = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(folder.path(), &["completions", shell]);
        for command in ["sweep", "plans", "tag", "conllu"] {
            assert!(script.contains(command), "{shell} does not complete {command}");
        }
    }
    printed(folder.path(), &["man", "--out", "man1"]);
    for page in ["frostline.1", "frostline-sweep.1", "frostline-conllu-check.1"] {
        assert!(folder.path().join("man1").join(page).exists(), "{page} is missing");
    }
    assert!(printed(folder.path(), &["man"]).contains(".TH"));
}
