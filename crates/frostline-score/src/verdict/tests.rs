//! Verdicts on tables whose answers are known.

use super::*;
use crate::crossed::{RESAMPLES, Stratum};

/// Gains of every third sentence by seed, plus one word in so many sentences.
fn simulated_stratum(seeds: usize, sentences: usize, every: usize, spread: f64) -> Stratum {
    let gain = |seed: usize, at: usize| {
        let noise = [0.0, 1.0, -1.0][(at * 5 + at / 7) % 3];
        let shift = spread * (seed as f64 - (seeds as f64 - 1.0) / 2.0);
        let more = if every > 0 && at.is_multiple_of(every) { 1.0 } else { 0.0 };
        noise + shift + more
    };
    let gains: Vec<Vec<f64>> =
        (0..seeds).map(|seed| (0..sentences).map(|at| gain(seed, at)).collect()).collect();
    Stratum::new(vec![20; sentences], &gains).expect("a stratum")
}

fn simulated_row(seeds: usize, sentences: usize, every: usize, spread: f64) -> CrossedDifference {
    CrossedDifference::of(&[simulated_stratum(seeds, sentences, every, spread)], RESAMPLES, 0).expect("a row")
}

fn judge_alone(row: CrossedDifference) -> Judged {
    judge(vec![row], SeedScatter::default(), 0.005).remove(0)
}

/// Returns a row of which the seeds' differences are known, in points, on a dev split of 500 sentences.
fn of_seeds(by_seed: &[f64]) -> CrossedDifference {
    let by_seed: Vec<f64> = by_seed.iter().map(|points| points / 100.0).collect();
    let interaction = 0.003_f64.powi(2) / by_seed.len() as f64;
    let parts = VarianceParts { seeds: None, sentences: 1.5 * interaction, interaction };
    CrossedDifference::from_parts(by_seed, 500, parts).expect("a row")
}

#[test]
fn a_clear_difference_is_better_and_one_seed_shows_nothing() {
    let clear = judge_alone(simulated_row(3, 300, 2, 0.01));
    assert_eq!((clear.verdict, clear.within_margin, clear.needed), (Verdict::Better, false, None));
    let one = judge_alone(simulated_row(1, 300, 2, 0.0));
    assert!(one.p < 0.001 && one.interval[0] > 0.0);
    assert_eq!((one.verdict, one.needed, one.moderated), (Verdict::Undecided, None, None));
    assert!(!one.loses_at_most(0.5) && !one.loses_more_than(-0.5), "one seed shows nothing");
}

#[test]
fn equal_systems_on_many_sentences_are_equivalent() {
    let same = judge_alone(simulated_row(3, 1_500, 0, 0.001));
    assert_eq!((same.verdict, same.within_margin), (Verdict::Equivalent, true));
    assert!(same.p > 0.05 && same.loses_at_most(0.005));
    let none = judge(vec![of_seeds(&[0.0, 0.0])], SeedScatter::default(), 0.05).remove(0);
    assert_eq!((none.p, none.verdict), (1.0, Verdict::Equivalent));
    assert!(none.interval[0] == -none.interval[1] && none.interval[1] > 0.0);
}

#[test]
fn too_small_a_study_says_what_would_decide() {
    let few = judge_alone(simulated_row(3, 60, 12, 0.02));
    assert_eq!(few.verdict, Verdict::Undecided);
    let needed = few.needed.expect("a size");
    let sentences = needed.sentences.expect("more sentences suffice");
    assert!(sentences > 60 && sentences < 20_000, "{needed:?}");
    // Seeds that differ by several points: more sentences do not help.
    let far = judge_alone(simulated_row(3, 600, 6, 1.5));
    assert_eq!(far.verdict, Verdict::Undecided);
    let needed = far.needed.expect("a size");
    assert_eq!(needed.sentences, None);
    assert!(needed.seeds.is_none_or(|seeds| seeds > 5), "{needed:?}");
}

/// Two seeds on 300 sentences, in two languages: losses of 67, 18 and 43 points are losses, despite the scatter
/// of single rows' seeds. A loss of 3 points, less than a tenth of another row's scatter, is not shown.
#[test]
fn large_losses_are_worse_with_two_seeds_and_the_interval_says_so() {
    let en = vec![of_seeds(&[-67.12, -67.96]), of_seeds(&[-16.87, -19.39])];
    let pcm = vec![of_seeds(&[-40.36, -44.78]), of_seeds(&[-2.947, -3.013])];
    let scatter = SeedScatter::of(en.iter().chain(&pcm));
    let judged: Vec<Judged> = [en, pcm].into_iter().flat_map(|table| judge(table, scatter, 0.005)).collect();
    let verdicts: Vec<Verdict> = judged.iter().map(|row| row.verdict).collect();
    assert_eq!(verdicts, [Verdict::Worse, Verdict::Worse, Verdict::Worse, Verdict::Undecided]);
    assert!(judged[..3].iter().all(|row| row.loses_more_than(0.005) && row.p < 0.05));
}

#[test]
fn the_interval_is_the_verdict_and_the_p_value() {
    for every in [0, 3, 6, 9, 12, 20, 40] {
        let table = vec![
            simulated_row(3, 200, every, 0.01),
            simulated_row(3, 200, 0, 0.02),
            simulated_row(3, 200, 5, 0.05),
            simulated_row(3, 200, 0, 0.0),
        ];
        for found in judge(table, SeedScatter::default(), 0.005) {
            let [low, high] = found.interval;
            let differs = low > 0.0 || high < 0.0;
            assert_eq!(differs, found.p <= ALPHA, "{found:?}");
            assert_eq!(differs, matches!(found.verdict, Verdict::Better | Verdict::Worse));
            assert_eq!(found.within_margin, low > -0.005 && high < 0.005);
            assert!((0.5 * (low + high) - found.difference.value).abs() < 1e-12);
        }
    }
}

#[test]
fn a_row_among_many_has_a_wider_interval_and_copies_cost_little() {
    let width = |rows: Vec<CrossedDifference>| {
        let [low, high] = judge(rows, SeedScatter::default(), 0.005)[0].interval;
        high - low
    };
    let noisy = |number: usize| {
        let gain =
            |seed: usize, at: usize| [1.0, -1.0, 0.0][(at * (number + 2) + seed + at / (number + 3)) % 3];
        let gains: Vec<Vec<f64>> = (0..8).map(|seed| (0..200).map(|at| gain(seed, at)).collect()).collect();
        CrossedDifference::of(&[Stratum::new(vec![20; 200], &gains).expect("a stratum")], RESAMPLES, 0)
            .expect("a row")
    };
    let one = width(vec![noisy(0)]);
    let copies = width((0..8).map(|_| noisy(0)).collect());
    let others = width((0..8).map(noisy).collect());
    assert!(one < copies && copies < others, "{one} {copies} {others}");
    // All of the variance comes from sentences, and eight copies are one comparison.
    let joint = joint_quantile(&(0..8).map(|_| noisy(0)).collect::<Vec<_>>()).expect("a quantile");
    assert!((1.8..2.1).contains(&joint), "{joint}");
}

/// Studies of the proposed size in which the observed difference is the true one.
#[test]
fn a_study_of_the_proposed_size_decides_with_the_promised_probability() {
    for value in [0.0, 0.0005, 0.001, 0.002, 0.003] {
        let design = Design { value, of_seed: 0.0, of_sentence: 0.25, of_both: 0.0 };
        let (margin, quantiles) = (0.005, [1.96, 3.2]);
        let decides = |sentences: &usize| design.would_decide(3, *sentences, margin, quantiles);
        let sentences = (1_000..).step_by(100).find(decides).expect("a number of sentences");
        let error = (design.of_sentence / sentences as f64).sqrt();
        let parts = VarianceParts { seeds: Some(0.0), sentences: error * error, interaction: 0.0 };
        let half = half_width(&parts, quantiles);
        let stream = frostline_random::Stream::new(7, "studies");
        let studies = 20_000;
        let decided = (0..studies).filter(|&study| {
            let found = value + error * normal_quantile(stream.unit(study).max(1e-12));
            found.abs() >= half || found.abs() <= margin - half
        });
        let share = decided.count() as f64 / studies as f64;
        assert!(share >= POWER - 0.01, "{share} decided at {value} with {sentences} sentences");
    }
}
