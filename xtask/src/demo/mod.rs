//! The demo's texts, made by seeded toy grammars: nothing here is real language.
//!
//! [`generate`] reproduces every committed file of `demo/` byte for byte, except for the
//! pretrained weights. [`pretraining_text`] generates the text that the weights are pretrained on.

use std::collections::HashSet;

use frostline_random::Stream;

use self::words::Toy;

mod conllu;
mod english;
mod names;
mod pidgin;
mod reviews;
mod vocabulary;
mod words;

pub use vocabulary::vocabulary;

/// The seed of everything here.
const SEED: u64 = 2026;

/// Sentences in train, dev and test of either language.
const SPLITS: [(&str, usize); 3] = [("train", 600), ("dev", 100), ("test", 100)];

/// Sentences of the entity layer, and of the labelled sentences.
const NAMES_SPLITS: [(&str, usize); 3] = [("train", 300), ("dev", 120), ("test", 120)];
const REVIEWS_SPLITS: [(&str, usize); 3] = [("train", 1200), ("dev", 200), ("test", 200)];

/// The shortest and the longest sentence, in words.
const LENGTH: std::ops::RangeInclusive<usize> = 6..=14;

/// The toy languages by the names of their folders.
const LANGUAGES: [(&str, Grammar<words::ToySentence>); 2] =
    [("en", english::sentence), ("pcm", pidgin::sentence)];

type Grammar<T> = fn(&mut words::Draw) -> T;

/// Every file of `demo/` except the weights: its path relative to `demo/`, and its contents.
#[must_use]
pub fn generate() -> Vec<(String, Vec<u8>)> {
    let mut files = vec![
        ("demo-distilbert/config.json".into(), vocabulary::config_json()),
        ("demo-distilbert/tokenizer.json".into(), vocabulary::tokenizer_json()),
        ("demo-distilbert/tokenizer_config.json".into(), vocabulary::tokenizer_config_json()),
        ("demo-distilbert/vocab.txt".into(), vocabulary::vocab_txt()),
    ];
    for (lang, grammar) in LANGUAGES {
        let texts = splits(lang, grammar, SPLITS, |split, chosen| conllu::write(lang, split, chosen));
        files.extend(texts.map(|(split, text)| (format!("{lang}/{split}.conllu"), text)));
    }
    let layer = splits("names", names::sentence, NAMES_SPLITS, names::write);
    files.extend(layer.map(|(split, text)| (format!("names/{split}.iob2"), text)));
    let reviews = splits("reviews", reviews::sentence, REVIEWS_SPLITS, |_, chosen| reviews::write(chosen));
    files.extend(reviews.map(|(split, text)| (format!("reviews/{split}.tsv"), text)));
    files.sort();
    files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect()
}

/// The text of each split; no sentence occurs twice.
fn splits<T: Toy>(
    name: &str,
    grammar: Grammar<T>,
    sizes: [(&'static str, usize); 3],
    write: impl Fn(&str, &[T]) -> String,
) -> [(&'static str, String); 3] {
    let mut sentences = Sentences::new(name, grammar);
    sizes.map(|(split, count)| {
        let chosen: Vec<T> = sentences.by_ref().take(count).collect();
        (split, write(split, &chosen))
    })
}

/// Text to pretrain the demo encoder on: this many sentences of each language, alternating, each as
/// one string with spaces between its words. It contains no sentence of train, dev or test, and no
/// sentence twice.
#[must_use]
pub fn pretraining_text(sentences_each: usize) -> Vec<String> {
    let treebanks: usize = SPLITS.iter().map(|(_, count)| count).sum();
    let [en, pcm] = LANGUAGES.map(|(lang, grammar)| {
        Sentences::new(lang, grammar).skip(treebanks).take(sentences_each).map(|sentence| sentence.text())
    });
    en.zip(pcm).flat_map(<[String; 2]>::from).collect()
}

/// The sentences of one grammar in a fixed order: first those of train, dev and test, then any
/// number of others, none of them twice.
struct Sentences<T> {
    stream: Stream,
    grammar: Grammar<T>,
    tries: u64,
    seen: HashSet<String>,
}

impl<T> Sentences<T> {
    fn new(lang: &str, grammar: Grammar<T>) -> Self {
        Self { stream: Stream::new(SEED, lang), grammar, tries: 0, seen: HashSet::new() }
    }
}

impl<T: Toy> Iterator for Sentences<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        loop {
            self.tries += 1;
            let mut draw = words::Draw::new(self.stream.child(self.tries));
            let sentence = (self.grammar)(&mut draw);
            if LENGTH.contains(&sentence.len()) && self.seen.insert(sentence.text()) {
                return Some(sentence);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Draws until many short sentences repeat, and checks that every repetition has the same reading,
    /// whichever rules generated it.
    fn one_reading<T: Toy, R: PartialEq + std::fmt::Debug>(
        name: &str,
        grammar: Grammar<T>,
        longest: usize,
        reading: impl Fn(&T) -> R,
    ) {
        let mut readings: HashMap<String, R> = HashMap::new();
        let mut again = 0;
        for i in 0..400_000 {
            let mut draw = words::Draw::new(Stream::new(7, name).child(i));
            let sentence = grammar(&mut draw);
            if sentence.len() > longest {
                continue;
            }
            let (text, found) = (sentence.text(), reading(&sentence));
            match readings.get(&text) {
                Some(seen) => {
                    assert_eq!(seen, &found, "{name}: {text}");
                    again += 1;
                }
                None => drop(readings.insert(text, found)),
            }
        }
        println!("{name}: {again} repetitions");
        assert!(again > 300, "{name}: only {again} repetitions, too few to show anything");
    }

    #[test]
    fn a_sentence_has_one_reading() {
        for (lang, grammar) in LANGUAGES {
            one_reading(lang, grammar, 7, |sentence| -> Vec<&str> {
                sentence.words.iter().map(|word| word.upos).collect()
            });
        }
        one_reading("names", names::sentence, 8, names::Named::tags);
        one_reading("reviews", reviews::sentence, 9, reviews::Review::praises);
    }
}
