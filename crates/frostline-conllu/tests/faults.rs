//! A folder of bad inputs and, as a snapshot, the expected faults of each.
//!
//! Files named `typed-*` and `nfc*` are read with the checks of the same name.

use std::{fs, path::Path};

use frostline_conllu::{
    Checks, FaultKind, LabelledSentence, parse, parse_iob2, parse_labelled, read_lenient, read_strict,
};

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
        let checks = Checks {
            typed: name.starts_with("typed-"),
            metadata: name.starts_with("metadata-"),
            nfc: name.starts_with("nfc"),
        };
        let before = shown.len();
        for sentence in read_lenient(&bytes, checks) {
            for fault in sentence.warnings().iter().chain(sentence.faults()) {
                shown.push_str(&format!("{}\n", fault.at(&name)));
            }
        }
        assert!(shown.len() > before, "{name} has no fault");
        if checks != Checks::default() {
            let plain = read_strict(&bytes, Checks::default());
            assert!(plain.into_iter().all(|sentence| sentence.is_ok()), "{name} has no fault at level 1");
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
        "1\tIce\tO\n# late\ttab\n\n",
        "\u{feff}# sent_id = s1\n1\tIce\tO\n\n",
    ];
    let mut shown = String::new();
    for input in inputs {
        let fault = parse_iob2(input).next().expect("an item").expect_err("a fault");
        shown.push_str(&format!("{}\n", fault.at("layer.iob2")));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_comment_of_a_layer_may_hold_a_tab() {
    let text = "# sent_id = s1\n# text = Ice\tmelts\n1\tIce\tO\n2\tmelts\tO\n\n";
    let sentence = parse_iob2(text).next().expect("one").expect("well formed");
    assert_eq!((sentence.text(), sentence.rows.len()), (Some("Ice\tmelts"), 2));
}

#[test]
fn bad_labelled_sentences() {
    let inputs = [
        "good\t1\nno label\n",
        "one\ttwo\t1\n",
        "\t1\n",
        " \u{a0}\t1\n",
        "a sentence\t\n",
        "so schön\t 1\n",
        "good\t1\n\n",
        " \n",
        "sentence\tlabel\r\ngood\t1\r\n",
        "sentence\tlabel\ngood\t1\r\n",
        "\u{feff}sentence\tlabel\n",
        "index\tsentence\n0\tgood\n",
    ];
    let mut shown = String::new();
    for input in inputs {
        let fault = parse_labelled(input).find_map(Result::err).expect("a fault");
        assert!(fault.byte < input.len(), "{input:?}");
        shown.push_str(&format!("{}\n", fault.at("train.tsv")));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn labelled_sentences_are_not_changed() {
    let read = |text| -> Vec<_> { parse_labelled(text).map(|read| read.expect("well formed")).collect() };
    let text = "sentence\tlabel\n# both ends blank \t1\nsentence\tlabel";
    let first =
        LabelledSentence { text: "# both ends blank ", label: "1", line: 2, raw: "# both ends blank \t1\n" };
    let second = LabelledSentence { text: "sentence", label: "label", line: 3, raw: "sentence\tlabel" };
    assert_eq!(read(text), [first, second]);
    assert_eq!(parse_labelled(text).header(), "sentence\tlabel\n");
    assert_eq!(parse_labelled("good\tvery good\n").header(), "");
    assert_eq!(read("good\tvery good\n")[0].label, "very good");
    assert_eq!([read(""), read("sentence\tlabel\n"), read("sentence\tlabel")], [const { Vec::new() }; 3]);
}

#[test]
fn a_bad_line_does_not_end_the_reading() {
    let read: Vec<_> = parse_labelled("a\n\nb\t1\nc\td\te\n").collect();
    assert_eq!(read.len(), 4);
    let place = |at: usize| read[at].as_ref().map_err(|fault| (fault.line, fault.column, fault.byte));
    assert_eq!((place(0), place(1), place(3)), (Err((1, 1, 0)), Err((2, 1, 2)), Err((4, 1, 7))));
    assert_eq!(read[2].as_ref().expect("good").line, 3);
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

/// Two sentences without a fault at level 2.
const GOOD: &str = "# newdoc id = n\n# sent_id = s1\n# text = ab c\n0.1\te\t_\t_\t_\t_\t_\t_\t0:root\tGloss=x\n\
    1-2\tab\t_\t_\t_\tTypo=Yes\t_\t_\t_\t_\n1\ta\ta\tNOUN\tNN\t_\t0\troot\t0:root\t_\n\
    2\tb\tb\tX\t_\t_\t1\tnsubj:pass\t0.1:nsubj:xsubj|1:ref\t_\n3\tc\tc\tX\t_\t_\t1\tdep\t1:dep:é\tSpaceAfter=No\n\n\
    # sent_id = s2\n# parallel_id = a/b/alt1\n# text = d\n1\td\td\tX\t_\t_\t0\troot\t0:root\t_\n\n";

/// One replacement each that makes `GOOD` bad at level 2, and how the first message starts.
const DAMAGES: [(&str, &str, &str); 24] = [
    ("ab\t_\t_\t_\tTypo=Yes", "ab\tab\t_\t_\tTypo=Yes", "LEMMA of a range"),
    ("ab\t_\t_\t_\tTypo=Yes", "ab\t_\t_\tNN\tTypo=Yes", "XPOS of a range"),
    ("Typo=Yes\t_\t_\t_", "Typo=Yes\t_\tdep\t_", "DEPREL of a range"),
    ("Typo=Yes", "Case=Nom|Typo=Yes", "FEATS of a range"),
    ("e\t_\t_\t_\t_\t_\t_", "e\t_\t_\t_\t_\t_\tdep", "DEPREL of an empty node"),
    ("nsubj:pass", "nsubj:Pass", "DEPREL is"),
    ("nsubj:pass", "dobj", "DEPREL is"),
    ("nsubj:pass", "ref", "DEPREL is"),
    ("1:ref", "1:erased", "found \"1:erased\" in DEPS"),
    ("\t0:root\t_\n\n", "\t_\t_\n\n", "found no enhanced dependencies"),
    ("Gloss=x", "SpaceAfter=No", "found \"SpaceAfter=No\" in MISC of an empty node"),
    ("1:ref\t_", "1:ref\tSpaceAfter=No", "found \"SpaceAfter=No\" in MISC of a word of range 1-2"),
    ("Gloss=x", "NoSpaceAfter=Yes", "found \"NoSpaceAfter=Yes\""),
    ("Gloss=x", "Gloss=x|Gloss=y", "found \"Gloss\" a second time"),
    ("# sent_id = s1\n", "", "found a sentence without sent_id"),
    ("s2", "s1", "found sent_id \"s1\", which line 2 has too"),
    ("s2", "s 2", "found \"# sent_id = s 2\""),
    ("# text = d\n", "", "found a sentence without text"),
    ("= ab c", "= ab  d", "FORM is \"c\", but the text continues with \"d\""),
    ("= ab c", "= abc", "the text continues with \"c\" without a space"),
    ("= d", "= d e", "the text continues with \"e\" after the last FORM"),
    ("# sent_id = s2", "# newpar\n# sent_id = s2", "found a new document or paragraph"),
    ("alt1", "alt2", "found parallel_id"),
    ("# text = d", "# text = d\n# text = d", "found a second comment text"),
];

#[test]
fn one_damage_is_one_fault_at_level_2() {
    let level_2 = Checks { typed: true, metadata: true, nfc: true };
    let faults = |text: &str| -> Vec<String> {
        let sentences = read_lenient(text.as_bytes(), level_2);
        sentences.flat_map(|s| s.faults().iter().map(ToString::to_string).collect::<Vec<_>>()).collect()
    };
    assert!(faults(GOOD).is_empty(), "{:?}", faults(GOOD));
    for (old, new, start) in DAMAGES {
        let damaged = GOOD.replacen(old, new, 1);
        let found = faults(&damaged);
        assert!(damaged != GOOD && found.len() == 1 && found[0].starts_with(start), "{new:?}: {found:?}");
        assert!(parse(&damaged).all(|sentence| sentence.is_ok()), "{new:?} is no fault at level 1");
    }
}
