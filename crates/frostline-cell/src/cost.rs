//! From an encoder and data to the cost model's question, and its answer as a record shows it.

use std::collections::BTreeSet;

use frostline_freeze::{Cost, Machine, Policy, PrefixMode, ResolvedPolicy, Shape, StepMemory, Workload};
use frostline_kernels::backend::has_lazy_tables;
use frostline_model::EncoderConfig;
use frostline_record as record;
use frostline_train::Example;

use crate::data::Data;

/// A tagger's shape, with a word table that carries so many rows, all of which a step updates.
#[must_use]
pub fn shape(encoder: &EncoderConfig, tags: usize, word_rows: usize) -> Shape {
    Shape {
        hidden: encoder.hidden,
        intermediate: encoder.intermediate,
        depth: encoder.depth,
        heads: encoder.heads,
        tags,
        word_rows: word_rows.min(encoder.vocabulary),
        read_rows: word_rows.min(encoder.vocabulary),
        other_rows: encoder.positions + encoder.token_types,
        added: encoder.extras.per_block(encoder),
    }
}

/// The shape on this backend, where a step reads at most so many rows of the word table.
#[must_use]
pub fn on_backend(shape: Shape, read: usize, backend: &str) -> Shape {
    if has_lazy_tables(backend) { shape.reading(read) } else { shape }
}

/// What a step costs under a policy, compared with one in which everything learns.
#[must_use]
pub fn predict(
    shape: &Shape,
    workload: &Workload,
    policy: &ResolvedPolicy,
    prefix: PrefixMode,
) -> record::Cost {
    let none = Policy::none().resolve(shape.depth, &["head"]).expect("every encoder has `none`");
    let none = Cost::of(shape, workload, &none);
    let cost = Cost::with_prefix(shape, workload, policy, prefix);
    let cached = Cost::with_prefix(shape, workload, policy, PrefixMode::Cached);
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

/// What a step on this workload keeps under a policy.
#[must_use]
pub fn memory(shape: &Shape, workload: &Workload, policy: &ResolvedPolicy) -> record::PredictedMemory {
    let kept = StepMemory::of(shape, workload, policy);
    let [gradients, moments, activations] =
        [kept.gradients, kept.moments, kept.activations].map(|bytes| bytes.round() as u64);
    record::PredictedMemory { gradients, moments, activations }
}

/// The label positions of an example.
pub(crate) fn labels(example: &Example) -> u64 {
    example.words.iter().zip(&example.gold).filter(|(w, g)| w.is_ok() && g.is_some()).count() as u64
}

/// The prediction for a cell, from its own train sentences; its memory is that of the longest batch, or of
/// the longest part of one.
pub(crate) fn of_cell(
    data: &Data,
    encoder: &EncoderConfig,
    policy: &ResolvedPolicy,
    train: &record::TrainSettings,
    backend: &str,
) -> record::Cost {
    let (shape, workload) = of_train(data, encoder, train, backend);
    let mut longest: Vec<&Example> = data.main().train.examples.iter().collect();
    longest.sort_by_key(|example| std::cmp::Reverse(example.ids.len()));
    // A step has the gradients of all its parts.
    let step = &longest[..longest.len().min(train.batch)];
    let read: BTreeSet<u32> = step.iter().flat_map(|example| &example.rows).copied().collect();
    let of_longest = on_backend(shape, read.len(), backend);
    longest.truncate(train.batch.div_ceil(train.accumulate));
    let lengths = longest.iter().map(|example| example.ids.len());
    let largest = Workload::of(lengths, longest.iter().map(|example| labels(example)).sum(), 1);
    let cost = predict(&shape, &workload, policy, PrefixMode::Computed);
    record::Cost { memory: Some(memory(&of_longest, &largest, policy)), ..cost }
}

/// The model of a cell, and a mean step on its own train sentences.
pub(crate) fn of_train(
    data: &Data,
    encoder: &EncoderConfig,
    train: &record::TrainSettings,
    backend: &str,
) -> (Shape, Workload) {
    let task = data.main();
    let examples = &task.train.examples;
    let lengths = examples.iter().map(|example| example.ids.len());
    let steps = examples.len().div_ceil(train.batch);
    let workload = Workload::of(lengths, examples.iter().map(labels).sum(), steps as u64);
    let shape = shape(encoder, task.tags.len(), data.vocabulary.rows().len());
    // At most a row for each subword.
    (on_backend(shape, workload.subwords as usize, backend), workload)
}
