//! Entities from IOB2 tags, and their F1 as CoNLL-2003 defines it.
//!
//! An entity is correct if its first word, last word and type are correct; there is no partial credit. A
//! [`Scheme`] defines how malformed tags are read.
//!
//! ```
//! use frostline_score::entity::{EntityScores, Scheme};
//!
//! let mut scores = EntityScores::new(Scheme::Lenient);
//! scores.add(&["B-PER", "I-PER", "O", "B-LOC"], &["B-PER", "O", "O", "B-LOC"])?;
//! assert_eq!(scores.overall().f1, 0.5);
//! # Ok::<(), frostline_score::ScoreError>(())
//! ```
//!
//! # Source
//! Tjong Kim Sang and De Meulder, *Introduction to the CoNLL-2003 Shared Task* (2003). The strict scheme
//! follows the Python package seqeval.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::confusion::Prf;
use crate::error::ScoreError;

/// How to read an `I-X` tag that continues no entity of type `X`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// A malformed tag begins an entity, as in the CoNLL-2003 task's own scorer.
    #[default]
    Lenient,
    /// A malformed tag is outside any entity.
    Strict,
}

/// One entity: the words `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntitySpan<'a> {
    /// First word, from 0.
    pub start: usize,
    /// One past the last word.
    pub end: usize,
    /// The entity's type, such as `PER`.
    pub kind: &'a str,
}

/// Returns the entities of one sentence. A tag that begins with neither `B-` nor `I-` is outside.
#[must_use]
pub fn entities<'a>(tags: &[&'a str], scheme: Scheme) -> Vec<EntitySpan<'a>> {
    let mut found: Vec<EntitySpan> = Vec::new();
    let mut open = false;
    for (start, tag) in tags.iter().enumerate() {
        let (prefix, kind) = tag.split_once('-').unwrap_or((tag, ""));
        let continues = open && prefix == "I" && found.last().is_some_and(|e| e.kind == kind);
        let begins = prefix == "B" || (prefix == "I" && scheme == Scheme::Lenient);
        open = continues || begins;
        match found.last_mut() {
            Some(entity) if continues => entity.end = start + 1,
            _ if begins => found.push(EntitySpan { start, end: start + 1, kind }),
            _ => {}
        }
    }
    found
}

/// Counts of entities per type, over sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityScores {
    /// How tags are read.
    pub scheme: Scheme,
    /// Per type.
    pub kinds: BTreeMap<String, EntityCounts>,
}

/// Counts of entities of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityCounts {
    /// Entities in both gold and prediction.
    pub correct: u64,
    /// Entities in the prediction.
    pub predicted: u64,
    /// Entities in gold.
    pub gold: u64,
}

impl EntityCounts {
    /// The scores of these counts.
    #[must_use]
    pub fn prf(&self) -> Prf {
        Prf::from_counts(self.correct, self.predicted, self.gold)
    }
}

impl EntityScores {
    /// Empty counts.
    #[must_use]
    pub fn new(scheme: Scheme) -> Self {
        Self { scheme, kinds: BTreeMap::new() }
    }

    /// Counts one sentence.
    ///
    /// # Errors
    /// If gold and prediction differ in length; give words without a prediction the tag `O`.
    pub fn add(&mut self, gold: &[&str], predicted: &[&str]) -> Result<(), ScoreError> {
        if gold.len() != predicted.len() {
            return Err(ScoreError::Unpaired { a: gold.len(), b: predicted.len() });
        }
        let wanted: BTreeSet<EntitySpan> = entities(gold, self.scheme).into_iter().collect();
        for entity in entities(predicted, self.scheme) {
            let counts = self.counts_of_kind(entity.kind);
            counts.predicted += 1;
            counts.correct += u64::from(wanted.contains(&entity));
        }
        for entity in wanted {
            self.counts_of_kind(entity.kind).gold += 1;
        }
        Ok(())
    }

    /// Returns the scores over all types with equal weight for every entity: the task's F1.
    #[must_use]
    pub fn overall(&self) -> Prf {
        let sum = |f: fn(&EntityCounts) -> u64| self.kinds.values().map(f).sum();
        Prf::from_counts(sum(|c| c.correct), sum(|c| c.predicted), sum(|c| c.gold))
    }

    fn counts_of_kind(&mut self, kind: &str) -> &mut EntityCounts {
        self.kinds.entry(kind.to_owned()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_entities(tags: &str, scheme: Scheme) -> Vec<(usize, usize, String)> {
        let tags: Vec<&str> = tags.split(' ').collect();
        let found = entities(&tags, scheme).into_iter();
        found.map(|e| (e.start, e.end, e.kind.to_owned())).collect()
    }

    #[test]
    fn well_formed_tags_mean_the_same_in_both_schemes() {
        for scheme in [Scheme::Lenient, Scheme::Strict] {
            let found = read_entities("B-PER I-PER B-PER O B-ORG-X", scheme);
            let expected = [(0, 2, "PER"), (2, 3, "PER"), (4, 5, "ORG-X")];
            assert_eq!(found, expected.map(|(s, e, k)| (s, e, k.to_owned())));
        }
    }

    #[test]
    fn a_stray_inside_tag_starts_an_entity_only_in_the_lenient_scheme() {
        let tags = "I-PER I-PER I-LOC O I-LOC";
        let lenient = [(0, 2, "PER"), (2, 3, "LOC"), (4, 5, "LOC")];
        assert_eq!(read_entities(tags, Scheme::Lenient), lenient.map(|(s, e, k)| (s, e, k.to_owned())));
        assert!(read_entities(tags, Scheme::Strict).is_empty());
        assert_eq!(read_entities("B-A I-B I-A", Scheme::Strict), [(0, 1, "A".to_owned())]);
    }

    #[test]
    fn lengths_must_agree() {
        let mut scores = EntityScores::default();
        assert!(scores.add(&["O"], &[]).is_err());
        assert_eq!(scores.overall().f1, 0.0);
    }
}
