//! Values that wait for a server, or that it did not accept: runs and their values as JSON lines in a folder,
//! one file per run, until they are sent.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use frostline_files::FileError;
use serde_json::{Value, json};

use crate::run::unix_milliseconds;
use crate::{Ending, Parameter, Point, Run};

/// The largest file that is read.
///
/// # Units
/// Bytes.
const MOST_READ: u64 = 1 << 30;

/// An item that waits for the server.
#[derive(Clone, Debug)]
pub(super) enum Waiting {
    /// A run begins.
    Start(Box<Run>),
    /// Values of a run.
    Point(String, Point),
    /// A run ends.
    End(String, SystemTime, Ending),
}

impl Waiting {
    /// The id of its run.
    pub(super) fn run(&self) -> &str {
        match self {
            Self::Start(run) => &run.id,
            Self::Point(run, _) | Self::End(run, ..) => run,
        }
    }

    /// Returns the number of its values.
    pub(super) fn count_values(&self) -> usize {
        if let Self::Point(_, point) = self { point.values.len() } else { 0 }
    }
}

/// The folder for unsent values.
#[derive(Clone, Debug)]
pub(super) struct Unsent {
    pub(super) folder: PathBuf,
    /// The command that sends them, for messages.
    pub(super) command: String,
}

impl Unsent {
    /// Adds to the files of the runs that these belong to.
    pub(super) fn keep_unsent<'a>(
        &self,
        all: impl Iterator<Item = (&'a str, String)>,
    ) -> Result<(), FileError> {
        frostline_files::create_own_folder(&self.folder)?;
        let mut files: Vec<(&str, String)> = Vec::new();
        for (run, line) in all {
            match files.last_mut().filter(|(last, _)| *last == run) {
                Some((_, text)) => *text += &line,
                None => files.push((run, line)),
            }
        }
        for (run, text) in files {
            let name: String = run.chars().filter(char::is_ascii_alphanumeric).collect();
            let mut file = frostline_files::append(&self.folder.join(format!("{name}.jsonl")))?;
            file.add(text.as_bytes())?;
            file.sync()?;
        }
        Ok(())
    }
}

/// Returns the line of something that waits.
pub(super) fn waiting_line(waiting: &Waiting) -> String {
    let value = match waiting {
        Waiting::Start(run) => {
            let parameters =
                run.parameters.iter().map(|parameter| json!([parameter.name, parameter.value.text()]));
            json!({ "start": {
                "id": run.id, "name": run.name, "experiment": run.experiment, "started_ms": unix_milliseconds(run.started),
                "parameters": parameters.collect::<Vec<_>>(),
            }})
        }
        Waiting::Point(run, point) => {
            let value = |(name, value): &(Cow<'static, str>, f64)| json!([name, json_number(*value)]);
            let values: Vec<Value> = point.values.iter().map(value).collect();
            json!({ "point": {
                "run": run, "step": point.step, "time_ms": unix_milliseconds(point.time), "values": values,
            }})
        }
        Waiting::End(run, at, ending) => {
            json!({ "end": { "run": run, "at_ms": unix_milliseconds(*at), "ending": format!("{ending:?}") } })
        }
    };
    format!("{value}\n")
}

/// Returns a number as JSON; numbers that JSON cannot express are returned as their names, which MLflow
/// accepts.
pub(super) fn json_number(value: f64) -> Value {
    match value {
        value if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        value => json!(value),
    }
}

/// Reads a file of unsent lines. Damaged lines are skipped and counted.
pub(super) fn read(file: &Path) -> Result<(Vec<Waiting>, usize), FileError> {
    let text = frostline_files::read_text(file, MOST_READ)?;
    let all: Vec<Waiting> = text.lines().filter_map(parse_line).collect();
    let damaged = text.lines().count() - all.len();
    Ok((all, damaged))
}

/// The most letters and digits of a run's id.
const MOST_ID: usize = 64;

/// Returns whether this is the id of a run, as [`Run::id`] describes it.
fn is_id(id: &str) -> bool {
    (1..=MOST_ID).contains(&id.len())
        && id.bytes().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit())
}

fn parse_line(line: &str) -> Option<Waiting> {
    let value: Value = serde_json::from_str(line).ok()?;
    let text = |value: &Value| value.as_str().map(String::from);
    let time = |value: &Value| UNIX_EPOCH.checked_add(Duration::from_millis(value.as_u64()?));
    // The id becomes part of a file name and of a search on the server.
    let id = |value: &Value| text(value).filter(|id| is_id(id));
    let (kind, of) = value.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "start" => {
            let parameter = |pair: &Value| {
                let (name, value) = (text(&pair[0])?, crate::Value::Text(text(&pair[1])?));
                Some(Parameter { name, value, compared: false })
            };
            let parameters = of["parameters"].as_array()?.iter().map(parameter).collect::<Option<_>>()?;
            let (id, name, experiment) = (id(&of["id"])?, text(&of["name"])?, text(&of["experiment"])?);
            let started: SystemTime = time(&of["started_ms"])?;
            Waiting::Start(Box::new(Run { id, name, experiment, parameters, started, step: 0 }))
        }
        "point" => {
            let number = |value: &Value| value.as_f64().or_else(|| value.as_str()?.parse().ok());
            let value = |pair: &Value| Some((Cow::Owned(text(&pair[0])?), number(&pair[1])?));
            let values = of["values"].as_array()?.iter().map(value).collect::<Option<_>>()?;
            Waiting::Point(
                id(&of["run"])?,
                Point { step: of["step"].as_u64()?, time: time(&of["time_ms"])?, values },
            )
        }
        "end" => {
            let endings = [Ending::Finished, Ending::Failed, Ending::Stopped];
            let ending = endings.into_iter().find(|ending| of["ending"] == format!("{ending:?}"))?;
            Waiting::End(id(&of["run"])?, time(&of["at_ms"])?, ending)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{end, point, run};

    #[test]
    fn a_line_for_what_is_no_id_of_a_run_is_damaged() {
        let long = "a".repeat(65);
        for id in ["", "A", "a b", "../x", "' OR name = 'x", "é", &long] {
            let ended = Waiting::End(id.into(), end(), Ending::Stopped);
            let started = Waiting::Start(Box::new(Run { id: id.into(), ..run(0) }));
            for waiting in [ended, started, Waiting::Point(id.into(), point(1, 0.5))] {
                assert!(parse_line(&waiting_line(&waiting)).is_none(), "{id:?}");
            }
        }
        assert!(parse_line(&waiting_line(&Waiting::End("0a".into(), end(), Ending::Stopped))).is_some());
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let unsent = Unsent { folder: folder.path().join("unsent"), command: String::new() };
        let id = run(0).id;
        let all = [
            Waiting::Start(Box::new(run(0))),
            Waiting::Point(id.clone(), point(5, 0.25)),
            Waiting::Point(id.clone(), point(6, f64::NAN)),
            Waiting::Point(id.clone(), point(7, f64::NEG_INFINITY)),
            Waiting::End(id.clone(), end(), Ending::Stopped),
        ];
        let lines: Vec<String> = all.iter().map(waiting_line).collect();
        unsent.keep_unsent(lines.iter().map(|line| (id.as_str(), line.clone()))).expect("kept");
        unsent
            .keep_unsent([(id.as_str(), "{\"start\":{}}\ndamaged\n".to_string())].into_iter())
            .expect("kept");
        let (found, damaged) = read(&unsent.folder.join(format!("{id}.jsonl"))).expect("read");
        assert_eq!(damaged, 2);
        assert_eq!(found.iter().map(waiting_line).collect::<Vec<_>>(), lines);
    }
}
