//! What is frozen at each step of a run: by its timeline, and as gradients settle where the policy is
//! adaptive.

use std::borrow::Cow;

use burn::module::AutodiffModule as _;
use frostline_freeze::{Group, ResolvedPolicy, Settling};
use frostline_kernels::Train;
use frostline_model::{Network, set_trainable};

use crate::grown::Grown;
use crate::{Norms, Optimizer, Run, Task};

/// What is frozen now. The one place that applies a policy to the model.
pub(crate) struct Freezer<'a, B: Train> {
    run: &'a Run<'a>,
    /// That of the last step taken: an unfreezing that is due comes with the next step.
    policy: ResolvedPolicy,
    settling: Settling,
    /// The norms of the last steps, of which `settling` has taken no note yet: they are on the device.
    unread: Vec<Norms<B::InnerBackend>>,
    /// The output of what has frozen during the run, where it is kept.
    grown: Option<Grown>,
}

impl<'a, B: Train> Freezer<'a, B> {
    /// Freezes what is frozen after so many steps, given what has settled by then.
    pub fn new(run: &'a Run<'a>, step: u64, settling: Settling, model: Network<B>) -> (Self, Network<B>) {
        let policy = run.timeline.at(0).clone();
        let mut freezer = Self { run, policy, settling, unread: Vec::new(), grown: None };
        let model = freezer.apply(step.saturating_sub(1), model);
        freezer.grown = freezer.grow(&model, None);
        (freezer, model)
    }

    /// Unfreezes and freezes what the timeline changes at this step, counted from 0. What is frozen loses its optimiser state.
    pub fn before_step(
        &mut self,
        step: u64,
        model: Network<B>,
        optimizer: &mut Optimizer<B::InnerBackend>,
    ) -> Network<B> {
        if !self.run.timeline.changes_at(step) {
            return model;
        }
        let model = self.apply(step, model);
        optimizer.forget(&model, |path| self.policy.freezes(path));
        model
    }

    /// Takes note of a step's gradients. Freezes what has settled, drops its optimiser state, and keeps
    /// its output where that is constant. `step` counts the steps taken. Norms are read from the device where a window ends, and
    /// where a checkpoint `saves` what is known of them.
    pub fn after_step(
        &mut self,
        step: u64,
        norms: Norms<B::InnerBackend>,
        saves: bool,
        mut model: Network<B>,
        optimizer: &mut Optimizer<B::InnerBackend>,
    ) -> Network<B> {
        let Some(rule) = self.run.settling else { return model };
        self.unread.push(norms);
        if !saves && !self.settling.is_due(self.unread.len() as u64, &rule) {
            return model;
        }
        let mut settles = false;
        let first = step + 1 - self.unread.len() as u64;
        for (step, norms) in (first..).zip(Norms::read_all(std::mem::take(&mut self.unread))) {
            // Only the last step can end a window.
            settles = self.settling.note(step, &rule, self.run.timeline.at(step), |group| norms.of(group));
        }
        if settles {
            model = self.apply(step, optimizer.give_back(model));
            optimizer.forget(&model, |path| self.policy.freezes(path));
            let smaller = self.grown.take();
            self.grown = self.grow(&model, smaller);
        }
        model
    }

    /// What is frozen now.
    pub const fn policy(&self) -> &ResolvedPolicy {
        &self.policy
    }

    /// What has settled so far, for a checkpoint.
    pub const fn settling(&self) -> &Settling {
        &self.settling
    }

    /// What has frozen during the run, from the input up, each with the step after which it did.
    pub fn settled(&self) -> Vec<(Group, u64)> {
        let timeline = self.run.timeline;
        self.run.settling.map_or_else(Vec::new, |rule| self.settling.frozen(timeline.whole(), &rule))
    }

    /// The run's tasks, reading what has frozen during the run where it is kept.
    pub fn tasks(&self) -> Cow<'_, [Task<'_>]> {
        match &self.grown {
            None => Cow::Borrowed(self.run.tasks),
            Some(grown) => Cow::Owned(grown.under(self.run.tasks)),
        }
    }

    /// Makes the model learn what the policy of a step, counted from 0, does not freeze.
    fn apply(&mut self, step: u64, model: Network<B>) -> Network<B> {
        let policy = self.run.timeline.at(step);
        self.policy = match self.run.settling {
            None => policy.clone(),
            Some(rule) => self.settling.policy(policy, &rule),
        };
        set_trainable(model, |path| !self.policy.freezes(path))
    }

    /// The output of what has frozen during the run, where it is constant and there is room for it. `smaller` is that of what had
    /// frozen before.
    fn grow(&self, model: &Network<B>, smaller: Option<Grown>) -> Option<Grown> {
        let Run { encoder, tasks, memory, settling, .. } = *self.run;
        let blocks = self.policy.constant_prefix().filter(|_| settling.is_some())?;
        // The model's mix may be that of another stage, and reads every block's output.
        let blocks = if model.mix.is_some() { 0 } else { blocks };
        let is_cached =
            tasks.iter().all(|task| task.train.prefix.is_some_and(|known| known.blocks == blocks));
        let subwords = |task: &Task<'_>| task.train.data.subwords() + task.dev.data.subwords();
        let bytes = tasks.iter().map(subwords).sum::<usize>() * encoder.hidden * size_of::<f32>();
        let is_useful = !self.run.drops_in_frozen() && !is_cached && bytes <= memory;
        // Where there is no room for both, the smaller one is freed before the larger one is computed.
        let smaller = smaller.filter(|_| 2 * bytes <= memory);
        is_useful.then(|| Grown::compute(&model.valid(), self.run, blocks, smaller.as_ref()))
    }
}
