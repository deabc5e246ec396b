//! From an encoder and data to the cost model's question, and its answer as a record shows it.

use frostline_freeze::{Cost, Machine, Policy, PrefixMode, ResolvedPolicy, Shape, Workload};
use frostline_model::EncoderConfig;
use frostline_record as record;

use crate::data::Data;

/// A tagger's shape, with a word table that carries so many rows.
#[must_use]
pub fn shape(encoder: &EncoderConfig, tags: usize, word_rows: usize) -> Shape {
    Shape {
        hidden: encoder.hidden,
        intermediate: encoder.intermediate,
        depth: encoder.depth,
        heads: encoder.heads,
        tags,
        word_rows: word_rows.min(encoder.vocabulary),
        other_rows: encoder.positions + encoder.token_types,
        added: encoder.extras.per_block(encoder),
    }
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
    }
}

/// The prediction for a cell, from its own train sentences.
pub(crate) fn of_cell(
    data: &Data,
    encoder: &EncoderConfig,
    policy: &ResolvedPolicy,
    batch: usize,
) -> record::Cost {
    let task = data.main();
    let examples = &task.train.examples;
    let lengths = examples.iter().map(|example| example.ids.len());
    let label_positions: usize = examples
        .iter()
        .map(|example| {
            example.words.iter().zip(&example.gold).filter(|(w, g)| w.is_ok() && g.is_some()).count()
        })
        .sum();
    let steps = examples.len().div_ceil(batch);
    let workload = Workload::of(lengths, label_positions as u64, steps as u64);
    let shape = shape(encoder, task.tags.len(), data.vocabulary.rows().len());
    predict(&shape, &workload, policy, PrefixMode::Computed)
}
