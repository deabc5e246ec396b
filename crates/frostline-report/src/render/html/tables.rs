//! Tables as data of the page: column by column, what is shown beside what is sorted by and saved.

use serde_json::{Value as Json, json};

use crate::render::html::data::{number, text, texts};
use crate::render::text::{head, shown};
use crate::table::{Quantity, Table, Value};

/// A table. Columns without any value are omitted.
pub(super) fn table(table: &Table) -> Json {
    let columns: Json = table.filled().into_iter().map(|at| column(table, at)).collect();
    json!({ "n": table.rows.len(), "c": columns })
}

fn column(table: &Table, at: usize) -> Json {
    let of = &table.heads[at];
    let values = || table.rows.iter().map(|row| &row[at]);
    let told: Vec<String> = values().map(|value| shown(value, of.unit)).collect();
    let mut column = json!({ "h": text(&head(of)) });
    if of.unit.is_text() {
        column["t"] = texts(&told);
        if holds_policies(&of.name) {
            column["p"] = 1.into();
        }
        return column;
    }
    // The name without its unit, as in files for programs: shares there are fractions of 1.
    column["f"] = text(&of.name);
    column["v"] = values().map(raw).collect();
    let plain = of.unit == Quantity::Count && values().all(|value| matches!(value, Value::Count(_)));
    if !plain {
        column["t"] = texts(&told);
    }
    if let Some(shape) = values().find_map(shape) {
        column["w"] = shape.into();
    }
    column
}

/// Whether a column names what is frozen.
fn holds_policies(name: &str) -> bool {
    matches!(name, "Frozen" | "Policy" | "policy")
}

/// What stands in an array of raw values besides the first.
fn shape(value: &Value) -> Option<&'static str> {
    match value {
        Value::Spread(_) => Some("std"),
        Value::Mean(_) => Some("interval"),
        Value::Range(_) => Some("range"),
        Value::Error(..) => Some("error"),
        _ => None,
    }
}

/// A value for sorting and for files: a number, or numbers of which the first is sorted by.
fn raw(value: &Value) -> Json {
    match value {
        Value::Missing | Value::Text(_) => Json::Null,
        Value::Truth(truth) => u8::from(*truth).into(),
        Value::Count(count) => (*count).into(),
        Value::Number(value) => number(*value),
        Value::Spread(stat) => match stat.std {
            Some(std) => json!([number(stat.mean), number(std)]),
            None => number(stat.mean),
        },
        Value::Mean(mean) => match mean.interval {
            Some([low, high]) => json!([number(mean.mean), number(low), number(high)]),
            None => number(mean.mean),
        },
        Value::Range([low, high]) => json!([number(*low), number(*high)]),
        Value::Error(value, error) => match error {
            Some(error) => json!([number(*value), number(*error)]),
            None => number(*value),
        },
    }
}

#[cfg(test)]
mod tests {
    use frostline_score::MeanStd;

    use super::*;
    use crate::table::Columns;

    #[test]
    fn a_column_has_what_is_shown_and_what_is_sorted_by() {
        let stat = MeanStd::of(&[0.9, 0.8]).expect("two values");
        let columns = Columns::default()
            .column("Frozen", Quantity::Text, |row: &(&str, u64)| row.0)
            .column("Accuracy", Quantity::Percent(1), |row| (row.1 > 1).then_some(stat))
            .optional("Nothing", Quantity::Count, |_| Value::Missing)
            .column("Words", Quantity::Count, |row| row.1);
        let found = table(&columns.table([("none", 1), ("<all>", 2)]));
        assert_eq!(found["n"], 2);
        assert_eq!(found["c"][0], json!({ "h": "Frozen", "t": ["none", "<all>"], "p": 1 }));
        assert_eq!(found["c"][1]["t"], json!(["–", "85.0 ± 7.1"]));
        assert_eq!(found["c"][1]["v"][0], Json::Null);
        assert_eq!((&found["c"][1]["w"], &found["c"][1]["h"]), (&json!("std"), &json!("Accuracy %")));
        assert_eq!(found["c"][2], json!({ "h": "Words", "f": "Words", "v": [1, 2] }));
    }
}
