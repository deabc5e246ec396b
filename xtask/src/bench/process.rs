//! Runs one measurement in a separate process and reads the last line of its output.

use std::collections::BTreeMap;
use std::process::Command;

use crate::bench::stored::Figures;
use crate::limit::Limit;

/// The output of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// Its numbers.
    pub figures: Figures,
    /// Its texts, such as versions.
    pub words: BTreeMap<String, String>,
}

/// Why there is no output.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// The program does not have the setting.
    Unsupported(String),
    /// It should have worked.
    Failed(String),
    /// The command's time was over.
    TimeOver,
}

/// Runs a command to its end, which the limit may bring, and reads the JSON object on its last line.
pub(crate) fn answer(command: &mut Command, limit: &Limit) -> Result<Answer, Refusal> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = limit.output(command);
    let output = output.map_err(|error| Refusal::Failed(format!("{name} cannot be started: {error}")))?;
    let output = output.ok_or(Refusal::TimeOver)?;
    if !output.status.success() {
        let said = last_lines(&output.stderr);
        return Err(match output.status.code() {
            Some(2) => Refusal::Unsupported(said),
            _ => Refusal::Failed(format!("{name} ended with {}: {said}", output.status)),
        });
    }
    parse(&output.stdout).map_err(|reason| Refusal::Failed(format!("{name}: {reason}")))
}

fn parse(stdout: &[u8]) -> Result<Answer, String> {
    let text = String::from_utf8_lossy(stdout);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let object: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(line).map_err(|_| format!("its last line is not a JSON object: `{line}`"))?;
    let mut answer = Answer::default();
    for (key, value) in object {
        match value {
            serde_json::Value::Number(number) => {
                answer.figures.extend(number.as_f64().map(|number| (key, number)));
            }
            serde_json::Value::String(text) => {
                answer.words.insert(key, text);
            }
            _ => {}
        }
    }
    Ok(answer)
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
        let answer = parse(text).expect("an answer");
        assert_eq!(answer.figures, Figures::from([("step_ms_mean".into(), 1.5)]));
        assert_eq!(answer.words["torch"], "2");
        assert_eq!(parse(b"ready\n").expect_err("no JSON"), "its last line is not a JSON object: `ready`");
    }

    #[test]
    fn a_command_that_is_not_there_failed() {
        let refusal =
            answer(&mut Command::new("no-such-frostline"), &Limit::default()).expect_err("nothing there");
        let Refusal::Failed(said) = refusal else { panic!("{refusal:?}") };
        assert!(said.starts_with("no-such-frostline cannot be started"), "{said}");
    }
}
