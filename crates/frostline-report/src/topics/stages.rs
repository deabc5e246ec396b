//! Stages: what each learned, and what it changed.

use crate::chart::{Bar, BarPanel, BarRow, Bars, Chart, ChartNote, Figure, Lengths, Theme, Tone};
use crate::fields::JsonFields;
use crate::keys;
use crate::page::Page;
use crate::study::stages::{ScoredBy, StageChange, StageStats, TaskStats};
use crate::study::{CellGroup, SPLITS, Study, distinct, panels};
use crate::table::{Quantity, TableColumns};
use crate::topic::{ReportPlace, Topic};
use crate::topics::accuracy::seeds_note;

/// Stages.
pub(crate) struct StagesTopic;

/// A stage of a group.
type StageRow<'a> = (&'a CellGroup, &'a StageStats);

impl Topic for StagesTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        if let ReportPlace::Language(lang) = place {
            if !study.groups_of(lang).any(|group| group.stages.len() > 1) {
                return;
            }
            page.section(3, "Stages");
            describe_learning(study, lang, page);
            describe_scores(study, lang, page);
            describe_relative_changes(study, lang, page);
        }
    }

    fn figures(&self, study: &Study) -> Vec<Figure> {
        if study.is_staged() { vec![scores_figure(study)] } else { Vec::new() }
    }

    fn group_facts(&self, _: &Study, group: &CellGroup) -> JsonFields {
        JsonFields::default().with_some("stages", &group.stages)
    }
}

fn stage_rows<'a>(study: &'a Study, lang: &'a str) -> impl Iterator<Item = StageRow<'a>> {
    study.groups_of(lang).flat_map(|group| group.stages.iter().map(move |stage| (group, stage)))
}

/// The first columns of a row: what is frozen, further axes, the stage.
fn key_columns<'a>(study: &Study) -> TableColumns<'a, StageRow<'a>> {
    keys::of_rows(study).column("Stage", Quantity::Text, |row: &StageRow<'a>| row.1.name.clone())
}

fn describe_learning(study: &Study, lang: &str, page: &mut Page) {
    let columns = key_columns(study)
        .column("Frozen in it", Quantity::Text, |row| row.1.policy.clone())
        .column("Trainable parameters", Quantity::Count, |row| row.1.trainable_parameters)
        .column("Trainable", Quantity::Percent(1), |row| {
            row.1.trainable_parameters as f64 / row.1.total_parameters.max(1) as f64
        })
        .column("Epochs", Quantity::Count, |row| row.1.epochs)
        .column("Steps", Quantity::Count, |row| row.1.steps)
        .optional("Learns from", Quantity::Text, |(_, stage)| {
            let learned = stage.tasks.iter().filter(|task| task.learned);
            let learned: Vec<&str> = learned.map(|task| task.task.as_str()).collect();
            (stage.tasks.len() > 1).then(|| learned.join(", "))
        });
    page.table(columns.table(stage_rows(study, lang)));
}

fn headline_task(stage: &StageStats) -> Option<&TaskStats> {
    stage.tasks.first()
}

/// The metric of the headline; of several kinds the neutral word.
fn metric_name<'a>(tasks: impl Iterator<Item = &'a TaskStats>) -> &'static str {
    match distinct(tasks.map(|task| task.metric)).as_slice() {
        [one] => one.name(),
        [] => ScoredBy::Accuracy.name(),
        _ => "score",
    }
}

/// A split at the start of a head.
pub(crate) fn capital_split(split: &str) -> &'static str {
    match split {
        "train" => "Train",
        "dev" => "Dev",
        _ => "Test",
    }
}

fn describe_scores(study: &Study, lang: &str, page: &mut Page) {
    let name = metric_name(stage_rows(study, lang).filter_map(|(_, stage)| headline_task(stage)));
    let columns = SPLITS.into_iter().fold(key_columns(study), |columns, split| {
        let capital = capital_split(split);
        let columns = columns.optional(format!("{capital} {name}"), Quantity::Percent(2), move |row| {
            Some(headline_task(row.1)?.on(split)?.score)
        });
        let columns = with_change(columns, split, "change", 1, move |row| of_headline(row, split));
        columns.optional(format!("{capital}: what would decide"), Quantity::Text, move |row| {
            of_headline(row, split)?.verdict.as_ref()?.would_decide()
        })
    });
    page.table(columns.table(stage_rows(study, lang)));
    page.paragraph(
        "A change is the score after a stage minus the same cell's score before it: the mean over \
         seeds and, in brackets, its 95 % interval. With a verdict, this is for other seeds and other sentences, \
         as for policies; without, it is Student's over seeds, and one seed gives none.",
    );
}

/// Adds the columns of a change: its difference, which has this name, and its verdict.
pub(crate) fn with_change<'a, R: 'a>(
    columns: TableColumns<'a, R>,
    split: &'static str,
    name: &str,
    rank: u8,
    of: impl Fn(&R) -> Option<&'a StageChange> + Clone + 'a,
) -> TableColumns<'a, R> {
    let (capital, told) = (capital_split(split), of.clone());
    columns
        .ranked(rank, format!("{capital}: {name}"), Quantity::Points(2), move |row| {
            of(row).map(StageChange::difference)
        })
        .ranked(rank.max(1), format!("{capital}: verdict"), Quantity::Text, move |row| {
            told(row).and_then(StageChange::describe)
        })
}

/// Adds the columns of a change as shares: of the score, and of the errors.
pub(crate) fn with_relative_change<'a, R: 'a>(
    columns: TableColumns<'a, R>,
    split: &'static str,
    of: impl Fn(&R) -> Option<&'a StageChange> + Clone + 'a,
) -> TableColumns<'a, R> {
    let (capital, errors) = (capital_split(split), of.clone());
    columns
        .optional(format!("{capital}: relative change"), Quantity::SignedPercent(2), move |row| {
            of(row).and_then(|change| change.relative)
        })
        .optional(format!("{capital}: fewer errors"), Quantity::SignedPercent(2), move |row| {
            errors(row).and_then(|change| change.error_reduction)
        })
}

/// What a stage changed of the headline on a split.
fn of_headline<'a>(row: &StageRow<'a>, split: &str) -> Option<&'a StageChange> {
    headline_task(row.1)?.change_on(split)
}

/// The same changes as shares: of the score, and of the errors.
fn describe_relative_changes(study: &Study, lang: &str, page: &mut Page) {
    let changed = stage_rows(study, lang)
        .filter(|row| SPLITS.into_iter().any(|split| of_headline(row, split).is_some()));
    let changed: Vec<StageRow<'_>> = changed.collect();
    if changed.is_empty() {
        return;
    }
    let columns = SPLITS.into_iter().fold(key_columns(study), |columns, split| {
        with_relative_change(columns, split, move |row| of_headline(row, split))
    });
    page.table(columns.table(changed));
    page.paragraph(
        "**Relative change** is the change as a share of the score before. **Fewer errors** is the \
         share of what was wrong before the stage that it put right (less than 0: it did harm).",
    );
}

/// Dev scores after every stage, a panel per language, further axes and task.
fn scores_figure(study: &Study) -> Figure {
    let mut all = Vec::new();
    let panels = panels(study);
    let alone = panels.len() == 1;
    for panel in panels {
        let tasks = panel.groups.iter().flat_map(|group| &group.stages).flat_map(|stage| &stage.tasks);
        let tasks = distinct(tasks.map(|task| (task.task.as_str(), task.metric)));
        let several = tasks.len() > 1;
        for (name, metric) in tasks {
            let rows = panel.groups.iter().map(|group| BarRow {
                name: group.policy.clone(),
                tone: Tone::Policy(study.place_of(&group.policy)),
                bars: bars_of_task(group, name),
            });
            let title = match (several, alone) {
                (false, _) => panel.title.clone(),
                (true, true) => format!("task {name}"),
                (true, false) => format!("{}: task {name}", panel.title),
            };
            let axis = format!("dev {}, %", metric.name());
            all.push(BarPanel { kind: name.to_string(), ..BarPanel::new(title, axis, rows.collect()) });
        }
    }
    let mut notes: Vec<ChartNote> = vec![
        "Mark and number: mean score on dev after the stage. Thin line: 95 % Wilson interval of an \
         accuracy at the size of dev."
            .into(),
    ];
    let mut tasks = study.groups.iter().flat_map(|group| &group.stages).flat_map(|stage| &stage.tasks);
    if tasks.any(|task| task.metric == ScoredBy::EntityF1) {
        notes.push("Entity F1 has no such interval.".into());
    }
    notes.push(seeds_note(study).into());
    Figure {
        path: "figures/stages.svg",
        title: "Dev score after each stage",
        theme: Theme::Parts,
        about: "Each mark is a policy's mean dev score after a stage, in the order of stages.".into(),
        chart: Chart::Bars(Bars {
            lengths: Lengths::Groups,
            panels: all,
            interval: "95 % interval",
            diamond: "",
        }),
        notes,
        across: 2,
    }
}

fn bars_of_task(group: &CellGroup, name: &str) -> Vec<Bar> {
    let bar = |stage: &StageStats| {
        let dev = stage.tasks.iter().find(|task| task.task == name)?.dev.as_ref()?;
        Some(Bar::of_share(stage.name.clone(), dev.score, dev.interval))
    };
    group.stages.iter().filter_map(bar).collect()
}
