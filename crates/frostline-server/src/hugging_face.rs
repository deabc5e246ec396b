//! Token classification as servers of Hugging Face answer it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use frostline_conllu::{SentenceSplit, TextPart};
use serde::{Deserialize, Serialize};

use crate::document::{WordTag, part_words, split_text};
use crate::plain::parse_json;
use crate::refusal::{Refusal, json_answer};
use crate::service::Service;

/// A request; other keys, such as `options`, are ignored.
#[derive(Deserialize)]
struct TokenClassification {
    inputs: Inputs,
    #[serde(default)]
    parameters: Option<Parameters>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "inputs: expected a text or a list of texts")]
enum Inputs {
    One(String),
    Many(Vec<String>),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    aggregation_strategy: Option<Aggregation>,
    ignore_labels: Option<Vec<String>>,
    /// Long sentences are always read in windows that overlap by half, whatever number is given.
    #[serde(rename = "stride")]
    _stride: Option<usize>,
}

/// How words become entities. The model labels words, so all strategies but `none` are the same.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Aggregation {
    None,
    Simple,
    First,
    Average,
    Max,
}

/// A word, or neighbouring words with the same label.
#[derive(Debug, PartialEq, Serialize)]
struct TokenEntity<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    entity: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entity_group: Option<&'a str>,
    score: f32,
    /// The number of the word in the text, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    word: &'a str,
    /// The number of characters of the text before the first one.
    start: usize,
    /// The number of characters up to the last one.
    end: usize,
}

/// A word of a text with its tag, and the bytes of the text at which it is.
struct PlacedWord<'a> {
    tagged: &'a WordTag,
    start: usize,
    end: usize,
}

/// Neighbouring words with the same label.
struct WordGroup<'a> {
    label: &'a str,
    scores: Vec<f32>,
    /// The number of the first word, from 1.
    index: usize,
    start: usize,
    end: usize,
}

/// `POST /models/ID`.
pub(crate) async fn tag_named(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, Refusal> {
    let model = service.models.find(&id)?;
    classify_tokens(&service, model, &body).await
}

/// `POST /`: the first model, as an endpoint with a single model has it.
pub(crate) async fn tag_default(
    State(service): State<Arc<Service>>,
    body: Bytes,
) -> Result<Response, Refusal> {
    classify_tokens(&service, 0, &body).await
}

async fn classify_tokens(service: &Service, model: usize, body: &[u8]) -> Result<Response, Refusal> {
    let TokenClassification { inputs, parameters } = parse_json(body)?;
    let parameters = parameters.unwrap_or_default();
    let (texts, is_list) = match inputs {
        Inputs::One(text) => (vec![text], false),
        Inputs::Many(texts) => (texts, true),
    };
    let split: Vec<Vec<TextPart>> =
        texts.iter().map(|text| split_text(text, SentenceSplit::Unicode)).collect();
    let sentences = split.iter().flat_map(|parts| part_words(parts)).collect();
    let answers = service.tag(&[model], sentences).await?.pop().unwrap_or_default();
    let mut answers = answers.as_slice();
    let mut entities = Vec::new();
    for (text, parts) in texts.iter().zip(&split) {
        let own;
        (own, answers) = answers.split_at(parts.len());
        entities.push(find_entities(text, &place_words(text, parts, own), &parameters));
    }
    Ok(if is_list { json_answer(&entities) } else { json_answer(&entities[0]) })
}

/// Returns the words of a text that have a tag, with their numbers from 1.
fn place_words<'a>(
    text: &str,
    parts: &[TextPart],
    answers: &'a [Vec<WordTag>],
) -> Vec<(usize, PlacedWord<'a>)> {
    let line_ends = text.match_indices('\n').map(|(at, _)| at + 1);
    let line_starts: Vec<usize> = std::iter::once(0).chain(line_ends).collect();
    let words = parts.iter().zip(answers).flat_map(|(part, answers)| {
        let line = line_starts[part.line() - 1];
        let place = move |(range, tagged): (&std::ops::Range<usize>, &'a WordTag)| PlacedWord {
            tagged,
            start: line + range.start,
            end: line + range.end,
        };
        part.word_ranges().iter().zip(answers).map(place)
    });
    (1..).zip(words).filter(|(_, word)| word.tagged.has_tag()).collect()
}

/// Returns the entities of a text.
///
/// # Source
/// `TokenClassificationPipeline` of `transformers`: neighbours with the same label are one entity, unless the second one's
/// label begins with `B-`; a label without `B-` and `I-` is like one with `I-`. A group's score is the mean.
fn find_entities<'a>(
    text: &'a str,
    words: &[(usize, PlacedWord<'a>)],
    parameters: &Parameters,
) -> Vec<TokenEntity<'a>> {
    let is_single = parameters.aggregation_strategy == Some(Aggregation::None);
    let is_ignored = |label: &str| match &parameters.ignore_labels {
        Some(labels) => labels.iter().any(|ignored| ignored == label),
        None => label == "O",
    };
    let mut groups: Vec<WordGroup<'_>> = Vec::new();
    for &(index, PlacedWord { tagged, start, end }) in words {
        let (begins, label) = match tagged.tag.split_once('-') {
            _ if is_single => (true, &*tagged.tag),
            Some(("B", label)) => (true, label),
            Some(("I", label)) => (false, label),
            _ => (false, &*tagged.tag),
        };
        match groups.last_mut() {
            Some(last) if !begins && last.label == label => {
                last.scores.push(tagged.probability);
                last.end = end;
            }
            _ => groups.push(WordGroup { label, scores: vec![tagged.probability], index, start, end }),
        }
    }
    let mut characters = CharacterCount { text, bytes: 0, characters: 0 };
    let groups = groups.into_iter().filter(|group| !is_ignored(group.label));
    groups
        .map(|WordGroup { label, scores, index, start, end }| TokenEntity {
            entity: is_single.then_some(label),
            entity_group: (!is_single).then_some(label),
            score: scores.iter().sum::<f32>() / scores.len() as f32,
            index: is_single.then_some(index),
            word: &text[start..end],
            start: characters.count_to(start),
            end: characters.count_to(end),
        })
        .collect()
}

/// Counts the characters of a text up to bytes that come in ascending order.
struct CharacterCount<'a> {
    text: &'a str,
    bytes: usize,
    characters: usize,
}

impl CharacterCount<'_> {
    fn count_to(&mut self, byte: usize) -> usize {
        self.characters += self.text[self.bytes..byte].chars().count();
        self.bytes = byte;
        self.characters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entities of a text whose words have these tags, each with the probability 0.5.
    fn entities(text: &str, tags: &[&str], parameters: &str) -> Vec<String> {
        let parts = split_text(text, SentenceSplit::Unicode);
        let mut tags = tags.iter();
        let mut tagged =
            |_| WordTag { tag: (*tags.next().expect("a tag for each word")).into(), probability: 0.5 };
        let answers: Vec<Vec<WordTag>> =
            part_words(&parts).iter().map(|words| words.iter().map(&mut tagged).collect()).collect();
        let parameters = serde_json::from_str(parameters).expect("parameters");
        let words = place_words(text, &parts, &answers);
        let found = find_entities(text, &words, &parameters);
        let label =
            |entity: &TokenEntity<'_>| entity.entity_group.or(entity.entity).unwrap_or_default().to_string();
        let show = |it: TokenEntity<'_>| format!("{} {}-{} {}", label(&it), it.start, it.end, it.word);
        found.into_iter().map(show).collect()
    }

    #[test]
    fn neighbours_with_one_label_are_one_entity() {
        let text = "Größe: Ann Lee\nmet Bob.";
        let tags = ["O", "O", "B-PER", "I-PER", "O", "B-PER", "O"];
        assert_eq!(entities(text, &tags, "{}"), ["PER 7-14 Ann Lee", "PER 19-22 Bob"]);
        let tags = ["NOUN", "PUNCT", "B-PER", "B-PER", "VERB", "I-PER", "PUNCT"];
        let all = entities(text, &tags, r#"{"aggregation_strategy": "max", "ignore_labels": ["PUNCT"]}"#);
        assert_eq!(
            all,
            ["NOUN 0-5 Größe", "PER 7-10 Ann", "PER 11-14 Lee", "VERB 15-18 met", "PER 19-22 Bob"]
        );
        let single = entities("Ice ice", &["I-A", "I-A"], r#"{"aggregation_strategy": "none"}"#);
        assert_eq!(single, ["I-A 0-3 Ice", "I-A 4-7 ice"]);
        assert_eq!(entities("Ice ice", &["NOUN", "NOUN"], "{}"), ["NOUN 0-7 Ice ice"]);
        assert!(entities(" \n", &[], "{}").is_empty());
    }
}
