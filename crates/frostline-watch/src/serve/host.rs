//! The names under which a server answers.

use std::net::IpAddr;

/// The names under which a server answers. A page of another site can make a browser send requests here under that site's
/// own name (DNS rebinding), and must not get an answer. It cannot do so under an address.
pub(super) struct HostNames {
    names: Vec<String>,
}

impl HostNames {
    /// Addresses, `localhost` and these.
    pub(super) fn new(names: Vec<String>) -> Self {
        Self { names }
    }

    /// Returns whether a request with this `Host` is answered. The port may be any, since it may be forwarded.
    pub(super) fn allows_host(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        let known = |known: &String| known.eq_ignore_ascii_case(name);
        name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok()
            || self.names.iter().any(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_given_names_are_answered_and_no_others() {
        let hosts = HostNames::new(vec!["cluster.example.org".into()]);
        for good in [
            "localhost",
            "LOCALHOST:8047",
            "127.0.0.1:8047",
            "[::1]:80",
            "192.0.2.7",
            "cluster.example.org:1",
        ] {
            assert!(hosts.allows_host(good), "{good}");
        }
        for bad in
            ["", "evil.example", "localhost.evil.example:8047", "127.0.0.1.evil.example", "[evil]:80", ":80"]
        {
            assert!(!hosts.allows_host(bad), "{bad}");
        }
    }
}
