//! Requests of clients to the live page.

use std::fs;
use std::net::IpAddr;
use std::sync::LazyLock;

use frostline_watch::Exchange;
use tempfile::TempDir;

/// The token without which the second server answers nothing.
const TOKEN: &str = "0123abcd";

/// Text that no answer may contain: the contents of a file next to `sweep.json`.
const SECRET: &str = "lies in the folder and is not served";

/// Servers of one sweep: without and with a token.
static SERVERS: LazyLock<[Exchange; 2]> = LazyLock::new(|| {
    let folder: TempDir = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write("sweep.json", include_str!("../corpus/sweep/good.json"));
    write("secret.txt", SECRET);
    [None, Some(TOKEN)].map(|token| Exchange::open(folder.path(), token).expect("a server"))
});

/// The bytes of a connection: every answer is HTTP, a request without a known host name or without the token
/// gets no content, and no other file is sent.
pub(crate) fn fuzz_http(data: &[u8]) {
    let sent = String::from_utf8_lossy(data);
    for (server, token) in SERVERS.iter().zip([None, Some(TOKEN)]) {
        let answer = server.send(data);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1."), "{answer}");
        assert!(!answer.contains(SECRET), "a file of the folder was sent");
        let head = answer.split("\r\n\r\n").next().unwrap_or_default();
        if head.contains(" 200 OK\r\n") {
            assert!(head.contains("content-security-policy: "), "{head}");
            assert!(token.is_none_or(|token| sent.contains(token)), "answered without the token");
            assert!(names_host(&sent), "answered under the name of another host");
        }
    }
}

/// Returns whether there is `localhost` or an address, with or without a port.
fn names_host(sent: &str) -> bool {
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || sign == '.' || sign == ':';
    let is_host = |text: &str| text == "localhost" || text.parse::<IpAddr>().is_ok();
    let sent = sent.to_ascii_lowercase().replace("host:", "host: ");
    let mut parts = sent.split(|sign: char| !is_part(sign));
    parts.any(|part| is_host(part) || part.rsplit_once(':').is_some_and(|(name, _)| is_host(name)))
}
