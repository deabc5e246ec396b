//! What is scored while cells learn, cells that stop early, and rates that a search found.

use frostline_record::{DevPoint, Edge, FoundRate, RateSearch, RateTrial, Record, Rung, ScoredOn, Sweep};
use frostline_report::{Report, ReportError};

use crate::common::{paper, records, sweep};
use crate::{files, text};

/// Dev every hundred steps of a cell's first two epochs, rising from half of what the first epoch reached.
fn with_points(record: &mut Record) {
    let result = record.result.as_mut().expect("a result");
    let first = result.epochs[0].clone();
    let point = |step: u64| {
        let mut dev = first.dev.clone();
        dev.correct = dev.correct / 2 + dev.correct * step / (4 * first.step);
        DevPoint { step, epoch: 1 + (step - 1) as u32 / first.step as u32, dev, others: Default::default() }
    };
    result.dev_points = (1..=2 * first.step / 100).map(|at| point(100 * at)).collect();
}

#[test]
fn dev_within_epochs_is_a_figure_and_a_file() {
    let sweep = sweep("steps", &paper(), 2, false, "");
    let mut records = records(&sweep, &paper());
    let without = files("steps", &sweep, &records);
    assert!(without.iter().all(|file| !file.path.contains("dev_steps")));
    records.iter_mut().for_each(with_points);
    let files = files("steps", &sweep, &records);
    let svg = text(&files, "figures/dev_steps.svg");
    assert!(svg.contains("optimiser step") && svg.contains("dev accuracy, %"), "{svg}");
    let rows = &crate::table(&files, "dev_steps");
    let points: usize =
        records.iter().map(|record| record.result.as_ref().expect("one").dev_points.len()).sum();
    assert_eq!(rows.lines().count(), points + 1);
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    assert_eq!(json["groups"][0]["dev_steps"][0]["step"], 100);
}

#[test]
fn cells_that_stopped_early_are_listed_with_their_last_epoch() {
    let patient = "[settings.train]\npatience = 1";
    let sweep = sweep("patient", &paper(), 2, false, patient);
    let mut records = records(&sweep, &paper());
    for (at, epoch) in [(0, 3), (5, 4)] {
        let result = records[at].result.as_mut().expect("a result");
        result.epochs.truncate(epoch);
        result.stages[0].selected_epoch = epoch as u32;
        result.stages[0].stopped_early = Some(epoch as u32);
    }
    let files = files("patient", &sweep, &records);
    let page = text(&files, "report.md");
    let start = page.find("### Cells that stopped early").expect("a section");
    let section = &page[start..page[start + 4..].find("###").map_or(page.len(), |end| start + 4 + end)];
    insta::assert_snapshot!("stopped_early", section);
    let stopped = crate::cells(&files).into_iter().map(|row| row["cell_stopped_early_after_epoch"].clone());
    assert_eq!(stopped.filter(|epoch| !epoch.is_empty()).collect::<Vec<_>>(), ["3", "4"]);
}

/// A search in which scores fall with the distance from a rate, on twice as many sentences in the second rung.
fn search(policies: &[(&str, i32, Option<Edge>)]) -> RateSearch {
    let found = |&(policy, best, edge): &(&str, i32, Option<Edge>)| {
        let rate = |place: i32| 10_f64.powi(place);
        let trial = |place: i32, loss: f64| RateTrial {
            lr: rate(place),
            // The highest diverged.
            score: (place < -1).then(|| 0.9 - loss - 0.05 * f64::from((place - best).abs())),
            cells: vec![format!("{policy}{place}")],
        };
        let rung = |sentences: u64, places: std::ops::RangeInclusive<i32>, loss: f64| Rung {
            sentences,
            trials: places.map(|place| trial(place, loss)).collect(),
        };
        FoundRate {
            policy: policy.parse().expect("a policy"),
            langs: ["en", "pcm"].map(|lang| lang.parse().expect("a name")).to_vec(),
            axes: Default::default(),
            parameters: [if policy == "none" { 1000 } else { 10 }, 1000],
            scored_on: ScoredOn::Train,
            rungs: vec![rung(500, best - 2..=best + 1, 0.1), rung(1000, best - 1..=best, 0.0)],
            lr: rate(best),
            edge,
        }
    };
    RateSearch { running: false, seed: 9001, found: policies.iter().map(found).collect() }
}

#[test]
fn rates_that_were_found_are_shown_and_leave_pairs_as_they_are() {
    let mut sweep = sweep("searched", &paper(), 3, false, "");
    let without = files("searched-without", &sweep, &records(&sweep, &paper()));
    let rates = search(&[("none", -4, None), ("all", -2, Some(Edge::Highest))]);
    let grid = sweep.plan.cells().expect("a grid").with_rates(&rates.found);
    for (cell, settings) in sweep.cells.iter_mut().zip(grid.iter()) {
        // The records' accuracies depend on the rate: they stay as they were.
        cell.settings.optimizer.lr = settings.optimizer.lr;
    }
    let lr = |cell: &frostline_record::Cell| (cell.settings.policy.to_string(), cell.settings.optimizer.lr);
    assert_eq!(lr(&sweep.cells[1]), ("all".into(), 1e-2));
    let mut plain = sweep.clone();
    plain.cells.iter_mut().for_each(|cell| cell.settings.optimizer.lr = 5e-5);
    let mut records = records(&plain, &paper());
    for (record, cell) in records.iter_mut().zip(&sweep.cells) {
        record.cell = cell.clone();
    }
    sweep.rates = Some(rates);
    let files = files("searched", &sweep, &records);
    let page = text(&files, "report.md");
    let start = page.find("## Learning rates").expect("a section");
    let end = page[start + 4..].find("\n## ").expect("another section");
    insta::assert_snapshot!("rates_section", &page[start..=start + 4 + end]);
    let first =
        page.lines().find(|line| line.contains("the search chose the highest rate")).expect("said first");
    assert!(page.find(first) < page.find("## Learning rates"), "before the results");
    insta::assert_snapshot!("rate_at_edge", first);
    let svg = text(&files, "figures/rates.svg");
    assert!(
        svg.contains("learning rate") && svg.contains(">1e-4<") && svg.contains("1,000 sentences"),
        "{svg}"
    );
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    assert_eq!(json["learning_rates"]["found"][1]["lr"], 0.01);
    // The rate is no further axis: cells of one seed are still compared with `none`.
    let verdicts = |files: &[frostline_report::ReportFile]| {
        let json: serde_json::Value = serde_json::from_str(text(files, "report.json")).expect("JSON");
        let of = |group: &serde_json::Value| (group["policy"].clone(), group["dev_accuracy_gain"].clone());
        json["groups"].as_array().expect("groups").iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&files), verdicts(&without));
    assert!(crate::cells(&files).iter().all(|row| row["cell_learning_rate"].parse::<f64>().is_ok()));
    assert!(!text(&without, "report.md").contains("Learning rates"));
}

/// A sweep with dev within epochs, and with rates that a search found on many sentences and at far ends.
pub fn watched_and_searched() -> (Sweep, Vec<Record>) {
    let mut sweep = sweep("watched", &paper(), 2, false, "");
    let mut records = records(&sweep, &paper());
    records.iter_mut().for_each(with_points);
    sweep.rates = Some(search(&[
        ("none", -5, None),
        ("first-2", -5, None),
        ("first-4", -4, None),
        ("alternating", -4, None),
        ("all", -3, Some(Edge::Highest)),
    ]));
    (sweep, records)
}

#[test]
fn a_search_that_goes_on_has_no_report_yet() {
    let mut sweep = sweep("searching", &paper(), 1, false, "");
    sweep.rates = Some(RateSearch { running: true, ..RateSearch::default() });
    let error = Report::new(&sweep, &[], &[], None).files().expect_err("no comparison");
    assert!(matches!(error, ReportError::Searching { .. }), "{error}");
}
