//! What happens from epoch to epoch: accuracy and losses, and what learns, if that changes.

use frostline_record::PublishedRun;
use frostline_score::MeanStd;

use crate::chart::{
    Chart, ChartLine, ChartNote, Figure, LineChart, LineKey, LinePanel, Spread, Theme, Tone, XAxis, YAxis,
};
use crate::fields::JsonFields;
use crate::keys;
use crate::page::Page;
use crate::study::epochs::EpochStats;
use crate::study::words::counted_units;
use crate::study::words::{DEV_AXIS, dev_accuracy};
use crate::study::{CellGroup, Panel, Study, choose_named, distinct, panels, unnamed_note};
use crate::table::Quantity;
use crate::topic::{ReportPlace, Topic};

/// Convergence.
pub(crate) struct ConvergenceTopic;

impl Topic for ConvergenceTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        if let ReportPlace::Language(lang) = place {
            describe_epochs(study, lang, page);
            describe_trainable(study, lang, page);
        }
    }

    fn figures(&self, study: &Study) -> Vec<Figure> {
        let points = |group: &CellGroup| {
            group.epochs.iter().map(|row| (f64::from(row.epoch), row.dev_accuracy)).collect()
        };
        let lines = LineChart {
            panels: Vec::new(),
            x_title: "epoch",
            x: XAxis::From(1),
            y_title: DEV_AXIS,
            y: YAxis::Shares,
            spread: Spread::Band,
            key: LineKey::Marks,
        };
        let shade = "Line: mean over seeds. Shade: one standard deviation.".into();
        let notes = [ChartNote::YAxis].into_iter().chain(study.has_several_seeds().then_some(shade));
        vec![Figure {
            path: "figures/convergence.svg",
            title: dev_accuracy!(" after each epoch"),
            about: "Each line is a policy's mean over seeds.".into(),
            ..curves_figure(study, lines, notes, &points)
        }]
    }

    fn group_facts(&self, _: &Study, group: &CellGroup) -> JsonFields {
        JsonFields::default().with("epochs", &group.epochs)
    }
}

/// A group's row of an epoch.
fn row_of(group: &CellGroup, epoch: u32) -> Option<&EpochStats> {
    group.epochs.iter().find(|row| row.epoch == epoch)
}

/// A number of each epoch, ours and a published run's.
pub(crate) struct EpochFact {
    /// The title of its table; `{unit}` is what is labelled.
    title: &'static str,
    pub unit: Quantity,
    pub ours: fn(&EpochStats) -> Option<MeanStd>,
    pub published: fn(&PublishedRun) -> &[f64],
    /// What a reference calls it that defines it below its table.
    pub defined_as: &'static str,
}

impl EpochFact {
    pub fn title(&self, study: &Study) -> String {
        self.title.replace("{unit}", counted_units(study).one)
    }

    /// Whether it is the accuracy, which references count in two ways.
    pub fn is_accuracy(&self) -> bool {
        self.title.starts_with(dev_accuracy!(""))
    }
}

/// All numbers of an epoch, in the order of their tables.
pub(crate) const EPOCH_FACTS: [EpochFact; 5] = [
    EpochFact {
        title: dev_accuracy!(" % after each epoch"),
        unit: Quantity::Share(2),
        ours: |row| Some(row.dev_accuracy),
        published: |run| &run.dev_accuracy,
        defined_as: "",
    },
    EpochFact {
        title: "Dev macro F1 % after each epoch",
        unit: Quantity::Share(2),
        ours: |row| row.dev_macro_f1,
        published: |_| &[],
        defined_as: "",
    },
    EpochFact {
        title: "Dev F1 % of the positive label after each epoch",
        unit: Quantity::Share(2),
        ours: |row| row.dev_positive_f1,
        published: |run| &run.dev_f1,
        defined_as: "dev_f1",
    },
    EpochFact {
        title: "Dev loss after each epoch, nats per {unit}",
        unit: Quantity::Number(4, ""),
        ours: |row| Some(row.dev_loss_nats),
        published: |run| &run.dev_loss_nats,
        defined_as: "",
    },
    EpochFact {
        title: "Train loss of each epoch, nats per {unit}",
        unit: Quantity::Number(4, ""),
        ours: |row| Some(row.train_loss_nats),
        published: |run| &run.train_loss_nats,
        defined_as: "train_loss_nats",
    },
];

/// Accuracy and loss on dev, and train loss after every epoch.
fn describe_epochs(study: &Study, lang: &str, page: &mut Page) {
    let rows = || study.groups_of(lang).flat_map(|group| &group.epochs);
    let last = rows().map(|row| row.epoch).max().unwrap_or(0);
    for fact in EPOCH_FACTS.iter().filter(|fact| rows().any(|row| (fact.ours)(row).is_some())) {
        page.section(3, fact.title(study));
        let columns = epoch_heads(study, lang, last).into_iter().fold(
            keys::of_group(study),
            |columns, (epoch, head)| {
                columns.optional(head, fact.unit, move |group| row_of(group, epoch).and_then(fact.ours))
            },
        );
        page.table(columns.table(study.groups_of(lang)));
        list_stages(study, lang, page);
    }
}

/// The heads of a language's epochs: `3`, or `3 (tuning)` if all cells are in one stage then.
fn epoch_heads(study: &Study, lang: &str, last: u32) -> Vec<(u32, String)> {
    let head = |epoch: u32| {
        let rows = study.groups_of(lang).flat_map(|group| group.epochs.iter());
        let stages = distinct(rows.filter(|row| row.epoch == epoch).map(|row| row.stage.as_deref()));
        match stages.as_slice() {
            [Some(stage)] => (epoch, format!("{epoch} ({stage})")),
            _ => (epoch, epoch.to_string()),
        }
    };
    (1..=last).map(head).collect()
}

/// Lists each group's stages by epoch, if groups differ in them.
fn list_stages(study: &Study, lang: &str, page: &mut Page) {
    const ONLY: &str = "the only stage";
    let of = |group: &CellGroup| -> Vec<(u32, Option<String>)> {
        group.epochs.iter().map(|row| (row.epoch, row.stage.clone())).collect()
    };
    let all: Vec<_> = study.groups_of(lang).filter(|group| !group.epochs.is_empty()).collect();
    if all.iter().all(|group| group.epochs.iter().all(|row| row.stage.is_none()))
        || distinct(all.iter().map(|group| of(group))).len() == 1
    {
        return;
    }
    for group in all {
        let stage = |row: &EpochStats| row.stage.clone().unwrap_or_else(|| ONLY.into());
        let parts = distinct(group.epochs.iter().map(stage)).into_iter().map(|name| {
            let here = group.epochs.iter().filter(|row| stage(row) == name);
            match here.map(|row| row.epoch).collect::<Vec<_>>().as_slice() {
                [one] => format!("epoch {one} is {name}"),
                [first, .., last] => format!("epochs {first} to {last} are {name}"),
                [] => name,
            }
        });
        page.item(format!("{}: {}", keys::name(group), parts.collect::<Vec<_>>().join(", ")));
    }
}

/// What learns after each epoch, if that changes within a cell.
fn describe_trainable(study: &Study, lang: &str, page: &mut Page) {
    let changes = |group: &&CellGroup| group.epochs.iter().any(|row| row.trainable_parameters.is_some());
    let thawing: Vec<&CellGroup> = study.groups_of(lang).filter(changes).collect();
    let Some(last) = thawing.iter().flat_map(|group| group.epochs.iter().map(|row| row.epoch)).max() else {
        return;
    };
    page.section(3, "Trainable parameters in each epoch");
    let heads = epoch_heads(study, lang, last);
    let columns = keys::of_group(study).each(
        heads,
        |(_, head)| head.clone(),
        Quantity::Count,
        |group, (epoch, _)| row_of(group, *epoch).and_then(|row| row.trainable_parameters),
    );
    let others = study.groups_of(lang).count() > thawing.len();
    page.table(columns.table(thawing));
    let rest = if others { " In all others the number of the first table learns throughout." } else { "" };
    page.paragraph(format!("What learned at the end of each epoch, in cells in which that changes.{rest}"));
}

/// A figure of a curve per policy, without its name and title. `lines` has no panels yet.
pub(crate) fn curves_figure(
    study: &Study,
    lines: LineChart,
    notes: impl IntoIterator<Item = ChartNote>,
    points: &dyn Fn(&CellGroup) -> Vec<(f64, MeanStd)>,
) -> Figure {
    let panels = panels(study);
    let lines_of = |panel: &Panel<'_>| policy_lines(study, panel, points);
    Figure {
        path: "",
        title: "",
        theme: Theme::Learning,
        about: String::new(),
        chart: Chart::Lines(LineChart { panels: panels.iter().map(lines_of).collect(), ..lines }),
        notes: notes.into_iter().chain(unnamed_note(&panels).map(ChartNote::Text)).collect(),
        across: study.langs().len(),
    }
}

/// A panel's policies as lines; if there are too many, only some carry names.
fn policy_lines(
    study: &Study,
    panel: &Panel<'_>,
    points: &dyn Fn(&CellGroup) -> Vec<(f64, MeanStd)>,
) -> LinePanel {
    let lines = panel.groups.iter().filter_map(|group| {
        let mut points = points(group);
        points.retain(|(_, stat)| stat.mean.is_finite());
        let end = points.last()?.1.mean;
        Some((group.policy.as_str(), points, end))
    });
    let lines: Vec<_> = lines.collect();
    let ends: Vec<(&str, f64)> = lines.iter().map(|(policy, _, end)| (*policy, *end)).collect();
    let named = choose_named(&ends);
    let lines = lines.into_iter().zip(named).map(|((policy, points, _), named)| ChartLine {
        name: named.then(|| policy.to_string()),
        tone: Tone::of(study.place_of(policy), named),
        points,
    });
    LinePanel { title: panel.title.clone(), lines: lines.collect() }
}
