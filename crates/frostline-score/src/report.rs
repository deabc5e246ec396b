//! All scores of one tagged file against gold, and the comparison of two files.
//!
//! Collects the other modules' numbers as a structure and as text. Sentences are already parsed; no
//! files are read.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::confusion::{Averages, Confusion, TagScore};
use crate::conll18::{self, Alignment, Conll18Scores, ScoredSentence, WordRow};
use crate::error::ScoreError;
use crate::interval::{Estimate, Resampling, Share, bootstrap_share, wilson};
use crate::paired::{McNemar, PairedBootstrap, paired_bootstrap, paired_permutation};
use crate::strata::{ByFamiliarity, ByLength, Lexicon};
use crate::tally::WordOutcome;

/// One tagged file against gold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaggingReport {
    /// The metrics of the CoNLL 2018 shared task.
    pub conll18: Conll18Scores,
    /// UPOS accuracy over all gold words.
    pub accuracy: Accuracy,
    /// UPOS scores per tag.
    pub tags: Vec<TagScore>,
    /// Averages over the tags.
    pub averages: Averages,
    /// The confusion matrix of the tags.
    pub confusion: Confusion,
    /// Metrics of columns that are empty in gold (`_` in every word). The text leaves them out: equal underscores are no
    /// merit of the system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub empty: Vec<String>,
    /// Accuracy by length of the gold sentence.
    pub by_length: ByLength,
    /// Accuracy by familiarity of the word; `None` without training words.
    pub by_familiarity: Option<ByFamiliarity>,
}

/// Accuracy over all gold words. A word that is segmented differently than in gold is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Gold words.
    pub words: u64,
    /// Words with the gold tag.
    pub correct: u64,
    /// Words that are not aligned with a system word.
    pub unaligned: u64,
    /// Wilson's interval, which assumes independent words.
    pub wilson: Estimate,
    /// The bootstrap interval, which resamples gold sentences.
    pub bootstrap: Estimate,
}

/// Two tagged files against the same gold, by UPOS accuracy over all gold words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// McNemar's test on words.
    pub mcnemar: McNemar,
    /// The paired bootstrap, which resamples sentences.
    pub bootstrap: PairedBootstrap,
    /// Two-sided p-value of the permutation test, which swaps sentences.
    pub permutation_p: f64,
}

impl TaggingReport {
    /// Scores `system` against `gold`; `train` has the words of the training data, if they are known.
    ///
    /// # Errors
    /// See [`conll18::evaluate`].
    ///
    /// # Panics
    /// If `resampling` has no resamples, or `confidence` is not between 0 and 1.
    pub fn new(
        gold: &[ScoredSentence],
        system: &[ScoredSentence],
        train: Option<&Lexicon>,
        resampling: &Resampling,
    ) -> Result<Self, ScoreError> {
        let evaluation = conll18::evaluate(gold, system)?;
        let tagged = AlignedTags::new(gold, system)?;
        let confusion = tagged.confusion();
        let (mut by_length, mut by_familiarity) = (ByLength::default(), ByFamiliarity::default());
        for (sentence, outcomes) in gold.iter().zip(&tagged.sentences) {
            by_length.add(outcomes);
            if let Some(lexicon) = train {
                for (row, &outcome) in sentence.words.iter().zip(outcomes) {
                    by_familiarity.add(lexicon.familiarity(row.form), outcome);
                }
            }
        }
        Ok(Self {
            conll18: evaluation,
            accuracy: accuracy_of(&evaluation, &tagged.shares(), resampling),
            tags: confusion.per_tag(),
            averages: confusion.averages(),
            confusion,
            empty: empty_metrics(gold),
            by_length,
            by_familiarity: train.map(|_| by_familiarity),
        })
    }
}

impl Comparison {
    /// Compares systems `a` and `b`.
    ///
    /// # Errors
    /// See [`conll18::evaluate`], and if gold has no sentence.
    ///
    /// # Panics
    /// If `resampling` has no resamples, or `confidence` is not between 0 and 1.
    pub fn new(
        gold: &[ScoredSentence],
        a: &[ScoredSentence],
        b: &[ScoredSentence],
        resampling: &Resampling,
    ) -> Result<Self, ScoreError> {
        let (a, b) = (AlignedTags::new(gold, a)?, AlignedTags::new(gold, b)?);
        let words = a.sentences.iter().flatten().zip(b.sentences.iter().flatten());
        Ok(Self {
            mcnemar: McNemar::from_pairs(words.map(|(a, b)| (a.is_correct(), b.is_correct()))),
            bootstrap: paired_bootstrap(&a.shares(), &b.shares(), resampling)?,
            permutation_p: paired_permutation(&a.shares(), &b.shares(), resampling)?,
        })
    }
}

fn accuracy_of(evaluation: &Conll18Scores, shares: &[Share], resampling: &Resampling) -> Accuracy {
    let (words, correct) = (evaluation.upos.gold, evaluation.upos.correct);
    Accuracy {
        words,
        correct,
        unaligned: words - evaluation.words.correct,
        wilson: wilson(correct, words, resampling.confidence),
        bootstrap: bootstrap_share(shares, resampling),
    }
}

/// Returns the names of the metrics that compare only columns that are empty in gold.
fn empty_metrics(gold: &[ScoredSentence]) -> Vec<String> {
    let is_empty = |get: for<'w> fn(&WordRow<'w>) -> &'w str| {
        gold.iter().flat_map(|s| &s.words).all(|word| get(word) == "_")
    };
    let (xpos, feats, lemma) = (is_empty(|w| w.xpos), is_empty(|w| w.feats), is_empty(|w| w.lemma));
    let found = [
        ("XPOS", xpos),
        ("UFeats", feats),
        // Only UPOS would remain of them.
        ("AllTags", xpos && feats),
        ("Lemmas", lemma),
        ("BLEX", lemma),
    ];
    found.into_iter().filter(|(_, is_empty)| *is_empty).map(|(name, _)| name.into()).collect()
}

/// The tags of both sides as indices, gold sentence by gold sentence.
struct AlignedTags<'a> {
    tags: Vec<&'a str>,
    sentences: Vec<Vec<WordOutcome>>,
    /// Tags of the system's words that are not aligned.
    spurious: Vec<usize>,
}

impl<'a> AlignedTags<'a> {
    fn new(gold: &[ScoredSentence<'a>], system: &[ScoredSentence<'a>]) -> Result<Self, ScoreError> {
        let alignment: Alignment = conll18::align(gold, system)?;
        let upos = |side: &[ScoredSentence<'a>]| -> Vec<&'a str> {
            side.iter().flat_map(|s| s.words.iter().map(|w| w.upos)).collect()
        };
        let (ours, theirs) = (upos(gold), upos(system));
        let distinct: BTreeSet<&str> = ours.iter().chain(&theirs).copied().collect();
        let tags: Vec<&str> = distinct.into_iter().collect();
        let index = |tag: &str| tags.binary_search(&tag).unwrap_or_default();
        let outcome = |word: usize| {
            let gold = Some(index(ours[word]));
            match alignment.system_of[word] {
                Some(partner) => WordOutcome::tagged(gold, index(theirs[partner])),
                None => WordOutcome::vanished(gold),
            }
        };
        let mut next = 0;
        let mut sentence = |words: usize| {
            next += words;
            (next - words..next).map(outcome).collect()
        };
        let sentences = gold.iter().map(|s| sentence(s.words.len())).collect();
        let without = (0..theirs.len()).filter(|&word| alignment.gold_of[word].is_none());
        let spurious = without.map(|word| index(theirs[word])).collect();
        Ok(Self { tags, sentences, spurious })
    }

    fn shares(&self) -> Vec<Share> {
        let share = |words: &Vec<WordOutcome>| Share {
            part: words.iter().filter(|word| word.is_correct()).count() as u64,
            whole: words.len() as u64,
        };
        self.sentences.iter().map(share).collect()
    }

    fn confusion(&self) -> Confusion {
        let mut confusion = Confusion::new(self.tags.iter().copied());
        for &word in self.sentences.iter().flatten() {
            confusion.add_outcome(word);
        }
        for &tag in &self.spurious {
            confusion.add(None, Some(tag));
        }
        confusion
    }
}

impl fmt::Display for TaggingReport {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let a = &self.accuracy;
        writeln!(f, "UPOS accuracy over all {} words: {}", a.words, Percent(&a.bootstrap))?;
        writeln!(f, "  ({} correct, {} unaligned; Wilson {})\n", a.correct, a.unaligned, Percent(&a.wilson))?;
        writeln!(f, "Metric     | Precision |    Recall |  F1 Score | AligndAcc")?;
        writeln!(f, "-----------+-----------+-----------+-----------+-----------")?;
        let is_shown = |name: &str| !self.empty.iter().any(|empty| empty == name);
        for (name, metric) in self.conll18.named().into_iter().filter(|(name, _)| is_shown(name)) {
            let (p, r, f1) = (metric.precision(), metric.recall(), metric.f1());
            write!(f, "{name:11}|{:10.2} |{:10.2} |{:10.2} |", 100.0 * p, 100.0 * r, 100.0 * f1)?;
            match metric.aligned_accuracy() {
                Some(accuracy) => writeln!(f, "{:10.2}", 100.0 * accuracy)?,
                None => writeln!(f)?,
            }
        }
        if !self.empty.is_empty() {
            writeln!(f, "Not shown, since gold has nothing in their columns: {}", self.empty.join(", "))?;
        }
        self.tag_table(f)?;
        self.strata_table(f)
    }
}

impl TaggingReport {
    fn tag_table(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "\nTag        | Precision |    Recall |  F1 Score |   Support")?;
        writeln!(f, "-----------+-----------+-----------+-----------+-----------")?;
        let averages = [("macro", &self.averages.macro_avg), ("weighted", &self.averages.weighted)];
        let tags = self.tags.iter().map(|t| (t.tag.as_str(), &t.prf, t.support));
        for (name, s, support) in tags.chain(averages.map(|(n, s)| (n, s, self.accuracy.words))) {
            let (p, r, f1) = (100.0 * s.precision, 100.0 * s.recall, 100.0 * s.f1);
            writeln!(f, "{name:11}|{p:10.2} |{r:10.2} |{f1:10.2} |{support:10}")?;
        }
        for (gold, predicted, words) in self.confusion.worst(5) {
            writeln!(f, "{gold} tagged as {predicted}: {words}")?;
        }
        Ok(())
    }

    fn strata_table(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "\nWords      |    Number |  Accuracy")?;
        writeln!(f, "-----------+-----------+-----------")?;
        let mut rows = Vec::new();
        if let Some(by) = &self.by_familiarity {
            rows.push(("known".to_owned(), by.known));
            rows.push(("unknown".to_owned(), by.unknown));
            rows.push(("ambiguous".to_owned(), by.ambiguous));
            rows.push(("unambiguous".to_owned(), by.unambiguous));
        }
        for bucket in &self.by_length.buckets {
            let most = bucket.max_words.map(|most| format!("-{most}"));
            rows.push((
                format!("{}{}", bucket.min_words.max(1), most.as_deref().unwrap_or("+")),
                bucket.tally,
            ));
        }
        for (name, tally) in rows.iter().filter(|(_, tally)| tally.words > 0) {
            writeln!(f, "{name:11}|{:10} |{:10.2}", tally.words, 100.0 * tally.accuracy_all_words())?;
        }
        Ok(())
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (b, m) = (&self.bootstrap, &self.mcnemar);
        writeln!(f, "A {:.2} %, B {:.2} %; A - B {}", 100.0 * b.a, 100.0 * b.b, Percent(&b.difference))?;
        writeln!(f, "A ahead in {:.1} % of resamples", 100.0 * b.a_ahead)?;
        writeln!(f, "p = {:.4} (paired bootstrap by sentence)", b.p_value)?;
        writeln!(f, "p = {:.4} (sentences swapped at random)", self.permutation_p)?;
        writeln!(
            f,
            "p = {:.4} (McNemar, exact; only A correct: {}, only B: {})",
            m.exact_p, m.only_a, m.only_b
        )
    }
}

/// An estimate in percent with its limits.
struct Percent<'a>(&'a Estimate);

impl fmt::Display for Percent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Estimate { value, low, high } = *self.0;
        write!(f, "{:.2} % [{:.2}, {:.2}]", 100.0 * value, 100.0 * low, 100.0 * high)
    }
}
