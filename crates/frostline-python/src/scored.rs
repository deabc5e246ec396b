//! Sentences of CoNLL-U in the scorer's types.

use frostline_conllu::{Id, Sentence, TokenRow};
use frostline_score::conll18::{MultiwordToken, ScoredSentence, WordRow};

/// A sentence in the scorer's types: words and ranges, without empty nodes.
pub fn scored_sentence<'a>(sentence: &Sentence<'a>) -> ScoredSentence<'a> {
    let word = |row: &TokenRow<'a>| WordRow {
        form: row.form(),
        lemma: row.lemma(),
        upos: row.upos(),
        xpos: row.xpos(),
        feats: row.feats(),
        head: row.head().parse().ok(),
        deprel: row.deprel(),
    };
    let range = |row: &TokenRow<'a>| match row.key() {
        Some(Id::Range(first, last)) => {
            Some(MultiwordToken { first: first as usize, last: last as usize, form: row.form() })
        }
        _ => None,
    };
    ScoredSentence {
        words: sentence.words().map(word).collect(),
        ranges: sentence.ranges().filter_map(range).collect(),
    }
}
