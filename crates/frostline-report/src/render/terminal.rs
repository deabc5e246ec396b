//! Tables on a terminal.

use crate::render::escape;
use crate::render::text::{column_widths, pad, table_cells};
use crate::table::Table;

/// A table for a terminal of this many columns. It does not wrap: the least important columns are omitted.
pub(crate) fn write_table(table: &Table, width: usize) -> String {
    write_aligned(table, &[], width)
}

/// The same with columns as wide as in other tables of the same columns, so that all omit the same ones.
pub(crate) fn write_aligned(table: &Table, others: &[&Table], width: usize) -> String {
    let (heads, rows) = table_cells(table, escape::line);
    let all = others.iter().filter(|other| other.has_columns_of(table));
    let widths = all.fold(column_widths(&heads, &rows), |widest, other| {
        let (heads, rows) = table_cells(other, escape::line);
        widest.into_iter().zip(column_widths(&heads, &rows)).map(|(a, b)| a.max(b)).collect()
    });
    let mut shown = table.filled();
    let total = |shown: &[usize]| shown.iter().map(|&at| widths[at] + 2).sum::<usize>();
    while total(&shown) > width + 2 {
        let Some(&least) = shown.iter().max_by_key(|&&at| table.heads[at].rank) else { break };
        if table.heads[least].rank == 0 {
            break;
        }
        shown.retain(|&at| at != least);
    }
    let line = |cell: &dyn Fn(usize) -> String| {
        let padded = shown.iter().map(|&at| pad(&cell(at), widths[at], !table.heads[at].unit.is_text()));
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = line(&|at| heads[at].clone());
    text += &line(&|at| "─".repeat(widths[at]));
    for row in &rows {
        text += &line(&|at| row[at].clone());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Quantity, TableColumns};

    #[test]
    fn narrow_terminals_omit_the_least_important_columns() {
        let columns = TableColumns::default()
            .column("Policy", Quantity::Text, |row: &(&str, f64, f64)| row.0)
            .ranked(1, "Accuracy", Quantity::Number(1, ""), |row| row.1)
            .ranked(2, "Speed", Quantity::Number(1, ""), |row| row.2);
        let found = columns.table([("none", 96.4, 7.4), ("all", 9.1, 11.2)]);
        assert!(write_table(&found, 23).starts_with("Policy  Accuracy  Speed\n"));
        assert!(write_table(&found, 22).starts_with("Policy  Accuracy\n"));
        assert!(write_table(&found, 1).starts_with("Policy\n"));
    }
}
