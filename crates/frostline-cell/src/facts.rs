//! What a task's data are, before anything is learned: counts for the record, and what train knows of
//! a word.
//!
//! Owns which words count as spelled alike: those that are after lowercasing, where the settings ask
//! for it. What a tokenizer itself makes of case is not looked at. Refuses tensors.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, Result};
use frostline_align::{Aligned, Aligner, lowercase};
use frostline_record::{Forms, SplitFacts, TaskFacts, TaskSettings, Unit};
use frostline_score::{Familiarity, Lexicon};
use rayon::prelude::*;

use crate::corpus::{Labelled, Splits};

/// What train knows: its words, each with one tag or several, and its sentences.
pub struct Known {
    unit: Unit,
    lowercase: bool,
    lexicon: Lexicon,
    sentences: HashSet<String>,
    /// Train sentences that an earlier one equals.
    repeats: u64,
}

impl Known {
    /// What there is to know of these train sentences.
    #[must_use]
    pub fn of(train: &[Labelled<'_>], task: &TaskSettings, lowercase: bool) -> Self {
        let mut known = Self {
            unit: task.unit(),
            lowercase,
            lexicon: Lexicon::default(),
            sentences: HashSet::new(),
            repeats: 0,
        };
        known.lexicon = Lexicon::new(train.iter().flat_map(|sentence| known.forms(sentence)));
        for sentence in train {
            if !known.sentences.insert(known.text(sentence)) {
                known.repeats += 1;
            }
        }
        known
    }

    /// What train says of a word.
    #[must_use]
    pub fn familiarity(&self, form: &str) -> Familiarity {
        self.lexicon.familiarity(&self.seen(form))
    }

    /// What a task's record says of its data; `tags` is its tag set.
    ///
    /// # Errors
    /// Where a sentence cannot be aligned.
    pub fn facts(&self, splits: &Splits<'_>, aligner: &Aligner, tags: &[String]) -> Result<TaskFacts> {
        let of = |split: &str, sentences: &[Labelled<'_>]| {
            self.split(sentences, aligner).with_context(|| format!("the {split} split"))
        };
        let mut train = of("train", &splits.train)?;
        train.repeated = self.repeats;
        Ok(TaskFacts {
            unit: self.unit,
            tags: tags.to_vec(),
            train,
            dev: of("dev", &splits.dev)?,
            test: splits.test.as_deref().map(|test| of("test", test)).transpose()?,
        })
    }

    fn split(&self, sentences: &[Labelled<'_>], aligner: &Aligner) -> Result<SplitFacts> {
        let aligned = sentences.par_iter().map(|sentence| Ok(aligner.align(&sentence.tagged.words)?));
        let aligned = aligned.collect::<Result<Vec<Aligned>>>()?;
        let mut facts = SplitFacts { sentences: sentences.len() as u64, ..SplitFacts::default() };
        for (sentence, aligned) in sentences.iter().zip(&aligned) {
            self.spell(sentence, aligned, &mut facts);
            facts.repeated += u64::from(self.sentences.contains(&self.text(sentence)));
        }
        facts.tags = tags(sentences);
        facts.words = facts.tags.values().sum();
        facts.forms = self.count(sentences);
        Ok(facts)
    }

    /// Counts a sentence's subwords, and the labelled words that none speaks for.
    fn spell(&self, sentence: &Labelled<'_>, aligned: &Aligned, facts: &mut SplitFacts) {
        facts.subwords += aligned.ids.len() as u64;
        let mut last = None;
        for &word in aligned.word_ids.iter().flatten() {
            facts.spelled.subwords += 1;
            facts.spelled.words += u64::from(last.replace(word) != Some(word));
        }
        if self.unit == Unit::Words {
            let labelled = |&&word: &&u32| sentence.tagged.tags[word as usize] != "_";
            facts.truncated += aligned.truncated.iter().filter(labelled).count() as u64;
            facts.vanished += aligned.vanished.iter().filter(labelled).count() as u64;
        }
    }

    fn count(&self, sentences: &[Labelled<'_>]) -> Forms {
        let mut counts = Forms::default();
        let mut types = HashSet::new();
        for (form, _) in sentences.iter().flat_map(|sentence| self.forms(sentence)) {
            let [unknown, ambiguous] = [Familiarity::Unknown, Familiarity::Ambiguous]
                .map(|kind| self.lexicon.familiarity(&form) == kind);
            counts.words += 1;
            counts.unknown_words += u64::from(unknown);
            counts.ambiguous_words += u64::from(ambiguous);
            if types.insert(form) {
                counts.types += 1;
                counts.unknown_types += u64::from(unknown);
                counts.ambiguous_types += u64::from(ambiguous);
            }
        }
        counts
    }

    /// A sentence's forms that count, with their tags: those of labelled words, or where the sentence is
    /// labelled those of all words, whose tags are empty.
    fn forms<'a>(&self, sentence: &'a Labelled<'_>) -> impl Iterator<Item = (Cow<'a, str>, &'a str)> {
        let (whole, lower) = (self.unit == Unit::Sentences, self.lowercase);
        let tagged = &sentence.tagged;
        tagged.words.iter().enumerate().filter_map(move |(at, &word)| {
            let tag = if whole { "" } else { tagged.tags[at] };
            (tag != "_").then(|| (spelled(word, lower), tag))
        })
    }

    fn seen<'a>(&self, form: &'a str) -> Cow<'a, str> {
        spelled(form, self.lowercase)
    }

    /// A sentence's words as one text; no word has a line's end in it.
    fn text(&self, sentence: &Labelled<'_>) -> String {
        sentence.tagged.words.iter().map(|word| self.seen(word)).collect::<Vec<_>>().join("\n")
    }
}

fn spelled(form: &str, lower: bool) -> Cow<'_, str> {
    if lower { lowercase(form) } else { Cow::Borrowed(form) }
}

fn tags(sentences: &[Labelled<'_>]) -> BTreeMap<String, u64> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for tag in sentences.iter().flat_map(|sentence| &sentence.tagged.tags).filter(|tag| **tag != "_") {
        *counts.entry(tag).or_default() += 1;
    }
    counts.into_iter().map(|(tag, count)| (tag.to_string(), count)).collect()
}
