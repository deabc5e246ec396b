//! What training costs: times, speeds, and what was predicted of them. Loading, computing a prefix and evaluation
//! are no part of training time.

mod prefix;
mod turns;

use frostline_score::MeanStd;
use serde::Serialize;

use crate::facts::{self, FactTable};
use crate::fields::JsonFields;
use crate::keys;
use crate::page::Page;
use crate::study::groups::GroupTimes;
use crate::study::hardware::Hardware;
use crate::study::{CellGroup, CellView, Study};
use crate::table::Quantity;
use crate::topic::{ReportPlace, Topic, TopicTable};

use prefix::PrefixStats;

/// What training costs.
pub(crate) struct TrainingCostTopic;

/// The constant prefix of a group's cells.
fn prefix_of(study: &Study, group: &CellGroup) -> Option<PrefixStats> {
    PrefixStats::of(&study.members(group).filter_map(CellView::done).collect::<Vec<_>>())
}

impl Topic for TrainingCostTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        match place {
            ReportPlace::Reading => page.items({
                let in_turns = !study.step_costs.is_empty();
                let baseline = if study.has_baseline() {
                    "**vs none** compares with `none`, in which everything learns: each cell with the `none` cell of the same seed."
                } else {
                    "The plan has no policy `none`, so time saved and differences in accuracy have \
                     nothing to be measured against."
                };
                let saving = if in_turns { turns::READING.into() } else { turns::why_untimed(study) };
                vec![
                    baseline.into(),
                    "**Training time** is the time of the training steps alone. Loading, computing a \
                     constant prefix and evaluation are listed apart. Cells are run seed by seed, each seed's \
                     policies in turn, so that a machine that slows down slows all policies alike. Median step \
                     times leave out a cell's first three steps."
                        .into(),
                    saving,
                    "**Samples/s** and **steps/s** are train sentences and optimiser steps per second of \
                     training time."
                        .into()
                ]
            }),
            ReportPlace::Language(lang) => {
                describe_times(study, lang, page);
                describe_prefixes(study, lang, page);
                match study.step_costs.is_empty() {
                    true => describe_predictions(study, lang, page),
                    false => turns::write_section(study, lang, page),
                }
            }
            ReportPlace::Caveats => page.items({
                let of_cells = (!study.machines.is_empty()).then(|| cells_while_busy(study)).flatten();
                of_cells.into_iter().chain(turns::busy_caveat(study)).collect::<Vec<String>>()
            }),
            _ => {}
        }
    }

    fn tables(&self, study: &Study) -> Vec<TopicTable> {
        let caption = match study.step_costs.compare_cpu_time() {
            true => format!(
                "{CAPTION} If processor time is given, time saved is measured in it, since the machine was busy."
            ),
            false => CAPTION.into(),
        };
        vec![TopicTable::Paper(facts::paper_table(study, FactTable::Costs, "costs", caption))]
    }

    fn group_facts(&self, study: &Study, group: &CellGroup) -> JsonFields {
        JsonFields::default()
            .with("cost", &group.forecast)
            .with("times", &group.times)
            .with_some("times_by_machine", &by_machine(study, group))
            .with("cells_while_busy", &group.busy)
            .with("prefix", &prefix_of(study, group))
            .with("measured_step", &study.step_cost(group))
    }
}

/// The caption of the costs in LaTeX.
const CAPTION: &str = "What a training step costs: predicted from shapes, and measured in turns. Time saved is in percent of a step of none.";

/// The column that marks times of a machine that did other work.
const BUSY: &str = "While busy";

/// What that column means.
const BUSY_MEANS: &str = "**While busy**: so many of the cells (of those with a measured load) ran while more than a tenth of \
                          the processors' time went to other programs, or more than a hundredth to other virtual machines. \
                          Their times are longer for it.";

/// What the column "Predicted step" means.
const PREDICTED_MEANS: &str = "**Predicted step**: a mean step as `frostline sweep --list` predicts it, from the cost model and a few \
                               steps that were timed on the same machine before the cell ran (`--calibrate`). If blocks \
                               freeze by their gradients, it is for a run in which none has.";

/// The caveat that cells ran on a busy machine.
fn cells_while_busy(study: &Study) -> Option<String> {
    let sum = |get: fn(&CellGroup) -> usize| study.groups.iter().map(get).sum::<usize>();
    let (busy, watched) = (sum(|group| group.busy), sum(|group| group.watched));
    (busy > 0).then(|| {
        format!(
            "**{busy} of {watched} cells ran while the machine was busy** with other work, and their training times are longer \
             for it. Tables of times mark them in the column \"{BUSY}\"."
        )
    })
}

/// A group with the times of one of the machines that its cells ran on.
type TimesRow<'a> = (&'a CellGroup, Option<&'a (Hardware, GroupTimes)>);

/// A row for each machine; one without times if there are none.
fn times_rows(group: &CellGroup) -> Vec<TimesRow<'_>> {
    if group.times_by.is_empty() {
        return vec![(group, None)];
    }
    group.times_by.iter().map(|times| (group, Some(times))).collect()
}

/// The times of a group on each machine, for programs, if there are several.
fn by_machine(study: &Study, group: &CellGroup) -> Vec<MachineTimes> {
    let several = group.times_by.len() > 1;
    let all = group.times_by.iter().filter(|_| several);
    all.map(|(hardware, times)| MachineTimes { machine: study.machine(hardware), times: times.clone() })
        .collect()
}

/// Times on a machine, by its number.
#[derive(Serialize)]
struct MachineTimes {
    machine: Option<usize>,
    times: GroupTimes,
}

/// A section on the parts of a cell's time.
fn describe_times(study: &Study, lang: &str, page: &mut Page) {
    page.section(3, "Where the time goes");
    let of = |get: fn(&GroupTimes) -> MeanStd| move |row: &TimesRow<'_>| row.1.map(|(_, times)| get(times));
    let columns = keys::of_rows(study)
        .optional("Machine", Quantity::Count, |row: &TimesRow<'_>| study.machine(&row.1?.0))
        .column("Loading", Quantity::Measured("s"), of(|t| t.load_s))
        .optional("Prefix", Quantity::Measured("s"), |row| {
            row.1
                .filter(|_| prefix_of(study, row.0).is_some_and(|of| of.was_read()))
                .map(|(_, times)| times.prefix_s)
        })
        .column("Training", Quantity::Measured("s"), of(|t| t.train_s))
        .column("Evaluation", Quantity::Measured("s"), of(|t| t.eval_s))
        .column("Whole cell", Quantity::Measured("s"), of(|t| t.total_s))
        .column("Median step", Quantity::Measured("ms"), of(|t| t.step_ms_median))
        .optional("Predicted step", Quantity::Measured("ms"), |row| row.1?.1.predicted_step_ms)
        .column("Subwords", Quantity::Measured("/s"), of(|t| t.tokens_per_s))
        .optional("Peak memory of the worker", Quantity::Number(0, "MiB"), |row| {
            let peak = row.1.map(|(_, times)| times.peak_rss_mib_max);
            let on_gpu = row.1.is_some_and(|(hardware, _)| hardware.on_gpu());
            peak.filter(|&peak| peak > 0.0 && study.step_costs.is_empty() && !on_gpu)
        })
        .optional(BUSY, Quantity::Text, |row| row.0.busy_words());
    page.table(columns.table(study.groups_of(lang).flat_map(times_rows)));
    if study.machines.len() > 1 {
        page.paragraph(
            "A row for each machine that cells ran on: times of different machines have no mean. **Machine** is its \
             number under \"Who made the records\".",
        );
    }
    let predicted =
        |group: &CellGroup| group.times_by.iter().any(|(_, times)| times.predicted_step_ms.is_some());
    if study.groups_of(lang).any(predicted) {
        page.paragraph(PREDICTED_MEANS);
    }
    if study.groups_of(lang).any(|group| group.busy > 0) {
        page.paragraph(BUSY_MEANS);
    }
    let on_processor = study.groups_of(lang).flat_map(|group| &group.times_by).any(|(by, _)| !by.on_gpu());
    if study.step_costs.is_empty() && on_processor {
        page.paragraph(
            "Peak memory is the worker's highest so far, the largest over seeds. A worker that ran \
             other cells before carries their peak along.",
        );
    }
}

/// Lists the groups that read a constant prefix, those that could have, and why they did not.
fn describe_prefixes(study: &Study, lang: &str, page: &mut Page) {
    let groups: Vec<(&CellGroup, PrefixStats)> =
        study.groups_of(lang).filter_map(|group| Some((group, prefix_of(study, group)?))).collect();
    if groups.is_empty() {
        return;
    }
    page.section(3, "Constant prefix");
    page.paragraph(
        "If the embeddings and the lowest blocks are frozen and nothing is dropped in them, what \
         comes out of them never changes. It can be computed once and then only be read.",
    );
    for (group, prefix) in &groups {
        page.item(format!("**{}**: {}.", keys::name(group), prefix.words()));
    }
    if groups.iter().any(|(_, prefix)| prefix.was_read()) {
        page.paragraph(
            "`Prefix s` is the mean time a cell spent on computing it, finding it or waiting \
             for it. It is part of no training time and of no step.",
        );
    }
}

/// The predictions of the cost model, if steps were not taken in turns.
fn describe_predictions(study: &Study, lang: &str, page: &mut Page) {
    page.section(3, "Time saved, predicted");
    page.table(facts::table(study, FactTable::Predicted, Some(lang)));
    if !study.groups_of(lang).all(|group| study.has_steady_steps(group)) {
        page.paragraph("If what learns changes on the way, steps are not alike, and nothing is predicted.");
    }
}
