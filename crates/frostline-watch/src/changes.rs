//! The events between two readings of a folder, as the notices that `sweep --json` prints.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use frostline_sweep::{CellName, CellProgress, CellSnapshot, CellState, Decision, Notice, Snapshot};

/// Compares each snapshot with the one before.
#[derive(Debug)]
pub struct Changes {
    folder: PathBuf,
    /// How each cell stood, by id; nothing before the first snapshot.
    before: Option<HashMap<String, CellState>>,
    decision: Option<Decision>,
}

impl Changes {
    /// Creates the changes of the sweep in this folder.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        Self { folder: folder.into(), before: None, decision: None }
    }

    /// Returns the events since the last snapshot. For the first snapshot, these are the sweep's state and the
    /// progress of its running cells.
    pub fn since(&mut self, snapshot: &Snapshot) -> Vec<Notice> {
        let mut notices = Vec::new();
        let first = self.before.is_none();
        let counts = snapshot.counts;
        if first {
            let folder = self.folder.display().to_string();
            notices.push(Notice::Begin { folder, cells: counts.cells, done: counts.done });
        }
        let mut before = self.before.take().unwrap_or_default();
        let mut now = HashMap::with_capacity(snapshot.cells.len());
        for cell in &snapshot.cells {
            let last = before.remove(&cell.id);
            // Earlier events are included in the counts of the first snapshot.
            if !first || matches!(cell.state, CellState::Running { .. }) {
                notices.extend(cell_changes(cell, last.as_ref().unwrap_or(&CellState::Waiting)));
            }
            now.insert(cell.id.clone(), cell.state.clone());
        }
        self.before = Some(now);
        if snapshot.decision != self.decision {
            self.decision.clone_from(&snapshot.decision);
            notices.extend(snapshot.decision.clone().map(Notice::Decision));
        }
        if snapshot.has_ended() {
            notices.push(Notice::End { cells: counts.cells, done: counts.done, failed: counts.failed });
        }
        notices
    }
}

/// Returns the events of a cell since its state `last`.
fn cell_changes(cell: &CellSnapshot, last: &CellState) -> Vec<Notice> {
    let name = || CellName { id: cell.id.clone(), cell: cell.title.clone() };
    let CellState::Running { by, progress, .. } = &cell.state else {
        let is_new = cell.state != *last;
        return Notice::of_state(name(), &cell.state).into_iter().filter(|_| is_new).collect();
    };
    let mut notices = Vec::new();
    let known = match last {
        CellState::Running { by: before, progress, .. } if before == by => progress.as_ref(),
        _ => {
            let from = match last {
                CellState::LeftBehind { by } | CellState::Running { by, .. } => Some(by.clone()),
                _ => None,
            };
            notices.push(Notice::Started { cell: name(), from });
            None
        }
    };
    let Some(progress) = progress else { return notices };
    notices.extend(ended_epochs(&name(), progress, known));
    if known.is_none_or(|known| known.step != progress.step) {
        notices.push(step_notice(name(), progress));
    }
    notices
}

/// Returns the epochs that have ended since.
fn ended_epochs(name: &CellName, progress: &CellProgress, known: Option<&CellProgress>) -> Vec<Notice> {
    let last = known.and_then(|known| known.dev_accuracy.last()).map_or(0, |(epoch, _)| *epoch);
    let new = progress.dev_accuracy.iter().filter(|(epoch, _)| *epoch > last);
    new.map(|&(epoch, dev_accuracy)| Notice::Epoch { cell: name.clone(), epoch, dev_accuracy }).collect()
}

fn step_notice(cell: CellName, progress: &CellProgress) -> Notice {
    Notice::Step {
        cell,
        step: progress.step,
        steps: progress.steps,
        epoch: progress.epoch,
        loss_nats: progress.loss_nats,
        tokens_per_s: progress.tokens_per_s,
        left_s: progress.left_s,
        peak_rss_mib: progress.peak_rss_mib,
    }
}

#[cfg(test)]
mod tests {
    use frostline_sweep::CellCounts;

    use super::*;

    fn running_state(by: &str, step: u64, epochs: u32) -> CellState {
        let progress = CellProgress {
            step,
            steps: 90,
            epoch: epochs + 1,
            loss_nats: 0.5,
            tokens_per_s: 100.0,
            left_s: 9.0,
            peak_rss_mib: None,
            losses: vec![(step, 0.5)],
            dev_accuracy: (1..=epochs).map(|epoch| (epoch, 0.5 + f64::from(epoch) / 10.0)).collect(),
        };
        CellState::Running {
            by: by.into(),
            seen_s: None,
            loaded: step > 0,
            progress: (step > 0).then_some(progress),
        }
    }

    fn test_snapshot(states: &[CellState]) -> Snapshot {
        let cells = states.iter().enumerate().map(|(number, state)| CellSnapshot {
            id: number.to_string(),
            title: format!("cell {number}"),
            state: state.clone(),
        });
        let count = |is: fn(&CellState) -> bool| states.iter().filter(|state| is(state)).count();
        let counts = CellCounts {
            cells: states.len(),
            done: count(|state| matches!(state, CellState::Done { .. })),
            failed: count(|state| matches!(state, CellState::Failed { .. })),
            ..CellCounts::default()
        };
        let cells = cells.collect();
        Snapshot {
            plan: "x".into(),
            synthetic: false,
            counts,
            search_continues: false,
            decision: None,
            left_s: None,
            cells,
        }
    }

    #[test]
    fn a_search_has_not_ended_between_its_rounds() {
        let done = CellState::Done { accuracy: vec![], total_s: 2.0, peak_rss_mib: None };
        let failed = CellState::Failed { error: "no memory".into() };
        for (states, continues, ends) in [
            ([done.clone(), done.clone()], true, false),
            ([done.clone(), failed.clone()], true, false),
            ([done.clone(), done.clone()], false, true),
            ([done.clone(), failed], false, true),
        ] {
            let look = Snapshot { search_continues: continues, ..test_snapshot(&states) };
            let told = Changes::of(Path::new("study")).since(&look);
            assert_eq!(matches!(told.last(), Some(Notice::End { .. })), ends, "{told:?}");
        }
    }

    #[test]
    fn each_change_is_told_once() {
        let done = CellState::Done { accuracy: vec![("dev".into(), 0.75)], total_s: 2.0, peak_rss_mib: None };
        let failed = CellState::Failed { error: "no memory".into() };
        let looks = [
            [done.clone(), CellState::Waiting],
            [done.clone(), running_state("a", 0, 0)],
            [done.clone(), running_state("a", 10, 0)],
            [done.clone(), running_state("a", 10, 0)],
            [done.clone(), running_state("a", 50, 2)],
            [done.clone(), CellState::LeftBehind { by: "a".into() }],
            [done.clone(), running_state("b", 40, 1)],
            [done.clone(), failed],
            [done.clone(), running_state("b", 10, 0)],
            [done.clone(), done],
        ];
        let mut changes = Changes::of(Path::new("study"));
        let told: Vec<String> = looks
            .iter()
            .map(|states| {
                let notices = changes.since(&test_snapshot(states));
                serde_json::to_string(&notices).expect("plain data").replace("},{", "},\n {")
            })
            .collect();
        insta::assert_snapshot!(told.join("\n"));
    }
}
