//! Predicts the cost of cells on this machine, from the cost model and the machine's calibration, without
//! training.

use anyhow::{Context as _, Result};
use frostline_assets::Places;
use frostline_freeze::{Cost, Machine, Policy, PrefixMode, ResolvedPolicy, Workload};
use frostline_model::EncoderConfig;
use frostline_record::{Cell, Forecast, ForecastJob, InParts, MadeBy, Precision, Switch};
use frostline_train::{Dataset, extras};

use crate::calibration::{Calibration, Conditions, When};
use crate::cost;
use crate::data::{CellData, TaskData};
use crate::inputs;
use crate::load::load;
use crate::outcome::accounts;
use crate::shared::SharedData;
use crate::stage::ResolvedStage;

/// The values of `train.accumulate` that are tried.
const PARTS: [usize; 4] = [2, 4, 8, 16];

/// Predicts what each cell costs. If constant prefixes are read, each cell computes them once.
///
/// # Errors
/// If the cells cannot be loaded, or the backend cannot run here.
pub(crate) fn forecast_cells(
    job: &ForecastJob,
    backend: &str,
    shared: &mut SharedData,
) -> Result<Vec<Forecast>> {
    let when = if job.calibrate { When::Missing } else { When::Never };
    let mut machines = Machines { backend, when, prefix_cache: job.prefix_cache, found: Vec::new() };
    let mut note = |line: &str| tracing::info!("{line}");
    let mut all = || job.cells.iter().map(|cell| of_cell(cell, shared, &mut machines, &mut note)).collect();
    if job.threads == rayon::current_num_threads() {
        return all();
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(job.threads).stack_size(16 << 20).build()?;
    pool.install(all)
}

fn of_cell(
    cell: &Cell,
    shared: &mut SharedData,
    machines: &mut Machines<'_>,
    note: &mut dyn FnMut(&str),
) -> Result<Forecast> {
    let mut plain = cell.clone();
    // Baselines take time, and no prediction depends on them.
    plain.settings.eval.baselines = Switch::Off;
    let data = load(&plain, false, shared)?;
    let stages = ResolvedStage::all(cell, &data, false)?;
    let policies: Vec<&ResolvedPolicy> = stages.iter().map(|stage| stage.timeline.whole()).collect();
    let added = extras(&cell.settings, &policies, data.encoder.depth)?;
    let encoder = EncoderConfig { extras: added, ..data.encoder.clone() };
    let (mut steps, mut seconds, mut filled) = (0, Some(0.0), None);
    for stage in &stages {
        let of_stage = stage.steps(&data);
        let prefix = stage.prefix_mode(machines.prefix_cache);
        let is_filled = prefix == PrefixMode::Computed || filled == Some(prefix);
        let machine = machines.of(cell, &encoder, stage.settings.train.precision, note)?;
        seconds = seconds.zip(machine).map(|(before, machine)| {
            let (scored, on) = (stage.dev_passes(&data) as f64, (machines.backend, &machine));
            let forward = |sets: SplitChoice, prefix| forward(&data, &encoder, sets, &machine, prefix);
            let fill = match is_filled {
                true => 0.0,
                false => forward(all_sets, PrefixMode::Computed) - forward(all_sets, prefix),
            };
            let trained = training_seconds(&data, &encoder, stage, of_stage, on, prefix);
            before + fill + trained + scored * forward(|task| vec![&task.dev.set], prefix)
        });
        steps += of_stage;
        if !is_filled {
            filled = Some(prefix);
        }
    }
    let bytes = most_bytes(&data, &encoder, &stages, machines.backend, 1);
    let in_parts = in_parts(&data, &encoder, &stages, machines.backend, bytes);
    let counted = accounts(&encoder, &data.heads, stages[stages.len() - 1].timeline.whole());
    let parameters = [counted.trainable, counted.total];
    Ok(Forecast { cell: cell.id.clone(), steps, seconds, parameters, bytes, in_parts })
}

/// Returns the memory of a step in more parts than in its settings, as long as it decreases.
fn in_parts(
    data: &CellData,
    encoder: &EncoderConfig,
    stages: &[ResolvedStage],
    backend: &str,
    bytes: u64,
) -> Vec<InParts> {
    let most = stages.iter().map(|stage| stage.settings.train.batch).min().unwrap_or(1);
    let asked = PARTS.into_iter().filter(|accumulate| *accumulate <= most);
    let kept = asked.map(|accumulate| InParts {
        accumulate: accumulate as u64,
        bytes: most_bytes(data, encoder, stages, backend, accumulate),
    });
    kept.filter(|kept| kept.bytes < bytes).collect()
}

/// Returns the bytes of the stage that keeps most, if each takes its steps in at least this many parts.
fn most_bytes(
    data: &CellData,
    encoder: &EncoderConfig,
    stages: &[ResolvedStage],
    backend: &str,
    accumulate: usize,
) -> u64 {
    let of_stage = |stage: &ResolvedStage| {
        let parts = stage.settings.train.accumulate.max(accumulate);
        let kept = cost::memory_of_stage(data, encoder, stage, parts, backend);
        kept.map_or(0, |memory| memory.total()) + parameter_bytes(data, encoder, stage.timeline.whole())
    };
    stages.iter().map(of_stage).max().unwrap_or(0)
}

/// Returns the predicted time of a mean step over all stages, in milliseconds: for a cell's record, if the
/// cache contains a calibration for its program and machine.
pub(crate) fn step_ms(
    data: &CellData,
    encoder: &EncoderConfig,
    stages: &[ResolvedStage],
    made_by: &MadeBy,
    reads_prefix: bool,
) -> Option<f64> {
    let cache = frostline_assets::default_cache()?;
    let (mut steps, mut seconds) = (0, 0.0);
    for stage in stages {
        let conditions = Conditions::of(made_by, encoder, stage.settings.train.precision);
        let machine = Calibration::kept(&cache, &conditions)?.machine;
        let of_stage = stage.steps(data);
        let (on, prefix) = ((made_by.backend.as_str(), &machine), stage.prefix_mode(reads_prefix));
        seconds += training_seconds(data, encoder, stage, of_stage, on, prefix);
        steps += of_stage;
    }
    (steps > 0).then(|| 1e3 * seconds / steps as f64)
}

/// Returns the seconds of a stage's steps. If blocks unfreeze during the stage, each part counts with its
/// trainable parameters.
fn training_seconds(
    data: &CellData,
    encoder: &EncoderConfig,
    stage: &ResolvedStage,
    steps: u64,
    (backend, machine): (&str, &Machine),
    prefix: PrefixMode,
) -> f64 {
    let mut begins: Vec<(u64, &ResolvedPolicy)> = vec![(0, stage.timeline.at(0))];
    begins.extend(stage.timeline.changes().filter(|(from, _)| (1..steps).contains(from)));
    let ends = begins.iter().skip(1).map(|(from, _)| *from).chain([steps]);
    let part = |((from, policy), to): (&(u64, &ResolvedPolicy), u64)| {
        let (shape, workload) = cost::of_train(data, encoder, stage, backend);
        let step = Cost::with_prefix(&shape, &workload, policy, prefix);
        (to - from) as f64 * step.in_parts(stage.settings.train.accumulate).seconds(machine)
    };
    begins.iter().zip(ends).map(part).sum()
}

/// Some splits of a task.
type SplitChoice = fn(&TaskData) -> Vec<&Dataset>;

fn all_sets(task: &TaskData) -> Vec<&Dataset> {
    task.splits().into_iter().flatten().collect()
}

/// Seconds of scoring some splits of every task: the forward pass of every sentence, as where nothing of the encoder learns.
fn forward(
    data: &CellData,
    encoder: &EncoderConfig,
    sets: SplitChoice,
    machine: &Machine,
    prefix: PrefixMode,
) -> f64 {
    let frozen: Policy = "all+embeddings".parse().expect("a policy");
    let frozen = frozen.resolve(encoder.depth, &["head"]).expect("every encoder has it");
    let seconds = |set: &Dataset, tags: usize| {
        let lengths = set.examples.iter().map(|example| example.ids.len());
        let labels = set.examples.iter().map(cost::count_labels).sum();
        let shape = cost::shape(encoder, tags, data.vocabulary.rows().len());
        Cost::with_prefix(&shape, &Workload::of(lengths, labels, 1), &frozen, prefix).seconds(machine)
    };
    let of_task = |task| sets(task).into_iter().map(|set| seconds(set, task.tags.len())).sum::<f64>();
    data.tasks.iter().map(of_task).sum()
}

/// Bytes of the parameters on the device: of the word table only the rows that the data need.
fn parameter_bytes(data: &CellData, encoder: &EncoderConfig, policy: &ResolvedPolicy) -> u64 {
    let unneeded = encoder.vocabulary.saturating_sub(data.vocabulary.rows().len()) * encoder.hidden;
    4 * accounts(encoder, &data.heads, policy).total.saturating_sub(unneeded as u64)
}

/// This machine's calibrations, each looked up once.
struct Machines<'a> {
    backend: &'a str,
    when: When,
    prefix_cache: bool,
    found: Vec<(Conditions, Option<Machine>)>,
}

impl Machines<'_> {
    fn of(
        &mut self,
        cell: &Cell,
        encoder: &EncoderConfig,
        precision: Precision,
        note: &mut dyn FnMut(&str),
    ) -> Result<Option<Machine>> {
        let conditions = Conditions::here(encoder, self.backend, precision)?;
        if let Some((_, known)) = self.found.iter().find(|(known, _)| *known == conditions) {
            return Ok(*known);
        }
        let measure = || {
            let config = &inputs::input(&cell.inputs, "config")?.path;
            let (folder, _) = config.rsplit_once('/').context("a config outside of a folder")?;
            Calibration::measure(&Places::new(None, None), folder, self.backend, precision)
        };
        let cache = frostline_assets::default_cache();
        let found = Calibration::find(cache.as_deref(), &conditions, self.when, measure, note)?;
        let machine = found.map(|found| found.machine);
        self.found.push((conditions, machine));
        Ok(machine)
    }
}
