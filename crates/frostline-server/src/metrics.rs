//! What a server counts, in the text format that Prometheus reads.

use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// The counters of a server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter<u64, AtomicU64>>,
    seconds: Family<RouteLabels, Histogram>,
    words: Family<ModelLabels, Counter<u64, AtomicU64>>,
    open_requests: Gauge<i64, AtomicI64>,
    waiting_words: Gauge<i64, AtomicI64>,
    round_requests: Histogram,
    round_words: Histogram,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModelLabels {
    model: String,
}

impl Metrics {
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("frostline");
        let requests = Family::default();
        let seconds = Family::<RouteLabels, Histogram>::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.001, 2.0, 17))
        });
        let words = Family::default();
        let (open_requests, waiting_words) = (Gauge::default(), Gauge::default());
        let round_requests = Histogram::new(exponential_buckets(1.0, 2.0, 10));
        let round_words = Histogram::new(exponential_buckets(1.0, 2.0, 13));
        registry.register("requests", "Answered requests", requests.clone());
        registry.register_with_unit(
            "request",
            "Time from a request's head to its answer",
            Unit::Seconds,
            seconds.clone(),
        );
        registry.register("words", "Words tagged by a model", words.clone());
        registry.register(
            "open_requests",
            "Requests that are read, wait or are answered",
            open_requests.clone(),
        );
        registry.register("waiting_words", "Words of requests that wait for tags", waiting_words.clone());
        registry.register(
            "round_requests",
            "Requests whose sentences are computed together",
            round_requests.clone(),
        );
        registry.register("round_words", "Words that are computed together", round_words.clone());
        Self { registry, requests, seconds, words, open_requests, waiting_words, round_requests, round_words }
    }

    /// Counts an answered request. The route is one of the server's, not what the client has sent.
    pub fn observe_request(&self, route: &str, status: u16, elapsed: Duration) {
        self.requests.get_or_create(&RequestLabels { route: route.into(), status }).inc();
        self.seconds.get_or_create(&RouteLabels { route: route.into() }).observe(elapsed.as_secs_f64());
    }

    /// Counts words that a model has tagged.
    pub fn observe_words(&self, model: &str, words: usize) {
        self.words.get_or_create(&ModelLabels { model: model.into() }).inc_by(words as u64);
    }

    /// Counts a round of the computing thread.
    pub fn observe_round(&self, requests: usize, words: usize) {
        self.round_requests.observe(requests as f64);
        self.round_words.observe(words as f64);
    }

    /// Returns all counters as text.
    pub fn write_text(&self, open_requests: usize, waiting_words: usize) -> String {
        self.open_requests.set(open_requests as i64);
        self.waiting_words.set(waiting_words as i64);
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a string takes any text");
        text
    }
}
