#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod batcher;
mod body;
mod document;
mod gate;
mod hosts;
mod hugging_face;
mod limits;
mod metrics;
mod models;
mod plain;
mod refusal;
mod router;
mod server;
mod service;
mod udpipe;

pub use limits::ServerLimits;
pub use models::{NamedFolder, ServedModels};
pub use server::{Server, ServerSettings, until_signal};
