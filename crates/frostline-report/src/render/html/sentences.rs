//! The browser's sentences as data of the page: words joined, and of every cell only what is not the gold tag.

use serde_json::{Value as Json, json};

use crate::browser::{Browser, BrowserCell, BrowserText};
use crate::render::html::data::text;

/// All of it.
pub(super) fn browser(browser: &Browser) -> Json {
    let tags: Json = browser.tags.iter().map(|tag| text(tag)).collect();
    let texts: Json = browser.texts.iter().map(of_text).collect();
    json!({ "tags": tags, "texts": texts })
}

fn of_text(of: &BrowserText) -> Json {
    let sentences: Json = of
        .sentences
        .iter()
        .map(|sentence| {
            // No form contains a line break: files of predictions have one line per word.
            json!([text(&sentence.id), text(&sentence.forms.join("\n")), sentence.gold])
        })
        .collect();
    let cells: Json = of.cells.iter().map(of_cell).collect();
    json!({ "title": text(&of.title), "words": of.has_words, "total": of.total, "sentences": sentences, "cells": cells })
}

/// The distance to the next wrong word and its tag in turns; -1 where there is no prediction.
fn of_cell(cell: &BrowserCell) -> Json {
    let mut before = 0;
    let mut wrong: Vec<i64> = Vec::with_capacity(2 * cell.wrong.len());
    for (place, tag) in &cell.wrong {
        wrong.push((place - before) as i64);
        wrong.push(tag.map_or(-1, i64::from));
        before = *place;
    }
    json!({ "name": text(&cell.name), "policy": text(&cell.policy), "seed": cell.seed, "wrong": wrong })
}
