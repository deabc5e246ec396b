//! Named entities over the English-like toy, as an IOB2 layer: people (`PER`) and places (`LOC`).
//!
//! Context decides the tag: a name on its own is a person, but the start of a place before a noun
//! such as *valley*; *will* is a name or an auxiliary; *riverside* is a place without a determiner
//! and a thing with one. A title before a name is not part of it.

use std::fmt::Write as _;

use super::english::{self, ADPOSITIONS, NAMES, NOUNS};
use super::words::{Draw, Toy};

/// Nouns that turn a preceding name into a place.
const PLACES: &[&str] = &["valley", "harbor", "island", "bridge", "castle", "village"];
/// Suffixes that turn a noun into the name of a place.
const PLACE_SUFFIXES: &[&str] = &["side", "land"];
const TITLES: &[&str] = &["captain", "doctor", "shepherd"];

/// Words with their tags.
pub(super) struct Named {
    words: Vec<(String, &'static str)>,
}

impl Toy for Named {
    fn len(&self) -> usize {
        self.words.len()
    }

    fn text(&self) -> String {
        let forms: Vec<&str> = self.words.iter().map(|(form, _)| form.as_str()).collect();
        forms.join(" ")
    }
}

#[cfg(test)]
impl Named {
    /// The tags.
    pub(super) fn tags(&self) -> Vec<&'static str> {
        self.words.iter().map(|(_, tag)| *tag).collect()
    }
}

/// Draws a sentence; one in ten has no name.
pub(super) fn sentence(draw: &mut Draw) -> Named {
    let nameless = draw.chance(0.1);
    loop {
        let named = attempt(draw);
        if named.words.iter().all(|(_, tag)| *tag == "O") == nameless {
            return named;
        }
    }
}

/// A sentence of the English-like toy in which names replace some noun phrases.
fn attempt(draw: &mut Draw) -> Named {
    let toy = english::sentence(draw);
    let mut named = Named { words: Vec::new() };
    let mut at = 0;
    while at < toy.len() {
        let word = &toy.words[at];
        let noun = &toy.words[word.head];
        let before = at.checked_sub(1).map_or("", |at| toy.words[at].form.as_str());
        at = match (word.deprel, word.upos) {
            ("nsubj", "PROPN") => {
                person(&mut named, draw);
                at + 1
            }
            ("nsubj", "PRON") if ["she", "he"].contains(&&*word.form) && draw.chance(0.5) => {
                person(&mut named, draw);
                at + 1
            }
            ("det" | "nummod", _) if noun.deprel == "obj" && draw.chance(0.75) => {
                if draw.chance(0.5) {
                    person(&mut named, draw)
                } else {
                    place(&mut named, draw)
                }
                word.head + 1
            }
            ("det" | "nummod", _) if ADPOSITIONS.contains(&before) && draw.chance(0.75) => {
                // `with` is followed by people, the others mostly by places.
                let people = if before == "with" { 1.0 } else { 0.3 };
                if draw.chance(people) {
                    person(&mut named, draw)
                } else {
                    place(&mut named, draw)
                }
                word.head + 1
            }
            ("obl", _) if before == "to" && draw.chance(0.5) => {
                place(&mut named, draw);
                at + 1
            }
            _ => {
                named.words.push((word.form.clone(), "O"));
                at + 1
            }
        };
    }
    named
}

/// *anna*, *captain anna* or *anna frank*.
fn person(named: &mut Named, draw: &mut Draw) {
    let kind = draw.weighted(&[60, 20, 20]);
    if kind == 1 {
        named.words.push((draw.pick(TITLES).into(), "O"));
    }
    named.words.push((draw.pick_early(NAMES).into(), "B-PER"));
    if kind == 2 {
        // `will` as a second name would be an auxiliary after the first.
        let second = draw.pick(&NAMES.iter().copied().filter(|name| *name != "will").collect::<Vec<_>>());
        named.words.push((second.into(), "I-PER"));
    }
}

/// *rose valley* or *riverside*.
fn place(named: &mut Named, draw: &mut Draw) {
    if draw.chance(0.6) {
        named.words.push((draw.pick(NAMES).into(), "B-LOC"));
        named.words.push((draw.pick(PLACES).into(), "I-LOC"));
    } else {
        named.words.push((format!("{}{}", draw.pick(NOUNS), draw.pick(PLACE_SUFFIXES)), "B-LOC"));
    }
}

/// A layer: sentence after sentence.
pub(super) fn write(split: &str, sentences: &[Named]) -> String {
    let mut text = String::from("# note = synthetic: made by a seeded toy grammar, not real language\n");
    for (number, sentence) in sentences.iter().enumerate() {
        let _ = writeln!(text, "# sent_id = synthetic-names-{split}-{}", number + 1);
        for (i, (form, tag)) in sentence.words.iter().enumerate() {
            let _ = writeln!(text, "{}\t{form}\t{tag}", i + 1);
        }
        text.push('\n');
    }
    text
}
