//! F1 scores as gains per sentence, so that the rule for accuracies applies to them.
//!
//! A score such as F1 is a ratio of sums over sentences, or a mean of ratios. Each sentence contributes its
//! linear part: its numerator minus the score times its denominator, over the sum of all denominators.
//! Resampling these parts equals resampling the counts, up to terms that vanish with the number of sentences.
//!
//! # Source
//! Efron and Tibshirani, *An Introduction to the Bootstrap* (1993), chapter 21: the infinitesimal jackknife.

use std::collections::BTreeMap;

/// Counts of a class in a sentence: F1 is the sum of the parts over the sum of the wholes, with twice the correct ones as the part,
/// and gold plus predicted ones as the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassCount {
    /// The class: a tag, or 0 if there is one class.
    pub class: u16,
    /// The class's numerator in this sentence.
    pub part: u16,
    /// The class's denominator in this sentence.
    pub whole: u16,
}

/// Returns the gains of A over B by sentence, in words. Their sum divided by the number of words is A's mean
/// ratio minus B's. Each class that occurs has the same weight. `a` and `b` contain the counts of each
/// sentence.
///
/// ```
/// use frostline_score::linear::{ClassCount, ratio_gains};
///
/// // Two sentences of five words with one entity each. A finds both, B the first one and another.
/// let count = |part, whole| vec![ClassCount { class: 0, part, whole }];
/// let gains = ratio_gains(&[5, 5], &[count(2, 2), count(2, 2)], &[count(2, 2), count(0, 2)]);
/// assert!((gains.iter().sum::<f64>() / 10.0 - 0.5).abs() < 1e-12); // F1 of 1 and of 0.5
/// ```
///
/// # Panics
/// If `words`, `a` and `b` differ in length.
#[must_use]
pub fn ratio_gains(words: &[u32], a: &[Vec<ClassCount>], b: &[Vec<ClassCount>]) -> Vec<f64> {
    assert!(
        words.len() == a.len() && words.len() == b.len(),
        "sentences of A, of B and their words differ in number"
    );
    let (of_a, of_b) = (Ratios::new(a), Ratios::new(b));
    let all: f64 = words.iter().map(|&words| f64::from(words)).sum();
    let difference = of_a.mean() - of_b.mean();
    let gain =
        |at: usize| f64::from(words[at]) * difference + all * (of_a.part_of(&a[at]) - of_b.part_of(&b[at]));
    (0..words.len()).map(gain).collect()
}

/// Returns the mean over classes of the sum of the parts over the sum of the wholes; 0 without any class.
#[must_use]
pub fn mean_ratio(counts: &[Vec<ClassCount>]) -> f64 {
    Ratios::new(counts).mean()
}

/// Sums of the parts and wholes of each class that occurs.
struct Ratios(BTreeMap<u16, [f64; 2]>);

impl Ratios {
    fn new(counts: &[Vec<ClassCount>]) -> Self {
        let mut sums = BTreeMap::new();
        for count in counts.iter().flatten().filter(|count| count.whole > 0) {
            let sum: &mut [f64; 2] = sums.entry(count.class).or_default();
            sum[0] += f64::from(count.part);
            sum[1] += f64::from(count.whole);
        }
        Self(sums)
    }

    fn mean(&self) -> f64 {
        let sum: f64 = self.0.values().map(|[part, whole]| part / whole).sum();
        sum / self.0.len().max(1) as f64
    }

    /// Returns the linear part of a sentence in the mean.
    fn part_of(&self, counts: &[ClassCount]) -> f64 {
        let of_class = |count: &ClassCount| {
            let [part, whole] = self.0.get(&count.class)?;
            Some((f64::from(count.part) - part / whole * f64::from(count.whole)) / whole)
        };
        counts.iter().filter_map(of_class).sum::<f64>() / self.0.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use frostline_random::Stream;

    use super::*;
    use crate::{CrossedDifference, Stratum};

    /// Counts of so many classes in made-up sentences; the first class is rare.
    fn made_up(sentences: usize, classes: u16, right: f64, stream: Stream) -> Vec<Vec<ClassCount>> {
        let of_class = |at: usize, class: u16| {
            let draws = stream.child(at as u64).child(u64::from(class));
            let gold = u16::from(draws.unit(0) < if class == 0 { 0.1 } else { 0.6 })
                * (1 + draws.below(1, 3) as u16);
            let correct = (0..gold).filter(|&one| draws.unit(2 + u64::from(one)) < right).count() as u16;
            let spurious = u16::from(draws.unit(9) < 0.5 * (1.0 - right));
            ClassCount { class, part: 2 * correct, whole: gold + correct + spurious }
        };
        (0..sentences).map(|at| (0..classes).map(|class| of_class(at, class)).collect()).collect()
    }

    /// Returns the bootstrap's variance of the difference if counts are resampled.
    fn resampled_variance(a: &[Vec<ClassCount>], b: &[Vec<ClassCount>]) -> f64 {
        let (n, resamples) = (a.len() as u64, 3_000);
        let stream = Stream::new(3, "counts");
        let centre = mean_ratio(a) - mean_ratio(b);
        let squares = (0..resamples).map(|number| {
            let draws = stream.child(number);
            let items: Vec<usize> = (0..n).map(|at| draws.below(at, n) as usize).collect();
            let pick =
                |from: &[Vec<ClassCount>]| items.iter().map(|&item| from[item].clone()).collect::<Vec<_>>();
            (mean_ratio(&pick(a)) - mean_ratio(&pick(b)) - centre).powi(2)
        });
        squares.sum::<f64>() / resamples as f64 * n as f64 / (n as f64 - 1.0)
    }

    #[test]
    fn linear_parts_vary_as_resampled_counts_do() {
        for (classes, tolerance) in [(1, 0.08), (6, 0.12)] {
            let [a, b] = [(0.9, "a"), (0.8, "b")]
                .map(|(right, name)| made_up(400, classes, right, Stream::new(1, name)));
            let words = vec![10; 400];
            let gains = ratio_gains(&words, &a, &b);
            assert!((gains.iter().sum::<f64>() / 4_000.0 - (mean_ratio(&a) - mean_ratio(&b))).abs() < 1e-12);
            let found = CrossedDifference::of(&[Stratum::new(words, &[gains]).expect("a stratum")], 3_000, 0);
            let variance = found.expect("a difference").variance.sentences - 2.0 / 4_000_f64.powi(2);
            let ratio = variance / resampled_variance(&a, &b);
            assert!((ratio - 1.0).abs() < tolerance, "{classes} classes: {ratio}");
        }
    }

    #[test]
    fn classes_that_never_occur_do_not_count() {
        let count = |class, part, whole| ClassCount { class, part, whole };
        let counts = vec![vec![count(0, 2, 2), count(1, 0, 0)], vec![count(2, 0, 2)]];
        assert_eq!(mean_ratio(&counts), 0.5);
        assert_eq!(mean_ratio(&[]), 0.0);
        assert_eq!(ratio_gains(&[1], &[Vec::new()], &[Vec::new()]), [0.0]);
    }
}
