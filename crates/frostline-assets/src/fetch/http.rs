//! HTTP requests: a client, a JSON answer, a file from a given byte on.

use std::time::Duration;

use ureq::Agent;
use ureq::http::Response;

use super::error::FetchError;

/// How long to wait for data before the connection is considered dead.
const SILENCE: Duration = Duration::from_secs(60);

/// Returns a client that treats every status as a response and times out on a dead connection. An encrypted
/// connection stays encrypted over all redirects; other connections, to this machine, follow none.
pub(super) fn build_agent(encrypted: bool) -> Agent {
    build(encrypted, if encrypted { 10 } else { 0 })
}

/// Returns a client for the hub, which follows redirects itself: a hub on this machine may lead to an encrypted host.
pub(super) fn build_hub_agent(encrypted: bool) -> Agent {
    build(encrypted, 0)
}

fn build(encrypted: bool, redirects: u32) -> Agent {
    Agent::config_builder()
        .https_only(encrypted)
        .max_redirects(redirects)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .timeout_connect(Some(Duration::from_secs(20)))
        .timeout_recv_response(Some(SILENCE))
        .timeout_per_read(Some(SILENCE))
        .user_agent(concat!("frostline/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}

/// Requests JSON. `hint` is the next step if the host has nothing at this address.
pub(super) fn request_json(agent: &Agent, url: &str, hint: &str) -> Result<serde_json::Value, FetchError> {
    let mut response = get(agent, url, 0)?;
    match response.status().as_u16() {
        200 => {}
        status @ (401 | 404) => {
            return Err(FetchError::NotFound { url: url.into(), status, hint: hint.into() });
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

/// Requests a file from this byte on.
pub(super) fn get(agent: &Agent, url: &str, from: u64) -> Result<Response<ureq::Body>, FetchError> {
    let mut request = agent.get(url);
    if from > 0 {
        request = request.header("Range", format!("bytes={from}-"));
    }
    request.call().map_err(|error| FetchError::Connection { url: url.into(), reason: error.to_string() })
}
