//! The report on a tagged file, as text and as data, and the comparison of two files.
//!
//! The snapshots use generated sentences from `references/conll18.jsonl`.

mod common;

use common::sentences;
use frostline_score::{Comparison, Lexicon, Resampling, TaggingReport};
use serde_json::Value;

/// Gold and system of one of the 60 generated reference cases, which come last.
fn reference_case(number: usize) -> (String, String) {
    let line = include_str!("references/conll18.jsonl").lines().rev().nth(59 - number).unwrap();
    let case: Value = serde_json::from_str(line).unwrap();
    let text = |side: &str| case[side].as_str().unwrap().to_owned();
    (text("gold"), text("system"))
}

fn few_resamples() -> Resampling {
    Resampling { resamples: 500, ..Resampling::default() }
}

#[test]
fn a_report_reads_well() {
    let (gold, system) = reference_case(2);
    let (gold, system) = (sentences(&gold), sentences(&system));
    let train = Lexicon::new([
        ("Frost", "NOUN"),
        ("the", "DET"),
        ("a", "DET"),
        ("a", "X"),
        ("b", "X"),
        (".", "PUNCT"),
    ]);
    let report = TaggingReport::new(&gold, &system, Some(&train), &few_resamples()).unwrap();
    insta::assert_snapshot!(report);
}

/// Underscores that are equal on both sides are no merit of the system.
#[test]
fn metrics_of_empty_columns_are_left_out() {
    let rows = |tags: [&str; 2], more: &str| {
        let [first, second] = tags;
        format!(
            "1\tFrost\t{more}\t{first}\t_\t_\t0\troot\t_\t_\n2\tmelts\t{more}\t{second}\t_\t_\t1\tdep\t_\t_\n\n"
        )
    };
    let report = |lemma: &str| {
        let (gold, system) = (rows(["NOUN", "VERB"], lemma), rows(["NOUN", "NOUN"], lemma));
        let (gold, system) = (sentences(&gold), sentences(&system));
        TaggingReport::new(&gold, &system, None, &few_resamples()).unwrap()
    };
    let names = |report: &TaggingReport| {
        let text = report.to_string();
        let table = text.split("\n\n").nth(1).unwrap().lines().skip(2).map(String::from).collect::<Vec<_>>();
        let names =
            table.iter().filter_map(|line| line.split_once('|')).map(|(name, _)| name.trim().to_string());
        (names.collect::<Vec<_>>().join(" "), table.last().unwrap().clone())
    };
    let (shown, note) = names(&report("_"));
    assert_eq!(shown, "Tokens Sentences Words UPOS UAS LAS CLAS MLAS");
    assert_eq!(
        note,
        "Not shown, since gold has nothing in their columns: XPOS, UFeats, AllTags, Lemmas, BLEX"
    );
    let with_lemmas = report("x");
    assert_eq!(with_lemmas.empty, ["XPOS", "UFeats", "AllTags"]);
    assert!(names(&with_lemmas).0.ends_with("UPOS Lemmas UAS LAS CLAS MLAS BLEX"));
}

#[test]
fn a_report_survives_json() {
    let (gold, system) = reference_case(3);
    let (gold, system) = (sentences(&gold), sentences(&system));
    let report = TaggingReport::new(&gold, &system, None, &few_resamples()).unwrap();
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<TaggingReport>(&json).unwrap(), report);
    let value: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["conll18"]["UPOS"]["f1"].as_f64().unwrap(), report.conll18.upos.f1());
    let mut names: Vec<&String> = value["conll18"].as_object().unwrap().keys().collect();
    names.sort();
    insta::assert_snapshot!(names.into_iter().map(String::as_str).collect::<Vec<_>>().join(" "));
}

#[test]
fn parts_of_a_report_agree_on_every_case() {
    for number in 0..60 {
        let (gold, system) = reference_case(number);
        let (gold, system) = (sentences(&gold), sentences(&system));
        let train = Lexicon::new([("a", "X"), ("b", "X"), ("b", "ADJ")]);
        let report = TaggingReport::new(&gold, &system, Some(&train), &few_resamples()).unwrap();
        let (upos, words) = (report.conll18.upos, report.conll18.words);
        // F1 over words is the micro average over tags, including the effect of segmentation.
        assert_eq!(report.averages.micro.f1, upos.f1());
        assert_eq!(report.averages.micro.precision, upos.precision());
        assert_eq!(report.averages.micro.recall, upos.recall());
        assert_eq!(report.accuracy.bootstrap.value, upos.recall());
        assert_eq!(report.accuracy.wilson.value, upos.recall());
        assert_eq!(report.accuracy.unaligned, words.gold - words.correct);
        let by_length: u64 = report.by_length.buckets.iter().map(|b| b.tally.correct).sum();
        assert_eq!(by_length, upos.correct);
        let kinds = report.by_familiarity.unwrap();
        assert_eq!(kinds.known.correct + kinds.unknown.correct, upos.correct);
        assert_eq!(kinds.known.words, kinds.ambiguous.words + kinds.unambiguous.words);
    }
}

#[test]
fn two_systems_are_compared_on_gold_words() {
    let (gold, system) = reference_case(3);
    let (gold, system) = (sentences(&gold), sentences(&system));
    let comparison = Comparison::new(&gold, &gold, &system, &few_resamples()).unwrap();
    let report = TaggingReport::new(&gold, &system, None, &few_resamples()).unwrap();
    let wrong = report.accuracy.words - report.accuracy.correct;
    assert_eq!((comparison.mcnemar.only_a, comparison.mcnemar.only_b), (wrong, 0));
    assert_eq!(comparison.bootstrap.a, 1.0);
    assert_eq!(comparison.bootstrap.b, report.conll18.upos.recall());
    insta::assert_snapshot!(comparison);
}
