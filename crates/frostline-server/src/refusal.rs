//! Answers of the server: JSON, or why a request gets no tags, with its status.

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Returns a value as an answer in JSON.
pub(crate) fn json_answer(value: &impl Serialize) -> Response {
    let text = serde_json::to_string(value).expect("plain data always serialises");
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}

/// A request that is answered with an error: its status, a word for programs and a sentence for people.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub status: StatusCode,
    kind: &'static str,
    pub reason: String,
}

impl Refusal {
    fn new(status: StatusCode, kind: &'static str, reason: impl Into<String>) -> Self {
        Self { status, kind, reason: reason.into() }
    }

    /// A request that cannot be read.
    pub fn malformed(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", reason)
    }

    /// A request that can be read, but has values that cannot be used.
    pub fn unusable(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unusable", reason)
    }

    /// A model or a path that is not there.
    pub fn not_found(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", reason)
    }

    /// A path that takes other methods.
    pub fn wrong_method(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", reason)
    }

    /// A request that is larger than any that is answered.
    pub fn too_large(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", reason)
    }

    /// A request that has to come again later, since too many others wait.
    pub fn overloaded(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "overloaded", reason)
    }

    /// A request that was not answered in time, or came when the server ended.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", reason)
    }

    /// A request for another host.
    pub fn misdirected(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::MISDIRECTED_REQUEST, "misdirected", reason)
    }

    /// A fault of the server or of a model.
    pub fn internal(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", reason)
    }

    /// Returns the answer as text, which UDPipe's clients print.
    pub fn into_text(self) -> Response {
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        self.respond(text, |refusal| refusal.reason.clone() + "\n")
    }

    fn respond(self, content: HeaderValue, body: impl Fn(&Self) -> String) -> Response {
        let mut response = (self.status, body(&self)).into_response();
        response.headers_mut().insert(CONTENT_TYPE, content);
        if matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl IntoResponse for Refusal {
    /// Returns the answer as JSON with the keys that servers of Hugging Face have.
    fn into_response(self) -> Response {
        let json = HeaderValue::from_static("application/json");
        self.respond(json, |refusal| {
            serde_json::json!({"error": refusal.reason, "error_type": refusal.kind}).to_string()
        })
    }
}
