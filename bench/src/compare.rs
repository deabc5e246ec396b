//! The comparisons, read from `comparisons.toml`: settings of both sides, what one measurement covers, and the bars (targets)
//! to reach.
//!
//! # To add a comparison with another program
//!
//! A row of `comparisons` in `comparisons.toml`, and for a performance target a row of `bars`; the file also has the settings of
//! both sides. Peers are scripts in `tests/peers/` that end with one JSON line. `cargo xtask bench --write` stores measurements
//! in `docs/benchmarks.json` and renders `docs/benchmarks.md` from it; rows that were not measured again are kept.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::suite::Suite;

/// All of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definitions {
    /// The encoders that are measured by default.
    pub encoders: Vec<String>,
    settings: Vec<BenchSetting>,
    pub comparisons: Vec<BenchComparison>,
    bars: Vec<ComparisonBar>,
    measures: BTreeMap<String, FigureKind>,
    scales: BTreeMap<String, FigureScale>,
    commands: BTreeMap<String, String>,
    suites: BTreeMap<Suite, Section>,
}

/// The definitions of this build.
pub(crate) static DEFINITIONS: LazyLock<Definitions> = LazyLock::new(|| {
    toml::from_str(include_str!("comparisons.toml")).expect("a test reads comparisons.toml")
});

/// The settings of one side.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BenchSetting {
    /// The setting's name in tables.
    pub id: String,
    /// The setting's description on the page.
    #[serde(default)]
    pub means: String,
    /// Options of our command, or of the peer's script.
    #[serde(default)]
    pub flags: Vec<String>,
    /// The same as settings of a plan; only for our side.
    #[serde(default)]
    pub plan: Vec<String>,
    /// The precision of matrix products.
    #[serde(default = "usual_precision")]
    pub precision: String,
}

/// What one measurement covers.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FigureScale {
    /// Treebanks by language.
    pub treebanks: BTreeMap<String, String>,
    /// One run for each.
    #[serde(default = "usual_seed")]
    pub seeds: Vec<u64>,
    /// Train sentences from the start of the treebank; 0 means all.
    #[serde(default)]
    pub first: usize,
    /// Passes over them; 0 if steps are counted instead.
    #[serde(default)]
    pub epochs: u32,
    /// Sentences per step; 0 means the number given on the command line.
    #[serde(default)]
    pub batch: u32,
}

/// One comparison: it makes a row for each encoder and each entry of `policies`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BenchComparison {
    /// Unique.
    pub id: String,
    /// The section it belongs to.
    pub suite: Suite,
    ours: String,
    peer: String,
    /// The policies of each row; a sweep has many in one row, reading has none.
    pub policies: Vec<Vec<String>>,
    scale: String,
    /// The encoders that it needs; empty means all that are measured.
    #[serde(default)]
    pub encoders: Vec<String>,
}

/// A figure that both sides report.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FigureKind {
    /// The figure's unit in tables.
    pub unit: String,
    /// The heading of its table.
    pub title: String,
    #[serde(default)]
    more_is_better: bool,
}

/// A section of the page, and the commands of both sides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Section {
    pub title: String,
    /// The keys of the figures of its tables.
    pub measures: Vec<String>,
    /// Our command; nothing if our side is a sweep.
    pub ours: Option<String>,
    /// The peer's script with its arguments.
    pub peer: String,
    /// The section's description.
    pub about: String,
}

/// What a row should reach.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ComparisonBar {
    comparison: String,
    /// The key of the figure that it is about.
    pub measure: String,
    /// Only this row; `None` means every row with the comparison's id.
    policy: Option<String>,
    /// Only this encoder.
    encoder: Option<String>,
    /// Applies only if both sides used these instructions.
    isa: Option<String>,
    /// Whether our own figure is held to the bar, which should be no higher, instead of the ratio, which should be no lower.
    #[serde(default)]
    own: bool,
    /// What is acceptable.
    must: f64,
    /// What to aim at, if that is more.
    aim: Option<f64>,
}

fn usual_precision() -> String {
    "f32".into()
}

fn usual_seed() -> Vec<u64> {
    vec![42]
}

/// Returns the settings that the page describes.
pub(crate) fn described_settings() -> impl Iterator<Item = &'static BenchSetting> {
    DEFINITIONS.settings.iter().filter(|setting| !setting.means.is_empty())
}

/// Returns the figure with this key.
pub(crate) fn measure_by_key(key: &str) -> &'static FigureKind {
    &DEFINITIONS.measures[key]
}

/// Returns the scale with this name.
pub(crate) fn scale_by_name(name: &str) -> &'static FigureScale {
    &DEFINITIONS.scales[name]
}

fn setting_by_id(id: &str) -> &'static BenchSetting {
    DEFINITIONS.settings.iter().find(|setting| setting.id == id).expect("a test looks all settings up")
}

impl BenchComparison {
    pub(crate) fn our_setting(&self) -> &'static BenchSetting {
        setting_by_id(&self.ours)
    }

    pub(crate) fn peer_setting(&self) -> &'static BenchSetting {
        setting_by_id(&self.peer)
    }

    pub(crate) fn measure_scale(&self) -> &'static FigureScale {
        scale_by_name(&self.scale)
    }
}

impl Suite {
    /// Returns the suite's section in the file.
    pub(crate) fn suite_section(self) -> &'static Section {
        &DEFINITIONS.suites[&self]
    }

    /// The keys of the figures of its tables.
    pub(crate) fn measure_keys(self) -> impl Iterator<Item = &'static str> {
        self.suite_section().measures.iter().map(String::as_str)
    }
}

impl FigureKind {
    /// Returns how many times better Frostline is: less time or memory, more speed.
    pub(crate) fn ratio(&self, ours: f64, peer: f64) -> f64 {
        if self.more_is_better { ours / peer } else { peer / ours }
    }
}

/// The words of a command; each `{NAME}` is replaced by the words of `value`, or else of the file's `commands`.
pub(crate) fn command_words(command: &str, value: &impl Fn(&str) -> Option<Vec<OsString>>) -> Vec<OsString> {
    let word = |word: &'_ str| match word.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
        None => vec![word.into()],
        Some(name) => value(name).unwrap_or_else(|| command_words(&DEFINITIONS.commands[name], value)),
    };
    command.split_whitespace().flat_map(word).collect()
}

impl ComparisonBar {
    /// Returns both figures, as tables show them.
    pub(crate) fn format_bar(&self) -> String {
        let unit = if self.own { format!(" {}", measure_by_key(&self.measure).unit) } else { "x".into() };
        format!("{}{unit}, {}{unit}", self.must, self.aim.unwrap_or(self.must))
    }

    /// Returns what the medians of our figure and of the ratio reach; empty if the one that counts is missing.
    pub(crate) fn bar_verdict(&self, ours: Option<f64>, ratio: Option<f64>) -> &'static str {
        let reaches = |bar: f64| {
            if self.own { ours.map(|ours| ours <= bar) } else { ratio.map(|ratio| ratio >= bar) }
        };
        match [self.must, self.aim.unwrap_or(self.must)].map(reaches) {
            [_, Some(true)] => "aim reached",
            [Some(true), _] => "reached",
            [Some(false), _] => "SHORT",
            [None, _] => "",
        }
    }
}

/// The bar of a row, if it has one: the first that matches.
pub(crate) fn bar_of(
    comparison: &str,
    measure: &str,
    policy: &str,
    encoder: &str,
    isa: &str,
) -> Option<&'static ComparisonBar> {
    let only = |named: &Option<String>, value: &str| named.as_ref().is_none_or(|named| named == value);
    let fits = |bar: &&ComparisonBar| {
        bar.comparison == comparison
            && bar.measure == measure
            && only(&bar.policy, policy)
            && only(&bar.encoder, encoder)
            && only(&bar.isa, isa)
    };
    DEFINITIONS.bars.iter().find(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;

    #[test]
    fn what_the_file_names_is_in_it() {
        let all = &DEFINITIONS.comparisons;
        for (at, comparison) in all.iter().enumerate() {
            let _ = (comparison.our_setting(), comparison.peer_setting(), comparison.measure_scale());
            assert!(!all[..at].iter().any(|before| before.id == comparison.id), "{}", comparison.id);
        }
        for suite in Suite::value_variants() {
            assert!(suite.measure_keys().all(|key| !measure_by_key(key).title.is_empty()));
        }
        for bar in &DEFINITIONS.bars {
            let comparison = all.iter().find(|comparison| comparison.id == bar.comparison).expect("its rows");
            assert!(comparison.suite.measure_keys().any(|key| key == bar.measure), "{bar:?}");
            let of_policy = |row: &Vec<String>| {
                bar.policy.as_ref().is_none_or(|policy| row == std::slice::from_ref(policy))
            };
            assert!(comparison.policies.iter().any(of_policy), "{bar:?}");
            let aim = bar.aim.unwrap_or(bar.must);
            assert!(if bar.own { aim <= bar.must } else { bar.must <= aim }, "{bar:?}");
        }
    }

    #[test]
    fn a_ratio_above_one_is_always_our_gain() {
        assert_eq!(measure_by_key("step_ms_mean").ratio(100.0, 400.0), 4.0);
        assert_eq!(measure_by_key("parse_mb_per_s").ratio(400.0, 100.0), 4.0);
    }

    #[test]
    fn a_bar_holds_for_its_rows() {
        let [minilm, distilbert] = ["all-MiniLM-L6-v2", "distilbert-base-multilingual-cased"];
        let on = |isa, policy, encoder, key| bar_of("f32-study", key, policy, encoder, isa).map(|b| b.must);
        let must = |policy, encoder, key| on("avx512+bf16", policy, encoder, key);
        assert_eq!(on("avx2", "none", minilm, "step_ms_mean"), Some(3.5));
        assert_eq!(must("none", minilm, "step_ms_mean"), Some(4.0));
        assert_eq!(must("first-2", minilm, "step_ms_mean"), None);
        assert_eq!(must("none", distilbert, "peak_rss_mib"), Some(2.0));
        assert_eq!(must("none", minilm, "peak_rss_mib"), None);
    }

    #[test]
    fn a_bar_holds_a_ratio_or_our_own_figure() {
        let ratio = bar_of("f32-study", "step_ms_mean", "all", "", "").expect("a bar");
        assert_eq!(ratio.format_bar(), "4x, 8x");
        let verdicts =
            [Some(8.0), Some(4.0), Some(3.9), None].map(|found| ratio.bar_verdict(Some(1.0), found));
        assert_eq!(verdicts, ["aim reached", "reached", "SHORT", ""]);
        let own = bar_of("start-f32-study", "start_s", "", "all-MiniLM-L6-v2", "").expect("a bar");
        let own = ComparisonBar { aim: Some(0.25), ..own.clone() };
        assert_eq!(own.format_bar(), "0.5 s, 0.25 s");
        let verdicts =
            [Some(0.25), Some(0.5), Some(0.51), None].map(|found| own.bar_verdict(found, Some(9.0)));
        assert_eq!(verdicts, ["aim reached", "reached", "SHORT", ""]);
    }
}
