//! `cargo xtask`: the command line over the library of this package, and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::run(std::env::args_os())
}
