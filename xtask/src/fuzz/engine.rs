//! The program of libFuzzer: built, asked for its targets, and run on one of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, bail, ensure};
use frostline_sweep::note;
use frostline_sweep::units::grouped;

use super::instrument;
use crate::workspace;

/// The test of `tests/fuzz` that is linked with libFuzzer.
const PROGRAM: &str = "fuzz_engine";

/// The longest that one input may take, in seconds.
const LONGEST_S: u32 = 10;

/// How long a failing input is made smaller, in seconds.
const SMALLER_S: u32 = 30;

/// A built program.
pub(super) struct Engine(PathBuf);

/// A target as the program lists it.
#[derive(Clone)]
pub(super) struct Target {
    pub name: String,
    /// The longest input that is made, in bytes.
    pub longest: usize,
}

/// What a target has done.
pub(super) struct Run {
    target: String,
    executions: u64,
    per_second: u64,
    /// The most memory that one input took, in bytes.
    peak_bytes: u64,
    /// Inputs that are kept, those of the repository included.
    corpus: usize,
    /// What was found, with its path.
    pub failure: Option<String>,
}

impl Engine {
    /// Builds the program, showing cargo's progress. Only the project's own crates are compiled again for it: packages,
    /// profile and features are those of `cargo test --workspace`.
    pub fn build() -> anyhow::Result<Self> {
        note!("build     {PROGRAM} with coverage counters (minutes at first, seconds afterwards)");
        let output = workspace::cargo("test --workspace --features frostline-fuzz/engine --no-run --test")
            .args([PROGRAM, "--message-format=json-render-diagnostics"])
            .env("RUSTC_WORKSPACE_WRAPPER", std::env::current_exe()?)
            .env(instrument::ASKED, "1")
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .context("cargo cannot be started")?;
        if !output.status.success() {
            bail!("{PROGRAM} does not build; it needs a C++ compiler. See the messages of cargo above");
        }
        let messages = output.stdout.split(|byte| *byte == b'\n');
        let path = messages
            .filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
            .filter(|message| message["target"]["name"] == PROGRAM)
            .find_map(|message| message["executable"].as_str().map(PathBuf::from));
        Ok(Self(path.with_context(|| format!("cargo built no test named `{PROGRAM}`"))?))
    }

    /// Its targets.
    pub fn targets(&self) -> anyhow::Result<Vec<Target>> {
        let output = Command::new(&self.0).env("FROSTLINE_FUZZ_TARGET", "").output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let targets: Vec<Target> = text.lines().filter_map(Target::parse).collect();
        ensure!(!targets.is_empty(), "{} lists no targets", self.0.display());
        Ok(targets)
    }

    /// Runs a target for so many seconds, and makes an input that fails smaller.
    pub fn run(&self, target: &Target, into: &Path, seconds: u64, seed: Option<u32>) -> anyhow::Result<Run> {
        let (corpus, found) =
            (into.join("corpus").join(&target.name), into.join("failures").join(&target.name));
        [&corpus, &found].into_iter().try_for_each(fs::create_dir_all)?;
        let output = self
            .command(target, &found)
            .args([format!("-max_total_time={seconds}"), format!("-max_len={}", target.longest)])
            .args(["-len_control=20", "-print_final_stats=1"])
            .args(seed.map(|seed| format!("-seed={seed}")))
            .arg(&corpus)
            .args(committed(&target.name))
            .output()?;
        let text = said(&output);
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("stat::{name}:")));
            line.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
        };
        let folders = [vec![corpus], committed(&target.name)].concat();
        Ok(Run {
            target: target.name.clone(),
            executions: number("number_of_executed_units"),
            per_second: number("average_exec_per_sec"),
            peak_bytes: number("peak_input_bytes"),
            corpus: folders.iter().map(|folder| fs::read_dir(folder).map_or(0, Iterator::count)).sum(),
            failure: (!output.status.success()).then(|| self.describe(target, &found, &text)),
        })
    }

    /// The program with what every run has in common.
    fn command(&self, target: &Target, found: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.env("FROSTLINE_FUZZ_TARGET", &target.name);
        command.args([format!("-timeout={LONGEST_S}"), format!("-artifact_prefix={}/", found.display())]);
        command
    }

    /// What was found, and where its input is.
    fn describe(&self, target: &Target, found: &Path, text: &str) -> String {
        let name = &target.name;
        let reasons = ["panicked at ", "memory: ", "ERROR: libFuzzer: "];
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| reasons.iter().any(|reason| line.contains(reason)));
        let why = at.map_or_else(String::new, |at| lines[at..lines.len().min(at + 2)].join("\n  "));
        let written = "Test unit written to ";
        match text.lines().find_map(|line| line.split_once(written)).map(|(_, path)| PathBuf::from(path)) {
            Some(path) => {
                let path = self.smaller(target, found, &path).unwrap_or(path);
                let path = path.display();
                format!(
                    "{name}: an input fails: {path}\n  {why}\n  run it again: FROSTLINE_FUZZ_TARGET={name} {} {path}\n  \
                     once it passes, keep it in tests/fuzz/regressions/{name}/",
                    self.0.display()
                )
            }
            None => format!("{name}: the program ended without an input\n  {why}"),
        }
    }

    /// A smaller input that fails too, if one is found.
    fn smaller(&self, target: &Target, found: &Path, input: &Path) -> Option<PathBuf> {
        let result = found.join(format!("smallest-{}", input.file_name()?.to_str()?));
        let run = self
            .command(target, found)
            .args(["-minimize_crash=1".into(), format!("-max_total_time={SMALLER_S}")])
            .arg(format!("-exact_artifact_path={}", result.display()))
            .arg(input)
            .output();
        run.ok().filter(|_| result.is_file()).map(|_| result)
    }
}

impl Target {
    /// A line of the list: a name and the longest input.
    fn parse(line: &str) -> Option<Self> {
        let (name, longest) = line.split_once(' ')?;
        Some(Self { name: name.into(), longest: longest.parse().ok()? })
    }
}

impl Run {
    /// A line of the closing table.
    pub fn line(&self) -> String {
        format!(
            "{:<14} {:>12} {:>10} {:>11.1} {:>9}  {}",
            self.target,
            grouped(self.executions),
            grouped(self.per_second),
            self.peak_bytes as f64 / f64::from(1 << 20),
            grouped(self.corpus as u64),
            if self.failure.is_none() { "passed" } else { "FAILED" }
        )
    }
}

/// The inputs of the repository.
fn committed(target: &str) -> Vec<PathBuf> {
    let folders =
        ["corpus", "regressions"].map(|kind| workspace::root().join("tests/fuzz").join(kind).join(target));
    folders.into_iter().filter(|folder| folder.is_dir()).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_one_line() {
        let run = Run {
            target: "tokenizer".into(),
            executions: 1_234_567,
            per_second: 20_576,
            peak_bytes: 3 << 19,
            corpus: 321,
            failure: None,
        };
        assert_eq!(run.line(), "tokenizer         1,234,567     20,576         1.5       321  passed");
    }

    #[test]
    fn the_list_of_targets_is_read() {
        let target = Target::parse("plan 8192").expect("a target");
        assert_eq!((target.name.as_str(), target.longest), ("plan", 8192));
        assert!(Target::parse("INFO: Running with entropic power schedule").is_none());
    }
}
