//! Training on a GPU, or on what takes its place: what a step asks of the device, and that the study is the same there.

#[path = "../common/mod.rs"]
mod common;

mod budget;
mod study;
