//! The data of each language, for the opening of a document.

use frostline_record::{SplitFacts, TaskFacts, Unit};

use crate::number::listed;
use crate::study::{CellView, Study, distinct};
use crate::table::{Quantity, Table, TableColumns};

/// A language with the facts of its first finished cell.
struct DataRow<'a> {
    lang: &'a str,
    encoders: Vec<String>,
    facts: Option<&'a TaskFacts>,
}

/// What was learned from, a row per language. Cells that differ in it have their own page.
pub(super) fn table(study: &Study) -> Table {
    let rows = study.langs().into_iter().map(|lang| {
        let of_lang = || study.cells.iter().filter(|view| *view.cell.settings.lang == *lang);
        let done = of_lang().find_map(CellView::done);
        let encoders = distinct(of_lang().map(|view| view.cell.settings.encoder.name.to_string()));
        DataRow { lang, encoders, facts: done.map(|done| done.result.facts()) }
    });
    let sentences = |split: fn(&TaskFacts) -> Option<&SplitFacts>| {
        move |row: &DataRow<'_>| row.facts.and_then(split).map(|split| split.sentences)
    };
    // Words of labelled sentences are not what is learned from.
    let words = |split: fn(&TaskFacts) -> Option<&SplitFacts>| {
        move |row: &DataRow<'_>| {
            let facts = row.facts.filter(|facts| facts.unit == Unit::Words);
            facts.and_then(split).map(|split| split.words)
        }
    };
    let columns = TableColumns::default()
        .column("Language", Quantity::Text, |row: &DataRow<'_>| study.lang_title(row.lang))
        .optional("Encoder", Quantity::Text, |row| Some(listed(&row.encoders)))
        .optional("Train sentences", Quantity::Count, sentences(|facts| Some(&facts.train)))
        .optional("Train words", Quantity::Count, words(|facts| Some(&facts.train)))
        .optional("Dev sentences", Quantity::Count, sentences(|facts| Some(&facts.dev)))
        .optional("Dev words", Quantity::Count, words(|facts| Some(&facts.dev)))
        .optional("Test sentences", Quantity::Count, sentences(|facts| facts.test.as_ref()))
        .optional("Labels", Quantity::Count, |row| row.facts.map(|facts| facts.tags.len()));
    columns.table(rows)
}
