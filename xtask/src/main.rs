//! The program of `cargo xtask`; the commands are in the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::run_command(std::env::args_os())
}
