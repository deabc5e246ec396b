//! The tables of single cells' errors: per tag, per confusion, per kind of word, and per pair of policies. A row is of one cell,
//! in counts.

use frostline_score::TagScore;

use crate::keys;
use crate::study::{CellView, Study};
use crate::table::{Quantity, TableColumns};
use crate::topic::TopicTable;
use crate::topics::errors::counts::{CellErrors, WordErrors, WordStratum};
use crate::topics::errors::versus::Versus;

/// All tables.
pub(super) fn build_tables(study: &Study, found: &WordErrors) -> Vec<TopicTable> {
    vec![
        tag_rows(study, found),
        confusion_rows(study, found),
        stratum_rows(study, found),
        difference_rows(study, found),
    ]
}

/// A cell's split with one of its parts.
type PartRow<'a, P> = (&'a CellView, &'static str, P);

fn key_columns<'a, P: 'a>(study: &Study) -> TableColumns<'a, PartRow<'a, P>> {
    keys::of_cell(study, |row: &PartRow<'a, P>| row.0).column("split", Quantity::Text, |row| row.1)
}

fn rows_of_parts<'a, P: 'a, I: Iterator<Item = P> + 'a>(
    study: &'a Study,
    found: &'a WordErrors,
    parts: impl Fn(&'a CellErrors) -> I + 'a,
) -> impl Iterator<Item = PartRow<'a, P>> {
    found.cells.iter().flat_map(move |one| {
        let view = &study.cells[one.cell];
        parts(one).map(move |part| (view, one.split, part))
    })
}

/// Every tag that occurs in gold or prediction, of every scored split of every cell.
fn tag_rows(study: &Study, found: &WordErrors) -> TopicTable {
    let columns = key_columns::<TagScore>(study)
        .column("tag", Quantity::Text, |row| row.2.tag.clone())
        .column("support", Quantity::Count, |row| row.2.support)
        .column("predicted", Quantity::Count, |row| row.2.predicted)
        .column("correct", Quantity::Count, |row| row.2.correct)
        .column("precision", Quantity::Share(2), |row| row.2.prf.precision)
        .column("recall", Quantity::Share(2), |row| row.2.prf.recall)
        .column("f1", Quantity::Share(2), |row| row.2.prf.f1);
    let there =
        |one: &CellErrors| one.confusion.per_tag().into_iter().filter(|tag| tag.support + tag.predicted > 0);
    TopicTable::Rows("tags", columns.table(rows_of_parts(study, found, there)))
}

/// Every pair of a gold tag and another one that was predicted, the most frequent first; the predicted tag is empty
/// if there was none.
fn confusion_rows(study: &Study, found: &WordErrors) -> TopicTable {
    let columns = key_columns::<(String, Option<String>, u64, u64)>(study)
        .column("gold", Quantity::Text, |row| row.2.0.clone())
        .column("predicted", Quantity::Text, |row| row.2.1.clone())
        .column("words", Quantity::Count, |row| row.2.2)
        .column("share_of_errors", Quantity::Share(1), |row| row.2.2 as f64 / row.2.3 as f64);
    TopicTable::Rows("confusions", columns.table(rows_of_parts(study, found, wrong_pairs)))
}

/// A cell's wrong pairs with their number and the number of all errors.
fn wrong_pairs(one: &CellErrors) -> std::vec::IntoIter<(String, Option<String>, u64, u64)> {
    let errors = one.confusion.words() - one.confusion.correct();
    let pairs = WordErrors::confused(&one.confusion).into_iter();
    let owned =
        pairs.map(|(gold, predicted, words)| (gold.to_string(), predicted.map(String::from), words, errors));
    owned.collect::<Vec<_>>().into_iter()
}

/// Words by what train knows of them and by length of their sentence.
fn stratum_rows(study: &Study, found: &WordErrors) -> TopicTable {
    let columns = key_columns::<&WordStratum>(study)
        .column("by", Quantity::Text, |row| row.2.by.name())
        .column("stratum", Quantity::Text, |row| row.2.name.clone())
        .column("words", Quantity::Count, |row| row.2.words)
        .column("correct", Quantity::Count, |row| row.2.correct)
        .column("accuracy", Quantity::Share(2), |row| row.2.correct as f64 / row.2.words as f64);
    TopicTable::Rows("strata", columns.table(rows_of_parts(study, found, |one| one.strata.iter())))
}

/// Every cell compared with the baseline of its seed.
fn difference_rows(study: &Study, found: &WordErrors) -> TopicTable {
    let rows = found.versus.iter().map(|versus| (&study.cells[versus.cell], versus.split, versus));
    let columns = key_columns::<&Versus>(study)
        .column("words", Quantity::Count, |row| row.2.words)
        .column("sentences", Quantity::Count, |row| row.2.sentences)
        .column("other_words", Quantity::Count, |row| row.2.other_words)
        .column("other_sentences", Quantity::Count, |row| row.2.other_sentences)
        .column("only_none_right", Quantity::Count, |row| row.2.only_none_right)
        .column("only_this_right", Quantity::Count, |row| row.2.only_this_right)
        .column("both_wrong", Quantity::Count, |row| row.2.both_wrong);
    TopicTable::Rows("differences", columns.table(rows))
}
