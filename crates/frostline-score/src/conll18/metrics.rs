//! The thirteen metrics of aligned words.
//!
//! Defines when a word is correct under each metric. If a head is missing, the five syntactic metrics
//! are omitted.

use serde::{Deserialize, Serialize};

use super::align::Alignment;
use super::corpus::{CharSpan, Corpus, CorpusWord, Parent, is_content};

/// Counts of one metric. Its ratios are serialised as well, and ignored when deserialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "WrittenMetric")]
pub struct Metric {
    /// Units on which gold and system agree.
    pub correct: u64,
    /// Units in gold.
    pub gold: u64,
    /// Units in the system's output.
    pub system: u64,
    /// Gold units aligned with a system unit; `None` if the metric measures alignment itself.
    pub aligned: Option<u64>,
}

impl Metric {
    /// Correct over system; 0 if the system has no units.
    #[must_use]
    pub fn precision(&self) -> f64 {
        ratio_or_zero(self.correct, self.system)
    }

    /// Correct over gold; 0 if gold has no units.
    #[must_use]
    pub fn recall(&self) -> f64 {
        ratio_or_zero(self.correct, self.gold)
    }

    /// Harmonic mean of precision and recall; 0 if neither side has units.
    #[must_use]
    pub fn f1(&self) -> f64 {
        ratio_or_zero(2 * self.correct, self.gold + self.system)
    }

    /// Correct over aligned; 0 if nothing is aligned.
    #[must_use]
    pub fn aligned_accuracy(&self) -> Option<f64> {
        self.aligned.map(|aligned| ratio_or_zero(self.correct, aligned))
    }
}

/// A [`Metric`] as it is serialised.
#[derive(Serialize)]
struct WrittenMetric {
    correct: u64,
    gold: u64,
    system: u64,
    aligned: Option<u64>,
    precision: f64,
    recall: f64,
    f1: f64,
    aligned_accuracy: Option<f64>,
}

impl From<Metric> for WrittenMetric {
    fn from(metric: Metric) -> Self {
        Self {
            correct: metric.correct,
            gold: metric.gold,
            system: metric.system,
            aligned: metric.aligned,
            precision: metric.precision(),
            recall: metric.recall(),
            f1: metric.f1(),
            aligned_accuracy: metric.aligned_accuracy(),
        }
    }
}

/// The metrics that need heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Syntax {
    /// Unlabelled attachment: the head is correct.
    #[serde(rename = "UAS")]
    pub uas: Metric,
    /// Labelled attachment: head and relation (without subtype) are correct.
    #[serde(rename = "LAS")]
    pub las: Metric,
    /// LAS over content words.
    #[serde(rename = "CLAS")]
    pub clas: Metric,
    /// CLAS, and also the tag and features of the word and of its function words are correct.
    #[serde(rename = "MLAS")]
    pub mlas: Metric,
    /// CLAS, and also the lemma is correct.
    #[serde(rename = "BLEX")]
    pub blex: Metric,
}

/// All metrics of one system, serialised under the official names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Conll18Scores {
    /// Tokens with the same characters.
    #[serde(rename = "Tokens")]
    pub tokens: Metric,
    /// Sentences with the same characters.
    #[serde(rename = "Sentences")]
    pub sentences: Metric,
    /// Words that are aligned.
    #[serde(rename = "Words")]
    pub words: Metric,
    /// UPOS.
    #[serde(rename = "UPOS")]
    pub upos: Metric,
    /// XPOS.
    #[serde(rename = "XPOS")]
    pub xpos: Metric,
    /// Universal features.
    #[serde(rename = "UFeats")]
    pub ufeats: Metric,
    /// UPOS, XPOS and universal features.
    #[serde(rename = "AllTags")]
    pub all_tags: Metric,
    /// Lemmas, if gold has one.
    #[serde(rename = "Lemmas")]
    pub lemmas: Metric,
    /// The syntactic metrics; `None` if a word on either side has no head.
    #[serde(flatten)]
    pub syntax: Option<Syntax>,
}

impl Conll18Scores {
    /// Returns the metrics under the official scorer's names and in its order.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, Metric)> {
        let mut named = vec![
            ("Tokens", self.tokens),
            ("Sentences", self.sentences),
            ("Words", self.words),
            ("UPOS", self.upos),
            ("XPOS", self.xpos),
            ("UFeats", self.ufeats),
            ("AllTags", self.all_tags),
            ("Lemmas", self.lemmas),
        ];
        if let Some(syntax) = self.syntax {
            named.extend([
                ("UAS", syntax.uas),
                ("LAS", syntax.las),
                ("CLAS", syntax.clas),
                ("MLAS", syntax.mlas),
                ("BLEX", syntax.blex),
            ]);
        }
        named
    }
}

pub fn measure(gold: &Corpus, system: &Corpus, alignment: &Alignment) -> Conll18Scores {
    let paired = Paired { gold, system, alignment };
    let feats = |g: &CorpusWord, s: &CorpusWord| g.feats == s.feats;
    let upos = |g: &CorpusWord, s: &CorpusWord| g.row.upos == s.row.upos;
    let xpos = |g: &CorpusWord, s: &CorpusWord| g.row.xpos == s.row.xpos;
    let syntax = gold.has_syntax() && system.has_syntax();
    Conll18Scores {
        tokens: count_spans(&gold.tokens, &system.tokens),
        sentences: count_spans(&gold.sentences, &system.sentences),
        words: Metric { aligned: None, ..paired.count_words(|_| true, |_, _| true) },
        upos: paired.count_words(|_| true, upos),
        xpos: paired.count_words(|_| true, xpos),
        ufeats: paired.count_words(|_| true, feats),
        all_tags: paired.count_words(|_| true, |g, s| upos(g, s) && xpos(g, s) && feats(g, s)),
        lemmas: paired.count_words(|_| true, same_lemma),
        syntax: syntax.then(|| paired.syntax_metrics()),
    }
}

struct Paired<'a> {
    gold: &'a Corpus<'a>,
    system: &'a Corpus<'a>,
    alignment: &'a Alignment,
}

impl Paired<'_> {
    /// Counts the words selected by `counts`, and the aligned pairs among them that are `correct`.
    fn count_words(
        &self,
        counts: impl Fn(&CorpusWord) -> bool,
        correct: impl Fn(&CorpusWord, &CorpusWord) -> bool,
    ) -> Metric {
        let all = |words: &[CorpusWord]| words.iter().filter(|word| counts(word)).count() as u64;
        let mut metric = Metric {
            correct: 0,
            gold: all(&self.gold.words),
            system: all(&self.system.words),
            aligned: Some(0),
        };
        let mut aligned = 0;
        for &(g, s) in &self.alignment.pairs {
            let (g, s) = (&self.gold.words[g], &self.system.words[s]);
            // The gold word alone decides whether a pair counts.
            if counts(g) {
                aligned += 1;
                metric.correct += u64::from(correct(g, s));
            }
        }
        metric.aligned = Some(aligned);
        metric
    }

    fn syntax_metrics(&self) -> Syntax {
        let content = |word: &CorpusWord| is_content(word.deprel);
        let uas = |g: &CorpusWord, s: &CorpusWord| self.same_parent(g.parent, s.parent);
        let las = |g: &CorpusWord, s: &CorpusWord| uas(g, s) && g.deprel == s.deprel;
        Syntax {
            uas: self.count_words(|_| true, uas),
            las: self.count_words(|_| true, las),
            clas: self.count_words(content, las),
            mlas: self.count_words(content, |g, s| {
                las(g, s) && same_morphology(g, s) && self.same_function_words(g, s)
            }),
            blex: self.count_words(content, |g, s| las(g, s) && same_lemma(g, s)),
        }
    }

    /// Returns whether two heads match. A system head that is not aligned matches neither a gold head nor the
    /// root.
    fn same_parent(&self, gold: Parent, system: Parent) -> bool {
        match (gold, system) {
            (Parent::Root, Parent::Root) => true,
            (Parent::Word(g), Parent::Word(s)) => self.alignment.gold_of[s] == Some(g),
            _ => false,
        }
    }

    fn same_function_words(&self, gold: &CorpusWord, system: &CorpusWord) -> bool {
        let same = |(&g, &s): (&usize, &usize)| {
            let (ours, theirs) = (&self.gold.words[g], &self.system.words[s]);
            self.alignment.gold_of[s] == Some(g)
                && ours.deprel == theirs.deprel
                && same_morphology(ours, theirs)
        };
        gold.functional.len() == system.functional.len()
            && gold.functional.iter().zip(&system.functional).all(same)
    }
}

fn same_morphology(gold: &CorpusWord, system: &CorpusWord) -> bool {
    gold.row.upos == system.row.upos && gold.feats == system.feats
}

/// Returns whether the lemmas match; any lemma matches a gold lemma of `_`.
fn same_lemma(gold: &CorpusWord, system: &CorpusWord) -> bool {
    gold.row.lemma == "_" || gold.row.lemma == system.row.lemma
}

/// Counts the spans that occur on both sides; both lists ascend without overlap.
fn count_spans(gold: &[CharSpan], system: &[CharSpan]) -> Metric {
    let (mut g, mut s, mut correct) = (0, 0, 0);
    while g < gold.len() && s < system.len() {
        correct += u64::from(gold[g] == system[s]);
        let (ours, theirs) = (gold[g].end, system[s].end);
        g += usize::from(ours <= theirs);
        s += usize::from(theirs <= ours);
    }
    Metric { correct, gold: gold.len() as u64, system: system.len() as u64, aligned: None }
}

fn ratio_or_zero(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
