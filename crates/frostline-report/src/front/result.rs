//! The first table: mean, interval, paired verdict and cost of every policy, all languages below each other. Both
//! `report.md` and `index.html` have it; where there are many languages, a table of verdicts by language comes first.

use crate::facts::{self, View};
use crate::keys;
use crate::number::signed;
use crate::page::Page;
use crate::study::advice::SPLIT;
use crate::study::{BASELINE, Study, distinct};
use crate::table::{Quantity, Table};

/// So many languages and more have a table of verdicts beside each other.
const MANY: usize = 3;

/// The tables. `whole` adds what the sections of each language say too.
pub(crate) fn tables(study: &Study, whole: bool, page: &mut Page) {
    if let Some(table) = by_language(study) {
        page.paragraph(format!("Dev {} minus that of `none` in points, and its verdict:", study.metric()));
        page.table(table);
        page.paragraph("All numbers:");
    }
    page.table(facts::table(study, if whole { View::Page } else { View::Result }, None));
}

/// A policy with the values of further axes.
type Key<'a> = (&'a str, &'a [String]);

/// Differences and verdicts, the languages beside each other.
fn by_language(study: &Study) -> Option<Table> {
    let langs: Vec<String> = study.langs().into_iter().map(String::from).collect();
    if langs.len() < MANY || !facts::is_judged(study) {
        return None;
    }
    let others = study.groups.iter().filter(|group| group.policy != BASELINE);
    let rows = distinct(others.map(|group| (group.policy.as_str(), group.extras.as_slice())));
    let shown = |(policy, extras): &Key<'_>, lang: &String| {
        let judged = study.verdicts.find(lang, policy, extras, SPLIT)?.judged()?;
        Some(format!("{} {}", signed(100.0 * judged.difference.value, 2), judged.verdict.name()))
    };
    let columns = keys::frozen(study, |row: &Key<'_>| row.0.to_string(), |row: &Key<'_>| row.1).each(
        langs,
        String::clone,
        Quantity::Text,
        move |row, lang| shown(row, lang),
    );
    Some(columns.table(rows))
}
