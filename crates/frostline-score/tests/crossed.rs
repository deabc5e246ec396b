//! Compares differences over seeds and sentences with numpy, scipy and rliable. `references/crossed.json` is
//! made by the script next to it; resampled values must be within six standard deviations of the reference's
//! own runs.

use frostline_score::crossed::RESAMPLES;
use frostline_score::verdict::judge;
use frostline_score::{CrossedDifference, Judged, SeedScatter, Stratum};
use serde::Deserialize;

#[derive(Deserialize)]
struct CrossedReferences {
    crossed: Vec<Crossed>,
    student: Vec<Student>,
    strata: Vec<ReferenceStrata>,
}

#[derive(Deserialize)]
struct Crossed {
    words: Vec<u32>,
    gains: Vec<Vec<f64>>,
    value: f64,
    seeds: f64,
    sentences: ReferenceSpread,
    interaction: ReferenceSpread,
}

/// Mean and standard deviation over the reference's runs.
type ReferenceSpread = [f64; 2];

#[derive(Deserialize)]
struct Student {
    gains: Vec<f64>,
    low: f64,
    high: f64,
    p: f64,
}

#[derive(Deserialize)]
struct ReferenceStrata {
    gains: Vec<Vec<f64>>,
    low: ReferenceSpread,
    high: ReferenceSpread,
}

fn read_references() -> CrossedReferences {
    serde_json::from_str(include_str!("references/crossed.json")).expect("good references")
}

#[track_caller]
fn assert_within(found: f64, [mean, deviation]: ReferenceSpread) {
    assert!((found - mean).abs() <= 6.0 * deviation + 1e-12, "{found}, not {mean} ± {deviation}");
}

#[track_caller]
fn assert_near(found: f64, expected: f64, relative: f64) {
    assert!((found - expected).abs() <= relative * expected.abs(), "{found}, not {expected}");
}

/// Returns a table of one row.
fn judge_alone(strata: &[Stratum]) -> Judged {
    let row = CrossedDifference::of(strata, 20_000, 0).expect("a difference");
    judge(vec![row], SeedScatter::default(), 0.005).remove(0)
}

#[test]
fn the_parts_of_the_variance_are_those_of_numpy() {
    for case in read_references().crossed {
        let words: u32 = case.words.iter().sum();
        let strata = [Stratum::new(case.words, &case.gains).expect("a stratum")];
        let found = CrossedDifference::of(&strata, RESAMPLES, 0).expect("a difference");
        assert!((found.value - case.value).abs() < 1e-12);
        assert_near(found.variance.seeds.expect("several seeds"), case.seeds, 1e-9);
        assert_within(found.variance.sentences - 2.0 / f64::from(words).powi(2), case.sentences);
        assert_within(found.variance.interaction, case.interaction);
    }
}

#[test]
fn one_seed_and_one_word_per_sentence_is_students_test() {
    for case in read_references().student {
        let strata = [Stratum::new(vec![1; case.gains.len()], &[case.gains]).expect("a stratum")];
        let found = judge_alone(&strata);
        let [low, high] = found.interval;
        // The two added observations make it a little wider.
        let width = (high - low) / (case.high - case.low);
        assert!((0.99..1.08).contains(&width), "{width}");
        assert_near(0.5 * (low + high), 0.5 * (case.low + case.high), 1e-9);
        assert!((found.p - case.p).abs() < 0.03, "{}, not {}", found.p, case.p);
    }
}

#[test]
fn several_strata_are_resampled_as_by_rliable() {
    for case in read_references().strata {
        let stratum = |gains: Vec<f64>| Stratum::new(vec![1; gains.len()], &[gains]).expect("a stratum");
        let strata: Vec<Stratum> = case.gains.into_iter().map(stratum).collect();
        let [low, high] = judge_alone(&strata).interval;
        assert_within(low, case.low);
        assert_within(high, case.high);
        // Wider by Student's quantile, by the two added observations, and by n in place of n - 1.
        let width = (high - low) / (case.high[0] - case.low[0]);
        assert!((0.99..1.08).contains(&width), "{width}");
    }
}
