//! Policies: names for what is frozen, resolved against an encoder's depth.

use std::collections::BTreeSet;
use std::fmt;

use crate::{Group, Light};

/// What is frozen: a set of groups and heads with the name it was written as; and how the rest
/// learns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    name: String,
    depth: usize,
    frozen: BTreeSet<Group>,
    /// How many heads the model has.
    heads: usize,
    /// The frozen ones among them.
    frozen_heads: BTreeSet<usize>,
    /// How the encoder's other groups learn; all their own numbers where it is empty.
    light: BTreeSet<Light>,
    /// Whether heads read a learned mix of all blocks.
    mix: bool,
    /// Whether more freezes while a run goes on.
    adaptive: bool,
}

/// A policy that does not exist or cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}. For an encoder of {depth} blocks there are: {}", Policy::menu(*depth))]
pub struct PolicyError {
    reason: String,
    depth: usize,
}

impl Policy {
    /// Reads a policy for an encoder of `depth` blocks with one head.
    ///
    /// # Errors
    /// Where the name is unknown or asks for blocks that are not there; the message lists what
    /// exists.
    pub fn parse(name: &str, depth: usize) -> Result<Self, PolicyError> {
        Self::parse_for(name, depth, &["head"])
    }

    /// Reads a policy for an encoder of `depth` blocks below heads of these names.
    ///
    /// # Errors
    /// As [`Policy::parse`]; where it names a head that is not there.
    pub fn parse_for(name: &str, depth: usize, heads: &[&str]) -> Result<Self, PolicyError> {
        let fail = |reason: String| PolicyError { reason, depth };
        let mut parts = name.split('+');
        let base = parts.next().unwrap_or_default();
        let blocks: Vec<usize> = match base.split_once('-') {
            None if base == "none" => vec![],
            None if base == "all" => (0..depth).collect(),
            None if base == "alternating" => (0..depth).step_by(2).collect(),
            Some(("head", "only")) => (0..depth).collect(),
            Some(("first", k)) => (0..count(name, k, depth).map_err(fail)?).collect(),
            Some(("last", k)) => (depth - count(name, k, depth).map_err(fail)?..depth).collect(),
            Some(("top", k)) => (0..depth - count(name, k, depth).map_err(fail)?).collect(),
            Some(("blocks", list)) => block_list(name, list, depth).map_err(fail)?,
            None if [Self::SUBSETS, Self::GREEDY].contains(&base) => {
                return Err(fail(format!(
                    "`{name}` stands for sets of blocks: it can only be a value of the grid's `policy`"
                )));
            }
            _ => return Err(fail(format!("there is no policy `{name}`"))),
        };
        let mut frozen: BTreeSet<Group> = blocks.into_iter().map(Group::Block).collect();
        let implied = base == "head-only" || base.starts_with("top-");
        if implied {
            frozen.insert(Group::Embeddings);
        }
        let mut frozen_heads = BTreeSet::new();
        let mut light = BTreeSet::new();
        let (mut mix, mut adaptive) = (false, false);
        for part in parts {
            let way = Light::ALL.into_iter().find(|way| way.name() == part);
            let new = match part {
                _ if let Some(way) = way => light.insert(way),
                "mix" => !std::mem::replace(&mut mix, true),
                "adaptive" => !std::mem::replace(&mut adaptive, true),
                "embeddings" if implied => {
                    return Err(fail(format!("`{name}` says it twice: `{base}` freezes the embeddings too")));
                }
                "embeddings" => frozen.insert(Group::Embeddings),
                "heads" => {
                    let before = frozen_heads.len();
                    frozen_heads.extend(0..heads.len());
                    before == 0
                }
                _ => match part.strip_prefix("head.").map(|head| heads.iter().position(|name| *name == head))
                {
                    Some(Some(head)) => frozen_heads.insert(head),
                    Some(None) => {
                        let there = heads.join(", ");
                        return Err(fail(format!(
                            "`{name}` freezes a head that is not there; the heads are: {there}"
                        )));
                    }
                    None => return Err(fail(format!("there is no policy `{name}` (what is `{part}`?)"))),
                },
            };
            if !new {
                return Err(fail(format!("`{name}` names `{part}` twice")));
            }
        }
        let wants_a_block = light.first().map(|way| way.name()).or(adaptive.then_some("adaptive"));
        if let Some(way) = wants_a_block
            && (0..depth).all(|block| frozen.contains(&Group::Block(block)))
        {
            return Err(fail(format!("`{name}` leaves no block to `{way}`: write `none+{way}`")));
        }
        if !light.is_empty() && light.iter().all(|way| way.is_added()) {
            // Nothing is added to them.
            frozen.insert(Group::Embeddings);
        }
        if frozen_heads.len() == heads.len() {
            frozen.insert(Group::Head);
        }
        Ok(Self { name: name.into(), depth, frozen, heads: heads.len(), frozen_heads, light, mix, adaptive })
    }

    /// The word that stands for every set of blocks among the policies of a grid.
    pub const SUBSETS: &str = "subsets";

    /// The word that stands, among the policies of a grid, for a search: one block more is frozen at a time, the
    /// one that costs least.
    pub const GREEDY: &str = "greedy";

    /// The most blocks of which [`Policy::subsets`] names all sets: 256 of them.
    pub const MOST_SUBSET_BLOCKS: usize = 8;

    /// The policies that freeze a set of blocks and nothing else, one for each set: `none` first, `all` last,
    /// those with fewer blocks before those with more.
    ///
    /// # Errors
    /// Where the encoder has more than [`Policy::MOST_SUBSET_BLOCKS`] blocks.
    pub fn subsets(depth: usize) -> Result<Vec<String>, PolicyError> {
        if depth > Self::MOST_SUBSET_BLOCKS {
            let reason = format!(
                "`{}` of {depth} blocks would be 2^{depth} policies; it is for encoders of at most {} blocks; `{}` \
                 searches among them",
                Self::SUBSETS,
                Self::MOST_SUBSET_BLOCKS,
                Self::GREEDY
            );
            return Err(PolicyError { reason, depth });
        }
        let blocks = |set: &usize| (0..depth).filter(|block| set >> block & 1 == 1).collect::<Vec<_>>();
        let mut sets: Vec<Vec<usize>> = (0..1_usize << depth).map(|set| blocks(&set)).collect();
        sets.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        Ok(sets.iter().map(|set| Self::of_blocks(set, depth)).collect())
    }

    /// The policy that freezes these blocks of `depth`, in ascending order, and nothing else.
    #[must_use]
    pub fn of_blocks(blocks: &[usize], depth: usize) -> String {
        match blocks.len() {
            0 => "none".into(),
            all if all == depth => "all".into(),
            _ => format!("blocks-{}", blocks.iter().map(ToString::to_string).collect::<Vec<_>>().join(".")),
        }
    }

    /// What can be written for an encoder of `depth` blocks, in words.
    #[must_use]
    pub fn menu(depth: usize) -> String {
        format!(
            "none, all, first-K, last-K and top-K (K from 1 to {depth}), alternating, blocks-0.2 (any of 0 to {}), \
             head-only; each but head-only and top-K also with +embeddings; each with +heads or +head.NAME; \
             where blocks learn, they may by +lora, +adapters, +bitfit or +norms alone, or freeze on the way with \
             +adaptive; each with +mix",
            depth.saturating_sub(1)
        )
    }

    /// Whether the parameter at this path is frozen.
    #[must_use]
    pub fn freezes(&self, path: &str) -> bool {
        match Group::of(path) {
            Group::Head if path.starts_with("mix.") => !self.mix,
            Group::Head => self.frozen_heads.contains(&head_of(path)),
            group => self.frozen.contains(&group) || !self.reaches(path),
        }
    }

    /// Whether a group that learns does so through this parameter.
    fn reaches(&self, path: &str) -> bool {
        let whole = self.light.is_empty() && Light::adding(path).is_none();
        whole || self.light.iter().any(|way| way.selects(path))
    }

    /// Whether a group learns, and this way. What such a way adds to the encoder must be there.
    #[must_use]
    pub fn learns_by(&self, way: Light, group: Group) -> bool {
        self.light.contains(&way) && !self.frozen.contains(&group)
    }

    /// Whether the encoder's own weights learn where a group is not frozen: no light way is named.
    #[must_use]
    pub fn learns_whole(&self) -> bool {
        self.light.is_empty()
    }

    /// Whether the trained model is again one of the encoder's own shape, perhaps after a merge: there
    /// is a place in its file for all that was added.
    #[must_use]
    pub fn stays_in_shape(&self) -> bool {
        !self.mix && !self.light.contains(&Light::Adapters)
    }

    /// Whether all that is learned besides heads are LoRA's matrices.
    #[must_use]
    pub fn learns_by_lora_alone(&self) -> bool {
        self.learning().is_empty() || (self.light.len() == 1 && self.light.contains(&Light::Lora))
    }

    /// Whether more freezes while a run goes on, see [`crate::Settling`].
    #[must_use]
    pub fn is_adaptive(&self) -> bool {
        self.adaptive
    }

    /// Whether heads read a learned mix of the embeddings' and all blocks' outputs instead of the
    /// last block's.
    #[must_use]
    pub fn mixes(&self) -> bool {
        self.mix
    }

    /// Whether a whole group is frozen.
    #[must_use]
    pub fn freezes_group(&self, group: Group) -> bool {
        self.frozen.contains(&group)
    }

    /// How many of the lowest blocks never change together with everything below them: 0 where
    /// the embeddings learn. Their output is a constant of the data. 0 too where a mix reads every
    /// block's output.
    #[must_use]
    pub fn constant_prefix(&self) -> Option<usize> {
        let frozen = || (0..self.depth).take_while(|&block| self.freezes_group(Group::Block(block)));
        self.freezes_group(Group::Embeddings).then(|| if self.mix { 0 } else { frozen().count() })
    }

    /// Whether nothing at all learns.
    #[must_use]
    pub fn freezes_all(&self) -> bool {
        !self.mix && self.frozen_heads.len() == self.heads && self.frozen.len() == self.depth + 2
    }

    /// Whether something learns from the loss of this head: the head, or the encoder below it.
    #[must_use]
    pub fn learns_through(&self, head: usize) -> bool {
        self.mix || !self.frozen_heads.contains(&head) || !self.learning().is_empty()
    }

    /// This policy with more frozen, under another name.
    pub(crate) fn with(&self, more: impl IntoIterator<Item = Group>, name: String) -> Self {
        let mut frozen = self.frozen.clone();
        frozen.extend(more);
        Self { name, frozen, ..self.clone() }
    }

    /// What learns of the encoder, from the top down.
    pub(crate) fn learning(&self) -> Vec<Group> {
        let blocks = (0..self.depth).rev().map(Group::Block);
        blocks.chain([Group::Embeddings]).filter(|group| !self.frozen.contains(group)).collect()
    }

    /// The name as it was written.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The number after `heads` in a path such as `heads.1.classifier.weight`; 0 where there is none.
fn head_of(path: &str) -> usize {
    let mut segments = path.split('.').skip_while(|segment| *segment != "heads").skip(1);
    segments.next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The K of `first-K`, `last-K` and `top-K`.
fn count(name: &str, k: &str, depth: usize) -> Result<usize, String> {
    let k: usize = number(name, k)?;
    match k {
        0 if name.starts_with("top") => Err(format!("`{name}` lets no block learn: write `head-only`")),
        0 => Err(format!("`{name}` freezes no block: write `none`")),
        k if k > depth => Err(format!("`{name}` is impossible: the encoder has {depth} blocks")),
        k => Ok(k),
    }
}

/// The set of `blocks-0.3.5`.
fn block_list(name: &str, list: &str, depth: usize) -> Result<Vec<usize>, String> {
    let mut blocks = Vec::new();
    for part in list.split('.') {
        let block = number(name, part)?;
        if block >= depth {
            return Err(format!(
                "`{name}` is impossible: there is no block {block} (blocks are counted from 0)"
            ));
        }
        if blocks.contains(&block) {
            return Err(format!("`{name}` names block {block} twice"));
        }
        blocks.push(block);
    }
    Ok(blocks)
}

fn number(name: &str, text: &str) -> Result<usize, String> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain
        .then(|| text.parse().ok())
        .flatten()
        .ok_or_else(|| format!("there is no policy `{name}` (`{text}` is no number of blocks)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frozen_blocks(name: &str, depth: usize) -> Vec<usize> {
        let policy = Policy::parse(name, depth).unwrap();
        (0..depth).filter(|&block| policy.freezes_group(Group::Block(block))).collect()
    }

    #[test]
    fn names_freeze_what_they_say_at_any_depth() {
        let cases: [(&str, usize, &[usize]); 11] = [
            ("none", 6, &[]),
            ("all", 6, &[0, 1, 2, 3, 4, 5]),
            ("first-2", 6, &[0, 1]),
            ("first-4", 12, &[0, 1, 2, 3]),
            ("last-2", 6, &[4, 5]),
            ("last-12", 12, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
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
    fn embeddings_learn_unless_named_and_the_head_always_does() {
        for (name, embeddings) in
            [("all", false), ("all+embeddings", true), ("head-only", true), ("none+embeddings", true)]
        {
            let policy = Policy::parse(name, 6).unwrap();
            assert_eq!(policy.freezes("encoder.embeddings.word"), embeddings, "{name}");
            assert!(!policy.freezes("heads.0.classifier.weight"), "{name}");
        }
    }

    #[test]
    fn heads_freeze_one_by_one_or_all() {
        let policy = |name| Policy::parse_for(name, 2, &["ner", "upos"]).unwrap();
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
    fn light_ways_learn_in_what_is_not_frozen() {
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
            let policy = Policy::parse(name, 6).unwrap();
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
        let lora = Policy::parse("first-4+lora", 6).unwrap();
        assert_eq!(lora.constant_prefix(), Some(4), "nothing is added to embeddings and frozen blocks");
        assert!(
            lora.learns_by(Light::Lora, Group::Block(4)) && !lora.learns_by(Light::Lora, Group::Block(3))
        );
        assert_eq!(Policy::parse("first-4+bitfit", 6).unwrap().constant_prefix(), None);
    }

    #[test]
    fn a_constant_prefix_needs_frozen_embeddings() {
        let prefix = |name| Policy::parse(name, 6).unwrap().constant_prefix();
        assert_eq!(prefix("first-4"), None);
        assert_eq!(prefix("first-4+embeddings"), Some(4));
        assert_eq!(prefix("alternating+embeddings"), Some(1));
        assert_eq!(prefix("last-2+embeddings"), Some(0));
        assert_eq!(prefix("head-only"), Some(6));
        assert_eq!(prefix("head-only+mix"), Some(0));
    }

    #[test]
    fn subsets_are_all_sets_of_blocks_once() {
        let names = Policy::subsets(3).unwrap();
        let expected =
            ["none", "blocks-0", "blocks-1", "blocks-2", "blocks-0.1", "blocks-0.2", "blocks-1.2", "all"];
        assert_eq!(names, expected);
        let sets: BTreeSet<Vec<usize>> =
            Policy::subsets(6).unwrap().iter().map(|name| frozen_blocks(name, 6)).collect();
        assert_eq!(sets.len(), 64);
        let error = Policy::subsets(12).unwrap_err().to_string();
        assert!(error.starts_with("`subsets` of 12 blocks would be 2^12 policies; it is for"), "{error}");
        let error = Policy::parse("subsets", 6).unwrap_err().to_string();
        assert!(error.contains("can only be a value of the grid's `policy`"), "{error}");
    }

    #[test]
    fn impossible_policies_say_what_exists() {
        let error = |name| Policy::parse(name, 6).unwrap_err().to_string();
        assert_eq!(
            error("first-9"),
            "`first-9` is impossible: the encoder has 6 blocks. For an encoder of 6 blocks there are: none, all, \
             first-K, last-K and top-K (K from 1 to 6), alternating, blocks-0.2 (any of 0 to 5), head-only; each \
             but head-only and top-K also with +embeddings; each with +heads or +head.NAME; where \
             blocks learn, they may by +lora, +adapters, +bitfit or +norms alone, or freeze on the way with \
             +adaptive; each with +mix"
        );
        for name in [
            "",
            "firs-2",
            "first-",
            "first-0",
            "first-+2",
            "first--1",
            "last-7",
            "blocks-6",
            "blocks-1.1",
            "blocks-",
            "None",
            "head-only+embeddings",
            "all+head",
            "all+embeddings+embeddings",
            "all+head.ner",
            "all+heads+head.head",
            "top-0",
            "top-1+embeddings",
            "head-only+lora",
            "all+adaptive",
            "all+bitfit",
            "none+lora+lora",
            "none+mix+mix",
            "none+LoRA",
        ] {
            assert!(error(name).contains("there are: none, all"), "{name}");
        }
        assert!(error("top-0").contains("write `head-only`"), "{}", error("top-0"));
    }
}
