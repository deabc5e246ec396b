//! Runs one measurement in a separate process and reads the last line of its output.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::stored::SideFigures;
use crate::time_limit::TimeLimit;

/// The output of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProcessAnswer {
    /// The numbers of the answer.
    pub figures: SideFigures,
    /// The texts of the answer, such as versions.
    pub words: BTreeMap<String, String>,
}

/// Why there is no output.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ProcessRefusal {
    /// The program does not have the setting.
    Unsupported(String),
    /// It should have worked.
    Failed(String),
    /// The command's time was over.
    TimeOver,
}

/// Runs a command to its end, which the limit may bring, and reads the numbers and texts of the JSON object on its last line.
pub(crate) fn run_for_answer(
    command: &mut Command,
    limit: &TimeLimit,
) -> Result<ProcessAnswer, ProcessRefusal> {
    run_for_object(command, limit).map(ProcessAnswer::from_object)
}

/// Runs a command to its end, which the limit may bring, and reads the JSON object on its last line.
pub(crate) fn run_for_object<T: DeserializeOwned>(
    command: &mut Command,
    limit: &TimeLimit,
) -> Result<T, ProcessRefusal> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = limit.run_process(command);
    let output =
        output.map_err(|error| ProcessRefusal::Failed(format!("{name} cannot be started: {error}")))?;
    let output = output.ok_or(ProcessRefusal::TimeOver)?;
    if !output.status.success() {
        return Err(refusal_from_output(&name, &output));
    }
    parse_last_line(&output.stdout).map_err(|reason| ProcessRefusal::Failed(format!("{name}: {reason}")))
}

/// Returns why a process did not succeed; programs end with 2 if they lack a setting.
pub(crate) fn refusal_from_output(name: &str, output: &Output) -> ProcessRefusal {
    let said = last_lines(&output.stderr);
    match output.status.code() {
        Some(2) => ProcessRefusal::Unsupported(said),
        _ => ProcessRefusal::Failed(format!("{name} ended with {}: {said}", output.status)),
    }
}

fn parse_last_line<T: DeserializeOwned>(stdout: &[u8]) -> Result<T, String> {
    let text = String::from_utf8_lossy(stdout);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    serde_json::from_str(line).map_err(|_| format!("its last line is not the expected JSON object: `{line}`"))
}

impl ProcessAnswer {
    /// Returns the numbers and texts of an object.
    fn from_object(object: BTreeMap<String, Value>) -> Self {
        let mut answer = Self::default();
        for (key, value) in object {
            match value {
                Value::Number(number) => {
                    answer.figures.extend(number.as_f64().map(|number| (key, number)));
                }
                Value::String(text) => {
                    answer.words.insert(key, text);
                }
                _ => {}
            }
        }
        answer
    }
}

/// The end of a process's output, in one line.
pub(crate) fn last_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = lines[lines.len().saturating_sub(3)..].join(" / ");
    let said = said.trim_start_matches("error: ");
    if said.is_empty() { "it printed nothing".into() } else { said.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        let text =
            b"loading\n{\"steps\": 3}\n{\"step_ms_mean\": 1.5, \"torch\": \"2\", \"accuracy\": null}\n\n";
        let answer = parse_last_line(text).map(ProcessAnswer::from_object).expect("an answer");
        assert_eq!(answer.figures, SideFigures::from([("step_ms_mean".into(), 1.5)]));
        assert_eq!(answer.words["torch"], "2");
        let refusal = parse_last_line::<BTreeMap<String, Value>>(b"ready\n").expect_err("no JSON");
        assert_eq!(refusal, "its last line is not the expected JSON object: `ready`");
    }

    #[test]
    fn a_command_that_is_not_there_failed() {
        let refusal = run_for_answer(&mut Command::new("no-such-frostline"), &TimeLimit::default())
            .expect_err("nothing there");
        let ProcessRefusal::Failed(said) = refusal else { panic!("{refusal:?}") };
        assert!(said.starts_with("no-such-frostline cannot be started"), "{said}");
    }
}
