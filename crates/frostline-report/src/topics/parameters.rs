//! How much learns: trainable parameters, what that saves, and whether frozen ones stayed as they were.

use std::collections::BTreeSet;

use frostline_record::Accounts;

use crate::chart::{Across, Chart, Figure, Note, Scatter, ScatterPanel, ScatterPoint, Theme, Tone};
use crate::fields::Fields;
use crate::number::{listed, plural};
use crate::study::{CellView, Done, Group, Panel, Study, named, panels, unnamed_note};
use crate::table::{Columns, Quantity};
use crate::topic::{StudyRow, Topic};

/// Parameters.
pub(crate) struct Parameters;

impl Topic for Parameters {
    fn reading(&self, _: &Study) -> Vec<String> {
        vec![
            "**Trainable parameters** are the numbers that learn. **Parameter saving** is the frozen \
             share of all parameters."
                .into(),
        ]
    }

    fn study_columns<'a>(&self, _: &'a Study) -> Columns<'a, StudyRow<'a>> {
        let of = |row: &StudyRow<'a>| row.group()?.plain_parameters();
        Columns::default()
            .optional("Trainable parameters", Quantity::Count, move |row| of(row).map(|p| p.trainable))
            .optional("Trainable", Quantity::Percent(1), move |row| of(row).map(|p| p.trainable_share))
            .optional("Parameter saving", Quantity::Percent(1), move |row| of(row).map(|p| p.saving))
    }

    fn figures(&self, study: &Study) -> Vec<Figure> {
        vec![figure(study)]
    }

    fn caveats(&self, study: &Study) -> Vec<String> {
        frozen(study).into_iter().chain(unmoved(study)).collect()
    }

    fn cell_columns<'a>(&'a self, _: &'a Study) -> Columns<'a, &'a CellView> {
        let accounts = |view: &&'a CellView| view.done().map(|done| done.result.accounts());
        Columns::default()
            .column("total_parameters", Quantity::Count, move |view| {
                accounts(view).map(|a: &Accounts| a.total)
            })
            .column("trainable_parameters", Quantity::Count, move |view| accounts(view).map(|a| a.trainable))
    }

    fn group_fields(&self, _: &Study, group: &Group) -> Fields {
        Fields::default().with("parameters", &group.parameters).with("steps", &group.steps)
    }
}

fn frozen(study: &Study) -> Option<String> {
    let done = study.cells.iter().filter(|view| view.done().is_some()).count();
    (done > 0).then(|| {
        format!(
            "Frozen means frozen: in the {} that are done, each frozen parameter was compared bit by bit \
             with its start. A cell in which one had changed would stand here as failed.",
            plural(done, "cell")
        )
    })
}

fn unmoved(study: &Study) -> Option<String> {
    let paths = |done: &Done| -> Vec<String> {
        let stages = done.result.stages.iter();
        stages.flat_map(|stage| stage.freezing.unmoved.iter().map(|path| format!("`{path}`"))).collect()
    };
    let all: Vec<Vec<String>> = study.cells.iter().filter_map(CellView::done).map(paths).collect();
    let cells = all.iter().filter(|paths| !paths.is_empty()).count();
    let unmoved: BTreeSet<String> = all.into_iter().flatten().collect();
    (!unmoved.is_empty()).then(|| {
        format!(
            "In {} some parameters were free to learn but did not move: {}.",
            plural(cells, "cell"),
            listed(&unmoved.into_iter().collect::<Vec<_>>())
        )
    })
}

/// Accuracy against the number of parameters that learn.
fn figure(study: &Study) -> Figure {
    let panels = panels(study);
    let mut notes: Vec<Note> = vec![
        "Whisker: 95 % Wilson interval at the size of dev; points whose whiskers overlap may differ by \
         chance. A whisker not larger than its point is omitted."
            .into(),
        Note::YAxis,
        Note::XAxis,
    ];
    notes.extend(unnamed_note(&panels).map(Note::Text));
    Figure {
        path: "figures/parameters.svg",
        title: "Dev accuracy against what learns",
        theme: Theme::Accuracy,
        about: "Each point is a policy. Further left means that fewer parameters learn; higher \
                means better. The whisker is the 95 % Wilson interval; one smaller than its point \
                is hidden by it."
            .into(),
        chart: Chart::Scatter(Scatter {
            panels: panels.iter().map(|panel| points(study, panel)).collect(),
            across: Across::Count,
            x_title: "trainable parameters",
            y_title: "dev accuracy, %",
        }),
        notes,
        across: study.langs().len(),
    }
}

fn points(study: &Study, panel: &Panel<'_>) -> ScatterPanel {
    let rows = panel.groups.iter();
    let rows: Vec<_> =
        rows.filter_map(|group| Some((group, group.dev.as_ref()?, group.parameters.as_ref()?))).collect();
    let ends: Vec<(&str, f64)> =
        rows.iter().map(|(group, dev, _)| (group.policy.as_str(), dev.score.mean)).collect();
    let points = rows.iter().zip(named(&ends)).map(|((group, dev, parameters), named)| ScatterPoint {
        name: named.then(|| group.policy.clone()),
        tone: Tone::of(study.place_of(&group.policy), named),
        x: parameters.trainable as f64,
        x_interval: None,
        y: dev.score.mean,
        interval: dev.accuracy_interval.map(|ends| [ends.low, ends.high]),
    });
    ScatterPanel {
        title: panel.title.clone(),
        points: points.collect(),
        front: Vec::new(),
        references: Vec::new(),
    }
}
