//! Labelled toy sentences: praise is `1`, blame is `0`.
//!
//! No single word determines the label. The adjective after the copula does, reversed by *not* or
//! *never* between the two. If two clauses disagree, the second one decides after *but* and the first
//! one before *while*. Adjectives before a noun are of either polarity and do not count. Adjectives in
//! *-ful* are positive and those in *-less* negative, whatever noun they are derived from.

use std::fmt::Write as _;

use super::english::{COPULAS, DEGREES, NAMES, NOUNS};
use super::words::{Draw, Toy};

const PRAISE: &[&str] = &["bright", "gentle", "quiet", "brave", "clean", "warm"];
const BLAME: &[&str] = &["bitter", "hollow", "crooked", "narrow", "heavy", "loud"];

/// Phrases that reverse an adjective, and phrases that do not.
const NEGATIONS: &[&str] = &["never", "not yet", "never again"];
const PADDINGS: &[&str] = &["still", "almost always", "once again", "by now", "as ever"];
const TAILS: &[&str] = &["today", "here", "all winter", "at night"];

/// A sentence and whether it praises.
pub(super) struct Review {
    words: Vec<String>,
    praises: bool,
}

impl Toy for Review {
    fn len(&self) -> usize {
        self.words.len()
    }

    fn text(&self) -> String {
        self.words.join(" ")
    }
}

#[cfg(test)]
impl Review {
    /// Whether it praises.
    pub(super) const fn praises(&self) -> bool {
        self.praises
    }
}

/// Draws one sentence of any length.
pub(super) fn sentence(draw: &mut Draw) -> Review {
    let praises = draw.chance(0.5);
    let mut words = Vec::new();
    match draw.weighted(&[90, 7, 3]) {
        0 => clause(&mut words, draw, praises),
        1 => {
            clause(&mut words, draw, !praises);
            words.push("but".into());
            clause(&mut words, draw, praises);
        }
        _ => {
            clause(&mut words, draw, praises);
            words.push("while".into());
            clause(&mut words, draw, !praises);
        }
    }
    words.push(if draw.chance(0.1) { "!" } else { "." }.into());
    Review { words, praises }
}

/// The lines of a file.
pub(super) fn write(reviews: &[Review]) -> String {
    let mut text = String::new();
    for review in reviews {
        let _ = writeln!(text, "{}\t{}", review.text(), u8::from(review.praises));
    }
    text
}

/// A clause that praises or blames.
fn clause(words: &mut Vec<String>, draw: &mut Draw, praises: bool) {
    let plural = subject(words, draw);
    let (_, singular, past) = COPULAS[usize::from(draw.chance(0.3)) * 2];
    words.push(match (past, plural, draw.chance(0.4)) {
        ("was", true, true) => "were".into(),
        ("was", true, false) => "are".into(),
        (_, _, true) => past.into(),
        (_, true, false) => "seem".into(),
        (_, false, false) => singular.into(),
    });
    let negated = draw.chance(0.2);
    if negated {
        add(words, draw.pick(NEGATIONS));
    } else if draw.chance(0.5) {
        add(words, draw.pick(PADDINGS));
    }
    if draw.chance(0.4) {
        words.push(draw.pick(DEGREES).into());
    }
    words.push(adjective(draw, praises != negated));
    if draw.chance(0.2) {
        add(words, draw.pick(TAILS));
    }
}

/// A subject; returns whether it is plural.
fn subject(words: &mut Vec<String>, draw: &mut Draw) -> bool {
    match draw.weighted(&[75, 15, 10]) {
        0 => {
            let plural = draw.chance(0.3);
            let determiners: &[&str] = if plural { &["the", "two", "some"] } else { &["the", "this", "a"] };
            words.push(draw.pick(determiners).into());
            if draw.chance(0.06) {
                let side = draw.chance(0.5);
                words.push(adjective(draw, side));
            }
            let noun = draw.pick_early(NOUNS);
            words.push(if plural { format!("{noun}s") } else { noun.into() });
            plural
        }
        1 => {
            words.push(draw.pick_early(NAMES).into());
            false
        }
        _ => {
            let (form, plural) = draw.pick(&[("she", false), ("he", false), ("it", false), ("they", true)]);
            words.push(form.into());
            plural
        }
    }
}

/// An adjective of one side.
fn adjective(draw: &mut Draw, praises: bool) -> String {
    if draw.chance(0.2) {
        return format!("{}{}", draw.pick(NOUNS), if praises { "ful" } else { "less" });
    }
    draw.pick(if praises { PRAISE } else { BLAME }).into()
}

fn add(words: &mut Vec<String>, phrase: &str) {
    words.extend(phrase.split(' ').map(String::from));
}
