//! The rounds: each runs every task once, in turns, and keeps the results.
//!
//! A task that has failed is not run again; the others continue.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use crate::agenda::{Agenda, BenchTask, MeasuredSide};
use crate::compare;
use crate::frostline_side::FrostlineSide;
use crate::peer::Peer;
use crate::places::BenchEncoder;
use crate::process::{ProcessAnswer, ProcessRefusal};
use crate::spread::format_figure;
use crate::stored::{SideFigures, StoredRow, StoredSide};
use crate::suite::Suite;
use frostline_sweep::note;
use frostline_sweep::units::format_clock;

/// The tasks to measure, and the measurements so far.
#[derive(Debug)]
pub(crate) struct BenchRounds<'a> {
    agenda: &'a Agenda,
    encoders: &'a [BenchEncoder],
    treebanks: &'a BTreeMap<String, PathBuf>,
    ours: &'a FrostlineSide<'a>,
    peer: Option<&'a Peer<'a>>,
    /// One per task of the agenda.
    states: Vec<TaskState>,
    gemm: BTreeMap<String, Vec<f64>>,
    versions: BTreeMap<String, String>,
}

/// The state of one task.
#[derive(Clone, Debug, Default)]
struct TaskState {
    rounds: Vec<SideFigures>,
    /// Why it is not run, or no longer run.
    note: Option<String>,
    failed: bool,
}

impl<'a> BenchRounds<'a> {
    /// The state before the first round.
    pub(crate) fn new(
        agenda: &'a Agenda,
        encoders: &'a [BenchEncoder],
        treebanks: &'a BTreeMap<String, PathBuf>,
        ours: &'a FrostlineSide<'a>,
        peer: Option<&'a Peer<'a>>,
    ) -> Self {
        let lacks = |task: &BenchTask| task.who == MeasuredSide::Peer && peer.is_none();
        let note = |task: &BenchTask| lacks(task).then(|| "no peer: give --python".to_string());
        let states =
            agenda.tasks.iter().map(|task| TaskState { note: note(task), ..TaskState::default() }).collect();
        let (gemm, versions) = (BTreeMap::new(), BTreeMap::new());
        Self { agenda, encoders, treebanks, ours, peer, states, gemm, versions }
    }

    /// One round, as much of it as there is time for.
    pub(crate) fn run_round(&mut self, number: u32, of: u32) {
        self.measure_gemm();
        for at in 0..self.agenda.tasks.len() {
            if self.states[at].note.is_some() {
                continue;
            }
            let task = self.agenda.tasks[at];
            let name = self.task_title(&task);
            let started = Instant::now();
            let outcome = self.measure_task(&task).and_then(|answer| check_complete(&task, answer));
            let took = format_clock(started.elapsed().as_secs_f64());
            match outcome {
                Ok(answer) => {
                    let first = task.suite.measure_keys().next().expect("a suite has figures");
                    let (value, unit) =
                        (format_figure(answer.figures[first]), &compare::measure_by_key(first).unit);
                    note!("round {number}/{of}  {name}  {value} {unit}  [{took}]");
                    self.states[at].rounds.push(answer.figures);
                    if task.who == MeasuredSide::Peer {
                        self.versions.extend(answer.words);
                    }
                }
                Err(ProcessRefusal::TimeOver) => return,
                // Python ends with the same code if a script does not exist.
                Err(ProcessRefusal::Unsupported(why)) if task.who == MeasuredSide::Ours => {
                    note!("round {number}/{of}  {name}  skipped: {why}");
                    self.states[at].note = Some(format!("skipped: {}", without_paths(&why)));
                }
                Err(ProcessRefusal::Unsupported(why) | ProcessRefusal::Failed(why)) => {
                    note!("round {number}/{of}  {name}  FAILED: {why}");
                    self.states[at].note = Some("failed".into());
                    self.states[at].failed = true;
                }
            }
        }
    }

    fn measure_task(&self, task: &BenchTask) -> Result<ProcessAnswer, ProcessRefusal> {
        let encoder = &self.encoders[task.encoder];
        let folder = |name: &str| self.treebanks[name].clone();
        match (task.who, self.peer) {
            (MeasuredSide::Peer, Some(peer)) => peer.measure_task(task, encoder, folder),
            _ => self.ours.measure_task(task, encoder, &folder(task.treebank_name())),
        }
    }

    /// The machine's speed in the precisions that our side computes in, in the same round.
    fn measure_gemm(&mut self) {
        let runs = |(task, state): (&'a BenchTask, &TaskState)| {
            // No share of it is shown of these.
            let counts = !matches!(task.suite, Suite::Reading | Suite::Device | Suite::Starts);
            (task.who == MeasuredSide::Ours && counts && state.note.is_none())
                .then_some(task.setting.precision.as_str())
        };
        let mut precisions: Vec<&str> = self.agenda.tasks.iter().zip(&self.states).filter_map(runs).collect();
        precisions.sort_unstable();
        precisions.dedup();
        for precision in precisions {
            match self.ours.gemm_gflops(precision) {
                Some(gflops) => self.gemm.entry(precision.into()).or_default().push(gflops),
                None => note!("the runner gives no GEMM peak in {precision}: no share of it is shown"),
            }
        }
    }

    /// Returns what could have been run but had no round for lack of time: one text for each encoder and policy.
    pub(crate) fn unmeasured_titles(&self) -> Vec<String> {
        let left = self.agenda.tasks.iter().zip(&self.states);
        let left = left.filter(|(_, state)| state.rounds.is_empty() && state.note.is_none());
        let mut texts: Vec<(String, Vec<&str>)> = Vec::new();
        for (task, _) in left {
            let name = format!("{}  {}", self.encoders[task.encoder].name, task.policies.join(","));
            match texts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, settings)) => settings.push(&task.setting.id),
                None => texts.push((name, vec![&task.setting.id])),
            }
        }
        texts.into_iter().map(|(name, settings)| format!("{name}  {}", settings.join("; "))).collect()
    }

    fn task_title(&self, task: &BenchTask) -> String {
        let who = if task.who == MeasuredSide::Ours { "ours" } else { "peer" };
        let encoder = &self.encoders[task.encoder].name;
        format!("{who}  {encoder}  {}  {}", task.policies.join(","), task.setting.id)
    }

    /// Returns the versions that the peer reported.
    pub(crate) fn peer_versions(&self) -> BTreeMap<String, String> {
        self.versions.clone()
    }

    /// Returns the machine's speed in matrix products, by precision and round.
    pub(crate) fn gemm_speeds(&self) -> BTreeMap<String, Vec<f64>> {
        self.gemm.clone()
    }

    /// Returns the rows of the tables.
    pub(crate) fn table_rows(&self, run: &str) -> Vec<StoredRow> {
        let side = |at: usize| {
            let (task, state) = (&self.agenda.tasks[at], &self.states[at]);
            StoredSide {
                setting: task.setting.id.clone(),
                precision: task.setting.precision.clone(),
                rounds: state.rounds.clone(),
                note: state.note.clone(),
                failed: state.failed,
            }
        };
        let lines = self.agenda.lines.iter();
        lines
            .map(|line| StoredRow {
                suite: line.comparison.suite,
                comparison: line.comparison.id.clone(),
                encoder: self.encoders[line.encoder].name.clone(),
                random_init: self.encoders[line.encoder].random_init,
                backend: self.ours.backend(),
                policy: line.policies.join(","),
                run: run.into(),
                ours: side(line.ours),
                peer: side(line.peer),
            })
            .collect()
    }
}

/// Removes paths from a remark, which may be published.
fn without_paths(text: &str) -> String {
    let is_path = |word: &str| word.trim_start_matches(['`', '"', '\'', '(']).starts_with('/');
    text.split(' ').map(|word| if is_path(word) { "PATH" } else { word }).collect::<Vec<_>>().join(" ")
}

/// Checks that no figure is missing from a process's output.
fn check_complete(task: &BenchTask, answer: ProcessAnswer) -> Result<ProcessAnswer, ProcessRefusal> {
    let absent = task.suite.measure_keys().find(|key| !answer.figures.contains_key(*key));
    match absent {
        Some(key) => Err(ProcessRefusal::Failed(format!("its output lacks `{key}`"))),
        None => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agenda::Only;
    use crate::stored::tests::side_with_steps;

    #[test]
    fn remarks_name_no_folders() {
        assert_eq!(without_paths("`/data/x`: no `--precision bf16` here"), "PATH no `--precision bf16` here");
    }

    #[test]
    fn an_answer_without_its_figure_is_none() {
        let encoders = [crate::places::tests::encoder("tiny", false)];
        let agenda = Agenda::new(&[Suite::Steps], &encoders, Only::default()).expect("an agenda");
        let whole = ProcessAnswer {
            figures: side_with_steps("f32", &[1.0]).rounds[0].clone(),
            ..ProcessAnswer::default()
        };
        let mut lacking = whole.clone();
        lacking.figures.remove("peak_rss_mib");
        assert!(check_complete(&agenda.tasks[0], whole).is_ok());
        let refusal = check_complete(&agenda.tasks[0], lacking).expect_err("no memory");
        assert_eq!(refusal, ProcessRefusal::Failed("its output lacks `peak_rss_mib`".into()));
    }
}
