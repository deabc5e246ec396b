//! Tables of the page. End tags that HTML does not need are left out: a page has thousands of cells.

use crate::render::escape::xml;
use crate::render::text::{column_head, show_value};
use crate::table::{ColumnHead, Table};

/// Columns of this rank and above are not shown on a narrow screen.
const NARROW: u8 = 2;
/// Columns of this rank and above are shown if the reader asks for all columns.
const ASKED: u8 = 3;

/// A table. `inline` turns the marks of a text into elements, `title` names the table, and a row of one of `policies`
/// can be switched off. Columns without any value are omitted.
pub(super) fn table(
    table: &Table,
    title: &str,
    policies: &[&str],
    inline: &dyn Fn(&str) -> String,
) -> String {
    let columns: Vec<(usize, &ColumnHead)> =
        table.filled().into_iter().map(|at| (at, &table.heads[at])).collect();
    let frozen = columns.iter().find(|(_, head)| names_policies(&head.name)).map(|(at, _)| *at);
    let heads: String = columns
        .iter()
        .map(|(_, of)| format!("<th scope=col{}>{}", column_classes(of, ""), inline(&column_head(of))))
        .collect();
    let mut rows = String::new();
    for row in &table.rows {
        let name = frozen.map_or_else(String::new, |at| show_value(&row[at], table.heads[at].unit));
        let policy = policies.iter().find(|policy| **policy == name);
        let policy = policy.map_or_else(String::new, |name| format!(" data-policy=\"{}\"", xml(name)));
        rows += &format!("<tr{policy}>");
        for (at, head) in &columns {
            let text = show_value(&row[*at], head.unit);
            if frozen == Some(*at) {
                rows += &format!("<th scope=row{}>{}", column_classes(head, ""), inline(&text));
                continue;
            }
            let state = if head.unit.is_text() { state_class(&text) } else { None };
            let long = if text.chars().count() > 90 { "long" } else { "" };
            rows += &format!("<td{}>", column_classes(head, state.unwrap_or(long)));
            // A word for a state is marked by a colour too.
            rows += &if state.is_some() { format!("<span>{}</span>", inline(&text)) } else { inline(&text) };
        }
        rows.push('\n');
    }
    let hidden = columns.iter().filter(|(_, head)| head.rank >= ASKED).count();
    let switch = match hidden {
        0 => String::new(),
        _ => format!("<label class=all><input type=checkbox> all {} columns</label>\n", columns.len()),
    };
    let title = xml(title);
    format!(
        "<div class=table>{switch}<div class=scroll tabindex=0 role=group aria-label=\"Table: {title}\"><table>\
         <caption class=unseen>{title}</caption><thead><tr>{heads}</thead><tbody>\n{rows}</tbody></table></div></div>\n"
    )
}

/// The classes of a column's cells: `t` for text, which is rarer than numbers, `w` and `m` for columns that are not always
/// shown.
fn column_classes(head: &ColumnHead, more: &str) -> String {
    let text = if head.unit.is_text() { "t" } else { "" };
    let rank = match head.rank {
        ASKED.. => "m",
        NARROW => "w",
        _ => "",
    };
    let all: Vec<&str> = [text, rank, more].into_iter().filter(|class| !class.is_empty()).collect();
    match all.as_slice() {
        [] => String::new(),
        [one] => format!(" class={one}"),
        several => format!(" class=\"{}\"", several.join(" ")),
    }
}

/// Whether a column names what is frozen.
fn names_policies(name: &str) -> bool {
    matches!(name, "Frozen" | "Policy" | "policy")
}

/// The class of a text that begins with a word for a state.
fn state_class(text: &str) -> Option<&'static str> {
    const STATES: [(&str, &str); 11] = [
        ("better", "good"),
        ("worse", "bad"),
        ("equivalent", "good"),
        ("supported", "good"),
        ("contradicted", "bad"),
        ("failed", "bad"),
        ("done", "plain"),
        ("undecided", "open"),
        ("not decided", "open"),
        ("missing", "open"),
        ("no record", "open"),
    ];
    let found = STATES.iter().find(|(word, _)| {
        let rest = text.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|sign: char| sign.is_alphanumeric()))
    });
    found.map(|(_, class)| *class)
}

#[cfg(test)]
mod tests {
    use frostline_score::MeanStd;

    use super::*;
    use crate::table::{Quantity, TableColumns, TableValue};

    #[test]
    fn a_cell_is_shown_as_in_text_and_columns_have_ranks() {
        let stat = MeanStd::of(&[0.9, 0.8]).expect("two values");
        let columns = TableColumns::default()
            .column("Frozen", Quantity::Text, |row: &(&str, u64)| row.0)
            .column("Accuracy", Quantity::Percent(1), |row| (row.1 > 1).then_some(stat))
            .optional("Nothing", Quantity::Count, |_| TableValue::Missing)
            .ranked(2, "Verdict", Quantity::Text, |_| "worse, within the margin")
            .ranked(3, "Words", Quantity::Count, |row| row.1);
        let found = table(&columns.table([("none", 1), ("<all>", 2)]), "A \"title\"", &["none"], &xml);
        let rows: Vec<&str> = found.lines().collect();
        assert_eq!(rows[0], "<div class=table><label class=all><input type=checkbox> all 4 columns</label>");
        assert!(rows[1].contains("<th scope=col>Accuracy %<th scope=col class=\"t w\">Verdict"), "{found}");
        assert!(rows[1].contains("A &quot;title&quot;") && !rows[1].contains("Nothing"), "{found}");
        let verdict = "<td class=\"t w bad\"><span>worse, within the margin</span>";
        assert_eq!(
            rows[2],
            format!("<tr data-policy=\"none\"><th scope=row class=t>none<td>–{verdict}<td class=m>1")
        );
        assert!(rows[3].starts_with("<tr><th scope=row class=t>&lt;all&gt;<td>85.0 ± 7.1<td"), "{found}");
    }
}
