//! `frostline serve`: the live page of a sweep's folder over HTTP, for reading only.

mod access;
mod answer;
mod exchange;
mod gate;
mod host;
mod paced;
mod server;
mod site;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::{Ending, WatchedSweep, note, say, shown_path};

use crate::args::ServeArgs;
use access::needs_token;
use gate::{AccessToken, Gate};
use host::HostNames;
use server::{ConnectionLimits, Served};
use site::ServedSite;

pub use exchange::Exchange;

/// Serves the page of a sweep's folder until the process is ended.
///
/// # Errors
/// If there is no sweep in the folder, or the address cannot be listened on.
pub fn serve(args: &ServeArgs) -> CommandResult<Ending> {
    let watched = WatchedSweep::open_folder(&args.folder).blame_environment()?;
    let listener = TcpListener::bind(args.listen)
        .map_err(|error| {
            anyhow!(
                "{}: cannot be listened on ({error}); give another port, or 0 for any free one",
                args.listen
            )
        })
        .blame_environment()?;
    let at = listener.local_addr().blame_environment()?;
    let needs_token = needs_token(at.ip(), &args.folder);
    let token = (needs_token && !args.no_token).then(AccessToken::draw).transpose().blame_environment()?;
    print_address(args, at, needs_token, token.as_ref());
    let gate = Gate::new(HostNames::new(args.name.clone()), token);
    let limits = ConnectionLimits::default();
    let served = Served { site: ServedSite::of(watched, limits.fresh), gate, limits };
    serve_connections(listener, served).blame_environment()?;
    Ok(Ending::Done)
}

fn print_address(args: &ServeArgs, at: SocketAddr, needs_token: bool, token: Option<&AccessToken>) {
    let query = token.map_or_else(String::new, |token| format!("?token={}", token.text()));
    say!("serving   {} at http://{at}/{query} (Ctrl-C ends it)", shown_path(&args.folder));
    if needs_token && token.is_none() {
        note!(
            "warning   without a token, everyone who reaches this address can read the report, with the sentences that it \
             quotes"
        );
    }
    if !at.ip().is_loopback() {
        note!(
            "warning   the connection is not encrypted: on its way, others can read the report and the token; `ssh -L` \
             avoids that"
        );
    }
}

/// Answers for ever, on this thread; folders are read and reports computed on others.
fn serve_connections(listener: TcpListener, served: Served) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    runtime.context("the server cannot be started")?.block_on(async {
        listener.set_nonblocking(true)?;
        server::run(tokio::net::TcpListener::from_std(listener)?, Arc::new(served)).await;
        Ok(())
    })
}

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod tests;
