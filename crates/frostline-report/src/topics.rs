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

use crate::study::{StoredPredictions, Study};
use crate::topic::Topic;

/// All topics, in the order in which the report has them.
pub(crate) fn all_topics(study: &Study, stored: &mut StoredPredictions<'_>) -> Vec<Box<dyn Topic>> {
    vec![
        Box::new(accuracy::AccuracyTopic),
        Box::new(verdicts::VerdictsTopic),
        Box::new(pareto::ParetoTopic),
        Box::new(curves::LearningCurvesTopic::of(study)),
        Box::new(blocks::BlocksTopic::of(study, stored)),
        Box::new(stages::StagesTopic),
        Box::new(tasks::TasksTopic),
        Box::new(sentences::SentencesTopic::of(study, stored)),
        Box::new(convergence::ConvergenceTopic),
        Box::new(dev_steps::DevStepsTopic),
        Box::new(data::DataTopic),
        Box::new(parameters::ParametersTopic),
        Box::new(changes::ChangesTopic),
        Box::new(cost::TrainingCostTopic),
        Box::new(train_loss::TrainLossTopic),
        Box::new(rates::RatesTopic),
        Box::new(baselines::BaselinesTopic::of(study)),
        Box::new(claims::ClaimsTopic::of(study)),
        Box::new(shared_trunk::SharedTrunksTopic),
        Box::new(provenance::ProvenanceTopic),
        Box::new(errors::ErrorsTopic::of(study, stored)),
        Box::new(reference::PublishedTopic::of(study, stored)),
    ]
}
