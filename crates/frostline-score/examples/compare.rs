//! Tests whether tagger A is better than tagger B. Compares two files of predictions, with a bootstrap and a
//! permutation test over sentences and McNemar's test over words: `cargo run -p frostline-score --example
//! compare -- A.tsv B.tsv`. Each line is `form TAB gold TAB predicted`, and an empty line ends a sentence.
//! Without files it compares two built-in ones.

use frostline_score::conll18::{ScoredSentence, WordRow};
use frostline_score::{Comparison, Resampling};

type CompareError = Box<dyn std::error::Error>;

fn main() -> Result<(), CompareError> {
    let files: Vec<String> = std::env::args().skip(1).filter(|path| !path.starts_with('-')).collect();
    let [a, b] = match &files[..] {
        [a, b] => [std::fs::read_to_string(a)?, std::fs::read_to_string(b)?],
        [] => built_in_files(),
        _ => return Err("usage: compare A.tsv B.tsv".into()),
    };
    print!("{}", compare_taggers(&a, &b)?);
    Ok(())
}

/// Forty sentences, in five of which only A is right.
fn built_in_files() -> [String; 2] {
    ["VERB", "NOUN"].map(|often| {
        let sentence =
            |n: usize| format!("ice\tNOUN\tNOUN\nmelts\tVERB\t{}\n\n", if n < 5 { often } else { "VERB" });
        (0..40).map(sentence).collect()
    })
}

fn compare_taggers(a: &str, b: &str) -> Result<Comparison, CompareError> {
    let gold = read_sentences(a, 1)?;
    if gold != read_sentences(b, 1)? {
        return Err("the two files do not have the same words and gold tags".into());
    }
    Ok(Comparison::new(&gold, &read_sentences(a, 2)?, &read_sentences(b, 2)?, &Resampling::default())?)
}

/// Returns the sentences with the tags of one column.
fn read_sentences(text: &str, column: usize) -> Result<Vec<ScoredSentence<'_>>, CompareError> {
    let mut all = Vec::new();
    for sentence in text.split("\n\n").filter(|sentence| !sentence.trim().is_empty()) {
        let mut words = Vec::new();
        for line in sentence.lines().filter(|line| !line.is_empty()) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [form, _, _] = fields[..] else {
                return Err(format!("{line:?}: expected three columns").into());
            };
            words.push(WordRow { form, upos: fields[column], ..WordRow::default() });
        }
        all.push(ScoredSentence { words, ranges: vec![] });
    }
    Ok(all)
}

#[test]
fn a_clear_difference_is_found() {
    let [a, b] = built_in_files();
    let found = compare_taggers(&a, &b).unwrap();
    assert_eq!((found.mcnemar.only_a, found.mcnemar.only_b), (5, 0));
    assert!(found.bootstrap.p_value < 0.05 && found.bootstrap.difference.low > 0.0);
    assert!(compare_taggers(&a, "ice\tNOUN\tNOUN\n\n").is_err());
}
