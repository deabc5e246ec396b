//! Named values for programs, as one JSON object. Values are neither rounded nor grouped.

use serde::Serialize;

use crate::table::{Table, TableValue};

/// Named values in their order, each as text of JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JsonFields {
    fields: Vec<(String, String)>,
}

impl JsonFields {
    /// Adds a value.
    ///
    /// # Panics
    /// If a value cannot be JSON, such as a map whose keys are no texts.
    pub fn with(self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.with_text(name, serde_json::to_string_pretty(value).expect("plain data always serialises"))
    }

    /// Adds a list unless it is empty.
    pub fn with_some<T: Serialize>(self, name: &str, values: &[T]) -> Self {
        if values.is_empty() { self } else { self.with(name, values) }
    }

    /// Adds a value if there is one.
    pub fn with_known<T: Serialize>(self, name: &str, value: Option<&T>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds a list of objects.
    pub fn with_objects(self, name: &str, objects: &[Self]) -> Self {
        let objects: Vec<String> = objects.iter().map(|one| indent_lines(&one.object())).collect();
        let text = match objects.as_slice() {
            [] => "[]".into(),
            objects => format!("[\n  {}\n]", objects.join(",\n  ")),
        };
        self.with_text(name, text)
    }

    /// Adds tables by their names, each with the names of its columns and a line for each row.
    pub fn with_tables(self, name: &str, tables: &[(&str, Table)]) -> Self {
        let row = |row: &Vec<TableValue>| {
            format!("      {}", serde_json::Value::from_iter(row.iter().map(plain_value)))
        };
        let object = |(name, table): &(&str, Table)| {
            let columns: Vec<String> = table.heads.iter().map(|head| quote_text(&head.name)).collect();
            let rows: Vec<String> = table.rows.iter().map(row).collect();
            format!(
                "  {}: {{\n    \"columns\": [{}],\n    \"data\": [\n{}\n    ]\n  }}",
                quote_text(name),
                columns.join(", "),
                rows.join(",\n")
            )
        };
        let all: Vec<String> = tables.iter().map(object).collect();
        self.with_text(name, format!("{{\n{}\n}}", all.join(",\n")))
    }

    fn with_text(mut self, name: &str, text: String) -> Self {
        self.fields.push((name.into(), text));
        self
    }

    /// Adds all fields of another list.
    pub fn and(mut self, more: Self) -> Self {
        self.fields.extend(more.fields);
        self
    }

    /// Returns the object, pretty.
    pub fn object(&self) -> String {
        let field =
            |(name, text): &(String, String)| format!("  {}: {}", quote_text(name), indent_lines(text));
        format!("{{\n{}\n}}", self.fields.iter().map(field).collect::<Vec<_>>().join(",\n"))
    }
}

fn quote_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The lines below the first further to the right. No text of JSON contains a line break.
fn indent_lines(text: &str) -> String {
    text.replace('\n', "\n  ")
}

/// A value for programs.
fn plain_value(value: &TableValue) -> serde_json::Value {
    match value {
        TableValue::Missing => serde_json::Value::Null,
        TableValue::Text(text) => text.as_str().into(),
        TableValue::Truth(truth) => (*truth).into(),
        TableValue::Count(count) => u64::try_from(*count).map_or_else(|_| (*count as f64).into(), Into::into),
        TableValue::Number(value) | TableValue::Error(value, _) => (*value).into(),
        TableValue::Spread(stat) => stat.mean.into(),
        TableValue::Mean(mean) => mean.mean.into(),
        TableValue::Range(ends) => ends.to_vec().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_written_as_serde_writes_it() {
        let inner = JsonFields::default().with("b", &[1.5, 2.0]).with("c", "x\ny");
        let whole = JsonFields::default()
            .with_objects("a", &[inner])
            .with_some::<u8>("none", &[])
            .with("d", &None::<u8>);
        let value: serde_json::Value = serde_json::from_str(&whole.object()).expect("JSON");
        assert_eq!(whole.object(), serde_json::to_string_pretty(&value).expect("JSON"));
    }
}
