//! The demo's texts, made by two seeded toy grammars: nothing here is real language.
//!
//! [`generate`] makes every committed file of `demo/` again byte for byte, except for the
//! pretrained weights. [`pretraining_text`] gives the text that the weights are pretrained on.

use std::collections::HashSet;

use frostline_random::Stream;

mod conllu;
mod english;
mod pidgin;
mod vocabulary;
mod words;

pub use vocabulary::vocabulary;

/// The seed of everything here.
const SEED: u64 = 2026;

/// Sentences in train, dev and test of either language.
const SPLITS: [(&str, usize); 3] = [("train", 600), ("dev", 100), ("test", 100)];

/// The shortest and the longest sentence, in words.
const LENGTH: std::ops::RangeInclusive<usize> = 6..=14;

/// The toy languages by the names of their folders.
const LANGUAGES: [(&str, Grammar); 2] = [("en", english::sentence), ("pcm", pidgin::sentence)];

type Grammar = fn(&mut words::Draw) -> words::Sentence;

/// Every file of `demo/` but the weights: path relative to `demo/`, and contents.
#[must_use]
pub fn generate() -> Vec<(String, Vec<u8>)> {
    let mut files = vec![
        ("demo-distilbert/config.json".into(), vocabulary::config_json()),
        ("demo-distilbert/tokenizer.json".into(), vocabulary::tokenizer_json()),
        ("demo-distilbert/tokenizer_config.json".into(), vocabulary::tokenizer_config_json()),
        ("demo-distilbert/vocab.txt".into(), vocabulary::vocab_txt()),
    ];
    for (lang, grammar) in LANGUAGES {
        let mut sentences = Sentences::new(lang, grammar);
        for (split, count) in SPLITS {
            let chosen: Vec<_> = sentences.by_ref().take(count).collect();
            files.push((format!("{lang}/{split}.conllu"), conllu::write(lang, split, &chosen)));
        }
    }
    files.sort();
    files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect()
}

/// Text to pretrain the demo encoder on: this many sentences of each language, in turns, each
/// sentence as one string with blanks between its words. No sentence of train, dev or test is
/// among them, and none comes twice.
#[must_use]
pub fn pretraining_text(sentences_each: usize) -> Vec<String> {
    let treebanks: usize = SPLITS.iter().map(|(_, count)| count).sum();
    let [en, pcm] = LANGUAGES.map(|(lang, grammar)| {
        Sentences::new(lang, grammar).skip(treebanks).take(sentences_each).map(|sentence| sentence.text())
    });
    en.zip(pcm).flat_map(<[String; 2]>::from).collect()
}

/// The sentences of one language in their fixed order: those of train, dev and test come first,
/// then as many as anyone asks for, none of them twice.
struct Sentences {
    stream: Stream,
    grammar: Grammar,
    tries: u64,
    seen: HashSet<String>,
}

impl Sentences {
    fn new(lang: &str, grammar: Grammar) -> Self {
        Self { stream: Stream::new(SEED, lang), grammar, tries: 0, seen: HashSet::new() }
    }
}

impl Iterator for Sentences {
    type Item = words::Sentence;

    fn next(&mut self) -> Option<words::Sentence> {
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

    #[test]
    fn a_sentence_has_one_reading() {
        // Short sentences come up again and again; whichever rules made them, their tags agree.
        for (lang, grammar) in LANGUAGES {
            let mut readings: HashMap<String, Vec<&str>> = HashMap::new();
            let mut again = 0;
            for i in 0..400_000 {
                let mut draw = words::Draw::new(Stream::new(7, lang).child(i));
                let sentence = grammar(&mut draw);
                if sentence.len() > 7 {
                    continue;
                }
                let tags: Vec<&str> = sentence.words.iter().map(|word| word.upos).collect();
                let text = sentence.text();
                match readings.get(&text) {
                    Some(seen) => {
                        assert_eq!(seen, &tags, "{lang}: {text}");
                        again += 1;
                    }
                    None => drop(readings.insert(text, tags)),
                }
            }
            println!("{lang}: {again} sentences came again");
            assert!(again > 300, "{lang}: only {again} came again, so this shows little");
        }
    }
}
