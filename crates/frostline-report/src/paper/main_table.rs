//! The main table of a paper: each policy in each language, with its mean, its difference from `none` and the verdict. Both
//! `tables.tex` and the numbers of `results.tex` are made from it.

use crate::keys;
use crate::study::advice::SPLIT;
use crate::study::baselines;
use crate::study::turns::saving;
use crate::study::words;
use crate::study::{BASELINE, Study, saved};
use crate::table::{Columns, PaperTable, Quantity};
use crate::topic::StudyRow;

/// A row: its language, and a policy or a baseline.
type Row<'a> = (&'a str, StudyRow<'a>);

/// The table of a study.
pub(super) fn of(study: &Study, caption: String) -> PaperTable {
    let below: Vec<_> = study.langs().into_iter().map(|lang| (lang, baselines::of(study, lang))).collect();
    let rows: Vec<Row<'_>> = below
        .iter()
        .flat_map(|(lang, below)| {
            let policies = study.groups_of(lang).map(StudyRow::Policy);
            policies.chain(below.iter().map(StudyRow::Baseline)).map(move |row| (*lang, row))
        })
        .collect();
    let names = rows.iter().map(|(lang, row)| [(*lang).to_string(), name(row)]).collect();
    let table = PaperTable::new("results", caption, columns(study).table(rows));
    PaperTable { grouped: true, ..table.named(names, 2 + study.axes().len(), "") }
}

/// A row's name: the policy or baseline, then the values of further axes.
fn name(row: &StudyRow<'_>) -> String {
    let (first, extras) = match row {
        StudyRow::Policy(group) => (group.policy.as_str(), &group.extras),
        StudyRow::Baseline(one) => (one.baseline.as_str(), &one.extras),
    };
    [first].into_iter().chain(extras.iter().map(String::as_str)).collect::<Vec<_>>().join("/")
}

fn extras<'r>(row: &'r Row<'_>) -> &'r [String] {
    crate::front::extras_of(&row.1)
}

fn columns(study: &Study) -> Columns<'_, Row<'_>> {
    let policy = |row: &Row<'_>| match &row.1 {
        StudyRow::Policy(group) => group.names(),
        StudyRow::Baseline(one) => one.title().to_string(),
    };
    let accuracy = |row: &Row<'_>, split: &str| match &row.1 {
        StudyRow::Policy(group) => {
            let found = if split == SPLIT { &group.dev } else { &group.test };
            found.as_ref().map(|found| found.score)
        }
        StudyRow::Baseline(one) => {
            let found = if split == SPLIT { &one.dev } else { &one.test };
            found.as_ref().map(|found| found.score)
        }
    };
    let judged = |row: &Row<'_>| study.verdicts.get(row.1.group()?, SPLIT)?.judged();
    Columns::default()
        .column("Language", Quantity::Text, |row: &Row<'_>| row.0)
        .column("Frozen", Quantity::Text, policy)
        .and(keys::axes(study, extras))
        .column(format!("Dev {}", study.metric()), Quantity::Percent(2), move |row| accuracy(row, SPLIT))
        .optional("Difference", Quantity::Change(2), move |row| {
            judged(row).map(|found| found.difference.value)
        })
        .optional("Interval", Quantity::Change(2), move |row| judged(row).map(|found| found.interval))
        .optional("Verdict", Quantity::Text, move |row| judged(row).map(|found| found.verdict.name()))
        .optional(format!("Test {}", study.metric()), Quantity::Percent(2), move |row| accuracy(row, "test"))
        .optional("Trainable", Quantity::Percent(1), |row| {
            row.1.group()?.plain_parameters().map(|parameters| parameters.trainable_share)
        })
        .optional("Time saved, predicted", Quantity::Percent(1), |row| {
            saved::predicted(study, row.1.group()?)
        })
        .optional("Time saved", Quantity::Percent(1), |row| {
            row.1
                .group()
                .filter(|group| group.policy != BASELINE)
                .map(|group| saving(group, study.step_cost(group)))
        })
        .optional("Training", Quantity::Fine("s"), |row| {
            row.1.group()?.times.as_ref().map(|times| times.train_s)
        })
        .optional("Seeds", Quantity::Count, |row| row.1.group().map(words::seeds))
}
