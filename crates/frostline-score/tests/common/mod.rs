//! Rows out of CoNLL-U text, for tests: as little parsing as the scorer's input needs.

use frostline_score::conll18::{Range, Row, Sentence};

/// The sentences of `text`, without comments and empty nodes.
pub fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut all = Vec::new();
    let mut sentence = Sentence::default();
    for line in text.lines() {
        if line.is_empty() {
            if !sentence.words.is_empty() {
                all.push(std::mem::take(&mut sentence));
            }
        } else if !line.starts_with('#') {
            push(&mut sentence, &line.split('\t').collect::<Vec<_>>());
        }
    }
    if !sentence.words.is_empty() {
        all.push(sentence);
    }
    all
}

fn push<'a>(sentence: &mut Sentence<'a>, columns: &[&'a str]) {
    assert_eq!(columns.len(), 10, "not ten columns: {columns:?}");
    if let Some((first, last)) = columns[0].split_once('-') {
        sentence.ranges.push(Range {
            first: first.parse().unwrap(),
            last: last.parse().unwrap(),
            form: columns[1],
        });
    } else if !columns[0].contains('.') {
        sentence.words.push(Row {
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
