//! What training costs: times, speeds, and what was predicted of them. Loading, computing a prefix and evaluation
//! are no part of training time.

mod paper;
mod prefix;
mod turns;

use std::collections::BTreeMap;

use frostline_record::PredictedMemory;
use frostline_score::MeanStd;
use serde::Serialize;

use crate::fields::Fields;
use crate::keys;
use crate::page::Page;
use crate::study::cells::over;
use crate::study::epochs::is_steady;
use crate::study::groups::Times;
use crate::study::hardware::Hardware;
use crate::study::{BASELINE, CellView, Done, Group, Study, saved};
use crate::table::{Quantity, Value};
use crate::topic::{Of, Place, Topic, TopicTable};

use prefix::PrefixStats;
use turns::Predicted;

/// TrainingCost, by group.
pub(crate) struct TrainingCost {
    groups: BTreeMap<(String, String, Vec<String>), GroupCost>,
}

/// What a group's steps cost.
struct GroupCost {
    steps: Option<StepCost>,
    prefix: Option<PrefixStats>,
}

/// What a step was predicted to cost, and how that turned out.
#[derive(Clone, Debug, Serialize)]
struct StepCost {
    gflop_per_step: MeanStd,
    /// How many times as fast as the baseline a step should be.
    predicted_speedup: MeanStd,
    /// What a step on the longest sentences should keep in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_memory: Option<StepMemory>,
}

/// What a step should keep in memory besides the model and the data, in MiB; a mean over seeds.
#[derive(Clone, Copy, Debug, Serialize)]
struct StepMemory {
    gradients_mib: f64,
    moments_mib: f64,
    activations_mib: f64,
}

impl StepMemory {
    fn of(done: &[&Done]) -> Option<Self> {
        let all: Vec<PredictedMemory> =
            done.iter().map(|done| done.result.cost.memory).collect::<Option<_>>()?;
        let mean = |get: fn(&PredictedMemory) -> u64| {
            all.iter().map(|memory| get(memory) as f64).sum::<f64>() / all.len() as f64 / MIB
        };
        Some(Self {
            gradients_mib: mean(|memory| memory.gradients),
            moments_mib: mean(|memory| memory.moments),
            activations_mib: mean(|memory| memory.activations),
        })
    }

    fn total_mib(&self) -> f64 {
        self.gradients_mib + self.moments_mib + self.activations_mib
    }
}

/// Bytes of a MiB.
const MIB: f64 = (1 << 20) as f64;

fn key(group: &Group) -> (String, String, Vec<String>) {
    (group.lang.clone(), group.policy.clone(), group.extras.clone())
}

impl TrainingCost {
    /// The costs of all groups.
    pub fn of(study: &Study) -> Self {
        let of_group = |group: &Group| {
            let done: Vec<&Done> = study.members(group).filter_map(CellView::done).collect();
            (key(group), GroupCost { steps: step_cost(&done), prefix: PrefixStats::of(&done) })
        };
        Self { groups: study.groups.iter().map(of_group).collect() }
    }

    fn steps(&self, group: &Group) -> Option<&StepCost> {
        self.groups.get(&key(group))?.steps.as_ref()
    }

    fn prefix(&self, group: &Group) -> Option<&PrefixStats> {
        self.groups.get(&key(group))?.prefix.as_ref()
    }

    fn reads_prefix(&self, group: &Group) -> bool {
        self.prefix(group).is_some_and(PrefixStats::was_read)
    }
}

fn step_cost(done: &[&Done]) -> Option<StepCost> {
    Some(StepCost {
        gflop_per_step: MeanStd::of(&over(done, |done| done.result.cost.gflop_per_step))?,
        predicted_speedup: MeanStd::of(&over(done, |done| done.predicted_speedup()))?,
        predicted_memory: StepMemory::of(done),
    })
}

impl Topic for TrainingCost {
    fn prose(&self, study: &Study, place: Place<'_>, page: &mut Page) {
        match place {
            Place::Reading => page.items({
                let in_turns = !study.step_costs.is_empty();
                let baseline = if study.has_baseline() {
                    "**vs none** compares with `none`, where everything learns: each cell with the `none` cell of the same seed."
                } else {
                    "The plan has no policy `none`, so time saved and differences in accuracy have \
                     nothing to be measured against."
                };
                let saving = if in_turns { turns::READING.into() } else { turns::untimed(study) };
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
            Place::Language(lang) => {
                self.times(study, lang, page);
                self.prefixes(study, lang, page);
                match study.step_costs.is_empty() {
                    true => self.speedups(study, lang, page),
                    false => turns::section(study, lang, &|group| self.predicted(study, group), page),
                }
            }
            Place::Caveats => page.items({
                let of_cells = (!study.machines.is_empty()).then(|| cells_while_busy(study)).flatten();
                of_cells.into_iter().chain(turns::busy(study)).collect::<Vec<String>>()
            }),
            _ => {}
        }
    }

    fn tables(&self, study: &Study) -> Vec<TopicTable> {
        vec![paper::table(study, &|group| self.predicted(study, group))]
            .into_iter()
            .map(TopicTable::Paper)
            .collect()
    }

    fn facts(&self, study: &Study, of: Of<'_>) -> Fields {
        match of {
            Of::Group(group) => Fields::default()
                .with("cost", &self.steps(group))
                .with("times", &group.times)
                .with_some("times_by_machine", &by_machine(study, group))
                .with("cells_while_busy", &group.busy)
                .with("prefix", &self.prefix(group))
                .with("measured_step", &study.step_cost(group)),
            Of::Sweep => Fields::default(),
        }
    }
}

/// The column that marks times of a machine that did other work.
const BUSY: &str = "While busy";

/// What that column means.
const BUSY_MEANS: &str = "**While busy**: so many of the cells (of those of which it is known) ran while more than a tenth of \
                          the processors' time went to other programs, or more than a hundredth to other virtual machines. \
                          Their times are longer for it.";

/// What the column "Predicted step" means.
const PREDICTED_MEANS: &str = "**Predicted step**: a mean step as `frostline sweep --list` predicts it, from the cost model and a few \
                               steps that were timed on the same machine before the cell ran (`--calibrate`). Where blocks \
                               freeze by their gradients, it is that of a run in which none has.";

/// Times of cells that ran beside other work, as a caveat.
fn cells_while_busy(study: &Study) -> Option<String> {
    let sum = |get: fn(&Group) -> usize| study.groups.iter().map(get).sum::<usize>();
    let (busy, watched) = (sum(|group| group.busy), sum(|group| group.watched));
    (busy > 0).then(|| {
        format!(
            "**{busy} of {watched} cells ran while the machine was busy** with other work, and their training times are longer \
             for it. Tables of times mark them in the column \"{BUSY}\"."
        )
    })
}

/// A group with the times of one of the machines that its cells ran on.
type TimesRow<'a> = (&'a Group, Option<&'a (Hardware, Times)>);

/// A row for each machine; one without times where there are none.
fn times_rows(group: &Group) -> Vec<TimesRow<'_>> {
    if group.times_by.is_empty() {
        return vec![(group, None)];
    }
    group.times_by.iter().map(|times| (group, Some(times))).collect()
}

/// The times of a group on each machine, for programs, if there are several.
fn by_machine(study: &Study, group: &Group) -> Vec<MachineTimes> {
    let several = group.times_by.len() > 1;
    let all = group.times_by.iter().filter(|_| several);
    all.map(|(hardware, times)| MachineTimes { machine: study.machine(hardware), times: times.clone() })
        .collect()
}

/// Times on a machine, by its number.
#[derive(Serialize)]
struct MachineTimes {
    machine: Option<usize>,
    times: Times,
}

impl TrainingCost {
    /// What was predicted of a group's steps, beside `none` of the same language and further axes.
    fn predicted(&self, study: &Study, group: &Group) -> Predicted {
        let memory = |group: &Group| Some(self.steps(group)?.predicted_memory?.total_mib());
        let is_base = |other: &&Group| {
            other.policy == BASELINE && other.extras == group.extras && other.lang == group.lang
        };
        let base = study.groups.iter().find(is_base).and_then(memory);
        Predicted {
            gflop: self.steps(group).map(|cost| cost.gflop_per_step.mean),
            saved: saved::predicted(study, group),
            memory_mib: memory(group),
            saved_mib: base.zip(memory(group)).map(|(base, own)| base - own),
        }
    }

    /// Where the time of a cell goes.
    fn times(&self, study: &Study, lang: &str, page: &mut Page) {
        page.section(3, "Where the time goes");
        let of = |get: fn(&Times) -> MeanStd| move |row: &TimesRow<'_>| row.1.map(|(_, times)| get(times));
        let name = |row: &TimesRow<'_>| row.0.policy.clone();
        let columns = keys::frozen(study, name, |row: &TimesRow<'_>| &row.0.extras)
            .optional("Machine", Quantity::Count, |row| study.machine(&row.1?.0))
            .column("Loading", Quantity::Measured("s"), of(|t| t.load_s))
            .optional("Prefix", Quantity::Measured("s"), |row| {
                row.1.filter(|_| self.reads_prefix(row.0)).map(|(_, times)| times.prefix_s)
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
            |group: &Group| group.times_by.iter().any(|(_, times)| times.predicted_step_ms.is_some());
        if study.groups_of(lang).any(predicted) {
            page.paragraph(PREDICTED_MEANS);
        }
        if study.groups_of(lang).any(|group| group.busy > 0) {
            page.paragraph(BUSY_MEANS);
        }
        let on_processor =
            study.groups_of(lang).flat_map(|group| &group.times_by).any(|(by, _)| !by.on_gpu());
        if study.step_costs.is_empty() && on_processor {
            page.paragraph(
                "Peak memory is the worker's highest so far, the largest over seeds. A worker that ran \
                 other cells before carries their peak along.",
            );
        }
    }

    /// Who read a constant prefix, who could have and why not.
    fn prefixes(&self, study: &Study, lang: &str, page: &mut Page) {
        let groups: Vec<(&Group, &PrefixStats)> =
            study.groups_of(lang).filter_map(|group| Some((group, self.prefix(group)?))).collect();
        if groups.is_empty() {
            return;
        }
        page.section(3, "Constant prefix");
        page.paragraph(
            "Where the embeddings and the lowest blocks are frozen and nothing is dropped in them, what \
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

    /// What the cost model said, where no clock can say it: steps were not taken in turns.
    fn speedups(&self, study: &Study, lang: &str, page: &mut Page) {
        page.section(3, "Time saved, predicted");
        let is_even = |group: &Group| study.members(group).filter_map(CellView::done).all(is_steady);
        let cost = |group: &Group| self.steps(group).filter(|_| is_even(group));
        let columns = keys::of_group(study)
            .column("GFLOP per step", Quantity::Measured(""), |group| {
                cost(group).map(|cost| cost.gflop_per_step.mean)
            })
            .column("Time saved, predicted", Quantity::Percent(1), |group| {
                cost(group).map_or(Value::Missing, |_| saved::predicted_shown(study, group))
            });
        page.table(columns.table(study.groups_of(lang)));
        if !study.groups_of(lang).all(is_even) {
            page.paragraph(
                "Where what learns changes on the way, no step stands for all, and nothing is predicted.",
            );
        }
    }
}
