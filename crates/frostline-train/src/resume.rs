//! From a running training to a checkpoint, and back.

use std::collections::BTreeMap;

use frostline_kernels::Train;
use frostline_model::{Network, Values, fingerprints, replace, snapshot};

use crate::freezer::Freezer;
use crate::progress::Progress;
use crate::{Evaluation, Optimizer, Saved, TrainError};

/// The best model so far, with its dev scores unless it comes from a checkpoint.
pub(crate) type Best<B> = (Network<B>, Option<Vec<Evaluation>>);

/// What the loop starts with.
pub(crate) struct Start<B: Train> {
    pub model: Network<B>,
    pub best: Option<Best<B>>,
    pub at: Progress,
}

/// A run at its start, or where an earlier attempt was saved.
///
/// # Errors
/// Where what was saved is of another model.
pub(crate) fn resume<B: Train>(
    model: Network<B>,
    saved: Option<Saved>,
    optimizer: &mut Optimizer<B::InnerBackend>,
) -> Result<Start<B>, TrainError> {
    let start = fingerprints(&model);
    let Some(saved) = saved else {
        return Ok(Start { model, best: None, at: Progress::new(start) });
    };
    saved.check(start.keys())?;
    let Saved { progress, model: now, best, moments } = saved;
    let best = if best.is_empty() { None } else { Some((with(&model, &best)?, None)) };
    let model = with(&model, &now)?;
    optimizer.restore(&model, &model.device(), moments);
    Ok(Start { model, best, at: progress })
}

/// The model with these parameters.
fn with<B: Train>(model: &Network<B>, values: &BTreeMap<String, Values>) -> Result<Network<B>, TrainError> {
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
