#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod args;
mod changes;
mod screen;
mod serve;
mod snapshot_thread;
mod sparkline;
mod terminal;
mod watch;

pub use changes::Changes;
pub use screen::{Key, Screen, Then};
pub use serve::{Exchange, serve};
pub use watch::watch;
