//! What a run works on: its settings, the encoder, what is frozen when, and the tasks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use burn::module::AutodiffModule as _;
use frostline_freeze::{SettlingRule, Timeline};
use frostline_kernels::Train;
use frostline_model::{EncoderConfig, Network};
use frostline_record::{Checkpoints, Settings};

use crate::progress::Progress;
use crate::{Evaluation, TrainError, View, evaluate};

/// What a run works on.
pub struct Run<'a> {
    /// The settings: of these the seed, `train`, `optimizer`, `schedule`, `dropout`,
    /// `eval.batch_tokens` and `eval.every_steps`. The others decide about data, model and policy, which stand beside them here.
    pub settings: &'a Settings,
    /// The encoder's shape.
    pub encoder: &'a EncoderConfig,
    /// What is frozen when.
    pub timeline: &'a Timeline,
    /// What is learned.
    pub tasks: &'a [Task<'a>],
    /// The task by which the best epoch is chosen: a place in the list.
    pub headline: usize,
    /// Epochs and steps of the runs that this one continues: they decide order and dropout, so
    /// that no stage repeats an earlier one's.
    pub before: (u64, u64),
    /// How often it hands out its state.
    pub checkpoints: Checkpoints,
    /// Whether a checkpoint is wanted after the running step, whatever `checkpoints` says.
    pub asked: Option<&'a AtomicBool>,
    /// When more freezes during the run, where the policy is adaptive.
    pub settling: Option<SettlingRule>,
    /// Bytes that may hold the output of what has frozen during the run, so that it need not be computed
    /// again.
    pub memory: usize,
    /// Whether every step waits until its device has done it, so that its time is a step's: for measurements.
    pub waits: bool,
}

/// One thing to learn.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Its name, from which the order of its batches is drawn.
    pub name: &'a str,
    /// Its head: a place in the model's list.
    pub head: usize,
    /// What its loss is multiplied with; 0 means that it is scored and not trained.
    pub weight: f64,
    /// What is learned from.
    pub train: View<'a>,
    /// What is scored after every epoch.
    pub dev: View<'a>,
}

impl<'a> Run<'a> {
    /// A run that continues no other, whose first task is the headline, and that hands out no checkpoint.
    #[must_use]
    pub fn new(
        settings: &'a Settings,
        encoder: &'a EncoderConfig,
        timeline: &'a Timeline,
        tasks: &'a [Task<'a>],
    ) -> Self {
        Self {
            settings,
            encoder,
            timeline,
            tasks,
            headline: 0,
            before: (0, 0),
            checkpoints: Checkpoints::NEVER,
            asked: None,
            settling: None,
            memory: 0,
            waits: false,
        }
    }

    /// One task on the first head.
    #[must_use]
    pub fn task(train: View<'a>, dev: View<'a>) -> Task<'a> {
        Task { name: "task", head: 0, weight: 1.0, train, dev }
    }

    /// Steps in all.
    #[must_use]
    pub fn steps(&self) -> u64 {
        let size = self.settings.train.batch;
        let learned = self.tasks.iter().filter(|task| task.weight > 0.0);
        let batches = learned.map(|task| task.train.data.examples.len().div_ceil(size) as u64);
        batches.sum::<u64>() * u64::from(self.epochs())
    }

    /// Passes over the data: none where nothing learns.
    pub(crate) fn epochs(&self) -> u32 {
        if self.timeline.whole().freezes_all() { 0 } else { self.settings.train.epochs }
    }

    /// Whether dropout acts in frozen parts of the encoder, so that their output is no constant.
    pub(crate) fn drops_in_frozen(&self) -> bool {
        let dropout = &self.settings.dropout;
        dropout.encoder.is_on() && dropout.frozen.is_on()
    }

    /// Whether the cached prefixes of all tasks are constant in this run.
    ///
    /// # Panics
    /// Where something in one of them learns or is dropped: the result would be another one.
    pub(crate) fn check_prefixes(&self) {
        let constant = self.timeline.whole().constant_prefix();
        let prefixes = self.tasks.iter().flat_map(|task| [task.train.prefix, task.dev.prefix]);
        for prefix in prefixes.flatten() {
            let fits = constant.is_some_and(|blocks| prefix.blocks <= blocks) && !self.drops_in_frozen();
            assert!(fits, "{} blocks below a cached prefix are no constant of the data", prefix.blocks);
        }
    }

    /// Every task's dev split; `tasks` are the run's, perhaps with a prefix to read.
    pub(crate) fn score<B: Train>(
        &self,
        model: &Network<B>,
        tasks: &[Task<'_>],
    ) -> Result<Vec<Evaluation>, TrainError> {
        let model = model.valid();
        let score = |task: &Task<'_>| evaluate(&model, task.head, self.encoder, task.dev, self.settings);
        tasks.iter().map(score).collect()
    }

    /// Whether dev is scored after this step whether or not an epoch ends with it.
    pub(crate) fn dev_is_due(&self, step: u64) -> bool {
        let every = self.settings.eval.every_steps;
        every > 0 && step > 0 && step.is_multiple_of(every)
    }

    /// Whether it is time for a checkpoint after this step.
    pub(crate) fn checkpoint_is_due(&self, step: u64, last: Instant) -> bool {
        let Checkpoints { steps, minutes } = self.checkpoints;
        self.asked.is_some_and(|asked| asked.load(Ordering::Relaxed))
            || (steps > 0 && step.is_multiple_of(steps))
            || (minutes > 0.0 && last.elapsed().as_secs_f64() >= minutes * 60.0)
    }
}

/// What follows a step, besides the next one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// A point of the loss curve.
    pub log: bool,
    /// Scores of dev within the epoch.
    pub dev: bool,
    pub checkpoint: bool,
    /// The end of the epoch.
    end: bool,
}

impl Due {
    /// What is due after the last step of `at`, in an epoch of so many steps.
    pub fn after_step(run: &Run<'_>, at: &Progress, steps: usize, last_checkpoint: Instant) -> Self {
        let end = at.done == steps;
        Self {
            log: at.step.is_multiple_of(run.settings.train.log_every) || at.step == run.steps(),
            dev: !end && run.dev_is_due(at.step),
            checkpoint: run.checkpoint_is_due(at.step, last_checkpoint),
            end,
        }
    }

    /// Whether something of it reads the whole model.
    pub const fn reads_model(self) -> bool {
        self.dev || self.checkpoint || self.end
    }

    /// Whether something of it needs the losses of all steps so far.
    pub const fn reads_losses(self) -> bool {
        self.log || self.reads_model()
    }
}
