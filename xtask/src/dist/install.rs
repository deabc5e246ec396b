//! Tests of `install.sh`, in a folder with an archive whose program is a script.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::{ArchiveFile, pack_tar};
use super::{SCRIPT, write_sums};
use crate::workspace::workspace_root;

const STEM: &str = "frostline-9.9.9-x86_64-unknown-linux-gnu";

/// A release, a place to install it, and a folder of programs that come before the system's.
struct Trial {
    folder: tempfile::TempDir,
}

/// The end of a run: whether it succeeded, and all that it printed.
struct RunEnd {
    succeeded: bool,
    text: String,
}

impl Trial {
    /// A release with one archive, on a machine that claims to be Linux with x86-64 and glibc 2.36.
    fn new() -> Self {
        let trial = Self { folder: tempfile::tempdir().expect("a folder") };
        for folder in ["release", "programs"] {
            fs::create_dir(trial.path(folder)).expect("a folder");
        }
        fs::copy(workspace_root().join(SCRIPT), trial.path("release").join(SCRIPT)).expect("the script");
        trial.write_archive("echo frostline 9.9.9; echo backends: none");
        trial.claim_machine("Linux", "x86_64", "echo glibc 2.36");
        trial
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn archive(&self) -> PathBuf {
        self.path("release").join(format!("{STEM}.tar.gz"))
    }

    fn write_archive(&self, program: &str) {
        let program = format!("#!/bin/sh\n{program}\n").into_bytes();
        let mut files = vec![ArchiveFile { path: "frostline".into(), bytes: program, is_program: true }];
        for path in ["frostline.bash", "_frostline", "frostline.fish"] {
            files.push(ArchiveFile::plain(format!("completions/{path}"), path));
        }
        files.push(ArchiveFile::plain("man/frostline.1", "a page"));
        files.push(ArchiveFile::plain("man/frostline-tag.1", "another"));
        fs::write(self.archive(), pack_tar(STEM, &files).expect("packed")).expect("written");
        write_sums(&self.path("release")).expect("written");
    }

    fn claim_machine(&self, system: &str, machine: &str, getconf: &str) {
        let uname = format!("case $1 in -s) echo {system} ;; *) echo {machine} ;; esac");
        for (name, text) in [("uname", uname.as_str()), ("getconf", getconf)] {
            let path = self.path("programs").join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
        }
    }

    fn run_script(&self, arguments: &[&str]) -> RunEnd {
        let path = std::env::var("PATH").expect("a search path");
        let output = Command::new("sh")
            .arg(self.path("release").join(SCRIPT))
            .args(arguments)
            .env("PATH", format!("{}:{path}", self.path("programs").display()))
            .env("HOME", self.path("home"))
            .env_remove("FROSTLINE_FROM")
            .env_remove("FROSTLINE_PREFIX")
            .output()
            .expect("a shell");
        let text = [output.stdout, output.stderr].concat();
        RunEnd { succeeded: output.status.success(), text: String::from_utf8_lossy(&text).into_owned() }
    }

    /// Checks that a run fails with these words and installs nothing.
    fn expect_refusal(&self, arguments: &[&str], words: &str) {
        let end = self.run_script(arguments);
        assert!(
            !end.succeeded && end.text.starts_with("error: ") && end.text.contains(words),
            "{}",
            end.text
        );
        assert!(!self.path("home").exists(), "nothing is installed");
    }
}

fn text_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_release_is_installed_and_replaced() {
    let trial = Trial::new();
    let end = trial.run_script(&[]);
    let prefix = trial.path("home/.local");
    assert!(end.succeeded, "{}", end.text);
    let program = prefix.join("bin/frostline");
    assert!(
        end.text.contains(&format!("installed frostline 9.9.9 as {}", program.display())),
        "{}",
        end.text
    );
    assert!(end.text.contains("is not on the search path"), "{}", end.text);
    let started = Command::new(&program).output().expect("it starts");
    assert_eq!(started.stdout, b"frostline 9.9.9\nbackends: none\n");
    assert_eq!(text_of(&prefix.join("share/man/man1/frostline-tag.1")), "another");
    assert_eq!(text_of(&prefix.join("share/bash-completion/completions/frostline")), "frostline.bash");
    assert_eq!(text_of(&prefix.join("share/zsh/site-functions/_frostline")), "_frostline");
    assert_eq!(text_of(&prefix.join("share/fish/vendor_completions.d/frostline.fish")), "frostline.fish");
    trial.write_archive("echo frostline 9.9.10");
    let other = trial.path("a folder");
    let end = trial.run_script(&["--prefix", &other.display().to_string()]);
    assert!(end.succeeded, "{}", end.text);
    let end = trial.run_script(&["--prefix", &prefix.display().to_string()]);
    assert!(end.succeeded, "{}", end.text);
    for program in [program, other.join("bin/frostline")] {
        assert_eq!(Command::new(&program).output().expect("it starts").stdout, b"frostline 9.9.10\n");
        let names = fs::read_dir(program.parent().expect("bin")).expect("a folder");
        assert_eq!(names.count(), 1, "no other file is left next to the program");
    }
}

#[test]
fn an_archive_with_another_checksum_is_refused() {
    let trial = Trial::new();
    let mut bytes = fs::read(trial.archive()).expect("the archive");
    *bytes.last_mut().expect("a byte") ^= 1;
    fs::write(trial.archive(), bytes).expect("written");
    trial.expect_refusal(&[], "is damaged: its SHA-256 is ");
}

#[test]
fn an_unknown_platform_is_refused_with_what_to_do() {
    let trial = Trial::new();
    for (system, machine, getconf, words) in [
        ("Darwin", "arm64", "exit 1", "there is no archive for Darwin; install Rust and run `cargo install"),
        ("Linux", "riscv64", "echo glibc 2.36", "there is no archive for Linux on riscv64"),
        ("Linux", "x86_64", "exit 1", "this system has no glibc"),
        ("Linux", "x86_64", "echo glibc 2.12", "this system has glibc 2.12, but the archives need 2.17"),
        ("Linux", "aarch64", "echo glibc 2.36", "this release has no archive for aarch64-unknown-linux-gnu"),
        ("MINGW64_NT-10.0", "x86_64", "exit 1", "this is Windows; unpack"),
    ] {
        trial.claim_machine(system, machine, getconf);
        trial.expect_refusal(&[], words);
    }
}

#[test]
fn a_release_that_cannot_be_used_is_refused() {
    let trial = Trial::new();
    trial.expect_refusal(&["--from"], "--from needs a value");
    trial.expect_refusal(&["--form", "x"], "unknown argument --form");
    trial.expect_refusal(&["--from", "http://example.org/frostline"], "is not encrypted");
    let empty = trial.path("programs").display().to_string();
    trial.expect_refusal(&["--from", &empty], "has no SHA256SUMS");
    trial.write_archive("exit 1");
    trial.expect_refusal(&[], "does not start on this machine");
    fs::remove_file(trial.archive()).expect("removed");
    trial.expect_refusal(&[], &format!("has no {STEM}.tar.gz"));
}
