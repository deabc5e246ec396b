//! Times of policies' training steps, taken in turns, and the memory of one policy's steps.

use std::time::Instant;

use anyhow::{Context as _, Result};
use burn::module::AutodiffModule as _;
use frostline_freeze::ResolvedPolicy;
use frostline_kernels::Train;
use frostline_kernels::backend::{self, Work};
use frostline_model::{EncoderConfig, Network, RandomInit};
use frostline_random::Stream;
use frostline_record::{Cell, MadeBy, Measurement, PairedTimes, SCHEMA, TimedPolicy, TimingJob};
use frostline_score::median;
use frostline_train::{Dataset, Prefix, Run, StepTime, Task, TurnTaker, Turns, View, compute_prefix, extras};

use crate::blocks::blocks_of_cell;
use crate::busy::Busy;
use crate::data::CellData;
use crate::heads::{HEAD_STD, head_names};
use crate::inputs;
use crate::load::load;
use crate::shared::SharedData;
use crate::version::{made_by, peak_rss_mib};

/// Batches on which policies take turns, over and over.
const BATCHES: usize = 16;

/// Rounds that are not counted: the first steps take memory from the system.
const WARM_UP: u64 = 3;

/// The fewest rounds that are counted, unless time runs out.
const FEWEST: usize = 20;

/// The policy to which the ratios of the others are shown; the first policy if it is missing.
const BASELINE: &str = "none";

/// Bytes of a MiB.
const MIB: f64 = 1024.0 * 1024.0;

/// Steps of which the memory is measured, on the largest batches.
const MEMORY_STEPS: usize = 3;

/// Measures the steps requested by a sweep.
///
/// # Errors
/// If the cells cannot be loaded, the backend cannot run here, or a step's loss is no number.
pub(crate) fn measure_turns(job: &TimingJob, backend: &str, shared: &mut SharedData) -> Result<PairedTimes> {
    let busy = Busy::start();
    let made_by = made_by(backend)?;
    backend::on(backend, PolicyTiming { job, busy, made_by, shared })?
}

struct PolicyTiming<'a> {
    job: &'a TimingJob,
    busy: Busy,
    made_by: MadeBy,
    shared: &'a mut SharedData,
}

/// One policy, ready for steps.
struct ReadyPolicy<'a> {
    cell: &'a Cell,
    policy: ResolvedPolicy,
    encoder: EncoderConfig,
    model: usize,
    /// The rows of the constant prefix and its number of blocks, if it is read.
    prefix: Option<(usize, Vec<f32>)>,
}

impl Work for PolicyTiming<'_> {
    type Output = Result<PairedTimes>;

    fn run<B: Train>(self, device: &B::Device) -> Result<PairedTimes> {
        let Self { job, mut busy, made_by, shared } = self;
        let first = job.cells.first().context("there is no cell to time")?;
        let data = load_data(first, shared)?;
        let set = draw_batches(&data, first, job.measure);
        let (mut models, mut ready): (Vec<(EncoderConfig, Network<B>)>, Vec<ReadyPolicy<'_>>) =
            Default::default();
        for cell in &job.cells {
            let policy = cell
                .settings
                .policy
                .resolve(blocks_of_cell(cell, &data.encoder), &head_names(&cell.settings))?;
            let added = extras(&cell.settings, &[&policy], data.encoder.depth)?;
            let encoder = EncoderConfig { extras: added, ..data.encoder.clone() };
            let known = models.iter().position(|(other, _)| *other == encoder);
            let model = match known {
                Some(place) => place,
                None => {
                    models.push((encoder.clone(), make_network(cell, &data, &encoder, shared, device)?));
                    models.len() - 1
                }
            };
            let prefix = compute_rows(job, cell, &policy, &models[model].1, &encoder, &set)?;
            ready.push(ReadyPolicy { cell, policy, encoder, model, prefix });
        }
        let starts = set.starts();
        let takers = ready.iter().map(|ready| ready.taker(&data, &set, &starts)).collect();
        let size = first.settings.train.batch;
        let places: Vec<usize> = (0..set.examples.len()).collect();
        let batches: Vec<Vec<usize>> = places.chunks(size).map(<[usize]>::to_vec).collect();
        let subwords = |batch: &Vec<usize>| batch.iter().map(|&at| set.examples[at].ids.len() as u64).sum();
        let subwords: Vec<u64> = batches.iter().map(subwords).collect();
        let models = models.into_iter().map(|(_, model)| model).collect();
        let mut turns = Turns::<B>::new(takers, models, batches);
        let on_gpu = backend::is_gpu(&made_by.backend);
        let take = |round| {
            let mut times = turns.round(round)?;
            if on_gpu {
                // The processor's time for a GPU's steps is not meaningful.
                times.iter_mut().for_each(|time| time.cpu_ms = None);
            }
            Ok(times)
        };
        let base = base_place(ready.iter().map(|ready| ready.cell.settings.policy.as_str()));
        let of_memory = job.measure == Measurement::Memory;
        let steps = || count_rounds(job.measure, base, take, &mut busy);
        let (rounds, device_bytes) = if of_memory { B::k_watch_memory(steps) } else { (steps(), None) };
        let rounds = rounds?;
        let memory = of_memory.then(peak_rss_mib).filter(|peak| *peak > 0.0);
        let policies = ready.iter().enumerate().map(|(at, ready)| TimedPolicy {
            cell: ready.cell.id.clone(),
            step_ms: rounds.iter().map(|round| round[at].wall_ms).collect(),
            cpu_ms: rounds.iter().map(|round| round[at].cpu_ms).collect(),
            peak_rss_mib: memory,
            peak_device_mib: device_bytes.map(|bytes| bytes as f64 / MIB),
        });
        Ok(PairedTimes {
            schema: SCHEMA,
            policies: policies.collect(),
            subwords: (0..rounds.len()).map(|round| subwords[round % subwords.len()]).collect(),
            load: busy.end(),
            made_by,
        })
    }
}

/// Returns the place of the policy to which the others' ratios are shown.
fn base_place<'a>(mut policies: impl Iterator<Item = &'a str>) -> usize {
    policies.position(|policy| policy == BASELINE).unwrap_or(0)
}

/// Returns the rounds that are counted: until each policy's ratio to the one at `base` is known well enough, or
/// time runs out. The machine is watched from the first one on.
fn count_rounds(
    measure: Measurement,
    base: usize,
    mut take: impl FnMut(u64) -> Result<Vec<StepTime>>,
    busy: &mut Busy,
) -> Result<Vec<Vec<StepTime>>> {
    let mut counted = Vec::new();
    let Measurement::Steps { within_percent, limit_s } = measure else {
        for round in 0..MEMORY_STEPS as u64 {
            counted.push(take(round)?);
        }
        return Ok(counted);
    };
    let begun = Instant::now();
    let warm_up = BATCHES as u64 - WARM_UP..BATCHES as u64;
    for round in warm_up {
        take(round)?;
    }
    busy.restart();
    for round in 0.. {
        counted.push(take(round)?);
        let late = begun.elapsed().as_secs_f64() > limit_s;
        let is_settled = || ratios_settled(&counted, base, busy.so_far().is_busy(), within_percent / 100.0);
        if late || (counted.len() >= FEWEST && is_settled()) {
            break;
        }
    }
    Ok(counted)
}

/// Returns whether the interval of each policy's ratio to the one at `base` ends within this share of the
/// ratio.
fn ratios_settled(rounds: &[Vec<StepTime>], base: usize, by_cpu_time: bool, within: f64) -> bool {
    let compared = |time: StepTime| time.cpu_ms.filter(|_| by_cpu_time).unwrap_or(time.wall_ms);
    (0..rounds[0].len()).filter(|&at| at != base).all(|at| {
        let ratio_in = |round: &Vec<StepTime>| compared(round[at]) / compared(round[base]);
        let ratios: Vec<f64> = rounds.iter().map(ratio_in).collect();
        let ratio = median(&ratios, 0.95);
        ratio.high - ratio.value <= within * ratio.value && ratio.value - ratio.low <= within * ratio.value
    })
}

/// Returns a cell's data without its baselines.
pub(crate) fn load_data(cell: &Cell, shared: &mut SharedData) -> Result<std::sync::Arc<CellData>> {
    let mut cell = cell.clone();
    // Baselines are not needed, and would be computed.
    cell.settings.eval.baselines = frostline_record::Switch::Off;
    load(&cell, false, shared)
}

/// Returns the headline's train sentences of the batches: drawn at random, or the longest ones if memory is
/// measured.
fn draw_batches(data: &CellData, cell: &Cell, measure: Measurement) -> Dataset {
    let examples = &data.main().train.examples;
    let size = cell.settings.train.batch;
    let mut order = Stream::new(cell.settings.seed, "turns").child(u64::MAX).permutation(examples.len());
    let wanted = match measure {
        Measurement::Memory => {
            order.sort_by_key(|&at| std::cmp::Reverse(examples[at].ids.len()));
            size * MEMORY_STEPS
        }
        Measurement::Steps { .. } => size * BATCHES,
    };
    // Whole batches, if there are enough sentences for one.
    let wanted = wanted.min((examples.len() / size * size).max(1)).max(size.min(examples.len()));
    let examples = order.iter().take(wanted).map(|&at| examples[at].clone()).collect();
    Dataset { examples, unseen_tags: Vec::new() }
}

/// Builds the model with which a cell starts.
pub(crate) fn make_network<B: Train>(
    cell: &Cell,
    data: &CellData,
    encoder: &EncoderConfig,
    shared: &mut SharedData,
    device: &B::Device,
) -> Result<Network<B>> {
    let weights =
        || cell.inputs.iter().filter(|(role, _)| role.starts_with("weights")).map(|(_, input)| input);
    shared.verified.check(weights())?;
    let source = inputs::encoder_source(&cell.inputs, &cell.settings, encoder)?;
    let head = RandomInit::new(cell.settings.seed, HEAD_STD);
    Ok(Network::build(encoder, &data.vocabulary, &data.heads, [&*source, &head], device)?)
}

/// Returns the output of the policy's constant prefix for the batches' sentences, if its cell would read it.
fn compute_rows<B: Train>(
    job: &TimingJob,
    cell: &Cell,
    policy: &ResolvedPolicy,
    model: &Network<B>,
    encoder: &EncoderConfig,
    set: &Dataset,
) -> Result<Option<(usize, Vec<f32>)>> {
    let dropout = &cell.settings.dropout;
    let dropped = dropout.encoder.is_on() && dropout.frozen.is_on();
    let Some(blocks) = policy.constant_prefix().filter(|_| job.prefix_cache && !dropped) else {
        return Ok(None);
    };
    let mut rows = Vec::with_capacity(set.subwords() * encoder.hidden);
    let mut take = |some: &[f32]| {
        rows.extend_from_slice(some);
        anyhow::Ok(())
    };
    compute_prefix(&model.valid(), encoder, set.into(), blocks, &cell.settings, &mut take)?;
    Ok(Some((blocks, rows)))
}

impl ReadyPolicy<'_> {
    fn taker<'a>(&'a self, data: &CellData, set: &'a Dataset, starts: &'a [usize]) -> TurnTaker<'a> {
        let prefix = self.prefix.as_ref().map(|(blocks, rows)| Prefix {
            blocks: *blocks,
            hidden: self.encoder.hidden,
            rows,
            starts,
        });
        let view = View { data: set, prefix };
        TurnTaker {
            settings: &self.cell.settings,
            encoder: &self.encoder,
            policy: &self.policy,
            task: Task { head: data.main().head, ..Run::task(view, view) },
            model: self.model,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two policies whose steps wait for a processor in turns.
    #[test]
    fn waiting_for_a_processor_does_not_unsettle_processor_time() {
        let step = |cpu_ms: f64, waits: bool| StepTime {
            wall_ms: cpu_ms + if waits { 4.0 } else { 0.0 },
            cpu_ms: Some(cpu_ms),
        };
        let rounds: Vec<Vec<StepTime>> = (0..40)
            .map(|round| {
                let drift = 1.0 + f64::from(round % 5) / 1000.0;
                vec![step(5.0, round % 2 == 0), step(3.0 * drift, round % 2 == 1)]
            })
            .collect();
        assert!(ratios_settled(&rounds, 0, true, 0.02));
        assert!(!ratios_settled(&rounds, 0, false, 0.02));
        // Without processor time, only elapsed time can be compared.
        let plain: Vec<Vec<StepTime>> = rounds
            .iter()
            .map(|round| round.iter().map(|time| StepTime { cpu_ms: None, ..*time }).collect())
            .collect();
        assert_eq!(ratios_settled(&plain, 0, true, 0.02), ratios_settled(&plain, 0, false, 0.02));
    }

    /// Each of two policies is within 2 % of the first, but not of the other.
    #[test]
    fn it_is_the_ratios_to_the_baseline_that_settle() {
        let step = |wall_ms: f64| StepTime { wall_ms, cpu_ms: None };
        let round = |round: usize| {
            let off = if round.is_multiple_of(2) { 0.015 } else { -0.015 };
            vec![step(1.0), step(1.0 + off), step(1.0 - off)]
        };
        let rounds: Vec<Vec<StepTime>> = (0..40).map(round).collect();
        assert!(ratios_settled(&rounds, 0, false, 0.02));
        assert!(!ratios_settled(
            &rounds,
            base_place(["head-only", "first-2", "none"].into_iter()),
            false,
            0.02
        ));
        assert_eq!(base_place(["head-only", "first-2"].into_iter()), 0);
    }
}
