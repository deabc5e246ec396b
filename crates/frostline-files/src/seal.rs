//! Sealed files, whose readers detect changed bytes.

use sha2::{Digest as _, Sha256};

/// The mark at the end of a sealed file, before the checksum.
const MARK: &[u8; 8] = b"\nSHA-256";

/// The bytes that a seal adds to the end of a file: a mark, and the SHA-256 of everything before the mark.
pub const SEAL_BYTES: usize = MARK.len() + 32;

/// Returns the seal of these bytes.
#[must_use]
pub fn seal(bytes: &[u8]) -> [u8; SEAL_BYTES] {
    seal_of_hash(Sha256::new_with_prefix(bytes))
}

/// Returns the seal of the hashed bytes.
pub(crate) fn seal_of_hash(hasher: Sha256) -> [u8; SEAL_BYTES] {
    let mut seal = [0; SEAL_BYTES];
    seal[..MARK.len()].copy_from_slice(MARK);
    seal[MARK.len()..].copy_from_slice(&hasher.finalize());
    seal
}

/// Returns the bytes before the seal; `None` if there is no seal or a bit has changed.
#[must_use]
pub fn unseal(bytes: &[u8]) -> Option<&[u8]> {
    let (inside, found) = bytes.split_at_checked(bytes.len().checked_sub(SEAL_BYTES)?)?;
    (seal(inside) == found).then_some(inside)
}

/// Returns a JSON object's text with a first field `checksum`, the SHA-256 of the text without that field.
///
/// # Panics
/// If the text is not a JSON object as `serde_json` prints it over several lines.
#[must_use]
pub fn seal_json(text: &str) -> String {
    let rest = text.strip_prefix("{\n").expect("an object over several lines");
    format!("{{\n{FIELD}{}\",\n{rest}", sha256_hex(text))
}

const FIELD: &str = "  \"checksum\": \"";

/// Returns the original text of [`seal_json`]. Text without a checksum, from an older version, is returned
/// unchanged.
///
/// # Errors
/// If the text has changed since it was written.
pub fn unseal_json(text: &str) -> Result<String, ChangedText> {
    let Some(sealed) = text.strip_prefix("{\n").and_then(|rest| rest.strip_prefix(FIELD)) else {
        return Ok(text.into());
    };
    let (checksum, rest) = sealed.split_once("\",\n").ok_or(ChangedText)?;
    let inside = format!("{{\n{rest}");
    if sha256_hex(&inside) == checksum { Ok(inside) } else { Err(ChangedText) }
}

fn sha256_hex(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file whose text was changed after it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its checksum does not fit: it was changed after it was written, or the disk damaged it")]
pub struct ChangedText;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_of_a_sealed_file_is_noticed() {
        let mut bytes = b"any bytes".to_vec();
        bytes.extend(seal(b"any bytes"));
        assert_eq!(unseal(&bytes), Some(&b"any bytes"[..]));
        for place in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[place / 8] ^= 1 << (place % 8);
            assert_eq!(unseal(&flipped), None, "bit {place}");
        }
        for length in 0..bytes.len() {
            assert_eq!(unseal(&bytes[..length]), None, "cut off at {length}");
        }
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Stored {
        schema: u32,
        value: f64,
    }

    /// Parses all fields. A changed bit in the name `checksum` gives an unknown field, which is an error.
    fn read_fields(text: &str) -> Option<Stored> {
        serde_json::from_str(&unseal_json(text).ok()?).ok()
    }

    #[test]
    fn every_flipped_bit_of_sealed_text_is_noticed() {
        let text = "{\n  \"schema\": 4,\n  \"value\": 0.25\n}";
        let sealed = seal_json(text);
        assert_eq!(unseal_json(&sealed).as_deref(), Ok(text));
        assert_eq!(unseal_json(text).as_deref(), Ok(text), "an older version's");
        assert_eq!(read_fields(&sealed), Some(Stored { schema: 4, value: 0.25 }));
        for place in 0..8 * sealed.len() {
            let mut flipped = sealed.clone().into_bytes();
            flipped[place / 8] ^= 1 << (place % 8);
            if let Ok(flipped) = String::from_utf8(flipped) {
                assert_eq!(read_fields(&flipped), None, "bit {place}: {flipped}");
            }
        }
    }
}
