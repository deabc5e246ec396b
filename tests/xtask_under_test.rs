//! `cargo xtask` for the end-to-end tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::run_command(std::env::args_os())
}
