//! Offline runs of Weights & Biases, for `wandb sync`.

mod log;
mod proto;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use prost::Message as _;

use self::log::Log;
use self::proto::{
    Exit, HistoryItem, HistoryItems, HistoryRecord, HistoryStep, LogHeader, RecordContent, RecordProto,
    RunRecord, Timestamp, VersionInfo,
};
use crate::run::unix_seconds;
use crate::{Ending, Point, Run, TrackError, Tracker};

/// The version of the Python package whose files these are.
const PRODUCER: &str = "0.31.0";

/// Writes a folder of offline runs, as the Python package does with `WANDB_MODE=offline`.
///
/// W&B cannot resume an offline run: a run with an existing id gets a new folder, and the id `ID-2`, `ID-3` and
/// so on.
#[derive(Debug)]
pub struct WeightsAndBiases {
    folder: PathBuf,
    runs: HashMap<String, OfflineRun>,
}

#[derive(Debug)]
struct OfflineRun {
    log: Log,
    records: i64,
    started: f64,
    /// The values of the last step, to which more may come.
    last: Option<Point>,
    /// The last value of each name.
    summary: BTreeMap<Cow<'static, str>, f64>,
}

impl WeightsAndBiases {
    /// Writes into a folder, which W&B's own programs call `wandb`.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), runs: HashMap::new() }
    }
}

impl Tracker for WeightsAndBiases {
    fn name(&self) -> String {
        format!("W&B in {}", self.folder.display())
    }

    fn start(&mut self, run: &Run) -> Result<(), TrackError> {
        frostline_files::create_folder(&self.folder)?;
        let (id, attempt) = free_id(&self.folder, &run.id);
        let folder = self.folder.join(format!("offline-run-{}-{id}", folder_time(run.started)));
        frostline_files::create_folder(&folder.join("files"))?;
        let log = Log::create(&folder.join(format!("run-{id}.wandb")))?;
        let started = unix_seconds(run.started);
        let mut offline = OfflineRun { log, records: 0, started, last: None, summary: BTreeMap::new() };
        let version = VersionInfo { producer: PRODUCER.into(), min_consumer: String::new() };
        offline.add(RecordContent::Header(LogHeader { version_info: Some(version) }));
        offline.add(RecordContent::Run(describe_run(run, id, attempt)));
        offline.log.flush()?;
        self.runs.insert(run.id.clone(), offline);
        Ok(())
    }

    fn log(&mut self, run: &str, point: &Point) -> Result<(), TrackError> {
        if let Some(run) = self.runs.get_mut(run) {
            run.log(point);
        }
        Ok(())
    }

    fn end(&mut self, run: &str, at: SystemTime, ending: Ending) -> Result<(), TrackError> {
        let Some(mut run) = self.runs.remove(run) else { return Ok(()) };
        run.close_step();
        let summary =
            run.summary.iter().map(|(name, value)| config_item(name, python_number(*value))).collect();
        run.add(RecordContent::Summary(HistoryItems { update: summary }));
        let exit_code = match ending {
            Ending::Finished => 0,
            Ending::Failed => 1,
            // The exit code of a process ended by SIGTERM.
            Ending::Stopped => 143,
        };
        let runtime = (unix_seconds(at) - run.started) as i32;
        run.add(RecordContent::Exit(Exit { exit_code, runtime }));
        Ok(run.log.flush()?)
    }

    fn flush(&mut self) -> Result<(), TrackError> {
        Ok(self.runs.values_mut().try_for_each(|run| run.log.flush())?)
    }
}

impl OfflineRun {
    fn add(&mut self, what: RecordContent) {
        self.records += 1;
        self.log.add(&RecordProto { num: self.records, what: Some(what) }.encode_to_vec());
    }

    /// A step has one row in W&B, so that values wait for others of the same step.
    fn log(&mut self, point: &Point) {
        self.summary.extend(point.values.iter().cloned());
        match &mut self.last {
            Some(last) if last.step == point.step => {
                last.values.extend(point.values.iter().cloned());
                last.time = point.time;
            }
            _ => {
                self.close_step();
                self.last = Some(point.clone());
            }
        }
    }

    fn close_step(&mut self) {
        let Some(point) = self.last.take() else { return };
        let time = unix_seconds(point.time);
        let own = [("_step", point.step as f64), ("_timestamp", time), ("_runtime", time - self.started)]
            .map(|(name, value)| config_item(name, python_number(value)));
        let item = point.values.into_iter().map(|(name, value)| config_item(&name, python_number(value)));
        let step = Some(HistoryStep { num: i64::try_from(point.step).unwrap_or(i64::MAX) });
        self.add(RecordContent::History(HistoryRecord { item: item.chain(own).collect(), step }));
    }
}

/// Describes a run; the name of a resumed run contains the attempt.
fn describe_run(run: &Run, id: String, attempt: u32) -> RunRecord {
    let since = run.started.duration_since(UNIX_EPOCH).unwrap_or_default();
    let config = run
        .parameters
        .iter()
        .map(|parameter| config_item(&parameter.name, nested_setting(&parameter.value.json())));
    RunRecord {
        run_id: id,
        project: run.experiment.clone(),
        config: Some(HistoryItems { update: config.collect() }),
        display_name: if attempt == 1 { run.name.clone() } else { format!("{} ({attempt})", run.name) },
        starting_step: i64::try_from(run.step).unwrap_or(i64::MAX),
        start_time: Some(Timestamp {
            seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            nanos: since.subsec_nanos() as i32,
        }),
    }
}

/// Returns a setting, as the Python package nests each one.
fn nested_setting(value: &serde_json::Value) -> String {
    serde_json::json!({ "value": value }).to_string()
}

fn config_item(key: &str, value_json: String) -> HistoryItem {
    HistoryItem { key: key.into(), value_json }
}

/// Returns a number as Python's JSON writes it.
fn python_number(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        value if value.fract() == 0.0 && value.abs() < 1e15 => format!("{}", value as i64),
        value => format!("{value:?}"),
    }
}

/// Returns an id that no folder here has, and how many runs of the id there are then.
fn free_id(folder: &Path, id: &str) -> (String, u32) {
    let names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let named = |attempt: u32| if attempt == 1 { id.to_string() } else { format!("{id}-{attempt}") };
    let taken =
        |id: &str| names.iter().any(|name| name.starts_with("offline-run-") && name.get(28..) == Some(id));
    (1..).map(|attempt| (named(attempt), attempt)).find(|(id, _)| !taken(id)).expect("not all are taken")
}

/// Returns a time as in the names of W&B's folders, in UTC: `20260131_235959`.
fn folder_time(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil_date(since / 86_400);
    let second = since % 86_400;
    format!("{year:04}{month:02}{day:02}_{:02}{:02}{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.
const fn civil_date(day: u64) -> (u64, u64, u64) {
    // Years that begin on the first of March, so that leap days are their last.
    let day = day + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{end, point, run};

    fn read_records(folder: &Path, id: &str) -> Vec<RecordProto> {
        let file = folder.join(format!("offline-run-19700101_001640-{id}/run-{id}.wandb"));
        log::read(&std::fs::read(file).expect("a file"))
            .iter()
            .map(|bytes| RecordProto::decode(bytes.as_slice()).expect("a record"))
            .collect()
    }

    #[test]
    fn values_of_a_step_are_one_row() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tracker = WeightsAndBiases::new(folder.path());
        let run = run(0);
        tracker.start(&run).expect("started");
        tracker.log(&run.id, &point(5, 0.75)).expect("logged");
        tracker
            .log(&run.id, &Point { values: vec![("dev/accuracy".into(), 0.9)], ..point(5, 0.0) })
            .expect("logged");
        tracker.log(&run.id, &point(6, f64::NAN)).expect("logged");
        tracker.end(&run.id, end(), Ending::Finished).expect("ended");
        let records = read_records(folder.path(), &run.id);
        insta::assert_snapshot!(records.iter().map(|record| format!("{record:?}\n")).collect::<String>());
    }

    #[test]
    fn a_run_that_goes_on_has_a_folder_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = run(0);
        for id in ["0123abcd0123abcd", "0123abcd0123abcd-2", "0123abcd0123abcd-3"] {
            let mut tracker = WeightsAndBiases::new(folder.path());
            tracker.start(&run).expect("started");
            let Some(RecordContent::Run(record)) = &read_records(folder.path(), id)[1].what else {
                panic!("no run")
            };
            assert_eq!(record.run_id, id);
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let days = [(0, (1970, 1, 1)), (59, (1970, 3, 1)), (11_016, (2000, 2, 29)), (20_819, (2027, 1, 1))];
        for (day, expected) in days {
            assert_eq!(civil_date(day), expected);
        }
        assert_eq!(civil_date(47_540), (2100, 2, 28));
        assert_eq!(civil_date(47_541), (2100, 3, 1));
    }
}
