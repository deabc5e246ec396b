//! From an encoder and data to the cost model's question, and its answer as a record shows it.

use std::collections::BTreeSet;

use frostline_freeze::{Cost, Machine, Policy, PrefixMode, ResolvedPolicy, Shape, StepMemory, Workload};
use frostline_kernels::backend::has_lazy_tables;
use frostline_model::{EncoderConfig, LayerKind};
use frostline_record as record;
use frostline_train::Example;

use crate::data::{CellData, TaskData};
use crate::stage::ResolvedStage;

/// Returns a tagger's shape, with a word table that carries so many rows, all of which a step updates.
#[must_use]
pub fn shape(encoder: &EncoderConfig, tags: usize, word_rows: usize) -> Shape {
    let architecture = &encoder.architecture;
    let positions = if architecture.learned_positions { encoder.positions } else { 0 };
    let global = (0..encoder.depth).filter(|&block| architecture.layer(block) == LayerKind::Global).count();
    let has_local = global < encoder.depth;
    let relative_rows = architecture.relative.map_or(0, |table| 2 * table.span());
    Shape {
        hidden: encoder.hidden,
        embedding: encoder.embedding,
        intermediate: encoder.intermediate,
        depth: encoder.depth,
        heads: encoder.heads,
        key_heads: encoder.key_heads,
        gated: architecture.gated,
        biases: !architecture.has_no_bias(),
        window: if has_local { 2 * architecture.window + 1 } else { 0 },
        global_every: encoder.depth.div_ceil(global.max(1)).max(1),
        sharing: architecture.spans(),
        relative_rows,
        tags,
        word_rows: word_rows.min(encoder.vocabulary),
        read_rows: word_rows.min(encoder.vocabulary),
        other_rows: positions + encoder.token_types + relative_rows,
        added: encoder.extras.per_block(encoder),
        added_inputs: encoder.extras.inputs_per_row(encoder),
    }
}

/// Returns the shape on this backend, if a step reads at most this many rows of the word table.
#[must_use]
pub fn on_backend(shape: Shape, read: usize, backend: &str) -> Shape {
    if has_lazy_tables(backend) { shape.reading(read) } else { shape }
}

/// Returns the cost of a step under a policy, compared with a step that trains everything.
#[must_use]
pub fn predict(
    shape: &Shape,
    workload: &Workload,
    policy: &ResolvedPolicy,
    prefix: PrefixMode,
) -> record::Cost {
    compare_cost(shape, workload, policy, [prefix, PrefixMode::ALL_CACHED], 1)
}

/// Returns the cost of a step in this many parts; the second mode computes the prefix if it is cached.
fn compare_cost(
    shape: &Shape,
    workload: &Workload,
    policy: &ResolvedPolicy,
    prefix: [PrefixMode; 2],
    parts: usize,
) -> record::Cost {
    let none = Policy::none().resolve(shape.depth, &["head"]).expect("every encoder has `none`");
    let none = Cost::of(shape, workload, &none).in_parts(parts);
    let [cost, cached] =
        prefix.map(|prefix| Cost::with_prefix(shape, workload, policy, prefix).in_parts(parts));
    record::Cost {
        gflop_per_step: cost.total().gflop(),
        predicted_speedup: cost.speedup_over(&none, &Machine::default()),
        predicted_speedup_cached: cached.speedup_over(&none, &Machine::default()),
        subwords_per_step: workload.subwords,
        context_subwords: workload.context,
        speaking_per_step: workload.labels,
        word_rows: shape.word_rows as u64,
        memory: None,
    }
}

/// How long a step takes on a machine, in milliseconds.
#[must_use]
pub fn step_ms(
    shape: &Shape,
    workload: &Workload,
    policy: &ResolvedPolicy,
    prefix: PrefixMode,
    machine: &Machine,
) -> f64 {
    1e3 * Cost::with_prefix(shape, workload, policy, prefix).seconds(machine)
}

/// Returns the memory that a step on this workload keeps under a policy.
#[must_use]
pub fn memory(shape: &Shape, workload: &Workload, policy: &ResolvedPolicy) -> record::PredictedMemory {
    memory_in_bytes(&StepMemory::of(shape, workload, policy))
}

fn memory_in_bytes(kept: &StepMemory) -> record::PredictedMemory {
    let [gradients, moments, activations] =
        [kept.gradients, kept.moments, kept.activations].map(|bytes| bytes.round() as u64);
    record::PredictedMemory { gradients, moments, activations }
}

/// Returns the label positions of an example.
pub(crate) fn count_labels(example: &Example) -> u64 {
    example.words.iter().zip(&example.gold).filter(|(w, g)| w.is_ok() && g.is_some()).count() as u64
}

/// Returns the prediction for a cell's stage, from its train sentences.
pub(crate) fn of_stage(
    data: &CellData,
    encoder: &EncoderConfig,
    stage: &ResolvedStage,
    backend: &str,
) -> record::Cost {
    let (shape, workload) = of_train(data, encoder, stage, backend);
    let cached = stage.constant.map_or(PrefixMode::Computed, PrefixMode::Cached);
    let (policy, parts) = (stage.timeline.typical(), stage.settings.train.accumulate);
    let cost = compare_cost(&shape, &workload, policy, [PrefixMode::Computed, cached], parts);
    record::Cost { memory: memory_of_stage(data, encoder, stage, parts, backend), ..cost }
}

/// What the longest batch of any task keeps that the stage learns from, if each step is taken in so many parts: what its
/// longest part does.
pub(crate) fn memory_of_stage(
    data: &CellData,
    encoder: &EncoderConfig,
    stage: &ResolvedStage,
    parts: usize,
    backend: &str,
) -> Option<record::PredictedMemory> {
    let batch = stage.settings.train.batch;
    let of_task = |task: &TaskData| {
        let shape = shape(encoder, task.tags.len(), data.vocabulary.rows().len());
        let mut longest: Vec<&Example> = task.train.examples.iter().collect();
        longest.sort_by_key(|example| std::cmp::Reverse(example.ids.len()));
        // A step has the gradients of all its parts.
        let step = &longest[..longest.len().min(batch)];
        let read: BTreeSet<u32> = step.iter().flat_map(|example| &example.rows).copied().collect();
        let shape = on_backend(shape, read.len(), backend);
        longest.truncate(batch.div_ceil(parts));
        let lengths = longest.iter().map(|example| example.ids.len());
        let largest = Workload::of(lengths, longest.iter().map(|example| count_labels(example)).sum(), 1);
        StepMemory::of(&shape, &largest, stage.timeline.typical()).in_parts(parts.min(batch))
    };
    let all = stage.tasks(data).into_iter().map(of_task);
    all.max_by(|a, b| a.total().total_cmp(&b.total())).map(|kept| memory_in_bytes(&kept))
}

/// Returns the model of a stage, and its mean step over all tasks that it trains.
pub(crate) fn of_train(
    data: &CellData,
    encoder: &EncoderConfig,
    stage: &ResolvedStage,
    backend: &str,
) -> (Shape, Workload) {
    let of_task = |task: &TaskData| {
        let examples = &task.train.examples;
        let steps = examples.len().div_ceil(stage.settings.train.batch);
        let lengths = examples.iter().map(|example| example.ids.len());
        Workload::of(lengths, examples.iter().map(count_labels).sum(), steps as u64)
    };
    let tasks = stage.tasks(data);
    let (workload, tags) = match tasks.as_slice() {
        [task] => (of_task(task), task.tags.len()),
        _ => {
            let kinds: Vec<(f64, Workload)> =
                stage.shares(data).into_iter().zip(tasks.iter().map(|task| of_task(task))).collect();
            let mean = Workload::mean(&kinds);
            let logits = kinds.iter().zip(&tasks);
            let logits = logits.map(|((share, kind), task)| share * kind.labels * task.tags.len() as f64);
            (mean, (logits.sum::<f64>() / mean.labels.max(1.0)).round() as usize)
        }
    };
    let shape = shape(encoder, tags, data.vocabulary.rows().len());
    // At most a row for each subword.
    (on_backend(shape, workload.subwords as usize, backend), workload)
}
