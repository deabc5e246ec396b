//! One run from first step to last: the whole story is in [`train`].

use std::collections::BTreeMap;
use std::time::Instant;

use burn::module::AutodiffModule;
use burn::optim::GradientsParams;
use burn::prelude::*;
use frostline_freeze::{Group, LayerDecay, Policy};
use frostline_kernels::{Dropout, Train};
use frostline_model::{BlockDropout, EncoderConfig, Family, Pass, Tagger, fingerprints, set_trainable};
use frostline_random::Stream;

use crate::data::Batch;
use crate::prefix::logits;
use crate::{Evaluation, Optimizer, Schedule, Select, TrainConfig, TrainError, View, evaluate};

/// What a run works on.
pub struct Run<'a> {
    /// The settings.
    pub config: &'a TrainConfig,
    /// The encoder's shape.
    pub encoder: &'a EncoderConfig,
    /// What is frozen.
    pub policy: &'a Policy,
    /// What is learned from.
    pub train: View<'a>,
    /// What is scored after every epoch.
    pub dev: View<'a>,
}

impl Run<'_> {
    /// Whether a constant prefix of so many blocks may stand for the encoder's lowest part.
    ///
    /// # Panics
    /// Where something in it learns or is dropped: the result would be another one.
    fn check_prefixes(&self) {
        let constant = self.policy.constant_prefix();
        let dropped = self.config.dropout.encoder && self.config.dropout.frozen;
        for prefix in [self.train.prefix, self.dev.prefix].into_iter().flatten() {
            let fits = constant.is_some_and(|blocks| prefix.blocks <= blocks) && !dropped;
            assert!(fits, "{} blocks below a cached prefix are no constant of the data", prefix.blocks);
        }
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
    /// After every epoch.
    Epoch(&'a Epoch),
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
#[derive(Clone, Debug, PartialEq)]
pub struct LossPoint {
    /// Steps taken so far.
    pub step: u64,
    /// Mean loss of the steps since the point before, in nats.
    pub loss_nats: f64,
    /// The step's learning rate.
    pub lr: f64,
}

/// One epoch.
#[derive(Clone, Debug)]
pub struct Epoch {
    /// Counted from 1.
    pub epoch: u32,
    /// Steps taken so far.
    pub step: u64,
    /// Mean loss of its steps, in nats.
    pub train_loss_nats: f64,
    /// Dev after it.
    pub dev: Evaluation,
}

/// Where the time went.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// The selected epoch's model, for evaluation.
    pub model: Tagger<B::InnerBackend>,
    /// The selected epoch, from 1.
    pub selected: u32,
    /// All epochs.
    pub epochs: Vec<Epoch>,
    /// The train-loss curve.
    pub losses: Vec<LossPoint>,
    /// Steps taken.
    pub steps: u64,
    /// Frozen and moved parameters of the selected model against the start.
    pub freezing: Freezing,
    /// Parameters that hold optimiser state: never a frozen one.
    pub states: usize,
    /// What a row of the word table without gradient was multiplied with up to the selected epoch.
    pub untouched_rows: f64,
    /// Where the time went.
    pub times: Times,
}

/// Trains a model under a policy.
///
/// # Errors
/// Where the loss leaves the real numbers; where a frozen parameter changed (a fault of ours).
///
/// # Panics
/// Where a view's prefix holds what learns under the policy or is dropped.
pub fn train<B: Train>(
    run: &Run<'_>,
    model: Tagger<B>,
    sink: &mut dyn Sink,
) -> Result<Finished<B>, TrainError> {
    let Run { config, encoder, policy, train: data, dev } = *run;
    run.check_prefixes();
    let mut model = set_trainable(model, |path| !policy.freezes(path));
    let start = fingerprints(&model);
    let sentences = data.data.examples.len();
    let per_epoch = sentences.div_ceil(config.batch) as u64;
    let steps = per_epoch * u64::from(config.epochs);
    let schedule = Schedule::new(config.schedule, config.optimizer.lr, config.warmup, steps);
    let mut optimizer = Optimizer::new(config.optimizer.clone(), encoder.depth);
    let (shuffle, masks) = (Stream::new(config.seed, "shuffle"), Stream::new(config.seed, "dropout"));
    let (mut times, mut epochs, mut losses) = (Times::default(), Vec::<Epoch>::new(), Vec::new());
    let (mut best, mut untouched, mut step, mut tokens) = (None, 1.0, 0, 0);
    let mut since = Mean::default();
    let slowest = LayerDecay::new(config.optimizer.layer_decay, encoder.depth).of(Group::Embeddings);

    for epoch in 1..=config.epochs {
        let mut epoch_loss = Mean::default();
        for chosen in shuffle.child(epoch.into()).permutation(sentences).chunks(config.batch) {
            let clock = Instant::now();
            let mut batch = Batch::new(data, chosen, true);
            let pass = pass_at(masks.child(step), encoder, policy, config);
            let lr = schedule.at(step);
            let loss;
            (model, loss) = take_step(model, encoder, &mut batch, &pass, lr, &mut optimizer);
            step += 1;
            if !loss.is_finite() {
                return Err(TrainError::Diverged { step, loss, lr });
            }
            // A batch in which nobody speaks takes no step and so decays nothing.
            if !batch.speaking.is_empty() {
                untouched *= 1.0 - lr * slowest * config.optimizer.weight_decay;
            }
            epoch_loss.add(loss.into());
            since.add(loss.into());
            tokens += batch.rows.len();
            times.steps_ms.push(ms(clock));
            if step % config.log_every == 0 || step == steps {
                losses.push(LossPoint { step, loss_nats: since.take(), lr });
                let point = losses.last().expect("just pushed");
                let tokens_per_s = 1e3 * tokens as f64 / times.steps_ms.iter().sum::<f64>();
                sink.event(Event::Loss { point, epoch, steps, tokens_per_s, times: &times });
            }
        }
        let clock = Instant::now();
        let evaluation = evaluate(&model.valid(), encoder, dev, config.precision, config.eval_tokens);
        let first = times.steps_ms.len() - per_epoch as usize;
        times.epochs_ms.push([times.steps_ms[first..].iter().sum(), ms(clock)]);
        epochs.push(Epoch { epoch, step, train_loss_nats: epoch_loss.take(), dev: evaluation });
        sink.event(Event::Epoch(&epochs[epochs.len() - 1]));
        if is_best(config.select, &epochs) {
            best = Some((epoch, model.clone(), untouched));
        }
    }
    let (selected, model, untouched_rows) = best.expect("at least one epoch");
    let untouched_rows = if policy.freezes_group(Group::Embeddings) { 1.0 } else { untouched_rows };
    let freezing = check_freezing(&start, &fingerprints(&model), policy)?;
    let (model, states) = (model.valid(), optimizer.states());
    Ok(Finished { model, selected, epochs, losses, steps, freezing, states, untouched_rows, times })
}

/// Forward, backward, update.
fn take_step<B: Train>(
    model: Tagger<B>,
    encoder: &EncoderConfig,
    batch: &mut Batch,
    pass: &Pass,
    lr: f64,
    optimizer: &mut Optimizer<B::InnerBackend>,
) -> (Tagger<B>, f32) {
    if batch.speaking.is_empty() {
        return (model, 0.0);
    }
    let logits = logits(&model, encoder, batch, pass);
    let loss = B::k_cross_entropy(logits, &batch.labels).div_scalar(batch.labels.len() as f64);
    let value: f32 = loss.clone().into_scalar().elem();
    let gradients = GradientsParams::from_grads(loss.backward(), &model);
    (optimizer.step(lr, model, gradients).0, value)
}

/// One step's pass: every dropout site, in the encoder and before the classifier.
fn pass_at(step: Stream, encoder: &EncoderConfig, policy: &Policy, config: &TrainConfig) -> Pass {
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
    let output_rate = if encoder.family == Family::Bert { encoder.dropout } else { 0.0 };
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

/// Whether the last epoch so far is the one to keep.
fn is_best(select: Select, epochs: &[Epoch]) -> bool {
    let (last, before) = epochs.split_last().expect("at least one epoch");
    match select {
        Select::Last => true,
        Select::LowestLoss => before.iter().all(|epoch| last.dev.loss_nats < epoch.dev.loss_nats),
        Select::HighestAccuracy => {
            before.iter().all(|epoch| last.dev.tally.correct > epoch.dev.tally.correct)
        }
    }
}

/// Compares the bits of every parameter before and after.
fn check_freezing(
    start: &BTreeMap<String, u64>,
    end: &BTreeMap<String, u64>,
    policy: &Policy,
) -> Result<Freezing, TrainError> {
    let mut found = Freezing::default();
    for (path, before) in start {
        let same = end.get(path) == Some(before);
        match (policy.freezes(path), same) {
            (true, true) => found.frozen += 1,
            (true, false) => return Err(TrainError::Thawed { path: path.clone() }),
            (false, false) => found.moved += 1,
            (false, true) => found.unmoved.push(path.clone()),
        }
    }
    Ok(found)
}

/// A running mean.
#[derive(Default)]
struct Mean {
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
