//! Training steps of several policies in turns, on the same batches in one process: whatever slows the machine down
//! slows all of them, so that the ratios of their times mean something. Waiting for a processor changes those of steps of a
//! few milliseconds all the same, but hardly the processor time that they use.

use burn::prelude::*;
use frostline_freeze::ResolvedPolicy;
use frostline_kernels::Train;
use frostline_model::{EncoderConfig, Network, set_trainable};
use frostline_random::Stream;
use frostline_record::Settings;

use crate::clock::{Clock, StepTime};
use crate::step::{TrainingStep, wait_for_device};
use crate::{Optimizer, Task, TrainError};

/// A policy whose steps are timed.
pub struct TurnTaker<'a> {
    /// The settings of its cell.
    pub settings: &'a Settings,
    /// The encoder's shape, with what the policy adds.
    pub encoder: &'a EncoderConfig,
    /// What is frozen.
    pub policy: &'a ResolvedPolicy,
    /// What is learned from; all have the same train sentences, perhaps above a prefix.
    pub task: Task<'a>,
    /// Its place among the models. Policies that add nothing share one.
    pub model: usize,
}

/// Policies that take steps in turns.
pub struct Turns<'a, B: Train> {
    takers: Vec<TurnTaker<'a>>,
    models: Vec<Option<Network<B>>>,
    optimizers: Vec<Optimizer<B::InnerBackend>>,
    batches: Vec<Vec<usize>>,
    stream: Stream,
}

impl<'a, B: Train> Turns<'a, B> {
    /// Policies, their models, and the batches as places in the train split.
    ///
    /// # Panics
    /// If there is no policy or no batch, or a policy's model is not there.
    #[must_use]
    pub fn new(takers: Vec<TurnTaker<'a>>, models: Vec<Network<B>>, batches: Vec<Vec<usize>>) -> Self {
        assert!(!batches.is_empty(), "there is no batch to take a step on");
        let first = takers.first().expect("there is no policy to take a step");
        assert!(takers.iter().all(|taker| taker.model < models.len()), "a policy's model is missing");
        let stream = Stream::new(first.settings.seed, "turns");
        let optimizer = |_| Optimizer::new(first.settings.optimizer.clone(), first.encoder.depth);
        let optimizers = models.iter().map(optimizer).collect();
        Self { takers, models: models.into_iter().map(Some).collect(), optimizers, batches, stream }
    }

    /// One step of each policy on the same batch, in an order drawn for this round. Gives their times in the policies'
    /// order.
    ///
    /// The learning rate is 0: the work of a step is the same, and the weights stay what all steps are timed on.
    ///
    /// # Errors
    /// If the loss is NaN or infinite.
    pub fn round(&mut self, round: u64) -> Result<Vec<StepTime>, TrainError> {
        let mut times = vec![StepTime::default(); self.takers.len()];
        let at = (round % self.batches.len() as u64) as usize;
        for taker in self.stream.child(round).permutation(self.takers.len()) {
            times[taker] = self.turn(taker, at, round)?;
        }
        Ok(times)
    }

    fn turn(&mut self, taker: usize, at: usize, round: u64) -> Result<StepTime, TrainError> {
        let TurnTaker { settings, encoder, policy, task, model: place } = &self.takers[taker];
        let model = self.models[*place].take().expect("each turn puts the model back");
        let model = set_trainable(model, |path| !policy.freezes(path));
        let optimizer = &mut self.optimizers[*place];
        // With all rows up to date, so that no turn makes up for updates of another.
        let model = optimizer.give_back(model);
        let model = optimizer.take_table(model);
        let masks = Stream::new(settings.seed, "dropout").child(round);
        let clock = Clock::start();
        let step = TrainingStep::new(encoder, settings, policy, *task, &self.batches[at], masks, 0.0);
        let (model, taken) = step.forward_backward_update(model, optimizer);
        wait_for_device(&model);
        let time = clock.elapsed();
        self.models[*place] = Some(model);
        let loss = taken.loss.map_or(0.0, |loss| loss.into_scalar().elem::<f32>());
        match loss.is_finite() {
            true => Ok(time),
            false => Err(TrainError::Diverged { step: 1, loss, lr: 0.0 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use crate::fixture::Fixture;

    /// Updates of each parameter after one round, of sentences of so many words.
    fn updates(policy: &str, words: usize) -> Vec<u64> {
        let Fixture { encoder, train, model } = Fixture::new(words);
        let policy = ResolvedPolicy::parse(policy, 1).expect("a policy");
        let settings = Settings::default();
        let task = Run::task((&train).into(), (&train).into());
        let taker = TurnTaker { settings: &settings, encoder: &encoder, policy: &policy, task, model: 0 };
        let mut turns = Turns::new(vec![taker], vec![model], vec![vec![0, 1], vec![2, 3]]);
        turns.round(0).expect("a round");
        let model = turns.models[0].take().expect("a model");
        let model = turns.optimizers[0].give_back(model);
        turns.optimizers[0].save(&model).into_values().map(|(steps, _)| steps).collect()
    }

    #[test]
    fn a_turn_updates_each_parameter_once() {
        for policy in ["none", "all"] {
            for words in [254, 3] {
                assert!(updates(policy, words).iter().all(|&steps| steps == 1), "{policy}, {words} words");
            }
        }
    }
}
