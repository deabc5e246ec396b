#![doc = include_str!("../README.md")]
#![recursion_limit = "256"]

pub mod audit;
pub mod backend;
mod baselines;
pub mod bench;
pub mod cell;
mod changes;
pub mod check;
pub mod commands;
pub mod corpus;
pub mod cost;
pub mod data;
pub mod facts;
pub mod inputs;
pub mod model_folder;
pub mod outcome;
pub mod params;
pub mod prefix;
pub mod pretrain;
mod save;
mod saved_model;
mod story;
pub mod tagger;
pub mod version;
pub mod worker;

pub use tagger::Tagger;
