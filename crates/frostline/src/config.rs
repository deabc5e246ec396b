//! From a stage's settings to what the training loop is told: numbers only.

use frostline_freeze::{Group, PeftMethod, ResolvedPolicy, SettlingRule, Timeline};
use frostline_kernels::Precision;
use frostline_model::{AdapterShape, Extras, LoraShape, Matrix};
use frostline_record::{self as record, Checkpoints, Settings, UnfreezeUnit};
use frostline_train::{
    DropoutConfig, Mixing, OptimizerConfig, Pace, Rule, ScheduleKind, Select, TrainConfig,
};

/// What is frozen when, in a stage of so many epochs and steps.
pub(crate) fn timeline(policy: &ResolvedPolicy, settings: &Settings, epochs: u32, steps: u64) -> Timeline {
    let every = u64::from(settings.unfreeze.every);
    if every == 0 {
        return policy.clone().into();
    }
    let of_unit = match settings.unfreeze.unit {
        UnfreezeUnit::Steps => 1,
        UnfreezeUnit::Epochs => steps / u64::from(epochs.max(1)),
    };
    Timeline::gradual(policy, (every * of_unit).max(1))
}

/// The training loop's settings; with `verify`, for one epoch.
pub(crate) fn train_config(settings: &Settings, verify: bool) -> TrainConfig {
    let o = &settings.optimizer;
    let on = |switch| switch == record::Switch::On;
    TrainConfig {
        seed: settings.seed,
        epochs: if verify { settings.train.epochs.min(1) } else { settings.train.epochs },
        batch: settings.train.batch,
        mixing: match settings.train.mixing {
            record::Mixing::Turns => Mixing::Turns,
            record::Mixing::Proportional => Mixing::Proportional,
            record::Mixing::Temperature => Mixing::Temperature(settings.train.temperature),
        },
        log_every: settings.train.log_every,
        select: match (settings.train.select, settings.train.select_by) {
            (record::Select::Last, _) => Select::Last,
            (record::Select::Best, record::SelectBy::Loss) => Select::LowestLoss,
            (record::Select::Best, record::SelectBy::Accuracy) => Select::HighestAccuracy,
        },
        optimizer: OptimizerConfig {
            rule: match o.kind {
                record::OptimizerKind::Adamw => Rule::AdamW,
                record::OptimizerKind::Adam => Rule::Adam,
            },
            lr: o.lr,
            beta1: o.beta1,
            beta2: o.beta2,
            eps: o.eps,
            weight_decay: o.weight_decay,
            layer_decay: o.layer_decay,
            clip_norm: o.clip_norm,
        },
        schedule: match settings.schedule.kind {
            record::ScheduleKind::Linear => ScheduleKind::Linear,
            record::ScheduleKind::Cosine => ScheduleKind::Cosine,
            record::ScheduleKind::SlantedTriangular => ScheduleKind::SlantedTriangular,
            record::ScheduleKind::Constant => ScheduleKind::Constant,
        },
        warmup: settings.schedule.warmup,
        dropout: DropoutConfig {
            head: settings.dropout.head,
            encoder: on(settings.dropout.encoder),
            frozen: on(settings.dropout.frozen),
        },
        precision: precision(settings.train.precision),
        eval_tokens: settings.eval.batch_tokens,
    }
}

/// What linear layers are computed in, in the kernels' words.
pub(crate) fn precision(precision: record::Precision) -> Precision {
    match precision {
        record::Precision::F32 => Precision::F32,
        record::Precision::Bf16 => Precision::Bf16,
    }
}

/// How often a run says where it is.
pub(crate) fn pace(checkpoints: &Checkpoints) -> Pace {
    Pace { steps: checkpoints.steps, seconds: checkpoints.minutes * 60.0 }
}

/// What policies add to an encoder of `depth` blocks: each part wherever one of them lets it learn.
///
/// # Errors
/// Where the settings name a layer that is not there.
pub(crate) fn extras(
    settings: &Settings,
    policies: &[&ResolvedPolicy],
    depth: usize,
) -> anyhow::Result<Extras> {
    let blocks = |way| -> Vec<usize> {
        let learns =
            |block: &usize| policies.iter().any(|policy| policy.learns_by(way, Group::Block(*block)));
        (0..depth).filter(learns).collect()
    };
    let (lora, adapters) = (blocks(PeftMethod::Lora), blocks(PeftMethod::Adapters));
    let layers = settings.lora.layers()?;
    let matrices = Matrix::ALL.into_iter().filter(|matrix| layers.contains(&matrix.name())).collect();
    let record::LoraSettings { rank, alpha, .. } = settings.lora;
    Ok(Extras {
        lora: (!lora.is_empty()).then_some(LoraShape { rank, alpha, matrices, blocks: lora }),
        adapters: (!adapters.is_empty())
            .then_some(AdapterShape { size: settings.adapters.size, blocks: adapters }),
        mix: policies.iter().any(|policy| policy.mixes()),
    })
}

/// When more freezes on the way, where the policy says that it does.
pub(crate) fn settling(settings: &Settings, policy: &ResolvedPolicy) -> Option<SettlingRule> {
    policy.is_adaptive().then_some(settings.adaptive)
}
