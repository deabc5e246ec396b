//! What policies lost on treebanks that were measured before, and what follows for a treebank that was not: a prediction with an
//! interval, which leaving out one language at a time has tested.
//!
//! The records are the project's own, of `docs/study`; `cargo xtask study` writes `policy_losses.json` from them.

use std::collections::BTreeSet;

use frostline_record::{Record, Sweep};
use frostline_score::MeanInterval;
use frostline_score::predict::prediction_interval;
use serde::{Deserialize, Serialize};

use crate::study::BASELINE;

/// The policies of which there are predictions, from the one that saves least to the one that saves most.
pub const ADVISED: [&str; 6] =
    ["first-25%", "alternating", "first-50%", "first-75%", "none+lora", "head-only"];

/// The confidence of the intervals.
pub const CONFIDENCE: f64 = 0.9;

/// Records of fewer train sentences than this are a class of their own: with so few, all policies lose more.
const FEW: u64 = 200;

const STORED: &str = include_str!("policy_losses.json");

/// What a policy lost on a treebank against training everything, a mean over seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyLoss {
    /// The encoder.
    pub encoder: String,
    /// The language.
    pub lang: String,
    /// Train sentences.
    pub sentences: u64,
    /// The policy.
    pub policy: String,
    /// Dev accuracy of `none` minus the policy's dev accuracy, with the same seeds.
    ///
    /// # Units
    /// Points of a percent.
    pub points: f64,
    /// How many seeds.
    pub seeds: usize,
}

/// Losses that were measured.
#[derive(Clone, Debug, PartialEq)]
pub struct LossRecords(Vec<PolicyLoss>);

/// What a policy is predicted to lose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectedLoss {
    /// In points, with the interval of a next treebank.
    pub points: MeanInterval,
    /// The languages that it comes from.
    pub langs: usize,
}

/// How well predictions hold for a language that is left out of the records, over all languages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Losses that were predicted with an interval.
    pub predicted: usize,
    /// How many of these losses were inside the interval.
    pub covered: usize,
    /// Treebanks, each with an encoder and a size, for which some policy was predicted to lose at most the margin.
    pub advised: usize,
    /// How many of these treebanks lost at most the margin with the advised policy.
    pub kept: usize,
}

/// Returns what each policy of [`ADVISED`] lost in a sweep, by language and size.
#[must_use]
pub fn policy_losses(sweep: &Sweep, records: &[Record]) -> Vec<PolicyLoss> {
    struct TrainedRun<'a> {
        record: &'a Record,
        sentences: u64,
        accuracy: f64,
    }
    let run = |record: &'_ Record| {
        let result = record.result.as_ref()?;
        let dev = result.stages.last()?.tasks.get(&result.headline)?.scores.get("dev")?;
        Some((result.tasks.get(&result.headline)?.train.sentences, dev.accuracy()))
    };
    let known = records.iter().filter(|record| sweep.cells.iter().any(|cell| cell.id == record.cell.id));
    let runs: Vec<TrainedRun<'_>> = known
        .filter_map(|record| {
            run(record).map(|(sentences, accuracy)| TrainedRun { record, sentences, accuracy })
        })
        .collect();
    let mut losses: Vec<(PolicyLoss, Vec<f64>)> = Vec::new();
    for run in runs.iter().filter(|run| ADVISED.contains(&run.record.cell.settings.policy.as_str())) {
        let settings = &run.record.cell.settings;
        let same = |other: &&TrainedRun<'_>| {
            let none = &other.record.cell.settings;
            none.policy.as_str() == BASELINE
                && (&none.lang, none.seed, &none.encoder)
                    == (&settings.lang, settings.seed, &settings.encoder)
                && other.sentences == run.sentences
        };
        let Some(none) = runs.iter().find(same) else { continue };
        let loss = PolicyLoss {
            encoder: settings.encoder.name.clone(),
            lang: settings.lang.to_string(),
            sentences: run.sentences,
            policy: settings.policy.to_string(),
            points: 0.0,
            seeds: 0,
        };
        let points = 100.0 * (none.accuracy - run.accuracy);
        match losses.iter_mut().find(|(known, _)| *known == loss) {
            Some((_, all)) => all.push(points),
            None => losses.push((loss, vec![points])),
        }
    }
    let mean = |(loss, all): (PolicyLoss, Vec<f64>)| PolicyLoss {
        // More digits than a seed's scatter would only change the file.
        points: (all.iter().sum::<f64>() / all.len() as f64 * 1e4).round() / 1e4,
        seeds: all.len(),
        ..loss
    };
    losses.into_iter().map(mean).collect()
}

impl LossRecords {
    /// Returns the records of this project.
    ///
    /// # Panics
    /// Never: a test reads them.
    #[must_use]
    pub fn stored() -> Self {
        Self(serde_json::from_str(STORED).expect("a test reads the file"))
    }

    /// Returns these records.
    #[must_use]
    pub const fn of(losses: Vec<PolicyLoss>) -> Self {
        Self(losses)
    }

    /// Returns the losses.
    #[must_use]
    pub fn losses(&self) -> &[PolicyLoss] {
        &self.0
    }

    /// Returns the encoders, in the order of the records.
    #[must_use]
    pub fn encoders(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for loss in &self.0 {
            if !names.contains(&loss.encoder.as_str()) {
                names.push(loss.encoder.as_str());
            }
        }
        names
    }

    /// Returns the number of languages.
    #[must_use]
    pub fn langs(&self) -> usize {
        count_langs(self.0.iter())
    }

    /// Returns the numbers of train sentences from which a prediction for `sentences` comes, the smallest and the largest.
    #[must_use]
    pub fn sizes(&self, sentences: u64) -> Option<[u64; 2]> {
        let few = self.is_few(sentences);
        let sizes = || self.0.iter().map(|loss| loss.sentences).filter(move |size| (*size < FEW) == few);
        Some([sizes().min()?, sizes().max()?])
    }

    /// Returns what a policy is predicted to lose with so many train sentences; nothing without a record of it.
    #[must_use]
    pub fn predict(&self, policy: &str, sentences: u64) -> Option<ExpectedLoss> {
        self.predict_without(policy, sentences, "")
    }

    /// Returns how well the records predict a language that is left out of them.
    #[must_use]
    pub fn leave_out(&self, margin: f64) -> LeftOut {
        let mut found = LeftOut::default();
        let mut treebanks: BTreeSet<(&str, &str, u64)> = BTreeSet::new();
        for loss in &self.0 {
            treebanks.insert((&loss.lang, &loss.encoder, loss.sentences));
            let expected = self.predict_without(&loss.policy, loss.sentences, &loss.lang);
            let Some([low, high]) = expected.and_then(|expected| expected.points.interval) else { continue };
            found.predicted += 1;
            found.covered += usize::from((low..=high).contains(&loss.points));
        }
        for (lang, encoder, sentences) in treebanks {
            let of_treebank = |loss: &&PolicyLoss| {
                (loss.lang.as_str(), loss.encoder.as_str(), loss.sentences) == (lang, encoder, sentences)
            };
            let fits = |loss: &&PolicyLoss| {
                let expected = self.predict_without(&loss.policy, sentences, lang);
                expected.is_some_and(|expected| expected.loses_at_most(margin))
            };
            let place = |loss: &&PolicyLoss| ADVISED.iter().position(|name| *name == loss.policy);
            let advised = self.0.iter().filter(of_treebank).filter(fits).max_by_key(place);
            found.advised += usize::from(advised.is_some());
            found.kept += usize::from(advised.is_some_and(|loss| loss.points <= margin));
        }
        found
    }

    fn predict_without(&self, policy: &str, sentences: u64, lang: &str) -> Option<ExpectedLoss> {
        let few = self.is_few(sentences);
        let used = || {
            self.0
                .iter()
                .filter(|loss| loss.policy == policy && loss.lang != lang && (loss.sentences < FEW) == few)
        };
        let points: Vec<f64> = used().map(|loss| loss.points).collect();
        let langs = count_langs(used());
        Some(ExpectedLoss { points: prediction_interval(&points, langs, CONFIDENCE)?, langs })
    }

    /// Whether the records of few sentences count: all sizes between the classes are taken for few, which loses more.
    fn is_few(&self, sentences: u64) -> bool {
        let many = self.0.iter().map(|loss| loss.sentences).filter(|size| *size >= FEW).min();
        many.is_some_and(|many| sentences < many)
    }
}

impl ExpectedLoss {
    /// Whether the whole interval lies at or below a margin in points.
    #[must_use]
    pub fn loses_at_most(&self, margin: f64) -> bool {
        self.points.interval.is_some_and(|[_, high]| high <= margin)
    }
}

fn count_langs<'a>(losses: impl Iterator<Item = &'a PolicyLoss>) -> usize {
    losses.map(|loss| loss.lang.as_str()).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(lang: &str, sentences: u64, policy: &str, points: f64) -> PolicyLoss {
        PolicyLoss {
            encoder: "encoder".into(),
            lang: lang.into(),
            sentences,
            policy: policy.into(),
            points,
            seeds: 3,
        }
    }

    #[test]
    fn predictions_come_from_treebanks_of_a_like_size() {
        let mut all = Vec::new();
        for (lang, points) in [("a", 0.1), ("b", 0.2), ("c", 0.3), ("d", 0.2)] {
            all.push(loss(lang, 100, "alternating", points + 2.0));
            all.push(loss(lang, 1_000, "alternating", points));
        }
        let records = LossRecords::of(all);
        let mean = |sentences| records.predict("alternating", sentences).expect("records").points.mean;
        assert!((mean(5_000) - 0.2).abs() < 1e-12);
        assert!((mean(1_000) - 0.2).abs() < 1e-12);
        assert!((mean(999) - 2.2).abs() < 1e-12, "between the classes the smaller one counts");
        assert_eq!(records.predict("head-only", 100), None);
        assert_eq!((records.sizes(5_000), records.sizes(50)), (Some([1_000; 2]), Some([100; 2])));
        let left_out = records.leave_out(0.5);
        assert_eq!((left_out.predicted, left_out.covered), (8, 8));
        // With 100 sentences nothing loses so little; with more, what three others lost must scatter little for a narrow interval.
        assert_eq!((left_out.advised, left_out.kept), (2, 2));
        // A language on which the policy loses much more than on all others.
        let mut odd = records.0.clone();
        odd.push(loss("e", 1_000, "alternating", 3.0));
        let left_out = LossRecords::of(odd).leave_out(0.5);
        assert_eq!((left_out.predicted, left_out.covered, left_out.kept), (9, 8, 0), "{left_out:?}");
    }

    /// Intervals at 90 % cover between 85 and 95 %, and what is advised holds in nine of ten.
    #[test]
    fn our_records_predict_languages_that_are_left_out() {
        let records = LossRecords::stored();
        assert!(records.langs() >= 9, "{}", records.langs());
        let left_out = records.leave_out(0.5);
        let covered = left_out.covered as f64 / left_out.predicted as f64;
        assert!((0.85..=0.95).contains(&covered), "{left_out:?}");
        assert!(left_out.advised >= 9 && left_out.kept * 10 >= left_out.advised * 9, "{left_out:?}");
    }
}
