//! The addresses of hosts, which a user may replace by a mirror's: allowed forms, and limits of redirects.

use std::net::IpAddr;

use ureq::http::Uri;
use ureq::http::uri::Scheme;

use super::error::FetchError;

/// Checks a host's address: `https://`, or `http://` on this machine. It has neither a user's name nor a query.
///
/// # Errors
/// If it is anything else.
pub(super) fn check(endpoint: &str) -> Result<(), FetchError> {
    let bad = |reason| Err(FetchError::BadEndpoint { endpoint: hide_credentials(endpoint), reason });
    let Ok(uri) = endpoint.parse::<Uri>() else { return bad("it is not an address") };
    let (Some(scheme), Some(host)) = (uri.scheme(), uri.host()) else { return bad("it is not an address") };
    let local = *scheme == Scheme::HTTP && is_this_machine(host);
    if *scheme != Scheme::HTTPS && !local {
        return bad("a connection to another machine must be encrypted");
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return bad("it has a user's name or a password, which messages would show");
    }
    if endpoint.contains(['?', '#']) {
        return bad("it has a query or a fragment");
    }
    Ok(())
}

/// Returns whether a connection to this address is encrypted.
pub(super) fn is_encrypted(endpoint: &str) -> bool {
    endpoint.parse::<Uri>().is_ok_and(|uri| uri.scheme() == Some(&Scheme::HTTPS))
}

/// Returns whether a connection to this address may be opened at all: it is encrypted, or to this machine.
pub(super) fn is_reachable(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    let is_local = uri.scheme() == Some(&Scheme::HTTP) && uri.host().is_some_and(is_this_machine);
    !has_user && uri.host().is_some() && (uri.scheme() == Some(&Scheme::HTTPS) || is_local)
}

/// Returns whether two addresses have the same scheme, host and port.
pub(super) fn same_origin(one: &str, other: &str) -> bool {
    let origin = |url: &str| {
        let uri = url.parse::<Uri>().ok()?;
        let scheme = uri.scheme_str()?.to_string();
        let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
        Some((scheme, uri.host()?.to_ascii_lowercase(), port))
    };
    origin(one).is_some_and(|found| origin(other) == Some(found))
}

/// Returns the address to which a `Location` leads: a whole address, or a path on the same host.
pub(super) fn resolve(from: &str, location: &str) -> Option<String> {
    if location.starts_with("https://") || location.starts_with("http://") {
        return Some(location.into());
    }
    let uri = from.parse::<Uri>().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let is_path = location.starts_with('/') && !location.starts_with("//");
    is_path.then(|| format!("{scheme}://{authority}{location}"))
}

/// Returns a part of a path with every character escaped that has a meaning in addresses.
pub(super) fn escape(part: &str) -> String {
    let mut out = String::new();
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Returns the address without the part before an `@`.
fn hide_credentials(endpoint: &str) -> String {
    match endpoint.rsplit_once('@') {
        Some((_, rest)) => format!("...@{rest}"),
        None => endpoint.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for (one, other, expected) in [
            ("https://huggingface.co/a?b", "https://HUGGINGFACE.co", true),
            ("https://huggingface.co:443/a", "https://huggingface.co", true),
            ("http://huggingface.co/a", "https://huggingface.co", false),
            ("https://huggingface.co:8443/a", "https://huggingface.co", false),
            ("https://huggingface.co.example/a", "https://huggingface.co", false),
            ("https://cdn.huggingface.co/a", "https://huggingface.co", false),
            ("http://127.0.0.1:1/a", "http://127.0.0.1:2", false),
            ("/a", "/a", false),
        ] {
            assert_eq!(same_origin(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn a_location_is_an_address_or_a_path() {
        let at = "https://huggingface.co/a/b?c";
        assert_eq!(resolve(at, "/d/e").as_deref(), Some("https://huggingface.co/d/e"));
        assert_eq!(resolve(at, "https://cdn.example/x").as_deref(), Some("https://cdn.example/x"));
        for bad in ["//other.example/x", "x", "", "file:///etc"] {
            assert_eq!(resolve(at, bad), None, "{bad}");
        }
        assert_eq!(escape("refs/pr/1 #ä"), "refs%2Fpr%2F1%20%23%C3%A4");
    }

    #[test]
    fn other_machines_only_by_https() {
        for good in [
            "https://huggingface.co",
            "https://mirror.example:8443/hub",
            "http://localhost:8080",
            "http://127.0.0.1:9/a/b",
            "http://127.8.8.8",
            "http://[::1]:80",
        ] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in [
            "http://mirror.example",
            "http://127.0.0.1.example",
            "http://localhost.example",
            "http://10.0.0.1",
            "http://[::2]",
            "ftp://localhost",
            "file:///etc",
            "mirror.example",
            "/hub",
            "",
            "https://",
            "https://user:secret@mirror.example",
            "http://localhost@mirror.example",
            "http://mirror.example@localhost",
            "https://mirror.example/?a=b",
            "https://mirror.example/#a",
            "https://mirror example",
        ] {
            let error = check(bad).expect_err(bad).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
