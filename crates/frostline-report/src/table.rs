//! Owns tables of text, as Markdown and on a terminal.
//!
//! Refuses numbers: whoever fills a table has formatted them.

/// A column's head and how it behaves.
#[derive(Clone, Debug)]
struct Column {
    head: String,
    right: bool,
    /// Terminals too narrow for all columns lose those with the highest rank first; 0 stays.
    rank: u8,
}

/// A table of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Adds a column of words.
    pub fn left(mut self, head: impl Into<String>, rank: u8) -> Self {
        self.columns.push(Column { head: head.into(), right: false, rank });
        self
    }

    /// Adds a column of numbers.
    pub fn right(mut self, head: impl Into<String>, rank: u8) -> Self {
        self.columns.push(Column { head: head.into(), right: true, rank });
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<String> = cells.into_iter().collect();
        debug_assert_eq!(row.len(), self.columns.len(), "{row:?}");
        self.rows.push(row);
    }

    /// The table as Markdown, padded so that the raw text reads well too. Columns without any
    /// entry are left away.
    pub fn markdown(&self) -> String {
        let shown = self.filled();
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| escaped(row)).collect();
        let heads = escaped(&self.heads());
        let widths = widths(&heads, &rows);
        let mut text = line(&shown, |i| pad(&heads[i], widths[i], self.columns[i].right));
        text += &line(&shown, |i| {
            let dashes = "-".repeat(widths[i].max(2) - 1);
            if self.columns[i].right { format!("{dashes}:") } else { format!("{dashes}-") }
        });
        for row in &rows {
            text += &line(&shown, |i| pad(&row[i], widths[i], self.columns[i].right));
        }
        text
    }

    /// The table for a terminal of this many columns; the least important columns give way.
    pub fn terminal(&self, width: usize) -> String {
        let heads = self.heads();
        let widths = widths(&heads, &self.rows);
        let mut shown = self.filled();
        let total = |shown: &[usize]| shown.iter().map(|&i| widths[i] + 2).sum::<usize>();
        while total(&shown) > width + 2 {
            let Some(&least) = shown.iter().max_by_key(|&&i| self.columns[i].rank) else {
                break;
            };
            if self.columns[least].rank == 0 {
                break;
            }
            shown.retain(|&i| i != least);
        }
        let cells = |get: &dyn Fn(usize) -> String| {
            let parts: Vec<String> =
                shown.iter().map(|&i| pad(&get(i), widths[i], self.columns[i].right)).collect();
            format!("{}\n", parts.join("  ").trim_end())
        };
        let mut text = cells(&|i| heads[i].clone());
        text += &cells(&|i| "─".repeat(widths[i]));
        for row in &self.rows {
            text += &cells(&|i| row[i].clone());
        }
        text
    }

    /// Columns that are always shown or have an entry.
    fn filled(&self) -> Vec<usize> {
        (0..self.columns.len())
            .filter(|&i| {
                self.columns[i].rank == 0 || self.rows.iter().any(|row| row[i] != crate::number::NONE)
            })
            .collect()
    }

    fn heads(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.head.clone()).collect()
    }
}

fn widths(heads: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let width = |text: &String| text.chars().count();
    let widest = |(i, head)| rows.iter().map(|row| width(&row[i])).fold(width(head), usize::max);
    heads.iter().enumerate().map(widest).collect()
}

fn line(shown: &[usize], cell: impl Fn(usize) -> String) -> String {
    let cells: Vec<String> = shown.iter().map(|&i| cell(i)).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn pad(text: &str, width: usize, right: bool) -> String {
    let space = " ".repeat(width.saturating_sub(text.chars().count()));
    if right { space + text } else { text.to_string() + &space }
}

fn escaped(row: &[String]) -> Vec<String> {
    row.iter().map(|cell| cell.replace('|', "\\|").replace(['\n', '\r'], " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table =
            Table::default().left("Policy", 0).right("Accuracy", 1).right("Speed", 2).right("Test", 3);
        table.row(["none", "96.4", "7.4", "–"].map(String::from));
        table.row(["a|b", "9.1", "11.2", "–"].map(String::from));
        table
    }

    #[test]
    fn markdown_is_padded_escaped_and_without_empty_columns() {
        assert_eq!(
            table().markdown(),
            "| Policy | Accuracy | Speed |\n| ------ | -------: | ----: |\n\
             | none   |     96.4 |   7.4 |\n| a\\|b   |      9.1 |  11.2 |\n"
        );
    }

    #[test]
    fn a_bar_in_a_head_makes_no_column() {
        let mut table = Table::default().left("NN|UTR", 0);
        table.row(["1".into()]);
        assert_eq!(table.markdown(), "| NN\\|UTR |\n| ------- |\n| 1       |\n");
    }

    #[test]
    fn narrow_terminals_lose_the_least_important_columns() {
        assert!(table().terminal(23).starts_with("Policy  Accuracy  Speed\n"));
        assert!(table().terminal(22).starts_with("Policy  Accuracy\n"));
        assert!(table().terminal(1).starts_with("Policy\n"));
    }
}
