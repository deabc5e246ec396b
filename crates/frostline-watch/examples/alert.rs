//! Runs a command for each cell that fails, and once when the sweep has ended, with a message as its last
//! argument: `cargo run -p frostline-watch --example alert -- SWEEP notify-send Frostline`. Without arguments
//! it explains its usage.

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use frostline_sweep::{Notice, WatchedSweep};
use frostline_watch::Changes;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [folder, command @ ..] if !command.is_empty() => follow_sweep(Path::new(folder), command),
        _ => {
            println!("usage: alert SWEEP COMMAND [ARGUMENT ...]");
            Ok(())
        }
    }
}

/// Follows the sweep in a folder to its end.
fn follow_sweep(folder: &Path, command: &[String]) -> Result<(), Error> {
    let (mut watched, mut changes) = (WatchedSweep::open_folder(folder)?, Changes::of(folder));
    loop {
        let snapshot = watched.take_snapshot();
        for notice in changes.since(&snapshot) {
            if let Some(message) = notice_text(&notice) {
                Command::new(&command[0]).args(&command[1..]).arg(message).status()?;
            }
        }
        if snapshot.has_ended() {
            return Ok(());
        }
        sleep(Duration::from_secs(5));
    }
}

fn notice_text(notice: &Notice) -> Option<String> {
    match notice {
        Notice::Failed { cell, error, .. } => Some(format!("{} failed: {error}", cell.cell)),
        Notice::End { cells, done, failed } => Some(format!("{done} of {cells} cells done, {failed} failed")),
        _ => None,
    }
}
