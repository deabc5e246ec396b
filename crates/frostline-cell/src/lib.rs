#![doc = include_str!("../README.md")]
#![recursion_limit = "256"]

mod aligned;
pub mod audit;
mod baselines;
pub mod bench;
mod block_scores;
pub mod blocks;
mod busy;
pub mod calibration;
pub mod card;
mod cell;
mod changes;
pub mod check;
#[cfg(feature = "flex")]
pub mod conformance;
mod corpora;
mod corpus;
pub mod cost;
mod data;
#[cfg(test)]
mod demo_cell;
mod document;
pub mod export;
pub mod export_onnx;
mod facts;
mod forecast;
mod heads;
mod history;
pub mod inputs;
mod load;
pub mod outcome;
pub mod params;
mod prefix;
mod prefix_rows;
pub mod pretrain;
pub mod profile;
mod recent;
mod save;
mod saved_model;
mod shared;
mod stage;
mod stop;
mod turns;
pub mod version;
pub mod worker;
