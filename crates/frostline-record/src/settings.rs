//! The settings of one cell: plain structs in which a stray key is an error.
//!
//! Every setting has a value (nothing is optional), so a resolved cell is complete, and any path such as
//! `optimizer.lr` can be read, set or made an axis of a grid.

use std::collections::BTreeMap;

use frostline_freeze::{Policy, SettlingRule};
use serde::{Deserialize, Serialize};

use crate::{AdapterSettings, FileName, LoraSettings, Mixing, TaskSettings};

/// Everything that determines a cell's result, next to the files it reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Short name of a dataset, a key of the plan's `[treebanks]`.
    pub lang: FileName,
    /// The policy: `none`, `all`, `first-4`, `top-2`, `alternating`, `blocks-0.3`, `head-only`,
    /// `all+embeddings+heads`, `none+lora`.
    pub policy: Policy,
    /// The seed that every random choice of the cell is derived from.
    pub seed: u64,
    /// Which pretrained encoder, and how its parameters start.
    pub encoder: EncoderSettings,
    /// How sentences become examples.
    pub data: DataSettings,
    /// The tasks by name: each has its data, its labels and its head.
    pub tasks: BTreeMap<FileName, TaskSettings>,
    /// The training loop.
    pub train: TrainSettings,
    /// How a gradient becomes a step.
    pub optimizer: OptimizerSettings,
    /// The learning rate over time.
    pub schedule: ScheduleSettings,
    /// Gradual unfreezing.
    pub unfreeze: UnfreezeSettings,
    /// Settings of `+lora`.
    pub lora: LoraSettings,
    /// Settings of `+adapters`.
    pub adapters: AdapterSettings,
    /// When blocks freeze with `+adaptive`.
    pub adaptive: SettlingRule,
    /// The places of dropout.
    pub dropout: DropoutSettings,
    /// What is scored.
    pub eval: EvalSettings,
    /// Files that a cell saves in addition to its record.
    pub save: SaveSettings,
    /// Parts of the run that continue one another, each with the settings it changes; if there are
    /// none, the run is one stage with the settings above.
    pub stages: Vec<Stage>,
}

/// The changes of a stage, as in a plan: settings by path, nested or dotted, and a `name`.
pub type Stage = BTreeMap<String, toml::Value>;

/// Which pretrained encoder, and how its parameters start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EncoderSettings {
    /// Folder name under the models folder, a path, or `embedded:NAME`.
    pub name: String,
    /// `pretrained` reads the weights; `random` draws them from the config and the seed.
    pub init: Init,
}

/// How the encoder's parameters start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// Read from the encoder's weights file.
    Pretrained,
    /// Drawn from N(0, `initializer_range`) of the config.
    Random,
}

/// How sentences become examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataSettings {
    /// Lowercase the forms before they are split into subwords, as the study did.
    pub lowercase: bool,
    /// Subwords per sentence, specials included; the rest is cut off.
    pub max_length: usize,
    /// Train on the first N train sentences; 0 means all.
    pub first: usize,
    /// Train on a seeded random share of the train sentences, in (0, 1].
    pub fraction: f64,
    /// Train on this many drawn train sentences, or all if there are fewer; 0 draws none. Cannot be combined
    /// with `first` or `fraction`.
    pub sample: usize,
    /// The seed of that draw; 0 takes the cell's own.
    pub draw: u64,
    /// Score a drawn share of the dev sentences, in (0, 1], the same for all seeds.
    pub dev_fraction: f64,
    /// Score a drawn share of the test sentences, in (0, 1], the same for all seeds.
    pub test_fraction: f64,
    /// Train on every subword of a word with the word's label, not only on its first. Words are always scored
    /// by their first subword.
    pub label_all_tokens: bool,
    /// Make a dev or test tag that train lacks an error instead of a wrong answer.
    pub strict_tags: bool,
    /// Put a tag that no word has, `<pad>`, before all others, as some studies do.
    pub padding_tag: bool,
    /// The seeded share of the train sentences that is cut off and becomes the test split, in
    /// [0, 1); 0 takes the file.
    pub cut_test: f64,
    /// The seeded share of train, after `cut_test`, that becomes the dev split, in [0, 1); 0 uses the file.
    pub cut_dev: f64,
    /// A genre, the part of `sent_id` before the first `-`, whose sentences are not learned from;
    /// empty leaves none out.
    pub leave_out: String,
    /// The only genre that is scored; empty scores all.
    pub scored_genre: String,
    /// If a dataset has no train file: the seeded share of its dev sentences that is learned
    /// from, in (0, 1); the rest is dev.
    pub train_from_dev: f64,
}

/// Gradual unfreezing: at first only heads are trained, then one more block at a time from the top, then the
/// embeddings; parts that `policy` freezes stay frozen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UnfreezeSettings {
    /// Epochs or steps from one group to the next; 0 trains everything from the start.
    pub every: u32,
    /// Which of the two.
    pub unit: UnfreezeUnit,
}

/// The unit of the time from one group to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnfreezeUnit {
    /// Passes over the train sentences.
    Epochs,
    /// Optimiser steps.
    Steps,
}

/// The training loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainSettings {
    /// Passes over the train sentences; 0 only scores the initial parameters.
    pub epochs: u32,
    /// Sentences per step.
    pub batch: usize,
    /// Parts of a batch that are computed one after the other, their gradients summed: the same step in less memory.
    pub accumulate: usize,
    /// In which order the batches of several tasks come.
    pub mixing: Mixing,
    /// For `mixing = "temperature"`: a task's share of the steps goes with its number of sentences
    /// to the power of 1 / this; at least 1.
    pub temperature: f64,
    /// Steps between two points of the train-loss curve.
    pub log_every: u64,
    /// Which epoch is the result: the `last`, or the `best` on dev.
    pub select: Select,
    /// The criterion of `best`: the lowest dev `loss` or the highest dev `accuracy`.
    pub select_by: SelectBy,
    /// Early stopping: a stage ends after this many epochs in a row without a better dev score of the headline task; 0
    /// runs all epochs.
    pub patience: u32,
    /// The precision to which operands of linear layers are rounded, in training and in scoring.
    pub precision: Precision,
}

/// The precision to which operands of linear layers are rounded; parameters, sums and all else are f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// Not at all.
    #[default]
    F32,
    /// To bf16, forward and backward: on every processor, and on a GPU that multiplies it natively; not on
    /// other devices. `MadeBy::computes_in` of a record shows which.
    Bf16,
    /// To f16, as bf16, for GPUs that have no bf16. In products of the backward pass, gradients are first multiplied by a
    /// power of two, and the products divided by it: loss scaling, so that small gradients do not become 0.
    F16,
    /// To TF32, whose products are native on NVIDIA's tensor cores. It is an error on other devices.
    Tf32,
}

impl Precision {
    /// Returns the name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::Tf32 => "tf32",
        }
    }

    /// All precisions that round, in the order in which [`MadeBy::isa`](crate::MadeBy::isa) lists native ones.
    pub const ROUNDING: [Self; 3] = [Self::F16, Self::Tf32, Self::Bf16];

    /// Returns whether products of it are native by [`MadeBy::isa`](crate::MadeBy::isa).
    #[must_use]
    pub fn is_native_in(self, isa: &str) -> bool {
        self == Self::F32 || isa.split('+').skip(1).any(|name| name == self.name())
    }
}

/// Which epoch is the cell's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Select {
    /// The last epoch, as in the study.
    Last,
    /// The best epoch on dev; the earlier one if two are equal.
    Best,
}

/// The criterion of the best epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelectBy {
    /// The lowest dev loss.
    Loss,
    /// The highest dev accuracy over all words.
    Accuracy,
}

/// How a gradient becomes a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OptimizerSettings {
    /// Which rule.
    pub kind: OptimizerKind,
    /// Peak learning rate.
    pub lr: f64,
    /// Decay rate of the first moment.
    pub beta1: f64,
    /// Decay rate of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Decoupled weight decay per unit of learning rate; only `adamw` decays.
    pub weight_decay: f64,
    /// The ratio of a block's learning rate to the block above: the top block has the rate `lr`, each block below has this
    /// factor times the rate above, and the embeddings come below the lowest block.
    pub layer_decay: f64,
    /// The ratio of the heads' learning rate to `lr`.
    pub head_factor: f64,
    /// Global gradient norm above which gradients are scaled down; 0 means never.
    pub clip_norm: f64,
}

impl OptimizerSettings {
    /// Returns the weight decay that acts: none with plain Adam.
    #[must_use]
    pub fn decay(&self) -> f64 {
        match self.kind {
            OptimizerKind::Adamw => self.weight_decay,
            OptimizerKind::Adam => 0.0,
        }
    }
}

/// Which rule makes a step of a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptimizerKind {
    /// Adam with decoupled weight decay; biases and LayerNorms are never decayed.
    Adamw,
    /// Adam without any decay.
    Adam,
}

/// The learning rate over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScheduleSettings {
    /// The shape after the warm-up.
    pub kind: ScheduleKind,
    /// Share of all steps, in [0, 1), over which the rate rises linearly from 0.
    pub warmup: f64,
}

/// The shape of the learning rate after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleKind {
    /// Falls linearly to zero at the last step.
    Linear,
    /// Falls to zero along half a cosine.
    Cosine,
    /// Rises over the warm-up from a 32nd of the peak and falls linearly back to it.
    SlantedTriangular,
    /// Stays at its peak.
    Constant,
}

/// The places of dropout. The encoder's own rates are in its config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DropoutSettings {
    /// Rate before the classifier, in [0, 1).
    pub head: f64,
    /// Whether the encoder's own dropout acts at all.
    pub encoder: Switch,
    /// Whether it also acts inside frozen blocks, as it did in the study.
    pub frozen: Switch,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// Enabled.
    On,
    /// Disabled.
    Off,
}

impl Switch {
    /// Returns whether it acts.
    #[must_use]
    pub const fn is_on(self) -> bool {
        matches!(self, Self::On)
    }
}

/// What is scored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvalSettings {
    /// Score the test split too, once per stage, with the selected epoch's parameters.
    pub test: bool,
    /// The task whose score is the headline, and by which the best epoch is chosen; empty means
    /// the first by name.
    pub task: String,
    /// Subwords per evaluation batch (at least one sentence).
    pub batch_tokens: usize,
    /// Score dev after every so many steps too, for curves; 0 scores it after epochs alone.
    pub every_steps: u64,
    /// Score baselines without training of the encoder on the same data: each word's most frequent tag, and a
    /// logistic regression on the pretrained encoder's features.
    pub baselines: Switch,
}

/// Files that a cell saves in addition to its record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SaveSettings {
    /// Every word with its gold and predicted tag, one file per scored split.
    pub predictions: bool,
    /// The trained tagger as a Hugging Face folder.
    pub model: bool,
    /// The tagger after each stage but the last, whose tagger is `model`, as a Hugging Face folder.
    pub stages: bool,
    /// The inputs of the headline task's head, one row per word or sentence of each scored split.
    pub features: bool,
    /// How far each part of the encoder moved and how much each block's output changed, in the
    /// record.
    pub changes: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lang: "en".parse().expect("a name"),
            policy: Policy::none(),
            seed: 42,
            encoder: EncoderSettings::default(),
            data: DataSettings::default(),
            tasks: BTreeMap::from([("upos".parse().expect("a name"), TaskSettings::default())]),
            train: TrainSettings::default(),
            optimizer: OptimizerSettings::default(),
            schedule: ScheduleSettings::default(),
            unfreeze: UnfreezeSettings::default(),
            lora: LoraSettings::default(),
            adapters: AdapterSettings::default(),
            adaptive: SettlingRule::default(),
            dropout: DropoutSettings::default(),
            eval: EvalSettings::default(),
            save: SaveSettings::default(),
            stages: Vec::new(),
        }
    }
}

impl Default for EncoderSettings {
    fn default() -> Self {
        Self { name: "distilbert-base-multilingual-cased".into(), init: Init::Pretrained }
    }
}

impl Default for DataSettings {
    fn default() -> Self {
        Self {
            lowercase: true,
            max_length: 128,
            first: 0,
            fraction: 1.0,
            sample: 0,
            draw: 0,
            dev_fraction: 1.0,
            test_fraction: 1.0,
            label_all_tokens: false,
            strict_tags: false,
            padding_tag: false,
            cut_test: 0.0,
            cut_dev: 0.0,
            leave_out: String::new(),
            scored_genre: String::new(),
            train_from_dev: 0.8,
        }
    }
}

impl Default for UnfreezeSettings {
    fn default() -> Self {
        Self { every: 0, unit: UnfreezeUnit::Epochs }
    }
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self {
            epochs: 5,
            batch: 16,
            accumulate: 1,
            mixing: Mixing::Turns,
            temperature: 2.0,
            log_every: 50,
            select: Select::Last,
            select_by: SelectBy::Loss,
            patience: 0,
            precision: Precision::F32,
        }
    }
}

impl Default for OptimizerSettings {
    fn default() -> Self {
        Self {
            kind: OptimizerKind::Adamw,
            lr: 5e-5,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            weight_decay: 0.01,
            layer_decay: 1.0,
            head_factor: 1.0,
            clip_norm: 1.0,
        }
    }
}

impl Default for ScheduleSettings {
    fn default() -> Self {
        Self { kind: ScheduleKind::Linear, warmup: 0.0 }
    }
}

impl Default for DropoutSettings {
    fn default() -> Self {
        Self { head: 0.1, encoder: Switch::On, frozen: Switch::On }
    }
}

impl Default for EvalSettings {
    fn default() -> Self {
        Self { test: false, task: String::new(), batch_tokens: 2048, every_steps: 0, baselines: Switch::On }
    }
}

impl Default for SaveSettings {
    fn default() -> Self {
        Self { predictions: true, model: false, stages: false, features: false, changes: false }
    }
}

impl Settings {
    /// Returns the task whose score is the headline.
    #[must_use]
    pub fn headline(&self) -> &str {
        let first = || self.tasks.keys().next().map_or("", FileName::as_str);
        if self.eval.task.is_empty() { first() } else { &self.eval.task }
    }

    /// Returns the dataset of a task, a key of the plan's `[treebanks]`.
    #[must_use]
    pub fn dataset_of<'a>(&'a self, task: &'a TaskSettings) -> &'a str {
        if task.data.is_empty() { &self.lang } else { &task.data }
    }

    /// Returns the role of a dataset's split among a cell's inputs: `train`, or `NAME/train` if the dataset is
    /// not the cell's own.
    #[must_use]
    pub fn role(&self, dataset: &str, split: &str) -> String {
        if self.lang == dataset { split.into() } else { format!("{dataset}/{split}") }
    }
}
