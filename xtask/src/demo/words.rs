//! The building blocks of the toy grammars, for any language: random choices, words, and a sentence
//! under construction.

use frostline_random::Stream;

/// A sequence of random choices read from one stream.
pub(super) struct Draw {
    stream: Stream,
    at: u64,
}

impl Draw {
    pub(super) const fn new(stream: Stream) -> Self {
        Self { stream, at: 0 }
    }

    fn unit(&mut self) -> f64 {
        self.at += 1;
        self.stream.unit(self.at)
    }

    /// True with this probability.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A random item, all equally likely.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[(self.unit() * items.len() as f64) as usize]
    }

    /// A random item, earlier ones more likely: a few words are frequent and most are rare.
    pub(super) fn pick_early<T: Copy>(&mut self, items: &[T]) -> T {
        let skewed = self.unit().powi(2);
        items[(skewed * items.len() as f64) as usize]
    }

    /// A random index, with probability proportional to its weight.
    pub(super) fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u32 = weights.iter().sum();
        let mut left = self.unit() * f64::from(total);
        for (i, &weight) in weights.iter().enumerate() {
            left -= f64::from(weight);
            if left < 0.0 {
                return i;
            }
        }
        weights.len() - 1
    }
}

/// One word of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) form: String,
    pub(super) lemma: String,
    pub(super) upos: &'static str,
    /// Index of its head; its own index where it is the root.
    pub(super) head: usize,
    pub(super) deprel: &'static str,
}

/// A sentence that a grammar draws.
pub(super) trait Toy {
    /// The number of its words.
    fn len(&self) -> usize;

    /// The forms, separated by spaces.
    fn text(&self) -> String;
}

/// A sentence under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct ToySentence {
    pub(super) words: Vec<Word>,
}

impl ToySentence {
    /// Adds a word and returns its index; it stays a root until it is attached.
    pub(super) fn add(&mut self, form: &str, lemma: &str, upos: &'static str) -> usize {
        let index = self.words.len();
        self.words.push(Word { form: form.into(), lemma: lemma.into(), upos, head: index, deprel: "root" });
        index
    }

    /// Adds a word whose lemma is its form.
    pub(super) fn plain(&mut self, form: &str, upos: &'static str) -> usize {
        self.add(form, form, upos)
    }

    /// Attaches a word to its head.
    pub(super) fn attach(&mut self, word: usize, head: usize, deprel: &'static str) {
        self.words[word].head = head;
        self.words[word].deprel = deprel;
    }
}

impl Toy for ToySentence {
    fn len(&self) -> usize {
        self.words.len()
    }

    fn text(&self) -> String {
        let forms: Vec<&str> = self.words.iter().map(|word| word.form.as_str()).collect();
        forms.join(" ")
    }
}

/// Words between a trigger and the word whose tag it decides: form and tag of each.
pub(super) type Phrase = &'static [(&'static str, &'static str)];

/// Adds a phrase with its last word as the head, and returns that word's index.
pub(super) fn add_phrase(sentence: &mut ToySentence, phrase: Phrase) -> usize {
    let first = sentence.len();
    for (form, upos) in phrase {
        sentence.plain(form, upos);
    }
    let last = sentence.len() - 1;
    for word in first..last {
        let deprel = match sentence.words[word].upos {
            "ADP" => "case",
            "DET" => "det",
            _ => "advmod",
        };
        sentence.attach(word, last, deprel);
    }
    last
}
