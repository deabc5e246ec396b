//! Owns the CSV files of errors: per tag, per confusion, per kind of word, and per pair of policies.
//!
//! Refuses means over seeds: one row is of one cell, in counts.

use frostline_score::Confusion;

use crate::Report;
use crate::csv::{float, key, key_head, row};
use crate::errors::{CellErrors, Errors};

/// `tags.csv`: every tag that occurs in gold or prediction, of every scored split of every cell.
pub(crate) fn tags(report: &Report) -> String {
    let head = ["split", "tag", "support", "predicted", "correct", "precision", "recall", "f1"];
    rows(report, &head, |found| {
        let tags = found.confusion.per_tag().into_iter().filter(|tag| tag.support + tag.predicted > 0);
        tags.map(|tag| {
            let counts = [tag.support, tag.predicted, tag.correct].map(|count| count.to_string());
            let scores = [tag.prf.precision, tag.prf.recall, tag.prf.f1].map(float);
            [tag.tag].into_iter().chain(counts).chain(scores).collect()
        })
        .collect()
    })
}

/// `confusions.csv`: every pair of a gold tag and another one that was predicted, the most frequent
/// first; the predicted tag is empty where there was none.
pub(crate) fn confusions(report: &Report) -> String {
    rows(report, &["split", "gold", "predicted", "words", "share_of_errors"], |found| {
        let errors = wrong(&found.confusion);
        let pairs = Errors::confused(&found.confusion).into_iter();
        pairs
            .map(|(gold, predicted, words)| {
                let share = float(words as f64 / errors as f64);
                vec![gold.into(), predicted.unwrap_or_default().into(), words.to_string(), share]
            })
            .collect()
    })
}

/// `strata.csv`: words by what train knows of them and by length of their sentence.
pub(crate) fn strata(report: &Report) -> String {
    rows(report, &["split", "by", "stratum", "words", "correct", "accuracy"], |found| {
        let strata = found.strata.iter();
        strata
            .map(|stratum| {
                let accuracy = float(stratum.correct as f64 / stratum.words as f64);
                let counts = [stratum.words, stratum.correct].map(|count| count.to_string());
                let names = [stratum.by.name().to_string(), stratum.name.clone()];
                names.into_iter().chain(counts).chain([accuracy]).collect()
            })
            .collect()
    })
}

/// `differences.csv`: every cell beside the baseline of its seed.
pub(crate) fn differences(report: &Report) -> String {
    let mut head = key_head(report);
    head.extend(
        [
            "split",
            "words",
            "sentences",
            "other_words",
            "other_sentences",
            "only_none_right",
            "only_this_right",
            "both_wrong",
            "mcnemar_exact_p",
            "mcnemar_holm_p",
        ]
        .map(String::from),
    );
    let mut text = row(&head);
    for versus in &report.errors.versus {
        let mut fields = key(report, &report.cells[versus.cell]);
        fields.push(versus.split.into());
        let counts = [
            versus.words,
            versus.sentences,
            versus.other_words,
            versus.other_sentences,
            versus.mcnemar.only_a,
            versus.mcnemar.only_b,
            versus.both_wrong,
        ];
        fields.extend(counts.map(|count| count.to_string()));
        fields.extend([versus.mcnemar.exact_p, versus.holm_p].map(float));
        text += &row(&fields);
    }
    text
}

fn wrong(confusion: &Confusion) -> u64 {
    confusion.words() - confusion.correct()
}

/// A file of several rows per cell and split.
fn rows(report: &Report, columns: &[&str], of: impl Fn(&CellErrors) -> Vec<Vec<String>>) -> String {
    let mut head = key_head(report);
    head.extend(columns.iter().map(|&name| String::from(name)));
    let mut text = row(&head);
    for found in &report.errors.cells {
        let mut key = key(report, &report.cells[found.cell]);
        key.push(found.split.into());
        for fields in of(found) {
            text += &row(&[key.clone(), fields].concat());
        }
    }
    text
}
