//! A table of text cells, written for a page or for a terminal.

use console::measure_text_width;

/// A table.
#[derive(Debug)]
pub(crate) struct TextGrid {
    head: Vec<String>,
    /// Whether each column contains numbers and is aligned to the right.
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl TextGrid {
    /// An empty table; a heading that ends in `>` marks a column of numbers.
    pub(crate) fn new<'a>(head: impl IntoIterator<Item = &'a str>) -> Self {
        let head: Vec<&str> = head.into_iter().collect();
        let right = head.iter().map(|name| name.ends_with('>')).collect();
        let head = head.iter().map(|name| name.trim_end_matches('>').to_string()).collect();
        Self { head, right, rows: Vec::new() }
    }

    /// Adds a row, one text for each column.
    pub(crate) fn push_row(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.head.len());
        self.rows.push(row);
    }

    /// Whether the table has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in Markdown, for a page.
    pub(crate) fn render_markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = self.right.iter().map(|right| if *right { "---:" } else { "---" });
        let mut text = line(&self.head);
        text.push_str(&format!("|{}|\n", rule.collect::<Vec<_>>().join("|")));
        for row in &self.rows {
            text.push_str(&line(row));
        }
        text
    }

    /// The table in plain text, for a terminal.
    pub(crate) fn render_plain(&self) -> String {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| lines().map(|row| measure_text_width(&row[column])).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = String::new();
        for row in lines() {
            let mut line = String::new();
            for ((cell, width), right) in row.iter().zip(&widths).zip(&self.right) {
                let room = " ".repeat(width - measure_text_width(cell));
                line.push_str(&if *right { format!("{room}{cell}  ") } else { format!("{cell}{room}  ") });
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_it() {
        let mut grid = TextGrid::new(["frozen", "ms>"]);
        grid.push_row(vec!["none".into(), "184".into()]);
        grid.push_row(vec!["first-4".into(), "96.1".into()]);
        insta::assert_snapshot!(format!("{}\n{}", grid.render_markdown(), grid.render_plain()), @r"
        | frozen | ms |
        |---|---:|
        | none | 184 |
        | first-4 | 96.1 |

        frozen     ms
        none      184
        first-4  96.1
        ");
    }
}
