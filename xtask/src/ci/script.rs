//! The steps that are a Python script of `tests/`, which checks the built program.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::outcome::StepOutcome;
use super::skips::Skip;
use super::venv::{exit_code_in_root, prepare_environment, run_quietly};
use crate::workspace;
use frostline_sweep::say;

/// The exit code of a script that cannot run here, and has printed why.
const LACKING: i32 = 77;

/// A script and what it needs.
pub(super) struct Script {
    /// The script, from the workspace's root. It gets the option `--program`.
    pub file: &'static str,
    /// What it checks.
    pub about: &'static str,
    /// Whether it imports the packages of `requirements.txt` in its folder.
    pub packages: bool,
    pub program: String,
    pub arguments: Vec<String>,
    /// Programs of the system without which a part is left out.
    pub tools: &'static [Tool],
}

/// A program of the system.
pub(super) struct Tool {
    /// A call that only shows whether it is there.
    pub call: &'static str,
    /// The option with which the script does without it.
    pub without: &'static str,
    /// What is left out without it, as skips name it, and why.
    pub lack: &'static str,
    pub reason: &'static str,
}

impl Script {
    /// A script of the standard library alone.
    pub fn new(file: &'static str, about: &'static str, program: String) -> Self {
        Self { file, about, packages: false, program, arguments: Vec::new(), tools: &[] }
    }

    /// Runs it, and counts what it leaves out.
    pub fn run_script(&self, step: &str, skips: &mut Vec<Skip>) -> anyhow::Result<StepOutcome> {
        say!("\n== {step}: {}", self.about);
        let python = if self.packages {
            let list = Path::new(self.file).with_file_name("requirements.txt");
            prepare_environment(&list.to_string_lossy())?
        } else {
            Ok(PathBuf::from("python3"))
        };
        let python = match python {
            Ok(python) => python,
            Err(reason) => return Ok(StepOutcome::skip_here(reason)),
        };
        let mut script = Command::new(python);
        script.arg(self.file).arg("--program").arg(&self.program).args(&self.arguments);
        for tool in self.tools {
            let mut call = tool.call.split(' ');
            if !run_quietly(call.next().unwrap_or_default(), call, &workspace::workspace_root()) {
                say!("NOT ALL IS CHECKED: {}", tool.reason);
                skips.push(Skip::of_step(step, tool.lack, tool.reason));
                script.arg(tool.without);
            }
        }
        Ok(match exit_code_in_root(&mut script)? {
            Some(LACKING) => StepOutcome::skip_here("what it needs is not here, see above"),
            code => StepOutcome::from_passed(code == Some(0)),
        })
    }
}
