//! What a policy means for a run, given the settings of its parts: when what is frozen changes, and what
//! the encoder needs besides its own parameters.

use frostline_freeze::{FreezeSchedule, Group, PeftMethod, ResolvedPolicy, SettlingRule, Timeline};
use frostline_model::{AdapterShape, Extras, LoraShape, Matrix};
use frostline_random::Stream;
use frostline_record::{LoraSettings, PlanError, Settings, UnfreezeUnit};

/// Returns what is frozen when, in a run of so many steps: by the policy's schedule, or by gradual unfreezing if `unfreeze`
/// asks for it.
#[must_use]
pub fn timeline(policy: &ResolvedPolicy, settings: &Settings, steps: u64) -> Timeline {
    match policy.policy().schedule() {
        FreezeSchedule::HeadsFirst(percent) => {
            return Timeline::heads_first(policy, (steps * percent as u64).div_ceil(100));
        }
        FreezeSchedule::Rotating(count, every) => {
            let (stream, depth) = (Stream::new(settings.seed, "lisa"), policy.depth());
            let sets = (0..steps.div_ceil(every).max(1))
                .map(|period| stream.child(period).sample(depth, count.of(depth)));
            return Timeline::rotating(policy, every, sets);
        }
        FreezeSchedule::Fixed | FreezeSchedule::Adaptive => {}
    }
    let every = u64::from(settings.unfreeze.every);
    if every == 0 {
        return policy.clone().into();
    }
    let steps_per_unit = match settings.unfreeze.unit {
        UnfreezeUnit::Steps => 1,
        UnfreezeUnit::Epochs => steps / u64::from(settings.train.epochs.max(1)),
    };
    Timeline::gradual(policy, (every * steps_per_unit).max(1))
}

/// When more freezes during a run: nothing where the policy is not adaptive.
#[must_use]
pub fn settling_rule(policy: &ResolvedPolicy, settings: &Settings) -> Option<SettlingRule> {
    policy.is_adaptive().then_some(settings.adaptive)
}

/// What policies add to an encoder of `depth` blocks: each part wherever one of them lets it learn.
///
/// # Errors
/// Where the settings name a layer that is not there.
pub fn extras(settings: &Settings, policies: &[&ResolvedPolicy], depth: usize) -> Result<Extras, PlanError> {
    let normed_blocks = blocks_that_learn_by(PeftMethod::Dora, policies, depth);
    let mut lora = blocks_that_learn_by(PeftMethod::Lora, policies, depth);
    lora.extend(&normed_blocks);
    lora.sort_unstable();
    lora.dedup();
    let adapters = blocks_that_learn_by(PeftMethod::Adapters, policies, depth);
    let layers = settings.lora.layers()?;
    let matrices = Matrix::ALL.into_iter().filter(|matrix| layers.contains(&matrix.name())).collect();
    let LoraSettings { rank, alpha, .. } = settings.lora;
    Ok(Extras {
        lora: (!lora.is_empty()).then_some(LoraShape { rank, alpha, matrices, blocks: lora, normed_blocks }),
        adapters: (!adapters.is_empty())
            .then_some(AdapterShape { size: settings.adapters.size, blocks: adapters }),
        ia3: blocks_that_learn_by(PeftMethod::Ia3, policies, depth),
        mix: policies.iter().any(|policy| policy.mixes()),
    })
}

/// The blocks in which one of the policies lets this method learn.
fn blocks_that_learn_by(method: PeftMethod, policies: &[&ResolvedPolicy], depth: usize) -> Vec<usize> {
    let learns = |block: &usize| policies.iter().any(|policy| policy.learns_by(method, Group::Block(*block)));
    (0..depth).filter(learns).collect()
}
