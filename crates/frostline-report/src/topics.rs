//! The list of topics. A new one is a file here and a line below; nothing else in this crate names it.

pub(crate) mod accuracy;
mod baselines;
mod blocks;
mod changes;
mod claims;
pub(crate) mod convergence;
mod cost;
mod curves;
pub(crate) mod data;
mod dev_steps;
mod errors;
mod parameters;
mod pareto;
mod provenance;
mod rates;
mod reference;
pub(crate) mod sentences;
mod shared_trunk;
pub(crate) mod stages;
mod tasks;
mod train_loss;
mod verdicts;

use crate::study::{Stored, Study};
use crate::topic::Topic;

/// All topics, in the order in which the report has them.
pub(crate) fn all_topics(study: &Study, stored: &mut Stored<'_>) -> Vec<Box<dyn Topic>> {
    vec![
        Box::new(accuracy::Accuracies),
        Box::new(verdicts::VerdictTables),
        Box::new(pareto::Pareto),
        Box::new(curves::LearningCurves::of(study)),
        Box::new(blocks::Blocks::of(study, stored)),
        Box::new(stages::Stages),
        Box::new(tasks::Tasks),
        Box::new(sentences::Sentences::of(study, stored)),
        Box::new(convergence::Convergence),
        Box::new(dev_steps::DevSteps),
        Box::new(data::Data),
        Box::new(parameters::Parameters),
        Box::new(changes::Changes),
        Box::new(cost::TrainingCost),
        Box::new(train_loss::TrainLoss),
        Box::new(rates::Rates),
        Box::new(baselines::Baselines::of(study)),
        Box::new(claims::Claims::of(study)),
        Box::new(shared_trunk::SharedTrunks),
        Box::new(provenance::Provenance),
        Box::new(errors::Errors::of(study, stored)),
        Box::new(reference::Published::of(study, stored)),
    ]
}
