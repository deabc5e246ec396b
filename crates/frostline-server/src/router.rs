//! The paths of the server.

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::json;
use tower_http::catch_panic::CatchPanicLayer;

use crate::gate::pass_gate;
use crate::refusal::{Refusal, json_answer};
use crate::service::Service;
use crate::{hugging_face, plain, udpipe};

/// The paths, for errors.
const PATHS: &str = "POST /v1/tag, GET /v1/models, POST /models/ID, GET or POST /process, GET /models, GET /health and GET /metrics";

/// Returns the server's answers by path.
pub(crate) fn build_router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/", post(hugging_face::tag_default))
        .route("/models", get(udpipe::list_models))
        .route("/models/{id}", post(hugging_face::tag_named))
        .route("/process", get(udpipe::process).post(udpipe::process))
        .route("/v1/tag", post(plain::tag))
        .route("/v1/models", get(plain::list_models))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .fallback(no_path)
        .method_not_allowed_fallback(no_method)
        // The gate has read the body up to the server's limit.
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(answer_panic))
        .layer(from_fn_with_state(Arc::clone(&service), pass_gate))
        .with_state(service)
}

async fn health() -> Response {
    json_answer(&json!({"status": "ok"}))
}

async fn metrics(State(service): State<Arc<Service>>) -> Response {
    let text = service.metrics.write_text(service.open_requests(), service.batcher.waiting_words());
    ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response()
}

async fn no_path() -> Refusal {
    Refusal::not_found(format!("there is no such path; there are {PATHS}"))
}

async fn no_method() -> Refusal {
    Refusal::wrong_method(format!("the path takes another method; there are {PATHS}"))
}

fn answer_panic(_: Box<dyn Any + Send>) -> Response {
    Refusal::internal(
        "the request could not be answered because of a fault in the server; report this as a bug",
    )
    .into_response()
}
