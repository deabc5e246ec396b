//! Values as a reader sees them, by their unit.

use crate::number::{NONE, count, decimals, fixed, plus_minus, signed, signed_plus_minus};
use crate::table::{ColumnHead, Quantity, Table, TableValue};

/// A column's head: its name and unit.
pub(super) fn column_head(head: &ColumnHead) -> String {
    format!("{}{}", head.name, head.unit.suffix())
}

/// The heads of a table, and its rows, each text escaped.
pub(super) fn table_cells(table: &Table, escape: fn(&str) -> String) -> (Vec<String>, Vec<Vec<String>>) {
    let row = |row: &Vec<TableValue>| {
        row.iter().zip(&table.heads).map(|(value, head)| escape(&show_value(value, head.unit))).collect()
    };
    let heads = table.heads.iter().map(|column| escape(&column_head(column)));
    (heads.collect(), table.rows.iter().map(row).collect())
}

/// A value in its unit.
pub(super) fn show_value(value: &TableValue, unit: Quantity) -> String {
    match value {
        TableValue::Missing => NONE.into(),
        TableValue::Text(text) => text.clone(),
        TableValue::Truth(truth) => if *truth { "yes" } else { "no" }.into(),
        TableValue::Count(value) => count(*value),
        TableValue::Number(value) => show_number(*value, unit),
        TableValue::Spread(stat) => match unit {
            Quantity::Percent(places) | Quantity::Share(places) => plus_minus(stat.times(100.0), places),
            Quantity::Points(places) | Quantity::Change(places) | Quantity::SignedPercent(places) => {
                signed_plus_minus(stat.times(100.0), places)
            }
            Quantity::Measured(_) => plus_minus(*stat, decimals(stat.mean)),
            Quantity::Fine(_) => plus_minus(*stat, decimals(stat.mean).max(1)),
            Quantity::Number(places, _) => plus_minus(*stat, places),
            _ => plus_minus(*stat, 2),
        },
        TableValue::Mean(mean) if let Quantity::Percent(places) = unit => {
            let ends = mean.interval.map(|ends| ends.map(|end| fixed(100.0 * end, places)));
            let interval = ends.map(|[low, high]| format!(" [{low}, {high}]"));
            fixed(100.0 * mean.mean, places) + &interval.unwrap_or_default()
        }
        TableValue::Mean(mean) => {
            let mean = mean.times(100.0);
            let interval =
                mean.interval.map(|[low, high]| format!(" [{}, {}]", signed(low, 2), signed(high, 2)));
            signed(mean.mean, 2) + &interval.unwrap_or_default()
        }
        TableValue::Range(ends) => ends.map(|end| interval_end(end, unit)).join(" to "),
        TableValue::Error(value, error) => {
            let error = error.map_or_else(String::new, |error| format!(" ± {}", fixed(error * 100.0, 2)));
            show_number(*value, unit) + &error
        }
    }
}

/// The end of an interval. An end that is not 0 is not shown as 0: on which side of 0 an interval lies is its verdict.
pub(super) fn interval_end(value: f64, unit: Quantity) -> String {
    if let Quantity::Points(places) | Quantity::Change(places) = unit {
        let is_zero = |text: &String| text.chars().all(|sign| matches!(sign, '0' | '.'));
        let more = (places..=places + 2).map(|places| signed(value * 100.0, places));
        if let Some(text) = more.into_iter().find(|text| !is_zero(text)) {
            return text;
        }
    }
    show_number(value, unit)
}

fn show_number(value: f64, unit: Quantity) -> String {
    match unit {
        Quantity::Percent(places) | Quantity::Share(places) => fixed(value * 100.0, places),
        Quantity::Points(places) | Quantity::Change(places) | Quantity::SignedPercent(places) => {
            signed(value * 100.0, places)
        }
        Quantity::HalfWidth(places) => format!("± {}", fixed(value * 100.0, places)),
        Quantity::Measured(_) => fixed(value, decimals(value)),
        Quantity::Fine(_) => fixed(value, decimals(value).max(1)),
        Quantity::Number(places, _) => fixed(value, places),
        Quantity::Signed(places) => signed(value, places),
        Quantity::Probability if value < 0.0001 => "< 0.0001".into(),
        Quantity::Probability => fixed(value, 4),
        Quantity::Text | Quantity::Truth | Quantity::Count | Quantity::Exact => fixed(value, 2),
    }
}

/// The width of each column.
pub(super) fn column_widths(heads: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let width = |text: &String| text.chars().count();
    let widest = |(i, head)| rows.iter().map(|row| width(&row[i])).fold(width(head), usize::max);
    heads.iter().enumerate().map(widest).collect()
}

/// A text with spaces up to a width.
pub(super) fn pad(text: &str, width: usize, right: bool) -> String {
    let space = " ".repeat(width.saturating_sub(text.chars().count()));
    if right { space + text } else { text.to_string() + &space }
}
