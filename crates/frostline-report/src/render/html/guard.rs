//! What the page may do: its own style and script, by their hashes, and nothing else.

use frostline_record::sha256;

/// The page's content security policy.
pub(super) fn policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        script_digest(style),
        script_digest(script)
    )
}

/// SHA-256 in base 64, as a policy names it.
fn script_digest(text: &str) -> String {
    let digits: Vec<u8> = sha256(text.as_bytes())
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    base64(&bytes)
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            (0..3).fold(0_u32, |group, at| group << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * at) & 63) as usize];
            text.push(if at > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_browsers() {
        assert_eq!(
            (base64(b"f"), base64(b"fo"), base64(b"foo")),
            ("Zg==".into(), "Zm8=".into(), "Zm9v".into())
        );
        assert_eq!(script_digest(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}
