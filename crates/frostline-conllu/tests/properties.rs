//! Text that is generated well-formed is read strictly, with typed checks, and gives the intended values.

use frostline_conllu::{
    Checks, Column, FaultKind, Id, Reader, Sentence, Stats, TokenRow, Upos, Writer, parse_iob2,
    parse_labelled, read_lenient, read_strict, with_annotation, with_feature,
};
use proptest::{collection::vec, prelude::*};

/// The content of a generated sentence.
#[derive(Debug, Clone)]
struct SentencePlan {
    comments: Vec<String>,
    words: Vec<WordPlan>,
    /// Empty nodes before the first word.
    leading: usize,
}

#[derive(Debug, Clone)]
struct WordPlan {
    form: String,
    upos: Upos,
    feats: Vec<(String, Vec<String>)>,
    /// Chooses the head among the words before it; the first word is the root.
    head: prop::sample::Index,
    misc: Vec<(String, Option<String>)>,
    empties: usize,
    /// Whether a range starts here, and how many more words it covers.
    range: Option<usize>,
}

fn any_form() -> impl Strategy<Value = String> {
    // Letters of several scripts, with single inner spaces at most.
    "[a-zA-Zéß日本א😀._|=:#'-]{1,6}( [a-zéß日]{1,4})?"
}

fn any_feats() -> impl Strategy<Value = Vec<(String, Vec<String>)>> {
    vec(("[A-Z][a-z]{1,4}(\\[[a-z]{1,4}\\])?", vec("[A-Z0-9][a-z0-9]{0,3}", 1..3)), 0..4).prop_map(|feats| {
        let mut feats: Vec<_> = feats.into_iter().map(|(name, values)| (name, sort_values(values))).collect();
        feats.sort_by_key(|(name, values)| format!("{name}={}", values.join(",")).to_lowercase());
        feats.dedup_by(|a, b| a.0.eq_ignore_ascii_case(&b.0));
        feats
    })
}

fn sort_values(mut values: Vec<String>) -> Vec<String> {
    values.sort_by_key(|value| value.to_lowercase());
    values.dedup_by(|a, b| a.eq_ignore_ascii_case(b));
    values
}

fn any_word() -> impl Strategy<Value = WordPlan> {
    let misc = vec(("[A-Z][a-z]{1,5}", proptest::option::of("[a-zé]{1,4}( [a-z]{1,3})?")), 0..3);
    let extras = (0..3_usize, proptest::option::weighted(0.2, 0..3_usize));
    (
        any_form(),
        prop::sample::select(&Upos::ALL[..]),
        any_feats(),
        any::<prop::sample::Index>(),
        misc,
        extras,
    )
        .prop_map(|(form, upos, feats, head, misc, (empties, range))| WordPlan {
            form,
            upos,
            feats,
            head,
            misc,
            empties,
            range,
        })
        .prop_filter("keys that may occur only once", |word| {
            word.misc.iter().all(|(key, _)| key.len() > 3 && key != "Gloss")
        })
}

fn any_plan() -> impl Strategy<Value = SentencePlan> {
    (vec("#[ -~é]{0,20}", 0..4), vec(any_word(), 1..8), 0..3_usize)
        .prop_map(|(comments, words, leading)| SentencePlan { comments, words, leading })
}

fn write_plans(plans: &[SentencePlan]) -> String {
    let mut writer = Writer::new(Vec::new());
    for plan in plans {
        for comment in &plan.comments {
            writer.comment(comment).expect("one line");
        }
        let mut until = 0;
        let empty = |major: usize, minor: usize| (format!("{major}.{minor}"), "0:root");
        let blank = |id: &str, form: &str, deps: &str| {
            [id, form, "_", "_", "_", "_", "_", "_", deps, "_"].map(str::to_owned)
        };
        let mut row = |columns: [String; 10]| {
            writer.row(&columns.each_ref().map(String::as_str)).expect("no tabs");
        };
        for minor in 1..=plan.leading {
            let (id, deps) = empty(0, minor);
            row(blank(&id, "n", deps));
        }
        for (index, word) in plan.words.iter().enumerate() {
            let number = index + 1;
            if let Some(more) = word.range
                && number > until
            {
                until = (number + more).min(plan.words.len());
                row(blank(&format!("{number}-{until}"), "whole", "_"));
            }
            row(word_columns(word, number));
            for minor in 1..=word.empties {
                let (id, deps) = empty(number, minor);
                row(blank(&id, "n", deps));
            }
        }
        writer.end().expect("memory");
    }
    String::from_utf8(writer.into_inner()).expect("UTF-8")
}

fn head_of_word(word: &WordPlan, number: usize) -> usize {
    if number == 1 { 0 } else { 1 + word.head.index(number - 1) }
}

fn word_columns(word: &WordPlan, number: usize) -> [String; 10] {
    let or_blank = |items: Vec<String>| if items.is_empty() { "_".to_owned() } else { items.join("|") };
    let feats = word.feats.iter().map(|(name, values)| format!("{name}={}", values.join(","))).collect();
    let misc = word.misc.iter().map(|(key, value)| match value {
        Some(value) => format!("{key}={value}"),
        None => key.clone(),
    });
    let head = head_of_word(word, number);
    let deps = format!("{head}:{}", if head == 0 { "root" } else { "dep:é_ß" });
    [
        number.to_string(),
        word.form.clone(),
        "_".into(),
        word.upos.to_string(),
        "_".into(),
        or_blank(feats),
        head.to_string(),
        "dep".into(),
        deps,
        or_blank(misc.collect()),
    ]
}

fn assert_row(row: &TokenRow<'_>, word: &WordPlan, number: usize) {
    assert_eq!(row.key(), Some(Id::Word(number as u32)));
    assert_eq!(row.form(), word.form);
    assert_eq!(row.upos_tag(), Ok(Some(word.upos)));
    assert_eq!(row.governor(), Ok(Some(head_of_word(word, number) as u32)));
    let feats: Vec<_> = row.features().map(|feature| feature.expect("well formed")).collect();
    assert_eq!(feats.len(), word.feats.len());
    for (found, (name, values)) in feats.iter().zip(&word.feats) {
        assert_eq!(found.name, name);
        assert!(found.values().eq(values.iter().map(String::as_str)));
        assert_eq!(row.feature(name), Some(found.value));
        assert_eq!(found.layer().is_some(), name.contains('['));
    }
    let deps: Vec<_> = row.dependencies().map(|dependency| dependency.expect("well formed")).collect();
    assert_eq!((deps.len(), deps[0].head), (1, Id::Word(head_of_word(word, number) as u32)));
    let misc: Vec<_> = row.annotations().map(|it| (it.key.to_owned(), it.value.map(str::to_owned))).collect();
    assert_eq!(misc, word.misc);
}

#[test]
fn a_column_takes_one_value_per_word() {
    let text = "1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_\n1\tDo\t_\t_\t_\t_\t_\t_\t_\t_\n\n";
    let text = text.replace("1-2", "1-1");
    let sentence = read_strict(text.as_bytes(), Checks::default()).next().unwrap();
    let error = Writer::new(Vec::new()).replaced(&sentence.unwrap(), &[(Column::Upos, &["AUX", "PART"])]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "2 values for UPOS of a sentence with 1 words; give one per word"
    );
}

proptest! {
    #[test]
    fn generated_sentences_are_read(plans in vec(any_plan(), 0..4)) {
        let text = write_plans(&plans);
        let checks = Checks { typed: true, ..Checks::default() };
        let read: Result<Vec<Sentence<'_>>, _> = read_strict(text.as_bytes(), checks).collect();
        let read = read.unwrap_or_else(|fault| panic!("{}\n{text}", fault.at("built")));
        prop_assert_eq!(read.len(), plans.len());
        for (sentence, plan) in read.iter().zip(&plans) {
            prop_assert_eq!(&sentence.comments, &plan.comments);
            prop_assert_eq!(sentence.words().count(), plan.words.len());
            for (index, (row, word)) in sentence.words().zip(&plan.words).enumerate() {
                assert_row(row, word, index + 1);
            }
        }
        let stats: Stats = read.iter().collect();
        prop_assert_eq!(stats.words as usize, plans.iter().map(|plan| plan.words.len()).sum::<usize>());
        let empties = |plan: &SentencePlan| plan.leading + plan.words.iter().map(|word| word.empties).sum::<usize>();
        prop_assert_eq!(stats.empty_nodes as usize, plans.iter().map(empties).sum::<usize>());
    }

    #[test]
    fn one_changed_column_changes_nothing_else(plans in vec(any_plan(), 1..3), tag in "[A-Z]{0,9}", at in 1..10_usize) {
        let text = write_plans(&plans);
        let column = Column::ALL[at];
        let mut writer = Writer::new(Vec::new());
        for sentence in read_lenient(text.as_bytes(), Checks::default()) {
            writer.edited(&sentence, |row, it| (it == column && row.is_word()).then_some(&tag)).unwrap();
        }
        let changed = String::from_utf8(writer.into_inner()).unwrap();
        let is_word = |fields: &[&str]| fields.len() == 10 && fields[0].parse::<u32>().is_ok();
        let expected: Vec<String> = text.split('\n').map(|line| {
            let mut fields: Vec<&str> = line.split('\t').collect();
            if is_word(&fields) && !line.starts_with('#') {
                fields[at] = &tag;
            }
            fields.join("\t")
        }).collect();
        prop_assert_eq!(changed, expected.join("\n"));
    }

    #[test]
    fn a_column_replaced_by_its_own_values_is_the_same_text(
        text in "((#[ -~]{0,9}|([1-4]|1-2|1\\.1|x)(\t[a-zé]{0,3}){0,11})?\r?\n){0,12}[1-9a\t]{0,9}",
        at in 0..10_usize,
    ) {
        let column = Column::ALL[at];
        let mut writer = Writer::new(Vec::new());
        for sentence in read_lenient(text.as_bytes(), Checks::default()) {
            let detached = sentence.detach();
            let sentence = detached.view();
            let values: Vec<&str> = sentence.words().map(|row| row.get(column).unwrap_or("_")).collect();
            writer.replaced(&sentence, &[(column, &values)]).unwrap();
        }
        prop_assert_eq!(String::from_utf8(writer.into_inner()).unwrap(), text);
    }

    #[test]
    fn replacing_columns_changes_no_other(
        plans in vec(any_plan(), 1..3), seed in "[A-Z]{1,5}", first in 1..9_usize, returns in any::<bool>(),
    ) {
        let text = write_plans(&plans);
        let text = if returns { text.replace('\n', "\r\n") } else { text };
        let (one, other) = (Column::ALL[first], Column::ALL[first + 1]);
        let mut writer = Writer::new(Vec::new());
        for sentence in read_lenient(text.as_bytes(), Checks::default()) {
            let value = |row: &TokenRow<'_>| format!("{seed}{}", row.id());
            let values: Vec<String> = sentence.words().map(value).collect();
            writer.replaced(&sentence, &[(other, &values), (one, &values)]).unwrap();
        }
        let changed = writer.into_inner();
        prop_assert_eq!(changed.iter().filter(|byte| **byte == b'\r').count(), text.matches('\r').count());
        let before = read_lenient(text.as_bytes(), Checks::default());
        for (before, after) in before.zip(read_lenient(&changed, Checks::default())) {
            prop_assert_eq!(&before.comments, &after.comments);
            for (before, after) in before.rows().zip(after.rows()) {
                for column in Column::ALL {
                    let new = format!("{seed}{}", before.id());
                    let replaced = before.is_word() && (column == one || column == other);
                    let expected = if replaced { Some(new.as_str()) } else { before.get(column) };
                    prop_assert_eq!(after.get(column), expected);
                }
            }
        }
    }

    #[test]
    fn detached_sentences_equal_the_original(bytes in vec(prop_oneof![Just(b'\t'), Just(b'\n'), Just(b'#'), b'0'..=b'9', any::<u8>()], 0..400)) {
        for sentence in read_lenient(&bytes, Checks { typed: true, metadata: true, nfc: true }) {
            prop_assert_eq!(format!("{:?}", sentence.detach().view()), format!("{sentence:?}"));
        }
    }

    #[test]
    fn setting_an_item_changes_no_other(
        items in vec("[A-Z][a-z]{1,3}", 0..5), key in "[A-Z][a-z]{1,3}", value in "[A-Z0-9][a-z0-9]{0,3}",
    ) {
        let mut items: Vec<String> = items.into_iter().filter(|item| *item != key).collect();
        items.sort_by_key(|item| item.to_lowercase());
        items.dedup();
        let old = items.iter().map(|item| format!("{item}=X")).collect::<Vec<_>>().join("|");
        let old = if old.is_empty() { "_" } else { &old };
        let set = with_annotation(old, &key, &value);
        let added = format!("{key}={value}");
        prop_assert_eq!(&set, &if old == "_" { added.clone() } else { format!("{old}|{added}") });
        prop_assert_eq!(with_annotation(&set, &key, &value), set);

        let set = with_feature(old, &key, Some(&value));
        let mut names: Vec<&str> = set.split('|').map(|item| item.split_once('=').unwrap().0).collect();
        prop_assert!(set.split('|').any(|item| item == added) && names.is_sorted_by_key(|it| it.to_lowercase()));
        names.retain(|name| *name != key);
        prop_assert_eq!(names, items.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(with_feature(&set, &key, Some(&value)), set.clone());
        prop_assert_eq!(with_feature(&set, &key, None), old);
    }

    #[test]
    fn any_bytes_round_trip(bytes in vec(prop_oneof![Just(b'\t'), Just(b'\n'), Just(b'#'), b'0'..=b'9', any::<u8>()], 0..400)) {
        let mut back = Vec::new();
        let mut reader = Reader::new(&bytes[..], Checks { typed: true, metadata: true, nfc: true });
        while let Some(sentence) = reader.next_sentence().unwrap() {
            back.extend_from_slice(sentence.raw());
        }
        prop_assert_eq!(back, bytes);
    }

    #[test]
    fn any_layer_is_read_or_has_a_fault(text in "([0-9]{1,2}\t[a-z]{0,2}\t(O|B-|I-)[A-Z]{0,2}(\t-)?\n|\n|# [a-z]{0,3}\n|[\t\ra-zé]{0,9}\n?){0,8}") {
        let (mut bytes, mut whole) = (0, true);
        for read in parse_iob2(&text) {
            match read {
                Ok(sentence) => {
                    bytes += sentence.raw.len();
                    prop_assert!(!sentence.rows.is_empty());
                    for entity in sentence.entities() {
                        prop_assert!(entity.start < entity.end && entity.end <= sentence.rows.len());
                    }
                }
                Err(_) => whole = false,
            }
        }
        prop_assert!(!whole || bytes == text.len());
    }

    #[test]
    fn any_labelled_text_is_read_or_has_a_fault(
        header in proptest::bool::ANY,
        text in "([ a-zé]{0,4}\t[ a-zé]{0,2}\n|sentence\tlabel\n|\n|[\t\r aé]{0,5}\n?){0,8}",
    ) {
        let text = if header { format!("sentence\tlabel\n{text}") } else { text };
        let mut back = parse_labelled(&text).header().to_owned();
        prop_assert_eq!(!back.is_empty(), text.starts_with("sentence\tlabel\n"));
        let first = 1 + usize::from(!back.is_empty());
        for (line, read) in (first..).zip(parse_labelled(&text)) {
            match read {
                Ok(sentence) => {
                    prop_assert_eq!(sentence.line, line);
                    prop_assert!(!sentence.text.trim().is_empty() && !sentence.label.is_empty());
                    prop_assert_eq!(
                        sentence.raw.trim_end_matches('\n'),
                        format!("{}\t{}", sentence.text, sentence.label)
                    );
                    back.push_str(sentence.raw);
                }
                Err(fault) => {
                    prop_assert_eq!(fault.line, line);
                    let bad = text[back.len()..].split_inclusive('\n').next().unwrap_or_default();
                    prop_assert!((back.len()..=back.len() + bad.len()).contains(&fault.byte));
                    back.push_str(bad);
                }
            }
        }
        prop_assert_eq!(back, text);
    }

    #[test]
    fn a_replacement_character_anywhere_is_a_warning(plans in vec(any_plan(), 1..3), at in any::<prop::sample::Index>()) {
        let text = write_plans(&plans);
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = places[at.index(places.len())];
        let damaged = format!("{}\u{fffd}{}", &text[..at], &text[at..]);
        let warnings: Vec<_> = read_lenient(damaged.as_bytes(), Checks::default())
            .flat_map(|sentence| sentence.warnings().to_vec())
            .map(|warning| (warning.byte, warning.kind))
            .collect();
        prop_assert_eq!(warnings, [(at, FaultKind::ReplacementCharacter)]);
    }

    #[test]
    fn messages_show_nothing_that_cannot_be_seen(form in "\\PC{0,3}[\u{0}-\u{8}\u{b}-\u{1f}\u{7f}-\u{a0}\u{300}-\u{36f}\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{2069}\u{feff}\u{fffd}]{1,4}\\PC{0,3}") {
        let text = format!("# sent_id = {form}x\n{form}\t{form}\tl\t{form}\tx\t_\t{form}\troot\t{form}\t{form}=\u{3000}\n\n");
        for sentence in read_lenient(text.as_bytes(), Checks { typed: true, metadata: true, nfc: true }) {
            for fault in sentence.faults() {
                let message = fault.at("file").to_string();
                let hidden = |c: char| c.is_control() || "\u{a0}\u{200b}\u{202e}\u{2028}\u{2067}\u{feff}\u{fffd}\u{301}".contains(c);
                prop_assert!(!message.contains(hidden), "{:?}", message);
            }
        }
    }

    #[test]
    fn ids_beyond_32_bits_are_one_clear_fault(id in "[1-9][0-9]{10,40}|[1-9]-[1-9][0-9]{10,40}|[0-9]\\.[1-9][0-9]{10,40}") {
        let text = format!("1\tf\tl\tX\tx\t_\t0\troot\t_\t_\n{id}\tf\tl\tX\tx\t_\t1\tdep\t_\t_\n\n");
        let fault = read_strict(text.as_bytes(), Checks::default()).next().unwrap().unwrap_err();
        prop_assert_eq!(fault.line, 2);
        let too_large = matches!(fault.kind, FaultKind::NumberTooLarge { column: Column::Id, .. });
        prop_assert!(too_large, "{}", fault);
    }

    #[test]
    fn following_the_advice_at_the_end_mends_the_text(plans in vec(any_plan(), 1..3), cut in 1..=2_usize) {
        let text = write_plans(&plans);
        let cut = text[..text.len() - cut].to_owned();
        let fault = read_strict(cut.as_bytes(), Checks::default()).find_map(Result::err).unwrap();
        let FaultKind::NoFinalBlankLine { missing } = fault.kind else { panic!("{fault}") };
        prop_assert_eq!(cut + &"\n".repeat(missing.into()), text);
    }
}
