//! Counts the bytes that reading examines, in this crate's own tests only.
//!
//! The tests use it to prove linear time without a clock: every loop over text reports its length
//! here. Outside the tests it compiles to nothing.

#[cfg(test)]
thread_local! {
    static BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Notes that `bytes` of text were examined.
#[inline(always)]
pub(crate) fn add(bytes: usize) {
    #[cfg(test)]
    BYTES.with(|count| count.set(count.get() + bytes));
    #[cfg(not(test))]
    let _ = bytes;
}

/// Returns the number of bytes noted since the last call.
#[cfg(test)]
pub(crate) fn take_count() -> usize {
    BYTES.with(|count| count.replace(0))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::take_count;
    use crate::{Checks, Reader, read_lenient};

    const ALL: Checks = Checks { typed: true, metadata: true, nfc: true };

    /// Bytes examined per byte of text: from a slice, and from a stream that yields 64 at a time.
    fn bytes_examined(bytes: &[u8]) -> [usize; 2] {
        take_count();
        let items = read_lenient(bytes, ALL).count();
        let slice = take_count();
        let mut reader = Reader::new(BufReader::with_capacity(64, bytes), ALL);
        let mut streamed = 0;
        while reader.next_sentence().expect("memory").is_some() {
            streamed += 1;
        }
        assert_eq!(items, streamed);
        [slice / bytes.len(), take_count() / bytes.len()]
    }

    /// The cost per byte must not grow with the size, and must be small.
    #[track_caller]
    fn assert_linear(make: impl Fn(usize) -> Vec<u8>) {
        let (small, large) = (bytes_examined(&make(2_000)), bytes_examined(&make(20_000)));
        for (small, large) in small.into_iter().zip(large) {
            assert!(large <= small * 3 / 2 + 2, "{large} per byte, {small} at a tenth of the size");
            // A one-byte sentence costs one block of 64 bytes; nothing costs much more.
            assert!(large <= 80, "{large} per byte");
        }
    }

    fn test_row(id: &str) -> String {
        format!("{id}\tf\tl\tX\tx\t_\t0\troot\t_\t_\n")
    }

    #[test]
    fn long_sentences() {
        assert_linear(|n| ((1..=n).map(|i| test_row(&i.to_string())).collect::<String>() + "\n").into());
        assert_linear(|n| {
            let word = |i: usize| format!("{i}\té\tl\tX\tx\tA=B\t{}\tdep\t{}:dep\tA=b c\n", i - 1, i - 1);
            ((1..=n).map(word).collect::<String>() + "\n").into()
        });
    }

    #[test]
    fn long_lines() {
        for piece in
            ["\t", " ", "a", "é", "1", "a b\t", "e\u{301}", "\r", "|", "A=B|", "1:dep|", "#", "\u{3000}"]
        {
            assert_linear(|n| (piece.repeat(n) + "\n\n").into());
            assert_linear(|n| format!("# {}\n{}\n", piece.repeat(n), test_row("1")).into());
            for column in 0..10 {
                let mut columns = ["1", "f", "l", "X", "x", "_", "0", "root", "_", "_"].map(str::to_owned);
                assert_linear(|n| {
                    let mut columns = columns.clone();
                    columns[column] = piece.repeat(n);
                    (columns.join("\t") + "\n\n").into()
                });
                columns[column].clear();
            }
        }
    }

    #[test]
    fn many_faults() {
        for line in ["# a\n", " \n", "\r\n", "x\n", "\u{feff}\n", "1-2\n", "\n", "\t\t\t\t\t\t\t\t\t\n"] {
            assert_linear(|n| line.repeat(n).into());
        }
        assert_linear(|n| [b"a\xff\n".repeat(n), b"\n".to_vec()].concat());
        assert_linear(|n| b"\xff".repeat(n));
        assert_linear(|n| b"\xe2\x80 \t".repeat(n));
        assert_linear(|n| {
            (format!("# sent_id = {}\n", "x".repeat(n)) + &test_row("7").repeat(n / 50) + "\n").into()
        });
    }

    #[test]
    fn ranges_in_any_order() {
        let range = |i: usize| test_row(&format!("{i}-{}", i + 1));
        assert_linear(|n| (1..=n).rev().map(range).collect::<String>().into());
        assert_linear(|n| (1..=n).map(|i| test_row(&format!("{i}-{n}"))).collect::<String>().into());
        assert_linear(|n| (1..=n).map(|i| test_row(&format!("0.{i}"))).collect::<String>().into());
    }
}
