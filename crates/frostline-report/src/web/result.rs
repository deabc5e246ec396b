//! The study's table: mean, interval, paired verdict and cost of every policy, all languages below each other.

use crate::front::{self, Topics};
use crate::keys;
use crate::page::Page;
use crate::study::turns::saving;
use crate::study::verdicts::PolicyVerdict;
use crate::study::{BASELINE, Group, Study, baselines, words};
use crate::table::{Columns, Quantity, Table, Value};
use crate::topic::StudyRow;
use crate::web::chapter::Chapter;

/// The split on which policies are judged.
const SPLIT: &str = "dev";

/// The chapter: the table, how to read it, and what topics say of all languages.
pub(super) fn chapter(study: &Study, topics: &Topics) -> Chapter {
    let mut page = Page::default();
    page.table(table(study));
    front::stages_of(study, &mut page);
    front::remarks(study, topics, &mut page);
    front::how_to_read(study, topics, &mut page);
    topics.iter().for_each(|topic| topic.summary(study, &mut page));
    Chapter::new("result", "Result", page).folded(&[2], false)
}

/// What policies cost, for the chapter on time: predicted beside measured.
pub(super) fn speed(study: &Study, page: &mut Page) {
    let predicted = |group: &Group| {
        let cost = study.standing(group).filter(|_| group.policy != BASELINE && !group.is_staged());
        cost.map(|standing| 1.0 - standing.step_cost)
    };
    let columns = lang_column(study, |group: &&Group| group.lang.clone())
        .and(keys::of_group(study))
        .optional("Predicted time saving of a step", Quantity::Percent(1), move |group| predicted(group))
        .optional("Measured", Quantity::Percent(1), |group| saving(group, study.step_cost(group)))
        .optional("Median step, in turns", Quantity::Measured("ms"), |group| {
            study.step_cost(group).map(|cost| cost.step_ms)
        })
        .optional("Training time", Quantity::Measured("s"), |group| {
            group.times.as_ref().map(|times| times.train_s)
        })
        .optional("Whole cell", Quantity::Measured("s"), |group| {
            group.times.as_ref().map(|times| times.total_s)
        })
        .optional("Peak memory, in turns", Quantity::Number(0, "MiB"), |group| {
            study.step_cost(group).and_then(|cost| cost.peak_rss_mib)
        })
        .optional("Peak memory of the worker", Quantity::Number(0, "MiB"), |group| {
            group.times.as_ref().map(|times| times.peak_rss_mib_max).filter(|&peak| peak > 0.0)
        });
    page.table(columns.table(&study.groups));
    page.paragraph(
        "The prediction is the cost model's, made from shapes before any step is taken. Savings are in percent of the \
         time of a step of `none`.",
    );
}

fn lang_column<'a, R: 'a>(study: &Study, lang: impl Fn(&R) -> String + 'a) -> Columns<'a, R> {
    Columns::default().column_if(study.langs().len() > 1, "Language", Quantity::Text, lang)
}

fn lang_of(row: &StudyRow<'_>) -> String {
    match row {
        StudyRow::Policy(group) => group.lang.clone(),
        StudyRow::Baseline(one) => one.lang.clone(),
    }
}

fn table(study: &Study) -> Table {
    let name = |row: &StudyRow<'_>| match row {
        StudyRow::Policy(group) => group.policy.clone(),
        StudyRow::Baseline(one) => format!("*{}*", one.title()),
    };
    let row = |row: &StudyRow<'_>| study.verdicts.get(row.group()?, SPLIT);
    let judged = move |of: &StudyRow<'_>| row(of).and_then(PolicyVerdict::judged);
    let is_base = |row: &StudyRow<'_>| row.group().is_some_and(|group| group.policy == BASELINE);
    let columns = lang_column(study, lang_of)
        .and(keys::frozen(study, name, front::extras_of))
        .column("Dev accuracy", Quantity::Percent(2), |row| match row {
            StudyRow::Policy(group) => Value::from(group.dev.as_ref().map(|dev| dev.accuracy)),
            StudyRow::Baseline(one) => one.dev.as_ref().map(|dev| dev.accuracy).into(),
        })
        .optional("Its 95 % interval", Quantity::Share(2), |row| match row {
            StudyRow::Policy(group) => Value::from(group.dev.as_ref().and_then(|dev| dev.accuracy_interval)),
            StudyRow::Baseline(one) => one.dev.as_ref().and_then(|dev| dev.accuracy_interval).into(),
        })
        .optional("Test accuracy", Quantity::Percent(2), |row| match row {
            StudyRow::Policy(group) => Value::from(group.test.as_ref().map(|test| test.accuracy)),
            StudyRow::Baseline(one) => one.test.as_ref().map(|test| test.accuracy).into(),
        })
        .optional("vs none", Quantity::Points(2), move |row| match is_base(row) {
            true => Value::from("baseline"),
            false => judged(row).map(|judged| judged.difference.value).into(),
        })
        .optional("95 % interval, paired", Quantity::Change(2), move |row| {
            judged(row).map(|judged| judged.interval)
        })
        .optional("Verdict", Quantity::Text, move |of| row(of).map(|row| row.compared.words()))
        .optional("Step cost, predicted", Quantity::Percent(0), |row| {
            Some(study.standing(row.group()?)?.step_cost)
        })
        .optional("Time saving", Quantity::Percent(1), |row| {
            row.group().map_or(Value::Missing, |group| saving(group, study.step_cost(group)))
        })
        .optional("Training time", Quantity::Measured("s"), |row| Some(row.group()?.times.as_ref()?.train_s))
        .optional("Trainable", Quantity::Percent(1), |row| {
            row.group().and_then(Group::plain_parameters).map(|found| found.trainable_share)
        })
        .optional("Pareto front", Quantity::Text, |row| study.standing(row.group()?)?.on_front)
        .column("Seeds", Quantity::Count, |row| row.group().map(words::seeds));
    let rows = study.langs().into_iter().flat_map(|lang| study.groups_of(lang).map(StudyRow::Policy));
    let below: Vec<_> = study.langs().into_iter().flat_map(|lang| baselines::of(study, lang)).collect();
    columns.table(rows.chain(below.iter().map(StudyRow::Baseline)))
}
