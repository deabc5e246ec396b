//! How far a running cell is, from the events that its worker appends to `metrics.jsonl` in the cell's folder.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use frostline_record::{Event, StepEvent};
use serde::Serialize;

/// The state of a cell whose data and model are not loaded yet.
pub const LOADING: &str = "loading, no step yet";

/// The state of a cell between loading and the first point of its loss curve, which can be minutes later.
pub const FIRST_STEPS: &str = "first steps, no loss yet";

/// The most that is read of a file at once; the rest is read the next time.
///
/// # Units
/// Bytes.
const MOST_READ: u64 = 4 << 20;

/// How far a running cell is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellProgress {
    /// Optimiser steps taken so far.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// The running epoch, counted from 1 over all stages.
    pub epoch: u32,
    /// Mean loss of the last steps, in nats.
    pub loss_nats: f64,
    /// Subwords per second of training time.
    pub tokens_per_s: f64,
    /// Expected time to the cell's end, in seconds, when the step was taken.
    pub left_s: f64,
    /// Peak resident memory of the worker, in MiB; `None` if the system does not report it.
    pub peak_rss_mib: Option<f64>,
    /// The loss after so many steps, at most [`MOST_POINTS`] points.
    pub losses: Vec<(u64, f64)>,
    /// Accuracy on dev in [0, 1] after each epoch, at most [`MOST_POINTS`] points.
    pub dev_accuracy: Vec<(u32, f64)>,
}

/// The most points of a curve that are kept.
pub const MOST_POINTS: usize = 256;

/// What a cell's file of events contains so far.
pub(crate) struct Live {
    file: PathBuf,
    id: String,
    /// The position up to which it was read.
    read: u64,
    last: Option<StepEvent>,
    losses: LiveCurve<u64>,
    dev_accuracy: LiveCurve<u32>,
}

impl Live {
    /// Creates the state of a cell with this id, of which nothing was read yet.
    pub(crate) fn for_cell(folder: &Path, id: &str) -> Self {
        Self {
            file: folder.join("metrics.jsonl"),
            id: id.into(),
            read: 0,
            last: None,
            losses: LiveCurve::default(),
            dev_accuracy: LiveCurve::default(),
        }
    }

    /// Reads what has been appended. Nothing before the first point of the loss curve. A file that cannot be read at this
    /// moment brings nothing new.
    pub(crate) fn read_progress(&mut self) -> Option<CellProgress> {
        if let Ok(text) = self.read_appended() {
            // A line that is still being written is read the next time. One that fills all that is read is no event.
            let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            let whole = if end == 0 && text.len() as u64 == MOST_READ { text.len() } else { end };
            self.read += whole as u64;
            let text = String::from_utf8_lossy(&text[..whole]);
            text.lines().filter_map(Event::read_line).for_each(|event| self.add_event(event));
        }
        self.current_progress()
    }

    /// Whether the cell is loaded and takes steps: its worker makes the file before the first one.
    pub(crate) fn has_begun(&self) -> bool {
        self.file.is_file()
    }

    fn read_appended(&mut self) -> std::io::Result<Vec<u8>> {
        let mut file = frostline_files::open(&self.file).map_err(|error| error.reason)?;
        if file.metadata()?.len() < self.read {
            // The cell has begun anew.
            *self = Self { file: std::mem::take(&mut self.file), ..Self::for_cell(Path::new(""), &self.id) };
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.take(MOST_READ).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn add_event(&mut self, event: Event) {
        if event.id() != Some(&self.id) {
            return;
        }
        match event {
            Event::Step(step) => {
                self.losses.add_point(step.step, step.loss_nats);
                self.last = Some(step);
            }
            Event::Epoch { row, .. } => self.dev_accuracy.add_point(row.epoch, row.dev.accuracy()),
            _ => {}
        }
    }

    fn current_progress(&self) -> Option<CellProgress> {
        let last = self.last.as_ref()?;
        Some(CellProgress {
            step: last.step,
            steps: last.steps,
            epoch: last.epoch,
            loss_nats: last.loss_nats,
            tokens_per_s: last.tokens_per_s,
            left_s: last.left_s,
            peak_rss_mib: last.peak_rss_mib,
            losses: self.losses.0.clone(),
            dev_accuracy: self
                .dev_accuracy
                .0
                .iter()
                .copied()
                .filter(|(epoch, _)| *epoch <= last.epoch)
                .collect(),
        })
    }
}

/// Points of a curve, thinned so that their number stays bounded.
#[derive(Default)]
struct LiveCurve<T>(Vec<(T, f64)>);

impl<T: PartialOrd> LiveCurve<T> {
    /// Adds a point. Points at its place and behind it belong to an attempt that ended, and are dropped.
    fn add_point(&mut self, at: T, value: f64) {
        while self.0.pop_if(|(last, _)| *last >= at).is_some() {}
        self.0.push((at, value));
        if self.0.len() > MOST_POINTS {
            let mut keep = false;
            self.0.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use frostline_record::{EpochRow, Score};

    use super::*;

    fn step_event(step: u64, loss_nats: f64) -> Event {
        Event::Step(StepEvent {
            id: "a1".into(),
            step,
            steps: 90,
            epoch: 1,
            loss_nats,
            lr: 1e-3,
            tokens_per_s: 2e3,
            left_s: 5.0,
            peak_rss_mib: Some(100.0),
        })
    }

    fn epoch_event(epoch: u32) -> Event {
        let row = EpochRow {
            epoch,
            stage: 1,
            step: 10,
            trainable: 1,
            train_loss_nats: 1.0,
            dev: Score { words: 4, correct: u64::from(epoch), ..Score::default() },
            dev_f1: Default::default(),
            others: Default::default(),
        };
        Event::Epoch { id: "a1".into(), row }
    }

    fn append_text(folder: &Path, text: &str) {
        let mut file =
            OpenOptions::new().create(true).append(true).open(folder.join("metrics.jsonl")).expect("a file");
        file.write_all(text.as_bytes()).expect("written");
    }

    fn event_line(event: &Event) -> String {
        serde_json::to_string(event).expect("plain data") + "\n"
    }

    #[test]
    fn what_is_appended_is_read_once_and_a_half_line_later() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut live = Live::for_cell(folder.path(), "a1");
        assert_eq!(live.read_progress(), None);
        assert!(!live.has_begun());
        append_text(folder.path(), "");
        assert_eq!((live.read_progress(), live.has_begun()), (None, true), "it takes its first steps");
        append_text(folder.path(), &event_line(&step_event(10, 2.0)));
        let second = event_line(&step_event(20, 1.5));
        append_text(folder.path(), &second[..20]);
        assert_eq!(live.read_progress().expect("a step").losses, [(10, 2.0)]);
        append_text(folder.path(), &second[20..]);
        append_text(
            folder.path(),
            &(event_line(&epoch_event(1))
                + "damaged\n"
                + &event_line(&step_event(30, 1.0)).replace("a1", "b2")),
        );
        let found = live.read_progress().expect("steps");
        assert_eq!((found.step, found.losses.len(), found.dev_accuracy), (20, 2, vec![(1, 0.25)]));
    }

    #[test]
    fn what_an_attempt_repeats_is_there_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut live = Live::for_cell(folder.path(), "a1");
        append_text(
            folder.path(),
            &[step_event(10, 2.0), step_event(20, 1.5), epoch_event(1), step_event(30, 1.0)]
                .map(|e| event_line(&e))
                .concat(),
        );
        live.read_progress();
        // Another worker continues from a checkpoint after step 10.
        append_text(folder.path(), &[step_event(20, 1.25), epoch_event(1)].map(|e| event_line(&e)).concat());
        let found = live.read_progress().expect("steps");
        assert_eq!(found.losses, [(10, 2.0), (20, 1.25)]);
        assert_eq!(found.dev_accuracy.len(), 1);
        // Another starts anew.
        std::fs::remove_file(folder.path().join("metrics.jsonl")).expect("removed");
        append_text(folder.path(), &event_line(&step_event(5, 3.0)));
        assert_eq!(live.read_progress().expect("a step").losses, [(5, 3.0)]);
    }

    #[test]
    fn events_with_numbers_that_nothing_can_be_computed_with_are_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut live = Live::for_cell(folder.path(), "a1");
        let large = [1e308, -1e308, 1e16].map(|loss| event_line(&step_event(20, loss))).concat();
        append_text(
            folder.path(),
            &(event_line(&step_event(10, 2.0)) + &large + &event_line(&step_event(u64::MAX, 1.0))),
        );
        assert_eq!(live.read_progress().expect("a step").losses, [(10, 2.0)]);
    }

    #[test]
    fn many_epochs_and_lines_without_end_take_bounded_time_and_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut live = Live::for_cell(folder.path(), "a1");
        let epochs: String = (1..10_000).map(|number| event_line(&epoch_event(number))).collect();
        append_text(
            folder.path(),
            &("x".repeat(2 * MOST_READ as usize) + "\n" + &event_line(&step_event(10, 2.0)) + &epochs),
        );
        let looks = (0..10).take_while(|_| live.read_progress().is_none()).count();
        assert_eq!(looks, 2, "what is read is not read again");
        while live.read != std::fs::metadata(&live.file).expect("the file").len() {
            live.read_progress();
        }
        assert!(live.dev_accuracy.0.len() <= MOST_POINTS);
    }

    #[test]
    fn a_long_curve_keeps_its_ends() {
        let mut curve = LiveCurve::default();
        (1..=10_000).for_each(|step| curve.add_point(step, 1.0));
        assert!(curve.0.len() <= MOST_POINTS);
        assert_eq!((curve.0[0].0, curve.0.last().map(|point| point.0)), (1, Some(10_000)));
    }
}
