//! The source of published figures, and whether they can be compared with a study.

use frostline_record::{PublishedRun, Reference, ReferenceData};

use crate::number::listed;
use crate::page::Page;
use crate::study::{Study, distinct};
use crate::table::{TableColumns, TableValue};
use crate::topics::convergence::{EPOCH_FACTS, EpochFact};

/// Opens the page with the source of the figures.
pub(super) fn write_opening(reference: &Reference, page: &mut Page) {
    page.paragraph(format!("Published figures: {}", reference.citation));
    page.paragraph(reference.about.trim());
}

/// Explains that nothing can be compared, and what could be.
pub(super) fn no_match(reference: &Reference, why: &str, page: &mut Page) {
    let quoted =
        |names: Vec<&String>| listed(&names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>());
    let langs = quoted(reference.lang.keys().collect());
    let policies = quoted(distinct(reference.lang.values().flat_map(|data| data.policy.keys())));
    page.paragraph(format!(
        "There is no comparison here: the {} published {langs} with the policies {policies}, and {why}.",
        reference.name
    ));
    page.paragraph(format!("Published figures: {}", reference.citation));
}

/// Adds how a reference defines a kind of figure, if it does.
pub(super) fn write_definition(reference: &Reference, figure: &str, page: &mut Page) {
    if let Some(words) = reference.defined.get(figure) {
        page.paragraph(words.trim());
    }
}

/// A table for each number of an epoch that any of these runs published. `values` are a row's, from the first epoch.
pub(super) fn epoch_tables<'a, R: Clone + 'a>(
    study: &Study,
    reference: &Reference,
    published: &[&PublishedRun],
    rows: &[R],
    columns: impl Fn() -> TableColumns<'a, (R, Vec<TableValue>)>,
    values: impl Fn(&EpochFact, &R) -> Vec<TableValue>,
    page: &mut Page,
) {
    for fact in
        EPOCH_FACTS.iter().filter(|fact| published.iter().any(|run| !(fact.published)(run).is_empty()))
    {
        page.section(3, fact.title(study));
        let rows: Vec<(R, Vec<TableValue>)> =
            rows.iter().map(|row| (row.clone(), values(fact, row))).collect();
        let longest = rows.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        let columns = columns().each(
            0..longest,
            |at| (at + 1).to_string(),
            fact.unit,
            |row: &(R, Vec<TableValue>), at| row.1.get(*at).cloned(),
        );
        page.table(columns.table(rows));
        write_definition(reference, fact.defined_as, page);
    }
}

/// Whether a language's headline is the reference's task: its own data with the same labels.
pub(super) fn labels_the_same(study: &Study, data: &ReferenceData, lang: &str) -> bool {
    let mut cells = study.cells.iter().map(|view| &view.cell.settings).filter(|s| s.lang == lang);
    cells.all(|settings| {
        let task = settings.tasks.get(settings.headline());
        task.is_some_and(|task| task.labels == data.labels && settings.dataset_of(task) == lang)
    })
}
