//! Frostline measured in turns with other programs on the same data (`cargo xtask bench`), and a GPU with a processor and with
//! PyTorch (`cargo xtask device`).
//!
//! `comparisons.toml` defines what is compared, `tests/peers` has the other programs, `docs/benchmarks.json` keeps what was measured,
//! and `docs/benchmarks.md` is rendered from it.
#![forbid(unsafe_code)]

mod agenda;
mod args;
mod compare;
mod device;
mod frostline_side;
mod grid;
mod machine;
mod machine_limits;
mod output;
mod pace;
mod page;
mod parity;
mod peer;
mod places;
mod process;
mod rounds;
mod run;
mod spread;
mod steps;
mod stored;
mod suite;
mod tables;
mod time_limit;
mod trace;

pub use args::{BenchArgs, DeviceArgs};
pub use device::device;
pub use run::bench;
pub use suite::Suite;
pub use time_limit::TimeLimit;
