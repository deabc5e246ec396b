//! Several sweeps beside each other: one table, and what may not be compared.

use frostline_record::{Cell, Record, Sweep};
use frostline_report::{Merged, ReportError};

use crate::common::{demo, records, sweep};
use crate::text;

/// A sweep of two seeds whose cells were changed, with its records.
fn changed(grid: &str, change: impl Fn(&mut Cell), maker: impl Fn(&mut Record)) -> (Sweep, Vec<Record>) {
    let mut sweep = sweep("demo", &demo(), 2, true, grid);
    for cell in &mut sweep.cells {
        change(cell);
        *cell = Cell::new(cell.settings.clone(), cell.inputs.clone(), &cell.backend, &cell.code);
    }
    let mut records = records(&sweep, &demo());
    records.iter_mut().for_each(maker);
    (sweep, records)
}

/// What is said of two sweeps.
fn said(first: (Sweep, Vec<Record>), other: (Sweep, Vec<Record>)) -> (String, Vec<String>) {
    let merged = Merged::new([("a", first.0, first.1), ("b", other.0, other.1)], None);
    let files = merged.files().expect("a comparison");
    let page = text(&files, "comparison.md").to_string();
    let section = page.split("## What may not be compared").nth(1).expect("the section");
    let section = section.split("\n## ").next().expect("its lines");
    let lines = section.lines().filter_map(|line| line.strip_prefix("- **a** and **b**")).map(String::from);
    (page.clone(), lines.collect())
}

fn plain() -> (Sweep, Vec<Record>) {
    changed("", |_| {}, |_| {})
}

#[test]
fn two_encoders() {
    let other = changed(
        "",
        |cell| {
            cell.settings.encoder.name = "xlmr".parse().expect("a name");
            cell.inputs.get_mut("weights").expect("weights").sha256 = "0".repeat(64);
        },
        |_| {},
    );
    let (page, _) = said(plain(), other);
    insta::assert_snapshot!("two_encoders", page);
}

/// A name, another sweep, and what is said of it beside the plain one.
type Case<'a> = (&'a str, (Sweep, Vec<Record>), &'a [&'a str]);

#[test]
fn what_may_not_be_compared_is_said() {
    let cases: [Case<'_>; 7] = [
        (
            "an encoder of the same name",
            changed(
                "",
                |cell| cell.inputs.get_mut("weights").expect("weights").sha256 = "0".repeat(64),
                |_| {},
            ),
            &[
                " differ in one thing that accuracies depend on, which is what is compared: the encoder (distilbert-base-multilingual-cased with the \
                 weights `f8c546fa` and distilbert-base-multilingual-cased with the weights `00000000`).",
            ],
        ),
        ("the same", plain(), &[" differ in nothing that accuracies depend on."]),
        (
            "dev of one language",
            changed(
                "",
                |cell| {
                    if cell.settings.lang == "en" {
                        cell.inputs.get_mut("dev").expect("dev").sha256 = "0".repeat(64);
                    }
                },
                |_| {},
            ),
            &[
                ": accuracies of en may not be compared, since their files of dev are not the same.",
                " differ in nothing else that accuracies depend on.",
            ],
        ),
        (
            "train",
            changed("", |cell| cell.inputs.get_mut("train").expect("train").sha256 = "0".repeat(64), |_| {}),
            &[
                " differ in one thing that accuracies depend on, which is what is compared: the training data.",
            ],
        ),
        (
            "code and a setting",
            changed(
                "",
                |cell| {
                    cell.code = "f00d".into();
                    cell.settings.train.batch = 64;
                },
                |_| {},
            ),
            &[
                " differ in 2 things that accuracies depend on: `train.batch` (16 and 64) and the code (`c0de` and `f00d`). \
                 No difference can be put down to one of them.",
            ],
        ),
        (
            "a machine",
            changed("", |_| {}, |record| record.made_by.device = "Another processor".into()),
            &[
                " differ in nothing that accuracies depend on.",
                ": times may not be compared, since they ran on A processor of the test with 2 threads (avx512) and on \
                 Another processor with 2 threads (avx512).",
            ],
        ),
        (
            "seeds",
            {
                let sweep = sweep("demo", &demo(), 3, true, "");
                let records = records(&sweep, &demo());
                (sweep, records)
            },
            &[
                " differ in nothing that accuracies depend on.",
                ": means are over other seeds (42 and 43 and 42, 43 and 44); differences are over the seeds of both.",
            ],
        ),
    ];
    for (name, other, expected) in cases {
        assert_eq!(said(plain(), other).1, expected, "{name}");
    }
}

/// Its cells say the code and the backend, and nothing says the machine yet.
#[test]
fn a_sweep_without_records_differs_in_what_its_cells_say() {
    let (begun, _) = plain();
    assert_eq!(said(plain(), (begun, Vec::new())).1, [" differ in nothing that accuracies depend on."]);
    let (begun, _) = changed("", |cell| cell.code = "f00d".into(), |_| {});
    let expected = " differ in one thing that accuracies depend on, which is what is compared: the code (`c0de` and `f00d`).";
    assert_eq!(said(plain(), (begun, Vec::new())).1, [expected]);
}

/// Where every seed draws its dev, seeds are scored on other words: those that both sweeps have must be the same.
#[test]
fn words_of_dev_are_compared_seed_by_seed() {
    let drawn = |seeds: u64, shift: u64| {
        let sweep = sweep("demo", &demo(), seeds, true, "");
        let mut records = records(&sweep, &demo());
        for record in &mut records {
            let more = if record.cell.settings.seed == 43 { shift } else { record.cell.settings.seed };
            let stage = &mut record.result.as_mut().expect("a result").stages[0];
            stage.tasks.get_mut("upos").expect("the task").scores.get_mut("dev").expect("dev").words += more;
        }
        (sweep, records)
    };
    let lines = said(drawn(2, 7), drawn(3, 7)).1;
    assert_eq!(lines[0], " differ in nothing that accuracies depend on.");
    let lines = said(drawn(2, 7), drawn(3, 8)).1;
    assert_eq!(
        lines[0],
        ": accuracies of en may not be compared, since not the same words of dev are scored."
    );
}

/// Where not the same sentences are scored there is no difference.
#[test]
fn there_is_no_difference_of_what_may_not_be_compared() {
    let other = changed("", |cell| cell.inputs.get_mut("dev").expect("dev").sha256 = "0".repeat(64), |_| {});
    assert!(!said(plain(), other).0.contains("b − a"));
    assert!(said(plain(), plain()).0.contains("b − a"));
}

/// An axis of one sweep is a value of the other's cells.
#[test]
fn rows_are_matched_by_the_axes_of_both() {
    let other = changed("'optimizer.lr' = [5e-5, 1e-4]\n", |_| {}, |_| {});
    let (page, lines) = said(plain(), other);
    let row = page.lines().find(|line| line.contains("| first-2") && line.contains("1e-4")).expect("a row");
    assert!(row.contains("–"), "{row}");
    assert_eq!(lines, [" differ in nothing that accuracies depend on."]);
}

#[test]
fn all_rows_are_in_one_table_under_different_names() {
    let (first, other) = (plain(), plain());
    let merged = Merged::new([("demo", first.0, first.1), ("demo", other.0, other.1)], None);
    let files = merged.files().expect("a comparison");
    let results = text(&files, "results.csv");
    let of = |name: &str| results.lines().filter(|line| line.split(',').nth(1) == Some(name)).count();
    assert!(of("demo") > 0 && of("demo") == of("demo 2"), "{results}");
}

#[test]
fn a_fault_of_one_is_an_error() {
    let (first, mut other) = (plain(), plain());
    other.0.cells.clear();
    let merged = Merged::new([("a", first.0, first.1), ("b", other.0, other.1)], None);
    let error = merged.files().expect_err("no cells");
    assert!(matches!(error, ReportError::NoCells { .. }), "{error}");
    let none = Merged::new([], Some(&mut |_, _, _| None)).files().expect_err("no sweep");
    assert!(matches!(none, ReportError::NoSweeps), "{none}");
}
