//! Facts about a task's data, before training: counts for the record, and each word's familiarity.
//!
//! Two words have the same form if they are spelled alike, after lowercasing if the settings require it. The
//! tokenizer's own treatment of case is ignored.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use anyhow::Result;
use frostline_align::{Aligned, lowercase};
use frostline_record::{Cell, CellFacts, Forms, Overlap, SplitFacts, TaskFacts, TaskSettings, Unit};
use frostline_score::{Familiarity, Lexicon};

use crate::aligned::{AlignedSplit, AlignedTask};
use crate::corpora::{self, Corpora};
use crate::document::Labelled;

/// Returns facts about the data of each kind of cell, as in a record. Only the encoder's tokenizer is read.
///
/// # Errors
/// Where a file cannot be read, has a fault or has changed, or a sentence cannot be aligned.
pub(crate) fn of_cells(cells: &[Cell], corpora: &mut Corpora) -> Result<Vec<CellFacts>> {
    let (mut seen, mut all) = (HashSet::new(), Vec::new());
    for cell in cells {
        if !seen.insert(corpora::data_key(cell, false)?) {
            continue;
        }
        all.push(of_cell(cell, corpora)?);
    }
    Ok(all)
}

/// Returns facts about the data of one cell.
///
/// # Errors
/// If an input cannot be read, or has no labels of a task.
pub(crate) fn of_cell(cell: &Cell, corpora: &mut Corpora) -> Result<CellFacts> {
    let data = &cell.settings.data;
    let aligner = corpora.aligner(&cell.inputs, data)?;
    let mut tasks = BTreeMap::new();
    for task in corpora.tasks(cell)? {
        let aligned = corpora.align(&task, &aligner)?;
        let known = Known::of(&aligned.train.sentences, &task.settings, data.lowercase);
        tasks.insert(task.name.to_string(), known.facts(&aligned, &task.tags));
    }
    Ok(CellFacts { cell: cell.id.clone(), tasks })
}

/// The words of train, each with one tag or several, and the sentences of train.
pub(crate) struct Known {
    unit: Unit,
    lowercase: bool,
    lexicon: Lexicon,
    sentences: HashSet<String>,
    /// Train sentences that an earlier one equals.
    repeats: u64,
    /// The train sentences without case and punctuation.
    bare: HashSet<String>,
}

impl Known {
    /// Collects the words and sentences of train.
    #[must_use]
    pub fn of(train: &[Labelled<'_>], task: &TaskSettings, lowercase: bool) -> Self {
        let mut known = Self {
            unit: task.unit(),
            lowercase,
            lexicon: Lexicon::default(),
            sentences: HashSet::new(),
            repeats: 0,
            bare: bare_texts(train),
        };
        known.lexicon = Lexicon::new(train.iter().flat_map(|sentence| known.forms(sentence)));
        for sentence in train {
            if !known.sentences.insert(known.text(sentence)) {
                known.repeats += 1;
            }
        }
        known
    }

    /// Returns the familiarity of a word.
    #[must_use]
    pub fn familiarity(&self, form: &str) -> Familiarity {
        self.lexicon.familiarity(&self.seen(form))
    }

    /// Returns the facts about a task's data for its record; `tags` is its tag set.
    #[must_use]
    pub fn facts(&self, task: &AlignedTask<'_>, tags: &[String]) -> TaskFacts {
        let mut train = self.split(&task.train);
        train.repeated = self.repeats;
        let scored = |split: &AlignedSplit<'_>| SplitFacts {
            like_train: Some(self.overlap(split, &self.bare)),
            ..self.split(split)
        };
        let test = task.test.as_ref().map(|test| {
            let dev = bare_texts(&task.dev.sentences);
            SplitFacts { like_dev: Some(self.overlap(test, &dev)), ..scored(test) }
        });
        TaskFacts { unit: self.unit, tags: tags.to_vec(), train, dev: scored(&task.dev), test }
    }

    fn split(&self, split: &AlignedSplit<'_>) -> SplitFacts {
        let sentences = &split.sentences;
        let mut facts = SplitFacts { sentences: sentences.len() as u64, ..SplitFacts::default() };
        for (sentence, aligned) in sentences.iter().zip(&split.aligned) {
            self.spell(sentence, aligned, &mut facts);
            facts.repeated += u64::from(self.sentences.contains(&self.text(sentence)));
            facts.unlabelled += u64::from(sentence.tagged.tags.iter().all(|tag| *tag == "_"));
            facts.blank += self.forms(sentence).filter(|(form, _)| form == "_").count() as u64;
        }
        facts.tags = count_tags(sentences);
        facts.words = facts.tags.values().sum();
        facts.forms = self.count(sentences);
        facts
    }

    /// Counts the sentences of a split that are among others, but for case and punctuation.
    fn overlap(&self, split: &AlignedSplit<'_>, others: &HashSet<String>) -> Overlap {
        let mut found = Overlap::default();
        let is_there =
            |sentence: &&Labelled<'_>| bare_text(sentence).is_some_and(|bare| others.contains(&bare));
        for sentence in split.sentences.iter().filter(is_there) {
            found.sentences += 1;
            found.words += self.forms(sentence).count() as u64;
        }
        found
    }

    /// Counts a sentence's subwords, and the labelled words without a label position.
    fn spell(&self, sentence: &Labelled<'_>, aligned: &Aligned, facts: &mut SplitFacts) {
        let uncut = aligned.ids.len() as u64 + u64::from(aligned.cut);
        facts.subwords += aligned.ids.len() as u64;
        facts.longest = facts.longest.max(uncut);
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

    /// Returns a sentence's counted forms with their tags: of labelled words or, if the sentence is labelled,
    /// of all words with empty tags.
    fn forms<'a>(&self, sentence: &'a Labelled<'_>) -> impl Iterator<Item = (Cow<'a, str>, &'a str)> {
        let (whole, lower) = (self.unit == Unit::Sentences, self.lowercase);
        let tagged = &sentence.tagged;
        tagged.words.iter().enumerate().filter_map(move |(at, &word)| {
            let tag = if whole { "" } else { tagged.tags[at] };
            (tag != "_").then(|| (spell_form(word, lower), tag))
        })
    }

    fn seen<'a>(&self, form: &'a str) -> Cow<'a, str> {
        spell_form(form, self.lowercase)
    }

    /// Returns a sentence's words as one text; no word has a line's end in it.
    fn text(&self, sentence: &Labelled<'_>) -> String {
        sentence.tagged.words.iter().map(|word| self.seen(word)).collect::<Vec<_>>().join("\n")
    }
}

fn bare_texts(sentences: &[Labelled<'_>]) -> HashSet<String> {
    sentences.iter().filter_map(bare_text).collect()
}

/// Returns a sentence's letters and digits in lower case, word by word. A sentence without any is returned
/// unchanged. Returns `None` if most forms are `_`: then the file comes without its text, and equal sentences
/// cannot be found.
fn bare_text(sentence: &Labelled<'_>) -> Option<String> {
    let words = &sentence.tagged.words;
    if 2 * words.iter().filter(|word| **word == "_").count() > words.len() {
        return None;
    }
    let bare = |word: &&str| word.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
    let bare: Vec<String> = words.iter().map(bare).filter(|word| !word.is_empty()).collect();
    Some(if bare.is_empty() { words.join("\n") } else { bare.join("\n") })
}

fn spell_form(form: &str, lower: bool) -> Cow<'_, str> {
    if lower { lowercase(form) } else { Cow::Borrowed(form) }
}

fn count_tags(sentences: &[Labelled<'_>]) -> BTreeMap<String, u64> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for tag in sentences.iter().flat_map(|sentence| &sentence.tagged.tags).filter(|tag| **tag != "_") {
        *counts.entry(tag).or_default() += 1;
    }
    counts.into_iter().map(|(tag, count)| (tag.to_string(), count)).collect()
}

#[cfg(test)]
mod tests;
