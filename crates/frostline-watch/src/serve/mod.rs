//! `frostline serve`: the live page of a sweep's folder over HTTP, for reading only.

mod answer;
mod host;
mod site;

use std::io::Cursor;
use std::sync::Arc;
use std::thread;

use anyhow::anyhow;
use frostline_sweep::fault::{Blame as _, Result};
use frostline_sweep::{Ending, Watched, note, say, shown};
use tiny_http::{Header, Request, Response, Server};

use crate::args::ServeArgs;
use answer::{Answer, answer};
use host::Hosts;
use site::Site;

/// How many requests are answered at the same time.
const THREADS: usize = 4;

/// Serves the page of a sweep's folder until the process is ended.
///
/// # Errors
/// If there is no sweep in the folder, or the address cannot be listened on.
pub fn serve(args: &ServeArgs) -> Result<Ending> {
    let watched = Watched::open(&args.folder).environment()?;
    let server = Server::http(args.listen)
        .map_err(|error| {
            anyhow!(
                "{}: cannot be listened on ({error}); give another port, or 0 for any free one",
                args.listen
            )
        })
        .environment()?;
    let Some(at) = server.server_addr().to_ip() else {
        return Err(anyhow!("{}: no address of IP", args.listen)).environment();
    };
    say!("serving   {} at http://{at}/ (Ctrl-C ends it)", shown(&args.folder));
    if !at.ip().is_loopback() {
        note!("warning   other machines can read the report there, with the sentences that it quotes");
    }
    let (server, site) = (Arc::new(server), Arc::new(Site::of(watched)));
    let hosts = Arc::new(Hosts::new(args.name.clone()));
    let workers: Vec<_> = (0..THREADS)
        .map(|_| {
            let (server, site, hosts) = (Arc::clone(&server), Arc::clone(&site), Arc::clone(&hosts));
            thread::spawn(move || {
                while let Ok(request) = server.recv() {
                    reply(request, &site, &hosts);
                }
            })
        })
        .collect();
    for worker in workers {
        // One that has panicked leaves the others.
        let _ = worker.join();
    }
    Ok(Ending::Done)
}

/// Answers a request. A connection that breaks concerns nobody.
fn reply(request: Request, site: &Site, hosts: &Hosts) {
    let host = request.headers().iter().find(|header| header.field.equiv("Host"));
    let allowed = host.is_some_and(|header| hosts.allow(header.value.as_str()));
    let Answer { status, kind, bytes, policy } = match allowed {
        true => answer(request.method(), request.url(), site),
        false => Answer::text(
            421,
            "This server does not answer for that host name; `frostline serve --name NAME` adds one.\n",
        ),
    };
    let headers = [
        ("Content-Type", kind),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Content-Security-Policy", policy),
        ("Allow", "GET, HEAD"),
    ];
    let headers =
        headers.map(|(name, value)| Header::from_bytes(name, value).expect("ASCII without line breaks"));
    // Nothing is sent in the place of a HEAD request's body.
    let length = bytes.len();
    let response = Response::new(status.into(), headers.into(), Cursor::new(bytes), Some(length), None)
        .with_chunked_threshold(usize::MAX);
    let _ = request.respond(response);
}

#[cfg(test)]
mod tests;
