//! `results.tex`: every number of the tables under a name of three parts, such as `en`, `first-4`, `dev-accuracy`.

use std::collections::BTreeMap;

use frostline_score::MeanInterval;

use super::commands::{MADE, NUMBER, NUMBERS, SAME, UNICODE};
use crate::render::escape::line;
use crate::render::latex::{format_value, key_part};
use crate::table::{PaperTable, Quantity, TableValue};

/// `results.tex`, with these definitions.
pub(super) fn write_file(name: &str, synthetic: bool, definitions: &str, digest: &str) -> String {
    let synthetic =
        if synthetic { "% Synthetic data: its sentences are made up by a program.\n" } else { "" };
    format!(
        "% Numbers of the sweep {}. {MADE}\n{synthetic}{NUMBERS}\\def\\FrostlineResultsDigest{{{digest}}}\n{SAME}{UNICODE}{NUMBER}{definitions}",
        line(name)
    )
}

/// A line for each number of the tables. A name is there once: if another number has it, a number follows.
pub(super) fn write_definitions(tables: &[PaperTable]) -> String {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut out = String::new();
    for table in tables {
        for (row, [first, second]) in table.table.rows.iter().zip(&table.names) {
            for (found, head) in row.iter().zip(&table.table.heads).skip(table.keys) {
                for (part, text) in named_parts(found, head.unit) {
                    let column = format!("{}{}{part}", table.prefix, kebab_case(&head.name));
                    let name =
                        [first, second, &column].map(|part| format!("{{{}}}", key_part(part))).concat();
                    let numbered =
                        (2..).map(|number| name.trim_end_matches('}').to_string() + &format!("-{number}}}"));
                    let free = |name: &String| known.get(name).is_none_or(|other| *other == text);
                    let name = [name.clone()].into_iter().chain(numbered).find(free).unwrap_or_default();
                    if known.insert(name.clone(), text.clone()).is_none() {
                        out += &format!("\\FrostlineDefine{name}{{{text}}}\n");
                    }
                }
            }
        }
    }
    out
}

/// A value as its table shows it, and if it has parts each of them, with the end of its name.
fn named_parts(found: &TableValue, unit: Quantity) -> Vec<(&'static str, String)> {
    let number = |number: f64| format_value(&TableValue::Number(number), unit);
    let whole = ("", format_value(found, unit));
    match found {
        TableValue::Missing => Vec::new(),
        TableValue::Spread(stat) => {
            // A deviation has no sign, also if the mean has one.
            let deviation = |std| ("-std", number(std).replace('+', ""));
            [whole, ("-mean", number(stat.mean))].into_iter().chain(stat.std.map(deviation)).collect()
        }
        TableValue::Mean(MeanInterval { mean, interval, .. }) => {
            let ends = interval.map(|[low, high]| [("-low", number(low)), ("-high", number(high))]);
            [whole, ("-mean", number(*mean))].into_iter().chain(ends.into_iter().flatten()).collect()
        }
        TableValue::Range([low, high]) => vec![whole, ("-low", number(*low)), ("-high", number(*high))],
        _ => vec![whole],
    }
}

/// A column's name as a part of a key: `Test accuracy` is `test-accuracy`. A tag's name, in capitals, stays as it is.
fn kebab_case(name: &str) -> String {
    let is_tag = !name.chars().any(char::is_lowercase);
    let name = name.replace(['*', '`', ':', ','], "").replace('−', "minus").replace('%', "");
    let name = if is_tag { name } else { name.to_lowercase() };
    name.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TableColumns;

    #[test]
    fn names_of_columns_can_be_typed() {
        for (name, expected) in [
            ("Test accuracy", "test-accuracy"),
            ("Study: time saved", "study-time-saved"),
            ("Ours − study", "ours-minus-study"),
            ("`NOUN`", "NOUN"),
            ("B-PER", "B-PER"),
            ("Known %", "known"),
            ("95 % interval", "95-interval"),
        ] {
            assert_eq!(kebab_case(name), expected);
        }
    }

    #[test]
    fn a_name_is_there_once() {
        let table =
            |values: [f64; 2]| {
                let columns = TableColumns::default()
                    .column("Frozen", Quantity::Text, |_: &f64| "none")
                    .column("Score", Quantity::Number(1, ""), |value: &f64| *value);
                PaperTable::new("t", "", columns.table(values)).named_by_row("en", "")
            };
        let found = write_definitions(&[table([1.0, 2.0]), table([1.0, 3.0])]);
        let expected = [("score", "1.0"), ("score-2", "2.0"), ("score-3", "3.0")];
        let expected = expected.map(|(name, value)| {
            format!("\\FrostlineDefine{{en}}{{none}}{{{name}}}{{\\ensuremath{{{value}}}}}\n")
        });
        assert_eq!(found, expected.concat());
    }
}
