//! Owns `report.json`: every aggregated number of the report, for programs.
//!
//! Refuses what the records hold better: per-seed rows stand in the CSV files.

use std::collections::BTreeMap;

use frostline_record::{Inputs, MadeBy, Plan, Precision, PrefixUse, SCHEMA};
use serde::Serialize;

use crate::Report;
use crate::baselines::{self, BaselineStats};
use crate::claims::{self, Judged};
use crate::curves::{self, Curves};
use crate::errors::{GroupErrors, Versus};
use crate::sentences::{self, SentenceStats};
use crate::subsets::{self, BestSet, BlockWorth};
use crate::summary::{Group, State};
use crate::words;

#[derive(Serialize)]
struct Whole<'a> {
    schema: u32,
    name: &'a str,
    about: &'a str,
    synthetic: bool,
    /// Said in words where the data is synthetic.
    notice: Option<&'a str>,
    units: &'a str,
    axes: Vec<&'a str>,
    groups: &'a [Group],
    /// What freezing each block costs, where every set of blocks was frozen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocks: Vec<BlockWorth>,
    /// The best set of each number of frozen blocks, where every number was tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    best_sets: Vec<BestSet>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    learning_curves: Vec<Curves>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    baselines: Vec<BaselineStats>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sentence_tasks: Vec<SentenceStats>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [GroupErrors],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    differences: &'a [Versus],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    claims: Vec<Judged>,
    cells: Vec<CellLine<'a>>,
    made_by: Vec<Maker<'a>>,
    inputs: BTreeMap<&'a str, Vec<&'a Inputs>>,
    stray_records: usize,
    plan: &'a Plan,
    overrides: &'a [String],
}

#[derive(Serialize)]
struct CellLine<'a> {
    id: &'a str,
    lang: &'a str,
    policy: &'a str,
    seed: u64,
    extras: &'a [String],
    /// What linear layers were computed in, which is not always what was asked for.
    computed_in: Option<Precision>,
    prefix: Option<PrefixUse>,
    status: &'a str,
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct Maker<'a> {
    records: usize,
    #[serde(flatten)]
    made_by: &'a MadeBy,
}

/// `report.json`.
pub(crate) fn json(report: &Report) -> String {
    let sweep = &report.sweep;
    let whole = Whole {
        schema: SCHEMA,
        name: &sweep.plan.name,
        about: &sweep.plan.about,
        synthetic: sweep.plan.synthetic,
        notice: sweep.plan.synthetic.then_some(words::SYNTHETIC),
        units: "accuracies, shares, savings and gains in [0, 1]; std is over seeds; speed-ups are \
                times as fast as none; other units in names",
        axes: report.axes(),
        groups: &report.groups,
        blocks: subsets::worths(report),
        best_sets: subsets::best_sets(report),
        learning_curves: curves::of(report),
        baselines: baselines::all(report),
        sentence_tasks: sentences::of(report),
        errors: &report.errors.groups,
        differences: &report.errors.versus,
        claims: claims::judge(report),
        cells: cells(report),
        made_by: report.makers().into_iter().map(|(made_by, records)| Maker { records, made_by }).collect(),
        inputs: inputs(report),
        stray_records: report.strays,
        plan: &sweep.plan,
        overrides: &sweep.overrides,
    };
    let text = serde_json::to_string_pretty(&whole).expect("plain data always serialises");
    text + "\n"
}

fn cells(report: &Report) -> Vec<CellLine<'_>> {
    report
        .cells
        .iter()
        .map(|view| CellLine {
            id: &view.cell.id,
            lang: &view.cell.settings.lang,
            policy: view.cell.settings.policy.as_str(),
            seed: view.cell.settings.seed,
            extras: &view.extras,
            computed_in: view.computed_in(),
            prefix: view.done().and_then(|done| Some(done.timing.as_ref()?.prefix)),
            status: view.state.name(),
            error: match &view.state {
                State::Failed { error, .. } => Some(error),
                _ => None,
            },
        })
        .collect()
}

/// The distinct inputs of each language's cells.
pub(crate) fn inputs(report: &Report) -> BTreeMap<&str, Vec<&Inputs>> {
    let mut inputs: BTreeMap<&str, Vec<&Inputs>> = BTreeMap::new();
    for view in &report.cells {
        let known = inputs.entry(&view.cell.settings.lang).or_default();
        if !known.contains(&&view.cell.inputs) {
            known.push(&view.cell.inputs);
        }
    }
    inputs
}
