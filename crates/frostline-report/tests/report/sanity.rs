//! What is said before any comparison: in `report.md`, `index.html`, `report.json` and on a terminal; and that nothing is
//! recommended where comparisons say nothing.

use std::collections::BTreeMap;

use frostline_record::{EncoderFacts, Record, Sweep};
use frostline_report::Report;
use serde_json::Value;

use crate::common::{Lang, failed, paper, records, sweep};
use crate::grids::with_baselines;
use crate::text;

/// A sweep over the paper's languages with these policies' accuracies, the same in both.
fn langs(reach: &[(&'static str, f64)]) -> Vec<Lang> {
    let mut langs = paper();
    for lang in &mut langs {
        lang.reach = reach.iter().map(|(policy, accuracy)| (*policy, (*accuracy, 100_000, 60.0))).collect();
    }
    langs
}

/// The findings of `report.json`.
fn findings(sweep: &Sweep, records: &[Record]) -> Vec<Value> {
    let files = Report::new(sweep, records, &[], None).files().expect("a report");
    let json: Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    json["sanity"].as_array().expect("findings").clone()
}

/// The findings of a kind, as severity, first language and command.
fn of_kind(all: &[Value], kind: &str) -> Vec<[String; 3]> {
    let text = |value: &Value| value.as_str().unwrap_or("").to_string();
    let of_kind = all.iter().filter(|one| one["kind"] == kind);
    let mut found: Vec<[String; 3]> =
        of_kind.map(|one| [text(&one["severity"]), text(&one["langs"][0]), text(&one["command"])]).collect();
    // Within a kind they are listed by how bad they are.
    found.sort_by(|a, b| a[1].cmp(&b[1]));
    found
}

fn sentence(all: &[Value], kind: &str) -> String {
    let one = all.iter().find(|one| one["kind"] == kind).unwrap_or_else(|| panic!("no {kind}: {all:?}"));
    one["sentence"].as_str().expect("a sentence").into()
}

fn policies() -> Vec<Lang> {
    langs(&[("none", 0.66), ("all", 0.641), ("first-2", 0.653)])
}

/// Every policy is below the most frequent tag in English, and `all` alone in Pidgin.
fn below() -> (Sweep, Vec<Record>) {
    let sweep = sweep("below", &policies(), 5, false, "");
    let mut records = records(&sweep, &policies());
    with_baselines(&mut records, |record| {
        let words = record.result.as_ref().expect("a result").scores()["dev"].words;
        let share = if record.cell.settings.lang == "en" { 812 } else { 645 };
        [words * share / 1000, words * 3 / 10]
    });
    (sweep, records)
}

#[test]
fn policies_below_the_most_frequent_tag_come_first() {
    let (sweep, records) = below();
    let report = Report::new(&sweep, &records, &[], None);
    let files = report.files().expect("a report");
    let page = text(&files, "report.md");
    let (opening, _) = page.split_once("## Result").expect("the result");
    insta::assert_snapshot!("below_opening", opening);
    let terminal = report.terminal_table(100);
    let (first, tables) = terminal.split_once("frozen").expect("a table");
    insta::assert_snapshot!("below_terminal", first);
    assert!(!tables.contains("Check first"), "{tables}");
    let html = text(&files, "index.html");
    let first = html.find("<section class=\"first notice\"").expect("what is said first");
    assert!(first < html.find("id=\"findings\"").expect("what came out"), "before what came out");
    assert!(
        html.contains("every policy, <code>none</code> included, is below") || html.contains("are below"),
        "{}",
        &html[first..first + 900]
    );
    let all = findings(&sweep, &records);
    let rates = "--find-lr";
    assert_eq!(of_kind(&all, "all-below-baseline"), [["forbids-recommendation", "en", rates]]);
    assert_eq!(of_kind(&all, "below-baseline").len(), 1, "{all:?}");
    assert_eq!(of_kind(&all, "below-baseline")[0][1..], ["pcm", rates].map(String::from));
    // A policy whose rate is already high needs more steps instead.
    let mut fast = records.clone();
    for record in &mut fast {
        record.cell.settings.optimizer.lr = 1e-2;
    }
    let mut of_fast = sweep.clone();
    for cell in &mut of_fast.cells {
        cell.settings.optimizer.lr = 1e-2;
    }
    let all = findings(&of_fast, &fast);
    assert_eq!(of_kind(&all, "below-baseline")[0][2], "--set policies.all.train.epochs=10");
}

#[test]
fn a_sound_study_has_nothing_to_check() {
    let sweep = sweep("sound", &paper(), 5, false, "");
    let records = records(&sweep, &paper());
    assert_eq!(findings(&sweep, &records), Vec::<Value>::new());
    let report = Report::new(&sweep, &records, &[], None);
    let files = report.files().expect("a report");
    assert!(!text(&files, "report.md").contains("Check first"));
    assert!(!text(&files, "index.html").contains("<section class=\"first"));
    assert!(!report.terminal_table(100).contains("Check first"));
}

#[test]
fn the_probe_counts_as_much_as_the_most_frequent_tag() {
    let sweep = sweep("probe", &policies(), 5, false, "");
    let mut records = records(&sweep, &policies());
    with_baselines(&mut records, |record| {
        let words = record.result.as_ref().expect("a result").scores()["dev"].words;
        [words / 10, words * 9 / 10]
    });
    let all = findings(&sweep, &records);
    assert_eq!(of_kind(&all, "all-below-baseline").len(), 2, "{all:?}");
    assert!(sentence(&all, "all-below-baseline").contains("below the logistic probe (90.0"), "{all:?}");
    assert_eq!(of_kind(&all, "below-baseline"), Vec::<[String; 3]>::new(), "no policy is below the tag");
}

#[test]
fn few_seeds_are_said_with_what_adds_more() {
    let found = |seeds: u64| {
        let sweep = sweep("seeds", &paper(), seeds, false, "");
        findings(&sweep, &records(&sweep, &paper()))
    };
    let one = found(1);
    assert_eq!(of_kind(&one, "few-seeds"), [["forbids-recommendation", "en", "--seeds 42-46"]]);
    assert_eq!(one[0]["langs"], serde_json::json!(["en", "pcm"]), "said once for both");
    let two = found(2);
    assert_eq!(of_kind(&two, "few-seeds"), [["caution", "en", "--seeds 42-46"]]);
    insta::assert_snapshot!(sentence(&two, "few-seeds"), @"the answer rests on two seeds (42 and 43): only differences well above the spread between seeds can be decided.");
    assert_eq!(of_kind(&found(4), "few-seeds"), Vec::<[String; 3]>::new());
}

#[test]
fn the_best_rate_at_an_edge_is_said_with_rates_beyond_it() {
    let found = |rates: &str| {
        let sweep = sweep("rates", &paper(), 4, false, &format!("\"optimizer.lr\" = {rates}"));
        findings(&sweep, &records(&sweep, &paper()))
    };
    // Made-up accuracies are best at 5e-5, and fall by 0.6 points for each factor of two.
    let edge = found("[5e-5, 1e-4, 2e-4]");
    let beyond = "--set 'optimizer.lr=[5e-5, 1.7e-5, 5.6e-6]'";
    assert_eq!(of_kind(&edge, "rate-at-edge")[0], ["forbids-recommendation", "en", beyond]);
    let sentence = sentence(&edge, "rate-at-edge");
    assert!(
        sentence
            .starts_with("the best policy, none, is best at the lowest rate that was tried, 5e-5, by 0.6"),
        "{sentence}"
    );
    assert!(
        sentence.contains("The best rates of all, first-2, first-4 and alternating lie at the edge too."),
        "{sentence}"
    );
    let higher = found("[2.5e-5, 5e-5]");
    assert_eq!(of_kind(&higher, "rate-at-edge")[0][2], "--set 'optimizer.lr=[5e-5, 1.5e-4, 4.5e-4]'");
    assert_eq!(of_kind(&found("[2.5e-5, 5e-5, 1e-4]"), "rate-at-edge"), Vec::<[String; 3]>::new());
}

#[test]
fn scores_that_rise_at_the_last_epoch_are_said() {
    let found = |epochs: u32| {
        let langs = langs(&[("none", 0.96), ("all", 0.62)]);
        let sweep = sweep("short", &langs, 4, false, &format!("[settings.train]\nepochs = {epochs}"));
        findings(&sweep, &records(&sweep, &langs))
    };
    let three = found(3);
    assert_eq!(of_kind(&three, "still-improving").len(), 2, "{three:?}");
    assert_eq!(of_kind(&three, "still-improving")[0][2], "--set train.epochs=6");
    let text = sentence(&three, "still-improving");
    assert!(text.starts_with("all (+3.8") && !text.contains("none ("), "{text}");
    let once = sentence(&found(1), "still-improving");
    assert_eq!(
        once,
        "every policy was trained for one epoch: whether more epochs would give more is not known."
    );
    assert_eq!(of_kind(&found(12), "still-improving"), Vec::<[String; 3]>::new());
}

#[test]
fn one_label_for_everything_is_nothing_learned() {
    let sweep = sweep("one", &paper(), 4, false, "");
    let mut records = records(&sweep, &paper());
    let f1 = |found: [f64; 2]| -> BTreeMap<String, f64> {
        ["NOUN", "VERB"].map(String::from).into_iter().zip(found).collect()
    };
    for record in &mut records {
        let policy = record.cell.settings.policy.clone();
        for row in &mut record.result.as_mut().expect("a result").epochs {
            row.dev_f1 = f1(if policy == "all" { [0.86, 0.0] } else { [0.9, 0.8] });
        }
    }
    let all = findings(&sweep, &records);
    assert_eq!(of_kind(&all, "nothing-learned")[0][..2], ["caution", "en"].map(String::from));
    assert_eq!(sentence(&all, "nothing-learned"), "all got no label of dev right but NOUN, with every seed.");
    // Another seed of the same policy learned something.
    let first = records.iter_mut().find(|record| record.cell.settings.policy == "all").expect("a record");
    for row in &mut first.result.as_mut().expect("a result").epochs {
        row.dev_f1 = f1([0.86, 0.1]);
    }
    let all = findings(&sweep, &records);
    assert_eq!(of_kind(&all, "nothing-learned").len(), 1, "pcm alone: {all:?}");
    for row in records.iter_mut().flat_map(|record| &mut record.result.as_mut().expect("a result").epochs) {
        row.dev_f1 = f1([0.86, 0.0]);
    }
    let all = findings(&sweep, &records);
    assert_eq!(of_kind(&all, "nothing-learned")[0][..2], ["forbids-recommendation", "en"].map(String::from));
}

#[test]
fn the_score_of_the_most_frequent_tag_is_nothing_learned() {
    let sweep = sweep("same", &paper(), 4, false, "");
    let mut records = records(&sweep, &paper());
    with_baselines(&mut records, |record| {
        let score = &record.result.as_ref().expect("a result").scores()["dev"];
        [if record.cell.settings.policy == "all" { score.correct } else { score.correct - 1 }, 0]
    });
    // Baselines are the same for all policies of a seed, and so is what each is compared with here.
    let all = findings(&sweep, &records);
    assert_eq!(
        sentence(&all, "nothing-learned"),
        "all scored exactly what the most frequent tag does, with every seed."
    );
}

#[test]
fn cells_without_a_result_are_counted() {
    let sweep = sweep("gaps", &paper(), 4, false, "");
    let mut records = records(&sweep, &paper());
    let is = |record: &Record, lang: &str, policy: &str| {
        record.cell.settings.lang == lang && record.cell.settings.policy == policy
    };
    for record in &mut records {
        if is(record, "en", "all") {
            *record = failed(&record.cell.clone(), "out of memory.\nmore");
        }
    }
    records.retain(|record| !is(record, "pcm", "none"));
    let all = findings(&sweep, &records);
    let undone = of_kind(&all, "undone");
    assert_eq!(undone[0][..2], ["caution", "en"].map(String::from));
    assert_eq!(undone[1][..2], ["forbids-recommendation", "pcm"].map(String::from), "`none` has no result");
    insta::assert_snapshot!(all.iter().filter(|one| one["kind"] == "undone").map(|one| one["sentence"].as_str().unwrap_or("")).collect::<Vec<_>>().join("\n"), @r"
    of 20 cells, 4 are missing: numbers are over the cells that are left. There is no result at all of none.
    of 20 cells, 4 failed: numbers are over the cells that are left. There is no result at all of all. The first error: out of memory.
    ");
}

#[test]
fn data_findings_come_from_the_records_and_name_the_axis_where_data_differ() {
    let sweep = sweep("data", &paper(), 4, false, "\"data.first\" = [100, 2000]");
    let mut records = records(&sweep, &paper());
    for record in &mut records {
        let first = record.cell.settings.data.first;
        let result = record.result.as_mut().expect("a result");
        let facts = result.tasks.get_mut("upos").expect("the task");
        facts.dev.truncated = facts.dev.words / 50;
        if first == 100 {
            facts.dev.tags.insert("X".into(), 7);
        }
    }
    let all = findings(&sweep, &records);
    assert_eq!(of_kind(&all, "cut-off").len(), 4, "facts differ by the axis: {all:?}");
    let unknown: Vec<&Value> = all.iter().filter(|one| one["kind"] == "unknown-labels").collect();
    assert_eq!(unknown.len(), 2);
    assert!(unknown.iter().all(|one| one["extras"] == serde_json::json!(["100"])), "{unknown:?}");
    assert_eq!(unknown[0]["command"], "--set data.first=0");
    let files = Report::new(&sweep, &records, &[], None).files().expect("a report");
    assert!(text(&files, "report.md").contains("- **en, data.first = 100**: 7 of "));
}

#[test]
fn a_description_follows_the_run_and_not_the_plan() {
    let mut sweep = sweep("described", &paper(), 4, false, "");
    let mut records = records(&sweep, &paper());
    let line = |sweep: &Sweep, records: &[Record]| {
        let files = Report::new(sweep, records, &[], None).files().expect("a report");
        let page = text(&files, "report.md");
        page.lines().find(|line| line.contains("The encoder")).expect("a description").to_string()
    };
    for record in &mut records {
        record.result.as_mut().expect("a result").encoder =
            Some(EncoderFacts { family: "bert".into(), blocks: 6, hidden: 384, longest_input: 512 });
    }
    insta::assert_snapshot!(line(&sweep, &records), @"A plan written for a test. The encoder is `distilbert-base-multilingual-cased` (BERT, 6 blocks). Train sentences: 12,544 in en and 7,279 in pcm.");
    sweep.overrides = vec!["encoder.name=\"all-MiniLM-L6-v2\"".into()];
    assert!(
        !line(&sweep, &records).contains("A plan written for a test"),
        "the text is about another encoder"
    );
}
