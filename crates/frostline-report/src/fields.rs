//! Named values, as topics give them to programs.

use serde::Serialize;

use crate::table::{RowTable, Value};

/// A value as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    /// Text of JSON.
    Text(String),
    List(Vec<Fields>),
}

/// Named values in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub fields: Vec<(String, Json)>,
}

impl Fields {
    /// Adds a value.
    ///
    /// # Panics
    /// Where a value cannot be JSON, such as a map whose keys are no texts.
    pub fn with(mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        let text = serde_json::to_string_pretty(value).expect("plain data always serialises");
        self.fields.push((name.into(), Json::Text(text)));
        self
    }

    /// Adds a list where it is not empty.
    pub fn with_some<T: Serialize>(self, name: &str, values: &[T]) -> Self {
        if values.is_empty() { self } else { self.with(name, values) }
    }

    /// Adds a list of objects.
    pub fn with_objects(mut self, name: &str, objects: Vec<Self>) -> Self {
        self.fields.push((name.into(), Json::List(objects)));
        self
    }

    /// Adds tables by their names, each with the names of its columns and a line for each row.
    pub fn with_tables(mut self, name: &str, tables: &[RowTable]) -> Self {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let row = |row: &Vec<Value>| format!("      {}", serde_json::Value::from_iter(row.iter().map(plain)));
        let object = |one: &RowTable| {
            let columns: Vec<String> = one.table.heads.iter().map(|head| quoted(&head.name)).collect();
            let rows: Vec<String> = one.table.rows.iter().map(row).collect();
            format!(
                "  {}: {{\n    \"columns\": [{}],\n    \"data\": [\n{}\n    ]\n  }}",
                quoted(one.name),
                columns.join(", "),
                rows.join(",\n")
            )
        };
        let all: Vec<String> = tables.iter().map(object).collect();
        self.fields.push((name.into(), Json::Text(format!("{{\n{}\n}}", all.join(",\n")))));
        self
    }

    /// Adds all fields of another list.
    pub fn and(mut self, more: Self) -> Self {
        self.fields.extend(more.fields);
        self
    }
}

/// A value for programs.
fn plain(value: &Value) -> serde_json::Value {
    match value {
        Value::Missing => serde_json::Value::Null,
        Value::Text(text) => text.as_str().into(),
        Value::Truth(truth) => (*truth).into(),
        Value::Count(count) => (*count).into(),
        Value::Number(value) | Value::Error(value, _) => (*value).into(),
        Value::Spread(stat) => stat.mean.into(),
        Value::Mean(mean) => mean.mean.into(),
        Value::Range(ends) => ends.to_vec().into(),
    }
}
