//! Data inside a page: JSON in which no text can end its element.

use serde_json::Value;

use crate::render::escape;

/// An element with data that the script finds by its id.
pub(super) fn element(id: &str, value: &Value) -> String {
    format!("<script type=\"application/json\" id=\"{id}\">{}</script>\n", json(value))
}

/// JSON without `<`, so that neither a tag nor a comment can begin in it.
fn json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// A text in which nothing acts instead of being seen.
pub(super) fn text(text: &str) -> Value {
    Value::from(escape::visible(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_text_ends_the_element() {
        let value = json!({ "a": "</script><!-- <script>", "b": [1.5, null] });
        let found = super::json(&value);
        assert!(!found.contains('<'), "{found}");
        assert_eq!(serde_json::from_str::<Value>(&found).expect("JSON"), value);
        assert_eq!(text("a\u{202e}b"), json!("a[U+202E]b"));
    }
}
