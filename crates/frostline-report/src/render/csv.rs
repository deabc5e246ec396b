//! Tables as CSV, for programs: values are neither rounded nor grouped, shares are fractions of 1, and an empty
//! field means that there is no such value.

use crate::table::{Quantity, Table, TableValue};

/// A table with a line of names. A number has a point or an exponent, so that readers give its column the right type.
pub(crate) fn write_table(table: &Table) -> String {
    let mut text = csv_line(table.heads.iter().map(|head| head.name.clone()));
    for row in &table.rows {
        text += &csv_line(row.iter().zip(&table.heads).map(|(value, head)| csv_field(value, head.unit)));
    }
    text
}

fn csv_field(value: &TableValue, unit: Quantity) -> String {
    let shown = match unit {
        Quantity::Text | Quantity::Truth => match value {
            TableValue::Text(text) => Some(text.clone()),
            TableValue::Truth(truth) => Some(truth.to_string()),
            _ => None,
        },
        Quantity::Count => value.as_whole().map(|whole| whole.to_string()),
        _ => value.as_real().map(|real| format!("{real:?}")),
    };
    shown.unwrap_or_default()
}

/// One line, quoted as in RFC 4180.
fn csv_line(fields: impl Iterator<Item = String>) -> String {
    let quoted: Vec<String> = fields.map(|field| quote_field(&field)).collect();
    format!("{}\n", quoted.join(","))
}

fn quote_field(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_need_quotes_get_them() {
        let fields = ["a", "b,c", "say \"no\"", "two\nlines"].map(String::from);
        assert_eq!(csv_line(fields.into_iter()), "a,\"b,c\",\"say \"\"no\"\"\",\"two\nlines\"\n");
    }
}
