//! `score` and `compare`: the metrics of the CoNLL 2018 shared task with intervals, and tests of a difference.

use std::borrow::Cow;

use frostline_score::conll18::{self, Conll18Scores, ScoredSentence, common_units, evaluate_units};
use frostline_score::verdict::judge;
use frostline_score::{
    CrossedDifference, Resampling, ScoreError, SeedScatter, Share, Stratum, bootstrap_share,
    paired_bootstrap, paired_permutation,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raise_text;
use crate::treebank::{Treebank, read_conllu};

/// Counts of one metric and the ratios that follow from them.
#[pyclass(frozen, get_all, eq, module = "frostline")]
#[derive(Clone, PartialEq)]
pub struct Metric {
    /// Units on which gold and system agree.
    pub correct: u64,
    /// Units in gold.
    pub gold: u64,
    /// Units in the system's output.
    pub system: u64,
    /// Gold units aligned with a system unit; None where the metric measures alignment itself.
    pub aligned: Option<u64>,
    /// Correct over system.
    pub precision: f64,
    /// Correct over gold.
    pub recall: f64,
    /// The harmonic mean of precision and recall.
    pub f1: f64,
    /// Correct over aligned.
    pub aligned_accuracy: Option<f64>,
    /// The lower limit of the interval of F1.
    pub low: f64,
    /// The upper limit of the interval of F1.
    pub high: f64,
}

#[pymethods]
impl Metric {
    fn __repr__(&self) -> String {
        let Self { f1, low, high, correct, gold, system, .. } = self;
        format!(
            "Metric(f1={f1:.4}, interval=[{low:.4}, {high:.4}], correct={correct}, gold={gold}, system={system})"
        )
    }
}

/// A treebank that was given, or one that is read from what was given.
enum TreebankSide<'py> {
    Given(PyRef<'py, Treebank>),
    Read(Treebank),
}

impl<'py> TreebankSide<'py> {
    fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        match object.cast::<Treebank>() {
            Ok(treebank) => Ok(Self::Given(treebank.borrow())),
            Err(_) => read_conllu(object.py(), object).map(Self::Read),
        }
    }

    fn treebank(&self) -> &Treebank {
        match self {
            Self::Given(treebank) => treebank,
            Self::Read(treebank) => treebank,
        }
    }
}

/// How often is resampled, at which confidence, from which seed.
pub fn resampling(py: Python<'_>, resamples: u32, confidence: f64, seed: u64) -> PyResult<Resampling> {
    let setting: Cow<'_, str> = if resamples == 0 {
        "resamples is 0, expected at least 1; give 10000".into()
    } else if !(confidence > 0.0 && confidence < 1.0) {
        format!("confidence is {confidence}, expected a number between 0 and 1; give 0.95").into()
    } else {
        return Ok(Resampling { resamples, confidence, seed });
    };
    Err(raise_text(py, "SettingError", None, &setting))
}

/// Scores CoNLL-U files or treebanks: all metrics of the CoNLL 2018 shared task, by name, each with an interval of its F1.
///
/// The two sides have the same text; their words and sentences may differ. Sentences are resampled for the intervals.
#[pyfunction]
#[pyo3(signature = (gold, system, *, resamples = 2000, confidence = 0.95, seed = 0))]
pub fn score<'py>(
    gold: &Bound<'py, PyAny>,
    system: &Bound<'py, PyAny>,
    resamples: u32,
    confidence: f64,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let py = gold.py();
    let setting = resampling(py, resamples, confidence, seed)?;
    let (gold, system) = (TreebankSide::of(gold)?, TreebankSide::of(system)?);
    let (ours, theirs) = (gold.treebank(), system.treebank());
    let found = py.detach(|| metrics(&ours.scored(), &theirs.scored(), &setting));
    let found = found.map_err(|error| raise_fault(py, &[ours, theirs], &error))?;
    let scores = PyDict::new(py);
    for (name, metric) in found {
        scores.set_item(name, metric)?;
    }
    Ok(scores)
}

fn raise_fault(py: Python<'_>, sides: &[&Treebank], error: &ScoreError) -> PyErr {
    let names = sides.iter().map(|side| side.names()).collect::<Vec<_>>().join(" and ");
    raise_text(py, "DataError", Some(names), &error.to_string())
}

/// The metrics of a system under their official names.
fn metrics(
    gold: &[ScoredSentence],
    system: &[ScoredSentence],
    setting: &Resampling,
) -> Result<Vec<(&'static str, Metric)>, ScoreError> {
    if gold.iter().all(|sentence| sentence.words.is_empty()) {
        return Err(ScoreError::Empty { what: "gold" });
    }
    let whole = conll18::evaluate(gold, system)?;
    let units = common_units(gold, &[system])?;
    let parts = evaluate_units(gold, system, &units, 0)?;
    let metric = |(name, found): (&'static str, conll18::Metric)| {
        let shares: Vec<Share> = parts.iter().map(|unit| share_of(unit, name)).collect();
        let interval = bootstrap_share(&shares, setting);
        let made = Metric {
            correct: found.correct,
            gold: found.gold,
            system: found.system,
            aligned: found.aligned,
            precision: found.precision(),
            recall: found.recall(),
            f1: found.f1(),
            aligned_accuracy: found.aligned_accuracy(),
            low: interval.low,
            high: interval.high,
        };
        (name, made)
    };
    Ok(whole.named().into_iter().map(metric).collect())
}

/// Twice the correct units over those of gold and system: the sums make up F1. Nothing for a metric that a unit lacks.
fn share_of(scores: &Conll18Scores, name: &str) -> Share {
    let found = scores.named().into_iter().find(|(other, _)| *other == name);
    let share = |(_, metric): (_, conll18::Metric)| Share {
        part: 2 * metric.correct,
        whole: metric.gold + metric.system,
    };
    found.map(share).unwrap_or_default()
}

/// Compares two systems on the same text by one metric: difference A - B with its interval, p-values and a verdict.
///
/// `a` and `b` are a file or treebank, or lists of equal length: one for each seed of a study. With several seeds the
/// verdict is "better", "worse", "equivalent" (within the margin) or "undecided", by the rule of Frostline's reports. With
/// one it is about these two outputs alone: "better" or "worse" if the permutation test is below 1 - confidence.
#[pyfunction]
#[pyo3(signature = (gold, a, b, *, metric = "UPOS", margin = 0.005, resamples = 2000, confidence = 0.95, seed = 0))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub fn compare<'py>(
    gold: &Bound<'py, PyAny>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    metric: &str,
    margin: f64,
    resamples: u32,
    confidence: f64,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let py = gold.py();
    let setting = resampling(py, resamples, confidence, seed)?;
    if margin.is_nan() || margin <= 0.0 {
        let text = format!("margin is {margin}, expected a number above 0; give 0.005 for half a point");
        return Err(raise_text(py, "SettingError", None, &text));
    }
    let (gold, a, b) = (TreebankSide::of(gold)?, read_sides(a)?, read_sides(b)?);
    if a.len() != b.len() || a.is_empty() {
        let text = format!(
            "found {} outputs of A and {} of B, expected the same number; give one of each for every seed",
            a.len(),
            b.len()
        );
        return Err(raise_text(py, "SettingError", None, &text));
    }
    let of = |sides: &[TreebankSide<'_>]| {
        sides.iter().map(|side| side.treebank().names()).collect::<Vec<_>>().join(", ")
    };
    let names = format!("{}, {}, {}", gold.treebank().names(), of(&a), of(&b));
    let gold = gold.treebank().scored();
    let a: Vec<_> = a.iter().map(|side| side.treebank().scored()).collect();
    let b: Vec<_> = b.iter().map(|side| side.treebank().scored()).collect();
    let found = py.detach(|| ScoreComparison::new(&gold, &a, &b, metric, margin, &setting));
    let found = found.map_err(|text| raise_text(py, "DataError", Some(names), &text))?;
    found.dict(py, metric)
}

/// One system's outputs: one, or one for each seed.
fn read_sides<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<TreebankSide<'py>>> {
    let list = object.extract::<Vec<Bound<'py, PyAny>>>();
    match list {
        Ok(items)
            if !object.is_instance_of::<Treebank>() && !object.is_instance_of::<pyo3::types::PyString>() =>
        {
            items.iter().map(TreebankSide::of).collect()
        }
        _ => Ok(vec![TreebankSide::of(object)?]),
    }
}

/// The result of a comparison.
struct ScoreComparison {
    scores: [f64; 2],
    difference: [f64; 3],
    p: f64,
    bootstrap_p: Option<f64>,
    verdict: &'static str,
    units: usize,
    seeds: usize,
}

impl ScoreComparison {
    fn new(
        gold: &[ScoredSentence],
        a: &[Vec<ScoredSentence>],
        b: &[Vec<ScoredSentence>],
        metric: &str,
        margin: f64,
        setting: &Resampling,
    ) -> Result<Self, String> {
        let text = |error: ScoreError| error.to_string();
        let systems: Vec<&[ScoredSentence]> = a.iter().chain(b).map(Vec::as_slice).collect();
        let units = common_units(gold, &systems).map_err(text)?;
        let shares = |place: usize| -> Result<Vec<Share>, String> {
            let parts = evaluate_units(gold, systems[place], &units, place).map_err(text)?;
            check_metric(gold, systems[place], metric)?;
            Ok(parts.iter().map(|unit| share_of(unit, metric)).collect())
        };
        let all: Vec<Vec<Share>> = (0..systems.len()).map(shares).collect::<Result<_, _>>()?;
        let (a, b) = all.split_at(a.len());
        if a.len() == 1 { Self::of_one(&a[0], &b[0], setting) } else { Self::of_seeds(a, b, margin, setting) }
            .map_err(text)
    }

    fn of_one(a: &[Share], b: &[Share], setting: &Resampling) -> Result<Self, ScoreError> {
        let found = paired_bootstrap(a, b, setting)?;
        let p = paired_permutation(a, b, setting)?;
        let verdict = match found.difference.value {
            value if p < 1.0 - setting.confidence && value > 0.0 => "better",
            value if p < 1.0 - setting.confidence && value < 0.0 => "worse",
            _ => "undecided",
        };
        Ok(Self {
            scores: [found.a, found.b],
            difference: [found.difference.value, found.difference.low, found.difference.high],
            p,
            bootstrap_p: Some(found.p_value),
            verdict,
            units: a.len(),
            seeds: 1,
        })
    }

    /// By the rule of the reports, which takes seeds and sentences as samples. A unit weighs half of its F1's denominator.
    fn of_seeds(
        a: &[Vec<Share>],
        b: &[Vec<Share>],
        margin: f64,
        setting: &Resampling,
    ) -> Result<Self, ScoreError> {
        let units = a[0].len();
        let weight = |unit: usize| (a[0][unit].whole / 2).max(1) as u32;
        let words: Vec<u32> = (0..units).map(weight).collect();
        let gain = |(a, b): (&Share, &Share)| {
            let ratio =
                |share: &Share| if share.whole == 0 { 0.0 } else { share.part as f64 / share.whole as f64 };
            ratio(a) - ratio(b)
        };
        let gains: Vec<Vec<f64>> = a
            .iter()
            .zip(b)
            .map(|(a, b)| {
                a.iter().zip(b).zip(&words).map(|(pair, words)| gain(pair) * f64::from(*words)).collect()
            })
            .collect();
        let rows =
            vec![CrossedDifference::of(&[Stratum::new(words, &gains)?], setting.resamples, setting.seed)?];
        let scatter = SeedScatter::of(&rows);
        let judged = judge(rows, scatter, margin).remove(0);
        let mean = |side: &[Vec<Share>]| {
            side.iter().map(|shares| Share::of(shares)).sum::<f64>() / side.len() as f64
        };
        Ok(Self {
            scores: [mean(a), mean(b)],
            difference: [judged.difference.value, judged.interval[0], judged.interval[1]],
            p: judged.p,
            bootstrap_p: None,
            verdict: judged.verdict.name(),
            units,
            seeds: a.len(),
        })
    }

    fn dict<'py>(&self, py: Python<'py>, metric: &str) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        found.set_item("metric", metric)?;
        found.set_item("a", self.scores[0])?;
        found.set_item("b", self.scores[1])?;
        found.set_item("difference", self.difference[0])?;
        found.set_item("low", self.difference[1])?;
        found.set_item("high", self.difference[2])?;
        found.set_item("p", self.p)?;
        found.set_item("bootstrap_p", self.bootstrap_p)?;
        found.set_item("verdict", self.verdict)?;
        found.set_item("units", self.units)?;
        found.set_item("seeds", self.seeds)?;
        Ok(found)
    }
}

/// A metric has its official name, and the files have what it measures.
fn check_metric(gold: &[ScoredSentence], system: &[ScoredSentence], metric: &str) -> Result<(), String> {
    let scores = conll18::evaluate(gold, system).map_err(|error| error.to_string())?;
    let names: Vec<&str> = scores.named().into_iter().map(|(name, _)| name).collect();
    if names.contains(&metric) {
        return Ok(());
    }
    Err(format!("metric is {metric:?}, but these files have {}; give one of these names", names.join(", ")))
}
