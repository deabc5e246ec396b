//! `frostline watch`: a sweep's folder on a terminal, as text or as JSON.

use std::io::{IsTerminal as _, Write as _};

use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::{Ending, WatchedSweep, print_output};

use crate::args::WatchArgs;
use crate::changes::Changes;
use crate::snapshot_thread::read_snapshots;
use crate::terminal;

/// Shows the progress of the sweep in a folder.
///
/// # Errors
/// If there is no sweep in the folder, or the terminal cannot be used.
pub fn watch(args: &WatchArgs) -> CommandResult<Ending> {
    let mut watched = WatchedSweep::open_folder(&args.folder).blame_environment()?;
    match (args.json, args.once || !std::io::stdout().is_terminal()) {
        (true, _) if args.once => {
            let text = serde_json::to_string(&watched.take_snapshot()).expect("plain data always serialises");
            print_output(|out| writeln!(out, "{text}"))
        }
        (true, _) => print_notices(args, watched),
        (false, true) => {
            let snapshot = watched.take_snapshot();
            print_output(|out| snapshot.write_lines(&args.folder, out))
        }
        (false, false) => terminal::run(watched, args.every()).blame_environment(),
    }
}

/// Prints changes until all cells are recorded and no search adds more.
fn print_notices(args: &WatchArgs, watched: WatchedSweep) -> CommandResult<Ending> {
    let mut changes = Changes::of(&args.folder);
    let mut failed = false;
    for snapshot in read_snapshots(watched, args.every()) {
        for notice in changes.since(&snapshot) {
            // The reader has closed the output: there is nothing left to do.
            if notice.print().is_err() {
                return Ok(Ending::Done);
            }
        }
        failed = snapshot.counts.failed > 0;
        if snapshot.has_ended() {
            break;
        }
    }
    Ok(if failed { Ending::Failed } else { Ending::Done })
}
