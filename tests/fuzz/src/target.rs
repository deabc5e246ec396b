//! The list of targets.
//!
//! # To add a reader of files
//!
//! It opens them through `frostline-files`, with a maximum size, which is a constant next to it and a row in
//! `docs/limits.md`. A function in `tests/fuzz/src` calls it on any bytes; its row is in `target.rs`, its first
//! inputs are in `tests/fuzz/corpus`.

use crate::{archives, checkpoints, folders, models, plans, records, requests, texts};

/// A reader of foreign files, called as in the commands.
pub struct InputTarget {
    /// The name of the target and of its folders in `corpus` and `regressions`.
    pub name: &'static str,
    /// Reads an input. It panics if a property does not hold.
    pub run: fn(&[u8]),
    /// The form of the inputs, for mutations that keep them well-formed.
    pub shape: InputShape,
    /// The longest input that is made, in bytes.
    pub longest: usize,
}

/// The form of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputShape {
    /// Lines of columns, separated by tabs.
    Rows,
    /// TOML, or other text that is not JSON.
    Text,
    /// A JSON document.
    Json,
    /// JSON documents, one to a line.
    JsonLines,
    /// A ZIP archive.
    Archive,
    /// The commands of a pickle.
    Commands,
    /// A JSON header with its length before it, then tensors: safetensors.
    Tensors,
}

const fn new_target(name: &'static str, run: fn(&[u8]), shape: InputShape, longest: usize) -> InputTarget {
    InputTarget { name, run, shape, longest }
}

/// All targets.
pub const TARGETS: &[InputTarget] = &[
    new_target("conllu", texts::fuzz_conllu, InputShape::Rows, 4 << 10),
    new_target("text", texts::fuzz_text, InputShape::Text, 4 << 10),
    new_target("row", texts::fuzz_row, InputShape::Rows, 512),
    new_target("iob2", texts::fuzz_iob2, InputShape::Rows, 4 << 10),
    new_target("labelled", texts::fuzz_labelled, InputShape::Rows, 4 << 10),
    new_target("plan", plans::fuzz_plan, InputShape::Text, 8 << 10),
    new_target("assign", plans::fuzz_assignment, InputShape::Text, 1 << 10),
    new_target("policy", plans::fuzz_policy, InputShape::Text, 256),
    new_target("reference", plans::fuzz_reference, InputShape::Text, 8 << 10),
    new_target("config", models::fuzz_config, InputShape::Json, 4 << 10),
    new_target("tokenizer", models::fuzz_tokenizer, InputShape::Json, 16 << 10),
    new_target("vocabulary", models::fuzz_vocabulary, InputShape::Text, 4 << 10),
    new_target("safetensors", models::fuzz_safetensors, InputShape::Tensors, 16 << 10),
    new_target("index", models::index, InputShape::Json, 4 << 10),
    new_target("shards", models::fuzz_shards, InputShape::Json, 8 << 10),
    new_target("checkpoint", models::fuzz_checkpoint, InputShape::Tensors, 16 << 10),
    new_target("pickle", checkpoints::fuzz_pickle, InputShape::Commands, 4 << 10),
    new_target("torch", checkpoints::fuzz_torch, InputShape::Archive, 8 << 10),
    new_target("distributed", checkpoints::fuzz_distributed, InputShape::Commands, 4 << 10),
    new_target("zip", archives::fuzz_zip, InputShape::Archive, 8 << 10),
    new_target("notes", records::fuzz_notes, InputShape::Json, 4 << 10),
    new_target("event", records::fuzz_event, InputShape::Json, 4 << 10),
    new_target("record", records::fuzz_record, InputShape::Json, 64 << 10),
    new_target("sweep", records::fuzz_sweep, InputShape::Json, 64 << 10),
    new_target("predictions", records::fuzz_predictions, InputShape::Rows, 8 << 10),
    new_target("claim", folders::fuzz_claim, InputShape::Text, 512),
    new_target("jobs", folders::fuzz_jobs, InputShape::Json, 2 << 10),
    new_target("unsent", folders::fuzz_unsent, InputShape::JsonLines, 4 << 10),
    new_target("http", requests::fuzz_http, InputShape::Text, 2 << 10),
];
