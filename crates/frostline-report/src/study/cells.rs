//! A sweep's cells with what became of each.

use std::collections::BTreeMap;

use frostline_record::{Cell, MadeBy, Outcome, Precision, Record, Score, Settings, Sweep, Timing};

use crate::study::place::{Placed, PolicyPlace};

/// The policy that freezes nothing: what the others are compared with.
pub(crate) const BASELINE: &str = "none";

/// The splits that are scored.
pub(crate) const SPLITS: [&str; 2] = ["dev", "test"];

/// A cell and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct CellView {
    pub cell: Cell,
    /// Values of the further axes, in their order.
    pub extras: Vec<String>,
    pub state: CellResult,
}

/// What became of a cell.
#[derive(Clone, Debug)]
pub(crate) enum CellResult {
    Done(Box<Done>),
    Failed { error: String, made_by: MadeBy },
    Missing,
}

/// A cell that has a result.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub result: Outcome,
    pub timing: Option<Timing>,
    pub made_by: MadeBy,
}

impl Placed for CellView {
    fn place(&self) -> PolicyPlace<'_> {
        let settings = &self.cell.settings;
        PolicyPlace { lang: &settings.lang, policy: settings.policy.as_str(), extras: &self.extras }
    }
}

impl CellView {
    fn new(cell: &Cell, axes: &[String], record: Option<&Record>) -> Self {
        Self {
            cell: cell.clone(),
            extras: axes.iter().map(|axis| show_setting(&cell.settings, axis)).collect(),
            state: record.map_or(CellResult::Missing, CellResult::of),
        }
    }

    pub fn done(&self) -> Option<&Done> {
        match &self.state {
            CellResult::Done(done) => Some(done),
            _ => None,
        }
    }

    pub fn made_by(&self) -> Option<&MadeBy> {
        match &self.state {
            CellResult::Done(done) => Some(&done.made_by),
            CellResult::Failed { made_by, .. } => Some(made_by),
            CellResult::Missing => None,
        }
    }

    /// What its linear layers were computed in, which is not always what was asked for.
    pub fn computed_in(&self) -> Option<Precision> {
        self.made_by().map(|by| by.computes_in(self.cell.settings.train.precision))
    }

    /// Whether both differ in nothing but what is frozen, and what the plan gives to a policy of its own.
    pub fn is_twin_of(&self, other: &Self) -> bool {
        self.cell.settings.lang == other.cell.settings.lang
            && self.cell.settings.seed == other.cell.settings.seed
            && self.extras == other.extras
    }
}

impl CellResult {
    fn of(record: &Record) -> Self {
        match (&record.result, &record.error) {
            (Some(result), None) => Self::Done(Box::new(Done {
                result: result.clone(),
                timing: record.timing.clone(),
                made_by: record.made_by.clone(),
            })),
            (_, error) => Self::Failed {
                error: error
                    .clone()
                    .unwrap_or_else(|| "the record holds neither a result nor an error".into()),
                made_by: record.made_by.clone(),
            },
        }
    }

    pub const fn name(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed { .. } => "failed",
            Self::Missing => "missing",
        }
    }
}

impl Done {
    /// The selected epoch's score on a split.
    pub fn score(&self, split: &str) -> Option<&Score> {
        self.result.scores().get(split)
    }

    /// How many times as fast as one of the baseline a step should be, with a cached prefix if one is read.
    pub fn predicted_speedup(&self) -> f64 {
        let cost = &self.result.cost;
        match self.timing.as_ref().is_some_and(|timing| timing.prefix.state.is_read()) {
            true => cost.predicted_speedup_cached,
            false => cost.predicted_speedup,
        }
    }
}

/// The cells of a sweep in its order with their records.
pub(crate) fn cells(sweep: &Sweep, records: &[Record]) -> Vec<CellView> {
    let axes: Vec<String> = sweep.plan.extra_axes().iter().map(|&a| a.into()).collect();
    let by_id: BTreeMap<&str, &Record> =
        records.iter().map(|record| (record.cell.id.as_str(), record)).collect();
    let view = |cell: &Cell| CellView::new(cell, &axes, by_id.get(cell.id.as_str()).copied());
    sweep.cells.iter().map(view).collect()
}

/// A figure of each item.
pub(crate) fn value_of_each<T>(items: &[&T], get: impl Fn(&T) -> f64) -> Vec<f64> {
    items.iter().map(|item| get(item)).collect()
}

/// Each value once, in the order of first appearance.
pub(crate) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// The setting at a dotted path, as a person writes it: `5e-5`, not `0.00005`.
pub(crate) fn show_setting(settings: &Settings, path: &str) -> String {
    let value = settings.get(path).and_then(|value| serde_json::to_value(value).ok());
    value.map_or_else(|| "?".into(), |value| show_value(&value))
}

/// What an empty text is shown as.
pub(crate) const NOTHING: &str = "\"\"";

/// A setting's value as a person writes it.
pub(crate) fn show_value(value: &serde_json::Value) -> String {
    match (value, value.as_f64()) {
        (serde_json::Value::String(text), _) if text.is_empty() => NOTHING.into(),
        (serde_json::Value::String(text), _) => text.clone(),
        (_, Some(small)) if small != 0.0 && small.abs() < 1e-3 => format!("{small:e}"),
        _ => value.to_string(),
    }
}
