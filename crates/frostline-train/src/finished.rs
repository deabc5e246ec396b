//! A finished run, and the check that frozen parameters kept every bit.

use std::collections::BTreeMap;

use frostline_freeze::{Group, ResolvedPolicy};
use frostline_kernels::Train;
use frostline_model::{Network, fingerprints};
use frostline_record::{FreezeCheck, LossPoint};

use crate::freezer::Freezer;
use crate::progress::Progress;
use crate::resume::Best;
use crate::{Epoch, Evaluation, Run, Times, TrainError};

/// A finished run.
pub struct Finished<B: Train> {
    /// The selected epoch's model.
    pub model: Network<B>,
    /// The selected epoch, from 1; 0 where there was none.
    pub selected: u32,
    /// Dev with the selected epoch's model, one per task.
    pub dev: Vec<Evaluation>,
    /// All epochs.
    pub epochs: Vec<Epoch>,
    /// The train-loss curve.
    pub losses: Vec<LossPoint>,
    /// Steps taken.
    pub steps: u64,
    /// Sentences and subwords that they saw.
    pub seen: (u64, u64),
    /// What froze during the run, from the input up, each with the step after which it did.
    pub settled: Vec<(Group, u64)>,
    /// Frozen and moved parameters of the selected model against the start. What froze during the run
    /// counts as trainable.
    pub freezing: FreezeCheck,
    /// Parameters that hold optimiser state: never a frozen one.
    pub states: usize,
    /// What a row of the word table without gradient was multiplied with up to the selected epoch.
    pub untouched_rows: f64,
    /// Where the time went.
    pub times: Times,
}

impl<B: Train> Finished<B> {
    /// The outcome of a run whose last step was taken: the selected epoch's model, checked.
    ///
    /// # Errors
    /// Where a frozen parameter changed.
    pub(crate) fn select(
        run: &Run<'_>,
        freezer: &Freezer<'_, B>,
        at: Progress,
        last: Network<B>,
        best: Option<Best<B>>,
        states: usize,
    ) -> Result<Self, TrainError> {
        let (selected, untouched_rows) = at.best.unwrap_or((0, 1.0));
        let (model, dev) = best.unwrap_or((last, None));
        // Scores are a function of the model: what was not kept is computed again.
        let dev = match dev {
            Some(dev) => dev,
            None => run.score(&model, run.tasks)?,
        };
        let policy = run.timeline.trained_until(at.steps_at_end_of(selected).saturating_sub(1));
        let freezing = check_freezing(&at.start, &fingerprints(&model), &policy, selected > 0)?;
        let Progress { epochs, losses, step: steps, sentences, tokens, times, .. } = at;
        let settled = freezer.settled();
        Ok(Self {
            model,
            selected,
            dev,
            epochs,
            losses,
            steps,
            seen: (sentences as u64, tokens as u64),
            settled,
            freezing,
            states,
            untouched_rows,
            times,
        })
    }
}

/// Compares the bits of every parameter before and after. Without a step, nothing had to move.
fn check_freezing(
    start: &BTreeMap<String, u64>,
    end: &BTreeMap<String, u64>,
    policy: &ResolvedPolicy,
    stepped: bool,
) -> Result<FreezeCheck, TrainError> {
    let mut found = FreezeCheck::default();
    for (path, before) in start {
        let same = end.get(path) == Some(before);
        match (policy.freezes(path) || !stepped, same) {
            (true, true) => found.frozen += 1,
            (true, false) => return Err(TrainError::FrozenChanged { path: path.clone() }),
            (false, false) => found.moved += 1,
            (false, true) => found.unmoved.push(path.clone()),
        }
    }
    Ok(found)
}
