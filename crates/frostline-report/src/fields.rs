//! Named values, as topics give them to programs.

use serde::Serialize;

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

    /// Adds all fields of another list.
    pub fn and(mut self, more: Self) -> Self {
        self.fields.extend(more.fields);
        self
    }
}
