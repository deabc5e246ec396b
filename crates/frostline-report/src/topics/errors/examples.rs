//! Sentences in which two policies differ. No word of a treebank becomes Markdown.

use crate::keys;
use crate::number::plural;
use crate::page::Page;
use crate::study::Study;
use crate::topics::errors::versus::{DifferingSentence, ShownWord, Versus};

/// The sentences of every comparison that has some.
pub(super) fn list_examples(study: &Study, all: &[&Versus], page: &mut Page) {
    if all.is_empty() {
        return;
    }
    page.section(3, "Sentences in which they differ");
    page.paragraph(
        "For each policy's first seed, the dev sentences with the most words that got another tag than from \
         `none`; of equal ones those that come first. Every word is followed by its gold tag. If the two \
         differ, the word is bold and both tags follow, `none` first.",
    );
    for versus in all {
        let title = format!("{}, seed {}", versus.policy, versus.seed);
        page.section(4, keys::title(study, title, &versus.extras));
        for example in &versus.examples {
            page.item(describe_sentence(example, &versus.policy));
        }
    }
}

fn describe_sentence(example: &DifferingSentence, policy: &str) -> String {
    let words: Vec<String> = example.words.iter().map(|shown| describe_word(shown, policy)).collect();
    let id = if example.id == "-" { String::new() } else { format!("{}, ", escape_markdown(&example.id)) };
    let differ = if example.differing() == 1 { "differs" } else { "differ" };
    let of = plural(example.words.len(), "word");
    format!("{id}{} of {of} {differ}: {}", example.differing(), words.join(" "))
}

fn describe_word(shown: &ShownWord, policy: &str) -> String {
    let tag =
        |tag: &Option<String>| tag.as_ref().map_or_else(|| "nothing".into(), |tag| escape_markdown(tag));
    let word = format!("{}/{}", escape_markdown(&shown.form), escape_markdown(&shown.gold));
    match &shown.differs {
        None => word,
        Some([base, mine]) => format!("**{word}** (none: {}, {policy}: {})", tag(base), tag(mine)),
    }
}

/// Text in which no sign means anything to Markdown.
fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        if sign.is_ascii_punctuation() && !matches!(sign, ',' | '.' | ';' | '\'' | '"' | '-' | '?' | '%') {
            out.push('\\');
        }
        out.push(if sign.is_control() { ' ' } else { sign });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_a_treebank_stay_signs() {
        assert_eq!(escape_markdown("*a*_b|<c>`"), "\\*a\\*\\_b\\|\\<c\\>\\`");
        assert_eq!(escape_markdown("don't, 5% well-known\u{1}"), "don't, 5% well-known ");
    }

    #[test]
    fn words_that_differ_stand_out() {
        let plain = ShownWord { form: "It".into(), gold: "PRON".into(), differs: None };
        let other = ShownWord {
            form: "fell".into(),
            gold: "VERB".into(),
            differs: Some([Some("VERB".into()), None]),
        };
        let example = DifferingSentence { id: "a-1".into(), words: vec![plain, other] };
        assert_eq!(
            describe_sentence(&example, "all"),
            "a-1, 1 of 2 words differs: It/PRON **fell/VERB** (none: VERB, all: nothing)"
        );
    }
}
