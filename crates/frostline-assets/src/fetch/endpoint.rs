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
