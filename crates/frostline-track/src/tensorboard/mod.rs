//! Event files of TensorBoard: scalars, and the table of hyperparameters.

mod proto;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use frostline_files::{Appender, FileError};
use prost::Message as _;

use self::proto::{
    EventContent, EventProto, HparamKind, HparamValue, Hparams, PluginData, SessionEnd, SessionLog,
    SessionStart, Summary, SummaryValue, TagMetadata, TensorProto, TensorShape, TrackingSession,
};
use crate::name::folder_name;
use crate::run::unix_seconds;
use crate::{Ending, Point, Run, TrackError, Tracker, Value};

/// Writes a folder for `tensorboard --logdir`: one folder for each run, named by the run's name and the start of its id.
///
/// A resumed run writes another file, which contains its first step for TensorBoard.
#[derive(Debug)]
pub struct TensorBoard {
    folder: PathBuf,
    runs: HashMap<String, EventFile>,
}

impl TensorBoard {
    /// Writes into a folder, which is created with the first run.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), runs: HashMap::new() }
    }
}

impl Tracker for TensorBoard {
    fn name(&self) -> String {
        format!("TensorBoard in {}", self.folder.display())
    }

    fn start(&mut self, run: &Run) -> Result<(), TrackError> {
        let folder = self.folder.join(folder_name(run));
        frostline_files::create_folder(&folder)?;
        let mut file = EventFile::begin_file(&folder, run.started)?;
        let at = unix_seconds(run.started);
        file.add(at, 0, EventContent::FileVersion("brain.EventProto:2".into()));
        file.add(at, run.step, EventContent::SessionLog(SessionLog { status: 1 }));
        let compared = run.parameters.iter().filter(|parameter| parameter.compared);
        let start = SessionStart {
            hparams: compared
                .map(|parameter| (parameter.name.clone(), hparam_value(&parameter.value)))
                .collect(),
            group_name: String::new(),
            start_time_secs: at,
        };
        file.add(at, 0, session_summary("_hparams_/session_start_info", TrackingSession::Start(start)));
        file.flush()?;
        self.runs.insert(run.id.clone(), file);
        Ok(())
    }

    fn log(&mut self, run: &str, point: &Point) -> Result<(), TrackError> {
        if let Some(file) = self.runs.get_mut(run) {
            let value = point.values.iter().map(|(tag, value)| scalar_summary(tag, *value)).collect();
            file.add(unix_seconds(point.time), point.step, EventContent::Summary(Summary { value }));
        }
        Ok(())
    }

    fn end(&mut self, run: &str, at: SystemTime, ending: Ending) -> Result<(), TrackError> {
        let Some(mut file) = self.runs.remove(run) else { return Ok(()) };
        let status = match ending {
            Ending::Finished => 1,
            Ending::Failed => 2,
            Ending::Stopped => 0,
        };
        let end = SessionEnd { status, end_time_secs: unix_seconds(at) };
        file.add(
            unix_seconds(at),
            0,
            session_summary("_hparams_/session_end_info", TrackingSession::End(end)),
        );
        file.flush()
    }

    fn flush(&mut self) -> Result<(), TrackError> {
        self.runs.values_mut().try_for_each(EventFile::flush)
    }
}

/// Returns a scalar in the form of PyTorch's `SummaryWriter`, which every reader of event files supports.
fn scalar_summary(tag: &str, value: f64) -> SummaryValue {
    SummaryValue { tag: tag.into(), simple_value: Some(value as f32), tensor: None, metadata: None }
}

/// Returns a summary without a value, whose metadata contains a part of the table of hyperparameters.
fn session_summary(tag: &str, session: TrackingSession) -> EventContent {
    let content = Hparams { version: 0, session: Some(session) }.encode_to_vec();
    let plugin_data = Some(PluginData { plugin_name: "hparams".into(), content });
    let value = SummaryValue {
        tag: tag.into(),
        simple_value: None,
        tensor: Some(TensorProto { dtype: 1, shape: Some(TensorShape {}) }),
        metadata: Some(TagMetadata { plugin_data }),
    };
    EventContent::Summary(Summary { value: vec![value] })
}

fn hparam_value(value: &Value) -> HparamValue {
    let kind = match value {
        Value::Bool(value) => HparamKind::Bool(*value),
        Value::Number(value) => HparamKind::Number(*value),
        Value::Text(text) => HparamKind::Text(text.clone()),
    };
    HparamValue { kind: Some(kind) }
}

/// A file of events in TensorFlow's record format: length, its checksum, the message, its checksum.
#[derive(Debug)]
struct EventFile {
    file: Appender,
    waiting: Vec<u8>,
}

impl EventFile {
    fn begin_file(folder: &Path, started: SystemTime) -> Result<Self, FileError> {
        // TensorBoard reads a run's files in the order of their names.
        let at = (unix_seconds(started) * 1e3) as u64;
        let name = format!("events.out.tfevents.{at:013}.{}", std::process::id());
        let path = folder.join(name);
        Ok(Self { file: frostline_files::append(&path)?, waiting: Vec::new() })
    }

    fn add(&mut self, wall_time: f64, step: u64, what: EventContent) {
        let event = EventProto { wall_time, step: i64::try_from(step).unwrap_or(i64::MAX), what: Some(what) };
        let message = event.encode_to_vec();
        let length = (message.len() as u64).to_le_bytes();
        self.waiting.extend(length);
        self.waiting.extend(masked_checksum(&length).to_le_bytes());
        self.waiting.extend(&message);
        self.waiting.extend(masked_checksum(&message).to_le_bytes());
    }

    fn flush(&mut self) -> Result<(), TrackError> {
        self.file.add(&self.waiting)?;
        self.waiting.clear();
        Ok(())
    }
}

/// CRC-32C, rotated and shifted, as in `tensorflow/core/lib/hash/crc32c.h`.
fn masked_checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{end, point, run};

    /// Returns the events of a file; its checksums must fit.
    fn read_events(path: &Path) -> Vec<EventProto> {
        let bytes = std::fs::read(path).expect("a file");
        let (mut rest, mut events) = (bytes.as_slice(), Vec::new());
        while let Some((head, after)) = rest.split_at_checked(12) {
            let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four"));
            assert_eq!(number(&head[8..]), masked_checksum(&head[..8]));
            let length = u64::from_le_bytes(head[..8].try_into().expect("eight")) as usize;
            let (message, after) = after.split_at(length);
            assert_eq!(number(&after[..4]), masked_checksum(message));
            events.push(EventProto::decode(message).expect("an event"));
            rest = &after[4..];
        }
        assert!(rest.is_empty());
        events
    }

    #[test]
    fn masks_are_those_of_tensorflow() {
        // The first eight bytes of an event file as TensorFlow writes it: the length 24 and its checksum.
        assert_eq!(masked_checksum(&24_u64.to_le_bytes()).to_le_bytes(), [0xa3, 0x7f, 0x4b, 0x22]);
    }

    #[test]
    fn a_run_has_a_file_of_events_that_grows_while_it_trains() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tracker = TensorBoard::new(folder.path());
        tracker.start(&run(0)).expect("started");
        let file = std::fs::read_dir(folder.path().join("en-first-2-s42-0123abcd"))
            .expect("the run's folder")
            .map(|entry| entry.expect("a file").path())
            .next()
            .expect("one file");
        assert_eq!(read_events(&file).len(), 3);
        tracker.log("0123abcd0123abcd", &point(7, 0.5)).expect("logged");
        tracker.log("another", &point(7, 0.5)).expect("ignored");
        tracker.flush().expect("flushed");
        let found = read_events(&file);
        let Some(EventContent::Summary(summary)) = &found[3].what else { panic!("no summary") };
        assert_eq!((found[3].step, summary.value[0].tag.as_str()), (7, "train/loss_nats"));
        assert_eq!(summary.value[0].simple_value, Some(0.5));
        tracker.end("0123abcd0123abcd", end(), Ending::Failed).expect("ended");
        let Some(EventContent::Summary(summary)) = &read_events(&file)[4].what else { panic!("no summary") };
        let metadata = summary.value[0].metadata.as_ref().expect("metadata");
        let content = &metadata.plugin_data.as_ref().expect("a plugin's").content;
        let hparams = Hparams::decode(content.as_slice()).expect("the plugin's message");
        assert_eq!(
            hparams.session,
            Some(TrackingSession::End(SessionEnd { status: 2, end_time_secs: 1060.0 }))
        );
    }

    #[test]
    fn only_what_is_compared_is_a_hyperparameter() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tracker = TensorBoard::new(folder.path());
        tracker.start(&run(40)).expect("started");
        let run = folder.path().join("en-first-2-s42-0123abcd");
        let file = std::fs::read_dir(run).expect("a folder").next().expect("one").expect("a file").path();
        let found = read_events(&file);
        assert_eq!(
            (found[1].step, &found[1].what),
            (40, &Some(EventContent::SessionLog(SessionLog { status: 1 })))
        );
        let Some(EventContent::Summary(summary)) = &found[2].what else { panic!("no summary") };
        let metadata = summary.value[0].metadata.as_ref().expect("metadata");
        let content = &metadata.plugin_data.as_ref().expect("a plugin's").content;
        let hparams = Hparams::decode(content.as_slice()).expect("the plugin's message");
        let Some(TrackingSession::Start(start)) = hparams.session else { panic!("no start") };
        assert_eq!(start.hparams.keys().collect::<Vec<_>>(), ["optimizer.lr", "policy"]);
    }
}
