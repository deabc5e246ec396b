//! Comparison with Hugging Face on reference data: SHA-256 of all canonical lines, synthetic cases and
//! overflow windows. Needs FROSTLINE_SHARED.

mod common;

use std::fs;

use common::{TaggedSentence, multilingual, read_conllu, splits};
use frostline_align::{AlignOptions, Aligned, Aligner, CanonicalLine, label_indices};
use frostline_testing::shared;
use serde_json::Value;
use sha2::{Digest, Sha256};

fn study_aligner(shared: &std::path::Path, options: AlignOptions) -> Aligner {
    let aligner = Aligner::from_folder(multilingual(shared)).expect("the study's tokenizer loads");
    aligner.with_options(options).expect("the options fit")
}

fn json_lines(path: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

fn json_strings(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|v| v.as_str().expect("a string")).collect()
}

fn json_ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).expect("ids")
}

fn word_ids(value: &Value) -> Vec<Option<u32>> {
    serde_json::from_value(value.clone()).expect("word ids")
}

fn expected_labels(sentence: &TaggedSentence, list: &[&str]) -> Vec<i64> {
    let tags: Vec<&str> = sentence.upos.iter().map(String::as_str).collect();
    label_indices(&tags, list).expect("tags of the list")
}

#[test]
fn all_six_splits_have_the_digests_of_hugging_face() {
    let Some(shared) = shared() else { return };
    let oracle = fs::read(shared.join("reference/align/oracle.json")).expect("oracle.json");
    let oracle: Value = serde_json::from_slice(&oracle).expect("JSON");
    let list = json_strings(&oracle["label_list"]);
    let options = AlignOptions { lowercase: true, ..AlignOptions::default() };
    let cached = study_aligner(&shared, options);
    let plain = study_aligner(&shared, options).with_cache(false);
    for (name, path) in splits(&shared) {
        let (mut digest, mut plain_digest) = (Sha256::new(), Sha256::new());
        let (mut tokens, mut labelled, mut truncated, mut vanished, mut words) = (0, 0, 0, 0, 0);
        let expected = &oracle["splits"][&name];
        for (index, sentence) in read_conllu(&path).iter().enumerate() {
            let labels = expected_labels(sentence, &list);
            let line = |aligned: &Aligned| {
                let sent_id = sentence.sent_id.as_deref();
                let line = CanonicalLine { index, sent_id, aligned, labels: &labels };
                line.render().expect("labels for all words") + "\n"
            };
            let aligned = cached.align(&sentence.words()).expect("aligns");
            digest.update(line(&aligned));
            plain_digest.update(line(&plain.align(&sentence.words()).expect("aligns")));
            words += sentence.forms.len();
            tokens += aligned.ids.len();
            labelled += aligned.labelled();
            truncated += aligned.truncated.len();
            vanished += aligned.vanished.len();
        }
        let hex = |digest: Sha256| -> String {
            digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
        };
        assert_eq!(hex(digest), expected["sha256"].as_str().unwrap(), "{name}");
        assert_eq!(hex(plain_digest), expected["sha256"].as_str().unwrap(), "{name} uncached");
        for (what, count) in [
            ("words", words),
            ("tokens", tokens),
            ("labelled", labelled),
            ("truncated_words", truncated),
            ("zero_subword_words", vanished),
        ] {
            assert_eq!(expected[what], count as u64, "{name} {what}");
        }
    }
}

#[test]
fn the_first_fifty_lines_are_the_same_bytes() {
    let Some(shared) = shared() else { return };
    let list = fs::read(shared.join("reference/align/oracle.json")).expect("oracle.json");
    let oracle: Value = serde_json::from_slice(&list).expect("JSON");
    let list = json_strings(&oracle["label_list"]);
    let aligner = study_aligner(&shared, AlignOptions { lowercase: true, ..AlignOptions::default() });
    for (name, path) in splits(&shared) {
        let reference = shared.join(format!("reference/align/{name}.first50.jsonl"));
        let reference = fs::read_to_string(reference).expect("first50");
        let sentences = read_conllu(&path);
        assert_eq!(reference.lines().count(), 50);
        for ((index, sentence), expected) in sentences.iter().enumerate().zip(reference.lines()) {
            let aligned = aligner.align(&sentence.words()).expect("aligns");
            let labels = expected_labels(sentence, &list);
            let sent_id = sentence.sent_id.as_deref();
            let line = CanonicalLine { index, sent_id, aligned: &aligned, labels: &labels };
            assert_eq!(line.render().expect("labels"), expected, "{name} {index}");
        }
    }
}

#[test]
fn synthetic_cases_agree() {
    let Some(shared) = shared() else { return };
    let aligner = study_aligner(&shared, AlignOptions::default());
    let cases = json_lines(&shared.join("reference/align/synthetic.jsonl"));
    assert_eq!(cases.len(), 45);
    for case in &cases {
        let words = json_strings(&case["words"]);
        let aligned = aligner.align(&words).expect("aligns");
        assert_eq!(aligned.ids, json_ids(&case["ids"]), "{}", case["name"]);
        assert_eq!(aligned.word_ids, word_ids(&case["word_ids"]), "{}", case["name"]);
        assert_eq!(aligner.tokens(&aligned.ids), json_strings(&case["tokens"]), "{}", case["name"]);
        let total = aligned.labelled() + aligned.truncated.len() + aligned.vanished.len();
        assert_eq!(total, words.len(), "{}", case["name"]);
    }
}

#[test]
fn overflow_windows_agree_and_score_every_word_once() {
    let Some(shared) = shared() else { return };
    let cases = json_lines(&shared.join("reference/align/overflow.jsonl"));
    assert!(!cases.is_empty());
    for stride in [0, 32] {
        let options = AlignOptions { stride: Some(stride), ..AlignOptions::default() };
        let aligner = study_aligner(&shared, options);
        for case in cases.iter().filter(|case| case["stride"] == stride as u64) {
            let words = json_strings(&case["words"]);
            let windows = aligner.align_windows(&words).expect("aligns");
            let expected = case["windows"].as_array().expect("windows");
            assert_eq!(windows.len(), expected.len(), "{}", case["sent_id"]);
            let mut scored = vec![0; words.len()];
            for (window, expected) in windows.iter().zip(expected) {
                assert_eq!(window.ids, json_ids(&expected["ids"]), "{}", case["sent_id"]);
                assert_eq!(window.word_ids, word_ids(&expected["word_ids"]), "{}", case["sent_id"]);
                window.label_positions.iter().for_each(|&(_, word)| scored[word as usize] += 1);
            }
            assert!(scored.iter().all(|&times| times == 1), "{}", case["sent_id"]);
        }
    }
}
