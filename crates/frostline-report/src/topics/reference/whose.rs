//! Whose figures a page compares with, and what can be compared at all.

use frostline_record::{Reference, ReferenceData};

use crate::number::listed;
use crate::page::Page;
use crate::study::{Study, distinct};

/// What the page says first: whose figures these are.
pub(super) fn opening(reference: &Reference, page: &mut Page) {
    page.paragraph(format!("Published figures: {}", reference.citation));
    page.paragraph(reference.about.trim());
}

/// That nothing can be compared, and what could be.
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

/// What a reference says of a kind of figure, as a paragraph; nothing where it says nothing.
pub(super) fn defined(reference: &Reference, figure: &str, page: &mut Page) {
    if let Some(words) = reference.defined.get(figure) {
        page.paragraph(words.trim());
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
