//! Several tasks: every score, and what a stage did to tasks that it did not learn from. Predictions are called
//! identical only if they are so bit for bit.

use frostline_record::{Score, TaskOutcome, Unit};

use crate::keys;
use crate::number::{count, plural};
use crate::page::Page;
use crate::study::baselines::BaselineStats;
use crate::study::stages::{ScoredBy, StageChange, StageStats, TaskStats, learned_from, score_value};
use crate::study::{CellGroup, CellView, SPLITS, Study, distinct};
use crate::table::{Quantity, TableColumns, TableValue};
use crate::topic::{ReportPlace, Topic, TopicTable};
use crate::topics::stages::{with_change, with_relative_change};

/// Tasks.
pub(crate) struct TasksTopic;

/// A task of a stage of a group.
type TaskRow<'a> = (&'a CellGroup, &'a StageStats, &'a TaskStats);

impl Topic for TasksTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        if let ReportPlace::Language(lang) = place {
            let rows = task_rows(study, lang);
            let several = |row: &TaskRow<'_>| row.1.tasks.len() > 1 || row.2.metric == ScoredBy::EntityF1;
            if !rows.iter().any(several) {
                return;
            }
            page.section(3, "Tasks");
            describe_scores(study, lang, &rows, page);
            describe_gains(study, &rows, page);
            describe_drift(study, &rows, page);
        }
    }

    fn tables(&self, study: &Study) -> Vec<TopicTable> {
        // The other files have all about one stage of one task that tags words.
        if study.groups.iter().all(|group| group.stages.is_empty()) {
            return Vec::new();
        }
        vec![TopicTable::Rows("tasks", file_columns(study).table(file_rows(study)))]
    }
}

/// A scored split of a task after a stage of a cell.
struct ScoredSplit<'a> {
    view: &'a CellView,
    number: usize,
    stage: &'a str,
    task: &'a str,
    unit: Option<Unit>,
    learned: bool,
    split: &'static str,
    score: &'a Score,
    found: &'a TaskOutcome,
}

fn file_rows(study: &Study) -> Vec<ScoredSplit<'_>> {
    let mut rows = Vec::new();
    for view in &study.cells {
        let Some(done) = view.done() else { continue };
        let settings = view.cell.settings.in_stages().unwrap_or_default();
        for (at, stage) in done.result.stages.iter().enumerate() {
            for (task, found) in &stage.tasks {
                let learned =
                    settings.get(at).is_some_and(|(_, settings)| learned_from(settings, task, stage));
                let unit = done.result.tasks.get(task).map(|facts| facts.unit);
                let scores = SPLITS.iter().filter_map(|&split| Some((split, found.scores.get(split)?)));
                rows.extend(scores.map(|(split, score)| ScoredSplit {
                    view,
                    number: at + 1,
                    stage: &stage.name,
                    task,
                    unit,
                    learned,
                    split,
                    score,
                    found,
                }));
            }
        }
    }
    rows
}

fn file_columns(study: &Study) -> TableColumns<'_, ScoredSplit<'_>> {
    keys::of_cell(study, |row: &ScoredSplit<'_>| row.view)
        .column("number", Quantity::Count, |row| row.number)
        .column("stage", Quantity::Text, |row| row.stage)
        .column("task", Quantity::Text, |row| row.task)
        .column("unit", Quantity::Text, |row| row.unit.map(unit_name))
        .column("learned", Quantity::Text, |row| row.learned)
        .column("split", Quantity::Text, |row| row.split)
        .column("metric", Quantity::Text, |row| {
            ScoredBy::of(row.score).name().replace(' ', "_").to_lowercase()
        })
        .column("score", Quantity::Share(2), |row| score_value(row.score))
        .column("accuracy", Quantity::Share(2), |row| row.score.accuracy())
        .column("loss_nats", Quantity::Number(4, "nats"), |row| row.score.loss_nats)
        .column("sentences", Quantity::Count, |row| row.score.sentences)
        .column("units", Quantity::Count, |row| row.score.words)
        .column("correct", Quantity::Count, |row| row.score.correct)
        .column("truncated", Quantity::Count, |row| row.score.truncated)
        .column("vanished", Quantity::Count, |row| row.score.vanished)
        .column("unseen", Quantity::Count, |row| row.score.unseen)
        .column("gold_entities", Quantity::Count, |row| row.score.entities.map(|e| e.gold))
        .column("predicted_entities", Quantity::Count, |row| row.score.entities.map(|e| e.predicted))
        .column("correct_entities", Quantity::Count, |row| row.score.entities.map(|e| e.correct))
        .column("predictions_sha256", Quantity::Text, |row| {
            row.found.predictions.get(row.split).map(|file| file.sha256.clone())
        })
}

const fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Words => "words",
        Unit::Sentences => "sentences",
    }
}

/// By task, then in the order of policies and stages.
fn task_rows<'a>(study: &'a Study, lang: &'a str) -> Vec<TaskRow<'a>> {
    let all = || {
        let stages =
            study.groups_of(lang).flat_map(|group| group.stages.iter().map(move |stage| (group, stage)));
        stages.flat_map(|(group, stage)| stage.tasks.iter().map(move |task| (group, stage, task)))
    };
    let names = distinct(all().map(|(_, _, task)| task.task.as_str()));
    names.into_iter().flat_map(|name| all().filter(move |(_, _, task)| task.task == name)).collect()
}

fn key_columns<'a>(study: &Study, staged: bool) -> TableColumns<'a, TaskRow<'a>> {
    TableColumns::default()
        .column("Task", Quantity::Text, |row: &TaskRow<'a>| row.2.task.clone())
        .and(keys::of_rows(study))
        .column_if(staged, "Stage", Quantity::Text, |row| row.1.name.clone())
}

fn describe_scores(study: &Study, lang: &str, rows: &[TaskRow<'_>], page: &mut Page) {
    let staged = rows.iter().any(|(group, ..)| group.stages.len() > 1);
    let columns = key_columns(study, staged)
        .column("Learned", Quantity::Text, |row| row.2.learned)
        .column("Scored by", Quantity::Text, |row| row.2.metric.name())
        .column("Dev", Quantity::Percent(2), |row| row.2.on("dev").map(|scored| scored.score))
        .optional("Test", Quantity::Percent(2), |row| row.2.on("test").map(|scored| scored.score))
        .column("Dev size", Quantity::Count, |(.., task)| {
            task.dev.as_ref().map(|dev| format!("{} {}", count(dev.units), unit_name(task.unit)))
        });
    let names = distinct(rows.iter().map(|row| row.2.task.as_str()));
    let below: Vec<BaselineStats> =
        names.into_iter().flat_map(|task| study.task_baselines(lang, task)).collect();
    let below = baseline_columns(study, staged).table(&below);
    page.table(columns.table(rows.iter().copied()).with_rows(below));
    if rows.iter().any(|(_, _, task)| task.metric == ScoredBy::EntityF1) {
        page.paragraph(
            "**Entity F1** is the harmonic mean of precision and recall over all entities of a cell's \
             split; an entity is right if its words and its type are. ± is over seeds.",
        );
    }
}

/// The same columns for what needs no training of the encoder.
fn baseline_columns<'a>(study: &Study, staged: bool) -> TableColumns<'a, &'a BaselineStats> {
    let nothing = |_: &&BaselineStats| TableValue::Missing;
    TableColumns::default()
        .column("Task", Quantity::Text, |one: &&'a BaselineStats| one.task.clone())
        .and(keys::policy_columns(
            study,
            |one: &&'a BaselineStats| format!("*{}*", one.title()),
            |one: &&'a BaselineStats| &one.extras,
        ))
        .column_if(staged, "Stage", Quantity::Text, nothing)
        .column("Learned", Quantity::Text, nothing)
        .column("Scored by", Quantity::Text, |one| one.metric.name())
        .column("Dev", Quantity::Percent(2), |one| one.dev.as_ref().map(|split| split.score))
        .optional("Test", Quantity::Percent(2), |one| one.test.as_ref().map(|split| split.score))
        .column("Dev size", Quantity::Count, nothing)
}

/// Rows that a stage changed, of those that are asked for.
fn changed_rows<'a>(rows: &[TaskRow<'a>], wanted: impl Fn(&TaskRow<'a>) -> bool) -> Vec<TaskRow<'a>> {
    let has_change = |row: &&TaskRow<'a>| SPLITS.into_iter().any(|split| row.2.change_on(split).is_some());
    rows.iter().filter(|row| wanted(row)).filter(has_change).copied().collect()
}

/// What a row's stage changed of its task.
fn change_on<'a>(split: &'static str) -> impl Fn(&TaskRow<'a>) -> Option<&'a StageChange> + Clone {
    move |row| row.2.change_on(split)
}

/// Changes of tasks that a stage learned from; the table of stages has the headline's.
fn describe_gains(study: &Study, rows: &[TaskRow<'_>], page: &mut Page) {
    let is_headline = |row: &TaskRow<'_>| row.1.tasks.first().is_some_and(|first| first.task == row.2.task);
    let rows = changed_rows(rows, |row| row.2.learned && !is_headline(row));
    if rows.is_empty() {
        return;
    }
    page.section(4, "What stages changed in the other tasks that they learned");
    let columns = SPLITS.into_iter().fold(key_columns(study, true), |columns, split| {
        let columns = with_change(columns, split, "change", 1, change_on(split));
        with_relative_change(columns, split, change_on(split))
    });
    page.table(columns.table(rows));
}

/// What became of tasks while a stage learned something else.
fn describe_drift(study: &Study, rows: &[TaskRow<'_>], page: &mut Page) {
    let rows = changed_rows(rows, |row| !row.2.learned);
    if rows.is_empty() {
        return;
    }
    page.section(4, "Drift of tasks that a stage did not learn");
    let columns = SPLITS.into_iter().zip([0, 1]).fold(key_columns(study, true), |columns, (split, rank)| {
        with_change(columns, split, "drift", rank, change_on(split))
    });
    let columns = columns.optional("Predictions", Quantity::Text, |row| {
        describe_identity(SPLITS.map(|split| row.2.change_on(split)))
    });
    page.table(columns.table(rows));
    page.paragraph(
        "Drift is the score after the stage minus the same cell's score before it: the mean over seeds \
         and its 95 % interval, as in the table of stages. **Bit-identical** means that the files of predictions before and \
         after the stage have the same SHA-256.",
    );
}

/// Whether predictions are the same bytes before and after, over the splits that are stored.
fn describe_identity(changes: [Option<&StageChange>; 2]) -> Option<String> {
    let sum =
        |get: fn(&StageChange) -> usize| changes.iter().flatten().map(|change| get(change)).sum::<usize>();
    let (same, all) = (sum(|change| change.identical), sum(|change| change.compared));
    match (same, all) {
        (_, 0) => None,
        (0, _) => Some("changed".into()),
        _ if same == all => Some(format!("bit-identical ({})", plural(all, "file"))),
        _ => Some(format!("bit-identical in {same} of {}", plural(all, "file"))),
    }
}
