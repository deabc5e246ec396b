//! The client of the Hugging Face hub: requests with a token that no other host gets, and errors with their next step.
//!
//! Redirects are followed here and not by the HTTP library: each address is checked, and the token goes along only if scheme,
//! host and port are the hub's.

use serde_json::Value;
use ureq::http::{Method, Request, Response, Uri};
use ureq::{Agent, SendBody};

use super::endpoint;
use super::error::FetchError;
use super::http;
use super::options::Hosts;
use super::token::HubToken;

/// The most redirects of one request.
const MOST_REDIRECTS: usize = 10;

/// The largest answer that is read as JSON.
///
/// # Units
/// Bytes.
const MOST_JSON: u64 = 64 << 20;

/// A connection to the hub.
#[derive(Debug)]
pub(crate) struct HubClient {
    agent: Agent,
    base: String,
    token: Option<HubToken>,
}

/// What a request is about, for errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestSubject<'a> {
    pub(crate) id: &'a str,
    pub(crate) revision: &'a str,
}

/// The body of a request, which a redirect sends again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonBody<'a> {
    pub(crate) content_type: &'static str,
    pub(crate) bytes: &'a [u8],
}

impl HubClient {
    /// Opens no connection yet.
    ///
    /// # Errors
    /// If the hub's address is not allowed.
    pub(crate) fn new(hosts: &Hosts, token: Option<HubToken>) -> Result<Self, FetchError> {
        let base = hosts.hub.trim_end_matches('/').to_string();
        endpoint::check(&base)?;
        let agent = http::build_hub_agent(endpoint::is_encrypted(&base));
        Ok(Self { agent, base, token })
    }

    /// Returns the hub's address, without a slash at the end.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Requests JSON from an address of the hub. Also returns the address of the next page, if there is one.
    ///
    /// # Errors
    /// If the hub does not answer, refuses the request, or sends something else.
    pub(crate) fn get_json(
        &self,
        url: &str,
        about: RequestSubject<'_>,
    ) -> Result<(Value, Option<String>), FetchError> {
        let response = self.get(url, 0, about)?;
        let next = next_page(&response).filter(|next| endpoint::same_origin(next, &self.base));
        Ok((self.read_json(url, response)?, next))
    }

    /// Requests a file from this byte on: the answer has status 200 or 206.
    ///
    /// # Errors
    /// If the hub does not answer or refuses the request.
    pub(crate) fn get(
        &self,
        url: &str,
        from: u64,
        about: RequestSubject<'_>,
    ) -> Result<Response<ureq::Body>, FetchError> {
        let response = self.send(&Method::GET, url, None, &range_header(from))?;
        self.check_status(url, response, about)
    }

    /// Sends JSON or lines of JSON to the hub, and returns the status and the answer.
    ///
    /// # Errors
    /// If the hub does not answer or answers with something else than JSON.
    pub(crate) fn post(
        &self,
        url: &str,
        body: JsonBody<'_>,
        headers: &[(&'static str, String)],
    ) -> Result<Response<ureq::Body>, FetchError> {
        self.send(&Method::POST, url, Some(body), headers)
    }

    /// Sends a stream of a known length to an address that the hub named, without the token: the address itself is signed.
    ///
    /// # Errors
    /// If the address is not allowed or the host does not answer.
    pub(crate) fn put(
        &self,
        url: &str,
        body: &mut dyn std::io::Read,
        bytes: u64,
        headers: &[(&'static str, String)],
    ) -> Result<Response<ureq::Body>, FetchError> {
        self.check_address(url)?;
        let mut request = Request::builder().method(Method::PUT).uri(url).header("Content-Length", bytes);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(SendBody::from_reader(body)).map_err(|error| lost(url, error))?;
        self.agent.run(request).map_err(|error| lost(url, error))
    }

    /// Reads an answer as JSON.
    ///
    /// # Errors
    /// If the connection fails or it is not JSON.
    pub(crate) fn read_json(
        &self,
        url: &str,
        mut response: Response<ureq::Body>,
    ) -> Result<Value, FetchError> {
        let text = response.body_mut().with_config().limit(MOST_JSON).read_to_string();
        let text = text.map_err(|error| lost(url, error))?;
        serde_json::from_str(&text)
            .map_err(|error| FetchError::Listing { url: url.into(), reason: error.to_string() })
    }

    /// Sends a request, and follows redirects.
    fn send(
        &self,
        method: &Method,
        url: &str,
        body: Option<JsonBody<'_>>,
        headers: &[(&'static str, String)],
    ) -> Result<Response<ureq::Body>, FetchError> {
        let mut at = url.to_string();
        for _ in 0..=MOST_REDIRECTS {
            self.check_address(&at)?;
            let response = self.send_once(method, &at, body, headers)?;
            let status = response.status().as_u16();
            // After the others a client may turn a POST into a GET.
            let follows =
                matches!(status, 307 | 308) || (*method == Method::GET && matches!(status, 301..=303));
            if !follows {
                return Ok(response);
            }
            let target = response.headers().get("Location").and_then(|target| target.to_str().ok());
            let next = target.and_then(|target| endpoint::resolve(&at, target));
            at = next.ok_or_else(|| FetchError::Redirect {
                url: url.into(),
                reason: format!("status {status} without an address to follow"),
            })?;
            if body.is_some() && !endpoint::same_origin(&at, &self.base) {
                return Err(FetchError::Redirect {
                    url: url.into(),
                    reason: format!("to {}", origin_of(&at)),
                });
            }
        }
        Err(FetchError::Redirect { url: url.into(), reason: format!("more than {MOST_REDIRECTS} times") })
    }

    fn send_once(
        &self,
        method: &Method,
        url: &str,
        body: Option<JsonBody<'_>>,
        headers: &[(&'static str, String)],
    ) -> Result<Response<ureq::Body>, FetchError> {
        let mut request = Request::builder().method(method.clone()).uri(url);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if let Some(token) = self.token.as_ref().filter(|_| endpoint::same_origin(url, &self.base)) {
            request = request.header("Authorization", token.header());
        }
        match body {
            Some(JsonBody { content_type, bytes }) => {
                let request = request.header("Content-Type", content_type).body(bytes);
                self.agent.run(request.map_err(|error| lost(url, error))?)
            }
            None => self.agent.run(request.body(()).map_err(|error| lost(url, error))?),
        }
        .map_err(|error| lost(url, error))
    }

    /// Checks an address to which the hub leads. From an encrypted hub every other one must be encrypted; from a hub on this machine
    /// it must be encrypted or on this machine.
    fn check_address(&self, url: &str) -> Result<(), FetchError> {
        let is_downgrade = endpoint::is_encrypted(&self.base) && !endpoint::is_encrypted(url);
        if is_downgrade || !endpoint::is_reachable(url) {
            let to = format!("to {}, which is not encrypted", origin_of(url));
            return Err(FetchError::Redirect { url: self.base.clone(), reason: to });
        }
        Ok(())
    }

    /// Passes a successful answer on, and turns any other into an error.
    pub(crate) fn check_status(
        &self,
        url: &str,
        response: Response<ureq::Body>,
        about: RequestSubject<'_>,
    ) -> Result<Response<ureq::Body>, FetchError> {
        let status = response.status().as_u16();
        if matches!(status, 200..=206) {
            return Ok(response);
        }
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        Err(self.refusal(url, status, header("X-Error-Code"), header("X-Error-Message"), about))
    }

    /// Returns the error for an answer that is none.
    fn refusal(
        &self,
        url: &str,
        status: u16,
        code: Option<&str>,
        message: Option<&str>,
        about: RequestSubject<'_>,
    ) -> FetchError {
        let RequestSubject { id, revision } = about;
        let page = format!("{}/{id}", self.base);
        let place = self.token.as_ref().map(|token| token.place().to_string());
        match (status, code) {
            (401 | 403, Some("GatedRepo")) => FetchError::Gated { id: id.into(), page, token: place },
            (404, Some("RevisionNotFound")) => {
                FetchError::NoRevision { id: id.into(), revision: revision.into(), page }
            }
            (401, _) if message.is_some_and(|message| message.contains("Invalid credentials")) => {
                FetchError::BadToken {
                    place: place.unwrap_or_else(|| "no token".into()),
                    hub: self.base.clone(),
                }
            }
            (401 | 403 | 404, _) => {
                let access = match &place {
                    Some(place) => format!("whether the token in {place} may read it"),
                    None => "if it is private, set HF_TOKEN or run `hf auth login`".into(),
                };
                let hint = format!("check the hub id {id} and the revision ({revision}); {access}");
                FetchError::NotFound { url: url.into(), status, hint }
            }
            _ => FetchError::Status { url: url.into(), status },
        }
    }
}

/// Returns the header that asks for a file from this byte on.
fn range_header(from: u64) -> Vec<(&'static str, String)> {
    if from > 0 { vec![("Range", format!("bytes={from}-"))] } else { Vec::new() }
}

/// Returns the address of a list's next page from the header `Link: <ADDRESS>; rel="next"`.
fn next_page(response: &Response<ureq::Body>) -> Option<String> {
    let links = response.headers().get("Link")?.to_str().ok()?;
    let next = links.split(',').find(|link| link.contains("rel=\"next\""))?;
    let (_, rest) = next.split_once('<')?;
    Some(rest.split_once('>')?.0.to_string())
}

/// Returns scheme and host of an address: the rest may be signed, which is as good as a password.
pub(crate) fn origin_of(url: &str) -> String {
    match url.parse::<Uri>() {
        Ok(uri) => {
            format!(
                "{}://{}",
                uri.scheme_str().unwrap_or_default(),
                uri.authority().map_or("", |at| at.as_str())
            )
        }
        Err(_) => "an invalid address".into(),
    }
}

/// Returns the error of a connection that failed.
fn lost(url: &str, error: impl std::fmt::Display) -> FetchError {
    let shown = url.split('?').next().unwrap_or(url);
    FetchError::Connection { url: shown.into(), reason: error.to_string() }
}
