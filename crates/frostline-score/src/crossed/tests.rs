//! The parts of a difference on data whose answers are known.

use super::*;

fn stratum_of_gains(gains: &[&[f64]]) -> Stratum {
    let gains: Vec<Vec<f64>> = gains.iter().map(|of_seed| of_seed.to_vec()).collect();
    Stratum::new(vec![10; gains[0].len()], &gains).expect("a stratum")
}

fn alternating_stratum(seeds: usize, sentences: usize) -> Stratum {
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
    let found =
        CrossedDifference::of(&[stratum_of_gains(&[&first, &second])], 4000, 0).expect("a difference");
    assert!((found.value - 0.149).abs() < 1e-12);
    // Seeds 0.1 apart: variance 0.005, over two seeds 0.0025.
    assert!((found.variance.seeds.expect("two seeds") - 0.0025).abs() < 1e-12);
    assert!(found.variance.interaction < 1e-12);
    // Gains 0, 1, 2 of 10 words: variance 0.0067 over 100 sentences, and the pseudo-observations.
    let expected = (2.0 / 3.0) / 100.0 / 100.0 + 2.0 / 1e6;
    assert!((found.variance.sentences / expected - 1.0).abs() < 0.08, "{}", found.variance.sentences);
}

#[test]
fn one_seed_has_no_part_of_seeds() {
    let one = CrossedDifference::of(&[alternating_stratum(1, 60)], 500, 0).expect("a difference");
    assert_eq!((one.seeds(), one.variance.seeds, one.variance.interaction), (1, None, 0.0));
}

/// Returns a stratum in which each seed has separate sentences.
fn nested_stratum(gains: &[Vec<f64>]) -> Stratum {
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
    let found = CrossedDifference::of(&[nested_stratum(&gains)], 4000, 0).expect("a difference");
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
    let one =
        CrossedDifference::of(&[nested_stratum(&gains).with_overlap(1.0)], 4000, 0).expect("a difference");
    assert!((one.variance.sentences / crossed.variance.sentences - 1.0).abs() < 0.08);
    assert!(one.variance.interaction < 1e-9);
    let half =
        CrossedDifference::of(&[nested_stratum(&gains).with_overlap(0.5)], 4000, 0).expect("a difference");
    assert!((half.variance.sentences / found.variance.sentences - 2.0).abs() < 0.1, "1 + (3 - 1) / 2");
    assert!((half.variance.interaction / found.variance.interaction - 0.5).abs() < 0.1);
}

#[test]
fn seeds_may_share_a_text() {
    let gains = |shift: usize| (0..60).map(|at| ((at * 7 + shift) % 5) as f64 - 1.0).collect::<Vec<f64>>();
    let both = Scored { words: vec![10; 60], gains: vec![Some(gains(0)), Some(gains(3)), None] };
    let alone = Scored { words: vec![8; 60], gains: vec![None, None, Some(gains(6))] };
    let stratum = Stratum::partly_crossed(vec![both, alone]).expect("a stratum");
    let found = CrossedDifference::of(&[stratum], 500, 0).expect("a difference");
    let mean = |shift, words: f64| gains(shift).iter().sum::<f64>() / words;
    for (found, expected) in found.by_seed.iter().zip([mean(0, 600.0), mean(3, 600.0), mean(6, 480.0)]) {
        assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
    }
}

#[test]
fn strata_are_averaged() {
    let (a, b) = (alternating_stratum(3, 40), alternating_stratum(3, 40));
    let one = CrossedDifference::of(std::slice::from_ref(&a), 2000, 0).expect("a difference");
    let two = CrossedDifference::of(&[a, b], 2000, 0).expect("a difference");
    assert!((one.value - two.value).abs() < 1e-12);
    let ratio = two.variance.sentences / one.variance.sentences;
    assert!((ratio - 0.5).abs() < 0.05, "{ratio}");
}

#[test]
fn deviations_are_of_the_same_draws_in_every_comparison() {
    let of = |stratum: Stratum| CrossedDifference::of(&[stratum], 300, 0).expect("a difference").deviations;
    let gains = |factor: f64| vec![(0..60).map(|at| factor * f64::from(at % 3)).collect::<Vec<f64>>(); 2];
    let stratum = |factor| Stratum::new(vec![10; 60], &gains(factor)).expect("a stratum");
    let (once, twice) = (of(stratum(1.0)), of(stratum(2.0)));
    assert!(once.iter().zip(&twice).all(|(once, twice)| (2.0 * once - twice).abs() < 1e-12));
    assert!(once.iter().any(|one| *one > 0.0) && once.iter().any(|one| *one < 0.0));
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
    assert!(CrossedDifference::of(&[], 1, 0).is_err());
    let parts = VarianceParts { seeds: None, sentences: 0.1, interaction: 0.0 };
    assert!(CrossedDifference::from_parts(Vec::new(), 9, parts).is_err());
    assert!(CrossedDifference::from_parts(vec![0.1], 1, parts).is_err());
    assert!(CrossedDifference::of(&[alternating_stratum(2, 9), alternating_stratum(3, 9)], 1, 0).is_err());
}
