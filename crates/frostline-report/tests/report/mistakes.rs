//! What is counted from stored predictions of words: per tag, confusions, known words, and where policies
//! differ. Six words, small enough to count by hand.

use frostline_record::{Record, Sweep};
use frostline_report::{Report, ReportFile};
use serde_json::{Value, json};

use crate::stories::{Files, Place, Reached, records, sweep};
use crate::{keep, text};

const PLAN: &str = "schema = 4\nname = 'six words'\n[treebanks]\nen = 'UD_English-EWT'\n\
     [grid]\npolicy = ['none', 'all']\nseed = [42, 43]\n[settings.eval]\ntest = true\n";

/// Three sentences; the last two have no id. Train lacks the tag SYM.
fn lines(place: &Place<'_>) -> &'static str {
    match (place.split, place.settings.policy.as_str(), place.settings.seed) {
        ("test", "none", _) => "t1 1 Dogs NOUN NOUN unambiguous\nt1 2 bark VERB VERB ambiguous",
        ("test", ..) => "t1 1 Dogs NOUN NOUN unambiguous\nt1 2 bark VERB NOUN ambiguous",
        (_, "none", 42) => {
            "s1 1 the DET DET unambiguous\ns1 2 dog NOUN NOUN unambiguous\ns1 3 barks VERB VERB ambiguous\n\
             - 1 fly NOUN NOUN ambiguous\n- 2 away ADV ADV unknown\n- 1 x|*y SYM NOUN unknown"
        }
        (_, "none", _) => {
            "s1 1 the DET DET unambiguous\ns1 2 dog NOUN NOUN unambiguous\ns1 3 barks VERB NOUN ambiguous\n\
             - 1 fly NOUN NOUN ambiguous\n- 2 away ADV ADV unknown\n- 1 x|*y SYM NOUN unknown"
        }
        (_, _, 42) => {
            "s1 1 the DET DET unambiguous\ns1 2 dog NOUN NOUN unambiguous\ns1 3 barks VERB NOUN ambiguous\n\
             - 1 fly NOUN VERB ambiguous\n- 2 away ADV - unknown\n- 1 x|*y SYM NOUN unknown"
        }
        _ => {
            "s1 1 the DET DET unambiguous\ns1 2 dog NOUN NOUN unambiguous\ns1 3 barks VERB VERB ambiguous\n\
             - 1 fly NOUN VERB ambiguous\n- 2 away ADV ADV unknown\n- 1 x|*y SYM NOUN unknown"
        }
    }
}

pub fn six_words() -> (Sweep, Vec<Record>, Files) {
    let sweep = sweep(PLAN);
    let (records, predictions) = records(&sweep, &|place| Some(Reached::Lines(lines(place))));
    (sweep, records, predictions)
}

fn files(scenario: &str, sweep: &Sweep, records: &[Record], predictions: &Files) -> Vec<ReportFile> {
    let files =
        Report::new(sweep, records, &[], Some(&mut |_, file| predictions.get(&file.sha256).cloned())).files();
    let files = files.expect("a report");
    keep(scenario, &files);
    files
}

fn near(value: &Value, expected: f64) {
    let found = value.as_f64().unwrap_or(f64::NAN);
    assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
}

#[test]
fn six_words_are_counted_as_by_hand() {
    let (sweep, records, predictions) = six_words();
    let files = files("mistakes", &sweep, &records, &predictions);
    let json: Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let group = |policy: &str| {
        let groups = json["errors"].as_array().expect("errors");
        let found = groups.iter().find(|group| group["policy"] == policy && group["split"] == "dev");
        found.expect("the group").clone()
    };
    let (none, all) = (group("none"), group("all"));
    let noun = |group: &Value| group["tags"][0].clone();
    assert_eq!((&noun(&none)["tag"], &noun(&none)["support"]), (&json!("NOUN"), &json!(2)));
    near(&noun(&none)["f1"]["mean"], (0.8 + 2.0 / 3.0) / 2.0);
    near(&noun(&all)["f1"]["mean"], (0.4 + 0.5) / 2.0);
    near(&noun(&all)["f1_gain"]["mean"], ((0.4 - 0.8) + (0.5 - 2.0 / 3.0)) / 2.0);
    near(&noun(&all)["precision"]["mean"], (1.0 / 3.0 + 0.5) / 2.0);
    near(&noun(&all)["recall"]["mean"], 0.5);

    assert_eq!(all["errors"], 6);
    let pairs: Vec<Value> = all["confusions"].as_array().expect("pairs").clone();
    let pairs: Vec<Value> =
        pairs.iter().map(|pair| json!([pair["gold"], pair["predicted"], pair["words"]])).collect();
    let expected = json!([["NOUN", "VERB", 2], ["SYM", "NOUN", 2], ["ADV", null, 1], ["VERB", "NOUN", 1]]);
    assert_eq!(json!(pairs), expected);
    near(&all["confusions"][0]["share_of_errors"], 1.0 / 3.0);

    let stratum = |group: &Value, name: &str| {
        let strata = group["strata"].as_array().expect("strata").clone();
        strata.into_iter().find(|stratum| stratum["name"] == name).expect("the stratum")
    };
    assert_eq!(stratum(&all, "unknown")["words"], 2);
    near(&stratum(&all, "unknown")["accuracy"]["mean"], 0.25);
    near(&stratum(&none, "unknown")["accuracy"]["mean"], 0.5);
    near(&stratum(&none, "ambiguous")["accuracy"]["mean"], 0.75);
    near(&stratum(&all, "known")["accuracy"]["mean"], (0.5 + 0.75) / 2.0);
    assert_eq!(stratum(&all, "1-10")["words"], 6);

    let differences = json["differences"].as_array().expect("differences");
    let dev = |seed: u64| {
        differences.iter().find(|row| row["split"] == "dev" && row["seed"] == seed).expect("a row")
    };
    let counts = |row: &Value| {
        let names = ["other_words", "other_sentences", "both_wrong"].map(|name| row[name].clone());
        json!([names, row["only_none_right"], row["only_this_right"]])
    };
    assert_eq!(counts(dev(42)), json!([[3, 2, 0], 3, 0]));
    assert_eq!(counts(dev(43)), json!([[2, 2, 0], 1, 1]));
    let verdict = &json["groups"][1]["dev_verdict"];
    assert_eq!((&verdict["verdict"], &verdict["seeds"]), (&json!("undecided"), &json!([42, 43])));
    near(&verdict["difference"]["value"], -2.0 / 6.0 + 0.5 / 6.0);
}

#[test]
fn the_page_and_its_files_say_it() {
    let (sweep, records, predictions) = six_words();
    let files = files("mistakes", &sweep, &records, &predictions);
    insta::assert_snapshot!("mistakes_page", text(&files, "errors.md"));
    for name in ["tags", "confusions", "strata", "differences"] {
        insta::assert_snapshot!(format!("mistakes_{name}_csv"), crate::table(&files, name));
    }
    insta::assert_snapshot!("mistakes_tags_svg", text(&files, "figures/tags.svg"));
    insta::assert_snapshot!("mistakes_familiarity_svg", text(&files, "figures/familiarity.svg"));
    assert!(!text(&files, "errors.md").contains("bark/"), "no sentence of test is shown");
    assert!(text(&files, "report.md").contains("[`errors.md`](errors.md)"));
    assert_eq!(files.len(), files_again(&sweep, &records, &predictions), "the same files");
}

/// The number of files of a report made again, all equal to those made before.
fn files_again(sweep: &Sweep, records: &[Record], predictions: &Files) -> usize {
    let (first, again) =
        (files("mistakes", sweep, records, predictions), files("mistakes", sweep, records, predictions));
    assert_eq!(first, again);
    again.len()
}

#[test]
fn files_that_cannot_be_used_are_told_and_the_others_counted() {
    let (sweep, mut records, mut predictions) = six_words();
    let stored = |record: &Record| record.result.as_ref().expect("done").predictions()["dev"].sha256.clone();
    predictions.insert(stored(&records[0]), "other bytes".into());
    // A record that says otherwise than its file.
    let result = records[1].result.as_mut().expect("done");
    let found = result.stages[0].tasks.values_mut().next().expect("a task");
    found.scores.get_mut("dev").expect("dev").correct += 1;
    let files = files("mistakes-torn", &sweep, &records, &predictions);
    let page = text(&files, "report.md");
    assert!(page.contains("**2 files of predictions could not be used**"), "{page}");
    assert!(page.contains("its bytes are not those that the record names."), "{page}");
    let rows = crate::table(&files, "tags").lines().filter(|line| line.contains(",dev,")).count();
    assert_eq!(rows, 2 * 5, "two cells of five tags");
}

#[test]
fn cells_of_other_words_are_not_compared() {
    let sweep = sweep(PLAN);
    let reach = |place: &Place<'_>| {
        let all = "s1 1 dog NOUN NOUN unambiguous\ns1 2 barks VERB VERB ambiguous";
        let less = "s1 1 dog NOUN NOUN unambiguous\ns1 2 barks VERB VERB unknown";
        let other = place.settings.policy == "all" && place.settings.seed == 42;
        Some(Reached::Lines(if other { less } else { all }))
    };
    let (records, predictions) = records(&sweep, &reach);
    let files = files("mistakes-other", &sweep, &records, &predictions);
    let rows = crate::table(&files, "differences");
    let rows: Vec<&str> = rows.lines().skip(1).collect();
    assert_eq!(rows.len(), 2, "seed 43 on dev and test: {rows:?}");
    assert!(text(&files, "errors.md").contains("Counts of words below are from the first cell."));
    assert!(text(&files, "errors.md").contains("No word is wrong."));
}

/// So many languages, and very many policies.
pub fn many(langs: usize) -> (Sweep, Vec<Record>, Files) {
    let policies: Vec<String> = (0..40).map(|k| format!("'blocks-{k}'")).collect();
    let plan = PLAN.replace("['none', 'all']", &format!("['none', {}]", policies.join(", ")));
    let more: String = (1..langs).map(|lang| format!("l{lang} = 'UD_Other-{lang}'\n")).collect();
    let sweep = sweep(&plan.replace("[grid]\n", &format!("{more}[grid]\n")));
    let reach = |place: &Place<'_>| {
        Some(Reached::Words(
            200,
            199 - place.settings.policy.as_str().len() as u64 - place.settings.seed % 42,
        ))
    };
    let (records, predictions) = records(&sweep, &reach);
    (sweep, records, predictions)
}

#[test]
fn very_many_policies_leave_the_page_readable() {
    let (sweep, records, predictions) = many(1);
    let files = files("mistakes-many", &sweep, &records, &predictions);
    let page = text(&files, "errors.md");
    let shown = page.lines().filter(|line| line.starts_with("#### ") && line.contains(" on dev")).count();
    assert!(shown < 25, "{shown} policies have tables of their own");
    assert_eq!(
        crate::table(&files, "strata").lines().skip(1).filter(|l| l.contains(",train,known,")).count(),
        41 * 4
    );
}

#[test]
fn tags_that_train_lacks_are_named() {
    let (sweep, mut records, predictions) = six_words();
    for record in &mut records {
        let facts = record.result.as_mut().expect("done").tasks.values_mut().next().expect("a task");
        facts.train.tags = [("NOUN".to_string(), 7), ("VERB".to_string(), 9)].into();
        facts.dev.tags = [("NOUN".to_string(), 2), ("SYM".to_string(), 1)].into();
    }
    let files_before = files("mistakes-data", &sweep, &records, &predictions);
    let page = text(&files_before, "data.md");
    assert!(page.contains("- Of dev, train lacks the tags: `SYM` (1)."), "{page}");
    // Cells of one language that learn from other sentences have rows of their own.
    let facts = records[3].result.as_mut().expect("done").tasks.values_mut().next().expect("a task");
    facts.train.sentences = 17;
    let files = files("mistakes-data", &sweep, &records, &predictions);
    let page = text(&files, "data.md");
    assert!(page.contains("Cells learn from different sentences."), "{page}");
    assert!(page.contains("| train | seed 43 |        17 |"), "{page}");
}
