//! Sheets as CSV, for programs: values are neither rounded nor grouped, shares are fractions of 1, and an empty
//! field means that there is no such value.

use crate::sheet::{Sheet, Values};

/// A sheet with a line of names. A number has a point or an exponent, so that readers give its column the right type.
pub(crate) fn sheet(sheet: &Sheet) -> String {
    fn shown<T>(value: Option<&T>, show: impl Fn(&T) -> String) -> String {
        value.map_or_else(String::new, show)
    }
    let mut text = line(sheet.columns.iter().map(|column| column.name.clone()));
    for row in 0..sheet.rows {
        text += &line(sheet.columns.iter().map(|column| match &column.values {
            Values::Text(values) => shown(values[row].as_ref(), String::clone),
            Values::Whole(values) => shown(values[row].as_ref(), ToString::to_string),
            Values::Real(values) => shown(values[row].as_ref(), |real| format!("{real:?}")),
            Values::Truth(values) => shown(values[row].as_ref(), ToString::to_string),
        }));
    }
    text
}

/// One line, quoted as RFC 4180 says.
fn line(fields: impl Iterator<Item = String>) -> String {
    let quoted: Vec<String> = fields.map(|field| quote(&field)).collect();
    format!("{}\n", quoted.join(","))
}

fn quote(field: &str) -> String {
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
        assert_eq!(line(fields.into_iter()), "a,\"b,c\",\"say \"\"no\"\"\",\"two\nlines\"\n");
    }
}
