//! Nested tables as dotted paths.

/// Returns all values of a table by their dotted paths. A list is one value.
pub(crate) fn values_by_path<'a>(
    table: impl IntoIterator<Item = (&'a String, &'a toml::Value)>,
) -> Vec<(String, toml::Value)> {
    let leaf = |(key, value): (&String, &toml::Value)| match value {
        toml::Value::Table(inner) => {
            values_by_path(inner).into_iter().map(|(path, value)| (format!("{key}.{path}"), value)).collect()
        }
        value => vec![(key.clone(), value.clone())],
    };
    table.into_iter().flat_map(leaf).collect()
}
