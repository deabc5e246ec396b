//! Files that tell whether their bytes are still those that were written.

use sha2::{Digest as _, Sha256};

/// What ends a sealed file, before the checksum.
const MARK: &[u8; 8] = b"\nSHA-256";

/// The bytes that a seal adds to the end of a file: a mark, and the SHA-256 of everything before the mark.
pub const SEAL_BYTES: usize = MARK.len() + 32;

/// The seal of these bytes.
#[must_use]
pub fn seal(bytes: &[u8]) -> [u8; SEAL_BYTES] {
    sealed(Sha256::new_with_prefix(bytes))
}

/// The seal of what was hashed.
pub(crate) fn sealed(hasher: Sha256) -> [u8; SEAL_BYTES] {
    let mut seal = [0; SEAL_BYTES];
    seal[..MARK.len()].copy_from_slice(MARK);
    seal[MARK.len()..].copy_from_slice(&hasher.finalize());
    seal
}

/// The bytes before the seal; `None` if there is no seal or a bit differs from what was written.
#[must_use]
pub fn unseal(bytes: &[u8]) -> Option<&[u8]> {
    let (inside, found) = bytes.split_at_checked(bytes.len().checked_sub(SEAL_BYTES)?)?;
    (seal(inside) == found).then_some(inside)
}

/// A JSON object's text with a first field `checksum`, the SHA-256 of the text without that field.
///
/// # Panics
/// If the text is not a JSON object as `serde_json` prints it over several lines.
#[must_use]
pub fn seal_json(text: &str) -> String {
    let rest = text.strip_prefix("{\n").expect("an object over several lines");
    format!("{{\n{FIELD}{}\",\n{rest}", hex(text))
}

const FIELD: &str = "  \"checksum\": \"";

/// The text that [`seal_json`] was given. Text without a checksum is returned as it is; an older version wrote it.
///
/// # Errors
/// If the text is not the one that was written.
pub fn unseal_json(text: &str) -> Result<String, ChangedText> {
    let Some(sealed) = text.strip_prefix("{\n").and_then(|rest| rest.strip_prefix(FIELD)) else {
        return Ok(text.into());
    };
    let (checksum, rest) = sealed.split_once("\",\n").ok_or(ChangedText)?;
    let inside = format!("{{\n{rest}");
    if hex(&inside) == checksum { Ok(inside) } else { Err(ChangedText) }
}

fn hex(text: &str) -> String {
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

    /// A reader that knows all fields. A fault in the name `checksum` leaves it one that it does not know.
    fn stored(text: &str) -> Option<Stored> {
        serde_json::from_str(&unseal_json(text).ok()?).ok()
    }

    #[test]
    fn every_flipped_bit_of_sealed_text_is_noticed() {
        let text = "{\n  \"schema\": 4,\n  \"value\": 0.25\n}";
        let sealed = seal_json(text);
        assert_eq!(unseal_json(&sealed).as_deref(), Ok(text));
        assert_eq!(unseal_json(text).as_deref(), Ok(text), "an older version's");
        assert_eq!(stored(&sealed), Some(Stored { schema: 4, value: 0.25 }));
        for place in 0..8 * sealed.len() {
            let mut flipped = sealed.clone().into_bytes();
            flipped[place / 8] ^= 1 << (place % 8);
            if let Ok(flipped) = String::from_utf8(flipped) {
                assert_eq!(stored(&flipped), None, "bit {place}: {flipped}");
            }
        }
    }
}
