//! Policies: names for what is frozen, resolved against an encoder's depth.

use std::collections::BTreeSet;
use std::fmt;

use crate::Group;

/// What is frozen: a set of groups with the name it was written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    name: String,
    depth: usize,
    frozen: BTreeSet<Group>,
}

/// A policy that does not exist or cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}. For an encoder of {depth} blocks there are: {}", Policy::menu(*depth))]
pub struct PolicyError {
    reason: String,
    depth: usize,
}

impl Policy {
    /// Reads a policy for an encoder of `depth` blocks.
    ///
    /// # Errors
    /// Where the name is unknown or asks for blocks that are not there; the message lists what
    /// exists.
    pub fn parse(name: &str, depth: usize) -> Result<Self, PolicyError> {
        let fail = |reason: String| PolicyError { reason, depth };
        let (base, with_embeddings) = match name.strip_suffix("+embeddings") {
            Some(base) => (base, true),
            None => (name, false),
        };
        if with_embeddings && base == "head-only" {
            return Err(fail(format!("`{name}` says it twice: `head-only` freezes the embeddings too")));
        }
        let blocks: Vec<usize> = match base.split_once('-') {
            None if base == "none" => vec![],
            None if base == "all" => (0..depth).collect(),
            None if base == "alternating" => (0..depth).step_by(2).collect(),
            Some(("head", "only")) => (0..depth).collect(),
            Some(("first", k)) => (0..count(name, k, depth).map_err(fail)?).collect(),
            Some(("last", k)) => (depth - count(name, k, depth).map_err(fail)?..depth).collect(),
            Some(("blocks", list)) => block_list(name, list, depth).map_err(fail)?,
            _ => return Err(fail(format!("there is no policy `{name}`"))),
        };
        let mut frozen: BTreeSet<Group> = blocks.into_iter().map(Group::Block).collect();
        if with_embeddings || base == "head-only" {
            frozen.insert(Group::Embeddings);
        }
        Ok(Self { name: name.into(), depth, frozen })
    }

    /// What can be written for an encoder of `depth` blocks, in words.
    #[must_use]
    pub fn menu(depth: usize) -> String {
        format!(
            "none, all, first-K and last-K (K from 1 to {depth}), alternating, blocks-0.2 (any of 0 to {}), \
             head-only; each but head-only also with +embeddings",
            depth.saturating_sub(1)
        )
    }

    /// Whether the parameter at this path is frozen.
    #[must_use]
    pub fn freezes(&self, path: &str) -> bool {
        self.frozen.contains(&Group::of(path))
    }

    /// Whether a whole group is frozen.
    #[must_use]
    pub fn freezes_group(&self, group: Group) -> bool {
        self.frozen.contains(&group)
    }

    /// How many of the lowest blocks never change together with everything below them: 0 where
    /// the embeddings learn. Their output is a constant of the data.
    #[must_use]
    pub fn constant_prefix(&self) -> Option<usize> {
        self.freezes_group(Group::Embeddings)
            .then(|| (0..self.depth).take_while(|&block| self.freezes_group(Group::Block(block))).count())
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

/// The K of `first-K` and `last-K`.
fn count(name: &str, k: &str, depth: usize) -> Result<usize, String> {
    let k: usize = number(name, k)?;
    match k {
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
        let cases: [(&str, usize, &[usize]); 10] = [
            ("none", 6, &[]),
            ("all", 6, &[0, 1, 2, 3, 4, 5]),
            ("first-2", 6, &[0, 1]),
            ("first-4", 12, &[0, 1, 2, 3]),
            ("last-2", 6, &[4, 5]),
            ("last-12", 12, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
            ("alternating", 6, &[0, 2, 4]),
            ("alternating", 5, &[0, 2, 4]),
            ("blocks-0.3.5", 6, &[0, 3, 5]),
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
            assert!(!policy.freezes("head.weight"), "{name}");
        }
    }

    #[test]
    fn a_constant_prefix_needs_frozen_embeddings() {
        let prefix = |name| Policy::parse(name, 6).unwrap().constant_prefix();
        assert_eq!(prefix("first-4"), None);
        assert_eq!(prefix("first-4+embeddings"), Some(4));
        assert_eq!(prefix("alternating+embeddings"), Some(1));
        assert_eq!(prefix("last-2+embeddings"), Some(0));
        assert_eq!(prefix("head-only"), Some(6));
    }

    #[test]
    fn impossible_policies_say_what_exists() {
        let error = |name| Policy::parse(name, 6).unwrap_err().to_string();
        assert_eq!(
            error("first-9"),
            "`first-9` is impossible: the encoder has 6 blocks. For an encoder of 6 blocks there are: none, all, \
             first-K and last-K (K from 1 to 6), alternating, blocks-0.2 (any of 0 to 5), head-only; each but \
             head-only also with +embeddings"
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
        ] {
            assert!(error(name).contains("there are: none, all"), "{name}");
        }
    }
}
