//! Reports of hand-made records: every file's text, what is said about what is missing, and that
//! the same records give the same bytes.
//!
//! With `FROSTLINE_REPORT_OUT=DIR` each scenario is also written below `DIR`, to look at.

mod common;
mod detailed;
mod figures;
mod grids;
mod growth;
mod json;
mod latex;
mod learning;
mod merged;
mod mistakes;
mod page;
mod references;
mod results;
mod sanity;
mod stories;
mod trunks;
mod turns;
mod twins;
mod verdicts;
mod weights;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use common::{Lang, demo, failed, paper, record, records, sweep};
use frostline_record::{Load, Plan, PrefixState, PrefixUse, Record, Sweep};
use frostline_report::{Report, ReportError, ReportFile};

fn files(scenario: &str, sweep: &Sweep, records: &[Record]) -> Vec<ReportFile> {
    let files = Report::new(sweep, records, &[], None).files().expect("a report");
    keep(scenario, &files);
    files
}

/// A page without the plan in it, which is the plan of the sweep.
fn without_plan(page: &str, sweep: &Sweep) -> String {
    let (before, rest) = page.split_once("```toml\n").expect("a plan");
    let (plan, after) = rest.split_once("```\n").expect("the end of the plan");
    assert_eq!(Plan::parse(plan, "plan.toml").expect("a good plan"), sweep.plan);
    format!("{before}{after}")
}

/// Writes a scenario's files where they can be looked at, if asked to.
fn keep(scenario: &str, files: &[ReportFile]) {
    if let Some(out) = std::env::var_os("FROSTLINE_REPORT_OUT") {
        let folder = PathBuf::from(out).join(scenario);
        std::fs::create_dir_all(folder.join("figures")).expect("a folder");
        for file in files {
            std::fs::write(folder.join(&file.path), &file.bytes).expect("a file");
        }
    }
}

fn text<'a>(files: &'a [ReportFile], path: &str) -> &'a str {
    let file = files.iter().find(|file| file.path == path);
    let file = file.unwrap_or_else(|| panic!("no {path}"));
    std::str::from_utf8(&file.bytes).expect("UTF-8")
}

/// A table of `report.json` as lines of fields.
fn table(files: &[ReportFile], name: &str) -> String {
    let json: serde_json::Value = serde_json::from_str(text(files, "report.json")).expect("JSON");
    let table = &json["tables"][name];
    let field = |value: &serde_json::Value| match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) => number.as_f64().expect("a number").to_string(),
        other => other.to_string(),
    };
    let line = |row: &serde_json::Value| {
        let row = row.as_array().unwrap_or_else(|| panic!("no table {name}"));
        row.iter().map(field).collect::<Vec<_>>().join(",") + "\n"
    };
    let rows = table["data"].as_array().unwrap_or_else(|| panic!("no table {name}"));
    line(&table["columns"]) + &rows.iter().map(line).collect::<String>()
}

/// The first row of each cell in `results.csv`, its fields by column. No field of these records needs quotes.
fn cells(files: &[ReportFile]) -> Vec<BTreeMap<String, String>> {
    let mut lines = text(files, "results.csv").lines().map(|line| line.split(',').map(String::from));
    let names: Vec<String> = lines.next().expect("a head").collect();
    let rows = lines.map(|line| names.iter().cloned().zip(line).collect::<BTreeMap<_, _>>());
    let mut seen = BTreeSet::new();
    rows.filter(|row| seen.insert(row["cell_id"].clone())).collect()
}

/// Two languages, five policies, three seeds, all done.
fn whole() -> (Sweep, Vec<Record>) {
    let mut sweep = sweep("paper", &paper(), 3, false, "");
    sweep.overrides = vec!["data.lowercase=true".into()];
    let records = records(&sweep, &paper());
    (sweep, records)
}

/// The demo with test scores, a failed cell, a missing one, and a policy without any result.
fn gaps() -> (Sweep, Vec<Record>) {
    let sweep = sweep(
        "demo",
        &demo(),
        3,
        true,
        "[settings.eval]\ntest = true\n[settings.train]\nlog_every = 10\nepochs = 4",
    );
    let mut records = records(&sweep, &demo());
    let cells = sweep.cells.clone();
    let place = |lang: &str, policy: &str, seed: u64| {
        let is = |cell: &frostline_record::Cell| {
            let s = &cell.settings;
            s.lang == lang && s.policy == policy && s.seed == seed
        };
        cells.iter().position(is).expect("a planned cell")
    };
    let (bad, gone) = (place("en", "first-2", 43), place("pcm", "none", 44));
    records[bad] = failed(
        &records[bad].cell.clone(),
        "the loss is not a number after step 17 | try a lower `optimizer.lr`\ncaused by: ``x``",
    );
    for seed in 42..45 {
        let at = place("pcm", "alternating", seed);
        records[at] = failed(&records[at].cell.clone(), "out of memory");
    }
    records.remove(gone);
    (sweep, records)
}

/// One seed, two learning rates, and no policy `none`.
fn axes() -> (Sweep, Vec<Record>) {
    let langs = || -> Vec<Lang> {
        let mut langs = paper();
        for lang in &mut langs {
            lang.reach.retain(|(policy, _)| *policy != "none");
        }
        langs
    };
    let grid = "\"optimizer.lr\" = [2e-5, 5e-5]\n[settings.data]\nfirst = 2500";
    let sweep = sweep("rates", &langs(), 1, false, grid);
    let records = records(&sweep, &langs());
    (sweep, records)
}

/// All subsets of six blocks: more policies than a plot can name.
fn crowd() -> (Sweep, Vec<Record>) {
    let langs = || {
        let mut langs = paper();
        langs.truncate(1);
        let reach = (0..64_u64).map(|set| {
            let blocks: Vec<String> = (0..6).filter(|b| set >> b & 1 == 1).map(|b| b.to_string()).collect();
            let name = if set == 0 { "none".into() } else { format!("blocks-{}", blocks.join(".")) };
            let frozen = blocks.len() as f64;
            let accuracy = 0.964 - 0.0004 * frozen * frozen * frozen - 0.00005 * set as f64;
            let trainable = 134_747_153 - 7_087_872 * blocks.len() as u64;
            (&*name.leak(), (accuracy, trainable, 540.0 - 30.0 * frozen))
        });
        langs[0].reach = reach.collect();
        langs
    };
    let sweep = sweep("subsets", &langs(), 1, false, "");
    let records = records(&sweep, &langs());
    (sweep, records)
}

#[test]
fn a_whole_sweep() {
    let (sweep, records) = whole();
    let files = files("whole", &sweep, &records);
    insta::assert_snapshot!("whole_report", without_plan(text(&files, "report.md"), &sweep));
    insta::assert_snapshot!("whole_published", text(&files, "published.md"));
    insta::assert_snapshot!("whole_data", text(&files, "data.md"));
    insta::assert_snapshot!("whole_pareto_svg", text(&files, "figures/pareto.svg"));
    insta::assert_snapshot!("whole_terminal", Report::new(&sweep, &records, &[], None).terminal_table(140));
}

#[test]
fn a_synthetic_sweep_with_gaps() {
    let (sweep, records) = gaps();
    let files = files("gaps", &sweep, &records);
    let page = text(&files, "report.md").split("\n## How to reproduce it").next().unwrap_or_default();
    insta::assert_snapshot!("gaps_report", page);
    insta::assert_snapshot!("gaps_published", text(&files, "published.md"));
    let results = text(&files, "results.csv").lines().filter(|line| !line.contains(",4,"));
    insta::assert_snapshot!("gaps_results_csv", results.take(12).collect::<Vec<_>>().join("\n"));
    insta::assert_snapshot!("gaps_accuracy_svg", text(&files, "figures/accuracy.svg"));
    insta::assert_snapshot!("gaps_terminal", Report::new(&sweep, &records, &[], None).terminal_table(100));
}

#[test]
fn further_axes_and_one_seed() {
    let (sweep, records) = axes();
    let files = files("axes", &sweep, &records);
    let page = text(&files, "report.md").split("\n## How to reproduce it").next().unwrap_or_default();
    insta::assert_snapshot!("axes_report", page);
    insta::assert_snapshot!("axes_published", text(&files, "published.md"));
    insta::assert_snapshot!("axes_terminal", Report::new(&sweep, &records, &[], None).terminal_table(70));
}

#[test]
fn accuracies_far_apart() {
    let langs = || {
        let mut langs = paper();
        for lang in &mut langs {
            for ((_, reach), accuracy) in lang.reach.iter_mut().zip([0.9486, 0.6202, 0.9438, 0.9268, 0.9361])
            {
                reach.0 = accuracy;
            }
        }
        langs
    };
    let sweep = sweep("far", &langs(), 1, false, "");
    let files = files("far", &sweep, &records(&sweep, &langs()));
    let svg = text(&files, "figures/convergence.svg");
    assert!(svg.contains("stretched towards 100 %"));
    // Differences this large show on bars from 0, and then nothing speaks of a cut axis.
    assert!(text(&files, "figures/accuracy.svg").contains(">dev accuracy, %<"));
}

#[test]
fn more_policies_than_a_plot_can_name() {
    let (sweep, records) = crowd();
    let files = files("crowd", &sweep, &records);
    let svg = text(&files, "figures/convergence.svg");
    assert!(svg.contains("Of 64 policies, the highest 12"), "{svg}");
    assert!(svg.contains(">none<"));
    // Twenty names, of which the baseline is one of the highest.
    let titles = svg.matches("<title>blocks-").count();
    assert_eq!(svg.matches(">blocks-").count() - titles, 19);
}

#[test]
fn every_output_of_a_synthetic_plan_says_so() {
    let (sweep, records) = gaps();
    let report = Report::new(&sweep, &records, &[], None);
    for file in files("gaps", &sweep, &records) {
        if file.path.ends_with(".parquet") || file.path.ends_with(".pdf") {
            continue; // The same as results.csv and the figures in SVG.
        }
        let text = std::str::from_utf8(&file.bytes).expect("UTF-8");
        match file.path.rsplit('.').next() {
            Some("csv") => {
                let mut lines = text.lines();
                assert!(lines.next().is_some_and(|head| head.starts_with("synthetic,")));
                assert!(text.lines().filter(|line| line.starts_with("true,")).count() > 1);
            }
            Some("json") => assert!(text.contains("\"synthetic\": true")),
            Some("svg") => assert!(text.contains(">SYNTHETIC DATA"), "{}", file.path),
            Some("tex") => assert!(text.to_lowercase().contains("synthetic data"), "{}", file.path),
            Some("html") => assert!(text.contains("<strong>Synthetic data.</strong>"), "{}", file.path),
            _ => assert!(text.contains("**Synthetic data"), "{}", file.path),
        }
    }
    assert!(report.terminal_table(80).contains("SYNTHETIC DATA"));

    let (sweep, records) = whole();
    for file in files("whole", &sweep, &records) {
        let text = String::from_utf8_lossy(&file.bytes).to_lowercase();
        assert!(!text.contains("synthetic data"), "{}", file.path);
    }
}

#[test]
fn the_same_records_give_the_same_bytes_in_any_order() {
    let (sweep, mut records) = gaps();
    let first = Report::new(&sweep, &records, &[], None).files().expect("a report");
    records.reverse();
    let again = Report::new(&sweep, &records, &[], None).files().expect("a report");
    assert_eq!(first, again);
    records[0].timing = records[1].timing.clone();
    let other = Report::new(&sweep, &records, &[], None).files().expect("a report");
    assert_ne!(first, other, "a report that ignores its records proves nothing");
}

/// A constant prefix that was read, one that dropout forbids, and one that was switched off.
#[test]
fn a_constant_prefix_is_told_with_its_time_and_the_next_step() {
    use PrefixState::{Computed, DropoutActs, Shared, SwitchedOff};
    let (sweep, mut records) = whole();
    for record in &mut records {
        let settings = &record.cell.settings;
        let timing = record.timing.as_mut().expect("a time");
        let (state, blocks, fill_ms) = match (settings.lang.as_str(), settings.policy.as_str()) {
            ("en", "first-2") if settings.seed == 42 => (Computed, 2, 2500.0),
            ("en", "first-2") => (Shared, 2, 0.5),
            ("en", "first-4") if settings.seed == 42 => (SwitchedOff, 4, 0.0),
            ("en", "first-4") => (Computed, 4, 1000.0 * settings.seed as f64),
            ("en", "all") => (DropoutActs, 6, 0.0),
            _ => continue,
        };
        timing.prefix = PrefixUse { blocks, state, fill_ms };
        timing.total_ms += fill_ms;
    }
    let files = files("prefix", &sweep, &records);
    let page = text(&files, "report.md");
    let (en, pcm) = page.split_once("## pcm").expect("two languages");
    let times = en.split_once("### Where the time goes").expect("times").1;
    insta::assert_snapshot!(times.split_once("### Time saved, predicted").expect("the prediction").0);
    assert!(!pcm.contains("Prefix s |") && !pcm.contains("### Constant prefix"), "nothing to tell there");

    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let groups = json["groups"].as_array().expect("groups");
    let of = |policy: &str| {
        let is = |group: &&serde_json::Value| group["policy"] == policy && group["lang"] == "en";
        groups.iter().find(is).expect("the group")
    };
    assert_eq!(of("first-2")["prefix"]["cells"], serde_json::json!({"computed": 1, "shared": 2}));
    assert_eq!(of("first-2")["prefix"]["computed_s"]["mean"], 2.5);
    assert!(of("none")["prefix"].is_null());
    // The time that a prefix took is in no training time.
    assert_eq!(of("first-2")["times"]["prefix_s"]["n"], 3);

    let of = |state: &str, blocks: &str, seconds: &str| {
        let is = |row: &&BTreeMap<String, String>| {
            [&row["cell_prefix_state"], &row["cell_prefix_blocks"], &row["cell_prefix_s"]]
                == [state, blocks, seconds]
        };
        cells(&files).iter().filter(is).count()
    };
    assert_eq!(of("computed", "2", "2.5"), 1);
    assert_eq!(of("dropout-acts", "6", "0.0"), 3);
    assert_eq!(of("none", "0", "0.0"), 21);
}

#[test]
fn what_cells_computed_in_is_told_where_it_is_not_f32_throughout() {
    let sweep = sweep("mixed", &paper(), 1, false, "\"train.precision\" = [\"f32\", \"bf16\"]");
    let mut records = records(&sweep, &paper());
    for record in &mut records {
        if record.cell.settings.lang == "en" {
            record.made_by.isa = "avx512+bf16".into();
        }
    }
    records.pop();
    let files = files("mixed", &sweep, &records);
    let page = text(&files, "report.md");
    let told = page.split_once("## Precision").expect("the section").1;
    insta::assert_snapshot!(told.split_once("## ").expect("what follows").0);
    let of = |isa: &str, precision: &str| {
        let is =
            |row: &&BTreeMap<String, String>| row["instruction_set"] == isa && row["precision"] == precision;
        cells(&files).iter().filter(is).count()
    };
    assert_eq!(of("avx512+bf16", "bf16"), 5);
    assert_eq!(of("avx512", "f32"), 9);
    let published = text(&files, "published.md");
    assert!(published.contains("precision of linear layers: study f32, here f32 or bf16"), "{published}");

    let (sweep, records) = whole();
    let files = Report::new(&sweep, &records, &[], None).files().expect("a report");
    assert!(!text(&files, "report.md").contains("## Precision"));
}

#[test]
fn every_difference_from_the_study_is_named_as_stages_use_it() {
    let stages = "[[settings.stages]]\nname = 'a'\n[[settings.stages]]\nname = 'b'\ntrain.epochs = 3\n";
    let idle = "data.strict_tags = true\ntrain.select_by = 'accuracy'\ntrain.temperature = 5.0\n";
    let settings = format!("[settings]\noptimizer.beta2 = 0.99\n{idle}{stages}");
    let sweep = sweep("paper", &paper(), 1, false, &settings);
    let files = files("differences", &sweep, &records(&sweep, &paper()));
    let page = text(&files, "published.md").split_once("## What is different").expect("the section").1;
    let page = page.split_once("\n## Where the study's text and figures differ").expect("the next section").0;
    let told: Vec<&str> = page.lines().filter(|line| line.starts_with("- ")).collect();
    let expected = [
        "- stages: study 1, here 2",
        "- epochs: study 5, here 5 or 3",
        "- `optimizer.beta2`: study 0.999, here 0.99",
    ];
    assert_eq!(told, expected);
}

#[test]
fn strays_and_one_seed_are_pointed_out() {
    let (sweep, mut records) = whole();
    let mut stray = record(&records[1].cell.clone(), &paper());
    stray.cell.id = "0000000000000000".into();
    records.push(stray);
    let files = files("makers", &sweep, &records);
    let page = text(&files, "report.md");
    assert!(page.contains("1 record in the folder belong"));
    assert!(!page.contains("single seed.**"));
    let (sweep, records) = axes();
    let files = Report::new(&sweep, &records, &[], None).files().expect("a report");
    assert!(text(&files, "report.md").contains("**Some rows rest on a single seed.**"));
}

/// Only what matters of those who made the records is a caveat.
#[test]
fn makers_that_differ_are_told_as_far_as_it_matters() {
    let told = |change: fn(&mut Record)| {
        let (sweep, mut records) = whole();
        change(&mut records[0]);
        let files = Report::new(&sweep, &records, &[], None).files().expect("a report");
        let page =
            text(&files, "report.md").split_once("## What to keep in mind").expect("caveats").1.to_string();
        let page = page.split("\n## ").next().unwrap_or_default();
        let is_of_makers =
            |line: &&str| ["- **The records", "- **Times come"].iter().any(|start| line.starts_with(start));
        page.lines().filter(is_of_makers).map(String::from).collect::<Vec<_>>()
    };
    assert!(told(|_| {}).is_empty());
    // Another build of the same code on the same machine: nothing that a reader has to know.
    assert!(told(|record| record.made_by.revision = "other".into()).is_empty());
    assert!(told(|record| record.made_by.version = "0.1.1".into()).is_empty());
    let code = told(|record| record.made_by.code = "f00d".into());
    assert_eq!(code.len(), 1);
    assert!(
        code[0].starts_with("- **The records come from 2 versions of the code** (`f00d` and `c0de`)"),
        "{code:?}"
    );
    let node = told(|record| record.made_by.node = "node7".into());
    assert_eq!(node.len(), 1);
    assert!(node[0].starts_with("- **Times come from 2 machines** (node7: A processor"), "{node:?}");
    let isa = told(|record| record.made_by.isa = "avx2".into());
    assert_eq!(isa.len(), 2);
    assert!(isa[0].starts_with("- **The records were computed in 2 ways**"), "{isa:?}");
}

/// Where steps were timed before, what a cell's steps should take stands beside what they took.
#[test]
fn a_predicted_step_stands_beside_the_measured_one() {
    let (sweep, mut records) = whole();
    for record in &mut records {
        let settings = &record.cell.settings;
        if settings.lang == "en" && settings.policy == "first-2" {
            record.timing.as_mut().expect("a time").predicted_step_ms = Some(settings.seed as f64);
        }
    }
    let files = files("predicted", &sweep, &records);
    let page = text(&files, "report.md");
    let (en, pcm) = page.split_once("## pcm").expect("two languages");
    let times = en.split_once("### Where the time goes").expect("times").1;
    let rows: Vec<&str> = times
        .lines()
        .filter(|line| line.contains("Median step ms") || line.starts_with("| first-2"))
        .collect();
    assert!(rows[0].contains("| Median step ms | Predicted step ms | Subwords/s |"), "{rows:?}");
    assert!(rows[1].contains(" 43.0 ± 1.0 |"), "{rows:?}");
    assert!(times.contains("**Predicted step**") && !pcm.contains("Predicted step"));
    assert!(cells(&files).iter().any(|row| !row["cell_predicted_step_ms"].is_empty()));
}

/// Times of two machines are neither averaged nor hidden.
#[test]
fn times_of_different_machines_have_no_mean() {
    let (sweep, mut records) = whole();
    for record in &mut records {
        let settings = &record.cell.settings;
        if settings.policy == "first-4" && settings.seed == 44 {
            record.made_by.node = "slow".into();
            record.timing.as_mut().expect("a time").train_ms = 1e6;
        }
    }
    let files = files("machines", &sweep, &records);
    let page = text(&files, "report.md");
    let rows = |start: &str| -> Vec<String> {
        let section = page.split_once(start).expect(start).1.split("\n### ").next().unwrap_or_default();
        let rows =
            section.lines().filter(|line| line.starts_with("| first-4") || line.starts_with("| Frozen"));
        rows.map(String::from).collect()
    };
    insta::assert_snapshot!("machines_times", rows("### Where the time goes").join("\n"));
    let study = rows("## en (UD_English-EWT)");
    assert!(study[1].contains(" – |"), "{study:?}");
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let groups = json["groups"].as_array().expect("groups");
    for group in groups {
        let mixed = group["policy"] == "first-4";
        assert_eq!(group["times"].is_null(), mixed, "{}", group["policy"]);
        assert_eq!(group["times_by_machine"].as_array().map(Vec::len), mixed.then_some(2));
    }
    assert!(text(&files, "results.csv").contains(",slow,"));
}

/// Times of a machine that did other work are marked wherever they stand.
#[test]
fn times_of_a_busy_machine_are_marked() {
    let (sweep, mut records) = whole();
    for record in &mut records {
        let busy = record.cell.settings.policy == "first-4" && record.cell.settings.seed != 42;
        let others = Some(if busy { 0.45 } else { 0.02 });
        let load = Load { before: Some(2.0), stolen: Some(0.0), others, mhz: Some(2_400.0) };
        record.timing.as_mut().expect("a time").load = Some(load);
    }
    let files = files("busy", &sweep, &records);
    let page = text(&files, "report.md");
    assert!(page.contains("**4 of 30 cells ran while the machine was busy**"), "{page}");
    let marked = page.lines().filter(|line| line.starts_with("| first-4") && line.contains("| 2 of 3"));
    assert_eq!(marked.count(), 4, "two tables of each language");
    let loaded = |row: &&BTreeMap<String, String>| {
        let load =
            ["cell_load_before", "cell_load_stolen_share", "cell_load_others_share", "cell_processor_mhz"];
        load.map(|name| row[name].as_str()) == ["2.0", "0.0", "0.45", "2400.0"]
            && row["cell_machine_busy"] == "true"
    };
    assert_eq!(cells(&files).iter().filter(loaded).count(), 4);
    assert!(text(&files, "index.html").contains("45\u{a0}% other programs"));
    // Records of before it was noted are marked in no way.
    let (sweep, records) = whole();
    let plain = Report::new(&sweep, &records, &[], None).files().expect("a report");
    assert!(!text(&plain, "report.md").contains("busy"));
}

#[test]
fn what_cannot_be_reported_is_an_error() {
    let (sweep, mut records) = whole();
    let empty = Sweep { cells: vec![], ..sweep.clone() };
    let error = Report::new(&empty, &[], &[], None).files().expect_err("no cells");
    insta::assert_snapshot!(error, @"the sweep `paper` has no cells; give its plan at least one language and policy");

    let twice = [records[0].clone(), records[0].clone()];
    let error = Report::new(&sweep, &twice, &[], None).files().expect_err("two records");
    assert!(matches!(error, ReportError::TwoRecords { .. }), "{error}");

    records[0].schema = 99;
    let error = Report::new(&sweep, &records, &[], None).files().expect_err("another schema");
    assert!(matches!(error, ReportError::Schema { found: 99, .. }), "{error}");
}

/// Languages can be compared: a column that one of them has is there for all, with dashes where it has no value.
#[test]
fn first_tables_have_the_same_columns_in_all_languages() {
    let (sweep, mut records) = gaps();
    // Only one language was scored on test, and its cells alone have times.
    for record in records.iter_mut().filter(|record| record.cell.settings.lang == "pcm") {
        record.timing = None;
        for stage in record.result.iter_mut().flat_map(|result| &mut result.stages) {
            stage.tasks.values_mut().for_each(|task| {
                task.scores.remove("test");
            });
        }
    }
    let report = Report::new(&sweep, &records, &[], None);
    let files = report.files().expect("a report");
    let page = text(&files, "report.md");
    let head = |lang: &str| {
        let section = page.split_once(&format!("\n## {lang}")).expect("the language").1;
        section.lines().find(|line| line.starts_with('|')).expect("its table").replace(' ', "")
    };
    assert!(head("en").contains("|Testaccuracy%|"), "{}", head("en"));
    assert_eq!(head("en"), head("pcm"));
    for width in [60, 80, 100, 200] {
        let terminal = report.terminal_table(width);
        let heads: Vec<&str> = terminal.lines().filter(|line| line.starts_with("frozen ")).collect();
        assert_eq!(heads.len(), 2, "{terminal}");
        assert_eq!(heads[0], heads[1], "{width} columns");
    }
    assert!(report.terminal_table(200).contains("test acc. %"));
}
