//! The command-line arguments of `watch` and `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// `watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
It reads the sweep's folder and nothing else, on any machine that sees the folder, and does not affect the processes that run cells \
of it. Where standard output is no terminal, it prints the present state once.

Examples:
    frostline watch study
    frostline watch study --once
    frostline watch study --json | jq 'select(.event == \"failed\")'

Keys: up and down select a cell; a, r, f, w and d show all cells or those that are running, failed, waiting or done; q \
ends it.

Exit codes: 0 ended by a key, or with --json when all cells are recorded and no search adds more; 1 with --json where some failed; 2 bad \
arguments; 3 environment (no sweep).")]
pub struct WatchArgs {
    /// The sweep's folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Print the present state and end
    #[arg(long)]
    pub once: bool,
    /// Print one JSON object per event until all cells are recorded and no search adds more; with --once, the present state as one object
    #[arg(long)]
    pub json: bool,
    /// The time from one look at the folder to the next; longer where a look takes long
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = parse_seconds)]
    pub every_s: f64,
}

impl WatchArgs {
    /// Returns the time between two looks.
    #[must_use]
    pub fn every(&self) -> Duration {
        Duration::from_secs_f64(self.every_s)
    }
}

/// `serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
The page shows who runs which cell, and below it the report of the cells that are recorded so far. Only reading is \
possible, only from this machine unless --listen says otherwise, and nothing but the report and the state is served. \
Every user of this machine can reach the port. Unless all of them can read the folder anyway, the printed address has a \
token, and nothing is answered without it; so with --listen and another address than the machine's own.

From another machine: `ssh -L 8047:localhost:8047 HOST`, then the printed address there.

Examples:
    frostline serve study
    frostline serve study --listen 127.0.0.1:0          # any free port
    frostline serve study --listen 0.0.0.0:8047 --name cluster.example.org

Exit codes: 2 bad arguments, 3 environment (no sweep, the address is taken), 130 ended by Ctrl-C.")]
pub struct ServeArgs {
    /// The sweep's folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The address and port to listen on; with any but 127.0.0.1, other machines can read the report
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8047")]
    pub listen: SocketAddr,
    /// A name of this machine by which browsers may ask, besides localhost and addresses
    #[arg(long, value_name = "HOST")]
    pub name: Vec<String>,
    /// Answer everyone who reaches the address, also where they cannot read the folder
    #[arg(long)]
    pub no_token: bool,
}

/// Returns a time between looks, in seconds.
fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds from 0.1 to 3600, as in 2".into()),
    }
}
