//! Which models of a sweep can share their lowest blocks.

use frostline_record::{AccountRow, Record};

use crate::common::{paper, records, sweep};
use crate::{files, text};

/// Sets a record's groups: embeddings and four blocks, of which these first ones are frozen.
fn set_frozen(record: &mut Record, frozen: usize) {
    let row = |group: String, total, is_frozen: bool| AccountRow {
        group,
        total,
        trainable: if is_frozen { 0 } else { total },
    };
    let stage = &mut record.result.as_mut().expect("a result").stages[0];
    stage.accounts.groups = vec![row("embeddings".into(), 40_000_000, frozen > 0)];
    let blocks = (0..4).map(|block| row(format!("block {block}"), 10_000_000, block + 1 < frozen));
    stage.accounts.groups.extend(blocks);
    stage.accounts.groups.push(row("head".into(), 1_000, false));
    stage.accounts.total = stage.accounts.groups.iter().map(|row| row.total).sum();
}

fn frozen_groups(policy: &str) -> usize {
    match policy {
        "first-2" => 3,
        "all" => 5,
        _ => 0,
    }
}

#[test]
fn models_with_the_same_frozen_groups_share_them() {
    let sweep = sweep("trunks", &paper(), 2, false, "");
    let mut all = records(&sweep, &paper());
    for record in &mut all {
        let frozen = frozen_groups(record.cell.settings.policy.as_str());
        set_frozen(record, frozen);
    }
    let made = files("trunks", &sweep, &all);
    let page = text(&made, "report.md");
    let from = page.find("## Taggers that can share blocks").expect("a section");
    let section = &page[from..];
    insta::assert_snapshot!("trunks_section", &section[..section[3..].find("\n## ").expect("a section") + 3]);
    let json: serde_json::Value = serde_json::from_str(text(&made, "report.json")).expect("JSON");
    let shared = json["shared_trunks"].as_array().expect("a list");
    assert_eq!(shared.len(), 2);
    let first = &shared[1]["parameters"];
    assert_eq!(shared[1]["policy"], "first-2");
    assert_eq!(
        [&first["shared"], &first["apart"], &first["together"]],
        [60_000_000, 160_002_000, 100_002_000]
    );
}

#[test]
fn models_whose_weights_differ_share_nothing() {
    let mut sweep = sweep("trunks", &paper(), 1, false, "");
    for cell in &mut sweep.cells {
        let weights = cell.inputs.get_mut("weights").expect("weights");
        weights.sha256 = frostline_record::sha256(cell.settings.lang.as_bytes());
    }
    let mut all = records(&sweep, &paper());
    for record in &mut all {
        let frozen = frozen_groups(record.cell.settings.policy.as_str());
        set_frozen(record, frozen);
    }
    assert!(!text(&files("trunks", &sweep, &all), "report.md").contains("share blocks"));
}

#[test]
fn models_of_one_language_are_no_reason_to_share() {
    let langs: Vec<_> = paper().into_iter().take(1).collect();
    let sweep = sweep("trunks", &langs, 2, false, "");
    let mut all = records(&sweep, &langs);
    for record in &mut all {
        let frozen = frozen_groups(record.cell.settings.policy.as_str());
        set_frozen(record, frozen);
    }
    assert!(!text(&files("trunks", &sweep, &all), "report.md").contains("share blocks"));
}
