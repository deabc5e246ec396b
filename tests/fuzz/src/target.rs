//! The list of targets.
//!
//! # To add a reader of files
//!
//! It opens them through `frostline-files`, with a maximum size, which is a constant next to it and a row in
//! `docs/limits.md`. A function in `tests/fuzz/src` calls it on any bytes; its row is in `target.rs`, its first
//! inputs are in `tests/fuzz/corpus`.

use crate::{archives, checkpoints, folders, models, plans, records, requests, texts};

/// A reader of foreign files, called as in the commands.
pub struct Target {
    /// The name of the target and of its folders in `corpus` and `regressions`.
    pub name: &'static str,
    /// Reads an input. It panics if a property does not hold.
    pub run: fn(&[u8]),
    /// The form of the inputs, for mutations that keep them well-formed.
    pub shape: Shape,
    /// The longest input that is made, in bytes.
    pub longest: usize,
}

/// The form of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
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

const fn target(name: &'static str, run: fn(&[u8]), shape: Shape, longest: usize) -> Target {
    Target { name, run, shape, longest }
}

/// All targets.
pub const TARGETS: &[Target] = &[
    target("conllu", texts::conllu, Shape::Rows, 4 << 10),
    target("text", texts::text, Shape::Text, 4 << 10),
    target("row", texts::row, Shape::Rows, 512),
    target("iob2", texts::iob2, Shape::Rows, 4 << 10),
    target("labelled", texts::labelled, Shape::Rows, 4 << 10),
    target("plan", plans::plan, Shape::Text, 8 << 10),
    target("assign", plans::assign, Shape::Text, 1 << 10),
    target("policy", plans::policy, Shape::Text, 256),
    target("reference", plans::reference, Shape::Text, 8 << 10),
    target("config", models::config, Shape::Json, 4 << 10),
    target("tokenizer", models::tokenizer, Shape::Json, 16 << 10),
    target("vocabulary", models::vocabulary, Shape::Text, 4 << 10),
    target("safetensors", models::safetensors, Shape::Tensors, 16 << 10),
    target("index", models::index, Shape::Json, 4 << 10),
    target("shards", models::shards, Shape::Json, 8 << 10),
    target("checkpoint", models::checkpoint, Shape::Tensors, 16 << 10),
    target("pickle", checkpoints::pickle, Shape::Commands, 4 << 10),
    target("torch", checkpoints::torch, Shape::Archive, 8 << 10),
    target("distributed", checkpoints::distributed, Shape::Commands, 4 << 10),
    target("zip", archives::zip, Shape::Archive, 8 << 10),
    target("notes", records::notes, Shape::Json, 4 << 10),
    target("event", records::event, Shape::Json, 4 << 10),
    target("record", records::record, Shape::Json, 64 << 10),
    target("sweep", records::sweep, Shape::Json, 64 << 10),
    target("predictions", records::predictions, Shape::Rows, 8 << 10),
    target("claim", folders::claim, Shape::Text, 512),
    target("jobs", folders::jobs, Shape::Json, 2 << 10),
    target("unsent", folders::unsent, Shape::JsonLines, 4 << 10),
    target("http", requests::http, Shape::Text, 2 << 10),
];
