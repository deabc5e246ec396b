//! Reports of grids that ask more than one policy against another: baselines, learning curves, and all sets
//! of blocks.

use std::collections::BTreeMap;

use frostline_record::{
    AccountRow, Baseline, BaselineFit, BlockScore, Cell, CellScores, Change, MOST_FREQUENT, PROBE, Record,
    Score, Settled, StoredFile, Sweep,
};
use frostline_report::Report;

use crate::common::{Lang, paper, records, sweep};
use crate::{files, keep, text};

/// Baselines of a cell's headline: right words of dev out of all.
pub fn with_baselines(records: &mut [Record], right: impl Fn(&Record) -> [u64; 2]) {
    for record in records {
        let counts = right(record);
        let Some(result) = &mut record.result else { continue };
        let words = result.scores()["dev"].words;
        let score = |correct| Score { words, correct, ..Score::default() };
        let scores = |correct| [("dev".to_string(), score(correct))].into();
        let fit =
            BaselineFit { fitted: 100_000, of: 204_576, iterations: 118, converged: true, loss_nats: 0.31 };
        let found = [
            (MOST_FREQUENT.to_string(), Baseline { scores: scores(counts[0]), fit: None }),
            (PROBE.to_string(), Baseline { scores: scores(counts[1]), fit: Some(fit) }),
        ];
        result.baselines = [("upos".to_string(), found.into())].into();
    }
}

#[test]
fn baselines_stand_below_the_policies() {
    let sweep = sweep("baselines", &paper(), 3, false, "");
    let mut records = records(&sweep, &paper());
    with_baselines(&mut records, |record| match record.cell.settings.lang.as_str() {
        "en" => [21_403, 23_195],
        _ => [12_880, 13_662],
    });
    let files = files("baselines", &sweep, &records);
    let page = text(&files, "report.md");
    let start = page.find("## Result").expect("the table of all languages");
    insta::assert_snapshot!("baselines_result", &page[start..page.find("## en").expect("a language")]);
    let study = &page[page.find("## en").expect("a language")..];
    insta::assert_snapshot!("baselines_study", &study[..study.find("###").expect("a section")]);
    insta::assert_snapshot!("baselines_csv", &crate::table(&files, "baselines"));
    insta::assert_snapshot!(
        "baselines_terminal",
        Report::new(&sweep, &records, &[], None).terminal_table(100)
    );
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    assert_eq!(json["baselines"].as_array().expect("baselines").len(), 4);
    assert!(text(&files, "figures/accuracy.svg").contains("logistic probe: 92.22"), "a reference line");
}

#[test]
fn settings_that_a_policy_has_of_its_own_are_told() {
    let own = "[policies.all]\noptimizer.lr = 1e-2\ntrain = { epochs = 9 }";
    let sweep = sweep("own", &paper(), 1, false, own);
    let files = files("own", &sweep, &records(&sweep, &paper()));
    let page = text(&files, "report.md");
    let told = "the plan gives their own to `all` (`optimizer.lr` 0.01, `train.epochs` 9).";
    assert!(page.contains(told), "{page}");
    assert!(page.contains("`all` has settings of its own: `optimizer.lr` 0.01, `train.epochs` 9"), "{page}");
}

#[test]
fn a_probe_that_did_not_converge_is_told_and_axes_without_effect_are_any() {
    let sweep = sweep("rates", &paper(), 1, false, "\"optimizer.lr\" = [2e-5, 5e-5]");
    let mut records = records(&sweep, &paper());
    with_baselines(&mut records, |_| [100, 200]);
    for record in &mut records {
        let result = record.result.as_mut().expect("a result");
        let probe = result.baselines.get_mut("upos").and_then(|all| all.get_mut(PROBE)).expect("a probe");
        probe.fit.as_mut().expect("a fit").converged = false;
    }
    let files = files("unconverged", &sweep, &records);
    let page = text(&files, "report.md");
    assert!(page.contains("- **en**: the logistic probe did not converge in 118 iterations"), "{page}");
    // Features differ in rounding between devices, and no record is of a GPU.
    let caveat = "- The logistic probe was fitted to what `wgpu` computed.";
    assert!(!page.contains("The logistic probe was fitted"), "{page}");
    records[0].made_by.backend = "wgpu".into();
    let on_gpu = Report::new(&sweep, &records, &[], None).files().expect("a report");
    assert!(text(&on_gpu, "report.md").contains(caveat), "{}", text(&on_gpu, "report.md"));
    records[0].made_by.backend = "flex".into();
    let rows = page.lines().filter(|line| line.contains("| *logistic probe*"));
    assert_eq!(
        rows.filter(|line| line.contains("| any ")).count(),
        4,
        "one row in each language's table and two in the first"
    );
    assert!(!page.contains("below the"), "nobody is");
    // `all` reaches 91.6 % at one rate and 90.8 % at the other.
    with_baselines(&mut records, |record| {
        [record.result.as_ref().expect("a result").scores()["dev"].words * 912 / 1000; 2]
    });
    let page = Report::new(&sweep, &records, &[], None).files().expect("a report");
    let page = text(&page, "report.md");
    assert!(
        page.contains("- **en**: `all` with optimizer.lr = 2e-5 lies below the most frequent tag (91.2"),
        "{page}"
    );
}

#[test]
fn curves_follow_the_sentences_that_were_learned_from() {
    let grid = "\"data.sample\" = [50, 500, 0]\n\"data.draw\" = [1, 2]";
    let sweep = sweep("curve", &paper(), 2, false, grid);
    let mut records = records(&sweep, &paper());
    for record in &mut records {
        let (sample, draw) = (record.cell.settings.data.sample as u64, record.cell.settings.data.draw);
        let Some(result) = &mut record.result else { continue };
        let facts = &mut result.tasks.get_mut("upos").expect("the task").train;
        // Pidgin has fewer than 500.
        facts.sentences = if sample == 0 { facts.sentences } else { sample.min(400) };
        let size = facts.sentences;
        let dev = result.stages[0].tasks.get_mut("upos").and_then(|task| task.scores.get_mut("dev"));
        let dev = dev.expect("a score");
        dev.correct -= dev.words * 8 / size.max(20) + draw * 10;
    }
    with_baselines(&mut records, |record| {
        let words = record.result.as_ref().expect("a result").scores()["dev"].words;
        let size = record.result.as_ref().expect("a result").facts().train.sentences;
        [words * 5 / 6 - words * 4 / size, words * 9 / 10 - words * 6 / size]
    });
    let files = files("curve", &sweep, &records);
    let page = text(&files, "report.md");
    let start = page.find("### Dev accuracy % by train sentences").expect("the table");
    let table = &page[start..];
    insta::assert_snapshot!("curve_table", &table[..table[4..].find("\n### ").expect("the next section")]);
    let svg = text(&files, "figures/learning_curve.svg");
    assert!(svg.contains("12,544") && svg.contains("logistic probe"), "{svg}");
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let point = &json["learning_curves"][0]["policies"][0]["points"][0];
    assert_eq!((point["sentences"].as_u64(), point["dev"]["n"].as_u64()), (Some(50), Some(4)), "{point}");
    // Where all sentences are learned from, two draws are one run.
    let points = json["learning_curves"][0]["policies"][0]["points"].as_array().expect("points");
    assert_eq!(points.last().expect("a point")["dev"]["n"].as_u64(), Some(2), "{points:?}");
}

#[test]
fn all_sentences_are_one_run_whichever_way_they_were_asked_for() {
    let sweep =
        sweep("curve", &paper(), 1, false, "\"data.sample\" = [50, 7279, 9000, 0]\n\"data.draw\" = [1, 2]");
    let mut records = records(&sweep, &paper());
    for record in &mut records {
        let sample = record.cell.settings.data.sample as u64;
        let Some(result) = &mut record.result else { continue };
        let facts = &mut result.tasks.get_mut("upos").expect("the task").train;
        facts.sentences = if sample == 0 { facts.sentences } else { sample.min(facts.sentences) };
    }
    let files = files("curve", &sweep, &records);
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let runs = |lang: usize| {
        let points = json["learning_curves"][lang]["policies"][0]["points"].as_array().expect("points");
        let run = |point: &serde_json::Value| [&point["sentences"], &point["dev"]["n"]].map(|n| n.as_u64());
        points.iter().map(run).map(|run| run.map(Option::unwrap_or_default)).collect::<Vec<_>>()
    };
    assert_eq!(runs(0), [[50, 2], [7279, 2], [9000, 2], [12_544, 1]]);
    assert_eq!(runs(1), [[50, 2], [7279, 1]]);
}

#[test]
fn there_is_no_curve_without_its_axis() {
    let sweep = sweep("first", &paper(), 1, false, "[settings.data]\nfirst = 2500");
    let files = files("first", &sweep, &records(&sweep, &paper()));
    assert!(files.iter().all(|file| file.path != "figures/learning_curve.svg"));
}

/// What freezing each of four blocks costs, in words of dev.
const COSTS: [u64; 4] = [30, 10, 60, 200];
const WORDS: u64 = 2_000;
/// What freezing the last two together costs besides.
const TOGETHER: u64 = 40;

/// All sets of four blocks; whether a set's cells are told is up to the caller.
fn subsets(seeds: u64) -> (Sweep, Vec<Record>) {
    let names = |set: u64| {
        let blocks: Vec<String> =
            (0..4).filter(|block| set >> block & 1 == 1).map(|b| b.to_string()).collect();
        match set {
            0 => "none".to_string(),
            15 => "all".into(),
            _ => format!("blocks-{}", blocks.join(".")),
        }
    };
    let reach = (0..16).map(|set| (&*names(set).leak(), (0.9, 1_000, 60.0))).collect();
    let langs = vec![Lang { name: "en", dev_words: WORDS, sentences: 1_000, reach }];
    let sweep = sweep("sets", &langs, seeds, false, "");
    let mut records = records(&sweep, &langs);
    for record in &mut records {
        let (policy, seed) = (record.cell.settings.policy.clone(), record.cell.settings.seed);
        let set = (0..16).find(|&set| policy == names(set)).expect("a set");
        let result = record.result.as_mut().expect("a result");
        let stage = &mut result.stages[0];
        let row = |group: String, total, trainable| AccountRow { group, total, trainable };
        let block =
            |block: u64| row(format!("block {block}"), 100, if set >> block & 1 == 1 { 0 } else { 100 });
        stage.accounts.groups = (0..4).map(block).collect();
        stage.accounts.groups.insert(0, row("embeddings".into(), 50, 50));
        stage.accounts.groups.push(row("head".into(), 5, 5));
        let own: u64 = (0..4).filter(|block| set >> block & 1 == 1).map(|block| COSTS[block as usize]).sum();
        let both = if set >> 2 == 3 { TOGETHER } else { 0 };
        // Another seed loses a little more with block 0.
        let more = if set & 1 == 1 { 4 * (seed - 42) } else { 0 };
        let lost = own + both + more;
        let task = stage.tasks.get_mut("upos").expect("the task");
        task.scores.get_mut("dev").expect("a score").correct = 1_800 - lost;
        let text = predictions(1_800 - lost);
        let file = StoredFile::new("dev.tsv", text.as_bytes());
        task.predictions = [("dev".to_string(), file)].into();
    }
    (sweep, records)
}

/// Sentences of ten words, the first so many of all right.
fn predictions(right: u64) -> String {
    let mut text = String::from("sent_id\tid\tform\tgold\tpredicted\ttrain\n");
    for word in 0..WORDS {
        let predicted = if word < right { "N" } else { "V" };
        text += &format!("s{}\t{}\tx\tN\t{predicted}\tunambiguous\n", word / 10, word % 10 + 1);
    }
    text
}

/// What blocks are worth, as `report.json` has it; nothing if none has a worth.
fn blocks(files: &[frostline_report::ReportFile]) -> Vec<serde_json::Value> {
    let json: serde_json::Value = serde_json::from_str(text(files, "report.json")).expect("JSON");
    json["blocks"].as_array().cloned().unwrap_or_default()
}

#[test]
fn blocks_are_worth_what_they_cost_with_an_error_over_seeds() {
    let (sweep, records) = subsets(3);
    let files = files("subsets", &sweep, &records);
    let page = text(&files, "report.md");
    let section = |title: &str| {
        let section = &page[page.find(title).expect("the section")..];
        &section[..4 + section[4..].find("\n### ").expect("the next section")]
    };
    insta::assert_snapshot!("subsets_table", section("### Which blocks matter"));
    insta::assert_snapshot!("best_sets", section("### The best set of each size"));
    let rows = blocks(&files);
    // The two that cost more together share that; block 0 costs 4 words more in the mean seed.
    let expected = [34.0, 10.0, 80.0, 220.0];
    for (row, words) in rows.iter().zip(expected) {
        let loss = row["shapley_loss"].as_f64().expect("a loss");
        assert!((loss - words / WORDS as f64).abs() < 1e-12, "{row:?}");
    }
    // Block 0 costs 30, 34 and 38 words: a standard error of 4 / √3.
    let error = rows[0]["standard_error"].as_f64().expect("an error");
    assert!((error - 4.0 / 3.0_f64.sqrt() / WORDS as f64).abs() < 1e-12, "{error}");
    assert_eq!((&rows[0]["error_over"], &rows[0]["seeds"]), (&"seeds".into(), &3.into()));
    for figure in ["figures/blocks.svg", "figures/subsets.svg"] {
        assert!(text(&files, figure).contains("block 3"));
    }
}

/// The fields of a choice of blocks, as `report.json` has them.
fn choice<'a>(json: &'a serde_json::Value, chosen_by: &str) -> &'a serde_json::Value {
    let rows = json["block_choices"].as_array().expect("choices");
    rows.iter().find(|row| row["chosen_by"] == chosen_by).expect("the choice")
}

#[test]
fn scores_of_blocks_are_compared_with_what_freezing_cost() {
    let (mut sweep, records) = subsets(3);
    let scores = |values: [(BlockScore, [f64; 4]); 2]| -> BTreeMap<BlockScore, Vec<f64>> {
        values.into_iter().map(|(score, values)| (score, values.to_vec())).collect()
    };
    // Blocks by cost, highest first: 3, 2, 0, 1. One score has this order, the other the reverse.
    let told = scores([(BlockScore::Fisher, [2.0, 1.0, 3.0, 4.0]), (BlockScore::Rgn, [3.0, 4.0, 2.0, 1.0])]);
    let unfrozen = sweep.cells.iter().filter(|cell| cell.settings.policy == "none");
    sweep.block_scores =
        unfrozen.map(|cell| CellScores { cell: cell.id.clone(), scores: told.clone() }).collect();
    let files = files("subsets-scored", &sweep, &records);
    let page = text(&files, "report.md");
    let section = &page[page.find("### Scores of blocks").expect("the section")..];
    let section = &section[..4 + section[4..].find("\n#").expect("the next section")];
    insta::assert_snapshot!("block_choices", section);

    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let [fisher, rgn] = ["fisher", "rgn"].map(|name| choice(&json, name));
    assert_eq!(
        (number(&fisher["rank_correlation"]["mean"]), number(&rgn["rank_correlation"]["mean"])),
        (1.0, -1.0)
    );
    assert_eq!(number(&fisher["regret"]["mean"]), 0.0);
    // Frozen 3, then 3 and 2, then 3, 2 and 0, in place of 1, then 1 and 0, then 1, 0 and 2, of which block 0 costs 4 words more in
    // the mean seed.
    let words = [200.0 - 10.0, 300.0 - 44.0, 334.0 - 104.0];
    let expected = words.iter().sum::<f64>() / 3.0 / WORDS as f64;
    assert!((number(&rgn["regret"]["mean"]) - expected).abs() < 1e-12, "{rgn:?}");
    assert!((number(&rgn["regret_of_half"]["mean"]) - words[1] / WORDS as f64).abs() < 1e-12, "{rgn:?}");
    // The lowest blocks are 0, then 0 and 1, then 0, 1 and 2: only the first is not the best.
    let lowest = choice(&json, "the lowest blocks frozen");
    assert!((number(&lowest["regret"]["mean"]) - 24.0 / 3.0 / WORDS as f64).abs() < 1e-12, "{lowest:?}");
    let other = choice(&json, "every other block frozen");
    assert!(other["regret"].is_null() && number(&other["regret_of_half"]["mean"]) > 0.0, "{other:?}");
}

/// A greedy search has each block alone, but not every set: there is no best one to compare with.
#[test]
fn a_greedy_search_tells_of_blocks_alone() {
    let (mut sweep, mut records) = subsets(2);
    records.retain(|record| record.cell.settings.policy != "blocks-1.2");
    let told: BTreeMap<BlockScore, Vec<f64>> = [(BlockScore::Snr, vec![2.0, 1.0, 3.0, 4.0])].into();
    let unfrozen = sweep.cells.iter().filter(|cell| cell.settings.policy == "none");
    sweep.block_scores =
        unfrozen.map(|cell| CellScores { cell: cell.id.clone(), scores: told.clone() }).collect();
    let json = |sweep: &Sweep| -> serde_json::Value {
        let files = files("greedy-scored", sweep, &records);
        serde_json::from_str(text(&files, "report.json")).expect("JSON")
    };
    let found = json(&sweep);
    let [only] = found["block_choices"].as_array().expect("choices").as_slice() else { panic!("{found}") };
    assert_eq!((&only["chosen_by"], &only["over_all_sets"]), (&"snr".into(), &false.into()));
    assert_eq!((only["rank_correlation"]["mean"].as_f64(), only["regret"].is_null()), (Some(1.0), true));
    // Scores of another encoder have another number of blocks.
    for scores in &mut sweep.block_scores {
        scores.scores.values_mut().for_each(|values| values.truncate(3));
    }
    assert!(json(&sweep)["block_choices"].is_null());
}

#[test]
fn one_seed_takes_its_error_from_the_sentences() {
    let (sweep, mut records) = subsets(1);
    for record in &mut records {
        // As many sentences as the predictions have.
        let result = record.result.as_mut().expect("a result");
        result.tasks.get_mut("upos").expect("the task").dev.sentences = WORDS / 10;
        let task = result.stages[0].tasks.get_mut("upos").expect("the task");
        task.scores.get_mut("dev").expect("a score").sentences = WORDS / 10;
    }
    let mut by_cell = |cell: &Cell, _: &StoredFile| {
        let record = records.iter().find(|record| record.cell.id == cell.id)?;
        Some(predictions(record.result.as_ref()?.scores()["dev"].correct))
    };
    let files = Report::new(&sweep, &records, &[], Some(&mut by_cell)).files().expect("a report");
    keep("subsets-alone", &files);
    let rows = blocks(&files);
    let of_sentences = |row: &serde_json::Value| {
        row["error_over"] == "sentences" && row["standard_error"].as_f64().is_some_and(|error| error > 0.0)
    };
    assert!(!rows.is_empty() && rows.iter().all(of_sentences), "{rows:?}");
    let page = text(&files, "report.md");
    assert!(page.contains("The interval is for drawing other dev sentences"), "{page}");

    let files = Report::new(&sweep, &records, &[], Some(&mut |_, _| None)).files().expect("a report");
    keep("subsets-unread", &files);
    let page = text(&files, "report.md");
    assert!(page.contains("The predictions give no error: en-none-s42-"), "{page}");
    assert!(blocks(&files).iter().all(|row| row["standard_error"].is_null()));
}

#[test]
fn a_set_that_is_missing_leaves_blocks_without_a_worth() {
    let (sweep, mut records) = subsets(2);
    let none =
        |record: &Record| record.cell.settings.policy == "blocks-1.2" && record.cell.settings.seed == 43;
    records.retain(|record| !none(record));
    let rows = |records: &[Record]| {
        let files = Report::new(&sweep, records, &[], None).files().expect("a report");
        blocks(&files)
    };
    let of_one = rows(&records);
    assert!(!of_one.is_empty() && of_one.iter().all(|row| row["seeds"] == 1), "{of_one:?}");
    records.retain(|record| record.cell.settings.policy != "blocks-3");
    assert!(rows(&records).is_empty());
}

#[test]
fn how_far_blocks_moved_and_what_froze_on_the_way() {
    let sweep = sweep("moved", &paper(), 2, false, "");
    let mut records = records(&sweep, &paper());
    for record in &mut records {
        let (policy, seed) = (record.cell.settings.policy.clone(), record.cell.settings.seed as f64);
        let result = record.result.as_mut().expect("a result");
        let moves = |block: usize| policy == "none" || policy == "first-2" && block >= 2;
        let change = |block: usize| Change {
            group: format!("block {block}"),
            relative: if moves(block) { 0.01 * (block as f64 + 1.0) + (seed - 42.0) / 1e3 } else { 0.0 },
            cka: if moves(block) { 0.95 - 0.1 * block as f64 } else { 1.0 },
        };
        result.changes = (0..4).map(change).collect();
        if policy == "first-4" {
            let stage = &mut result.stages[0];
            let steps = stage.steps;
            let settled = |group: &str, step| Settled { group: group.into(), step };
            stage.settled = vec![settled("embeddings", steps / 4), settled("block 0", steps / 2)];
            // One seed settles later and less.
            stage.settled.truncate(if seed == 42.0 { 2 } else { 1 });
        }
    }
    let files = files("moved", &sweep, &records);
    let page = text(&files, "report.md");
    let english = &page[page.find("## en").expect("a language")..];
    let section = |title: &str| {
        let section = &english[english.find(title).expect("the section")..];
        &section[..4 + section[4..].find("\n### ").expect("the next section")]
    };
    insta::assert_snapshot!("moved", section("### How far each block moved"));
    insta::assert_snapshot!("settled", section("### What froze on the way"));
    let speedups = section("### Time saved, predicted");
    let row = speedups.lines().find(|line| line.starts_with("| first-4 ")).expect("its row");
    assert!(row.matches('–').count() == 2, "no step stands for all: {row}");
    let csv = &crate::table(&files, "changes");
    assert_eq!(csv.lines().count(), 1 + records.len() * 4);
    assert!(csv.lines().nth(1).is_some_and(|line| line.ends_with(",block 0,0.01,0.95")), "{csv}");
    assert!(text(&files, "figures/changes.svg").contains("CKA of outputs with the start"));
}
