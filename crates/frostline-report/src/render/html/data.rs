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

/// A number, or nothing where it is none.
pub(super) fn number(value: f64) -> Value {
    Value::from(value)
}

/// Texts of which many are the same: each of them once, then their places.
pub(super) fn texts(all: &[String]) -> Value {
    let mut distinct: Vec<&String> = Vec::new();
    let mut places = std::collections::HashMap::new();
    let numbers: Vec<usize> = all
        .iter()
        .map(|text| {
            *places.entry(text).or_insert_with(|| {
                distinct.push(text);
                distinct.len() - 1
            })
        })
        .collect();
    if all.len() < 4 || distinct.len() * 2 > all.len() {
        return all.iter().map(|one| text(one)).collect();
    }
    let distinct: Value = distinct.into_iter().map(|one| text(one)).collect();
    // A column of one value needs no places.
    if distinct.as_array().is_some_and(|all| all.len() == 1) {
        return serde_json::json!({ "d": distinct });
    }
    serde_json::json!({ "d": distinct, "i": numbers })
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
        assert_eq!(number(f64::NAN), Value::Null);
    }

    #[test]
    fn texts_that_repeat_stand_once() {
        let all = |words: &str| words.split(' ').map(String::from).collect::<Vec<_>>();
        assert_eq!(texts(&all("a b a a b")), json!({ "d": ["a", "b"], "i": [0, 1, 0, 0, 1] }));
        assert_eq!(texts(&all("a a a a")), json!({ "d": ["a"] }));
        assert_eq!(texts(&all("a b c d")), json!(["a", "b", "c", "d"]));
    }
}
