//! Toy sentences as CoNLL-U, without ranges, empty nodes and features.

use std::fmt::Write as _;

use super::words::{Toy as _, ToySentence};

pub(super) fn write(lang: &str, split: &str, sentences: &[ToySentence]) -> String {
    let mut text = String::new();
    for (number, sentence) in sentences.iter().enumerate() {
        if number == 0 {
            text.push_str("# newdoc\n# note = synthetic: made by a seeded toy grammar, not real language\n");
        }
        let id = number + 1;
        let _ = writeln!(text, "# sent_id = synthetic-{lang}-{split}-{id}");
        let _ = writeln!(text, "# text = {}", sentence.text());
        for (i, word) in sentence.words.iter().enumerate() {
            let head = if word.head == i { 0 } else { word.head + 1 };
            let (form, lemma, upos, deprel) = (&word.form, &word.lemma, word.upos, word.deprel);
            let _ = writeln!(text, "{}\t{form}\t{lemma}\t{upos}\t_\t_\t{head}\t{deprel}\t_\t_", i + 1);
        }
        text.push('\n');
    }
    text
}
