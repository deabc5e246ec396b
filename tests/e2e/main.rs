//! The sweep end to end, with a fake runner if no training is needed.

mod bad_input;
mod block_choice;
mod command_line;
#[cfg(unix)]
mod interruption;
mod output;
mod plans;
mod rates;
mod records;
#[cfg(unix)]
mod sharing;
#[cfg(unix)]
mod submission;
mod trust;

use frostline_e2e::{Ended, World};

/// Returns a new world with the binaries under test.
fn new_world() -> World {
    World::new(env!("CARGO_BIN_EXE_xtask-under-test"), env!("CARGO_BIN_EXE_fake-runner"))
}

/// Exit code and output without the world's own paths.
fn show_ended(world: &World, ended: &Ended) -> String {
    let code = ended.code.map_or("signal".into(), |code| code.to_string());
    let text = format!("exit code {code}\n--- out\n{}--- err\n{}", ended.out, ended.err);
    text.replace(&world.path_of("").display().to_string(), "[world]/")
        .replace(env!("CARGO_BIN_EXE_fake-runner"), "[fake-runner]")
        .lines()
        .map(|line| line.trim_end().to_string() + "\n")
        .collect()
}

#[cfg(not(unix))]
#[test]
fn an_interrupted_sweep_ends_cleanly() {
    frostline_testing::skipped(frostline_testing::Lack::Platform, "signals are Unix's");
}
