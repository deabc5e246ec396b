//! The sentences on which policies differ, for the page's browser. Only dev is shown, so that test is not used
//! to choose changes.

use crate::browser::{Browser, BrowserCell, BrowserSentence, BrowserText};
use crate::keys;
use crate::study::tagged::{PredictedTags, SplitText, TagIndex, Tagged};
use crate::study::{CellView, Study, distinct};

const SPLIT: &str = "dev";

/// The most words that cells of the browser have wrong in all: each takes about four bytes of the page.
const MOST_WRONG: usize = 250_000;

/// The browser's sentences; nothing if no predictions were read. If there are too many cells, each policy
/// keeps its first seeds.
pub(super) fn collect_sentences(study: &Study, read: &Tagged) -> Option<Browser> {
    let all: Vec<(&CellView, &PredictedTags)> =
        study.cells.iter().filter_map(|view| Some((view, read.get(&view.cell, SPLIT)?))).collect();
    let kept = within_budget(&all, read);
    let texts = distinct(kept.iter().map(|(_, predictions)| predictions.text));
    let texts: Vec<BrowserText> = texts
        .into_iter()
        .map(|at| {
            let of_text: Vec<_> =
                kept.iter().filter(|(_, predictions)| predictions.text == at).copied().collect();
            text(study, &read.texts[at], &of_text)
        })
        .filter(|text| text.cells.len() > 1)
        .collect();
    let left_out = [all.len() - kept.len(), all.len()];
    (!texts.is_empty()).then(|| Browser { tags: read.tags.clone(), texts, left_out })
}

/// Returns as many seeds of every policy as fit: the first seed of each policy, then the second.
fn within_budget<'a>(
    all: &[(&'a CellView, &'a PredictedTags)],
    read: &Tagged,
) -> Vec<(&'a CellView, &'a PredictedTags)> {
    let wrong = |predictions: &PredictedTags| {
        let words = read.texts[predictions.text].words.iter().zip(&predictions.predicted);
        words.filter(|(word, tag)| **tag != Some(word.gold)).count()
    };
    let mut seeds = distinct(all.iter().map(|(view, _)| view.cell.settings.seed));
    seeds.sort_unstable();
    let mut used = 0;
    let mut last = 0;
    for seed in seeds {
        let of_seed = all.iter().filter(|(view, _)| view.cell.settings.seed == seed);
        used += of_seed.map(|(_, predictions)| wrong(predictions)).sum::<usize>();
        if used > MOST_WRONG && last > 0 {
            break;
        }
        last = seed.saturating_add(1);
    }
    all.iter().filter(|(view, _)| view.cell.settings.seed < last).copied().collect()
}

/// A split with the cells that scored it, without the sentences on which all of them agree.
fn text(study: &Study, text: &SplitText, cells: &[(&CellView, &PredictedTags)]) -> BrowserText {
    let agree = |range: &std::ops::Range<usize>| {
        let mut predictions = cells.iter().map(|(_, predictions)| &predictions.predicted[range.clone()]);
        let first = predictions.next();
        predictions.all(|other| Some(other) == first)
    };
    let kept: Vec<_> = text.ranges().filter(|(_, range)| !agree(range)).collect();
    let sentences = kept.iter().map(|(span, range)| BrowserSentence {
        id: if span.id == "-" { String::new() } else { span.id.clone() },
        forms: match text.has_words {
            true => text.words[range.clone()].iter().map(|word| word.form.clone()).collect(),
            false => Vec::new(),
        },
        gold: text.words[range.clone()].iter().map(|word| word.gold).collect(),
    });
    let sentences: Vec<BrowserSentence> = sentences.collect();
    let places: Vec<usize> = kept.iter().flat_map(|(_, range)| range.clone()).collect();
    let cells = cells.iter().map(|(view, predictions)| cell_errors(study, view, text, predictions, &places));
    let langs = distinct(cells.clone().map(|(lang, _)| lang));
    let title: Vec<String> = langs.iter().map(|lang| study.lang_title(lang)).collect();
    BrowserText {
        title: title.join(", "),
        has_words: text.has_words,
        total: text.sentences.len(),
        sentences,
        cells: cells.map(|(_, cell)| cell).collect(),
    }
}

fn cell_errors<'a>(
    study: &Study,
    view: &'a CellView,
    text: &SplitText,
    predictions: &PredictedTags,
    places: &[usize],
) -> (&'a str, BrowserCell) {
    let settings = &view.cell.settings;
    let wrong = |(place, at): (usize, &usize)| -> Option<(usize, Option<TagIndex>)> {
        (predictions.predicted[*at] != Some(text.words[*at].gold))
            .then_some((place, predictions.predicted[*at]))
    };
    let cell = BrowserCell {
        name: keys::title(study, settings.policy.to_string(), &view.extras),
        policy: settings.policy.to_string(),
        seed: settings.seed,
        wrong: places.iter().enumerate().filter_map(wrong).collect(),
    };
    (&settings.lang, cell)
}
