//! Simulated studies that grow seed by seed until their question is answered. Used by `tests/coverage.rs` and by the example
//! `coverage`.

use frostline_random::Stream;
use frostline_score::question::{Knowledge, Question, assess};
use frostline_score::sequential::{SeedLevels, Spending};
use frostline_score::verdict::{judge, judge_growing};
use frostline_score::{CrossedDifference, Judged, SeedScatter, Verdict};

use crate::patterns::{Pattern, draw_by_seed, row_of};

/// Policies that lose more than so many points are too many.
pub const MARGIN: f64 = 0.5;

/// How a study grows.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    pub question: Question,
    pub spending: Spending,
    /// Seeds of the study that does not grow, and the most of the one that does.
    pub most: usize,
}

/// Rates over simulated studies.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrowthRates {
    /// Studies with a false verdict, or a recommendation that loses more than the margin.
    pub wrong: f64,
    /// Cells of a study, as a share of those of the study that does not grow.
    pub cells: f64,
    /// Studies that answer: a recommendation, or a verdict for each row.
    pub answered: f64,
    /// The same of the study that does not grow.
    pub answered_fixed: f64,
    /// Studies with the same answer as the one that does not grow, among those in which both answer.
    pub same: f64,
}

/// True differences of the rows in points.
pub type Effects = fn(row: usize, rows: usize) -> f64;

/// No policy differs.
pub fn no_effects(_: usize, _: usize) -> f64 {
    0.0
}

/// Every policy loses exactly the margin, which is still too much.
pub fn all_lose_the_margin(_: usize, _: usize) -> f64 {
    -MARGIN
}

/// The cheapest policy loses eight margins, each further one a third of that before it.
pub fn ladder(row: usize, _: usize) -> f64 {
    -8.0 * MARGIN / 3_f64.powi(row as i32)
}

impl Growth {
    /// Rates over so many studies.
    pub fn simulate(&self, pattern: &Pattern, effects: Effects, studies: u32) -> GrowthRates {
        let stream = Stream::new(12, &pattern.name);
        let rows = pattern.rows.len();
        let levels = SeedLevels::up_to(self.most, self.spending);
        let (mut rates, mut both) = (GrowthRates::default(), 0.0);
        for study in 0..u64::from(studies) {
            let drawn: Vec<Vec<f64>> = pattern
                .rows
                .iter()
                .enumerate()
                .map(|(at, [_, scatter])| draw_by_seed(self.most, *scatter, at, stream.child(study)))
                .map(|row| row.into_iter().collect())
                .collect();
            let table = |seeds: &[usize]| -> Vec<CrossedDifference> {
                let row = |at: usize| {
                    let by_seed = drawn[at][..seeds[at]].iter().map(|one| one + effects(at, rows));
                    row_of(by_seed, pattern.rows[at][0])
                };
                (0..rows).map(row).collect()
            };
            let (seeds, judged) = self.grow(rows, &levels, &table);
            let fixed_rows = table(&vec![self.most; rows]);
            let scatter = SeedScatter::of(&fixed_rows);
            let fixed = judge(fixed_rows, scatter, MARGIN / 100.0);
            let count = |rate: &mut f64, is: bool| *rate += f64::from(u8::from(is));
            count(&mut rates.wrong, self.is_wrong(&judged, effects));
            // The baseline has as many seeds as the row with the most.
            let cells = seeds.iter().sum::<usize>() + seeds.iter().max().unwrap_or(&0);
            rates.cells += cells as f64 / ((rows + 1) * self.most) as f64;
            let (own, other) = (self.answer(&judged), self.answer(&fixed));
            count(&mut rates.answered, own.is_some());
            count(&mut rates.answered_fixed, other.is_some());
            if own.is_some() && other.is_some() {
                both += 1.0;
                count(&mut rates.same, own == other);
            }
        }
        for rate in [&mut rates.wrong, &mut rates.cells, &mut rates.answered, &mut rates.answered_fixed] {
            *rate /= f64::from(studies);
        }
        rates.same /= f64::max(both, 1.0);
        rates
    }

    /// Grows a study: two seeds for every row, then one more for each that is open. Returns the seeds and verdicts at its end.
    fn grow(
        &self,
        rows: usize,
        levels: &SeedLevels,
        table: &dyn Fn(&[usize]) -> Vec<CrossedDifference>,
    ) -> (Vec<usize>, Vec<Judged>) {
        let mut seeds = vec![2; rows];
        loop {
            let all = table(&seeds);
            let scatter = SeedScatter::of(&all);
            let judged = judge_growing(all, scatter, MARGIN / 100.0, levels);
            let candidates: Vec<Vec<&Judged>> = judged.iter().map(|row| vec![row]).collect();
            let known = assess(self.question, &candidates, MARGIN / 100.0);
            let open = |(at, known): (usize, &Vec<Knowledge>)| {
                (known[0] == Knowledge::Open && seeds[at] < self.most).then_some(at)
            };
            let open: Vec<usize> = known.iter().enumerate().filter_map(open).collect();
            if open.is_empty() {
                return (seeds, judged);
            }
            open.into_iter().for_each(|at| seeds[at] += 1);
        }
    }

    fn is_wrong(&self, judged: &[Judged], effects: Effects) -> bool {
        let rows = judged.len();
        match self.question {
            Question::Recommendation => {
                self.recommended(judged).is_some_and(|at| effects(at, rows) <= -MARGIN)
            }
            Question::Verdicts => judged.iter().enumerate().any(|(at, row)| match row.verdict {
                Verdict::Better => effects(at, rows) <= 0.0,
                Verdict::Worse => effects(at, rows) >= 0.0,
                Verdict::Equivalent => effects(at, rows).abs() >= MARGIN,
                Verdict::Undecided => false,
            }),
        }
    }

    fn recommended(&self, judged: &[Judged]) -> Option<usize> {
        judged.iter().position(|row| row.loses_at_most(MARGIN / 100.0))
    }

    fn answer(&self, judged: &[Judged]) -> Option<Vec<usize>> {
        match self.question {
            Question::Recommendation => self.recommended(judged).map(|at| vec![at]),
            Question::Verdicts => {
                let decided = judged.iter().all(|row| row.verdict != Verdict::Undecided);
                decided.then(|| judged.iter().map(|row| row.verdict as usize).collect())
            }
        }
    }
}
