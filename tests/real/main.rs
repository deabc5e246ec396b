//! The sweep end to end with the real runner on the embedded demo: accuracy, repeatability, frozen
//! parameters, and resuming after a kill.

mod advice;
mod bits;
mod block_scores;
#[cfg(unix)]
mod decide;
mod demo;
mod faults;
mod inputs;
#[cfg(unix)]
mod killed;
mod prefixes;
mod repeats;
mod resumed;
mod splits;
#[cfg(unix)]
mod stopped;
mod turns;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use frostline_record::{Record, Sweep};
use tempfile::TempDir;

/// The runner under test.
const RUNNER: &str = env!("CARGO_BIN_EXE_runner-under-test");

/// A folder for one sweep.
struct SweepPlace {
    folder: TempDir,
}

impl SweepPlace {
    fn new() -> Self {
        Self { folder: TempDir::new().expect("a temporary folder") }
    }

    fn path_inside(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    fn out_folder(&self) -> PathBuf {
        self.path_inside("out")
    }

    /// `cargo xtask sweep` on the demo plan with these further words, without timing.
    fn sweep_command(&self, words: &str) -> Command {
        let mut command = self.timed_sweep(words);
        command.arg("--no-timing");
        command
    }

    /// Returns the same with timing.
    fn timed_sweep(&self, words: &str) -> Command {
        self.sweep_of(Path::new(RUNNER), words)
    }

    /// Returns the same by this runner.
    fn sweep_of(&self, runner: &Path, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask-under-test"));
        command
            .args(["sweep", "--runner"])
            .arg(runner)
            .arg("--out")
            .arg(self.out_folder())
            .args(words.split_whitespace());
        if !words.contains("--plan") {
            command.args(["--plan", "demo"]);
        }
        command
    }

    /// Runs such a sweep to its end.
    fn run_sweep(&self, words: &str) -> Vec<Record> {
        let output = self.sweep_command(words).output().expect("xtask starts");
        assert!(output.status.success(), "{}", output_text(&output));
        read_records(&self.out_folder())
    }
}

/// The embedded demo's encoder as a folder of files.
fn write_encoder(folder: &Path) {
    std::fs::create_dir_all(folder).expect("the folder");
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let bytes = frostline_assets::read(&format!("embedded:demo-distilbert/{file}")).expect("the file");
        std::fs::write(folder.join(file), bytes).expect("the file");
    }
}

fn read_records(out: &Path) -> Vec<Record> {
    Sweep::read(out).expect("a sweep").records(out).expect("records")
}

fn output_text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Returns the part of a record that must repeat bit for bit, as text.
fn repeatable_part(record: &Record) -> String {
    serde_json::to_string(record.result.as_ref().expect("a result")).expect("plain data")
}

#[cfg(not(unix))]
#[test]
fn a_killed_sweep_is_resumed() {
    frostline_testing::skipped(frostline_testing::Lack::Platform, "signals are Unix's");
}

#[cfg(not(unix))]
#[test]
fn a_cell_is_stored_whoever_is_signalled_first() {
    frostline_testing::skipped(frostline_testing::Lack::Platform, "signals are Unix's");
}
