//! Cells that are the same experiment under two names count once, whether a sweep left them out or has records of both.

use frostline_record::{AccountRow, Cell, GridPlace, Input, Record, Sweep, Twin, sha256};
use serde_json::Value;

use crate::stories::{Files, Place, Reached, records, sweep};
use crate::text;
use crate::verdicts::{json_of, lines, report};

/// A study over these languages and policies, all with an encoder of six blocks. `copy` has the files of `en`.
fn study(langs: &str, policies: &str) -> (Sweep, Vec<Record>, Files) {
    let half = if policies.contains("first-50%") { "first-50%" } else { "first-3" };
    let mut sweep = sweep(&format!(
        "schema = 4\nname = 'twins'\n[treebanks]\nen = 'UD_English-EWT'\ncopy = 'copied'\n\
         [grid]\nlang = {langs}\npolicy = {policies}\nseed = [42, 43, 44]\n\
         [[claims]]\nsays = 'Half of the blocks need not learn.'\n\
         tests = [{{ loses-at-most = {{ a = ['{half}'], b = ['none'], margin = 1 }} }}]\n"
    ));
    for cell in &mut sweep.cells {
        let inputs = ["train", "dev", "config", "weights"].map(|role| {
            let sha256 = sha256(role.as_bytes());
            (role.to_string(), Input { path: format!("/{}/{role}", cell.settings.lang), sha256, bytes: 9 })
        });
        *cell = Cell::new(cell.settings.clone(), inputs.into(), "flex", "c0de");
    }
    // What a model learns does not depend on the names: half of the blocks is `top-2` of the story, as bad as it is there.
    let reach = |place: &Place<'_>| {
        let mut settings = place.settings.clone();
        settings.lang = "en".parse().unwrap();
        if ["first-3", "first-50%", "blocks-0.1.2"].contains(&settings.policy.as_str()) {
            settings.policy = "all".parse().unwrap();
        }
        Some(Reached::Lines(lines(&Place { settings: &settings, ..*place }).leak()))
    };
    let (mut records, files) = records(&sweep, &reach);
    let blocks = (0..6).map(|block| AccountRow { group: format!("block {block}"), total: 9, trainable: 9 });
    for record in &mut records {
        record.result.as_mut().unwrap().stages[0].accounts.groups.extend(blocks.clone());
    }
    (sweep, records, files)
}

fn groups(json: &Value) -> Vec<Value> {
    let row = |group: &Value| {
        serde_json::json!([
            group["lang"],
            group["policy"],
            group["dev_verdict"]["verdict"],
            group["dev_verdict"]["interval"]
        ])
    };
    json["groups"].as_array().expect("groups").iter().map(row).collect()
}

#[test]
fn evidence_under_two_names_is_counted_once() {
    let once = study("['en']", "['none', 'first-3', 'top-2']");
    let twice = study("['en', 'copy']", "['none', 'first-3', 'first-50%', 'top-2', 'blocks-0.1.2']");
    let [alone, named] = [&once, &twice].map(|(sweep, records, files)| report(sweep, records, files));
    let (alone, json) = (json_of(&alone), json_of(&named));
    assert_eq!(groups(&json), groups(&alone));
    assert_eq!(groups(&json)[1][2], "worse");
    assert_eq!(json["advice"], alone["advice"], "one language gives no advice over two");

    let files = named.files().expect("a report");
    let page = text(&files, "report.md");
    assert!(page.contains("| first-3 = first-50% = blocks-0.1.2 |"), "{page}");
    assert!(page.contains("en = copy (UD_English-EWT)"), "{page}");
    let said = page.lines().filter(|line| line.contains("counted once")).collect::<Vec<_>>();
    insta::assert_snapshot!(said.join("\n"), @r"
    - `first-3`, `first-50%` and `blocks-0.1.2` freeze the same parameters: one row, counted once.
    - `en` and `copy` are the same dataset, file by file: one row, counted once.
    ");
}

#[test]
fn a_claim_may_use_any_name() {
    let (sweep, records, files) = study("['en']", "['none', 'first-3', 'first-50%']");
    let found = json_of(&report(&sweep, &records, &files));
    assert_eq!(found["claims"][0]["verdict"], "contradicted", "{}", found["claims"]);
}

#[test]
fn a_claim_counts_a_policy_once_whatever_its_names() {
    let claims = |policies: &str, names: &str| {
        let (mut sweep, records, files) = study("['en']", policies);
        let claim = format!(
            "says = 'x'\ntests = [{{ less = {{ a = {names}, b = ['none'] }} }}, {{ converged = {{ epoch = 1, within = 1 }} }}]"
        );
        sweep.plan.claims = vec![toml::from_str(&claim).expect("a claim")];
        let mut found = json_of(&report(&sweep, &records, &files))["claims"].clone();
        found[0].as_object_mut().expect("a claim").remove("says");
        found
    };
    let once = claims("['none', 'first-3', 'top-2']", "['first-3']");
    let twice = claims("['none', 'first-3', 'first-50%', 'top-2']", "['first-3', 'first-50%']");
    assert_eq!(twice, once);
}

#[test]
fn a_result_is_shown_although_the_first_name_has_none() {
    let (sweep, mut records, files) = study("['en']", "['none', 'first-3', 'first-50%']");
    records.retain(|record| record.cell.settings.policy != "first-3" || record.cell.settings.seed == 42);
    let found = groups(&json_of(&report(&sweep, &records, &files)));
    let names: Vec<_> = found.iter().map(|group| group[1].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["none", "first-3", "first-50%"], "nothing is merged where a result would be lost");
}

#[test]
fn sweeps_with_other_names_for_a_policy_share_its_row() {
    let all = study("['en']", "['none', 'first-3', 'first-50%']");
    let one = study("['en']", "['none', 'first-50%']");
    let merged = frostline_report::Merged::new([("a", one.0, one.1), ("b", all.0, all.1)], None);
    let files = merged.files().expect("a comparison");
    let page = text(&files, "comparison.md");
    assert!(page.contains("| first-50% |") && !page.contains("| first-3 |"), "{page}");
}

#[test]
fn a_sweep_that_left_twins_out_gives_the_same_report() {
    let (sweep, records, files) = study("['en']", "['none', 'first-3', 'first-50%']");
    let is_twin = |cell: &&Cell| cell.settings.policy == "first-50%";
    let cells: Vec<Cell> = sweep.cells.iter().filter(|cell| !is_twin(cell)).cloned().collect();
    let place = |policy| {
        let cell = sweep.cells.iter().find(|cell| cell.settings.policy == policy).expect("a cell");
        GridPlace::new(&cell.settings, &[])
    };
    let twins = vec![Twin { place: place("first-50%"), same_as: place("first-3") }];
    let left_out = Sweep { cells, twins, ..sweep.clone() };
    let kept: Vec<Record> = records.iter().filter(|record| !is_twin(&&record.cell)).cloned().collect();
    let [both, one] = [(&sweep, &records), (&left_out, &kept)].map(|(sweep, records)| {
        let files = report(sweep, records, &files).files().expect("a report");
        text(&files, "report.md").to_string()
    });
    assert_eq!(both, one);
}
