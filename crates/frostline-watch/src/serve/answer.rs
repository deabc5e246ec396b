//! Which answer a request gets: a fixed file, the state, or a file of the report. No path is ever opened.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Response, StatusCode};

use super::site::ServedSite;

/// An answer to a request.
pub(super) struct HttpAnswer {
    status: StatusCode,
    /// The media type.
    kind: &'static str,
    body: Bytes,
    /// The content security policy of the page.
    policy: &'static str,
}

const TEXT: &str = "text/plain; charset=utf-8";

/// The live page loads its own script and style, requests the state, and shows the report in a frame.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; \
                           base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The report's page carries its own policy; here it is only kept out of other sites' frames.
const REPORT_POLICY: &str = "frame-ancestors 'self'";

impl HttpAnswer {
    /// Plain text.
    pub(super) fn text(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, kind: TEXT, body: text.into().into(), policy: PAGE_POLICY }
    }

    fn page(kind: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status: StatusCode::OK, kind, body: body.into(), policy: PAGE_POLICY }
    }

    /// Returns the answer with the headers that every answer has.
    pub(super) fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        let headers = [
            (header::CONTENT_TYPE, self.kind),
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
            (header::CONTENT_SECURITY_POLICY, self.policy),
            (header::ALLOW, "GET, HEAD"),
        ];
        response.headers_mut().extend(headers.map(|(name, value)| (name, HeaderValue::from_static(value))));
        response
    }
}

/// Returns the answer to a request.
pub(super) async fn answer_request(method: &Method, path: &str, site: &ServedSite) -> HttpAnswer {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return HttpAnswer::text(StatusCode::METHOD_NOT_ALLOWED, "Only reading is possible: GET and HEAD.\n");
    }
    match path {
        "/" => HttpAnswer::page("text/html; charset=utf-8", include_str!("live.html")),
        "/live.css" => HttpAnswer::page("text/css; charset=utf-8", include_str!("live.css")),
        "/live.js" => HttpAnswer::page("text/javascript; charset=utf-8", include_str!("live.js")),
        "/status.json" => match site.status().await {
            Ok(state) => HttpAnswer::page("application/json", state),
            Err(error) => unavailable_answer(&format!("The state cannot be read now: {error:#}\n")),
        },
        path => match path.strip_prefix("/report/") {
            Some(name) => report_file(name, site).await,
            None => not_found(),
        },
    }
}

fn not_found() -> HttpAnswer {
    HttpAnswer::text(StatusCode::NOT_FOUND, "There is nothing here; the page is at /.\n")
}

fn unavailable_answer(text: &str) -> HttpAnswer {
    HttpAnswer::text(StatusCode::SERVICE_UNAVAILABLE, text)
}

/// Returns a file of the report, by its name in the list of the report's files.
async fn report_file(name: &str, site: &ServedSite) -> HttpAnswer {
    match site.report().await {
        Err(error) => unavailable_answer(&format!("The report cannot be computed now: {error:#}\n")),
        Ok(files) => files.get(name).map_or_else(not_found, |body| HttpAnswer {
            status: StatusCode::OK,
            kind: media_type(name),
            body: body.clone(),
            policy: REPORT_POLICY,
        }),
    }
}

/// Returns the media type of a file, by the ending of its name.
fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "csv" => "text/csv; charset=utf-8",
        "pdf" => "application/pdf",
        "parquet" => "application/vnd.apache.parquet",
        _ => TEXT,
    }
}
