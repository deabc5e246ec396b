//! What a training run is told: numbers only, all with the study's values as defaults.

use frostline_kernels::Precision;

/// A training run's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainConfig {
    /// The seed that shuffling and dropout are derived from.
    pub seed: u64,
    /// Passes over the train sentences.
    pub epochs: u32,
    /// Sentences per step.
    pub batch: usize,
    /// In which order the batches of several tasks come.
    pub mixing: Mixing,
    /// Steps between two [`crate::LossPoint`]s.
    pub log_every: u64,
    /// Which epoch is the result.
    pub select: Select,
    /// AdamW.
    pub optimizer: OptimizerConfig,
    /// The shape of the learning rate.
    pub schedule: ScheduleKind,
    /// Share of all steps over which the rate rises from 0.
    pub warmup: f64,
    /// Where units are dropped.
    pub dropout: DropoutConfig,
    /// Of the linear layers, in training and in scoring.
    pub precision: Precision,
    /// Subwords per evaluation batch.
    pub eval_tokens: usize,
}

/// In which order the batches of several tasks come. An epoch has as many steps as all tasks have
/// batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mixing {
    /// One of each task in turn, every batch once.
    Turns,
    /// Every batch once, all shuffled.
    Proportional,
    /// Each step draws its task with a chance that goes with its sentences to the power of one over
    /// this number, at least 1.
    Temperature(f64),
}

/// Which epoch is a run's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// The last.
    Last,
    /// The one with the lowest dev loss.
    LowestLoss,
    /// The one with the highest dev accuracy over all words.
    HighestAccuracy,
}

/// Which rule makes a step of a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Adam with decoupled weight decay.
    AdamW,
    /// Adam without decay.
    Adam,
}

/// The optimiser's settings.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimizerConfig {
    /// Which rule.
    pub rule: Rule,
    /// Peak learning rate.
    pub lr: f64,
    /// Decay rate of the first moment.
    pub beta1: f64,
    /// Decay rate of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Decoupled weight decay of all but biases and LayerNorms, with [`Rule::AdamW`].
    pub weight_decay: f64,
    /// How much slower a block learns than the one above it, see [`frostline_freeze::LayerDecay`]; 1 is
    /// one rate for all.
    pub layer_decay: f64,
    /// Global gradient norm above which gradients are scaled down; 0 means never.
    pub clip_norm: f64,
}

/// The shape of the learning rate after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleKind {
    /// Falls linearly to zero.
    Linear,
    /// Falls to zero along half a cosine.
    Cosine,
    /// Falls linearly to a 32nd of the peak, from which the warm-up rises.
    SlantedTriangular,
    /// Stays.
    Constant,
}

/// Where units are dropped; the encoder's rates stand in its config.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropoutConfig {
    /// Rate before the classifier.
    pub head: f64,
    /// Whether the encoder's own dropout acts.
    pub encoder: bool,
    /// Whether it also acts in frozen parts.
    pub frozen: bool,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            seed: 42,
            epochs: 5,
            batch: 16,
            mixing: Mixing::Turns,
            log_every: 50,
            select: Select::Last,
            optimizer: OptimizerConfig::default(),
            schedule: ScheduleKind::Linear,
            warmup: 0.0,
            dropout: DropoutConfig::default(),
            precision: Precision::F32,
            eval_tokens: 2048,
        }
    }
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self {
            rule: Rule::AdamW,
            lr: 5e-5,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.01,
            layer_decay: 1.0,
            clip_norm: 1.0,
        }
    }
}

impl OptimizerConfig {
    /// The weight decay that acts.
    #[must_use]
    pub fn decay(&self) -> f64 {
        if self.rule == Rule::AdamW { self.weight_decay } else { 0.0 }
    }
}

impl Default for DropoutConfig {
    fn default() -> Self {
        Self { head: 0.1, encoder: true, frozen: true }
    }
}
