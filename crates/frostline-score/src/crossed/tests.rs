//! The parts of a difference, its interval and its p-values, on data whose answers are known.

use super::*;
use crate::distribution::normal_cdf;

fn stratum(gains: &[&[f64]]) -> Stratum {
    let gains: Vec<Vec<f64>> = gains.iter().map(|of_seed| of_seed.to_vec()).collect();
    Stratum::new(vec![10; gains[0].len()], &gains).expect("a stratum")
}

fn alternating(seeds: usize, sentences: usize) -> Stratum {
    let gain = |seed: usize, at: usize| ((at * 7 + seed * 3) % 5) as f64 - 1.0;
    let gains: Vec<Vec<f64>> =
        (0..seeds).map(|seed| (0..sentences).map(|at| gain(seed, at)).collect()).collect();
    Stratum::new(vec![10; sentences], &gains).expect("a stratum")
}

#[test]
fn the_parts_are_those_of_a_two_way_layout() {
    // Seeds differ by a constant, sentences by a constant, and nothing else.
    let first: Vec<f64> = (0..100).map(|at| f64::from(at % 3)).collect();
    let second: Vec<f64> = first.iter().map(|gain| gain + 1.0).collect();
    let found = CrossedDifference::of(&[stratum(&[&first, &second])], 4000, 0).expect("a difference");
    assert!((found.value - 0.149).abs() < 1e-12);
    // Seeds 0.1 apart: variance 0.005, over two seeds 0.0025.
    assert!((found.variance.seeds.expect("two seeds") - 0.0025).abs() < 1e-12);
    assert!(found.variance.interaction < 1e-12);
    // Gains 0, 1, 2 of 10 words: variance 0.0067 over 100 sentences, and the pseudo-observations.
    let expected = (2.0 / 3.0) / 100.0 / 100.0 + 2.0 / 1e6;
    assert!((found.variance.sentences / expected - 1.0).abs() < 0.08, "{}", found.variance.sentences);
}

#[test]
fn a_p_value_is_that_of_the_interval_that_ends_there() {
    let found = CrossedDifference::of(&[alternating(3, 60)], 500, 0).expect("a difference");
    for confidence in [0.5, 0.9, 0.95, 0.999] {
        let [low, high] = found.interval(confidence);
        assert!((found.p_at_most(low) - 0.5 * (1.0 - confidence)).abs() < 1e-6);
        assert!((found.p_at_most(high) - (0.5 + 0.5 * confidence)).abs() < 1e-6);
    }
    let [low, high] = found.interval(0.9);
    let margin = low.abs().max(high.abs());
    assert!((found.p_equivalent(margin) - 0.05).abs() < 1e-6);
    assert_eq!(found.two_sided_p(0.0), 1.0);
}

#[test]
fn equal_systems_do_not_differ_and_few_sentences_do_not_prove_it() {
    let same = CrossedDifference::of(&[stratum(&[&[0.0; 20], &[0.0; 20]])], 100, 0).expect("a difference");
    assert_eq!((same.value, same.p_value()), (0.0, 1.0));
    let [low, high] = same.interval(0.95);
    assert!(low == -high && high > 0.01, "{high}");
}

#[test]
fn one_seed_has_no_part_of_seeds() {
    let one = CrossedDifference::of(&[alternating(1, 60)], 500, 0).expect("a difference");
    assert_eq!((one.seeds(), one.variance.seeds, one.variance.interaction), (1, None, 0.0));
    assert!(one.half_width(0.95) > 0.0);
}

/// How often an interval contains the truth where sentences contribute a variance of 1, of which a part is the
/// interaction, and seeds alone another one: an integral over the variance between seeds that these may happen to have.
fn coverage(confidence: f64, seeds: usize, interaction: f64, of_seeds: f64) -> f64 {
    let freedom = seeds - 1;
    let (mut sum, mut weights) = (0.0, 0.0);
    for step in 1..1_000 {
        let chi = f64::from(step) * 0.008 * (3.0 + (freedom as f64).sqrt());
        let weight = chi.powi(freedom as i32 - 1) * (-0.5 * chi * chi).exp();
        let found = (of_seeds + interaction) * chi * chi / freedom as f64;
        let parts = VarianceParts { seeds: Some(found), sentences: 1.0, interaction };
        let half = half_width(confidence, &parts, [freedom, 1_000_000]);
        sum += weight * (2.0 * normal_cdf(half / (1.0 + of_seeds).sqrt()) - 1.0);
        weights += weight;
    }
    sum / weights
}

#[test]
fn intervals_cover_whatever_seeds_and_sentences_contribute() {
    // Holm's correction asks for more than 95 % where a table has many rows.
    for (confidence, seeds) in
        [0.9, 0.95, 0.995].into_iter().flat_map(|level| [2, 3, 5, 10].map(|n| (level, n)))
    {
        for interaction in [0.0, 0.3, 0.6, 1.0] {
            for of_seeds in [0.0, 0.1, 0.3, 1.0, 3.0, 5.0, 9.0, 30.0, 100.0] {
                let missed = 1.0 - coverage(confidence, seeds, interaction, of_seeds);
                let place = format!("{confidence}, {seeds} seeds, {interaction} of 1, {of_seeds}");
                assert!(missed <= 1.02 * (1.0 - confidence), "{place}: {missed}");
            }
        }
    }
    for (seeds, most) in [(2, 0.994), (3, 0.988), (5, 0.980), (10, 0.972)] {
        let found = coverage(0.95, seeds, 1.0, 0.0);
        assert!(found <= most, "{seeds}: {found}");
    }
}

/// Each seed's gains on sentences of its own.
fn nested(gains: &[Vec<f64>]) -> Stratum {
    let seeds = gains.len();
    let scored = |(seed, of_seed): (usize, &Vec<f64>)| Scored {
        words: vec![10; of_seed.len()],
        gains: (0..seeds).map(|other| (other == seed).then(|| of_seed.clone())).collect(),
    };
    Stratum::partly_crossed(gains.iter().enumerate().map(scored).collect()).expect("a stratum")
}

#[test]
fn seeds_with_sentences_of_their_own_contain_all_variance() {
    // Every seed has the gains 0, 1, 2, 0, 1, 2, ... on other sentences.
    let gains = vec![(0..90).map(|at| f64::from(at % 3)).collect::<Vec<f64>>(); 3];
    let found = CrossedDifference::of(&[nested(&gains)], 4000, 0).expect("a difference");
    assert!((found.value - 0.1).abs() < 1e-12);
    assert_eq!(found.sentences, 90);
    // Gains of 10 words with variance 2/3, 90 sentences for each of three seeds.
    let of_sentences = (2.0 / 3.0) / 100.0 / 270.0;
    assert!((found.variance.sentences / of_sentences - 1.0).abs() < 0.08, "{}", found.variance.sentences);
    assert!((found.variance.interaction / of_sentences - 1.0).abs() < 0.08, "all of it is in the seeds' too");
    // Crossed, the same gains have no interaction and three times the variance.
    let crossed = Stratum::new(vec![10; 90], &gains).expect("a stratum");
    let crossed = CrossedDifference::of(&[crossed], 4000, 0).expect("a difference");
    let ratio = crossed.variance.sentences / found.variance.sentences;
    assert!((ratio / 3.0 - 1.0).abs() < 0.1, "{ratio}");
    assert!(crossed.variance.interaction < 1e-12);
    // With all sentences in common, sentences count as in the crossed case.
    let one = CrossedDifference::of(&[nested(&gains).with_overlap(1.0)], 4000, 0).expect("a difference");
    assert!((one.variance.sentences / crossed.variance.sentences - 1.0).abs() < 0.08);
    assert!(one.variance.interaction < 1e-9);
    let half = CrossedDifference::of(&[nested(&gains).with_overlap(0.5)], 4000, 0).expect("a difference");
    assert!((half.variance.sentences / found.variance.sentences - 2.0).abs() < 0.1, "1 + (3 - 1) / 2");
    assert!((half.variance.interaction / found.variance.interaction - 0.5).abs() < 0.1);
}

#[test]
fn seeds_may_share_a_text() {
    let gains = |shift: usize| (0..60).map(|at| ((at * 7 + shift) % 5) as f64 - 1.0).collect::<Vec<f64>>();
    let both = Scored { words: vec![10; 60], gains: vec![Some(gains(0)), Some(gains(3)), None] };
    let alone = Scored { words: vec![8; 60], gains: vec![None, None, Some(gains(6))] };
    let stratum = Stratum::partly_crossed(vec![both, alone]).expect("a stratum");
    let found = CrossedDifference::of(std::slice::from_ref(&stratum), 500, 0).expect("a difference");
    let mean = |shift, words: f64| gains(shift).iter().sum::<f64>() / words;
    for (found, expected) in found.by_seed.iter().zip([mean(0, 600.0), mean(3, 600.0), mean(6, 480.0)]) {
        assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
    }
    assert!(crossed_permutation(&[stratum], 199, 0).expect("a p-value") <= 0.05, "all seeds gain");
}

#[test]
fn strata_are_averaged() {
    let (a, b) = (alternating(3, 40), alternating(3, 40));
    let one = CrossedDifference::of(std::slice::from_ref(&a), 2000, 0).expect("a difference");
    let two = CrossedDifference::of(&[a, b], 2000, 0).expect("a difference");
    assert!((one.value - two.value).abs() < 1e-12);
    let ratio = two.variance.sentences / one.variance.sentences;
    assert!((ratio - 0.5).abs() < 0.05, "{ratio}");
}

#[test]
fn what_does_not_fit_is_an_error() {
    assert!(Stratum::new(vec![1, 2], &[]).is_err());
    assert!(Stratum::new(vec![1], &[vec![0.0]]).is_err());
    assert!(Stratum::new(vec![0, 0], &[vec![0.0; 2]]).is_err());
    assert!(Stratum::new(vec![1, 2], &[vec![0.0; 3]]).is_err());
    assert!(Stratum::new(vec![1, 2], &[vec![0.0, f64::NAN]]).is_err());
    let scored = |gains: &[Option<Vec<f64>>]| Scored { words: vec![1, 1], gains: gains.to_vec() };
    let gains = Some(vec![0.0; 2]);
    assert!(Stratum::partly_crossed(vec![scored(&[gains.clone(), None])]).is_err(), "a seed without a text");
    let idle = vec![scored(std::slice::from_ref(&gains)), scored(&[None])];
    assert!(Stratum::partly_crossed(idle).is_err(), "a text without a seed");
    let uneven = vec![scored(std::slice::from_ref(&gains)), scored(&[gains.clone(), gains.clone()])];
    assert!(Stratum::partly_crossed(uneven).is_err());
    assert!(CrossedDifference::of(&[], 1, 0).is_err() && crossed_permutation(&[], 1, 0).is_err());
    assert!(CrossedDifference::of(&[alternating(2, 9), alternating(3, 9)], 1, 0).is_err());
}
