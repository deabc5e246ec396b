//! How far each part of the encoder moved from where it started, and what froze on the way.

use frostline_record::{Change, Outcome};
use frostline_score::MeanStd;

use crate::chart::{Chart, Figure, Heat, HeatColour, HeatField, HeatPanel, Theme};
use crate::keys;
use crate::number::fixed;
use crate::page::Page;
use crate::study::{CellGroup, CellView, Study, distinct, panels};
use crate::table::Quantity;
use crate::topic::{ReportPlace, Topic, TopicTable};

/// Changes of the encoder.
pub(crate) struct ChangesTopic;

/// A figure of a part.
type PartFigure = fn(&PartChange) -> MeanStd;

/// A policy with its parts.
type PartsOfPolicy = (String, Vec<PartChange>);

/// A part of the encoder over seeds.
struct PartChange {
    /// `embeddings`, `block 0`, ...
    part: String,
    relative: MeanStd,
    cka: MeanStd,
}

impl Topic for ChangesTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        if let ReportPlace::Language(lang) = place {
            describe_settling(study, lang, page);
            describe_changes(study, lang, page);
        }
    }

    fn figures(&self, study: &Study) -> Vec<Figure> {
        if has_changes(study) { vec![changes_figure(study)] } else { Vec::new() }
    }

    fn tables(&self, study: &Study) -> Vec<TopicTable> {
        if !has_changes(study) {
            return Vec::new();
        }
        let done = study.cells.iter().filter_map(|view| Some((view, view.done()?)));
        let rows = done.flat_map(|(view, done)| done.result.changes.iter().map(move |change| (view, change)));
        let columns = keys::of_cell(study, |row: &(&CellView, &Change)| row.0)
            .column("part", Quantity::Text, |row| row.1.group.clone())
            .column("relative_change", Quantity::Exact, |row| row.1.relative)
            .column("cka", Quantity::Exact, |row| row.1.cka);
        vec![TopicTable::Rows("changes", columns.table(rows))]
    }
}

/// Whether any record has changes.
fn has_changes(study: &Study) -> bool {
    study.cells.iter().filter_map(CellView::done).any(|done| !done.result.changes.is_empty())
}

/// A group's parts from the input up; empty if its records have none.
fn changes_of_group(study: &Study, group: &CellGroup) -> Vec<PartChange> {
    let results: Vec<&Outcome> =
        study.members(group).filter_map(CellView::done).map(|done| &done.result).collect();
    let all = || results.iter().flat_map(|result| &result.changes);
    let stats = |part: &str| {
        let over = |get: fn(&Change) -> f64| {
            MeanStd::of(&all().filter(|change| change.group == part).map(get).collect::<Vec<_>>())
        };
        Some(PartChange {
            part: part.into(),
            relative: over(|change| change.relative)?,
            cka: over(|change| change.cka)?,
        })
    };
    distinct(all().map(|change| change.group.as_str())).into_iter().filter_map(stats).collect()
}

/// Relative change and CKA of every part of the encoder, a table each.
fn describe_changes(study: &Study, lang: &str, page: &mut Page) {
    let rows: Vec<(&CellGroup, Vec<PartChange>)> = study
        .groups_of(lang)
        .map(|group| (group, changes_of_group(study, group)))
        .filter(|(_, parts)| !parts.is_empty())
        .collect();
    if rows.is_empty() {
        return;
    }
    // The deepest encoder's parts, in their order, then parts that only others have.
    let deepest = rows.iter().map(|(_, parts)| parts).max_by_key(|parts| parts.len());
    let all = deepest.into_iter().chain(rows.iter().map(|(_, parts)| parts));
    let names: Vec<&str> = distinct(all.flatten().map(|part| part.part.as_str()));
    page.section(3, "How far each block moved");
    let kinds: [(&str, Quantity, PartFigure); 2] = [
        (
            "Relative change in percent: the norm of the difference of a part's parameters from its start, over \
             their norm at the start. LoRA counts as merged; what else was added is left out.",
            Quantity::Share(2),
            |part| part.relative,
        ),
        (
            "Linear CKA between a part's outputs before and after, over the words of dev. 1 means that nothing \
             changed but direction and scale; what comes in from below counts too.",
            Quantity::Number(3, ""),
            |part| part.cka,
        ),
    ];
    for (about, unit, get) in kinds {
        type PartsRow<'a> = &'a (&'a CellGroup, Vec<PartChange>);
        let columns = keys::of_rows(study).each(
            names.clone(),
            |part| (*part).into(),
            unit,
            move |row: &PartsRow<'_>, name| row.1.iter().find(|part| part.part == **name).map(get),
        );
        page.paragraph(about);
        page.table(columns.table(&rows));
    }
}

/// What froze on the way, and when.
fn describe_settling(study: &Study, lang: &str, page: &mut Page) {
    let told: Vec<(&CellGroup, Vec<String>)> = study
        .groups_of(lang)
        .map(|group| (group, settled_parts(study, group)))
        .filter(|(_, parts)| !parts.is_empty())
        .collect();
    if told.is_empty() {
        return;
    }
    page.section(3, "What froze on the way");
    for (group, parts) in told {
        page.item(format!("**{}**: {}", keys::name(group), parts.join(", ")));
    }
    page.paragraph(
        "Means over seeds. What is not named learned to the end. If nothing is dropped in what is frozen, \
         its output is read from memory from then on, as far as that holds it.",
    );
}

fn settled_parts(study: &Study, group: &CellGroup) -> Vec<String> {
    let cells = || study.members(group).filter_map(CellView::done);
    let stages = || cells().flat_map(|done| done.result.stages.iter());
    let all = || stages().flat_map(|stage| stage.settled.iter().map(move |settled| (stage, settled)));
    let seeds = cells().count();
    let told = |part: &str| {
        let of_part = all().filter(|(_, settled)| settled.group == part);
        let shares: Vec<f64> =
            of_part.map(|(stage, settled)| settled.step as f64 / stage.steps.max(1) as f64).collect();
        let share = MeanStd::of(&shares)?.times(100.0);
        let some = if shares.len() == seeds {
            String::new()
        } else {
            format!(" in {} of {seeds} cells", shares.len())
        };
        Some(format!("{part} after {} % of the steps{some}", fixed(share.mean, 0)))
    };
    distinct(all().map(|(_, settled)| settled.group.as_str())).into_iter().filter_map(told).collect()
}

/// What a panel shows of a part: its name, its shade's measure, and its words.
struct Shading {
    name: &'static str,
    measure: fn(&PartChange) -> f64,
    label: fn(&PartChange) -> String,
}

const SHADINGS: [Shading; 2] = [
    Shading {
        name: "relative change of parameters, %",
        measure: |part| part.relative.mean,
        label: |part| fixed(part.relative.mean * 100.0, 2),
    },
    Shading {
        name: "CKA of outputs with the start",
        measure: |part| 1.0 - part.cka.mean,
        label: |part| fixed(part.cka.mean, 3),
    },
];

/// Policies by parts, shaded. The same shade is the same change in every panel.
fn changes_figure(study: &Study) -> Figure {
    let maps: Vec<(String, Vec<PartsOfPolicy>)> = panels(study)
        .into_iter()
        .map(|panel| {
            let rows =
                panel.groups.iter().map(|group| (group.policy.clone(), changes_of_group(study, group)));
            (panel.title, rows.filter(|(_, parts)| !parts.is_empty()).collect())
        })
        .collect();
    let mut heats = Vec::new();
    for shading in &SHADINGS {
        let parts = maps.iter().flat_map(|(_, rows)| rows).flat_map(|(_, parts)| parts);
        let top = parts.map(shading.measure).fold(f64::MIN_POSITIVE, f64::max);
        // A root, so that small changes can be distinguished from none.
        let shade = |part: &PartChange| 0.75 * ((shading.measure)(part) / top).clamp(0.0, 1.0).sqrt();
        let field = |part: &PartChange| Some(HeatField { label: (shading.label)(part), shade: shade(part) });
        for (title, rows) in maps.iter().filter(|(_, rows)| !rows.is_empty()) {
            heats.push(HeatPanel {
                title: format!("{title}: {}", shading.name),
                columns: rows[0].1.iter().map(|part| vec![part.part.replace("embeddings", "emb.")]).collect(),
                rows: rows
                    .iter()
                    .map(|(policy, parts)| (policy.clone(), parts.iter().map(field).collect()))
                    .collect(),
            });
        }
    }
    Figure {
        path: "figures/changes.svg",
        title: "How far each part of the encoder moved",
        theme: Theme::Parts,
        about: "Each row is a policy, each column a part of the encoder. The first panels show how far its \
                parameters moved, the others how alike its outputs are to those at the start."
            .into(),
        chart: Chart::Heat(Heat { panels: heats, colour: HeatColour::Much }),
        notes: vec!["Mean over seeds. The darker a field, the further from the start.".into()],
        across: study.langs().len(),
    }
}
