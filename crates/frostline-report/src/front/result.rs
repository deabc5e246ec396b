//! The first table: mean, interval, paired verdict and cost of every policy, all languages below each other. Both
//! `report.md` and `index.html` have it; where there are many languages, a table of verdicts by language comes first.

use crate::keys;
use crate::number::signed;
use crate::page::Page;
use crate::study::advice::SPLIT;
use crate::study::turns::saving;
use crate::study::verdicts::PolicyVerdict;
use crate::study::{BASELINE, Group, Study, baselines, distinct, saved, words};
use crate::table::{Columns, Quantity, Table, Value};
use crate::topic::StudyRow;

/// So many languages and more have a table of verdicts beside each other.
const MANY: usize = 3;

/// The tables. `whole` adds what the sections of each language say too.
pub(crate) fn tables(study: &Study, whole: bool, page: &mut Page) {
    if let Some(table) = by_language(study) {
        page.paragraph(format!("Dev {} minus that of `none` in points, and its verdict:", study.metric()));
        page.table(table);
        page.paragraph("All numbers:");
    }
    page.table(table(study, whole));
}

/// The first column where there are several languages.
pub(crate) fn lang_column<'a, R: 'a>(study: &Study, lang: impl Fn(&R) -> String + 'a) -> Columns<'a, R> {
    Columns::default().column_if(study.langs().len() > 1, "Language", Quantity::Text, lang)
}

fn lang_of(row: &StudyRow<'_>) -> String {
    match row {
        StudyRow::Policy(group) => group.lang.clone(),
        StudyRow::Baseline(one) => one.lang.clone(),
    }
}

fn table(study: &Study, whole: bool) -> Table {
    let name = |row: &StudyRow<'_>| match row {
        StudyRow::Policy(group) => group.names(),
        StudyRow::Baseline(one) => format!("*{}*", one.title()),
    };
    let any_judged = is_judged(study);
    let columns = lang_column(study, lang_of).and(keys::frozen(study, name, super::extras_of)).column(
        format!("Dev {}", study.metric()),
        Quantity::Percent(2),
        |row| match row {
            StudyRow::Policy(group) => Value::from(group.dev.as_ref().map(|dev| dev.score)),
            StudyRow::Baseline(one) => one.dev.as_ref().map(|dev| dev.score).into(),
        },
    );
    let columns = if any_judged { columns } else { columns.and(own_interval()) };
    let columns = if whole { columns.and(test_score(study)) } else { columns };
    let columns = columns.and(verdict(study)).and(cost(study));
    let columns = if whole { columns.and(more(study)) } else { columns };
    let columns = columns.ranked(3, "Seeds", Quantity::Count, |row| row.group().map(words::seeds));
    let below: Vec<_> = study.langs().into_iter().map(|lang| (lang, baselines::of(study, lang))).collect();
    columns.table(below.iter().flat_map(|(lang, below)| {
        study.groups_of(lang).map(StudyRow::Policy).chain(below.iter().map(StudyRow::Baseline))
    }))
}

/// Whether any policy has a verdict; where none has, the first sentences say why.
fn is_judged(study: &Study) -> bool {
    study.verdicts.rows.iter().any(|row| row.split == SPLIT && row.judged().is_some())
}

fn own_interval<'a>() -> Columns<'a, StudyRow<'a>> {
    Columns::default().ranked(2, "Its 95 % interval", Quantity::Share(2), |row: &StudyRow<'_>| match row {
        StudyRow::Policy(group) => Value::from(group.dev.as_ref().and_then(|dev| dev.accuracy_interval)),
        StudyRow::Baseline(one) => one.dev.as_ref().and_then(|dev| dev.accuracy_interval).into(),
    })
}

fn test_score<'a>(study: &Study) -> Columns<'a, StudyRow<'a>> {
    let title = format!("Test {}", study.metric());
    Columns::default().ranked(3, title, Quantity::Percent(2), |row: &StudyRow<'_>| match row {
        StudyRow::Policy(group) => Value::from(group.test.as_ref().map(|test| test.score)),
        StudyRow::Baseline(one) => one.test.as_ref().map(|test| test.score).into(),
    })
}

fn verdict(study: &Study) -> Columns<'_, StudyRow<'_>> {
    let row = |row: &StudyRow<'_>| study.verdicts.get(row.group()?, SPLIT);
    let judged = move |of: &StudyRow<'_>| row(of).and_then(PolicyVerdict::judged);
    let is_base = |row: &StudyRow<'_>| row.group().is_some_and(|group| group.policy == BASELINE);
    let any = is_judged(study);
    let gain = move |of: &StudyRow<'_>| -> Value {
        if any {
            return judged(of).map(|judged| judged.difference.value).into();
        }
        of.group().and_then(|group| group.dev_gain).into()
    };
    let has_gains = study.groups.iter().any(|group| group.policy != BASELINE && group.dev_gain.is_some());
    Columns::default()
        .optional("vs none", Quantity::Points(2), move |row| match is_base(row) {
            true if has_gains => Value::from("baseline"),
            true => Value::Missing,
            false => gain(row),
        })
        .ranked(2, "95 % interval", Quantity::Change(2), move |row| judged(row).map(|judged| judged.interval))
        .optional("Verdict", Quantity::Text, move |of| {
            row(of).filter(|_| any).map(|row| row.compared.words())
        })
}

fn cost(study: &Study) -> Columns<'_, StudyRow<'_>> {
    Columns::default()
        .ranked(2, "Time saved", Quantity::Percent(1), |row: &StudyRow<'_>| {
            row.group().map_or(Value::Missing, |group| saving(group, study.step_cost(group)))
        })
        .ranked(3, "Time saved, predicted", Quantity::Percent(1), |row| {
            row.group().map_or(Value::Missing, |group| saved::predicted_shown(study, group))
        })
}

fn more(study: &Study) -> Columns<'_, StudyRow<'_>> {
    Columns::default()
        .ranked(3, "Trainable", Quantity::Percent(1), |row: &StudyRow<'_>| {
            row.group().and_then(Group::plain_parameters).map(|found| found.trainable_share)
        })
        .ranked(3, "Pareto front", Quantity::Text, |row| study.standing(row.group()?)?.on_front)
}

/// A policy with the values of further axes.
type Key<'a> = (&'a str, &'a [String]);

/// Differences and verdicts, the languages beside each other.
fn by_language(study: &Study) -> Option<Table> {
    let langs: Vec<String> = study.langs().into_iter().map(String::from).collect();
    if langs.len() < MANY || !is_judged(study) {
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
