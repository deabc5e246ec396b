//! The scanner accepts the rows of the grammar, with the same columns, and no others.

use frostline_conllu::{Checks, Id, grammar, read_lenient};
use proptest::prelude::*;

/// Returns the ID and columns of a line as read by the scanner, if it finds only faults of the order of rows.
fn scan_row(line: &str) -> Option<(Id, Vec<String>)> {
    let text = format!("{line}\n\n");
    let sentences: Vec<_> = read_lenient(text.as_bytes(), Checks::default()).collect();
    let [sentence] = &sentences[..] else { return None };
    let [row] = sentence.rows().as_slice() else { return None };
    let clean =
        sentence.comments.is_empty() && sentence.faults().iter().all(|fault| fault.kind.is_about_order());
    clean.then(|| (row.key().expect("an ID"), row.columns().map(String::from).to_vec()))
}

fn assert_agreement(line: &str) {
    let by_grammar = grammar::row(line).map(|(id, columns)| (id, columns.map(String::from).to_vec()));
    assert_eq!(scan_row(line), by_grammar, "{line:?}");
}

/// Draws a column: mostly as in a treebank, sometimes any text.
fn any_column() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-zA-Z_|=:.é日-]{1,5}",
        2 => "[a-zé]{1,3}[ \u{a0}\u{3000}\u{b}][a-z]{1,3}",
        1 => "[a \u{1c}\u{1f}\u{85}\u{feff}\u{fffd}\r#_]{0,3}",
        1 => "[^\n]{0,4}",
    ]
}

fn any_id() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[1-9][0-9]{0,9}", 2 => "[0-9]{1,3}[.-][0-9]{1,3}", 1 => "[0-9.# \u{feff}-]{0,5}", 1 => any_column()]
}

fn any_line() -> impl Strategy<Value = String> {
    let columns = prop_oneof![8 => Just(9_usize), 1 => 0..12_usize];
    let rest = columns.prop_flat_map(|count| proptest::collection::vec(any_column(), count));
    (any_id(), rest).prop_map(|(id, rest)| std::iter::once(id).chain(rest).collect::<Vec<_>>().join("\t"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn the_scanner_agrees_with_the_grammar(line in any_line()) {
        assert_agreement(&line);
    }

    #[test]
    fn they_agree_on_any_line(line in "[^\n]{0,40}") {
        assert_agreement(&line);
    }

    #[test]
    fn ids_are_read_as_the_grammar_reads_them(id in any_id()) {
        let line = format!("{id}\ta\ta\tX\t_\t_\t_\t_\t_\t_");
        let by_grammar = grammar::row(&line).map(|(id, _)| id);
        prop_assert_eq!(Id::parse(&id).filter(|_| !id.contains('\t')), by_grammar);
    }
}

#[test]
fn they_agree_at_every_place_of_a_block() {
    // The scanner looks at 64 bytes at a time: each fault is moved over that boundary.
    let row = "1\tf\tl\tX\tx\t_\t0\troot\t_\tm";
    for padding in 0..130 {
        let long = row.replace("\tm", &format!("\t{}", "m".repeat(padding + 1)));
        assert_agreement(&long);
        for piece in ["\t", " ", "  ", "\r", "\u{a0}", "\u{1c}", "é", "\u{fffd}", "\u{85}"] {
            assert_agreement(&format!("{long}{piece}"));
            assert_agreement(&format!("{long}{piece}m"));
            assert_agreement(&long.replace("\tl\t", &format!("\t{}{piece}\t", "l".repeat(padding))));
        }
    }
}

#[test]
fn they_agree_on_real_rows() {
    let Some(shared) = frostline_testing::shared() else { return };
    let mut lines = 0;
    for bank in ["UD_English-EWT", "UD_Naija-NSC", "UD_Tamil-TTB"] {
        let files = std::fs::read_dir(shared.join("data/ud").join(bank)).expect("the treebank").flatten();
        for file in files.filter(|file| file.path().extension().is_some_and(|end| end == "conllu")) {
            let text = std::fs::read_to_string(file.path()).expect("the file");
            for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
                assert_agreement(line);
                lines += 1;
            }
        }
    }
    assert!(lines > 100_000, "{lines}");
}
