//! Reports on the program's work: a log on standard error (`RUST_LOG`), and the spans of `--trace`.

use std::cell::Cell;
use std::fmt;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use frostline_files::Appender;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Subscriber};
use tracing_subscriber::filter::{EnvFilter, LevelFilter, filter_fn};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Starts the log, and appends spans to `trace`. If this was done before, nothing changes.
pub(crate) fn start_log(trace: Option<&Path>) {
    // Figures name several fonts for those who read SVG elsewhere; that one of them is not here is no news.
    let filter = match std::env::var("RUST_LOG") {
        Ok(chosen) => {
            EnvFilter::builder().with_default_directive(LevelFilter::WARN.into()).parse_lossy(chosen)
        }
        Err(_) => EnvFilter::new("warn,usvg=error"),
    };
    let color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(color && std::io::stderr().is_terminal())
        // A span is told with its fields and its time when it ends.
        .with_span_events(FmtSpan::CLOSE)
        // It would report a closed standard error there, and panic.
        .log_internal_errors(false)
        .with_filter(filter);
    let spans = trace.map(|path| {
        let ours = filter_fn(|about| about.is_span() && about.target().starts_with("frostline"));
        Spans::into_file(path).with_filter(ours).with_filter(LevelFilter::from_level(Level::TRACE))
    });
    let _ = tracing_subscriber::registry().with(log).with(spans).try_init();
}

/// Writes each span, once it ends, as a complete event of Chrome's trace format, one line each.
struct Spans {
    path: PathBuf,
    /// Opened at the first event: the sweep starts the file anew before.
    file: OnceLock<Option<Mutex<Appender>>>,
    begun: Instant,
    /// The moment of `begun`, in microseconds since 1970: the clock that processes share.
    begun_us: f64,
}

/// A span that is not over.
struct OpenSpan {
    since: Instant,
    fields: SpanFields,
}

#[derive(Default)]
struct SpanFields(Map<String, Value>);

impl Spans {
    fn into_file(path: &Path) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            path: path.into(),
            file: OnceLock::new(),
            begun: Instant::now(),
            begun_us: now.as_secs_f64() * 1e6,
        }
    }

    /// Appends a line. If that fails, the trace lacks it; no result depends on it.
    fn append_event(&self, event: &Value) {
        let file = self.file.get_or_init(|| frostline_files::append(&self.path).ok().map(Mutex::new));
        if let Some(file) = file {
            let line = format!("{event},\n");
            let _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = SpanFields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(OpenSpan { since: Instant::now(), fields });
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<OpenSpan>()
        {
            values.record(&mut open.fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(OpenSpan { since, fields }) = span.extensions_mut().remove::<OpenSpan>() else { return };
        let at = self.begun_us + since.duration_since(self.begun).as_secs_f64() * 1e6;
        self.append_event(&json!({
            "ph": "X",
            "name": span.name(),
            "cat": span.metadata().target(),
            "ts": at,
            "dur": since.elapsed().as_secs_f64() * 1e6,
            "pid": std::process::id(),
            "tid": thread_number(),
            "args": fields.0,
        }));
    }
}

/// A number of this thread, from 1.
fn thread_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static OWN: Cell<u64> = const { Cell::new(0) };
    }
    OWN.with(|own| {
        if own.get() == 0 {
            own.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
        }
        own.get()
    })
}

impl Visit for SpanFields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().into(), format!("{value:?}").into());
    }
}
