//! The names under which a server answers.

use std::net::IpAddr;

/// The names under which a server answers. A page of another site can make a browser send requests here under that site's
/// own name (DNS rebinding), and must not get an answer. It cannot do so under an address.
pub(crate) struct HostNames(pub Vec<String>);

impl HostNames {
    /// Returns whether a request with this `Host` is answered: for an address, `localhost` or one of the names, with any
    /// port, since it may be forwarded.
    pub fn allows_host(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok()
            || self.0.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_given_names_are_answered_and_no_others() {
        let hosts = HostNames(vec!["tagger.example.org".into()]);
        for good in ["localhost", "LOCALHOST:8048", "127.0.0.1:8048", "[::1]:80", "tagger.example.org:1"] {
            assert!(hosts.allows_host(good), "{good}");
        }
        for bad in ["", "evil.example", "127.0.0.1.evil.example", "[evil]:80", ":80"] {
            assert!(!hosts.allows_host(bad), "{bad}");
        }
    }
}
