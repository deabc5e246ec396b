//! Mutated inputs (their number is `FROSTLINE_FUZZ_INPUTS`): no panic, no lost byte, and all ways of
//! reading agree with each other and with a naive reader.

use std::io::BufReader;

use frostline_conllu::{Checks, Column, Reader, Sentence, Writer, read_lenient, read_strict};

const PIECES: [&[u8]; 44] = [
    b"\t",
    b"\n",
    b"\n\n",
    b" ",
    b"\r",
    b"\r\n",
    b"#",
    b"# sent_id = ",
    b"# text = ",
    b"_",
    b"|",
    b"=",
    b":",
    b".",
    b"-",
    b"0",
    b"1",
    b"2",
    b"1-2",
    b"0.1",
    b"1.1",
    b"3-",
    b"4294967296",
    b"\xff",
    b"\xc3",
    b"\xe2\x80",
    b"\xed\xa0\x80",
    "\u{feff}".as_bytes(),
    "\u{a0}".as_bytes(),
    "\u{3000}".as_bytes(),
    "e\u{301}".as_bytes(),
    "é".as_bytes(),
    "日本".as_bytes(),
    b"\x1c",
    b"\x00",
    b"\x0b",
    b"NOUN",
    b"Case=Nom",
    b"0:root",
    b"1:dep",
    b"SpaceAfter=No",
    b"1\tf\tl\tX\tx\t_\t0\troot\t_\t_\n",
    b"\t_\t_\t_\t_\t_\t_\t_\t_\t_\n",
    b"2\tb\tb\tX\t_\tA=B\t1\tdep\t1:dep\tA=B\n",
];

const SEED: &str = "# sent_id = s1\n# text = a b\n0.1\tn\tn\t_\t_\t_\t_\t_\t0:root\t_\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n\
1\ta\ta\tNOUN\tNN\tCase=Nom|Number=Sing\t0\troot\t0.1:dep\tSpaceAfter=No\n2\tb c\tb\tX\t_\t_\t1\tdep\t1:conj:and\t_\n\
2.1\té\te\tX\t_\t_\t_\t_\t1:dep\tGloss=x y\n\n# sent_id = s2\n1\t日本\t_\tPROPN\t_\t_\t0\troot\t_\t_\n\n";

/// SplitMix64: good enough here, and the same on every platform.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Half of the inputs start from a well-formed text, half from pieces alone.
fn draw_input(draw: &mut Draw, out: &mut Vec<u8>) {
    out.clear();
    if draw.below(2) == 0 {
        let from = if draw.below(4) == 0 { draw.below(SEED.len()) } else { 0 };
        out.extend_from_slice(&SEED.as_bytes()[from..]);
    }
    for _ in 0..1 + draw.below(6) {
        let at = draw.below(out.len() + 1);
        let end = (at + draw.below(4)).min(out.len());
        match draw.below(5) {
            0 => drop(out.drain(at..end)),
            1 => drop(out.splice(at..end, PIECES[draw.below(PIECES.len())].iter().copied())),
            2 if !out.is_empty() => {
                let at = at.min(out.len() - 1);
                out[at] = draw.next() as u8;
            }
            3 => {
                let piece = out[draw.below(at + 1).min(at)..at].to_vec();
                drop(out.splice(end..end, piece));
            }
            _ => drop(out.splice(at..at, PIECES[draw.below(PIECES.len())].iter().copied())),
        }
    }
}

#[test]
fn mutated_inputs() {
    let inputs: u64 = match std::env::var("FROSTLINE_FUZZ_INPUTS") {
        Ok(value) => value.parse().expect("FROSTLINE_FUZZ_INPUTS is a number"),
        Err(_) => 50_000,
    };
    let first: u64 =
        std::env::var("FROSTLINE_FUZZ_FIRST").map_or(0, |value| value.parse().expect("a number"));
    let mut bytes = Vec::new();
    let mut accepted = 0_u64;
    for number in first..first + inputs {
        let mut draw = Draw(number.wrapping_mul(0x2545_f491_4f6c_dd1d));
        draw_input(&mut draw, &mut bytes);
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check_invariants(&bytes, &mut draw)));
        match outcome {
            Ok(clean) => accepted += u64::from(clean),
            Err(_) => panic!("input {number}: {:?}", String::from_utf8_lossy(&bytes)),
        }
    }
    eprintln!("{inputs} inputs from number {first}, {accepted} of them without fault");
    assert!(
        inputs < 1_000 || (accepted > inputs / 200 && accepted < inputs / 2),
        "the mix of good and bad inputs is off"
    );
}

/// Checks everything that must hold for any bytes; returns true if they have no fault.
fn check_invariants(bytes: &[u8], draw: &mut Draw) -> bool {
    let checks = Checks { typed: draw.below(2) == 0, metadata: draw.below(4) == 0, nfc: draw.below(4) == 0 };
    let sentences: Vec<Sentence<'_>> = read_lenient(bytes, checks).collect();
    let raws: Vec<u8> = sentences.iter().flat_map(|s| s.raw().iter().copied()).collect();
    assert_eq!(raws, bytes, "lenient reading gives every byte back");
    let mut line = 1;
    for sentence in &sentences {
        assert_eq!(sentence.line(), line);
        line += memchr::memchr_iter(b'\n', sentence.raw()).count();
        compare_with_split(sentence);
        check_faults(sentence, bytes);
        check_rewriting(sentence, draw);
    }
    check_stream(bytes, checks, &sentences, draw);
    let mut clean = true;
    for (strict, lenient) in read_strict(bytes, checks).zip(&sentences) {
        match strict {
            Ok(strict) => {
                assert!(lenient.faults().is_empty());
                check_composition(&strict);
            }
            Err(fault) => {
                assert_eq!(fault, lenient.faults()[0]);
                clean = false;
            }
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && checks == Checks::default()
    {
        let faults = |s: &Sentence<'_>| s.faults().to_vec();
        let of_text: Vec<_> = frostline_conllu::parse_lenient(text).map(|s| faults(&s)).collect();
        assert_eq!(of_text, sentences.iter().map(faults).collect::<Vec<_>>());
    }
    clean
}

/// Checks that rows and comments equal the parts of the split raw text.
fn compare_with_split(sentence: &Sentence<'_>) {
    let mut rows = sentence.rows();
    let mut comments = sentence.comments.iter();
    for (number, line) in sentence.raw().split(|&b| b == b'\n').enumerate() {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        let space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
        if line.chars().all(space) {
            continue;
        }
        let first = sentence.byte() == 0 && number == 0;
        let line = if first { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.starts_with('#') {
            assert_eq!(comments.next(), Some(&line));
            continue;
        }
        let row = rows.next().expect("a row for every other line");
        assert_eq!(row.text(), line);
        assert_eq!(sentence.line_of(row), sentence.line() + number);
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(row.len(), fields.len());
        for (column, field) in Column::ALL.into_iter().zip(&fields) {
            assert_eq!(row.get(column), Some(*field));
        }
        let numeric = fields[0].bytes().all(|b| b.is_ascii_digit()) && !fields[0].starts_with('0');
        let word = numeric && fields[0].parse::<u32>().is_ok();
        assert_eq!(row.is_word(), word, "{line:?}");
    }
    assert!(rows.next().is_none() && comments.next().is_none());
}

/// Faults are in text order, and point into their sentence.
fn check_faults(sentence: &Sentence<'_>, bytes: &[u8]) {
    let mut before = (0, 0);
    for fault in sentence.faults() {
        assert!(before <= (fault.line, fault.byte), "faults in order: {:?}", sentence.faults());
        before = (fault.line, fault.byte);
        assert!(fault.byte >= sentence.byte() && fault.byte <= sentence.byte() + sentence.raw().len());
        let head = &bytes[..fault.byte];
        let start = head.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        assert_eq!(fault.line, 1 + memchr::memchr_iter(b'\n', head).count(), "{fault:?}");
        let bom = usize::from(start == 0 && bytes.starts_with("\u{feff}".as_bytes()));
        let column = 1 + String::from_utf8_lossy(&head[start..]).chars().count();
        assert!(fault.column <= column && fault.column + bom >= column, "{fault:?}, expected {column}");
        assert!(!fault.to_string().contains(['\n', '\r']) && fault.to_string().len() < 500);
    }
}

/// Writes the sentence as read, with no edit, and with one column edited.
fn check_rewriting(sentence: &Sentence<'_>, draw: &mut Draw) {
    let mut writer = Writer::new(Vec::new());
    writer.sentence(sentence).expect("memory");
    assert_eq!(writer.into_inner(), sentence.raw());
    let mut writer = Writer::new(Vec::new());
    writer.edited(sentence, |row, column| row.get(column)).expect("columns fit");
    assert_eq!(writer.into_inner(), sentence.raw());
    if sentence.byte() > 0 && sentence.raw().starts_with("\u{feff}".as_bytes()) {
        return; // read again on its own, it would start with a byte order mark
    }
    let chosen = Column::ALL[1 + draw.below(9)];
    let mut writer = Writer::new(Vec::new());
    writer.edited(sentence, |_, column| (column == chosen).then_some("new")).expect("fits");
    let changed = writer.into_inner();
    let first = read_lenient(&changed, Checks::default()).next();
    let rows = first.iter().flat_map(|s| s.rows());
    for (old, new) in sentence.rows().zip(rows) {
        let expected = old.get(chosen).map(|_| "new");
        assert_eq!(new.get(chosen), expected);
        assert_eq!(new.id(), old.id());
    }
}

/// A strictly read sentence consists of its comments, its rows and a blank line, and nothing else.
fn check_composition(sentence: &Sentence<'_>) {
    let mut writer = Writer::new(Vec::new());
    for comment in &sentence.comments {
        writer.comment(comment).expect("one line");
    }
    for row in sentence.rows() {
        writer.row(&row.columns()).expect("no tabs");
    }
    writer.end().expect("memory");
    assert_eq!(writer.into_inner(), sentence.raw());
}

/// A stream in pieces of any size yields the same sentences as the slice.
fn check_stream(bytes: &[u8], checks: Checks, sentences: &[Sentence<'_>], draw: &mut Draw) {
    let piece = 1 + draw.below(90);
    let mut reader = Reader::new(BufReader::with_capacity(piece, bytes), checks);
    for expected in sentences {
        let found = reader.next_sentence().expect("memory").expect("as many sentences");
        assert_eq!(found.raw(), expected.raw());
        assert_eq!((found.line(), found.byte()), (expected.line(), expected.byte()));
        assert_eq!(found.comments, expected.comments);
        assert_eq!(found.faults(), expected.faults());
        let text = |s: &Sentence<'_>| s.rows().map(|row| row.text().to_owned()).collect::<Vec<_>>();
        assert_eq!(text(&found), text(expected));
    }
    assert!(reader.next_sentence().expect("memory").is_none());
    assert!(reader.next_sentence().expect("memory").is_none());
}
