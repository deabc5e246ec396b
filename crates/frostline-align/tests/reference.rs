//! Compares with the committed references that `data/make_reference.py` and `data/make_roberta.py` generated
//! with Hugging Face and Python: five BERT settings over a small vocabulary, a byte-level BPE, a Unigram and a
//! word-level tokenizer; and tokenizers like RoBERTa's and XLM-R's. The test needs only the repository.

mod common;

use common::data;
use frostline_align::{AlignOptions, Aligned, Aligner, VocabOptions, lowercase};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct ReferenceCase {
    tokenizer: String,
    config: Option<Value>,
    words: Vec<String>,
    max_length: usize,
    stride: Option<usize>,
    windows: Vec<ReferenceWindow>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct ReferenceWindow {
    ids: Vec<u32>,
    word_ids: Vec<Option<u32>>,
}

impl From<&Aligned> for ReferenceWindow {
    fn from(aligned: &Aligned) -> Self {
        Self { ids: aligned.ids.clone(), word_ids: aligned.word_ids.clone() }
    }
}

fn load_aligner(case: &ReferenceCase) -> Aligner {
    match &case.config {
        Some(config) => {
            let options: VocabOptions = serde_json::from_value(config.clone()).expect("options");
            Aligner::from_vocab(&data("vocab.txt"), &options).expect("vocab.txt loads")
        }
        None => {
            let json = data(&format!("{}.json", case.tokenizer));
            Aligner::from_bytes(json.as_bytes()).expect("the tokenizer loads")
        }
    }
}

#[test]
fn every_case_agrees_with_hugging_face() {
    cases_agree("cases.jsonl");
}

/// RoBERTa's file has no `add_prefix_space`; the reference was made with it set.
#[test]
fn roberta_and_xlm_r_agree_with_hugging_face() {
    cases_agree("roberta-cases.jsonl");
}

fn cases_agree(file: &str) {
    let cases = data(file);
    let mut windows_seen = 0;
    for (index, line) in cases.lines().enumerate() {
        let case: ReferenceCase = serde_json::from_str(line).expect("a case");
        let words: Vec<&str> = case.words.iter().map(String::as_str).collect();
        let options =
            AlignOptions { max_length: case.max_length, stride: case.stride, ..AlignOptions::default() };
        let aligner = load_aligner(&case).with_options(options).expect("the options fit");
        for pass in ["first pass", "from the cache"] {
            let windows = aligner.align_windows(&words).expect("aligns");
            let windows: Vec<ReferenceWindow> = windows.iter().map(ReferenceWindow::from).collect();
            assert_eq!(windows, case.windows, "case {index} ({}), {pass}", case.tokenizer);
        }
        let uncached = aligner.with_cache(false).align_windows(&words).expect("aligns");
        let uncached: Vec<ReferenceWindow> = uncached.iter().map(ReferenceWindow::from).collect();
        assert_eq!(uncached, case.windows, "case {index} ({}), no cache", case.tokenizer);
        windows_seen += case.windows.len();
    }
    assert!(windows_seen > cases.lines().count(), "the reference has overflowing sentences");
}

#[derive(Deserialize)]
struct Lower {
    single: String,
    single_lower: Vec<String>,
    strings: Vec<(String, String)>,
}

#[test]
fn lowercasing_agrees_with_python() {
    let lower: Lower = serde_json::from_str(&data("lower.json")).expect("lower.json");
    assert_eq!(lower.single.chars().count(), lower.single_lower.len());
    for (c, expected) in lower.single.chars().zip(&lower.single_lower) {
        assert_eq!(lowercase(c.encode_utf8(&mut [0; 4])), *expected, "U+{:04X}", c as u32);
    }
    for (form, expected) in &lower.strings {
        assert_eq!(lowercase(form), *expected, "{form:?}");
    }
    // Only letters that Python's tables do not contain yet may differ.
    let unknown: Vec<char> = ('\0'..=char::MAX)
        .filter(|&c| lowercase(c.encode_utf8(&mut [0; 4])) != *c.encode_utf8(&mut [0; 4]))
        .filter(|&c| !lower.single.contains(c))
        .collect();
    assert!(unknown.len() < 80, "{} letters: {unknown:?}", unknown.len());
    assert!(unknown.iter().all(|&c| c as u32 > 0x1C80), "{unknown:?}");
}
