//! Named values as one JSON object.

use crate::fields::{Fields, Json};

/// The object, pretty.
pub(crate) fn object(fields: &Fields) -> String {
    let quoted = |name: &str| serde_json::Value::from(name).to_string();
    let field = |(name, value): &(String, Json)| format!("  {}: {}", quoted(name), indented(&text(value)));
    let all: Vec<String> = fields.fields.iter().map(field).collect();
    format!("{{\n{}\n}}", all.join(",\n"))
}

fn text(value: &Json) -> String {
    match value {
        Json::Text(text) => text.clone(),
        Json::List(objects) if objects.is_empty() => "[]".into(),
        Json::List(objects) => {
            let objects: Vec<String> = objects.iter().map(|one| indented(&object(one))).collect();
            format!("[\n  {}\n]", objects.join(",\n  "))
        }
    }
}

/// The lines below the first further to the right. No text of JSON holds a line break.
fn indented(text: &str) -> String {
    text.replace('\n', "\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_written_as_serde_writes_it() {
        let inner = Fields::default().with("b", &[1.5, 2.0]).with("c", "x\ny");
        let whole = Fields::default()
            .with_objects("a", vec![inner])
            .with_some::<u8>("none", &[])
            .with("d", &None::<u8>);
        let value: serde_json::Value = serde_json::from_str(&object(&whole)).expect("JSON");
        assert_eq!(object(&whole), serde_json::to_string_pretty(&value).expect("JSON"));
    }
}
