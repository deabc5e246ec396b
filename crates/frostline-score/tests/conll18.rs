//! The CoNLL 2018 metrics against the official scorer.
//!
//! `references/conll18.jsonl` contains generated sentences with random errors and the official counts; the
//! script that made it is next to it. With `FROSTLINE_SHARED` the English treebank is scored too, and with
//! `FROSTLINE_PYTHON` (a Python that has udtools 0.2.9) the script is run live, with new seeds and with random
//! errors in that treebank.

mod common;

use std::process::Command;

use common::sentences;
use frostline_score::ScoreError;
use frostline_score::baseline::MostFrequentTag;
use frostline_score::conll18::{Conll18Scores, MultiwordToken, ScoredSentence, WordRow, align, evaluate};
use frostline_testing::{python, shared};
use serde_json::{Value, json};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/references/conll18.py");

fn count_units(evaluation: &Conll18Scores) -> Value {
    let named = evaluation.named().into_iter();
    named
        .map(|(name, m)| (name.to_owned(), json!([m.correct, m.gold, m.system, m.aligned])))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Compares every case of a reference file, and returns their number.
fn compare_cases(reference: &str) -> usize {
    let mut cases = 0;
    for line in reference.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (gold, system) = (case["gold"].as_str().unwrap(), case["system"].as_str().unwrap());
        let scores = evaluate(&sentences(gold), &sentences(system)).unwrap();
        assert_eq!(count_units(&scores), case["counts"], "case {cases}:\n{gold}\n=====\n{system}");
        cases += 1;
    }
    cases
}

/// Returns the output of the script; `None` after counting the skip.
#[track_caller]
fn run_script(arguments: &[&str]) -> Option<String> {
    let output = Command::new(python()?).arg(SCRIPT).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Returns the English dev set; `None` after the skip is counted.
#[track_caller]
fn english_dev() -> Option<String> {
    let path = shared()?.join("data/ud/UD_English-EWT/en_ewt-ud-dev.conllu");
    Some(path.to_str().expect("a Unicode path").to_owned())
}

#[test]
fn committed_counts_of_the_official_scorer() {
    assert_eq!(compare_cases(include_str!("references/conll18.jsonl")), 173);
}

#[test]
fn live_counts_of_the_official_scorer() {
    let seed = std::env::var("FROSTLINE_SEED").unwrap_or_else(|_| "1".to_owned());
    let cases = std::env::var("FROSTLINE_CASES").unwrap_or_else(|_| "500".to_owned());
    if let Some(reference) = run_script(&["--cases", &cases, "--seed", &seed]) {
        println!("{} drawn cases equal", compare_cases(&reference));
    }
}

#[test]
fn live_counts_on_the_english_treebank() {
    let Some(path) = english_dev() else { return };
    if let Some(reference) = run_script(&["--gold", &path, "--cases", "5"]) {
        println!("{} damaged treebanks equal", compare_cases(&reference));
    }
}

/// A real tagger's output: the most frequent tag of every word in the training set.
#[test]
fn live_counts_on_a_baselines_output() {
    let Some(path) = english_dev() else { return };
    let train = std::fs::read_to_string(path.replace("-dev.", "-train.")).unwrap();
    let train = sentences(&train);
    let pairs = train.iter().flat_map(|s| &s.words).map(|w| (w.form, w.upos));
    let tagger = MostFrequentTag::fit(pairs);
    let retag = |line: &str| {
        let mut columns: Vec<&str> = line.split('\t').collect();
        if columns.len() == 10 && columns[0].bytes().all(|b| b.is_ascii_digit()) {
            columns[3] = tagger.predict(columns[1]).unwrap();
        }
        columns.join("\t") + "\n"
    };
    let gold = std::fs::read_to_string(&path).unwrap();
    let tagged: String = gold.lines().map(retag).collect();
    let folder = tempfile::tempdir().unwrap();
    let system = folder.path().join("system.conllu");
    std::fs::write(&system, &tagged).unwrap();
    let upos = evaluate(&sentences(&gold), &sentences(&tagged)).unwrap().upos;
    println!("baseline on English dev: {} of {} ({:.4})", upos.correct, upos.gold, upos.f1());
    assert!(upos.f1() > 0.8 && upos.f1() < 0.95);
    if let Some(reference) = run_script(&["--gold", &path, "--system", system.to_str().unwrap()]) {
        println!("{} tagged file equal", compare_cases(&reference));
    }
}

#[test]
fn english_dev_against_itself_with_known_damage() {
    let Some(path) = english_dev() else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let gold = sentences(&text);
    let words = gold.iter().map(|s| s.words.len() as u64).sum::<u64>();
    let perfect = evaluate(&gold, &gold).unwrap();
    assert!(perfect.syntax.is_some());
    for (name, metric) in perfect.named() {
        assert_eq!(metric.f1(), 1.0, "{name}");
    }
    let mut system = gold.clone();
    let mut changed = 0;
    for (number, word) in system.iter_mut().flat_map(|s| &mut s.words).enumerate() {
        if number % 7 == 0 {
            word.upos = if word.upos == "NOUN" { "VERB" } else { "NOUN" };
            changed += 1;
        }
    }
    let damaged = evaluate(&gold, &system).unwrap();
    assert_eq!((damaged.upos.gold, damaged.upos.correct), (words, words - changed));
    assert_eq!(damaged.las(), perfect.las());
}

trait Las {
    fn las(&self) -> u64;
}

impl Las for Conll18Scores {
    fn las(&self) -> u64 {
        self.syntax.map_or(0, |syntax| syntax.las.correct)
    }
}

fn word_row(form: &str) -> WordRow<'_> {
    WordRow { form, ..WordRow::default() }
}

fn plain_sentence<'a>(forms: &[&'a str]) -> ScoredSentence<'a> {
    ScoredSentence { words: forms.iter().map(|form| word_row(form)).collect(), ranges: Vec::new() }
}

#[test]
fn different_texts_are_an_error_with_the_place() {
    let gold = [plain_sentence(&["a", "b"]), plain_sentence(&["ç", "d"])];
    let system = [plain_sentence(&["ab"]), plain_sentence(&["ç"]), plain_sentence(&["D"])];
    let error = evaluate(&gold, &system).unwrap_err();
    insta::assert_snapshot!(error, @r#"gold and system have different texts: after 3 equal characters, gold continues with "d" (sentence 2) and system with "D" (sentence 3); only the segmentation may differ, so score the same text on both sides"#);
    let shorter = align(&gold, &system[..2]).unwrap_err();
    insta::assert_snapshot!(shorter, @r#"gold and system have different texts: after 3 equal characters, gold continues with "d" (sentence 2) and system with "" (sentence 2); only the segmentation may differ, so score the same text on both sides"#);
}

#[test]
fn unusable_sentences_are_errors_with_the_place() {
    let good = [plain_sentence(&["ab"])];
    let message = |system: ScoredSentence| match evaluate(&good, &[system]) {
        Err(error @ ScoreError::Sentence { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let range = |first, last| MultiwordToken { first, last, form: "ab" };
    let mut far = plain_sentence(&["a", "b"]);
    far.words[1].head = Some(3);
    let with = |ranges| ScoredSentence { ranges, ..plain_sentence(&["a", "b"]) };
    let messages = [
        message(plain_sentence(&[])),
        message(plain_sentence(&["ab", "\u{a0}"])),
        message(far),
        message(with(vec![range(1, 3)])),
        message(with(vec![range(2, 1)])),
        message(with(vec![range(1, 2), range(2, 2)])),
        message(with(vec![range(0, 1)])),
    ];
    insta::assert_snapshot!(messages.join("\n"), @r"
    system sentence 1: it has no words; remove the sentence from both sides
    system sentence 1: word 2 has an empty form, expected text; correct the form
    system sentence 1: word 2 has head 3, but the sentence has 2 words; use 0 for the root
    system sentence 1: multiword token 1-3 is out of place; ranges must ascend without overlap within 1-2
    system sentence 1: multiword token 2-1 is out of place; ranges must ascend without overlap within 1-2
    system sentence 1: multiword token 2-2 is out of place; ranges must ascend without overlap within 1-2
    system sentence 1: multiword token 0-1 is out of place; ranges must ascend without overlap within 1-2
    ");
}

#[test]
fn empty_files_score_0() {
    let scores = evaluate(&[], &[]).unwrap();
    assert!(scores.named().iter().all(|(_, m)| m.f1() == 0.0));
}
