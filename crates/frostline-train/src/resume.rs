//! From a running training to a checkpoint, and back.

use std::collections::BTreeMap;

use frostline_kernels::Train;
use frostline_model::{Network, Values, fingerprints, replace, snapshot};

use crate::freezer::Freezer;
use crate::progress::Progress;
use crate::{Evaluation, Optimizer, Run, Saved, TrainError};

/// The best model so far, with its dev scores unless it comes from a checkpoint.
pub(crate) type Best<B> = (Network<B>, Option<Vec<Evaluation>>);

/// The state of a run between two steps.
pub(crate) struct RunStart<'a, B: Train> {
    pub model: Network<B>,
    pub optimizer: Optimizer<B::InnerBackend>,
    pub freezer: Freezer<'a, B>,
    pub at: Progress,
    pub best: Option<Best<B>>,
}

/// Returns the state of a run at its start, or where an earlier attempt was saved.
///
/// # Errors
/// If `saved` is of another model.
///
/// # Panics
/// If a cached prefix contains something that is trained or dropped.
pub(crate) fn resume<'a, B: Train>(
    run: &'a Run<'a>,
    mut model: Network<B>,
    saved: Option<Saved>,
) -> Result<RunStart<'a, B>, TrainError> {
    run.check_prefixes();
    let mut optimizer = Optimizer::new(run.settings.optimizer.clone(), run.encoder.depth);
    let mut at = Progress::new(fingerprints(&model));
    let mut best = None;
    if let Some(saved) = saved {
        saved.check(at.start.keys())?;
        if !saved.best.is_empty() {
            best = Some((replace_parameters(&model, &saved.best)?, None));
        }
        model = replace_parameters(&model, &saved.model)?;
        optimizer.restore(&model, &model.device(), saved.moments);
        at = saved.progress;
    }
    let (freezer, model) = Freezer::new(run, at.step, std::mem::take(&mut at.settling), model);
    Ok(RunStart { model, optimizer, freezer, at, best })
}

/// The model with these parameters.
fn replace_parameters<B: Train>(
    model: &Network<B>,
    values: &BTreeMap<String, Values>,
) -> Result<Network<B>, TrainError> {
    replace(model.clone(), values).map_err(|error| TrainError::Checkpoint { reason: error.to_string() })
}

/// A run's state, from which [`resume`] continues it.
pub(crate) fn save<B: Train>(
    at: &Progress,
    freezer: &Freezer<'_, B>,
    model: &Network<B>,
    best: Option<&Best<B>>,
    optimizer: &Optimizer<B::InnerBackend>,
) -> Saved {
    Saved {
        progress: Progress { settling: freezer.settling().clone(), ..at.clone() },
        model: snapshot(model),
        best: best.map_or_else(BTreeMap::new, |(model, _)| snapshot(model)),
        moments: optimizer.save(model),
    }
}
