//! The table of cells that have stages: a row per stage and task, since each stage may freeze something else.

use crate::keys;
use crate::study::baselines::BaselineStats;
use crate::study::stages::{ScoredBy, StageChange, StageStats, TaskStats};
use crate::study::{CellGroup, Study, distinct};
use crate::table::{Quantity, Table, TableColumns, TableValue};
use crate::topics::stages::{capital_split, with_change};

/// The paragraph below the table.
pub(super) const ABOUT: &str = "**Change** is the score after a stage minus the same cell's score after the stage before, with a 95 % \
     interval and a verdict by the rule of all verdicts: for other seeds and other sentences; the intervals of all stages and tasks of a language hold together \
     on a split. Cells without stored predictions have Student's interval over seeds and no verdict.";

/// A task after a stage, or what needs no training of the encoder.
enum StagesRow<'a> {
    Stage(&'a CellGroup, &'a StageStats, &'a TaskStats),
    Baseline(&'a BaselineStats),
}

impl<'a> StagesRow<'a> {
    fn group(&self) -> Option<&'a CellGroup> {
        match self {
            Self::Stage(group, ..) => Some(group),
            Self::Baseline(_) => None,
        }
    }

    fn stage(&self) -> Option<&'a StageStats> {
        match self {
            Self::Stage(_, stage, _) => Some(stage),
            Self::Baseline(_) => None,
        }
    }

    fn task(&self) -> Option<&'a TaskStats> {
        match self {
            Self::Stage(.., task) => Some(task),
            Self::Baseline(_) => None,
        }
    }

    fn change(&self, split: &str) -> Option<&'a StageChange> {
        self.task()?.change_on(split)
    }

    fn score(&self, split: &str) -> TableValue {
        match self {
            Self::Stage(.., task) => task.on(split).map(|scored| scored.score).into(),
            Self::Baseline(one) => one.on(split).map(|scores| scores.score).into(),
        }
    }
}

/// Whether a language has a single row of staged cells, which shows less than a row per stage.
pub(super) fn say_all(study: &Study, lang: &str) -> bool {
    study.groups_of(lang).count() == 1 && study.groups_of(lang).all(CellGroup::is_staged)
}

/// The stages of a language.
pub(crate) fn table(study: &Study, lang: &str) -> Table {
    let below = if say_all(study, lang) { study.baselines(lang) } else { Vec::new() };
    let rows: Vec<StagesRow<'_>> =
        stage_rows(study, lang).chain(below.iter().map(StagesRow::Baseline)).collect();
    let several_tasks = distinct(rows.iter().filter_map(StagesRow::task).map(|task| &task.task)).len() > 1;
    let accuracy = rows.iter().filter_map(StagesRow::task).all(|task| task.metric == ScoredBy::Accuracy);
    let name = if accuracy { "accuracy" } else { "score" };
    let columns = key_columns(study, lang)
        .ranked(2, "Frozen in it", Quantity::Text, |row| row.stage().map(|stage| stage.policy.clone()))
        .column_if(several_tasks, "Task", Quantity::Text, |row| row.task().map(|task| task.task.clone()));
    let columns = ["dev", "test"].into_iter().zip([0, 4]).fold(columns, |columns, (split, rank)| {
        let title = format!("{} {name}", capital_split(split));
        let columns = columns.ranked(rank, title, Quantity::Percent(2), move |row| row.score(split));
        with_change(columns, split, "change", rank + 1, move |row: &StagesRow<'_>| row.change(split))
    });
    let columns = columns
        .ranked(3, "Trainable", Quantity::Count, |row| row.stage().map(|stage| stage.trainable_parameters))
        .ranked(6, "Parameter saving", Quantity::Percent(1), |row| {
            let stage = row.stage()?;
            Some(1.0 - stage.trainable_parameters as f64 / stage.total_parameters.max(1) as f64)
        })
        .ranked(3, "Training", Quantity::Fine("s"), |row| row.stage().map(|stage| stage.train_s));
    columns.table(rows)
}

fn stage_rows<'a>(study: &'a Study, lang: &'a str) -> impl Iterator<Item = StagesRow<'a>> {
    let staged = study.groups_of(lang).filter(|group| group.is_staged());
    let stages = staged.flat_map(|group| group.stages.iter().map(move |stage| (group, stage)));
    stages.flat_map(|(group, stage)| stage.tasks.iter().map(move |task| StagesRow::Stage(group, stage, task)))
}

fn extras_of_row<'b>(row: &'b StagesRow<'_>) -> &'b [String] {
    row.group().map_or(&[], |group| &group.extras)
}

/// The first columns: the stage, and the group's policy and axes if there are several groups.
fn key_columns<'a>(study: &Study, lang: &str) -> TableColumns<'a, StagesRow<'a>> {
    if say_all(study, lang) {
        return TableColumns::default().column("Stage", Quantity::Text, |row: &StagesRow<'a>| match row {
            StagesRow::Stage(_, stage, _) => stage.name.clone(),
            StagesRow::Baseline(one) => format!("*{}*", one.title()),
        });
    }
    let policy = |row: &StagesRow<'a>| row.group().map_or_else(String::new, |group| group.policy.clone());
    keys::policy_columns(study, policy, extras_of_row)
        .column("Stage", Quantity::Text, |row| row.stage().map(|stage| stage.name.clone()))
}

/// The same for a terminal, which has no marks and whose heads are lower case.
pub(super) fn terminal_table(study: &Study, lang: &str) -> Table {
    let mut table = table(study, lang);
    for head in &mut table.heads {
        head.name = head.name.to_lowercase().replace('`', "");
    }
    for value in table.rows.iter_mut().flatten() {
        if let TableValue::Text(text) = value {
            *text = text.replace('*', "");
        }
    }
    table
}
