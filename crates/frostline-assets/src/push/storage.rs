//! Large files: the hub names an address of its storage for each (Git LFS), which takes the bytes whole or in parts.

use std::io::Read;

use serde_json::{Value, json};
use ureq::http::Response;

use super::error::PushError;
use super::{BRANCH, Destination, PreparedFile, bad_answer, json_body};
use crate::fetch::Progress;
use crate::fetch::hub_client::{HubClient, JsonBody, origin_of};

/// The type of messages of Git LFS.
const LFS: &str = "application/vnd.git-lfs+json";

/// Uploads the large files that the storage does not have, and returns their number.
///
/// # Errors
/// If the hub or its storage refuses a file, or the connection fails.
pub(super) fn upload(
    to: &Destination,
    files: &[PreparedFile<'_>],
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<usize, PushError> {
    let large: Vec<&PreparedFile<'_>> =
        files.iter().filter(|file| file.is_large && !file.is_unchanged).collect();
    if large.is_empty() {
        return Ok(0);
    }
    let objects: Vec<Value> =
        large.iter().map(|file| json!({ "oid": file.digest, "size": file.file.bytes })).collect();
    let request = json!({
        "operation": "upload",
        "transfers": ["basic", "multipart"],
        "objects": objects,
        "hash_algo": "sha256",
        "ref": { "name": BRANCH },
    });
    let url = format!("{}/{}.git/info/lfs/objects/batch", to.client.base(), to.id);
    let answer = post(to, &url, &request.to_string())?;
    let described = answer["objects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut uploaded = 0;
    for file in large {
        let found = described.iter().find(|object| object["oid"] == file.digest.as_str());
        let object = found.ok_or_else(|| bad_answer(&url, format!("no object for {}", file.file.name)))?;
        if let Some(reason) = object["error"]["message"].as_str() {
            return Err(PushError::Storage { file: file.file.name.clone(), reason: reason.into() });
        }
        // Without actions, the storage has the file.
        let Some(action) = object["actions"].get("upload") else { continue };
        upload_one(&to.client, file, action, progress)?;
        if let Some(verify) = object["actions"]["verify"]["href"].as_str() {
            let facts = json!({ "oid": file.digest, "size": file.file.bytes }).to_string();
            let response = to.client.post(verify, json_body(&facts), &[])?;
            check_upload(file, verify, &response)?;
        }
        uploaded += 1;
    }
    Ok(uploaded)
}

/// Sends a message of Git LFS to the hub.
fn post(to: &Destination, url: &str, text: &str) -> Result<Value, PushError> {
    let body = JsonBody { content_type: LFS, bytes: text.as_bytes() };
    let response = to.accept(url, to.client.post(url, body, &[("Accept", LFS.into())])?)?;
    Ok(to.client.read_json(url, response)?)
}

/// Uploads a file to the address of an action: whole, or in parts of a size that the hub chose.
fn upload_one(
    client: &HubClient,
    file: &PreparedFile<'_>,
    action: &Value,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), PushError> {
    let no_address = || bad_answer(client.base(), format!("no address for {}", file.file.name));
    let href = action["href"].as_str().ok_or_else(no_address)?;
    let header = &action["header"];
    let mut from = CountedRead {
        from: file.file.open()?,
        name: &file.file.name,
        bytes: 0,
        all: file.file.bytes,
        progress,
    };
    let Some(size) = part_size(header) else {
        let response = client.put(href, &mut from, file.file.bytes, &[])?;
        return check_upload(file, href, &response);
    };
    let count = file.file.bytes.div_ceil(size);
    let mut parts = Vec::new();
    for number in 1..=count {
        let address = (1..=MOST_ZEROS).find_map(|width| header[format!("{number:0width$}")].as_str());
        let address = address.ok_or_else(no_address)?;
        let bytes = size.min(file.file.bytes - size * (number - 1));
        let response = client.put(address, &mut (&mut from).take(bytes), bytes, &[])?;
        check_upload(file, address, &response)?;
        let tag = response.headers().get("ETag").and_then(|tag| tag.to_str().ok());
        let tag = tag.ok_or_else(|| bad_answer(&origin_of(address), format!("no ETag of part {number}")))?;
        parts.push(json!({ "partNumber": number, "etag": tag }));
    }
    let facts = json!({ "oid": file.digest, "parts": parts }).to_string();
    let body = JsonBody { content_type: LFS, bytes: facts.as_bytes() };
    let response = client.post(href, body, &[("Accept", LFS.into())])?;
    check_upload(file, href, &response)
}

/// The most digits of a part's number, which the hub may write with zeros in front.
const MOST_ZEROS: usize = 6;

/// Returns the size of parts, if the file is uploaded in parts.
fn part_size(header: &Value) -> Option<u64> {
    let size = &header["chunk_size"];
    size.as_u64().or_else(|| size.as_str()?.parse().ok()).filter(|size| *size > 0)
}

fn check_upload(
    file: &PreparedFile<'_>,
    url: &str,
    response: &Response<ureq::Body>,
) -> Result<(), PushError> {
    match response.status().as_u16() {
        200..=299 => Ok(()),
        status => Err(PushError::Upload { file: file.file.name.clone(), host: origin_of(url), status }),
    }
}

/// A file that reports how much of it was read.
struct CountedRead<'r> {
    from: Box<dyn Read + 'r>,
    name: &'r str,
    bytes: u64,
    all: u64,
    progress: &'r mut dyn FnMut(Progress<'_>),
}

impl Read for CountedRead<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.bytes += n as u64;
        (self.progress)(Progress { file: self.name, bytes: self.bytes, bytes_total: self.all });
        Ok(n)
    }
}
