//! The interface of UDPipe's REST service.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Form, FromRequest as _, Multipart, Query, Request, State};
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use frostline_conllu::SentenceSplit;
use serde::Serialize;

use crate::document::{TaggingInput, split_text};
use crate::plain::tag_conllu;
use crate::refusal::{Refusal, json_answer};
use crate::service::Service;

/// The parameters of a request by name.
type RequestParameters = BTreeMap<String, String>;

#[derive(Serialize)]
struct UdpipeAnswer<'a> {
    model: &'a str,
    acknowledgements: [&'a str; 0],
    result: String,
}

#[derive(Serialize)]
struct UdpipeModels<'a> {
    models: BTreeMap<&'a str, [&'static str; 2]>,
    default_model: &'a str,
}

/// `GET /models`.
pub(crate) async fn list_models(State(service): State<Arc<Service>>) -> Response {
    let names = &service.models.names;
    let models = names.iter().map(|name| (name.as_str(), ["tokenizer", "tagger"])).collect();
    json_answer(&UdpipeModels { models, default_model: &names[0] })
}

/// `GET` or `POST /process`. An error is text, as clients print it.
pub(crate) async fn process(State(service): State<Arc<Service>>, request: Request) -> Response {
    let answer = async {
        let parameters = read_parameters(request).await?;
        process_parameters(&service, &parameters).await
    };
    answer.await.unwrap_or_else(Refusal::into_text)
}

async fn process_parameters(service: &Service, parameters: &RequestParameters) -> Result<Response, Refusal> {
    let get = |name: &str| parameters.get(name).map(String::as_str);
    let model = get("model").map_or(Ok(0), |name| service.models.find(name))?;
    let data =
        get("data").ok_or_else(|| Refusal::malformed("the parameter `data` is missing; it has the text"))?;
    if get("parser").is_some() {
        return Err(Refusal::malformed("`parser` is given, but there are only taggers here; leave it out"));
    }
    let document = match get("tokenizer") {
        Some(options) => tokenize(data, options)?,
        None => read_input(data, get("input").unwrap_or("conllu"))?,
    };
    let output = OutputFormat::parse(get("output").unwrap_or("conllu"))?;
    let models: &[usize] = if get("tagger").is_some() { &[model] } else { &[] };
    let result = match output {
        OutputFormat::Conllu => {
            let conllu = tag_conllu(service, models, &document, false).await?;
            String::from_utf8_lossy(&conllu).into_owned()
        }
        OutputFormat::Horizontal => document.words().iter().map(|words| words.join(" ") + "\n").collect(),
        OutputFormat::Vertical => document.words().iter().map(|words| words.join("\n") + "\n\n").collect(),
    };
    let model = service.models.names[model].as_str();
    Ok(json_answer(&UdpipeAnswer { model, acknowledgements: [], result }))
}

/// Splits text; a line is a sentence if the tokenizer's options say so.
fn tokenize(data: &str, options: &str) -> Result<TaggingInput, Refusal> {
    let mut split = SentenceSplit::Unicode;
    for option in options.split(';').filter(|option| !option.is_empty()) {
        match option {
            "presegmented" => split = SentenceSplit::Lines,
            other => {
                return Err(Refusal::malformed(format!(
                    "the option {other:?} of `tokenizer` is unknown; there is `presegmented`"
                )));
            }
        }
    }
    Ok(TaggingInput::Text(split_text(data, split)))
}

/// Reads data in one of UDPipe's formats.
fn read_input(data: &str, format: &str) -> Result<TaggingInput, Refusal> {
    match base_format(format) {
        "conllu" => TaggingInput::from_conllu(data.as_bytes()),
        "horizontal" => Ok(TaggingInput::from_lines(data)),
        "vertical" => Ok(TaggingInput::from_column(data)),
        "generic_tokenizer" => Ok(TaggingInput::Text(split_text(data, SentenceSplit::Unicode))),
        _ => Err(Refusal::malformed(format!(
            "the input {format:?} is unknown; there are conllu, horizontal, vertical and generic_tokenizer, and \
             the parameter `tokenizer` for text"
        ))),
    }
}

/// The format of the result.
#[derive(Clone, Copy)]
enum OutputFormat {
    Conllu,
    /// Words of a sentence in one line.
    Horizontal,
    /// A word in each line.
    Vertical,
}

impl OutputFormat {
    fn parse(format: &str) -> Result<Self, Refusal> {
        match base_format(format) {
            "conllu" => Ok(Self::Conllu),
            "horizontal" => Ok(Self::Horizontal),
            "vertical" => Ok(Self::Vertical),
            _ => Err(Refusal::malformed(format!(
                "the output {format:?} is unknown; there are conllu, horizontal and vertical"
            ))),
        }
    }
}

/// Returns a format without its options: `conllu=v2` is `conllu`.
fn base_format(format: &str) -> &str {
    format.split_once('=').map_or(format, |(name, _)| name)
}

/// Returns the parameters of a request: in its address, and in a form or a multipart body.
async fn read_parameters(request: Request) -> Result<RequestParameters, Refusal> {
    let query = Query::<RequestParameters>::try_from_uri(request.uri());
    let Query(mut parameters) = query.map_err(|error| Refusal::malformed(format!("the address: {error}")))?;
    if request.method() == Method::GET {
        return Ok(parameters);
    }
    let content = request.headers().get(CONTENT_TYPE).and_then(|content| content.to_str().ok());
    match content.map(|content| content.split(';').next().unwrap_or_default().trim()) {
        Some("multipart/form-data") => read_multipart(request, &mut parameters).await?,
        Some("application/x-www-form-urlencoded") => {
            let form = Form::<RequestParameters>::from_request(request, &()).await;
            let Form(form) = form.map_err(|error| Refusal::malformed(format!("the form: {error}")))?;
            parameters.extend(form);
        }
        content => {
            return Err(Refusal::malformed(format!(
                "the body is {}; send multipart/form-data or application/x-www-form-urlencoded",
                content.unwrap_or("without a Content-Type")
            )));
        }
    }
    Ok(parameters)
}

/// Adds the parts of a multipart body.
async fn read_multipart(request: Request<Body>, parameters: &mut RequestParameters) -> Result<(), Refusal> {
    let fault = |error: &dyn std::fmt::Display| Refusal::malformed(format!("the multipart body: {error}"));
    let mut parts = Multipart::from_request(request, &()).await.map_err(|error| fault(&error))?;
    while let Some(part) = parts.next_field().await.map_err(|error| fault(&error.body_text()))? {
        let Some(name) = part.name().map(String::from) else { continue };
        let bytes = part.bytes().await.map_err(|error| fault(&error.body_text()))?;
        let text = String::from_utf8(bytes.into()).map_err(|_| {
            Refusal::malformed(format!("the parameter {name:?} is not UTF-8; convert it to UTF-8"))
        })?;
        parameters.insert(name, text);
    }
    Ok(())
}
