//! Who is answered: requests for a known host name that have the token, if there is one.

use std::fmt::Write as _;

use anyhow::anyhow;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderValue, LOCATION, SET_COOKIE, WWW_AUTHENTICATE};
use hyper::{Request, Response, StatusCode};
use subtle::ConstantTimeEq as _;

use super::answer::HttpAnswer;
use super::host::HostNames;

/// Decides who is answered.
pub(super) struct Gate {
    hosts: HostNames,
    token: Option<AccessToken>,
}

/// The decision about a request.
pub(super) enum GateEntry {
    /// The request is answered.
    Open,
    /// This is all that it gets.
    Closed(Response<Full<Bytes>>),
}

/// A secret that the printed address has.
pub(super) struct AccessToken {
    text: String,
    /// The name of its cookie. Browsers share cookies among the ports of a host.
    cookie: String,
}

impl AccessToken {
    /// Draws a token.
    pub(super) fn draw() -> anyhow::Result<Self> {
        Ok(Self { text: random_digits(16)?, cookie: format!("frostline-{}", random_digits(4)?) })
    }

    /// Returns a given token, for servers in tests.
    pub(super) fn given_token(text: &str) -> Self {
        Self { text: text.into(), cookie: format!("frostline-{text}") }
    }

    /// Returns the token as it is written in addresses.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether this is the token, in constant time.
    fn matches_token(&self, given: &str) -> bool {
        self.text.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

/// So many random bytes of the system, in hexadecimal digits.
fn random_digits(bytes: usize) -> anyhow::Result<String> {
    let mut drawn = vec![0; bytes];
    getrandom::fill(&mut drawn).map_err(|error| anyhow!("the system has no random numbers: {error}"))?;
    Ok(drawn.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

impl Gate {
    pub(super) fn new(hosts: HostNames, token: Option<AccessToken>) -> Self {
        Self { hosts, token }
    }

    /// Decides about a request.
    pub(super) fn check<B>(&self, request: &Request<B>) -> GateEntry {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| self.hosts.allows_host(host)) {
            let text =
                "This server does not answer for that host name; `frostline serve --name NAME` adds one.\n";
            return GateEntry::Closed(
                HttpAnswer::text(StatusCode::MISDIRECTED_REQUEST, text).into_response(),
            );
        }
        let Some(token) = &self.token else { return GateEntry::Open };
        let in_address = in_query(request).is_some_and(|given| token.matches_token(given));
        if in_address && request.uri().path() == "/" {
            return GateEntry::Closed(accept_token(token));
        }
        if in_address
            || in_header(request).is_some_and(|given| token.matches_token(given))
            || in_cookies(request, token)
        {
            return GateEntry::Open;
        }
        GateEntry::Closed(refuse_request())
    }
}

fn in_query<B>(request: &Request<B>) -> Option<&str> {
    request.uri().query()?.split('&').find_map(|part| part.strip_prefix("token="))
}

fn in_header<B>(request: &Request<B>) -> Option<&str> {
    request.headers().get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

fn in_cookies<B>(request: &Request<B>, token: &AccessToken) -> bool {
    let all = request.headers().get_all(COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = all.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.any(|(name, given)| name == token.cookie && token.matches_token(given))
}

/// Returns the answer to a request without the token.
fn refuse_request() -> Response<Full<Bytes>> {
    let text = "Open the address that `frostline serve` has printed: it ends with ?token=... Other programs can send the token \
                in the header `Authorization: Bearer TOKEN`.\n";
    let mut response = HttpAnswer::text(StatusCode::UNAUTHORIZED, text).into_response();
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

/// Returns the answer to a request with the token in its address: the browser gets it as a cookie and requests
/// the address without it, so that the address can be shown and kept.
fn accept_token(token: &AccessToken) -> Response<Full<Bytes>> {
    let mut response = HttpAnswer::text(StatusCode::SEE_OTHER, "The page is at /.\n").into_response();
    // Lax: a link in a message may lead here, but no other page's frame or script gets an answer.
    let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Lax", token.cookie, token.text);
    let cookie = HeaderValue::try_from(cookie).expect("letters and digits");
    let headers = [(LOCATION, HeaderValue::from_static("/")), (SET_COOKIE, cookie)];
    response.headers_mut().extend(headers);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_gate() -> Gate {
        let token = AccessToken { text: "0123abcd".into(), cookie: "frostline-77".into() };
        Gate::new(HostNames::new(vec![]), Some(token))
    }

    /// Returns the status of the immediate answer to a request; 0 if the request is accepted.
    fn answer_status(gate: &Gate, path: &str, headers: &[(&str, &str)]) -> u16 {
        let request =
            headers.iter().fold(Request::get(path).header("Host", "localhost"), |request, header| {
                request.header(header.0, header.1)
            });
        match gate.check(&request.body(()).expect("a request")) {
            GateEntry::Open => 0,
            GateEntry::Closed(response) => response.status().as_u16(),
        }
    }

    /// A path, headers, and the status.
    type Case = (&'static str, &'static [(&'static str, &'static str)], u16);

    #[test]
    fn only_the_token_lets_a_request_in() {
        let gate = test_gate();
        let cases: [Case; 12] = [
            ("/", &[], 401),
            ("/status.json", &[], 401),
            ("/status.json?token=0123abcd", &[], 0),
            ("/status.json?a=b&token=0123abcd", &[], 0),
            ("/status.json?token=0123abce", &[], 401),
            ("/status.json?token=0123abc", &[], 401),
            ("/status.json?token=", &[], 401),
            ("/", &[("Authorization", "Bearer 0123abcd")], 0),
            ("/", &[("Authorization", "Bearer 0123abcd ")], 401),
            ("/", &[("Cookie", "a=b; frostline-77=0123abcd")], 0),
            ("/", &[("Cookie", "frostline-78=0123abcd")], 401),
            ("/", &[("Cookie", "a=b"), ("Cookie", "frostline-77=0123abcd")], 0),
        ];
        for (path, headers, expected) in cases {
            assert_eq!(answer_status(&gate, path, headers), expected, "{path} {headers:?}");
        }
        assert_eq!(
            answer_status(&Gate::new(HostNames::new(vec![]), None), "/", &[]),
            0,
            "no token is asked for"
        );
    }

    #[test]
    fn the_printed_address_sets_a_cookie_that_lets_in() {
        let gate = test_gate();
        let request =
            Request::get("/?token=0123abcd").header("Host", "localhost").body(()).expect("a request");
        let GateEntry::Closed(response) = gate.check(&request) else {
            panic!("the token stays in the address")
        };
        assert_eq!(
            (response.status().as_u16(), &response.headers()[LOCATION]),
            (303, &HeaderValue::from_static("/"))
        );
        let cookie = response.headers()[SET_COOKIE].to_str().expect("text").to_string();
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
        let sent = cookie.split(';').next().expect("a pair");
        assert_eq!(answer_status(&gate, "/", &[("Cookie", sent)]), 0);
    }

    #[test]
    fn a_token_has_128_random_bits_and_no_other_server_has_it() {
        let [one, other] = [(); 2].map(|()| AccessToken::draw().expect("random numbers"));
        assert!(
            one.text.len() == 32 && one.text.bytes().all(|digit| digit.is_ascii_hexdigit()),
            "{}",
            one.text
        );
        assert_ne!((one.text, one.cookie), (other.text, other.cookie));
    }
}
