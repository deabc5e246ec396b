//! The commit: one line of JSON for its message and one for each file.

use base64::Engine as _;
use serde_json::json;

use super::error::PushError;
use super::{BRANCH, Destination, PreparedFile, bad_answer};
use crate::fetch::hub_client::JsonBody;

/// Commits the files that changed, and returns the commit's id.
///
/// # Errors
/// If the hub refuses the commit or a file cannot be read.
pub(super) fn send(to: &Destination, files: &[PreparedFile<'_>], message: &str) -> Result<String, PushError> {
    let mut lines =
        json!({ "key": "header", "value": { "summary": message, "description": "" } }).to_string();
    for PreparedFile { file, is_large, digest, .. } in files.iter().filter(|file| !file.is_unchanged) {
        let line = if *is_large {
            let value = json!({ "path": file.name, "algo": "sha256", "oid": digest, "size": file.bytes });
            json!({ "key": "lfsFile", "value": value })
        } else {
            let content = base64(&file.read()?);
            json!({ "key": "file", "value": { "content": content, "path": file.name, "encoding": "base64" } })
        };
        lines.push('\n');
        lines += &line.to_string();
    }
    lines.push('\n');
    let url = format!("{}/api/models/{}/commit/{BRANCH}", to.client.base(), to.id);
    let body = JsonBody { content_type: "application/x-ndjson", bytes: lines.as_bytes() };
    let response = to.accept(&url, to.client.post(&url, body, &[])?)?;
    let answer = to.client.read_json(&url, response)?;
    let commit = answer["commitOid"].as_str().ok_or_else(|| bad_answer(&url, "no commit".into()))?;
    Ok(commit.into())
}

pub(super) fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
