//! `/v1`: words, text or CoNLL-U in, and the tags of any number of models out.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use frostline_conllu::SentenceSplit;
use frostline_tagger::{Sharing, TagTarget, TagTargets};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::document::{ModelAnswers, TaggingInput, split_text};
use crate::refusal::{Refusal, json_answer};
use crate::service::Service;

/// A request in JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TagRequest {
    /// By default all.
    #[serde(default)]
    models: Vec<String>,
    sentences: Option<Vec<Vec<String>>>,
    text: Option<String>,
    conllu: Option<String>,
    #[serde(default)]
    probabilities: bool,
}

/// The answer for words and text.
#[derive(Serialize)]
struct TagAnswer<'a> {
    models: Vec<&'a str>,
    sentences: Vec<TaggedSentence<'a>>,
}

#[derive(Serialize)]
struct TaggedSentence<'a> {
    words: &'a [String],
    /// The tags of each model, one per word.
    tags: BTreeMap<&'a str, Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probabilities: Option<BTreeMap<&'a str, Vec<f32>>>,
}

/// The answer for CoNLL-U in JSON.
#[derive(Serialize)]
struct ConlluAnswer<'a> {
    models: Vec<&'a str>,
    conllu: String,
}

/// Settings of a request with a body of CoNLL-U, in its address.
#[derive(Default, Debug, PartialEq)]
struct QuerySettings {
    models: Vec<String>,
    probabilities: bool,
}

/// `POST /v1/tag`. JSON begins with a brace, and CoNLL-U never does.
pub(crate) async fn tag(
    State(service): State<Arc<Service>>,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Result<Response, Refusal> {
    let settings = QuerySettings::parse(query.as_deref().unwrap_or_default())?;
    if body.trim_ascii_start().starts_with(b"{") {
        return tag_json(&service, settings, &body).await;
    }
    let models = service.models.find_all(settings.models.iter().map(String::as_str))?;
    let document = TaggingInput::from_conllu(&body)?;
    let conllu = tag_conllu(&service, &models, &document, settings.probabilities).await?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], conllu).into_response())
}

async fn tag_json(service: &Service, settings: QuerySettings, body: &[u8]) -> Result<Response, Refusal> {
    let request: TagRequest = parse_json(body)?;
    if settings != QuerySettings::default() {
        return Err(Refusal::unusable(
            "the address has `models` or `probabilities`, but the body is JSON; move them into the body",
        ));
    }
    let models = service.models.find_all(request.models.iter().map(String::as_str))?;
    let names: Vec<&str> = models.iter().map(|&model| service.models.names[model].as_str()).collect();
    let document = match (request.sentences, request.text, request.conllu) {
        (Some(sentences), None, None) => TaggingInput::from_words(sentences)?,
        (None, Some(text), None) => TaggingInput::Text(split_text(&text, SentenceSplit::Unicode)),
        (None, None, Some(conllu)) => {
            let document = TaggingInput::from_conllu(conllu.as_bytes())?;
            let conllu = tag_conllu(service, &models, &document, request.probabilities).await?;
            let conllu = String::from_utf8_lossy(&conllu).into_owned();
            return Ok(json_answer(&ConlluAnswer { models: names, conllu }));
        }
        _ => {
            return Err(Refusal::unusable(
                "the body has none or several of `sentences` (lists of words), `text` and `conllu`; give one of them",
            ));
        }
    };
    let words = document.words();
    let answers = service.tag(&models, words.clone()).await?;
    let tagged = words
        .iter()
        .enumerate()
        .map(|(number, words)| tagged_sentence(number, words, &names, &answers, request.probabilities));
    Ok(json_answer(&TagAnswer { models: names.clone(), sentences: tagged.collect() }))
}

fn tagged_sentence<'a>(
    number: usize,
    words: &'a [String],
    names: &[&'a str],
    answers: &'a [ModelAnswers],
    probabilities: bool,
) -> TaggedSentence<'a> {
    let models = || names.iter().copied().zip(answers.iter().map(move |answers| &answers[number]));
    let tags = models().map(|(name, answers)| (name, answers.iter().map(|answer| &*answer.tag).collect()));
    let scores =
        || models().map(|(name, answers)| (name, answers.iter().map(|answer| answer.probability).collect()));
    let tags = tags.collect();
    TaggedSentence { words, tags, probabilities: probabilities.then(|| scores().collect()) }
}

/// Returns the CoNLL-U of a document in which models fill their columns.
pub(crate) async fn tag_conllu(
    service: &Service,
    models: &[usize],
    document: &TaggingInput,
    probabilities: bool,
) -> Result<Vec<u8>, Refusal> {
    let targets: Vec<TagTarget> =
        models.iter().map(|&model| service.models.target(model).cloned()).collect::<Result<_, _>>()?;
    let targets = TagTargets::new(targets).map_err(|same| {
        let [first, second] = same.taggers.map(|tagger| &service.models.names[models[tagger]]);
        Refusal::unusable(format!(
            "the models {first} and {second} both fill {}; ask for one of them at a time",
            same.target
        ))
    })?;
    let answers = service.tag(models, document.words()).await?;
    document.write_conllu(&targets, &answers, probabilities)
}

/// A model, as `/v1/models` lists it.
#[derive(Serialize)]
struct ListedModel<'a> {
    name: &'a str,
    labels: &'a [String],
    /// The place of its labels in CoNLL-U.
    column: Option<String>,
}

#[derive(Serialize)]
struct ModelList<'a> {
    models: Vec<ListedModel<'a>>,
    blocks_computed: usize,
    blocks_if_separate: usize,
    parameters: usize,
    parameters_if_separate: usize,
}

/// `GET /v1/models`.
pub(crate) async fn list_models(State(service): State<Arc<Service>>) -> Response {
    let models = &service.models;
    let listed = models.taggers.models().zip(&models.names).enumerate();
    let listed = listed.map(|(number, (model, name))| ListedModel {
        name,
        labels: model.labels(),
        column: models.target(number).ok().map(ToString::to_string),
    });
    let Sharing { blocks, parameters, separate_parameters, .. } = models.taggers.sharing();
    json_answer(&ModelList {
        models: listed.collect(),
        blocks_computed: blocks.shared,
        blocks_if_separate: blocks.separate,
        parameters,
        parameters_if_separate: separate_parameters,
    })
}

impl QuerySettings {
    /// Reads `models=NAME,NAME&probabilities=true`. Names have no characters that an address encodes.
    fn parse(query: &str) -> Result<Self, Refusal> {
        let mut settings = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("models", names)) => {
                    let names = names.split([',']).filter(|name| !name.is_empty()).map(String::from);
                    settings.models.extend(names);
                }
                Some(("probabilities", "true")) => settings.probabilities = true,
                Some(("probabilities", "false")) => settings.probabilities = false,
                _ => {
                    return Err(Refusal::unusable(format!(
                        "{pair:?} in the address is unknown; there are models=NAME,NAME and probabilities=true"
                    )));
                }
            }
        }
        Ok(settings)
    }
}

/// Reads a body in JSON.
///
/// # Errors
/// 400 if it is no JSON, 422 if it has other values than expected.
pub(crate) fn parse_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        if error.is_data() {
            Refusal::unusable(format!("the body: {error}"))
        } else {
            Refusal::malformed(format!("the body is not JSON: {error}"))
        }
    })
}
