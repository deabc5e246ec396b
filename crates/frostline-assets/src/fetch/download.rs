//! Downloads one file: resumes an interrupted transfer, and checks the file before it is used.

use std::fs;
use std::io::{Read, Write as _};
use std::path::Path;

use ureq::Agent;
use ureq::http::Response;

use super::entry::RemoteEntry;
use super::error::FetchError;
use super::http::get;
use super::options::Progress;

/// Requests a file from a given byte on: the status of the answer is 200 or 206, or is reported as it is.
pub(super) type RequestFile<'r> = &'r dyn Fn(&str, u64) -> Result<Response<ureq::Body>, FetchError>;

/// Downloads one file into a folder, unless it is already there.
pub(super) fn download_file(
    agent: &Agent,
    entry: &RemoteEntry,
    folder: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), FetchError> {
    // The digest in the name distinguishes it from partial files of another revision.
    let part = folder.join(format!("{}.{}.part", entry.name, &entry.digest.hex()[..12]));
    download_as(&|url, from| get(agent, url, from), entry, [&part, &folder.join(&entry.name)], progress)
        .map(drop)
}

/// Downloads a file under the first name, and renames it to the second when it is complete, unless it is already there. Returns
/// whether anything was downloaded.
pub(super) fn download_as(
    request: RequestFile<'_>,
    entry: &RemoteEntry,
    [part, done]: [&Path; 2],
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<bool, FetchError> {
    if done.exists() && check_digest(done, entry).is_ok() {
        report_progress(entry, entry.bytes, progress);
        return Ok(false);
    }
    transfer_bytes(request, entry, part, progress)?;
    if let Err(error) = check_digest(part, entry) {
        let _ = frostline_files::remove(part);
        return Err(error);
    }
    frostline_files::rename(part, done)?;
    Ok(true)
}

/// Downloads a file of which neither size nor digest is known before, from its beginning.
pub(super) fn download_unlisted(
    agent: &Agent,
    url: &str,
    name: &str,
    to: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), FetchError> {
    let mut response = get(agent, url, 0)?;
    match response.status().as_u16() {
        200 => {}
        status @ (401 | 404) => {
            let hint = "check the address".into();
            return Err(FetchError::NotFound { url: url.into(), status, hint });
        }
        status => return Err(FetchError::Status { url: url.into(), status }),
    }
    let listed = response.body().content_length();
    let connection = |reason: String| FetchError::Connection { url: url.into(), reason };
    let mut body = response.body_mut().with_config().limit(u64::MAX).reader();
    let mut writer = frostline_files::Writer::create(to)?;
    let (mut bytes, mut buffer) = (0, vec![0; 1 << 16]);
    loop {
        let n = body.read(&mut buffer).map_err(|error| connection(error.to_string()))?;
        if n == 0 {
            break;
        }
        bytes += n as u64;
        writer.write_all(&buffer[..n]).map_err(FetchError::with_path(to))?;
        progress(Progress { file: name, bytes, bytes_total: listed.unwrap_or(bytes) });
    }
    if let Some(listed) = listed.filter(|listed| *listed != bytes) {
        return Err(connection(format!("the transfer ended after {bytes} of {listed} bytes")));
    }
    Ok(writer.finish()?)
}

/// Appends the missing bytes to `part`, or rewrites it if the host does not support ranges.
fn transfer_bytes(
    request: RequestFile<'_>,
    entry: &RemoteEntry,
    part: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), FetchError> {
    let io = || FetchError::with_path(part);
    let here = fs::metadata(part).map_or(0, |facts| facts.len());
    if here == entry.bytes && here > 0 {
        return Ok(());
    }
    let here = if here > entry.bytes { 0 } else { here };
    let mut response = request(&entry.url, here)?;
    let (mut bytes, mut file) = match response.status().as_u16() {
        206 if resumes_at(&response, here) => (here, frostline_files::append(part)?),
        200 => {
            frostline_files::remove(part)?;
            (0, frostline_files::append(part)?)
        }
        status => return Err(FetchError::Status { url: entry.url.clone(), status }),
    };
    let mut body = response.body_mut().with_config().limit(u64::MAX).reader();
    let mut buffer = vec![0; 1 << 16];
    report_progress(entry, bytes, progress);
    loop {
        let n = body
            .read(&mut buffer)
            .map_err(|error| FetchError::Connection { url: entry.url.clone(), reason: error.to_string() })?;
        if n == 0 {
            break;
        }
        bytes += n as u64;
        if bytes > entry.bytes {
            break; // more than listed, which is an error below
        }
        file.write_all(&buffer[..n]).map_err(io())?;
        report_progress(entry, bytes, progress);
    }
    if bytes < entry.bytes {
        return Err(FetchError::Connection {
            url: entry.url.clone(),
            reason: format!("the transfer ended after {bytes} of {} bytes", entry.bytes),
        });
    }
    if bytes > entry.bytes {
        let _ = frostline_files::remove(part);
        return Err(size_error(entry, bytes));
    }
    Ok(file.sync()?)
}

/// Returns whether a partial response begins at the end of the previous transfer.
fn resumes_at(response: &Response<ureq::Body>, from: u64) -> bool {
    let range = response.headers().get("Content-Range").and_then(|range| range.to_str().ok());
    from > 0 && range.is_some_and(|range| range.starts_with(&format!("bytes {from}-")))
}

/// Compares a file with the host's list.
pub(super) fn check_digest(path: &Path, entry: &RemoteEntry) -> Result<(), FetchError> {
    let bytes = fs::metadata(path).map_err(FetchError::with_path(path))?.len();
    if bytes != entry.bytes {
        return Err(size_error(entry, bytes));
    }
    let found = entry.digest.digest_of_file(path)?;
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

fn size_error(entry: &RemoteEntry, found: u64) -> FetchError {
    FetchError::Digest {
        file: entry.name.clone(),
        algorithm: "size in bytes",
        expected: entry.bytes.to_string(),
        found: found.to_string(),
    }
}

fn report_progress(entry: &RemoteEntry, bytes: u64, progress: &mut dyn FnMut(Progress<'_>)) {
    progress(Progress { file: &entry.name, bytes, bytes_total: entry.bytes });
}
