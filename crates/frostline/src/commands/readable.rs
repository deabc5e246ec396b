//! Output for people, in which names and labels from files cannot act on the terminal.

use std::io::{self, Write};

use frostline_sweep::visible;

/// A writer of text for people: characters that would act on a terminal are shown by their code points. Formats for
/// programs (JSON, CoNLL-U, tab-separated values) escape in their own ways and do not pass through it.
pub(super) struct Readable<'a>(pub &'a mut dyn Write);

impl Write for Readable<'_> {
    /// Takes whole pieces of text, as `write!` hands them over.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(visible(text).as_bytes())?,
            Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_clear_the_screen() {
        let mut bytes = Vec::new();
        let label = "\u{1b}[2J\u{202e}é";
        writeln!(Readable(&mut bytes), "label {label}").expect("written");
        assert_eq!(String::from_utf8(bytes).expect("text"), "label [U+001B][2J[U+202E]é\n");
    }
}
