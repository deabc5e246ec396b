//! Stored measurements: `docs/benchmarks.json`, and the raw file of one run.
//!
//! A row contains both sides of its comparison from one run, so a ratio never mixes machines. Rows that were not
//! measured again are kept, with the run that they are from.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use crate::compare::{self, DEFINITIONS};
use crate::suite::Suite;
use frostline_sweep::Backend;

/// The schema number of the file.
pub(crate) const SCHEMA: u32 = 1;

/// The numbers of one measurement, by their key in the output.
pub(crate) type SideFigures = BTreeMap<String, f64>;

/// All stored measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredMeasurements {
    /// [`SCHEMA`].
    pub schema: u32,
    /// By the time they started; rows refer to them.
    pub runs: BTreeMap<String, BenchRun>,
    /// In the order of the tables.
    pub rows: Vec<StoredRow>,
}

/// One call of the command, and what it ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BenchRun {
    /// The command, with placeholders for paths.
    pub command: String,
    /// Rounds in which the sides took turns.
    pub rounds: u32,
    /// Steps that were timed in each measurement.
    pub steps: u32,
    /// Steps before these.
    pub warmup: u32,
    /// Sentences per step; 0 if the settings determine the number.
    pub batch: u32,
    /// Threads of each side.
    pub threads: u32,
    /// The backend of our tensors.
    pub backend: String,
    /// The machine that both sides ran on.
    pub machine: MachineInfo,
    /// `version`, `code`, `revision` and `isa` of the runner.
    pub runner: BTreeMap<String, String>,
    /// Versions of the peer's packages, as it reported them.
    pub peer: BTreeMap<String, String>,
    /// The machine's speed in matrix products by precision, one figure per round, in Gflop/s.
    pub gemm_gflops: BTreeMap<String, Vec<f64>>,
    /// What `cargo xtask device` found of the device before it timed steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
}

/// The machine as its system describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachineInfo {
    /// The processor's name.
    pub cpu: String,
    /// Cores that can be used.
    pub cores: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// The system and its kernel.
    pub system: String,
    /// The load over the minute before the start; near 0 on an idle machine.
    pub load_before: f64,
}

/// One comparison for one encoder and policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredRow {
    /// The section it belongs to.
    pub suite: Suite,
    /// The id of its comparison.
    pub comparison: String,
    /// The encoder.
    pub encoder: String,
    /// Whether its weights were drawn at random on both sides.
    pub random_init: bool,
    /// The backend of our tensors.
    #[serde(default)]
    pub backend: Backend,
    /// Policies, joined by commas; empty if there are none.
    pub policy: String,
    /// The key of its run.
    pub run: String,
    /// Our side.
    pub ours: StoredSide,
    /// The peer's.
    pub peer: StoredSide,
}

/// The measurements of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredSide {
    /// The setting's name.
    pub setting: String,
    /// The precision of matrix products.
    pub precision: String,
    /// One entry per round.
    pub rounds: Vec<SideFigures>,
    /// Why there are no rounds, or fewer than requested.
    pub note: Option<String>,
    /// Whether the note is about a failure, rather than about a task that was not to be run.
    #[serde(default)]
    pub failed: bool,
}

impl StoredSide {
    /// Returns one figure in all rounds.
    pub(crate) fn figure_in_rounds(&self, key: &str) -> impl Iterator<Item = f64> {
        self.rounds.iter().filter_map(move |figures| figures.get(key).copied())
    }
}

/// A kind of machine: its processor, its cores, and the instructions that were used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ProcessorKind<'a> {
    pub cpu: &'a str,
    pub cores: u32,
    pub isa: &'a str,
}

impl BenchRun {
    /// Returns the kind of machine that it ran on; only times of the same kind may be compared.
    pub(crate) fn processor_kind(&self) -> ProcessorKind<'_> {
        let isa = self.runner.get("isa").map_or("", String::as_str);
        ProcessorKind { cpu: &self.machine.cpu, cores: self.machine.cores, isa }
    }
}

impl StoredRow {
    /// Returns the ratios of a figure, one per round in which both sides have it.
    pub(crate) fn round_ratios(&self, key: &str) -> Vec<f64> {
        let both = self.ours.rounds.iter().zip(&self.peer.rounds);
        let ratio = |ours: f64, peer: f64| compare::measure_by_key(key).ratio(ours, peer);
        both.filter_map(|(ours, peer)| Some(ratio(*ours.get(key)?, *peer.get(key)?))).collect()
    }

    /// Returns whether it measures the same as another row.
    fn measures_same(&self, other: &Self) -> bool {
        let what = |row: &Self| (row.backend, row.random_init);
        (&self.comparison, &self.encoder, &self.policy) == (&other.comparison, &other.encoder, &other.policy)
            && what(self) == what(other)
    }
}

impl Default for StoredMeasurements {
    fn default() -> Self {
        Self { schema: SCHEMA, runs: BTreeMap::new(), rows: Vec::new() }
    }
}

impl StoredMeasurements {
    /// Reads the file; empty if there is none.
    pub(crate) fn read_file(path: &Path) -> anyhow::Result<Self> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let shown = frostline_sweep::shown_path(path);
        let text = std::fs::read(path).with_context(|| shown.clone())?;
        let measured: Self = serde_json::from_slice(&text)
            .with_context(|| format!("{shown}: not readable as measurements; delete it and measure again"))?;
        if measured.schema != SCHEMA {
            bail!("{shown}: schema {}, expected {SCHEMA}; delete it and measure again", measured.schema);
        }
        Ok(measured)
    }

    /// Returns the file's text.
    pub(crate) fn file_text(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data always serialises") + "\n"
    }

    /// Returns the processors of all runs, in the order of the runs.
    pub(crate) fn run_processors(&self) -> Vec<ProcessorKind<'_>> {
        let mut all = Vec::new();
        for processor in self.runs.values().map(BenchRun::processor_kind) {
            if !all.contains(&processor) {
                all.push(processor);
            }
        }
        all
    }

    fn processor_of(&self, row: &StoredRow) -> Option<ProcessorKind<'_>> {
        self.runs.get(&row.run).map(BenchRun::processor_kind)
    }

    /// Adds new measurements, and returns the rows that it left unchanged. A row replaces the row of the same comparison on
    /// the same kind of processor; a row with a failure replaces none, nor does a row without a peer replace one with a
    /// peer.
    pub(crate) fn merge_new(&mut self, new: Self) -> Vec<String> {
        let mut left = Vec::new();
        self.runs.extend(new.runs);
        for row in new.rows {
            let name = || format!("{} {} {}", row.comparison, row.encoder, row.policy);
            let place = self
                .rows
                .iter()
                .position(|old| old.measures_same(&row) && self.processor_of(old) == self.processor_of(&row));
            if row.ours.failed || row.peer.failed {
                left.push(format!("{}: a side failed", name().trim_end()));
                continue;
            }
            match place {
                Some(at) if lacks_a_side(&row, &self.rows[at]) => {
                    left.push(format!("{}: the stored row has more figures", name().trim_end()));
                }
                Some(at) => self.rows[at] = row,
                None => self.rows.push(row),
            }
        }
        self.rows.sort_by_key(sort_key);
        let rows = &self.rows;
        self.runs.retain(|key, _| rows.iter().any(|row| row.run == *key));
        left
    }
}

/// Returns whether a row lacks a side that another has.
fn lacks_a_side(new: &StoredRow, old: &StoredRow) -> bool {
    let lacks = |new: &StoredSide, old: &StoredSide| new.rounds.is_empty() && !old.rounds.is_empty();
    lacks(&new.ours, &old.ours) || lacks(&new.peer, &old.peer)
}

/// Suites in order, in them encoders, in these the comparisons as listed.
fn sort_key(row: &StoredRow) -> (Suite, String, usize, usize) {
    let comparisons = &DEFINITIONS.comparisons;
    let at = comparisons.iter().position(|found| found.id == row.comparison);
    let policy = at
        .and_then(|at| comparisons[at].policies.iter().position(|policies| policies.join(",") == row.policy));
    (row.suite, row.encoder.clone(), at.unwrap_or(usize::MAX), policy.unwrap_or(usize::MAX))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A side whose steps took so long in each round.
    pub(crate) fn side_with_steps(setting: &str, step_ms: &[f64]) -> StoredSide {
        let round = |ms: &f64| {
            SideFigures::from([
                ("step_ms_mean".into(), *ms),
                ("peak_rss_mib".into(), 4.0 * ms),
                ("gflop_per_step".into(), 20.0),
            ])
        };
        let note = step_ms.is_empty().then(|| "no peer was given".to_string());
        StoredSide {
            setting: setting.into(),
            precision: "f32".into(),
            rounds: step_ms.iter().map(round).collect(),
            note,
            failed: false,
        }
    }

    /// A row of the suite `steps`.
    pub(crate) fn steps_row(run: &str, policy: &str, ours: &[f64], peer: &[f64]) -> StoredRow {
        StoredRow {
            suite: Suite::Steps,
            comparison: "f32-study".into(),
            encoder: "all-MiniLM-L6-v2".into(),
            random_init: false,
            backend: Backend::Flex,
            policy: policy.into(),
            run: run.into(),
            ours: side_with_steps("f32", ours),
            peer: side_with_steps("study", peer),
        }
    }

    /// Measurements of one run on an invented machine.
    pub(crate) fn measured_on_test_machine(key: &str, rows: Vec<StoredRow>) -> StoredMeasurements {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        let run = BenchRun {
            command: "cargo xtask bench --only steps --python PY --write".into(),
            rounds: 3,
            steps: 50,
            warmup: 5,
            batch: 16,
            threads: 2,
            backend: "flex".into(),
            machine: MachineInfo {
                cpu: "Example CPU".into(),
                cores: 2,
                memory_mib: 16_000,
                system: "linux 6.1".into(),
                load_before: 0.1,
            },
            runner: map(&[("version", "0.1.0"), ("isa", "avx2"), ("revision", "0123456789ab")]),
            peer: map(&[("torch", "9.9.9"), ("transformers", "9.9.8")]),
            gemm_gflops: BTreeMap::from([("f32".into(), vec![190.0, 200.0])]),
            checks: Vec::new(),
        };
        StoredMeasurements { schema: SCHEMA, runs: BTreeMap::from([(key.into(), run)]), rows }
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let row = steps_row("a", "none", &[100.0, 200.0, 100.0], &[400.0, 800.0]);
        assert_eq!(row.round_ratios("step_ms_mean"), [4.0, 4.0]);
    }

    #[test]
    fn an_update_loses_nothing() {
        let mut stored = measured_on_test_machine(
            "a",
            vec![steps_row("a", "none", &[100.0], &[400.0]), steps_row("a", "all", &[50.0], &[200.0])],
        );
        let mut failed = steps_row("b", "first-4", &[], &[300.0]);
        failed.ours.failed = true;
        let new =
            vec![steps_row("b", "none", &[90.0], &[400.0]), steps_row("b", "all", &[50.0], &[]), failed];
        let left = stored.merge_new(measured_on_test_machine("b", new));
        assert_eq!(left.len(), 2, "{left:?}");
        let runs: Vec<(&str, &str)> =
            stored.rows.iter().map(|row| (row.policy.as_str(), row.run.as_str())).collect();
        assert_eq!(runs, [("none", "b"), ("all", "a")]);
        assert_eq!(stored.runs.len(), 2);

        stored.merge_new(measured_on_test_machine("c", vec![steps_row("c", "all", &[50.0], &[210.0])]));
        assert_eq!(stored.runs.keys().collect::<Vec<_>>(), ["b", "c"], "a run without rows is dropped");
    }

    #[test]
    fn another_processor_has_rows_of_its_own() {
        let mut stored = measured_on_test_machine("a", vec![steps_row("a", "none", &[100.0], &[400.0])]);
        let mut new = measured_on_test_machine("b", vec![steps_row("b", "none", &[50.0], &[300.0])]);
        new.runs.get_mut("b").expect("its run").runner.insert("isa".into(), "avx512".into());
        stored.merge_new(new.clone());
        stored.merge_new(new);
        let runs: Vec<&str> = stored.rows.iter().map(|row| row.run.as_str()).collect();
        assert_eq!(runs, ["a", "b"]);
        assert_eq!(stored.run_processors().len(), 2);
    }

    #[test]
    fn the_file_reads_back() {
        let stored = measured_on_test_machine("a", vec![steps_row("a", "none", &[100.0], &[])]);
        assert_eq!(
            serde_json::from_str::<StoredMeasurements>(&stored.file_text()).expect("its own text"),
            stored
        );
    }
}
