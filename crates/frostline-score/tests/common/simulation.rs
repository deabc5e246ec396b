//! Simulated studies whose true difference is known, to measure how often intervals contain it and how often verdicts
//! are wrong. Used by `tests/coverage.rs` and by the example `coverage`.

use frostline_random::Stream;
use frostline_score::verdict::judge;
use frostline_score::{CrossedDifference, Judged, Scored, SeedScatter, Stratum, Verdict};

/// The margin of equivalence in all simulated studies.
pub const MARGIN: f64 = 0.005;

/// The parameters of a kind of study.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub name: &'static str,
    pub seeds: usize,
    pub sentences: usize,
    /// Lengths are log-normal: the standard deviation of the logarithm, with a median of 12 words. 0: one word each.
    pub lengths: f64,
    /// How often only A, or only B, has a word wrong.
    pub errors: f64,
    /// How much a seed changes that rate: the standard deviation of its factor, for each policy anew.
    pub seed_effect: f64,
    /// Policies that are compared with the same baseline.
    pub policies: usize,
    /// The share of all sentences that every seed draws for scoring; 0 if all seeds share the same sentences.
    pub drawn: f64,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            name: "",
            seeds: 3,
            sentences: 300,
            lengths: 0.8,
            errors: 0.02,
            seed_effect: 0.0,
            policies: 1,
            drawn: 0.0,
        }
    }
}

/// How often something happened in simulated studies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// Tables all of whose intervals contain the true difference.
    pub coverage: f64,
    /// Tables without a difference in which any row is judged better or worse.
    pub false_positives: f64,
    /// Tables whose true difference is the margin in all rows, with an interval inside of it.
    pub false_equivalents: f64,
    /// The variance between seeds (without the interaction) over the variance of sentences.
    pub seed_ratio: f64,
}

/// Simulates studies without a difference, and as many with a difference of the margin.
pub fn simulate(setting: &Setting, studies: u32, resamples: u32) -> Rates {
    let stream = Stream::new(7, setting.name);
    let mut rates = Rates::default();
    let (mut seeds, mut sentences) = (0.0, 0.0);
    let share = |is: bool| f64::from(u8::from(is)) / f64::from(studies);
    for number in 0..u64::from(studies) {
        let rows = judge_study(setting, 0.0, stream.child(0).child(number), resamples);
        let decided = |row: &Judged| matches!(row.verdict, Verdict::Better | Verdict::Worse);
        rates.false_positives += share(rows.iter().any(decided));
        rates.coverage += share(rows.iter().all(|row| row.interval[0] <= 0.0 && row.interval[1] >= 0.0));
        for row in &rows {
            let parts = row.difference.variance;
            seeds += parts.seeds.map_or(0.0, |all| all - parts.interaction);
            sentences += parts.sentences;
        }
        let rows = judge_study(setting, MARGIN, stream.child(1).child(number), resamples);
        assert!(rows.iter().all(|row| row.difference.seeds() > 1 || row.verdict == Verdict::Undecided));
        rates.false_equivalents += share(rows.iter().any(|row| row.within_margin));
    }
    rates.seed_ratio = seeds / sentences;
    rates
}

/// Returns the verdicts of one study. The true difference of every policy is `gain`.
fn judge_study(setting: &Setting, gain: f64, stream: Stream, resamples: u32) -> Vec<Judged> {
    let rows = (0..setting.policies as u64).map(|policy| {
        let stratum = if setting.drawn > 0.0 {
            let all = Setting { sentences: (setting.sentences as f64 / setting.drawn) as usize, ..*setting };
            let (words, gains) = draw_gains(&all, gain, stream, policy);
            let scored = |seed: usize| {
                let order = stream.child(0).child(seed as u64).permutation(all.sentences);
                let own = &order[..setting.sentences];
                let mut of_seeds = vec![None; setting.seeds];
                of_seeds[seed] = Some(own.iter().map(|&at| gains[seed][at]).collect());
                Scored { words: own.iter().map(|&at| words[at]).collect(), gains: of_seeds }
            };
            let scored = (0..setting.seeds).map(scored).collect();
            Stratum::partly_crossed(scored).map(|stratum| stratum.with_overlap(setting.drawn))
        } else {
            let (words, gains) = draw_gains(setting, gain, stream, policy);
            Stratum::new(words, &gains)
        };
        CrossedDifference::of(&[stratum.expect("a stratum")], resamples, 0).expect("a comparison")
    });
    judge(rows.collect(), SeedScatter::default(), MARGIN)
}

/// Returns the words of sentences, and the gains of a policy over the baseline, seed by seed.
fn draw_gains(setting: &Setting, gain: f64, stream: Stream, policy: u64) -> (Vec<u32>, Vec<Vec<f64>>) {
    let words: Vec<u32> =
        (0..setting.sentences as u64).map(|at| sentence_length(setting, stream.child(0), at)).collect();
    let baseline = draw_errors(setting, setting.errors + gain, &words, stream.child(1));
    let other = draw_errors(setting, setting.errors, &words, stream.child(2 + policy));
    let of_seed = |(b, a): (&Vec<f64>, &Vec<f64>)| b.iter().zip(a).map(|(b, a)| b - a).collect();
    let gains = baseline.iter().zip(&other).map(of_seed).collect();
    (words, gains)
}

fn sentence_length(setting: &Setting, stream: Stream, at: u64) -> u32 {
    if setting.lengths == 0.0 {
        return 1;
    }
    (12.0 * (setting.lengths * stream.normal(at)).exp()).clamp(1.0, 200.0) as u32
}

/// Words that only this policy has wrong, by seed and sentence. A sentence's factor is exponential with mean 1 and the
/// same for all seeds.
fn draw_errors(setting: &Setting, rate: f64, words: &[u32], stream: Stream) -> Vec<Vec<f64>> {
    // Half of the difficulty is the sentence's; a sentence of one word may be wrong at most once.
    let factor = |at: usize| match setting.lengths {
        0.0 => 2.0 * stream.child(0).unit(at as u64),
        _ => -(1.0 - stream.child(0).unit(at as u64)).ln(),
    };
    let of_seed = |seed: usize| {
        let draws = stream.child(1).child(seed as u64);
        let own = (1.0 + setting.seed_effect * stream.child(2).normal(seed as u64)).max(0.0);
        let of_sentence = |(at, &words): (usize, &u32)| {
            let (draws, rate) = (draws.child(at as u64), rate * own * factor(at));
            (0..u64::from(words)).filter(|&word| draws.unit(word) < rate).count() as f64
        };
        words.iter().enumerate().map(of_sentence).collect()
    };
    (0..setting.seeds).map(of_seed).collect()
}
