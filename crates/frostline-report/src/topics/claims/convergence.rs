//! By which epoch cells are near their end. Cells that end at the epoch asked for are left out: they are near their
//! end whatever they learned.

use frostline_record::{Converged, End, EpochRow};
use frostline_score::{MeanInterval, MeanStd, wilson};
use serde::Serialize;

use crate::number::fixed;
use crate::study::words::extras_name;
use crate::study::{CellView, Study, distinct};
use crate::topics::claims::verdict::{
    ClaimVerdict, TestAnswer, WantedDifference, shorten_number, show_amount,
};

/// How many cells are near their end.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NearEnd {
    pub rows: Vec<Near>,
    /// All rows together.
    pub all: Near,
    #[serde(flatten)]
    pub share: NearShare,
    /// By epoch, from the first: the share of cells that are near their end, of those that go on.
    pub shares: Vec<f64>,
    /// Cells that ended at the epoch asked for, or before.
    pub too_short: usize,
}

/// The share of near cells within each seed, over seeds: policies are no sample, seeds are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct NearShare {
    #[serde(rename = "share")]
    pub mean: MeanInterval,
    /// The kind of its interval.
    #[serde(rename = "share_interval")]
    pub interval: IntervalKind,
}

/// An interval of a share of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IntervalKind {
    /// Student's, over seeds.
    Student,
    /// Wilson's, over cells: if seeds agree, such as when all cells are near, Student's has no width.
    Wilson,
}

/// Cells of a policy.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Near {
    /// The language and further axes.
    pub cells: String,
    pub policy: String,
    pub near: usize,
    pub of: usize,
    /// What is still to gain after the epoch asked for, in points.
    pub gap: MeanStd,
}

/// A cell's dev accuracies in percent, by epoch.
struct Course {
    cells: String,
    policy: String,
    seed: u64,
    accuracies: Vec<f64>,
    end: f64,
}

impl Course {
    fn of(study: &Study, view: &CellView, end: End) -> Option<Self> {
        let rows: &[EpochRow] = &view.done()?.result.epochs;
        let accuracies: Vec<f64> = rows.iter().map(|row| 100.0 * row.dev.accuracy()).collect();
        let end = match end {
            End::Last => *accuracies.last()?,
            End::Best => accuracies.iter().copied().fold(f64::NAN, f64::max),
        };
        let extras = extras_name(study, &view.extras);
        let lang = &view.cell.settings.lang;
        let cells = if extras.is_empty() { lang.to_string() } else { format!("{lang}, {extras}") };
        let settings = &view.cell.settings;
        Some(Self { cells, policy: settings.policy.to_string(), seed: settings.seed, accuracies, end })
    }

    /// What is still to gain after an epoch.
    fn gap(&self, epoch: usize) -> f64 {
        self.end - self.accuracies[epoch - 1]
    }

    fn is_near(&self, epoch: usize, within: f64) -> bool {
        // A margin of 0.2 points holds for 0.2 points, whatever their last bit.
        self.gap(epoch).abs() <= within + 1e-9
    }
}

pub(super) fn judge_convergence(study: &Study, cells: &[&CellView], test: &Converged) -> TestAnswer<NearEnd> {
    let epoch = test.epoch as usize;
    let end = match test.of {
        End::Last => "their last epoch",
        End::Best => "their best epoch",
    };
    let asks = format!(
        "more than {} % of cells have, after epoch {epoch}, an accuracy on dev within {} of the one at {end}",
        shorten_number(100.0 * test.share),
        show_amount(test.within, "points")
    );
    let asked = |view: &&&CellView| {
        test.policies.is_empty() || test.policies.iter().any(|policy| view.cell.settings.policy == *policy)
    };
    let all: Vec<Course> =
        cells.iter().filter(asked).filter_map(|view| Course::of(study, view, test.of)).collect();
    let long: Vec<&Course> = all.iter().filter(|course| course.accuracies.len() > epoch).collect();
    let Some(whole) = count_near(test, &long, String::new(), String::new()) else {
        let why = match all.len() {
            0 => "no cell that is done has these policies and an epoch".into(),
            _ => format!("no cell continues after epoch {epoch}, so each is near its end"),
        };
        return TestAnswer { asks, verdict: ClaimVerdict::NotTested, found: Err(why) };
    };
    let kinds = distinct(long.iter().map(|course| (&course.cells, &course.policy)));
    let rows = kinds.into_iter().filter_map(|kind| {
        let same: Vec<&Course> =
            long.iter().filter(|course| (&course.cells, &course.policy) == kind).copied().collect();
        count_near(test, &same, kind.0.clone(), kind.1.clone())
    });
    let share = share_by_seed(test, &long);
    // How far the share lies above the one that is claimed.
    let ahead = share.mean.interval.map(|ends| ends.map(|end| end - test.share));
    let verdict = WantedDifference::Above(0.0).verdict(ahead);
    let found = NearEnd {
        rows: rows.collect(),
        share,
        shares: shares_by_epoch(&long, test.within),
        too_short: all.len() - long.len(),
        all: whole,
    };
    TestAnswer { asks, verdict, found: Ok(found) }
}

fn count_near(test: &Converged, courses: &[&Course], cells: String, policy: String) -> Option<Near> {
    let epoch = test.epoch as usize;
    let gaps: Vec<f64> = courses.iter().map(|course| course.gap(epoch)).collect();
    Some(Near {
        cells,
        policy,
        near: courses.iter().filter(|course| course.is_near(epoch, test.within)).count(),
        of: courses.len(),
        gap: MeanStd::of(&gaps)?,
    })
}

fn share_by_seed(test: &Converged, courses: &[&Course]) -> NearShare {
    let seeds = distinct(courses.iter().map(|course| course.seed));
    let share = |seed: &u64| {
        let of_seed: Vec<_> = courses.iter().filter(|course| course.seed == *seed).collect();
        let near = of_seed.iter().filter(|course| course.is_near(test.epoch as usize, test.within)).count();
        near as f64 / of_seed.len() as f64
    };
    let shares: Vec<f64> = seeds.iter().map(share).collect();
    let mean = MeanInterval::of(&shares).expect("every course has a seed");
    let agree = shares.len() > 1 && shares.iter().all(|share| *share == shares[0]);
    if !agree {
        return NearShare { mean, interval: IntervalKind::Student };
    }
    let near = courses.iter().filter(|course| course.is_near(test.epoch as usize, test.within)).count();
    let of_cells = wilson(near as u64, courses.len() as u64, 0.95);
    NearShare {
        mean: MeanInterval { interval: Some([of_cells.low, of_cells.high]), ..mean },
        interval: IntervalKind::Wilson,
    }
}

/// The share of near cells after each epoch, of those that go on after it.
fn shares_by_epoch(courses: &[&Course], within: f64) -> Vec<f64> {
    let longest = courses.iter().map(|course| course.accuracies.len()).max().unwrap_or(1);
    let share = |epoch: usize| {
        let on: Vec<_> = courses.iter().filter(|course| course.accuracies.len() > epoch).collect();
        on.iter().filter(|course| course.is_near(epoch, within)).count() as f64 / on.len() as f64
    };
    (1..longest).map(share).collect()
}

impl Near {
    /// `4 of 5`.
    pub fn count(&self) -> String {
        format!("{} of {}", self.near, self.of)
    }

    /// The share in percent.
    pub fn percent(&self) -> String {
        fixed(100.0 * self.near as f64 / self.of as f64, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells by seed: how many of how many are near their end after the first epoch.
    fn share(seeds: &[(u64, usize, usize)]) -> NearShare {
        let course = |seed: u64, near: bool| Course {
            cells: "en".into(),
            policy: "none".into(),
            seed,
            accuracies: vec![if near { 90.0 } else { 80.0 }, 90.0],
            end: 90.0,
        };
        let of_seed = |&(seed, near, of): &(u64, usize, usize)| {
            (0..of).map(move |at| course(seed, at < near)).collect::<Vec<_>>()
        };
        let courses: Vec<Course> = seeds.iter().flat_map(of_seed).collect();
        let test = Converged { epoch: 1, within: 0.5, of: End::Last, share: 0.5, policies: Vec::new() };
        share_by_seed(&test, &courses.iter().collect::<Vec<_>>())
    }

    fn interval(share: NearShare) -> Option<[f64; 2]> {
        share.mean.interval.map(|ends| ends.map(|end| (1e4 * end).round() / 1e4))
    }

    #[test]
    fn seeds_that_agree_have_the_interval_of_their_cells() {
        let differing = share(&[(1, 1, 4), (2, 3, 4), (3, 2, 4)]);
        assert_eq!((differing.interval, differing.mean.mean), (IntervalKind::Student, 0.5));
        // 0.5 ± 4.3027 · 0.25 / √3
        assert_eq!(interval(differing), Some([-0.121, 1.121]));

        let near = share(&[(1, 10, 10), (2, 10, 10)]);
        assert_eq!((near.interval, near.mean.mean), (IntervalKind::Wilson, 1.0));
        // 20 / (20 + 1.96²)
        assert_eq!(interval(near), Some([0.8389, 1.0]));
        assert_eq!(WantedDifference::Above(0.5).verdict(near.mean.interval), ClaimVerdict::Supported);

        let single = share(&[(1, 10, 10)]);
        assert_eq!((single.interval, interval(single)), (IntervalKind::Student, None));
    }
}
