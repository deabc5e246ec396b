//! Files of sentences: CoNLL-U, IOB2, labelled sentences.

use std::io::BufReader;

use frostline_conllu::{
    Checks, Column, Reader, Sentence, SentenceSplit, Stats, TextLine, TextSplit, WordSplit, Writer, grammar,
    parse_iob2, parse_labelled, read_lenient, read_strict,
};

/// All checks at once, and none.
const CHECKS: [Checks; 2] =
    [Checks { nfc: false, typed: false, metadata: false }, Checks { nfc: true, typed: true, metadata: true }];

/// Lenient reading returns every byte; strict reading finds the first fault of each sentence; a stream yields the same
/// sentences; a sentence that is written back, with or without edits, keeps its other bytes.
pub(crate) fn fuzz_conllu(data: &[u8]) {
    for checks in CHECKS {
        let sentences: Vec<Sentence<'_>> = read_lenient(data, checks).collect();
        let raw: Vec<u8> = sentences.iter().flat_map(|sentence| sentence.raw().iter().copied()).collect();
        assert_eq!(raw, data, "lenient reading lost bytes");
        let mut stats = Stats::default();
        for sentence in &sentences {
            read_values(sentence);
            written_back(sentence);
            stats.add(sentence);
            let kept = sentence.detach();
            assert_eq!(kept.view().raw(), sentence.raw());
        }
        for (strict, lenient) in read_strict(data, checks).zip(&sentences) {
            match strict {
                Ok(strict) => assert_eq!((strict.raw(), lenient.faults()), (lenient.raw(), &[][..])),
                Err(fault) => {
                    assert_eq!(Some(&fault), lenient.faults().first());
                    assert!(!fault.at("file").to_string().contains('\n'), "a message of several lines");
                }
            }
        }
        let mut reader = Reader::new(BufReader::with_capacity(64, data), checks);
        for expected in &sentences {
            let found = reader.next_sentence().expect("from memory").expect("as many sentences");
            assert_eq!((found.raw(), found.faults()), (expected.raw(), expected.faults()));
        }
        assert!(reader.next_sentence().expect("from memory").is_none());
    }
}

/// Running text becomes rows that pass the checks of level 1 and give the text back, however it is split and in parts of
/// any size.
pub(crate) fn fuzz_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let is_gap = |c: char| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}');
    let gaps = |line: &str| line.split(is_gap).filter(|run| !run.is_empty()).collect::<Vec<_>>().join(" ");
    for (number, line) in text.split_inclusive('\n').enumerate() {
        for sentences in [SentenceSplit::Unicode, SentenceSplit::Lines] {
            for words in [WordSplit::Unicode, WordSplit::Spaces] {
                let written = |part, context| {
                    let split = TextSplit { sentences, words, part, context };
                    let mut out = Vec::new();
                    for part in TextLine::new(line.to_owned(), number + 1, split) {
                        part.write(&mut out, |_, _| vec![(Column::Upos, "X")]).expect("in memory");
                    }
                    out
                };
                let whole = written(usize::MAX / 2, 0);
                assert_eq!(text_of_rows(&whole), gaps(line));
                assert!(written(2, 3) == whole, "the parts of a sentence are not the whole");
            }
        }
    }
}

/// Returns the text of rows. It panics if `check` would reject them.
fn text_of_rows(conllu: &[u8]) -> String {
    let mut text = String::new();
    for sentence in read_lenient(conllu, Checks::default()) {
        assert_eq!(sentence.faults().first(), None);
        let start = text.len();
        for row in sentence.words() {
            text.push_str(row.form());
            if row.misc() != "SpaceAfter=No" {
                text.push(' ');
            }
        }
        assert_eq!(sentence.text(), Some(text[start..].trim_end_matches(' ')));
    }
    text.truncate(text.trim_end_matches(' ').len());
    text
}

/// The scanner accepts the same lines as the grammar, with the same columns; the order of rows is ignored.
pub(crate) fn fuzz_row(data: &[u8]) {
    let line = data.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else { return };
    let text = format!("{line}\n\n");
    let sentences: Vec<Sentence<'_>> = read_lenient(text.as_bytes(), Checks::default()).collect();
    let scanned = match &sentences[..] {
        [sentence] => match sentence.rows().as_slice() {
            [row]
                if sentence.comments.is_empty()
                    && sentence.faults().iter().all(|fault| fault.kind.is_about_order()) =>
            {
                row.key().map(|id| (id, row.columns()))
            }
            _ => None,
        },
        _ => None,
    };
    assert_eq!(scanned, grammar::row(line), "{line:?}");
}

/// Reads every value of every row.
fn read_values(sentence: &Sentence<'_>) {
    let _ = (sentence.sent_id(), sentence.text());
    for row in sentence.rows() {
        let _ = (row.upos_tag(), row.governor(), row.feature("Number"), row.id());
        let _ = (row.features().count(), row.dependencies().count(), row.annotations().count());
    }
}

fn written_back(sentence: &Sentence<'_>) {
    let mut same = Writer::new(Vec::new());
    same.edited(sentence, |row, column| row.get(column)).expect("its own columns fit");
    assert_eq!(same.into_inner(), sentence.raw(), "written back with other bytes");
    let mut edited = Writer::new(Vec::new());
    edited.edited(sentence, |_, column| (column == Column::Upos).then_some("X")).expect("it fits");
}

/// Reads every sentence or its fault; entities are inside their sentence.
pub(crate) fn fuzz_iob2(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for sentence in parse_iob2(text) {
        match sentence {
            Ok(sentence) => {
                let _ = (sentence.sent_id(), sentence.text());
                for entity in sentence.entities() {
                    assert!(entity.start < entity.end && entity.end <= sentence.rows.len());
                }
            }
            Err(fault) => assert!(!fault.at("file").to_string().contains('\n')),
        }
    }
}

/// Every sentence or its fault; words have no white space.
pub(crate) fn fuzz_labelled(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for sentence in parse_labelled(text) {
        match sentence {
            Ok(sentence) => assert!(!sentence.label.contains(['\t', '\n'])),
            Err(fault) => assert!(!fault.at("file").to_string().contains('\n')),
        }
    }
}
