//! Plans: a grid of settings as a TOML file, expanded into cells.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::paths::set_in;
use crate::toml_errors::explain_message;
use crate::{
    Claim, DecideSettings, FileName, PlanError, SCHEMA, SearchSettings, Settings, Stage, Switch,
    TimingSettings, TrackSettings, claim_check,
};

/// A plan: settings shared by all cells, and the axes of the grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The schema of this file, [`SCHEMA`].
    pub schema: u32,
    /// A short name for folders and headings.
    pub name: FileName,
    /// One or two sentences for the report.
    #[serde(default)]
    pub about: String,
    /// Sentences that every report of the plan prints under "What to keep in mind". They change no cell.
    #[serde(default)]
    pub caveats: Vec<String>,
    /// Whether the data is made up; every output then points it out.
    #[serde(default)]
    pub synthetic: bool,
    /// Number of concurrent workers, unless the command line sets it; 0 means as many as are fastest on the
    /// machine.
    #[serde(default)]
    pub jobs: usize,
    /// The place for outputs of constant prefixes. It changes no result.
    #[serde(default)]
    pub prefix_cache: PrefixCache,
    /// How often a running cell writes a checkpoint; changes no result.
    #[serde(default)]
    pub checkpoints: Checkpoints,
    /// Whether and how long policies take steps in turns after the cells are done; changes no result.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timing: TimingSettings,
    /// The search for learning rates before the comparison.
    #[serde(default, skip_serializing_if = "SearchSettings::is_default")]
    pub search: SearchSettings,
    /// The question with which the sweep grows until it is answered.
    #[serde(default, skip_serializing_if = "DecideSettings::is_default")]
    pub decide: DecideSettings,
    /// The trackers that receive cells' values during training. They change no cell.
    #[serde(default, skip_serializing_if = "TrackSettings::is_default")]
    pub track: TrackSettings,
    /// Short name to dataset folder, path or `embedded:NAME`.
    pub treebanks: BTreeMap<FileName, String>,
    /// Dotted path of a setting to the values it takes; all combinations are run.
    #[serde(default)]
    pub grid: BTreeMap<String, Vec<toml::Value>>,
    /// What all cells share.
    #[serde(default)]
    pub settings: Settings,
    /// Settings of single policies, by name, in the form of a [`Stage`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub policies: BTreeMap<String, Stage>,
    /// Settings of single languages, in the same form.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub langs: BTreeMap<FileName, Stage>,
    /// The claims that the cells should decide. They change no cell.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// How policies are judged; changes no cell.
    #[serde(default, skip_serializing_if = "VerdictRule::is_default")]
    pub verdict: VerdictRule,
    /// A [`Reference`](crate::Reference): published figures to compare with the sweep's, as a path relative to
    /// the plan's file; empty means none. It changes no cell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
}

/// The prefix cache: if the embeddings and the lowest blocks are frozen without dropout, their output is
/// computed once and read by all epochs and cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PrefixCache {
    /// Whether it is used if it can be.
    pub enabled: Switch,
    /// MiB that a worker keeps in memory, for all splits together. Outputs that do not fit, and all outputs
    /// shared by several workers, are written to a file in the sweep's folder.
    pub memory_mib: u64,
    /// Whether the files stay when the sweep is done.
    pub keep: Switch,
}

/// How often a running cell writes a checkpoint, from which it is resumed after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Checkpoints {
    /// Every so many steps; 0 means not by steps.
    pub steps: u64,
    /// Every so many minutes of a cell's time; 0 means not by time.
    pub minutes: f64,
}

/// The rule by which a report compares policies with the policy that freezes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VerdictRule {
    /// Policies whose accuracies differ by less are equivalent.
    pub margin: Margin,
}

impl VerdictRule {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A difference of accuracies that does not matter.
///
/// # Units
/// Points of a percent, from 0.001 to 100.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Margin(f64);

impl Margin {
    /// Returns the margin in points.
    #[must_use]
    pub const fn points(self) -> f64 {
        self.0
    }
}

impl Default for Margin {
    fn default() -> Self {
        Self(0.5)
    }
}

impl TryFrom<f64> for Margin {
    type Error = String;

    fn try_from(points: f64) -> Result<Self, String> {
        if (0.001..=100.0).contains(&points) {
            Ok(Self(points))
        } else {
            Err(format!("the margin is {points:?}, but must be from 0.001 to 100 points"))
        }
    }
}

impl From<Margin> for f64 {
    fn from(margin: Margin) -> Self {
        margin.0
    }
}

impl Checkpoints {
    /// None at all.
    pub const NEVER: Self = Self { steps: 0, minutes: 0.0 };
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { steps: 0, minutes: 10.0 }
    }
}

impl Default for PrefixCache {
    fn default() -> Self {
        Self { enabled: Switch::On, memory_mib: 2048, keep: Switch::Off }
    }
}

fn is_default(timing: &TimingSettings) -> bool {
    *timing == TimingSettings::default()
}

impl Plan {
    /// Reads a plan. `path` is only named in errors.
    ///
    /// # Errors
    /// A syntax error or unknown key with line and column, another schema, or a claim that no cell
    /// could decide.
    pub fn parse(text: &str, path: &str) -> Result<Self, PlanError> {
        let mut plan: Self = toml::from_str(text).map_err(|error| PlanError::Syntax {
            path: path.into(),
            reason: explain_message(error.to_string().trim_end(), SCHEMA),
        })?;
        if plan.schema != SCHEMA {
            return Err(PlanError::Schema { path: path.into(), found: plan.schema });
        }
        claim_check::check(&plan.claims, &plan.settings, &plan.grid, &plan.treebanks)?;
        plan.check_own_are_compared()?;
        // Embedded data is synthetic.
        plan.synthetic |= plan.treebanks.values().any(|place| place.starts_with("embedded:"));
        Ok(plan)
    }

    /// Replaces the values of an axis, or adds the axis.
    pub fn set_axis<V: Into<toml::Value>>(&mut self, axis: &str, values: impl IntoIterator<Item = V>) {
        self.grid.insert(axis.into(), values.into_iter().map(Into::into).collect());
    }

    /// Applies an override such as `data.first=2500`; it replaces an axis of that name. A list, as in
    /// `optimizer.lr=[1e-5, 5e-5]`, becomes an axis, which replaces values of single policies and languages.
    /// `policies.none+lora.optimizer.lr=1e-3` and `langs.id.data.cut_dev=0.1` set values of one policy or
    /// language, `search.seed=7` a setting of the search for learning rates, `decide.cells=40` the
    /// most cells of a sweep that stops when it knows, `verdict.margin=0.3` the difference that does not matter.
    ///
    /// # Errors
    /// If the text is not an assignment, or the path or value does not fit.
    pub fn assign(&mut self, text: &str) -> Result<(), PlanError> {
        let Some((path, value)) = text.split_once('=') else {
            return Err(PlanError::NotAnAssignment { text: text.into() });
        };
        let (path, value) = (path.trim(), parse_value(path, value.trim())?);
        if let Some(set) = self.set_own(path, &value) {
            return set;
        }
        if let Some(rest) = path.strip_prefix("search.") {
            return set_in(&mut self.search, path, rest, value);
        }
        if let Some(rest) = path.strip_prefix("decide.") {
            return set_in(&mut self.decide, path, rest, value);
        }
        if let Some(rest) = path.strip_prefix("verdict.") {
            return set_in(&mut self.verdict, path, rest, value);
        }
        if let toml::Value::Array(values) = value {
            self.drop_own(path);
            self.grid.insert(path.into(), values);
            return Ok(());
        }
        self.grid.remove(path);
        self.settings.set(path, value)
    }
}

/// Returns a command-line value: TOML if it is TOML, else a string.
///
/// # Errors
/// If it is several lines that are not one value, such as a list over lines: all but the first would be lost.
fn parse_value(path: &str, text: &str) -> Result<toml::Value, PlanError> {
    let table = toml::from_str::<toml::Table>(&format!("value = {text}"));
    match table.ok().filter(|table| table.len() == 1).and_then(|mut table| table.remove("value")) {
        Some(value) => Ok(value),
        None if text.contains(char::is_control) => Err(PlanError::SeveralLines { path: path.into() }),
        None => Ok(toml::Value::String(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(verdict: &str) -> Result<Plan, PlanError> {
        let plan = "schema = 4\nname = 'x'\ntreebanks = { en = 'UD_English-EWT' }\n";
        Plan::parse(&format!("{plan}{verdict}"), "x.toml")
    }

    #[test]
    fn a_value_over_several_lines_is_one_value_or_an_error() {
        let mut plan = parse("").expect("a plan");
        for text in [
            "train.epochs=1\ntrain.batch=4",
            "train.epochs=1\r\n[x]",
            "encoder.name=a\nb",
            "encoder.name=a\tb",
        ] {
            let error = plan.assign(text).expect_err(text).to_string();
            assert!(error.contains("give each setting its own --set"), "{error}");
        }
        assert_eq!(plan, parse("").expect("a plan"), "nothing of them was taken");
        plan.assign("optimizer.lr=[1e-5,\n 1e-4]").expect("a list over two lines");
        assert_eq!(plan.grid["optimizer.lr"].len(), 2);
    }

    #[test]
    fn a_margin_is_a_number_of_points_in_its_range() {
        assert_eq!(parse("").expect("a plan").verdict.margin.points(), 0.5);
        assert_eq!(parse("[verdict]\nmargin = 1").expect("a plan").verdict.margin.points(), 1.0);
        for margin in ["0", "-0.5", "5e-324", "100.1", "nan", "inf"] {
            let error = parse(&format!("[verdict]\nmargin = {margin}")).expect_err(margin).to_string();
            assert!(error.contains("must be from 0.001 to 100 points"), "{error}");
        }
        assert!(parse("[verdict]\nmargins = 1").is_err());
        let mut plan = parse("").expect("a plan");
        plan.assign("verdict.margin=0.3").expect("a margin");
        assert_eq!(plan.verdict.margin.points(), 0.3);
        let error = plan.assign("verdict.margin=0").expect_err("no margin").to_string();
        assert!(error.contains("verdict.margin"), "{error}");
    }

    #[test]
    fn the_default_margin_leaves_the_files_of_earlier_versions_as_they_were() {
        let text = |plan: &str| serde_json::to_string(&parse(plan).expect("a plan")).expect("plain data");
        assert!(!text("").contains("verdict"));
        let read: Plan = serde_json::from_str(&text("[verdict]\nmargin = 0.2")).expect("the same plan");
        assert_eq!(read.verdict.margin.points(), 0.2);
        let wrong = text("[verdict]\nmargin = 0.2").replace("0.2", "1e300");
        assert!(serde_json::from_str::<Plan>(&wrong).is_err());
    }
}
