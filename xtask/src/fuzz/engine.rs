//! The program of libFuzzer: built, asked for its targets, and run on one of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, bail, ensure};
use frostline_sweep::note;
use frostline_sweep::units::group_thousands;

use super::instrument;
use crate::workspace;

/// The test of `tests/fuzz` that is linked with libFuzzer.
const PROGRAM: &str = "fuzz_engine";

/// The longest that one input may take, in seconds.
const LONGEST_S: u32 = 10;

/// How long a failing input is made smaller, in seconds.
const SMALLER_S: u32 = 30;

/// A built program.
pub(super) struct FuzzEngine(PathBuf);

/// A target as the program lists it.
#[derive(Clone)]
pub(super) struct FuzzTarget {
    pub name: String,
    /// The longest input that is made, in bytes.
    pub longest: usize,
}

/// What a target has done.
pub(super) struct FuzzRun {
    target: String,
    executions: u64,
    per_second: u64,
    /// The most memory that one input took, in bytes.
    peak_bytes: u64,
    /// Inputs that are kept, including the repository's.
    corpus: usize,
    /// What was found, with its path.
    pub failure: Option<String>,
}

impl FuzzEngine {
    /// Builds the program, showing cargo's progress. Only the project's own crates are compiled again for it: packages,
    /// profile and features are the same as in `cargo test --workspace`.
    pub fn build_engine() -> anyhow::Result<Self> {
        note!("build     {PROGRAM} with coverage counters (minutes at first, seconds afterwards)");
        let output =
            workspace::cargo_command("test --workspace --features frostline-fuzz/engine --no-run --test")
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

    /// Returns the program's targets.
    pub fn list_targets(&self) -> anyhow::Result<Vec<FuzzTarget>> {
        let output = Command::new(&self.0).env("FROSTLINE_FUZZ_TARGET", "").output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let targets: Vec<FuzzTarget> = text.lines().filter_map(FuzzTarget::parse_target).collect();
        ensure!(!targets.is_empty(), "{} lists no targets", self.0.display());
        Ok(targets)
    }

    /// Runs a target for so many seconds, and makes an input that fails smaller.
    pub fn run_target(
        &self,
        target: &FuzzTarget,
        into: &Path,
        seconds: u64,
        seed: Option<u32>,
    ) -> anyhow::Result<FuzzRun> {
        let (corpus, found) =
            (into.join("corpus").join(&target.name), into.join("failures").join(&target.name));
        [&corpus, &found].into_iter().try_for_each(fs::create_dir_all)?;
        let output = self
            .engine_command(target, &found)
            .args([format!("-max_total_time={seconds}"), format!("-max_len={}", target.longest)])
            .args(["-len_control=20", "-print_final_stats=1"])
            .args(seed.map(|seed| format!("-seed={seed}")))
            .arg(&corpus)
            .args(committed_inputs(&target.name))
            .output()?;
        let text = printed_text(&output);
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("stat::{name}:")));
            line.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
        };
        let folders = [vec![corpus], committed_inputs(&target.name)].concat();
        Ok(FuzzRun {
            target: target.name.clone(),
            executions: number("number_of_executed_units"),
            per_second: number("average_exec_per_sec"),
            peak_bytes: number("peak_input_bytes"),
            corpus: folders.iter().map(|folder| fs::read_dir(folder).map_or(0, Iterator::count)).sum(),
            failure: (!output.status.success()).then(|| self.describe_failure(target, &found, &text)),
        })
    }

    /// The program with what every run has in common.
    fn engine_command(&self, target: &FuzzTarget, found: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.env("FROSTLINE_FUZZ_TARGET", &target.name);
        command.args([format!("-timeout={LONGEST_S}"), format!("-artifact_prefix={}/", found.display())]);
        command
    }

    /// Describes what was found, and the place of its input.
    fn describe_failure(&self, target: &FuzzTarget, found: &Path, text: &str) -> String {
        let name = &target.name;
        let reasons = ["panicked at ", "memory: ", "ERROR: libFuzzer: "];
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| reasons.iter().any(|reason| line.contains(reason)));
        let why = at.map_or_else(String::new, |at| lines[at..lines.len().min(at + 2)].join("\n  "));
        let written = "Test unit written to ";
        match text.lines().find_map(|line| line.split_once(written)).map(|(_, path)| PathBuf::from(path)) {
            Some(path) => {
                let path = self.shrink_input(target, found, &path).unwrap_or(path);
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

    /// Returns a smaller input that fails too, if one is found.
    fn shrink_input(&self, target: &FuzzTarget, found: &Path, input: &Path) -> Option<PathBuf> {
        let result = found.join(format!("smallest-{}", input.file_name()?.to_str()?));
        let run = self
            .engine_command(target, found)
            .args(["-minimize_crash=1".into(), format!("-max_total_time={SMALLER_S}")])
            .arg(format!("-exact_artifact_path={}", result.display()))
            .arg(input)
            .output();
        run.ok().filter(|_| result.is_file()).map(|_| result)
    }
}

impl FuzzTarget {
    /// A line of the list: a name and the longest input.
    fn parse_target(line: &str) -> Option<Self> {
        let (name, longest) = line.split_once(' ')?;
        Some(Self { name: name.into(), longest: longest.parse().ok()? })
    }
}

impl FuzzRun {
    /// A line of the closing table.
    pub fn table_line(&self) -> String {
        format!(
            "{:<14} {:>12} {:>10} {:>11.1} {:>9}  {}",
            self.target,
            group_thousands(self.executions),
            group_thousands(self.per_second),
            self.peak_bytes as f64 / f64::from(1 << 20),
            group_thousands(self.corpus as u64),
            if self.failure.is_none() { "passed" } else { "FAILED" }
        )
    }
}

/// Returns the inputs of the repository.
fn committed_inputs(target: &str) -> Vec<PathBuf> {
    let folders = ["corpus", "regressions"]
        .map(|kind| workspace::workspace_root().join("tests/fuzz").join(kind).join(target));
    folders.into_iter().filter(|folder| folder.is_dir()).collect()
}

fn printed_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_one_line() {
        let run = FuzzRun {
            target: "tokenizer".into(),
            executions: 1_234_567,
            per_second: 20_576,
            peak_bytes: 3 << 19,
            corpus: 321,
            failure: None,
        };
        assert_eq!(run.table_line(), "tokenizer         1,234,567     20,576         1.5       321  passed");
    }

    #[test]
    fn the_list_of_targets_is_read() {
        let target = FuzzTarget::parse_target("plan 8192").expect("a target");
        assert_eq!((target.name.as_str(), target.longest), ("plan", 8192));
        assert!(FuzzTarget::parse_target("INFO: Running with entropic power schedule").is_none());
    }
}
