//! A minimal CoNLL-U reader for tests, which parses only the scorer's columns.

use frostline_score::conll18::{MultiwordToken, ScoredSentence, WordRow};

/// Returns the sentences of `text`, without comments and empty nodes.
pub fn sentences(text: &str) -> Vec<ScoredSentence<'_>> {
    let mut all = Vec::new();
    let mut sentence = ScoredSentence::default();
    for line in text.lines() {
        if line.is_empty() {
            if !sentence.words.is_empty() {
                all.push(std::mem::take(&mut sentence));
            }
        } else if !line.starts_with('#') {
            push_word(&mut sentence, &line.split('\t').collect::<Vec<_>>());
        }
    }
    if !sentence.words.is_empty() {
        all.push(sentence);
    }
    all
}

fn push_word<'a>(sentence: &mut ScoredSentence<'a>, columns: &[&'a str]) {
    assert_eq!(columns.len(), 10, "not ten columns: {columns:?}");
    if let Some((first, last)) = columns[0].split_once('-') {
        sentence.ranges.push(MultiwordToken {
            first: first.parse().unwrap(),
            last: last.parse().unwrap(),
            form: columns[1],
        });
    } else if !columns[0].contains('.') {
        sentence.words.push(WordRow {
            form: columns[1],
            lemma: columns[2],
            upos: columns[3],
            xpos: columns[4],
            feats: columns[5],
            head: columns[6].parse().ok(),
            deprel: columns[7],
        });
    }
}
