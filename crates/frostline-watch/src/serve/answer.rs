//! Which answer a request gets: a fixed file, the state, or a file of the report. No path is ever opened.

use tiny_http::Method;

use super::site::Site;

/// What is sent.
pub(super) struct Answer {
    /// The status of HTTP.
    pub(super) status: u16,
    /// The media type.
    pub(super) kind: &'static str,
    /// The body.
    pub(super) bytes: Vec<u8>,
    /// What a browser may load for it.
    pub(super) policy: &'static str,
}

const TEXT: &str = "text/plain; charset=utf-8";

/// The live page loads its own script and style, asks for the state, and shows the report in a frame.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; \
                           base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The report's page carries its own policy; here it is only kept out of other sites' frames.
const REPORT_POLICY: &str = "frame-ancestors 'self'";

impl Answer {
    /// Plain text.
    pub(super) fn text(status: u16, text: &str) -> Self {
        Self { status, kind: TEXT, bytes: text.into(), policy: PAGE_POLICY }
    }

    fn page(kind: &'static str, text: &str) -> Self {
        Self { status: 200, kind, bytes: text.into(), policy: PAGE_POLICY }
    }
}

/// The answer to a request.
pub(super) fn answer(method: &Method, url: &str, site: &Site) -> Answer {
    if !matches!(method, Method::Get | Method::Head) {
        return Answer::text(405, "Only reading is possible: GET and HEAD.\n");
    }
    match url.split(['?', '#']).next().unwrap_or_default() {
        "/" => Answer::page("text/html; charset=utf-8", include_str!("live.html")),
        "/live.css" => Answer::page("text/css; charset=utf-8", include_str!("live.css")),
        "/live.js" => Answer::page("text/javascript; charset=utf-8", include_str!("live.js")),
        "/status.json" => Answer::page("application/json", &site.status()),
        path => path.strip_prefix("/report/").map_or_else(missing, |name| report(name, site)),
    }
}

fn missing() -> Answer {
    Answer::text(404, "There is nothing here; the page is at /.\n")
}

/// A file of the report, by its name in the list of the report's files.
fn report(name: &str, site: &Site) -> Answer {
    match site.report() {
        Err(error) => Answer::text(503, &format!("The report cannot be computed now: {error}\n")),
        Ok(files) => {
            let found = files.iter().find(|file| file.path == name);
            found.map_or_else(missing, |file| Answer {
                status: 200,
                kind: kind(name),
                bytes: file.bytes.clone(),
                policy: REPORT_POLICY,
            })
        }
    }
}

/// The media type of a file, by the ending of its name.
fn kind(name: &str) -> &'static str {
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
