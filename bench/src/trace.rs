//! The spans of a sweep (`--trace`): when its first step began, and what its time was spent on.

use std::path::Path;

use serde::Deserialize;

use crate::stored::SideFigures;

/// A span that has ended.
#[derive(Debug, Deserialize)]
pub(crate) struct TraceSpan {
    name: String,
    /// When it began, in microseconds since 1970.
    ts: f64,
    /// Microseconds that it took.
    dur: f64,
}

/// What a sweep's time is divided into: the heading, the key, and the spans, none of which lies in another.
pub(crate) const PARTS: [(&str, &str, &[&str]); 9] = [
    ("checks>", "part.checks_s", &["check"]),
    ("loading>", "part.loading_s", &["load"]),
    ("cached prefix>", "part.prefix_s", &["prefix"]),
    ("forward>", "part.forward_s", &["forward"]),
    ("backward>", "part.backward_s", &["backward"]),
    ("update>", "part.update_s", &["update"]),
    ("scoring>", "part.scoring_s", &["evaluate"]),
    ("saving and report>", "part.writing_s", &["save", "report"]),
    ("else>", ELSE, &[]),
];

/// The key of what is in no span: fetching batches, starting processes, the time between spans.
const ELSE: &str = "part.else_s";

/// The spans in a trace that may be being written.
pub(crate) fn read_spans(trace: &Path) -> Vec<TraceSpan> {
    let text = std::fs::read_to_string(trace).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line.trim_end_matches(',')).ok()).collect()
}

/// When the first training step began, in seconds since 1970, once one has ended.
pub(crate) fn first_step(spans: &[TraceSpan]) -> Option<f64> {
    let steps = spans.iter().filter(|span| span.name == "step");
    steps.map(|step| step.ts / 1e6).reduce(f64::min)
}

/// The seconds of each of the [`PARTS`] of a sweep that took so long with one cell at a time.
pub(crate) fn part_seconds(spans: &[TraceSpan], wall_s: f64) -> SideFigures {
    let seconds = |names: &[&str]| {
        let of_it = spans.iter().filter(|span| names.contains(&span.name.as_str()));
        // The sum of nothing would be -0.
        of_it.fold(0.0, |sum, span| sum + span.dur / 1e6)
    };
    let mut parts: SideFigures =
        PARTS.iter().map(|(_, key, names)| (key.to_string(), seconds(names))).collect();
    let known: f64 = parts.values().sum();
    parts.insert(ELSE.into(), wall_s - known);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_without_its_end_says_where_time_went() {
        let folder = tempfile::tempdir().expect("a folder");
        let trace = folder.path().join("trace.json");
        assert_eq!(first_step(&read_spans(&trace)), None);
        let text = r#"[
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"sweep"}},
{"ph":"X","name":"load","ts":1000000.0,"dur":250000.0,"pid":2,"tid":1,"args":{}},
{"ph":"X","name":"forward","ts":1500000.0,"dur":20000.0,"pid":2,"tid":1,"args":{}},
{"ph":"X","name":"step","ts":1490000.0,"dur":50000.0,"pid":2,"tid":1,"args":{"step":1}},
{"ph":"X","name":"forward","ts":1550000.0,"dur":30000.0,"pid":2,"tid":1,"args":{}},
{"ph":"X","name":"step","ts":1540000.0,"dur":60000.0,"pid":2,"tid":1,"args":{"step":2}},
{"ph":"X","name":"for"#;
        std::fs::write(&trace, text).expect("a file");
        let spans = read_spans(&trace);
        assert_eq!(first_step(&spans), Some(1.49));
        let parts = part_seconds(&spans, 1.0);
        let of = |key: &str| (parts[key] * 1e3).round();
        assert_eq!(
            ["part.loading_s", "part.forward_s", "part.scoring_s", ELSE].map(of),
            [250.0, 50.0, 0.0, 700.0]
        );
    }
}
