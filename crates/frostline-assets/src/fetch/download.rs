//! One file over HTTP: goes on where an earlier try stopped, and is checked before it counts.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write as _};
use std::path::Path;
use std::time::Duration;

use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use ureq::Agent;
use ureq::http::Response;

use super::listing::{Digest, Entry};
use super::{FetchError, Progress};
use crate::source::hex;

/// The longest silence that is taken for a living connection.
const SILENCE: Duration = Duration::from_secs(60);

/// A client that takes every status as an answer and gives up on a dead connection.
pub(super) fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_connect(Some(Duration::from_secs(20)))
        .timeout_recv_response(Some(SILENCE))
        .timeout_per_read(Some(SILENCE))
        .user_agent(concat!("frostline/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}

/// A JSON answer. `hint` is the next step where the host has nothing there.
pub(super) fn json(agent: &Agent, url: &str, hint: &str) -> Result<serde_json::Value, FetchError> {
    let mut response = ask(agent, url, 0)?;
    match response.status().as_u16() {
        200 => {}
        status @ (401 | 404) => {
            return Err(FetchError::NotThere { url: url.into(), status, hint: hint.into() });
        }
        status => return Err(FetchError::Status { url: url.into(), status }),
    }
    let text = response
        .body_mut()
        .read_to_string()
        .map_err(|error| FetchError::Connection { url: url.into(), reason: error.to_string() })?;
    serde_json::from_str(&text)
        .map_err(|error| FetchError::Listing { url: url.into(), reason: error.to_string() })
}

/// Brings one file into a folder, unless it is there already.
pub(super) fn file(
    agent: &Agent,
    entry: &Entry,
    folder: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), FetchError> {
    let done = folder.join(&entry.name);
    if done.exists() && check(&done, entry).is_ok() {
        report(entry, entry.bytes, progress);
        return Ok(());
    }
    // The digest in the name keeps the remains of another revision apart.
    let digest = entry.digest.hex();
    let part = folder.join(format!("{}.{}.part", entry.name, &digest[..12]));
    transfer(agent, entry, &part, progress)?;
    if let Err(error) = check(&part, entry) {
        let _ = fs::remove_file(&part);
        return Err(error);
    }
    fs::rename(&part, &done).map_err(FetchError::io(&done))
}

/// Appends to `part` what it lacks, or writes it anew where the host cannot go on in the middle.
fn transfer(
    agent: &Agent,
    entry: &Entry,
    part: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), FetchError> {
    let io = || FetchError::io(part);
    let here = fs::metadata(part).map_or(0, |facts| facts.len());
    if here == entry.bytes && here > 0 {
        return Ok(());
    }
    let here = if here > entry.bytes { 0 } else { here };
    let mut response = ask(agent, &entry.url, here)?;
    let (mut bytes, mut file) = match response.status().as_u16() {
        206 if goes_on_at(&response, here) => {
            (here, OpenOptions::new().append(true).open(part).map_err(io())?)
        }
        200 => (0, File::create(part).map_err(io())?),
        status => return Err(FetchError::Status { url: entry.url.clone(), status }),
    };
    let mut body = response.body_mut().with_config().limit(u64::MAX).reader();
    let mut buffer = vec![0; 1 << 16];
    report(entry, bytes, progress);
    loop {
        let n = body
            .read(&mut buffer)
            .map_err(|error| FetchError::Connection { url: entry.url.clone(), reason: error.to_string() })?;
        if n == 0 {
            break;
        }
        bytes += n as u64;
        if bytes > entry.bytes {
            break; // more than was promised: `check` says so
        }
        file.write_all(&buffer[..n]).map_err(io())?;
        report(entry, bytes, progress);
    }
    if bytes < entry.bytes {
        return Err(FetchError::Connection {
            url: entry.url.clone(),
            reason: format!("the transfer ended after {bytes} of {} bytes", entry.bytes),
        });
    }
    if bytes > entry.bytes {
        let _ = fs::remove_file(part);
        return Err(size_error(entry, bytes));
    }
    file.sync_all().map_err(io())
}

/// Asks for a file from this byte on.
fn ask(agent: &Agent, url: &str, from: u64) -> Result<Response<ureq::Body>, FetchError> {
    let mut request = agent.get(url);
    if from > 0 {
        request = request.header("Range", format!("bytes={from}-"));
    }
    request.call().map_err(|error| FetchError::Connection { url: url.into(), reason: error.to_string() })
}

/// Whether a partial answer begins where we stopped.
fn goes_on_at(response: &Response<ureq::Body>, from: u64) -> bool {
    let range = response.headers().get("Content-Range").and_then(|range| range.to_str().ok());
    from > 0 && range.is_some_and(|range| range.starts_with(&format!("bytes {from}-")))
}

/// Compares a file with what the host listed.
fn check(path: &Path, entry: &Entry) -> Result<(), FetchError> {
    let mut file = File::open(path).map_err(FetchError::io(path))?;
    let bytes = file.metadata().map_err(FetchError::io(path))?.len();
    if bytes != entry.bytes {
        return Err(size_error(entry, bytes));
    }
    let mut sha1 = Sha1::new();
    let mut sha256 = Sha256::new();
    sha1.update(format!("blob {bytes}\0"));
    let mut buffer = vec![0; 1 << 18];
    loop {
        let n = file.read(&mut buffer).map_err(FetchError::io(path))?;
        if n == 0 {
            break;
        }
        match entry.digest {
            Digest::GitBlob(_) => sha1.update(&buffer[..n]),
            Digest::Sha256(_) => sha256.update(&buffer[..n]),
        }
    }
    let found = match entry.digest {
        Digest::GitBlob(_) => hex(&sha1.finalize()),
        Digest::Sha256(_) => hex(&sha256.finalize()),
    };
    if found.eq_ignore_ascii_case(entry.digest.hex()) {
        return Ok(());
    }
    Err(FetchError::Digest {
        file: entry.name.clone(),
        algorithm: entry.digest.algorithm(),
        expected: entry.digest.hex().into(),
        found,
    })
}

fn size_error(entry: &Entry, found: u64) -> FetchError {
    FetchError::Digest {
        file: entry.name.clone(),
        algorithm: "size in bytes",
        expected: entry.bytes.to_string(),
        found: found.to_string(),
    }
}

fn report(entry: &Entry, bytes: u64, progress: &mut dyn FnMut(Progress<'_>)) {
    progress(Progress { file: &entry.name, bytes, bytes_total: entry.bytes });
}
