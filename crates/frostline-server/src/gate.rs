//! What every request passes: its host, the limits of number, size and time, and the counters.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{CACHE_CONTROL, HOST, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::body::read_body;
use crate::refusal::Refusal;
use crate::service::Service;

/// Answers a request if its host is one of the server's, there is room for it, its body is small enough and its time
/// suffices.
pub(crate) async fn pass_gate(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_string());
    let route = route.unwrap_or_else(|| "none".into());
    let as_text = route == "/process";
    let answer = tokio::time::timeout(service.limits.time, answer_in_gate(&service, request, next)).await;
    let answer = answer.unwrap_or_else(|_| {
        let seconds = service.limits.time.as_secs_f64();
        Err(Refusal::unavailable(format!(
            "there was no answer after {seconds} s; send fewer sentences, or try again later"
        )))
    });
    let mut response = match answer {
        Ok(response) => response,
        Err(refusal) if as_text => refusal.into_text(),
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    service.metrics.observe_request(&route, response.status().as_u16(), begun.elapsed());
    response
}

async fn answer_in_gate(service: &Service, request: Request, next: Next) -> Result<Response, Refusal> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| service.hosts.allows_host(host)) {
        return Err(Refusal::misdirected(
            "this server does not answer for that host name; `--name NAME` adds one",
        ));
    }
    // What only looks at the server is answered however many others wait.
    if matches!(request.uri().path(), "/health" | "/metrics") {
        return Ok(next.run(request).await);
    }
    let _room = service.room.try_acquire().map_err(|_| {
        let most = service.limits.requests;
        Refusal::overloaded(format!("{most} requests are open already; try again later"))
    })?;
    let (parts, body) = request.into_parts();
    let body = read_body(body, service.limits.body_bytes).await?;
    Ok(next.run(Request::from_parts(parts, Body::from(body))).await)
}
