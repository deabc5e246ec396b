//! `results.tex`: every number of the main table under a name of three parts, such as `en`, `first-4`, `dev-accuracy`.

use super::commands::{MADE, NUMBER, NUMBERS, SAME, UNICODE};
use super::main_table::MainTable;
use crate::render::escape::line;
use crate::render::latex::{key, value};
use crate::study::Study;
use crate::table::{Quantity, Value};

/// `results.tex`, with these definitions.
pub(super) fn file(study: &Study, definitions: &str, digest: &str) -> String {
    let synthetic =
        if study.synthetic() { "% Synthetic data: its sentences are made up by a program.\n" } else { "" };
    format!(
        "% Numbers of the sweep {}. {MADE}\n{synthetic}{NUMBERS}\\def\\FrostlineResultsDigest{{{digest}}}\n{SAME}{UNICODE}{NUMBER}{definitions}",
        line(&study.sweep.plan.name)
    )
}

/// A line for each number.
pub(super) fn definitions(main: &MainTable) -> String {
    let mut out = String::new();
    for (row, [lang, policy]) in main.table.rows.iter().zip(&main.names) {
        for (found, head) in row.iter().zip(&main.table.heads).skip(main.keys) {
            for (part, text) in parts(found, head.unit) {
                let (lang, policy, name) = (key(lang), key(policy), kebab(&head.name) + part);
                out += &format!("\\FrostlineDefine{{{lang}}}{{{policy}}}{{{name}}}{{{text}}}\n");
            }
        }
    }
    out
}

/// A value as its table shows it, and where it has parts each of them, with the end of its name.
fn parts(found: &Value, unit: Quantity) -> Vec<(&'static str, String)> {
    let number = |number: f64| value(&Value::Number(number), unit);
    let whole = ("", value(found, unit));
    match found {
        Value::Missing => Vec::new(),
        Value::Spread(stat) => {
            // A deviation has no sign, also where the mean has one.
            let deviation = |std| ("-std", number(std).replace('+', ""));
            [whole, ("-mean", number(stat.mean))].into_iter().chain(stat.std.map(deviation)).collect()
        }
        Value::Range([low, high]) => vec![whole, ("-low", number(*low)), ("-high", number(*high))],
        _ => vec![whole],
    }
}

/// A column's name as a part of a key: `Dev accuracy` is `dev-accuracy`.
fn kebab(name: &str) -> String {
    name.to_lowercase().replace(' ', "-")
}
