//! Input that is not text in UTF-8 with line feeds: every reader names the cause. Input from Windows is scored.

use std::fs;

use super::{GOOD, run_and_print, run_frostline};

/// An input and the cause that its error names.
fn foreign_inputs() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let utf_16 = |mark: &str, encode: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("{mark}{GOOD}").encode_utf16().flat_map(encode).collect()
    };
    let (little, big) = ("this is text in UTF-16 (little-endian)", "this is text in UTF-16 (big-endian)");
    vec![
        (
            "gzip",
            b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x04\0\x43\xbe\xb7\xe8\x01\0\0\0".to_vec(),
            "this is a gzip file; decompress it",
        ),
        ("le", utf_16("", u16::to_le_bytes), little),
        ("be", utf_16("", u16::to_be_bytes), big),
        ("le-mark", utf_16("\u{feff}", u16::to_le_bytes), little),
        ("be-mark", utf_16("\u{feff}", u16::to_be_bytes), big),
        ("mac", GOOD.replace('\n', "\r").into_bytes(), "its lines end with a carriage return alone"),
        ("empty", Vec::new(), "no "),
    ]
}

#[test]
fn every_reader_names_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("good"), GOOD).unwrap();
    fs::write(path.join("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n").unwrap();
    for (name, bytes, cause) in foreign_inputs() {
        fs::write(path.join(name), bytes).unwrap();
        for arguments in [
            &["conllu", "check", name][..],
            &["conllu", "stats", name],
            &["score", name, "good"],
            &["score", "good", name],
            &["score", "good", "good", "--versus", name],
            &["align", "--tokenizer", ".", name],
        ] {
            let output = run_frostline(path, arguments);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {errors}");
            let is_empty_system = name == "empty" && arguments[0] == "score" && arguments[1] == "good";
            assert!(errors.contains(name), "{arguments:?}: {errors}");
            assert!(errors.contains(cause) || is_empty_system, "{arguments:?}: {errors}");
        }
    }
}

/// The official scorer drops carriage returns at the ends of lines, and reads U+FFFD as any character.
#[test]
fn a_file_from_windows_is_scored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, text: &str| fs::write(path.join(name), text).unwrap();
    let lost = GOOD.replace("The", "Th\u{fffd}");
    write("lf", &lost);
    write("crlf", &lost.replace('\n', "\r\n"));
    let scored = |gold: &str, system: &str| run_and_print(path, &["score", gold, system, "--json"]);
    let expected = scored("lf", "lf");
    assert!(scored("lf", "crlf") == expected && scored("crlf", "lf") == expected);
    for command in
        [&["conllu", "check", "lf"][..], &["conllu", "roundtrip", "lf"], &["align", "--tokenizer", ".", "lf"]]
    {
        write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
        run_and_print(path, command);
    }
}
