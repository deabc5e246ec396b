//! Policies by name, parsed once into the frozen parts, the tuning of the rest, and the changes during a run.
//! [`Policy::resolve`] applies a policy to an encoder.
//!
//! # To add a policy
//!
//! `Policy::parse` in `crates/frostline-freeze/src/policy.rs` turns a name into three typed parts when a plan,
//! a record or a command line is read; nothing else uses the name. Depending on what is new:
//!
//! - other blocks: a variant of `FrozenBlocks` with its name in `parse_base` (and in `freezes_embeddings`, if
//!   it freezes the embeddings too), its meaning in `resolved.rs` (`blocks_of`) and a line in the tests' table
//!   there;
//! - another `+part` about heads: `add_part` in `policy.rs`, `FrozenHeads` and `heads_of`;
//! - a parameter-efficient method: a `PeftMethod` (`peft.rs`), which selects parameters by path. Its additions
//!   to the encoder are a field of `Extras` (`crates/frostline-model/src/extras.rs`), its settings are in
//!   `crates/frostline-record/src/tuning.rs`, `extras` in `crates/frostline-train/src/policy.rs` joins the two,
//!   and `keeps_architecture` decides whether a model can be saved;
//! - a change during the run: a variant of `FreezeSchedule`, its meaning in
//!   `crates/frostline-train/src/policy.rs`, and its exclusions in `check_policy`
//!   (`crates/frostline-record/src/check.rs`).
//!
//! Accounts, the optimiser and the comparison of frozen bits need no change, since they only use paths. Then
//! document it: `describe_choices` in `policy.rs` (its text is in several snapshots), the comment in
//! `configs/reference.toml`, `docs/policies.md`, and "How to read the tables" in
//! `crates/frostline-report/src/document/result.rs`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{BlockScore, PeftMethod};

/// A freezing policy, such as `first-4+embeddings` or `none+lora`.
///
/// On disk a policy is stored as its name. Two names are two policies, even if they mean the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Policy {
    name: String,
    frozen: Frozen,
    tuning: Tuning,
    schedule: FreezeSchedule,
}

/// The part of a policy that defines what is frozen from the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frozen {
    /// Which blocks.
    pub blocks: FrozenBlocks,
    /// Whether the embeddings are.
    pub embeddings: bool,
    /// Which heads.
    pub heads: FrozenHeads,
}

/// The blocks that a policy freezes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrozenBlocks {
    /// `none`.
    #[default]
    None,
    /// `all` and `head-only`.
    All,
    /// `first-K`: the K blocks nearest the input.
    First(BlockCount),
    /// `last-K`: the K blocks nearest the head.
    Last(BlockCount),
    /// `top-K`: all but the K blocks nearest the head.
    AllButLast(BlockCount),
    /// `alternating`: blocks 0, 2, 4 and so on.
    Alternating,
    /// `global`: the blocks that attend to the whole sentence, if others attend to a window.
    Global,
    /// `local`: the blocks that attend to a window, if others attend to the whole sentence.
    Local,
    /// `fisher-K` and so on: all but the K blocks with the highest score.
    AllButBest(BlockScore, BlockCount),
    /// `blocks-0.3.5`: these, counted from 0 at the input, as they were written.
    Listed(Vec<usize>),
    /// `subsets`, in a plan's grid: every set of blocks. It cannot be resolved.
    Subsets,
    /// `greedy`, in a plan's grid: a search among sets of blocks. It cannot be resolved.
    Greedy,
}

/// A number of blocks as a policy gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockCount {
    /// `4`: at least 1.
    Blocks(usize),
    /// `25%`: so many hundredths of the encoder's blocks, from 1 to 99, so that encoders of different depths compare.
    Percent(usize),
}

impl BlockCount {
    /// Returns the number for an encoder of `depth` blocks. A percentage is rounded to the nearest number of
    /// blocks, halves upwards.
    #[must_use]
    pub const fn of(self, depth: usize) -> usize {
        match self {
            Self::Blocks(count) => count,
            Self::Percent(percent) => (depth * percent + 50) / 100,
        }
    }
}

/// The heads that a policy freezes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrozenHeads {
    /// None.
    #[default]
    None,
    /// `+heads`.
    All,
    /// `+head.NAME`, once per head.
    Named(Vec<String>),
}

/// The part of a policy that defines how unfrozen parts of the encoder are trained.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tuning {
    /// Parameter-efficient methods; without any, all weights of a group are trained.
    pub methods: BTreeSet<PeftMethod>,
    /// `+mix`: heads read a learned mix of the embeddings' and all blocks' outputs instead of the last
    /// block's.
    pub mix: bool,
}

/// The part of a policy that defines changes during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FreezeSchedule {
    /// The frozen parts stay the same, except under gradual unfreezing, which is a separate setting (see
    /// [`Timeline::gradual`](crate::Timeline::gradual)).
    #[default]
    Fixed,
    /// `+adaptive`: groups freeze as their gradients settle, see [`Settling`](crate::Settling).
    Adaptive,
    /// `lp-ft`, `lp-ft-P%`: heads alone learn for the first so many hundredths of the steps, from 1 to 99, then everything.
    ///
    /// # Source
    /// Kumar et al., *Fine-Tuning can Distort Pretrained Features and Underperform Out-of-Distribution*, 2022.
    HeadsFirst(usize),
    /// `lisa-K@N`: K blocks learn at a time, others after every N steps, drawn at random. Embeddings and heads always learn.
    ///
    /// # Source
    /// Pan et al., *LISA: Layerwise Importance Sampling for Memory-Efficient Large Language Model Fine-Tuning*, 2024.
    Rotating(BlockCount, u64),
}

/// A policy that does not exist, or that an encoder cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}. {}", describe_choices(*depth))]
pub struct PolicyError {
    reason: String,
    /// Number of the encoder's blocks, if known.
    depth: Option<usize>,
}

impl PolicyError {
    pub(crate) const fn new(reason: String, depth: Option<usize>) -> Self {
        Self { reason, depth }
    }
}

impl Policy {
    /// The word for every set of blocks among the policies of a grid.
    pub const SUBSETS: &str = "subsets";

    /// The word for a greedy search among the policies of a grid: each round freezes one more block, the block
    /// that costs least accuracy.
    pub const GREEDY: &str = "greedy";

    /// Parses a policy's name: `BASE`, or `BASE+PART+PART`.
    ///
    /// # Errors
    /// If there is no such policy for any encoder. Whether one fits an encoder is asked by
    /// [`Policy::resolve`].
    pub fn parse(name: &str) -> Result<Self, PolicyError> {
        let mut parts = name.split('+');
        let base = parts.next().unwrap_or_default();
        let fail = |reason| PolicyError::new(reason, None);
        let schedule = parse_schedule(name, base).map_err(fail)?;
        let frozen = match schedule {
            Some(_) => Frozen::default(),
            None => parse_base(name, base).map_err(fail)?,
        };
        let (tuning, schedule) = (Tuning::default(), schedule.unwrap_or_default());
        let mut policy = Self { name: name.into(), frozen, tuning, schedule };
        for part in parts {
            policy.add_part(base, part).map_err(|reason| PolicyError::new(reason, None))?;
        }
        Ok(policy)
    }

    /// Returns the policy `none`, which trains everything.
    #[must_use]
    pub fn none() -> Self {
        Self {
            name: "none".into(),
            frozen: Frozen::default(),
            tuning: Tuning::default(),
            schedule: FreezeSchedule::default(),
        }
    }

    /// Takes one part after a `+`.
    fn add_part(&mut self, base: &str, part: &str) -> Result<(), String> {
        let name = self.name.clone();
        let method = PeftMethod::ALL.into_iter().find(|method| method.name() == part);
        let has_other = |new: PeftMethod| {
            self.tuning.methods.iter().any(|old| *old != new && old.has_matrices() && new.has_matrices())
        };
        if method.is_some_and(has_other) {
            return Err(format!(
                "`{name}` names +lora and +dora: DoRA contains LoRA's matrices, so write +dora alone"
            ));
        }
        let is_new = match part {
            _ if let Some(method) = method => self.tuning.methods.insert(method),
            "mix" => !std::mem::replace(&mut self.tuning.mix, true),
            "adaptive" if !matches!(self.schedule, FreezeSchedule::Fixed | FreezeSchedule::Adaptive) => {
                return Err(format!(
                    "`{base}` changes what learns during the run already: leave out +adaptive"
                ));
            }
            "adaptive" => {
                std::mem::replace(&mut self.schedule, FreezeSchedule::Adaptive) == FreezeSchedule::Fixed
            }
            "embeddings" if freezes_embeddings(base) => {
                return Err(format!("`{name}` freezes the embeddings twice: `{base}` freezes them already"));
            }
            "embeddings" => !std::mem::replace(&mut self.frozen.embeddings, true),
            "heads" => std::mem::replace(&mut self.frozen.heads, FrozenHeads::All) == FrozenHeads::None,
            _ => match part.strip_prefix("head.") {
                Some(head) => self.frozen.heads.add(head),
                None => return Err(format!("there is no policy `{name}` (unknown part `{part}`)")),
            },
        };
        if is_new { Ok(()) } else { Err(format!("`{name}` names `{part}` twice")) }
    }

    /// Returns the name as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Returns the parts that are frozen from the start.
    #[must_use]
    pub const fn frozen(&self) -> &Frozen {
        &self.frozen
    }

    /// Returns how unfrozen parts of the encoder are trained.
    #[must_use]
    pub const fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    /// Returns the score by which the policy chooses blocks, and how many of the best blocks it trains.
    #[must_use]
    pub const fn best_blocks(&self) -> Option<(BlockScore, BlockCount)> {
        match self.frozen.blocks {
            FrozenBlocks::AllButBest(score, count) => Some((score, count)),
            _ => None,
        }
    }

    /// Returns the score by which the policy chooses blocks, if it does.
    #[must_use]
    pub fn block_score(&self) -> Option<BlockScore> {
        self.best_blocks().map(|(score, _)| score)
    }

    /// Returns whether parts learn at different times, by a schedule that the policy's name gives.
    #[must_use]
    pub const fn takes_turns(&self) -> bool {
        matches!(self.schedule, FreezeSchedule::HeadsFirst(_) | FreezeSchedule::Rotating(..))
    }

    /// Returns the changes during a run.
    #[must_use]
    pub const fn schedule(&self) -> FreezeSchedule {
        self.schedule
    }
}

impl FrozenHeads {
    /// Adds `+head.NAME`; returns false if the head is already frozen.
    fn add(&mut self, head: &str) -> bool {
        match self {
            Self::All => false,
            Self::None => {
                *self = Self::Named(vec![head.into()]);
                true
            }
            Self::Named(names) if names.iter().any(|name| name == head) => false,
            Self::Named(names) => {
                names.push(head.into());
                true
            }
        }
    }
}

impl Tuning {
    /// Returns whether unfrozen groups train their own weights, that is, whether there is no
    /// parameter-efficient method.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.methods.is_empty()
    }

    /// Returns whether the trained model has the encoder's own architecture again, perhaps after a merge: its
    /// file format has a place for all that was added.
    #[must_use]
    pub fn keeps_architecture(&self) -> bool {
        !self.mix && !self.methods.contains(&PeftMethod::Adapters)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::none()
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(name: &str) -> Result<Self, PolicyError> {
        Self::parse(name)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name).map_err(serde::de::Error::custom)
    }
}

impl PartialEq<str> for Policy {
    fn eq(&self, name: &str) -> bool {
        self.name == name
    }
}

impl PartialEq<&str> for Policy {
    fn eq(&self, name: &&str) -> bool {
        self.name == *name
    }
}

impl PartialEq<String> for Policy {
    fn eq(&self, name: &String) -> bool {
        self.name == *name
    }
}

/// Returns the possible policies of an encoder, in words.
fn describe_choices(depth: Option<usize>) -> String {
    let (encoder, k, block) = match depth {
        Some(depth) => (
            format!("For an encoder of {depth} blocks there are"),
            format!("{depth}"),
            format!("{}", depth.saturating_sub(1)),
        ),
        None => ("The policies are".into(), "the number of blocks".into(), "the last block".into()),
    };
    format!(
        "{encoder}: none, all, first-K, last-K and top-K (K from 1 to {k}, or such as 25%), alternating, blocks-0.2 (any of 0 to \
         {block}), fisher-K, rgn-K, snr-K, probe-K, drift-K and random-K (only the K best blocks learn), head-only, lp-ft (heads first, then everything), lisa-K@N (K blocks at a time, others every N steps); \
         each but head-only and top-K also with +embeddings; each with +heads or +head.NAME; where blocks learn, they may by +lora, +dora, +ia3, +adapters, +bitfit or +norms alone, or freeze during the run with \
         +adaptive; each with +mix"
    )
}

/// Returns whether a base freezes the embeddings too.
fn freezes_embeddings(base: &str) -> bool {
    base == "head-only" || base.starts_with("top-")
}

/// Returns the schedule of a base that changes what learns during the run; nothing for the others.
fn parse_schedule(name: &str, base: &str) -> Result<Option<FreezeSchedule>, String> {
    if base == "lp-ft" {
        return Ok(Some(FreezeSchedule::HeadsFirst(50)));
    }
    if let Some(share) = base.strip_prefix("lp-ft-") {
        let percent = share.strip_suffix('%').map(|percent| parse_number(name, percent)).transpose()?;
        return match percent {
            Some(percent @ 1..100) => Ok(Some(FreezeSchedule::HeadsFirst(percent))),
            _ => Err(format!("`{name}` is not a share of the steps: write 1 to 99 %, as in `lp-ft-25%`")),
        };
    }
    let Some(rest) = base.strip_prefix("lisa-") else { return Ok(None) };
    let Some((blocks, steps)) = rest.split_once('@') else {
        return Err(format!("`{name}` does not give the steps from one draw to the next: write `lisa-2@50`"));
    };
    match parse_number(name, steps)? {
        0 => Err(format!("`{name}` draws blocks every 0 steps: write at least 1, as in `lisa-2@50`")),
        steps => Ok(Some(FreezeSchedule::Rotating(parse_count(name, blocks)?, steps as u64))),
    }
}

/// Returns the part of a name before the first `+`; the whole name is for messages.
fn parse_base(name: &str, base: &str) -> Result<Frozen, String> {
    let blocks = match base.split_once('-') {
        None if base == "none" => FrozenBlocks::None,
        None if base == "all" => FrozenBlocks::All,
        None if base == "alternating" => FrozenBlocks::Alternating,
        None if base == "global" => FrozenBlocks::Global,
        None if base == "local" => FrozenBlocks::Local,
        None if base == Policy::SUBSETS => FrozenBlocks::Subsets,
        None if base == Policy::GREEDY => FrozenBlocks::Greedy,
        Some(("head", "only")) => FrozenBlocks::All,
        Some(("first", k)) => FrozenBlocks::First(parse_count(name, k)?),
        Some(("last", k)) => FrozenBlocks::Last(parse_count(name, k)?),
        Some(("top", k)) => FrozenBlocks::AllButLast(parse_count(name, k)?),
        Some((score, k)) if let Some(score) = BlockScore::of_name(score) => {
            FrozenBlocks::AllButBest(score, parse_count(name, k)?)
        }
        Some(("blocks", list)) => FrozenBlocks::Listed(parse_list(name, list)?),
        _ => return Err(format!("there is no policy `{name}`")),
    };
    Ok(Frozen { blocks, embeddings: freezes_embeddings(base), heads: FrozenHeads::None })
}

/// Returns the K of `first-K`, `last-K` and `top-K`.
fn parse_count(name: &str, k: &str) -> Result<BlockCount, String> {
    if let Some(percent) = k.strip_suffix('%') {
        return match parse_number(name, percent)? {
            percent @ 1..100 => Ok(BlockCount::Percent(percent)),
            _ => Err(format!("`{name}` is not a share of the blocks: write 1 to 99 %, `none` or `all`")),
        };
    }
    match parse_number(name, k)? {
        0 if !["first", "last"].iter().any(|kind| name.starts_with(kind)) => {
            Err(format!("`{name}` trains no block: write `head-only`"))
        }
        0 => Err(format!("`{name}` freezes no block: write `none`")),
        k => Ok(BlockCount::Blocks(k)),
    }
}

/// Returns the set of `blocks-0.3.5`.
fn parse_list(name: &str, list: &str) -> Result<Vec<usize>, String> {
    let mut blocks = Vec::new();
    for part in list.split('.') {
        let block = parse_number(name, part)?;
        if blocks.contains(&block) {
            return Err(format!("`{name}` names block {block} twice"));
        }
        blocks.push(block);
    }
    Ok(blocks)
}

fn parse_number(name: &str, text: &str) -> Result<usize, String> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain
        .then(|| text.parse().ok())
        .flatten()
        .ok_or_else(|| format!("there is no policy `{name}` (`{text}` is not a number of blocks)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_parsed_into_three_parts() {
        let policy = Policy::parse("first-2+embeddings+head.ner+lora+mix+adaptive").unwrap();
        let frozen = Frozen {
            blocks: FrozenBlocks::First(BlockCount::Blocks(2)),
            embeddings: true,
            heads: FrozenHeads::Named(vec!["ner".into()]),
        };
        assert_eq!(*policy.frozen(), frozen);
        assert_eq!(*policy.tuning(), Tuning { methods: [PeftMethod::Lora].into(), mix: true });
        assert_eq!(policy.schedule(), FreezeSchedule::Adaptive);
        assert_eq!(Policy::parse("none").unwrap(), Policy::none());
        let schedule = |name| Policy::parse(name).unwrap().schedule();
        assert_eq!(schedule("lp-ft"), FreezeSchedule::HeadsFirst(50));
        assert_eq!(schedule("lp-ft-25%+lora"), FreezeSchedule::HeadsFirst(25));
        assert_eq!(schedule("lisa-2@50"), FreezeSchedule::Rotating(BlockCount::Blocks(2), 50));
        assert_eq!(schedule("lisa-25%@1+embeddings"), FreezeSchedule::Rotating(BlockCount::Percent(25), 1));
    }

    #[test]
    fn a_share_of_the_blocks_is_the_nearest_number() {
        let counts = |percent| [1, 2, 6, 12, 24].map(|depth| BlockCount::Percent(percent).of(depth));
        assert_eq!(counts(25), [0, 1, 2, 3, 6]);
        assert_eq!(counts(50), [1, 1, 3, 6, 12]);
        assert_eq!(counts(75), [1, 2, 5, 9, 18]);
        assert_eq!(counts(99), [1, 2, 6, 12, 24]);
    }

    #[test]
    fn names_are_read_back_as_they_were_written() {
        for name in [
            "none",
            "all",
            "first-4",
            "last-2",
            "top-1",
            "alternating",
            "blocks-3.0.5",
            "head-only+heads",
            "none+lora+embeddings",
            "none+embeddings+lora",
            "first-04",
            "first-25%",
            "top-50%+lora",
            "lp-ft",
            "lp-ft-25%+embeddings",
            "lisa-25%@50+lora",
        ] {
            let policy = Policy::parse(name).unwrap();
            assert_eq!((policy.as_str(), policy.to_string().as_str()), (name, name));
            assert_eq!(policy, name);
        }
    }

    #[test]
    fn names_that_are_no_policy_say_what_exists() {
        let error = |name| Policy::parse(name).unwrap_err().to_string();
        assert_eq!(
            error("frist-2"),
            "there is no policy `frist-2`. The policies are: none, all, first-K, last-K and top-K (K from 1 to the \
             number of blocks, or such as 25%), alternating, blocks-0.2 (any of 0 to the last block), fisher-K, rgn-K, snr-K, probe-K, drift-K and random-K (only the K best blocks learn), \
             head-only, lp-ft (heads first, then everything), lisa-K@N (K blocks at a time, others every N steps); each but head-only and top-K also with +embeddings; each with +heads or +head.NAME; where blocks learn, \
             they may by +lora, +dora, +ia3, +adapters, +bitfit or +norms alone, or freeze during the run with +adaptive; each \
             with +mix"
        );
        for name in [
            "",
            "first-",
            "first-0",
            "first-+2",
            "first--1",
            "blocks-1.1",
            "blocks-",
            "None",
            "head-only+embeddings",
            "all+head",
            "all+embeddings+embeddings",
            "all+heads+head.head",
            "all+head.a+head.a",
            "top-0",
            "first-0%",
            "first-100%",
            "first-%",
            "first-2.5%",
            "blocks-25%",
            "top-1+embeddings",
            "none+lora+lora",
            "none+mix+mix",
            "none+adaptive+adaptive",
            "none+LoRA",
            "none+lora+dora",
            "none+dora+lora",
            "lp-ft-0%",
            "lp-ft-100%",
            "lp-ft-2",
            "lisa-2",
            "lisa-2@0",
            "lisa-0@5",
            "lisa-@5",
            "lisa-2@5+adaptive",
        ] {
            assert!(error(name).contains("The policies are: none, all"), "{name}");
        }
        assert!(error("top-0").contains("write `head-only`"), "{}", error("top-0"));
    }
}
