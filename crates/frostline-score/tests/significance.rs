//! Compares intervals, tests and per-tag scores with scipy, statsmodels, scikit-learn, seqeval and deepsig.
//!
//! `references/significance.json` is made by the script next to it. Deterministic values must be equal;
//! resampled values must be within six standard deviations of the reference's own runs.

use frostline_score::entity::{EntityScores, Scheme};
use frostline_score::{
    Confusion, Limits, McNemar, Prf, Resampling, Share, almost_stochastic_order, bootstrap, bootstrap_share,
    holm, mean_std, paired_bootstrap, paired_permutation, violation_ratio, wilson,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct TestReferences {
    wilson: Vec<Wilson>,
    mcnemar: Vec<McNemar>,
    holm: Vec<Holm>,
    mean_std: Vec<ReferenceMean>,
    tags: Vec<TagReference>,
    entities: Vec<EntityReference>,
    bootstrap: Vec<Bootstrap>,
    pairs: Vec<Pairs>,
    order: Vec<OrderReference>,
}

#[derive(Deserialize)]
struct Wilson {
    part: u64,
    whole: u64,
    confidence: f64,
    low: f64,
    high: f64,
}

#[derive(Deserialize)]
struct Holm {
    p: Vec<f64>,
    adjusted: Vec<f64>,
}

#[derive(Deserialize)]
struct ReferenceMean {
    values: Vec<f64>,
    mean: f64,
    std: f64,
}

#[derive(Deserialize)]
struct TagReference {
    gold: Vec<String>,
    predicted: Vec<String>,
    labels: Vec<String>,
    matrix: Vec<Vec<u64>>,
    /// Precision, recall, F1, support.
    per_tag: Vec<[f64; 4]>,
    #[serde(rename = "macro")]
    macro_: [f64; 3],
    weighted: [f64; 3],
    micro: [f64; 3],
}

#[derive(Deserialize)]
struct EntityReference {
    gold: Vec<Vec<String>>,
    predicted: Vec<Vec<String>>,
    lenient: [f64; 3],
    strict: [f64; 3],
}

/// Mean and standard deviation over the reference's runs.
type BootstrapSpread = [f64; 2];

#[derive(Deserialize)]
struct Ends {
    low: BootstrapSpread,
    high: BootstrapSpread,
}

#[derive(Deserialize)]
struct Bootstrap {
    shares: Vec<[u64; 2]>,
    value: f64,
    percentile: Ends,
    #[serde(rename = "BCa")]
    bias_corrected: Ends,
}

#[derive(Deserialize)]
struct Pairs {
    /// Correct of A, correct of B, words.
    triples: Vec<[u64; 3]>,
    value: f64,
    p_value: BootstrapSpread,
    a_ahead: BootstrapSpread,
    low: BootstrapSpread,
    high: BootstrapSpread,
    permutation_p: BootstrapSpread,
}

#[derive(Deserialize)]
struct OrderReference {
    a: Vec<f64>,
    b: Vec<f64>,
    violation: f64,
    bound: BootstrapSpread,
}

fn read_references() -> TestReferences {
    serde_json::from_str(include_str!("references/significance.json")).unwrap()
}

#[track_caller]
fn assert_near(ours: f64, theirs: f64, relative: f64) {
    let distance = (ours - theirs).abs();
    assert!(distance <= relative * theirs.abs() || distance < 1e-300, "{ours} is not {theirs}");
}

/// Checks that a value is within six standard deviations of the reference's mean, plus `slack` for
/// differences in method.
#[track_caller]
fn assert_within(ours: f64, [mean, deviation]: BootstrapSpread, slack: f64) {
    let distance = (ours - mean).abs();
    assert!(distance <= 6.0 * deviation + slack, "{ours} is not within 6 x {deviation} of {mean}");
}

fn prf_array(prf: Prf) -> [f64; 3] {
    [prf.precision, prf.recall, prf.f1]
}

#[track_caller]
fn all_near(ours: [f64; 3], theirs: [f64; 3]) {
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        assert_near(ours, theirs, 1e-13);
    }
}

#[test]
fn wilson_intervals() {
    for case in read_references().wilson {
        let ours = wilson(case.part, case.whole, case.confidence);
        // The reference rounds if a limit is 0 or 1.
        assert!((ours.low - case.low).abs() < 1e-14, "{ours:?} {}", case.low);
        assert!((ours.high - case.high).abs() < 1e-14, "{ours:?} {}", case.high);
    }
}

#[test]
fn mcnemar_tests() {
    for theirs in read_references().mcnemar {
        let ours = McNemar::from_counts(theirs.only_a, theirs.only_b);
        assert_near(ours.exact_p, theirs.exact_p, 1e-12);
        assert_near(ours.mid_p, theirs.mid_p, 1e-12);
        assert_near(ours.corrected_statistic, theirs.corrected_statistic, 1e-14);
        assert_near(ours.corrected_p, theirs.corrected_p, 1e-12);
    }
}

#[test]
fn holm_corrections() {
    for case in read_references().holm {
        for (ours, theirs) in holm(&case.p).into_iter().zip(case.adjusted) {
            assert_near(ours, theirs, 1e-14);
        }
    }
}

#[test]
fn means_and_deviations() {
    for case in read_references().mean_std {
        let (mean, std) = mean_std(&case.values);
        assert_near(mean, case.mean, 1e-14);
        assert_near(std, case.std, 1e-10);
    }
}

#[test]
fn tags_as_scikit_learn_scores_them() {
    for case in read_references().tags {
        let pairs = case.gold.iter().zip(&case.predicted);
        let matrix = Confusion::from_pairs(pairs.map(|(g, p)| (g.as_str(), p.as_str())));
        assert_eq!((&matrix.tags, &matrix.counts), (&case.labels, &case.matrix));
        for (tag, [precision, recall, f1, support]) in matrix.per_tag().iter().zip(case.per_tag) {
            all_near(prf_array(tag.prf), [precision, recall, f1]);
            assert_eq!(tag.support as f64, support);
        }
        let averages = matrix.averages();
        all_near(prf_array(averages.macro_avg), case.macro_);
        all_near(prf_array(averages.weighted), case.weighted);
        all_near(prf_array(averages.micro), case.micro);
    }
}

#[test]
fn entities_as_seqeval_scores_them() {
    for case in read_references().entities {
        for (scheme, theirs) in [(Scheme::Lenient, case.lenient), (Scheme::Strict, case.strict)] {
            let mut scores = EntityScores::new(scheme);
            for (gold, predicted) in case.gold.iter().zip(&case.predicted) {
                let gold: Vec<&str> = gold.iter().map(String::as_str).collect();
                let predicted: Vec<&str> = predicted.iter().map(String::as_str).collect();
                scores.add(&gold, &predicted).unwrap();
            }
            all_near(prf_array(scores.overall()), theirs);
        }
    }
}

#[test]
fn bootstrap_intervals() {
    let resampling = Resampling { resamples: 9999, confidence: 0.9, seed: 1 };
    for case in read_references().bootstrap {
        let shares: Vec<Share> = case.shares.iter().map(|&[part, whole]| Share { part, whole }).collect();
        let plain = bootstrap_share(&shares, &resampling);
        assert_near(plain.value, case.value, 1e-14);
        assert_within(plain.low, case.percentile.low, 1e-9);
        assert_within(plain.high, case.percentile.high, 1e-9);
        let ratio = |items: &[usize]| Share::of(&items.iter().map(|&i| shares[i]).collect::<Vec<_>>());
        let corrected = bootstrap(shares.len(), ratio, Limits::BiasCorrected, &resampling);
        assert_within(corrected.low, case.bias_corrected.low, 1e-9);
        assert_within(corrected.high, case.bias_corrected.high, 1e-9);
    }
}

#[test]
fn paired_tests() {
    let resampling = Resampling { resamples: 9999, confidence: 0.95, seed: 1 };
    for case in read_references().pairs {
        let shares = |which: usize| -> Vec<Share> {
            case.triples.iter().map(|t| Share { part: t[which], whole: t[2] }).collect()
        };
        let (a, b) = (shares(0), shares(1));
        let ours = paired_bootstrap(&a, &b, &resampling).unwrap();
        assert!((ours.difference.value - case.value).abs() < 1e-14);
        assert_within(ours.difference.low, case.low, 1e-9);
        assert_within(ours.difference.high, case.high, 1e-9);
        assert_within(ours.p_value, case.p_value, 1e-4);
        assert_within(ours.a_ahead, case.a_ahead, 1e-4);
        let permutation = paired_permutation(&a, &b, &resampling).unwrap();
        assert_within(permutation, case.permutation_p, 1e-4);
    }
}

#[test]
fn stochastic_order_as_deepsig_finds_it() {
    let resampling = Resampling { resamples: 1000, confidence: 0.95, seed: 1 };
    for case in read_references().order {
        // The reference sums over a grid of 1e-5.
        let violation = violation_ratio(&case.a, &case.b).unwrap();
        assert!((violation - case.violation).abs() < 1e-3, "{violation} {}", case.violation);
        let order = almost_stochastic_order(&case.a, &case.b, &resampling).unwrap();
        assert_eq!(order.violation, violation);
        // The reference's bound sums over a grid of 0.005, which changes it by up to about 0.01.
        assert_within(order.bound, case.bound, 0.01);
        println!(
            "violation {violation:.4} ({:.4}), bound {:.4} ({:.4} ± {:.4})",
            case.violation, order.bound, case.bound[0], case.bound[1]
        );
    }
}
