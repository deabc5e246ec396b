//! Data inside a page: JSON in which no text can end its element.

use serde_json::{Value, json};

use crate::browser::{Browser, BrowserCell, BrowserText};
use crate::render::escape;

/// An element with data that the script finds by its id.
pub(super) fn data_element(id: &str, value: &Value) -> String {
    format!("<script type=\"application/json\" id=\"{id}\">{}</script>\n", json_text(value))
}

/// JSON without `<`, so that neither a tag nor a comment can begin in it.
fn json_text(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// A text in which nothing acts instead of being seen.
fn text(text: &str) -> Value {
    Value::from(escape::visible(text))
}

/// The browser's sentences: words joined, and of every cell only what is not the gold tag.
pub(super) fn browser_json(browser: &Browser) -> Value {
    let tags: Value = browser.tags.iter().map(|tag| text(tag)).collect();
    let texts: Value = browser.texts.iter().map(of_text).collect();
    json!({ "tags": tags, "texts": texts })
}

fn of_text(of: &BrowserText) -> Value {
    let sentences: Value = of
        .sentences
        .iter()
        .map(|sentence| {
            // No form contains a line break: files of predictions have one line per word.
            json!([text(&sentence.id), text(&sentence.forms.join("\n")), sentence.gold])
        })
        .collect();
    let cells: Value = of.cells.iter().map(of_cell).collect();
    json!({ "title": text(&of.title), "words": of.has_words, "total": of.total, "sentences": sentences, "cells": cells })
}

/// The distance to the next wrong word and its tag in turns; -1 if there is no prediction.
fn of_cell(cell: &BrowserCell) -> Value {
    let mut before = 0;
    let mut wrong: Vec<i64> = Vec::with_capacity(2 * cell.wrong.len());
    for (place, tag) in &cell.wrong {
        wrong.push((place - before) as i64);
        wrong.push(tag.map_or(-1, i64::from));
        before = *place;
    }
    json!({ "name": text(&cell.name), "policy": text(&cell.policy), "seed": cell.seed, "wrong": wrong })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_element() {
        let value = json!({ "a": "</script><!-- <script>", "b": [1.5, null] });
        let found = json_text(&value);
        assert!(!found.contains('<'), "{found}");
        assert_eq!(serde_json::from_str::<Value>(&found).expect("JSON"), value);
        assert_eq!(text("a\u{202e}b"), json!("a[U+202E]b"));
    }
}
