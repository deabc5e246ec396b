//! Recognises input that is not text in UTF-8, so that an error can name the cause and not its symptoms.

use std::fmt;

/// The kind of an input that is not text in UTF-8 with line feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// A compressed file or an archive.
    Compressed(&'static str),
    /// Another encoding of Unicode.
    Encoding(&'static str),
    /// Lines that end with a carriage return alone.
    CarriageReturns,
}

/// The first bytes of compressed files.
const COMPRESSED: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "a gzip file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ\0", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"PK\x03\x04", "a zip file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z file"),
];

/// Byte order marks of other encodings. UTF-32 comes first, because its little-endian mark begins with the mark
/// of UTF-16.
const MARKS: &[(&[u8], &str)] = &[
    (b"\xff\xfe\0\0", "UTF-32 (little-endian)"),
    (b"\0\0\xfe\xff", "UTF-32 (big-endian)"),
    (b"\xff\xfe", UTF_16_LE),
    (b"\xfe\xff", UTF_16_BE),
];

const UTF_16_LE: &str = "UTF-16 (little-endian)";
const UTF_16_BE: &str = "UTF-16 (big-endian)";

/// Carriage returns that are further apart are no line ends.
const LONGEST_LINE: usize = 500;

/// How many bytes are examined for an encoding without a mark.
const EXAMINED: usize = 512;

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compressed(kind) => write!(f, "this is {kind}; decompress it"),
            Self::Encoding(name) => write!(f, "this is text in {name}; convert it to UTF-8 (iconv)"),
            Self::CarriageReturns => f.write_str(
                "its lines end with a carriage return alone, as on the first Macs; convert the line ends to line \
                 feeds (mac2unix)",
            ),
        }
    }
}

/// Returns the kind of an input that begins with these bytes; `None` if it can be text in UTF-8.
#[must_use]
pub fn foreign(start: &[u8]) -> Option<Foreign> {
    let named = |list: &[(&[u8], &'static str)]| {
        list.iter().find(|(first, _)| start.starts_with(first)).map(|(_, name)| *name)
    };
    if let Some(kind) = named(COMPRESSED) {
        // Text may begin with the letters of bzip2, whose next bytes are not text.
        return Some(Foreign::Compressed(kind)).filter(|_| kind != "a bzip2 file" || !can_be_utf_8(start));
    }
    if let Some(name) = named(MARKS).or_else(|| utf_16_without_mark(&start[..start.len().min(EXAMINED)])) {
        return Some(Foreign::Encoding(name));
    }
    // Text contains a stray carriage return now and then, and a long line may end after the bytes read.
    let returns = memchr::memchr_iter(b'\r', start).count();
    let are_ends = returns > 1 && returns * LONGEST_LINE >= start.len();
    (are_ends && memchr::memchr(b'\n', start).is_none()).then_some(Foreign::CarriageReturns)
}

/// Returns whether bytes are UTF-8, of which the last character may be cut.
fn can_be_utf_8(start: &[u8]) -> bool {
    std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// Returns the byte order of UTF-16, in which every other byte of ASCII is zero.
fn utf_16_without_mark(start: &[u8]) -> Option<&'static str> {
    let mut zeros = [0; 2];
    for (at, byte) in start.iter().enumerate() {
        zeros[at % 2] += usize::from(*byte == 0);
    }
    // A quarter of the characters, which the tabs, numbers and underscores of any treebank are.
    let many = |zeros: usize| zeros >= 2 && 8 * zeros >= start.len();
    match zeros {
        [0, odd] if many(odd) => Some(UTF_16_LE),
        [even, 0] if many(even) => Some(UTF_16_BE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "# text = Eis \u{51b0}\n1\tEis\t\u{51b0}\tNOUN\t_\t_\t0\troot\t_\t_\n\n";

    #[test]
    fn the_cause_is_named() {
        let utf_16 = |encode: fn(u16) -> [u8; 2], mark: &str| -> Vec<u8> {
            format!("{mark}{ROW}").encode_utf16().flat_map(encode).collect()
        };
        for mark in ["", "\u{feff}"] {
            let [little, big] = [u16::to_le_bytes, u16::to_be_bytes].map(|encode| utf_16(encode, mark));
            assert_eq!(foreign(&little), Some(Foreign::Encoding(UTF_16_LE)), "{mark:?}");
            assert_eq!(foreign(&big), Some(Foreign::Encoding(UTF_16_BE)), "{mark:?}");
        }
        let utf_32: Vec<u8> =
            format!("\u{feff}{ROW}").chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        assert_eq!(foreign(&utf_32), Some(Foreign::Encoding("UTF-32 (little-endian)")));
        assert_eq!(foreign(ROW.replace('\n', "\r").as_bytes()), Some(Foreign::CarriageReturns));
        for (bytes, message) in [
            (&b"\x1f\x8b\x08\0\0\0\0\0"[..], "this is a gzip file; decompress it"),
            (b"BZh91AY&SY\xff", "this is a bzip2 file; decompress it"),
            (b"\xfd7zXZ\0\0", "this is an xz file; decompress it"),
            (b"\x28\xb5\x2f\xfd\x24", "this is a zstd file; decompress it"),
            (b"PK\x03\x04\x14\0\xff", "this is a zip file; decompress it"),
        ] {
            assert_eq!(foreign(bytes).map(|found| found.to_string()).as_deref(), Some(message));
        }
    }

    #[test]
    fn text_is_not_foreign() {
        // A stray carriage return in a long line, and one before the line feed has come.
        assert_eq!(foreign(format!("{}\r{}", "a ".repeat(4_000), "b ".repeat(96)).as_bytes()), None);
        assert_eq!(foreign(b"a\rb"), None);
        // Text that begins as bzip2 does, cut inside a character.
        assert_eq!(foreign(&"BZh \u{e9}".as_bytes()[..5]), None);
        for text in [
            "",
            "\n",
            "a",
            "\r",
            "ice\r",
            "\u{feff}# a\n",
            "BZh is a word.\n",
            ROW,
            "a\rb\r\n",
            "\0\n",
            "a\0\0b\n",
        ] {
            assert_eq!(foreign(text.as_bytes()), None, "{text:?}");
            assert_eq!(foreign(text.replace('\n', "\r\n").as_bytes()), None, "{text:?}");
        }
        // Other encodings of single bytes are found if their first byte is that is not UTF-8.
        assert_eq!(foreign(b"1\tgr\xfcn\t_\n"), None);
    }
}
