//! Simulated tables in which the scatter of seeds is known: the patterns of our records, and made-up ones with single rows
//! that scatter much more or less than the others. Used by `tests/coverage.rs` and by the example `coverage`.

use frostline_random::Stream;
use frostline_score::crossed::VarianceParts;
use frostline_score::student::two_sided;
use frostline_score::verdict::judge;
use frostline_score::{CrossedDifference, Judged, SeedScatter, Verdict};

/// A policy's standard deviations in points: from single sentences within one seed, and between seeds, which
/// includes the former.
pub type Scatter = [f64; 2];

/// The scatter of the policies of one language, in a study of several languages.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub name: String,
    pub rows: Vec<Scatter>,
    pub languages: usize,
    /// The divisor of the variances between seeds of the other languages.
    pub calmer: f64,
}

/// How often something happened in simulated tables, of the first language.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableRates {
    /// Tables without any difference in which a row is judged better or worse.
    pub false_verdicts: f64,
    /// Tables whose rows all lose exactly the margin in which a row is judged equivalent.
    pub false_equivalents: f64,
    /// Share of these tables in which a row is shown to lose less than the margin, and would be recommended.
    pub false_recommendations: f64,
    /// Rows that lose four standard deviations between seeds and are judged worse.
    pub power: f64,
    /// The power with each row's own variance, Student's quantile and Holm's correction.
    pub power_alone: f64,
}

/// Returns made-up patterns with this many rows: all alike; one or two rows with 10 times the variance of the
/// others, and with a tenth. `ratio` is the variance between seeds over the variance from single sentences.
pub fn made_up(rows: usize) -> Vec<Pattern> {
    let mut all = Vec::new();
    for ratio in [1.0, 3.0, 10.0, 30.0] {
        let mut add = |name: &str, odd: usize, factor: f64| {
            let of_row = |at: usize| {
                let variance: f64 = if at < odd { factor * ratio } else { ratio };
                [0.2, 0.2 * variance.max(1.0).sqrt()]
            };
            let name = format!("{rows} rows, ratio {ratio}: {name}");
            all.push(Pattern { name, rows: (0..rows).map(of_row).collect(), languages: 1, calmer: 1.0 });
        };
        add("all alike", 0, 1.0);
        add("one row with 10 times the variance", 1, 10.0);
        add("two rows with 10 times the variance", 2, 10.0);
        add("one row with a tenth", 1, 0.1);
        add("two rows with a tenth", 2, 0.1);
    }
    all
}

/// Returns the patterns of our records (`references/seed_patterns.py`).
pub fn recorded() -> Vec<Pattern> {
    #[derive(serde::Deserialize)]
    struct Table {
        sweep: String,
        lang: String,
        rows: Vec<(String, f64, f64)>,
    }
    let tables: Vec<Table> =
        serde_json::from_str(include_str!("../references/seed_patterns.json")).expect("good patterns");
    let pattern = |table: Table| Pattern {
        name: format!("{} {}", table.sweep, table.lang),
        rows: table.rows.into_iter().map(|(_, of_sentences, of_seeds)| [of_sentences, of_seeds]).collect(),
        languages: 1,
        calmer: 1.0,
    };
    tables.into_iter().map(pattern).collect()
}

impl Pattern {
    /// Returns the pattern as the first of several languages, of which the others have calmer seeds.
    pub fn among_languages(&self, languages: usize, calmer: f64) -> Self {
        Self { languages, calmer, ..self.clone() }
    }

    /// Rates over so many studies.
    pub fn simulate(&self, seeds: usize, studies: u32) -> TableRates {
        let stream = Stream::new(11, &self.name);
        let share = 1.0 / f64::from(studies);
        let mut rates = TableRates::default();
        let mut sorted: Vec<f64> = self.rows.iter().map(|row| row[1]).collect();
        sorted.sort_by(f64::total_cmp);
        let margin = 6.0 * sorted[sorted.len() / 2];
        let count = |rate: &mut f64, is: bool| *rate += share * f64::from(u8::from(is));
        for study in 0..u64::from(studies) {
            let none = self.judge_study(seeds, margin, stream.child(0).child(study), &|_| 0.0);
            count(&mut rates.false_verdicts, none.iter().any(is_decided));
            let lost = self.judge_study(seeds, margin, stream.child(1).child(study), &|_| -margin);
            count(&mut rates.false_equivalents, lost.iter().any(|row| row.within_margin));
            count(&mut rates.false_recommendations, lost.iter().any(|row| row.loses_at_most(margin / 100.0)));
            let far =
                self.judge_study(seeds, margin, stream.child(2).child(study), &|scatter| -4.0 * scatter);
            let rows = far.len() as f64;
            rates.power +=
                share / rows * far.iter().filter(|row| row.verdict == Verdict::Worse).count() as f64;
            rates.power_alone += share / rows * worse_alone(&far) as f64;
        }
        rates
    }

    /// Returns the first language's verdicts; `loss` gives a row's true difference from the standard deviation
    /// of its seeds.
    fn judge_study(
        &self,
        seeds: usize,
        margin: f64,
        stream: Stream,
        loss: &dyn Fn(f64) -> f64,
    ) -> Vec<Judged> {
        let tables: Vec<Vec<CrossedDifference>> = (0..self.languages)
            .map(|lang| {
                let calmer = if lang == 0 { 1.0 } else { self.calmer };
                self.draw_table(seeds, calmer, stream.child(lang as u64), loss)
            })
            .collect();
        let study = SeedScatter::of(tables.iter().flatten());
        judge(tables.into_iter().next().expect("a language"), study, margin / 100.0)
    }

    /// Differences by seed, of which half of the variance is the noise of the shared baseline.
    fn draw_table(
        &self,
        seeds: usize,
        calmer: f64,
        stream: Stream,
        loss: &dyn Fn(f64) -> f64,
    ) -> Vec<CrossedDifference> {
        let row = |(at, [of_sentences, of_seeds]): (usize, &Scatter)| {
            let scatter = (of_seeds.powi(2) / calmer).max(of_sentences.powi(2)).sqrt();
            let by_seed = draw_by_seed(seeds, scatter, at, stream);
            row_of(by_seed.iter().map(|one| one + loss(scatter)), *of_sentences)
        };
        self.rows.iter().enumerate().map(row).collect()
    }
}

/// Draws the deviation of each seed of a row, in points.
pub fn draw_by_seed(seeds: usize, scatter: f64, row: usize, stream: Stream) -> Vec<f64> {
    let own = stream.child(1 + row as u64);
    let noise = |seed: u64| stream.child(0).normal(seed) + own.normal(seed);
    (0..seeds as u64).map(|seed| scatter * noise(seed) * 0.5_f64.sqrt()).collect()
}

/// Returns the row of these differences by seed, in points.
pub fn row_of(by_seed: impl ExactSizeIterator<Item = f64>, of_sentences: f64) -> CrossedDifference {
    let interaction = (of_sentences / 100.0).powi(2) / by_seed.len() as f64;
    let parts = VarianceParts { seeds: None, sentences: interaction, interaction };
    CrossedDifference::from_parts(by_seed.map(|one| one / 100.0).collect(), 1_000, parts).expect("a row")
}

fn is_decided(row: &Judged) -> bool {
    matches!(row.verdict, Verdict::Better | Verdict::Worse)
}

/// Returns how many rows are worse by each row's own variance and Holm's correction.
fn worse_alone(rows: &[Judged]) -> usize {
    let t_value = |row: &Judged| {
        let seeds = row.difference.variance.seeds.expect("several seeds");
        -row.difference.value / seeds.sqrt()
    };
    let mut values: Vec<f64> = rows.iter().map(t_value).collect();
    values.sort_by(|a, b| b.abs().total_cmp(&a.abs()));
    let freedom = rows[0].difference.seeds() - 1;
    let shown =
        |(at, value): &(usize, &f64)| **value > two_sided(1.0 - 0.05 / (rows.len() - at) as f64, freedom);
    values.iter().enumerate().take_while(shown).count()
}
