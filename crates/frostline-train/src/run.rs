//! One run from first step to last: the whole story is in [`train`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

use burn::module::AutodiffModule;
use burn::optim::GradientsParams;
use burn::prelude::*;
use frostline_freeze::{Group, LayerDecay, ResolvedPolicy, SettlingRule, Timeline};
use frostline_kernels::{Dropout, Train};
use frostline_model::{
    BlockDropout, EncoderConfig, Pass, Tagger, fingerprints, replace, set_trainable, snapshot,
};
use frostline_random::Stream;
use serde::{Deserialize, Serialize};

use crate::data::Batch;
use crate::mix::plan;
use crate::prefix::{Grown, logits};
use crate::saved::Progress;
use crate::{
    Evaluation, Norms, Optimizer, Pace, Saved, Schedule, Scored, Select, TrainConfig, TrainError, View,
    evaluate,
};

/// What a run works on.
pub struct Run<'a> {
    /// The settings.
    pub config: &'a TrainConfig,
    /// The encoder's shape.
    pub encoder: &'a EncoderConfig,
    /// What is frozen when.
    pub timeline: &'a Timeline,
    /// What is learned.
    pub tasks: &'a [Task<'a>],
    /// The task by which the best epoch is chosen: a place in the list.
    pub headline: usize,
    /// Epochs and steps of the runs that this one goes on from: they decide order and dropout, so
    /// that no stage repeats an earlier one's.
    pub before: (u64, u64),
    /// How often it says where it is.
    pub pace: Pace,
    /// When more freezes on the way, where the policy is adaptive.
    pub settling: Option<SettlingRule>,
    /// Bytes that may hold the output of what has frozen on the way, so that it need not be computed
    /// again.
    pub memory: usize,
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
    /// A run that goes on from no other, whose first task is the headline, and that never says where
    /// it is.
    #[must_use]
    pub fn new(
        config: &'a TrainConfig,
        encoder: &'a EncoderConfig,
        timeline: &'a Timeline,
        tasks: &'a [Task<'a>],
    ) -> Self {
        let (before, pace) = ((0, 0), Pace::default());
        Self { config, encoder, timeline, tasks, headline: 0, before, pace, settling: None, memory: 0 }
    }

    /// One task on the first head.
    #[must_use]
    pub fn task(train: View<'a>, dev: View<'a>) -> Task<'a> {
        Task { name: "task", head: 0, weight: 1.0, train, dev }
    }

    /// Steps in all.
    #[must_use]
    pub fn steps(&self) -> u64 {
        let learned = self.tasks.iter().filter(|task| task.weight > 0.0);
        let batches = learned.map(|task| task.train.data.examples.len().div_ceil(self.config.batch) as u64);
        batches.sum::<u64>() * u64::from(self.epochs())
    }

    /// Passes over the data: none where nothing learns.
    fn epochs(&self) -> u32 {
        if self.timeline.last().freezes_all() { 0 } else { self.config.epochs }
    }

    /// Whether a constant prefix of so many blocks may stand for the encoder's lowest part.
    ///
    /// # Panics
    /// Where something in it learns or is dropped: the result would be another one.
    fn check_prefixes(&self) {
        let constant = self.timeline.last().constant_prefix();
        let dropped = self.config.dropout.encoder && self.config.dropout.frozen;
        let prefixes = self.tasks.iter().flat_map(|task| [task.train.prefix, task.dev.prefix]);
        for prefix in prefixes.flatten() {
            let fits = constant.is_some_and(|blocks| prefix.blocks <= blocks) && !dropped;
            assert!(fits, "{} blocks below a cached prefix are no constant of the data", prefix.blocks);
        }
    }

    /// Every task's dev split.
    fn score<B: Train>(&self, model: &Tagger<B>, tasks: &[Task<'_>]) -> Vec<Evaluation> {
        let TrainConfig { precision, eval_tokens, .. } = *self.config;
        let model = model.valid();
        let score =
            |task: &Task<'_>| evaluate(&model, task.head, self.encoder, task.dev, precision, eval_tokens);
        tasks.iter().map(score).collect()
    }

    /// What is frozen in a step, counted from 0, as far as is known by now.
    fn policy(&self, at: &Progress, step: u64) -> ResolvedPolicy {
        let policy = self.timeline.at(step);
        self.settling.map_or_else(|| policy.clone(), |rule| at.settling.policy(policy, &rule))
    }

    /// Takes note of a step's gradients; whether more is frozen from now on.
    fn settles(&self, at: &mut Progress, norms: &Norms) -> bool {
        let Some(rule) = self.settling else { return false };
        at.settling.note(at.step, &rule, self.timeline.at(at.step), |group| norms.of(group))
    }

    /// The output of what has frozen on the way, where it is constant and there is room for it.
    fn grown<B: Train>(&self, model: &Tagger<B>, policy: &ResolvedPolicy) -> Option<Grown> {
        let blocks = policy.constant_prefix().filter(|_| self.settling.is_some())?;
        // The model's mix may be that of another stage, and reads every block's output.
        let blocks = if model.mix.is_some() { 0 } else { blocks };
        let dropped = self.config.dropout.encoder && self.config.dropout.frozen;
        let subwords = |task: &Task<'_>| task.train.data.subwords() + task.dev.data.subwords();
        let bytes = self.tasks.iter().map(subwords).sum::<usize>() * self.encoder.hidden * size_of::<f32>();
        let known =
            self.tasks.iter().all(|task| task.train.prefix.is_some_and(|known| known.blocks == blocks));
        let useful = !dropped && !known && bytes <= self.memory;
        useful.then(|| Grown::compute(&model.valid(), self, blocks))
    }
}

/// What a run tells while it goes on.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// Every `log_every` steps, and at the last one.
    Loss {
        /// The new point of the curve.
        point: &'a LossPoint,
        /// The running epoch, from 1.
        epoch: u32,
        /// Steps in all.
        steps: u64,
        /// Subwords per second of training time so far.
        tokens_per_s: f64,
        /// Time spent so far: training and scoring.
        times: &'a Times,
    },
    /// After every epoch, with its dev scores in full, one per task, and what was frozen at its end.
    Epoch(&'a Epoch, &'a [Evaluation], &'a ResolvedPolicy),
    /// At the run's [`Pace`].
    Checkpoint(&'a Saved),
}

/// Who listens to a run.
pub trait Sink {
    /// Takes note.
    fn event(&mut self, event: Event<'_>);
}

impl<F: FnMut(Event<'_>)> Sink for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}

/// A point of the train-loss curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossPoint {
    /// Steps taken so far.
    pub step: u64,
    /// Mean loss of the steps since the point before, in nats.
    pub loss_nats: f64,
    /// The step's learning rate.
    pub lr: f64,
}

/// One epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Counted from 1.
    pub epoch: u32,
    /// Steps taken so far.
    pub step: u64,
    /// Mean loss of its steps, in nats.
    pub train_loss_nats: f64,
    /// Dev after it, one per task.
    pub dev: Vec<Scored>,
}

/// Where the time went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Every step, in milliseconds.
    pub steps_ms: Vec<f64>,
    /// Training and dev scoring of every finished epoch, in milliseconds.
    pub epochs_ms: Vec<[f64; 2]>,
}

/// Whether frozen parameters stayed and trainable ones moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Freezing {
    /// Frozen parameters, all unchanged.
    pub frozen: u64,
    /// Trainable parameters that moved.
    pub moved: u64,
    /// Trainable parameters that did not, by path.
    pub unmoved: Vec<String>,
}

/// A finished run.
pub struct Finished<B: Train> {
    /// The selected epoch's model.
    pub model: Tagger<B>,
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
    /// What froze on the way, from the input up, each with the step after which it did.
    pub settled: Vec<(Group, u64)>,
    /// Frozen and moved parameters of the selected model against the start. What froze on the way
    /// counts as trainable.
    pub freezing: Freezing,
    /// Parameters that hold optimiser state: never a frozen one.
    pub states: usize,
    /// What a row of the word table without gradient was multiplied with up to the selected epoch.
    pub untouched_rows: f64,
    /// Where the time went.
    pub times: Times,
}

/// Trains a model, from the start or from where an earlier attempt was `saved`.
///
/// # Errors
/// Where the loss leaves the real numbers; where what was saved is of another model; where a frozen
/// parameter changed (a fault of ours).
///
/// # Panics
/// Where a view's prefix holds what learns or is dropped.
pub fn train<B: Train>(
    run: &Run<'_>,
    model: Tagger<B>,
    saved: Option<Saved>,
    sink: &mut dyn Sink,
) -> Result<Finished<B>, TrainError> {
    let Run { config, encoder, timeline, tasks, headline, before, pace, .. } = *run;
    run.check_prefixes();
    let mut optimizer = Optimizer::new(config.optimizer.clone(), encoder.depth);
    let Start { mut model, mut best, mut at } = resume(model, saved, &mut optimizer)?;
    // That of the last step taken: a thaw that is due comes with the next one.
    let mut policy = run.policy(&at, at.step.saturating_sub(1));
    model = set_trainable(model, |path| !policy.freezes(path));
    let mut grown = run.grown(&model, &policy);
    let (epochs, steps) = (run.epochs(), run.steps());
    let schedule = Schedule::new(config.schedule, config.optimizer.lr, config.warmup, steps);
    let masks = Stream::new(config.seed, "dropout");
    let slowest = LayerDecay::new(config.optimizer.layer_decay, encoder.depth).of(Group::Embeddings);
    let mut kept = Instant::now();

    for epoch in at.epoch..=epochs {
        let planned = plan(tasks, headline, config, before.0 + u64::from(epoch));
        while at.done < planned.len() {
            let (task, chosen) = &planned[at.done];
            let clock = Instant::now();
            let task = &under(grown.as_ref(), tasks)[*task];
            if timeline.thaws().any(|(step, _)| step == at.step) {
                policy = run.policy(&at, at.step);
                model = set_trainable(model, |path| !policy.freezes(path));
            }
            let mut batch = Batch::new(task.train, chosen, true);
            let pass = pass_at(masks.child(before.1 + at.step), encoder, &policy, config);
            let lr = schedule.at(at.step);
            let learns = policy.learns_through(task.head);
            let (loss, norms);
            (model, loss, norms) =
                take_step(model, task, encoder, &mut batch, &pass, lr, learns, &mut optimizer);
            at.step += 1;
            at.done += 1;
            if !loss.is_finite() {
                return Err(TrainError::Diverged { step: at.step, loss, lr });
            }
            // A step without a gradient decays nothing, nor does what is frozen.
            if learns && !batch.speaking.is_empty() && !policy.freezes("encoder.embeddings.word") {
                at.untouched *= 1.0 - lr * slowest * config.optimizer.decay();
            }
            at.epoch_loss.add(loss.into());
            at.since.add(loss.into());
            at.tokens += batch.rows.len();
            if run.settles(&mut at, &norms) {
                policy = run.policy(&at, at.step);
                model = set_trainable(model, |path| !policy.freezes(path));
                optimizer.forget(&model, |path| policy.freezes(path));
                // The rows that stood for less go before those that stand for more are made.
                drop(grown.take());
                grown = run.grown(&model, &policy);
            }
            at.times.steps_ms.push(ms(clock));
            if at.step.is_multiple_of(config.log_every) || at.step == steps {
                at.losses.push(LossPoint { step: at.step, loss_nats: at.since.take(), lr });
                let point = at.losses.last().expect("just pushed");
                let tokens_per_s = 1e3 * at.tokens as f64 / at.times.steps_ms.iter().sum::<f64>();
                sink.event(Event::Loss { point, epoch, steps, tokens_per_s, times: &at.times });
            }
            if pace.is_due(at.step, kept) {
                sink.event(Event::Checkpoint(&save(&at, &model, best.as_ref(), &optimizer)));
                kept = Instant::now();
            }
        }
        let clock = Instant::now();
        let dev = run.score(&model, &under(grown.as_ref(), tasks));
        // The last update has no later step whose loss would tell.
        if let Some(bad) = dev.iter().find(|dev| !dev.loss_nats.is_finite()) {
            let (loss, lr) = (bad.loss_nats as f32, schedule.at(at.step.saturating_sub(1)));
            return Err(TrainError::Diverged { step: at.step, loss, lr });
        }
        let first = at.times.steps_ms.len() - planned.len();
        at.times.epochs_ms.push([at.times.steps_ms[first..].iter().sum(), ms(clock)]);
        let scored = dev.iter().map(Evaluation::scored).collect();
        let train_loss_nats = at.epoch_loss.take();
        at.epochs.push(Epoch { epoch, step: at.step, train_loss_nats, dev: scored });
        sink.event(Event::Epoch(&at.epochs[at.epochs.len() - 1], &dev, &policy));
        if is_best(config.select, epochs, headline, &at.epochs) {
            at.best = Some((epoch, at.untouched));
            best = Some((model.clone(), Some(dev)));
        }
        (at.epoch, at.done) = (epoch + 1, 0);
    }
    let (selected, untouched_rows) = at.best.unwrap_or((0, 1.0));
    let (model, dev) = best.unwrap_or((model, None));
    // Scores are a function of the model: what was not kept is computed again.
    let dev = dev.unwrap_or_else(|| run.score(&model, tasks));
    let steps_to_selected = at.epochs.iter().find(|row| row.epoch == selected).map_or(0, |row| row.step);
    let policy = timeline.at(steps_to_selected.saturating_sub(1));
    let freezing = check_freezing(&at.start, &fingerprints(&model), policy, selected > 0)?;
    let settled = run.settling.map_or_else(Vec::new, |rule| at.settling.frozen(timeline.last(), &rule));
    let Progress { epochs, losses, step: steps, times, .. } = at;
    let states = optimizer.states();
    Ok(Finished {
        model,
        selected,
        dev,
        epochs,
        losses,
        steps,
        settled,
        freezing,
        states,
        untouched_rows,
        times,
    })
}

/// The tasks, reading what has frozen on the way where it was kept.
fn under<'a>(grown: Option<&'a Grown>, tasks: &'a [Task<'a>]) -> Cow<'a, [Task<'a>]> {
    grown.map_or(Cow::Borrowed(tasks), |grown| Cow::Owned(grown.under(tasks)))
}

/// The best model so far, with its dev scores unless it comes from a checkpoint.
type Best<B> = (Tagger<B>, Option<Vec<Evaluation>>);

/// What the loop starts with.
struct Start<B: Train> {
    model: Tagger<B>,
    best: Option<Best<B>>,
    at: Progress,
}

/// A run at its start, or where an earlier attempt was saved.
fn resume<B: Train>(
    model: Tagger<B>,
    saved: Option<Saved>,
    optimizer: &mut Optimizer<B::InnerBackend>,
) -> Result<Start<B>, TrainError> {
    let start = fingerprints(&model);
    let Some(saved) = saved else {
        let at = Progress { epoch: 1, untouched: 1.0, start, ..Progress::default() };
        return Ok(Start { model, best: None, at });
    };
    saved.check(start.keys())?;
    let Saved { progress, model: now, best, moments } = saved;
    let put = |values| {
        replace(model.clone(), values).map_err(|error| TrainError::Checkpoint { reason: error.to_string() })
    };
    let best = if best.is_empty() { None } else { Some((put(&best)?, None)) };
    let model = put(&now)?;
    optimizer.restore(&model, &model.device(), moments);
    Ok(Start { model, best, at: progress })
}

fn save<B: Train>(
    at: &Progress,
    model: &Tagger<B>,
    best: Option<&Best<B>>,
    optimizer: &Optimizer<B::InnerBackend>,
) -> Saved {
    Saved {
        progress: at.clone(),
        model: snapshot(model),
        best: best.map_or_else(BTreeMap::new, |(model, _)| snapshot(model)),
        moments: optimizer.save(model),
    }
}

impl Pace {
    fn is_due(&self, step: u64, since: Instant) -> bool {
        (self.steps > 0 && step.is_multiple_of(self.steps))
            || (self.seconds > 0.0 && since.elapsed().as_secs_f64() >= self.seconds)
    }
}

/// Forward, and backward and update where something learns from this batch.
#[expect(clippy::too_many_arguments, reason = "one step needs all of it, and has one caller")]
fn take_step<B: Train>(
    model: Tagger<B>,
    task: &Task<'_>,
    encoder: &EncoderConfig,
    batch: &mut Batch,
    pass: &Pass,
    lr: f64,
    learns: bool,
    optimizer: &mut Optimizer<B::InnerBackend>,
) -> (Tagger<B>, f32, Norms) {
    if batch.speaking.is_empty() {
        return (model, 0.0, Norms::default());
    }
    let logits = logits(&model, task.head, encoder, batch, pass);
    let loss = B::k_cross_entropy(logits, &batch.labels).div_scalar(batch.labels.len() as f64);
    let value: f32 = loss.clone().into_scalar().elem();
    if !learns {
        return (model, value, Norms::default());
    }
    let loss = if task.weight == 1.0 { loss } else { loss.mul_scalar(task.weight) };
    let gradients = GradientsParams::from_grads(loss.backward(), &model);
    let (model, norms) = optimizer.step(lr, model, gradients);
    (model, value, norms)
}

/// One step's pass: every dropout site, in the encoder and before the classifier.
fn pass_at(step: Stream, encoder: &EncoderConfig, policy: &ResolvedPolicy, config: &TrainConfig) -> Pass {
    let dropout = config.dropout;
    let acts = |group| dropout.encoder && (dropout.frozen || !policy.freezes_group(group));
    let head = site(step, 1, dropout.head);
    Pass { precision: config.precision, head, ..encoder_pass(step, encoder, &acts) }
}

fn site(step: Stream, number: u64, rate: f64) -> Dropout {
    if rate == 0.0 { Dropout::OFF } else { Dropout::new(rate as f32, step.child(number).key()) }
}

/// The encoder's dropout sites of one step, in the groups in which dropout `acts`.
pub(crate) fn encoder_pass(step: Stream, encoder: &EncoderConfig, acts: &dyn Fn(Group) -> bool) -> Pass {
    let inside = |group, number, rate| if acts(group) { site(step, number, rate) } else { Dropout::OFF };
    let output_rate = encoder.attention_output_dropout();
    let block = |block: usize| {
        let (group, first) = (Group::Block(block), 2 + 3 * block as u64);
        BlockDropout {
            attention: inside(group, first, encoder.attention_dropout),
            attention_output: inside(group, first + 1, output_rate),
            output: inside(group, first + 2, encoder.dropout),
        }
    };
    Pass {
        embeddings: inside(Group::Embeddings, 0, encoder.dropout),
        blocks: (0..encoder.depth).map(block).collect(),
        ..Pass::plain(0)
    }
}

/// Whether the last epoch so far is the one to keep, of so many.
fn is_best(select: Select, of: u32, headline: usize, epochs: &[Epoch]) -> bool {
    let (last, before) = epochs.split_last().expect("at least one epoch");
    let dev = |epoch: &Epoch| epoch.dev[headline];
    match select {
        Select::Last => last.epoch == of,
        Select::LowestLoss => before.iter().all(|epoch| dev(last).loss_nats < dev(epoch).loss_nats),
        Select::HighestAccuracy => {
            before.iter().all(|epoch| dev(last).tally.correct > dev(epoch).tally.correct)
        }
    }
}

/// Compares the bits of every parameter before and after. Without a step, nothing had to move.
fn check_freezing(
    start: &BTreeMap<String, u64>,
    end: &BTreeMap<String, u64>,
    policy: &ResolvedPolicy,
    stepped: bool,
) -> Result<Freezing, TrainError> {
    let mut found = Freezing::default();
    for (path, before) in start {
        let same = end.get(path) == Some(before);
        match (policy.freezes(path) || !stepped, same) {
            (true, true) => found.frozen += 1,
            (true, false) => return Err(TrainError::Thawed { path: path.clone() }),
            (false, false) => found.moved += 1,
            (false, true) => found.unmoved.push(path.clone()),
        }
    }
    Ok(found)
}

/// A running mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// The mean so far; starts anew.
    fn take(&mut self) -> f64 {
        let mean = self.sum / self.count.max(1) as f64;
        *self = Self::default();
        mean
    }
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
