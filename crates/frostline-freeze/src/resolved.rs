//! A policy applied to an encoder of known depth and heads: which parameters are frozen, by path.

use std::collections::BTreeSet;
use std::fmt;

use crate::{
    BlockCount, Blocks, FreezeSchedule, FrozenBlocks, FrozenHeads, Group, PeftMethod, Policy, PolicyError,
};

/// The frozen parameters of an encoder with heads, and the tuning of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPolicy {
    policy: Policy,
    /// The policy's name, or a name with the progress of the run if more is frozen for now.
    name: String,
    depth: usize,
    frozen: BTreeSet<Group>,
    /// How many heads the model has.
    heads: usize,
    /// The frozen ones among them.
    frozen_heads: BTreeSet<usize>,
}

impl Policy {
    /// Applies this policy to an encoder of these blocks, or of so many of one kind, below heads of these names.
    ///
    /// # Errors
    /// If it names blocks or heads that do not exist, or leaves no block for its method of training. The
    /// message lists what exists.
    pub fn resolve(&self, blocks: impl Into<Blocks>, heads: &[&str]) -> Result<ResolvedPolicy, PolicyError> {
        let all = blocks.into();
        let depth = all.depth();
        let fail = |reason: String| PolicyError::new(reason, Some(depth));
        let blocks = self.blocks_of(&all).map_err(fail)?;
        // The choices of other encoders of this depth are not all choices here.
        self.check_shared_weights(&all, &blocks).map_err(|reason| PolicyError::new(reason, None))?;
        let mut frozen: BTreeSet<Group> = blocks.into_iter().map(Group::Block).collect();
        let frozen_heads = self.heads_of(heads).map_err(fail)?;
        let methods = &self.tuning().methods;
        let adaptive = self.schedule() == FreezeSchedule::Adaptive;
        if let FreezeSchedule::Rotating(count, _) = self.schedule() {
            self.count_of(count, depth).map_err(fail)?;
        }
        if let FreezeSchedule::HeadsFirst(_) = self.schedule()
            && frozen_heads.len() == heads.len()
            && !self.tuning().mix
        {
            return Err(fail(format!("`{self}` freezes every head, so that nothing would learn at first")));
        }
        let wants_a_block = methods.first().map(|method| method.name()).or(adaptive.then_some("adaptive"));
        if let Some(part) = wants_a_block
            && frozen.len() == depth
        {
            return Err(fail(format!("`{self}` leaves no block to `{part}`: write `none+{part}`")));
        }
        // Methods that only add parameters add none to the embeddings.
        let adds_only = !methods.is_empty() && methods.iter().all(|method| method.is_added());
        if self.frozen().embeddings || adds_only {
            frozen.insert(Group::Embeddings);
        }
        if frozen_heads.len() == heads.len() {
            frozen.insert(Group::Head);
        }
        let (policy, name) = (self.clone(), self.as_str().into());
        Ok(ResolvedPolicy { policy, name, depth, frozen, heads: heads.len(), frozen_heads })
    }

    /// Returns the frozen ones of an encoder's blocks.
    fn blocks_of(&self, all: &Blocks) -> Result<Vec<usize>, String> {
        let depth = all.depth();
        let of_kind = |local| {
            all.of_kind(local).ok_or_else(|| {
                format!("`{self}` is impossible: the encoder's blocks all attend alike; only some encoders, such as \
                         ModernBERT, have both global and local blocks")
            })
        };
        let count = |k| self.count_of(k, depth);
        Ok(match &self.frozen().blocks {
            FrozenBlocks::None => Vec::new(),
            FrozenBlocks::All => (0..depth).collect(),
            FrozenBlocks::First(k) => (0..count(*k)?).collect(),
            FrozenBlocks::Last(k) => (depth - count(*k)?..depth).collect(),
            FrozenBlocks::AllButLast(k) => (0..depth - count(*k)?).collect(),
            FrozenBlocks::AllButBest(score, k) => {
                let order = all.by_score(*score)?.ok_or_else(|| {
                    format!(
                        "`{self}` chooses blocks by a score of the encoder on a task, which a sweep computes before it starts; \
                         name the blocks here, as in `blocks-0.1.2`, or ask `frostline score-blocks`"
                    )
                })?;
                let mut frozen = order[count(*k)?..].to_vec();
                frozen.sort_unstable();
                frozen
            }
            FrozenBlocks::Alternating => (0..depth).step_by(2).collect(),
            FrozenBlocks::Global => of_kind(false)?,
            FrozenBlocks::Local => of_kind(true)?,
            FrozenBlocks::Subsets | FrozenBlocks::Greedy => {
                return Err(format!(
                    "`{self}` means sets of blocks: it can only be a value of the grid's `policy`"
                ));
            }
            FrozenBlocks::Listed(blocks) => match blocks.iter().find(|block| **block >= depth) {
                None => blocks.clone(),
                Some(block) => {
                    return Err(format!(
                        "`{self}` is impossible: there is no block {block} (blocks are counted from 0)"
                    ));
                }
            },
        })
    }

    /// Checks that blocks with the same weights are all frozen or all trained, at every step.
    fn check_shared_weights(&self, all: &Blocks, frozen: &[usize]) -> Result<(), String> {
        if !all.share_weights() {
            return Ok(());
        }
        let list = |set: &[usize]| set.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let is_split = |set: &&Vec<usize>| {
            let count = set.iter().filter(|block| frozen.contains(block)).count();
            count > 0 && count < set.len()
        };
        let sets = all.sets_of_weights();
        if let Some(set) = sets.iter().find(is_split) {
            let instead = match sets.len() {
                1 => "write `none`, `all` or `head-only`",
                _ => "freeze all of them or none",
            };
            return Err(format!(
                "`{self}` is impossible: blocks {} of this encoder are one set of weights, of which a part cannot be frozen; {instead}",
                list(set)
            ));
        }
        let in_turn = match self.schedule() {
            FreezeSchedule::Adaptive => "freezes",
            FreezeSchedule::Rotating(..) => "trains",
            FreezeSchedule::Fixed | FreezeSchedule::HeadsFirst(_) => return Ok(()),
        };
        Err(format!(
            "`{self}` is impossible: it {in_turn} blocks one after the other, but blocks {} of this encoder are one set of weights",
            sets.iter().find(|set| set.len() > 1).map(|set| list(set)).unwrap_or_default()
        ))
    }

    /// Returns a number of blocks of an encoder of `depth`, from 1 on.
    fn count_of(&self, k: BlockCount, depth: usize) -> Result<usize, String> {
        match k.of(depth) {
            0 => Err(format!(
                "`{self}` means no block of an encoder of {depth}: give a larger share, or a number"
            )),
            k if k > depth => Err(format!("`{self}` is impossible: the encoder has {depth} blocks")),
            k => Ok(k),
        }
    }

    /// Returns the places of the frozen heads among these.
    fn heads_of(&self, heads: &[&str]) -> Result<BTreeSet<usize>, String> {
        match &self.frozen().heads {
            FrozenHeads::None => Ok(BTreeSet::new()),
            FrozenHeads::All => Ok((0..heads.len()).collect()),
            FrozenHeads::Named(names) => {
                let place = |name: &String| heads.iter().position(|head| head == name);
                names.iter().map(place).collect::<Option<_>>().ok_or_else(|| {
                    let there = heads.join(", ");
                    format!("`{self}` freezes a head that is not there; the heads are: {there}")
                })
            }
        }
    }
}

impl ResolvedPolicy {
    /// Parses a policy and applies it to an encoder of `depth` blocks with one head named `head`.
    ///
    /// # Errors
    /// See [`Policy::parse`] and [`Policy::resolve`].
    pub fn parse(name: &str, depth: usize) -> Result<Self, PolicyError> {
        Policy::parse(name)?.resolve(depth, &["head"])
    }

    /// Returns the policy as it was written.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the policy's name; if more is frozen for now than it defines, the name is followed by the
    /// progress of the run.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the frozen parts and the tuning of the rest, as a text for comparison. It is equal for policies
    /// that train the same parameters in the same way, such as `all` and `first-6` in an encoder of six blocks.
    #[must_use]
    pub fn canonical_form(&self) -> String {
        let Self { policy, name: _, depth, frozen, heads, frozen_heads } = self;
        format!("{:?}", (depth, frozen, heads, frozen_heads, policy.tuning(), policy.schedule()))
    }

    /// Returns whether the parameter at this path is frozen.
    #[must_use]
    pub fn freezes(&self, path: &str) -> bool {
        match Group::of(path) {
            Group::Head if path.starts_with("mix.") => !self.mixes(),
            Group::Head => self.frozen_heads.contains(&head_of(path)),
            group => self.freezes_group(group) || !self.is_tuned(path),
        }
    }

    /// Returns whether a trainable group trains this parameter.
    fn is_tuned(&self, path: &str) -> bool {
        let tuning = self.policy.tuning();
        let own = tuning.is_full() && PeftMethod::method_of_parameter(path).is_none();
        own || tuning.methods.iter().any(|method| method.trains_parameter(path))
    }

    /// Returns whether a group is trained by this method. The method's additions to the encoder must exist.
    #[must_use]
    pub fn learns_by(&self, method: PeftMethod, group: Group) -> bool {
        self.policy.tuning().methods.contains(&method) && !self.freezes_group(group)
    }

    /// Returns whether only the parameters of LoRA or of DoRA are trained in addition to heads.
    #[must_use]
    pub fn learns_by_lora_alone(&self) -> bool {
        let methods = &self.policy.tuning().methods;
        self.trainable_groups().is_empty()
            || (methods.len() == 1 && methods.iter().all(|method| method.has_matrices()))
    }

    /// Returns whether more freezes during a run, see [`crate::Settling`].
    #[must_use]
    pub fn is_adaptive(&self) -> bool {
        self.policy.schedule() == FreezeSchedule::Adaptive
    }

    /// Returns whether heads read a learned mix of the embeddings' and all blocks' outputs instead of the last
    /// block's.
    #[must_use]
    pub fn mixes(&self) -> bool {
        self.policy.tuning().mix
    }

    /// Returns whether a whole group is frozen.
    #[must_use]
    pub fn freezes_group(&self, group: Group) -> bool {
        match group {
            Group::Final => self.frozen.contains(&Group::Block(self.depth.saturating_sub(1))),
            group => self.frozen.contains(&group),
        }
    }

    /// Returns how many of the lowest blocks never change, together with everything below them: `None` if the
    /// embeddings are trainable, and 0 if a mix reads every block's output. Their output depends only on the
    /// data.
    #[must_use]
    pub fn constant_prefix(&self) -> Option<usize> {
        let frozen = || (0..self.depth).take_while(|&block| self.freezes_group(Group::Block(block)));
        self.freezes_group(Group::Embeddings).then(|| if self.mixes() { 0 } else { frozen().count() })
    }

    /// Returns whether no parameter is trainable.
    #[must_use]
    pub fn freezes_all(&self) -> bool {
        !self.mixes() && self.frozen_heads.len() == self.heads && self.frozen.len() == self.depth + 2
    }

    /// Returns whether the loss of this head trains anything: the head, or the encoder below it.
    #[must_use]
    pub fn learns_through(&self, head: usize) -> bool {
        self.mixes() || !self.frozen_heads.contains(&head) || !self.trainable_groups().is_empty()
    }

    /// This policy with more frozen, under another name.
    pub(crate) fn freezing_also(&self, more: impl IntoIterator<Item = Group>, name: String) -> Self {
        let mut frozen = self.frozen.clone();
        frozen.extend(more);
        Self { name, frozen, ..self.clone() }
    }

    /// This policy without what `other` trains.
    pub(crate) fn learning_also(&self, other: &Self) -> Self {
        let frozen = self.frozen.intersection(&other.frozen).copied().collect();
        Self { frozen, ..self.clone() }
    }

    /// Returns how many blocks the encoder has.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the trainable groups of the encoder, from the top down.
    pub(crate) fn trainable_groups(&self) -> Vec<Group> {
        let blocks = (0..self.depth).rev().map(Group::Block);
        blocks.chain([Group::Embeddings]).filter(|group| !self.frozen.contains(group)).collect()
    }
}

impl fmt::Display for ResolvedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Returns the number after `heads` in a path such as `heads.1.classifier.weight`; 0 if there is none.
fn head_of(path: &str) -> usize {
    let mut segments = path.split('.').skip_while(|segment| *segment != "heads").skip(1);
    segments.next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockOrders, BlockScore};

    fn frozen_blocks(name: &str, depth: usize) -> Vec<usize> {
        let policy = ResolvedPolicy::parse(name, depth).unwrap();
        (0..depth).filter(|&block| policy.freezes_group(Group::Block(block))).collect()
    }

    #[test]
    fn names_freeze_what_they_say_at_any_depth() {
        let cases: [(&str, usize, &[usize]); 15] = [
            ("none", 6, &[]),
            ("all", 6, &[0, 1, 2, 3, 4, 5]),
            ("first-2", 6, &[0, 1]),
            ("first-4", 12, &[0, 1, 2, 3]),
            ("last-2", 6, &[4, 5]),
            ("last-12", 12, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
            ("first-25%", 12, &[0, 1, 2]),
            ("first-25%", 6, &[0, 1]),
            ("last-50%", 6, &[3, 4, 5]),
            ("top-25%", 12, &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
            ("alternating", 6, &[0, 2, 4]),
            ("alternating", 5, &[0, 2, 4]),
            ("blocks-0.3.5", 6, &[0, 3, 5]),
            ("top-2", 6, &[0, 1, 2, 3]),
            ("head-only", 3, &[0, 1, 2]),
        ];
        for (name, depth, blocks) in cases {
            assert_eq!(frozen_blocks(name, depth), blocks, "{name} of {depth}");
        }
    }

    #[test]
    fn blocks_of_a_kind_freeze_if_there_are_two_kinds() {
        let frozen = |name: &str, blocks: Blocks| {
            let policy = Policy::parse(name).unwrap().resolve(blocks, &["head"])?;
            let frozen = (0..6).filter(|&block| policy.freezes_group(Group::Block(block)));
            Ok::<_, PolicyError>(frozen.collect::<Vec<_>>())
        };
        let modern = || Blocks::new(6, [1, 2, 4, 5]);
        assert_eq!(frozen("global", modern()).unwrap(), [0, 3]);
        assert_eq!(frozen("local+embeddings", modern()).unwrap(), [1, 2, 4, 5]);
        assert_eq!(frozen("alternating", modern()).unwrap(), [0, 2, 4]);
        for blocks in [Blocks::from(6), Blocks::new(6, 0..6)] {
            let error = frozen("local", blocks).unwrap_err().to_string();
            assert!(
                error.starts_with("`local` is impossible: the encoder's blocks all attend alike"),
                "{error}"
            );
        }
    }

    #[test]
    fn blocks_with_the_same_weights_freeze_together() {
        let resolve = |name: &str, span: usize| {
            let blocks = Blocks::from(6).with_sharing([span, 1]);
            let policy = Policy::parse(name).unwrap().resolve(blocks.in_any_order(), &["head"])?;
            let frozen = (0..6).filter(|&block| policy.freezes_group(Group::Block(block)));
            Ok::<_, PolicyError>(frozen.collect::<Vec<_>>())
        };
        let [one, two] = [6, 3];
        for name in ["none", "none+embeddings", "none+lora", "none+bitfit", "none+norms", "lp-ft"] {
            assert_eq!(resolve(name, one).unwrap(), [0; 0], "{name}");
        }
        for name in ["all", "head-only", "first-6", "first-100%", "all+mix"] {
            let expected = if name == "first-100%" { None } else { Some(vec![0, 1, 2, 3, 4, 5]) };
            assert_eq!(Policy::parse(name).ok().and_then(|_| resolve(name, one).ok()), expected, "{name}");
        }
        assert_eq!(resolve("first-3", two).unwrap(), [0, 1, 2]);
        assert_eq!(resolve("top-50%", two).unwrap(), [0, 1, 2]);
        let error = |name, span| resolve(name, span).unwrap_err().to_string();
        for name in [
            "first-4",
            "last-1",
            "alternating",
            "top-2",
            "blocks-0.5",
            "fisher-2",
            "random-2",
            "first-50%+lora",
        ] {
            let found = error(name, one);
            assert!(
                found.contains("blocks 0, 1, 2, 3, 4, 5 of this encoder are one set of weights"),
                "{found}"
            );
            assert!(found.contains("write `none`, `all` or `head-only`"), "{found}");
        }
        assert!(error("first-4", two).contains("blocks 3, 4, 5 of this encoder are one set"));
        for name in ["none+adaptive", "lisa-2@5"] {
            assert!(error(name, one).contains("blocks one after the other, but blocks 0, 1"), "{name}");
        }
    }

    #[test]
    fn the_blocks_with_the_highest_scores_learn() {
        let orders = BlockOrders::from([(BlockScore::Fisher, vec![2, 5, 0, 1, 4, 3])]);
        let resolve = |name: &str, orders: &BlockOrders| {
            let blocks = Blocks::from(6).with_orders(orders.clone());
            Policy::parse(name).unwrap().resolve(blocks, &["head"])
        };
        let frozen = |name: &str| {
            let policy = resolve(name, &orders).unwrap();
            (0..6).filter(|&block| policy.freezes_group(Group::Block(block))).collect::<Vec<_>>()
        };
        assert_eq!(frozen("fisher-2"), [0, 1, 3, 4]);
        assert_eq!(frozen("fisher-50%+embeddings"), [1, 3, 4]);
        assert_eq!(frozen("fisher-6"), [0; 0]);
        let same = resolve("fisher-2+lora", &orders).unwrap().canonical_form();
        assert_eq!(same, ResolvedPolicy::parse("blocks-0.1.3.4+lora", 6).unwrap().canonical_form());
        let error = |name: &str, orders: &BlockOrders| resolve(name, orders).unwrap_err().to_string();
        assert!(error("fisher-7", &orders).contains("the encoder has 6 blocks"));
        assert!(error("rgn-2", &orders).contains("which a sweep computes before it starts"));
        for broken in [vec![0, 1, 2], vec![0, 0, 1, 2, 3, 4], vec![1, 2, 3, 4, 5, 6]] {
            let orders = [(BlockScore::Fisher, broken)].into();
            assert!(error("fisher-2", &orders).contains("is no order of 6 blocks"));
        }
        for name in ["fisher", "fisher-0", "fisher-x", "fisher-100%", "shapley-2"] {
            assert!(Policy::parse(name).is_err(), "{name}");
        }
        assert_eq!(Policy::parse("snr-2+mix").unwrap().block_score(), Some(BlockScore::Snr));
    }

    #[test]
    fn names_mean_the_same_where_the_same_learns_in_the_same_way() {
        let same = |a: &str, b: &str, depth| {
            let parse = |name| ResolvedPolicy::parse(name, depth).unwrap();
            parse(a).canonical_form() == parse(b).canonical_form()
        };
        assert!(same("all", "first-6", 6) && !same("all", "first-6", 8));
        assert!(same("head-only", "all+embeddings", 6) && !same("head-only", "all", 6));
        assert!(same("first-50%", "blocks-0.1.2", 6) && same("none+lora", "none+embeddings+lora", 6));
        for other in ["first-2+lora", "first-2+adaptive", "first-2+mix", "first-2+heads", "first-2+bitfit"] {
            assert!(!same("first-2", other, 6), "{other}");
        }
    }

    #[test]
    fn embeddings_learn_unless_named_and_the_head_always_does() {
        for (name, embeddings) in
            [("all", false), ("all+embeddings", true), ("head-only", true), ("none+embeddings", true)]
        {
            let policy = ResolvedPolicy::parse(name, 6).unwrap();
            assert_eq!(policy.freezes("encoder.embeddings.word"), embeddings, "{name}");
            assert!(!policy.freezes("heads.0.classifier.weight"), "{name}");
        }
    }

    #[test]
    fn heads_freeze_one_by_one_or_all() {
        let policy = |name| Policy::parse(name).unwrap().resolve(2, &["ner", "upos"]).unwrap();
        let frozen =
            |name| ["heads.0.dense.bias", "heads.1.classifier.weight"].map(|path| policy(name).freezes(path));
        assert_eq!(frozen("none"), [false, false]);
        assert_eq!(frozen("none+head.upos"), [false, true]);
        assert_eq!(frozen("all+embeddings+heads"), [true, true]);
        assert!(policy("all+embeddings+heads").freezes_all() && policy("head-only+heads").freezes_all());
        assert!(!policy("all+heads").freezes_all() && !policy("head-only+head.ner").freezes_all());
        assert!(policy("none+heads").freezes_group(Group::Head));
        assert!(!policy("none+head.ner").freezes_group(Group::Head));
    }

    #[test]
    fn methods_learn_in_what_is_not_frozen() {
        let paths = [
            "encoder.embeddings.word",
            "encoder.embeddings.norm.beta",
            "encoder.blocks.0.query.lora.a",
            "encoder.blocks.2.query.weight",
            "encoder.blocks.2.query.bias",
            "encoder.blocks.2.output_norm.gamma",
            "encoder.blocks.2.query.lora.a",
            "encoder.blocks.2.adapter.up.weight",
            "heads.0.classifier.weight",
            "mix.weights",
        ];
        let learning = |name: &str| {
            let policy = ResolvedPolicy::parse(name, 6).unwrap();
            paths.map(|path| if policy.freezes(path) { '-' } else { 'x' }).iter().collect::<String>()
        };
        assert_eq!(learning("first-1"), "xx-xxx--x-");
        assert_eq!(learning("first-1+lora"), "------x-x-");
        assert_eq!(learning("none+lora"), "--x---x-x-");
        assert_eq!(learning("first-1+adapters"), "-------xx-");
        assert_eq!(learning("first-1+bitfit"), "-x--x---x-");
        assert_eq!(learning("first-1+norms+embeddings"), "-----x--x-");
        assert_eq!(learning("first-1+lora+bitfit"), "-x--x-x-x-");
        assert_eq!(learning("head-only+mix"), "--------xx");
        let lora = ResolvedPolicy::parse("first-4+lora", 6).unwrap();
        assert_eq!(lora.constant_prefix(), Some(4), "nothing is added to embeddings and frozen blocks");
        assert!(
            lora.learns_by(PeftMethod::Lora, Group::Block(4))
                && !lora.learns_by(PeftMethod::Lora, Group::Block(3))
        );
        assert_eq!(ResolvedPolicy::parse("first-4+bitfit", 6).unwrap().constant_prefix(), None);
    }

    #[test]
    fn a_constant_prefix_needs_frozen_embeddings() {
        let prefix = |name| ResolvedPolicy::parse(name, 6).unwrap().constant_prefix();
        assert_eq!(prefix("first-4"), None);
        assert_eq!(prefix("first-4+embeddings"), Some(4));
        assert_eq!(prefix("alternating+embeddings"), Some(1));
        assert_eq!(prefix("last-2+embeddings"), Some(0));
        assert_eq!(prefix("head-only"), Some(6));
        assert_eq!(prefix("head-only+mix"), Some(0));
    }

    #[test]
    fn the_last_norm_freezes_with_the_last_block() {
        let frozen = |name: &str| {
            let policy = ResolvedPolicy::parse(name, 6).unwrap();
            (policy.freezes("encoder.final_norm.gamma"), policy.freezes_group(Group::Final))
        };
        for name in ["all", "last-1", "first-6", "head-only", "blocks-5", "all+embeddings"] {
            assert_eq!(frozen(name), (true, true), "{name}");
        }
        for name in ["none", "first-5", "alternating", "top-1", "none+norms", "none+embeddings"] {
            assert_eq!(frozen(name), (false, false), "{name}");
        }
        // A method trains what it selects by path.
        assert_eq!(frozen("none+lora"), (true, false));
        let lora = ResolvedPolicy::parse("head-only", 6).unwrap();
        assert_eq!(
            lora.canonical_form(),
            ResolvedPolicy::parse("all+embeddings", 6).unwrap().canonical_form()
        );
    }

    #[test]
    fn impossible_policies_say_what_exists() {
        let error = |name| ResolvedPolicy::parse(name, 6).unwrap_err().to_string();
        assert_eq!(
            error("first-9"),
            "`first-9` is impossible: the encoder has 6 blocks. For an encoder of 6 blocks there are: none, all, \
             first-K, last-K and top-K (K from 1 to 6, or such as 25%), alternating, blocks-0.2 (any of 0 to 5), \
             fisher-K, rgn-K, snr-K, probe-K, drift-K and random-K (only the K best blocks learn), head-only, lp-ft (heads first, then everything), lisa-K@N (K blocks at a time, others every N steps); each but head-only and top-K also with +embeddings; each with +heads or +head.NAME; where \
             blocks learn, they may by +lora, +dora, +ia3, +adapters, +bitfit or +norms alone, or freeze during the run with \
             +adaptive; each with +mix"
        );
        for name in [
            "last-7",
            "first-8%",
            "top-7",
            "blocks-6",
            "all+head.ner",
            "head-only+lora",
            "all+adaptive",
            "all+bitfit",
            "blocks-0.1.2.3.4.5+lora",
        ] {
            assert!(error(name).contains("there are: none, all"), "{name}");
        }
        for word in [Policy::SUBSETS, Policy::GREEDY] {
            assert!(error(word).contains("can only be a value of the grid's `policy`"), "{}", error(word));
        }
    }
}
