//! A folder of bad inputs, each with the faults it must give, as they are shown.
//!
//! Files named `typed-` and `nfc` are read with those checks.

use std::{fs, path::Path};

use frostline_conllu::{Checks, FaultKind, parse, parse_iob2, read_lenient, read_strict};

#[test]
fn bad_inputs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut names: Vec<_> = fs::read_dir(&folder)
        .expect("the folder of bad inputs")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .filter(|name| name.ends_with(".conllu"))
        .collect();
    names.sort();
    let mut shown = String::new();
    for name in names {
        let bytes = fs::read(folder.join(&name)).expect("readable");
        let checks = Checks { typed: name.starts_with("typed-"), nfc: name.starts_with("nfc") };
        let before = shown.len();
        for sentence in read_lenient(&bytes, checks) {
            for fault in sentence.faults() {
                shown.push_str(&format!("{}\n", fault.at(&name)));
            }
        }
        assert!(shown.len() > before, "{name} has no fault");
        if checks != Checks::default() {
            let plain = read_strict(&bytes, Checks::default());
            assert!(plain.into_iter().all(|sentence| sentence.is_ok()), "{name} is sound at level 1");
        }
        shown.push('\n');
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn bad_layers() {
    let inputs = [
        "# sent_id = s1\n1\tIce\n\n",
        "# sent_id = s1\n1\tIce\tO\n3\tmelts\tO\n\n",
        "1\t\tO\n\n",
        "1\tIce\tX-LOC\n\n",
        "1\tIce\tB-\n\n",
        "1\tIce\tO\n2\tland\tI-LOC\n\n",
        "1\tIce\tB-PER\n2\tland\tI-LOC\n\n",
        "1\tIce\tO\r\n\n",
        "# only\n\n",
        "1\tIce\tO\n# late\n\n",
    ];
    let mut shown = String::new();
    for input in inputs {
        let fault = parse_iob2(input).next().expect("an item").expect_err("a fault");
        shown.push_str(&format!("{}\n", fault.at("layer.iob2")));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_malformed_sentence_does_not_end_the_reading() {
    let bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/goes-on-after-faults.conllu"))
        .expect("readable");
    let text = String::from_utf8(bytes).expect("UTF-8");
    let read: Vec<_> = parse(&text).collect();
    assert_eq!(read.len(), 3);
    assert!(matches!(read[0].as_ref().expect_err("bad").kind, FaultKind::BadId { .. }));
    assert_eq!(read[1].as_ref().expect("good").sent_id(), Some("s2"));
    let fault = read[2].as_ref().expect_err("bad");
    assert_eq!((fault.line, fault.column, fault.sent_id.as_deref()), (8, 1, Some("s3")));
    assert_eq!(fault.byte, text.rfind("2\t").expect("it is there"));
}

#[test]
fn the_byte_that_is_not_utf8_is_named() {
    let bytes = b"# sent_id = s\n1\tf\xff\tl\tX\tx\t_\t0\troot\t_\t_\n\n";
    let fault = read_strict(bytes, Checks::default()).next().expect("one").expect_err("bad");
    assert_eq!(fault.kind, FaultKind::NotUtf8 { byte: 17 });
    assert_eq!((fault.line, fault.column, fault.byte), (2, 4, 17));
}
