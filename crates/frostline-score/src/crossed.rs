//! How sure is a difference between two systems that were trained with the same seeds and scored on the same sentences?
//!
//! Seeds and sentences are both samples, and they are crossed: every seed is scored on every sentence. A
//! [`CrossedDifference`] separates what each contributes to the variance and combines both in one interval. Where a split is
//! drawn anew for every seed, each seed has sentences of its own. The variance between seeds then contains what comes from
//! sentences, but for the sentences that two seeds have both drawn.
//!
//! - *Sentences* are resampled with replacement, the same ones for all seeds, since words of a sentence are not
//!   independent and one sentence may be hard for every seed.
//! - *Seeds* are too few to be resampled: a bootstrap of three values gives an interval that is far too narrow. Their
//!   variance is estimated with `seeds - 1` in the denominator and has Student's quantile for `seeds - 1` degrees of
//!   freedom.
//! - The two half widths are combined as the root of the sum of their squares.
//!
//! The variance between seeds also contains what a seed does on single sentences (the interaction), which the variance
//! of sentences contains too. It is subtracted once, though with few seeds only in part: `(seeds - 2) / (seeds - 1)` of
//! it, since the variance between two or three seeds may be small by chance.
//!
//! # Source
//! Efron and Tibshirani, *An Introduction to the Bootstrap* (1993), chapter 8; Owen and Eckles, *Bootstrapping Data
//! Arrays of Arbitrary Order* (2012), for crossed samples; Graybill and Wang, *Confidence Intervals on Nonnegative
//! Linear Combinations of Variances* (1980), and Zou and Donner, *Construction of Confidence Limits about Effect
//! Measures* (2008), for combining half widths; Agresti and Min, *Effects and Non-effects of Paired Identical
//! Observations* (2005), for the pseudo-observations; Agarwal et al., *Deep Reinforcement Learning at the Edge of the
//! Statistical Precipice* (2021), for resampling within strata.

use std::ops::Range;

use frostline_random::Stream;
use serde::Serialize;

use crate::error::ScoreError;
use crate::interval::checked;
use crate::student::two_sided;

/// How often sentences are resampled by default.
pub const RESAMPLES: u32 = 2_000;

/// How often results are swapped by default.
pub const SWAPS: u32 = 4_999;

/// Sentences, and the seeds with which the two systems were scored on them.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// The number of words of each sentence.
    pub words: Vec<u32>,
    /// For each seed that was scored on these sentences, the number of words by which A has more right than B in each.
    pub gains: Vec<Option<Vec<f64>>>,
}

/// Sentences on which the two systems were scored, each seed on some of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Stratum {
    texts: Vec<Text>,
    words: Vec<u32>,
    /// Sentence after sentence, seed by seed; 0 for a seed that was not scored on the sentence.
    gains: Vec<f64>,
    seeds: usize,
    weight: f64,
    /// The share of a text's sentences that another one has too.
    overlap: f64,
}

/// Sentences that are scored together, by place.
#[derive(Clone, Debug, PartialEq)]
struct Text {
    sentences: Range<usize>,
    /// Seed by seed, whether it was scored on them.
    scored: Vec<bool>,
}

impl Stratum {
    /// From the number of words of each sentence, and for each seed the number of words by which A has more right than
    /// B in each sentence.
    ///
    /// # Errors
    /// As [`Stratum::partly_crossed`].
    pub fn new(words: Vec<u32>, gains: &[Vec<f64>]) -> Result<Self, ScoreError> {
        let gains = gains.iter().cloned().map(Some).collect();
        Self::partly_crossed(vec![Scored { words, gains }])
    }

    /// From several texts, where not every seed was scored on every one. Each has a place for every seed, in one order.
    ///
    /// # Errors
    /// If there is no seed, a text has fewer than two sentences, no word or no seed, a gain is not finite, a seed has another
    /// number of sentences than its text or was scored on none, or texts differ in their number of seeds.
    pub fn partly_crossed(scored: Vec<Scored>) -> Result<Self, ScoreError> {
        let seeds = scored.first().map_or(0, |first| first.gains.len());
        if seeds == 0 {
            return Err(ScoreError::Empty { what: "the list of seeds" });
        }
        let mut made = Self {
            texts: Vec::new(),
            words: Vec::new(),
            gains: Vec::new(),
            seeds,
            weight: 1.0,
            overlap: 0.0,
        };
        for Scored { words, gains } in scored {
            if gains.len() != seeds {
                return Err(ScoreError::Unpaired { a: seeds, b: gains.len() });
            }
            if let Some(other) = gains.iter().flatten().find(|gains| gains.len() != words.len()) {
                return Err(ScoreError::Unpaired { a: words.len(), b: other.len() });
            }
            let nobody = gains.iter().all(Option::is_none);
            if nobody || words.len() < 2 || words.iter().all(|&words| words == 0) {
                return Err(ScoreError::Empty { what: "the sample of sentences" });
            }
            let all = gains.iter().flatten().flatten().enumerate();
            if let Some((index, value)) = all.into_iter().find(|(_, gain)| !gain.is_finite()) {
                return Err(ScoreError::NotFinite { what: "the gains", index, value: value.to_string() });
            }
            let first = made.words.len();
            let of_sentence =
                |at| gains.iter().map(move |of_seed| of_seed.as_ref().map_or(0.0, |gains| gains[at]));
            made.gains.extend((0..words.len()).flat_map(of_sentence));
            made.words.extend(words);
            let scored = gains.iter().map(Option::is_some).collect();
            made.texts.push(Text { sentences: first..made.words.len(), scored });
        }
        if made.words_by_seed().contains(&0.0) {
            return Err(ScoreError::Empty { what: "the sample of sentences" });
        }
        Ok(made)
    }

    /// The same with another weight than 1 in the mean over strata.
    ///
    /// # Panics
    /// If the weight is not above 0 and finite.
    #[must_use]
    pub fn with_weight(self, weight: f64) -> Self {
        assert!(weight > 0.0 && weight.is_finite(), "a weight of {weight} is not above 0");
        Self { weight, ..self }
    }

    /// The same whose texts were drawn from the same sentences, so that two of them have this share in common. As if a
    /// sentence were as hard for every seed that has it: intervals are rather too wide than too narrow.
    ///
    /// # Panics
    /// If the share is not in \[0, 1\].
    #[must_use]
    pub fn with_overlap(self, share: f64) -> Self {
        assert!((0.0..=1.0).contains(&share), "a share of {share}");
        Self { overlap: if self.texts.len() > 1 { share } else { 0.0 }, ..self }
    }

    /// The words of all texts, those that they share counted once.
    fn all_words(&self) -> f64 {
        let texts = self.texts.len() as f64;
        let words: f64 = self.words.iter().map(|&words| f64::from(words)).sum();
        words / (1.0 + (texts - 1.0) * self.overlap)
    }

    /// Sentences that a seed was scored on, on average.
    fn sentences_of_seed(&self) -> usize {
        let of_text =
            |text: &Text| text.sentences.len() * text.scored.iter().filter(|scored| **scored).count();
        self.texts.iter().map(of_text).sum::<usize>().div_ceil(self.seeds)
    }

    /// The words that each seed was scored on.
    fn words_by_seed(&self) -> Vec<f64> {
        let mut words = vec![0.0; self.seeds];
        for text in &self.texts {
            let sentences = &self.words[text.sentences.clone()];
            text.add(&mut words, sentences.iter().map(|&words| f64::from(words)).sum());
        }
        words
    }

    /// Each seed's difference of accuracies.
    fn by_seed(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.seeds];
        for of_sentence in self.gains.chunks_exact(self.seeds) {
            add(&mut sums, of_sentence);
        }
        sums.into_iter().zip(self.words_by_seed()).map(|(sum, words)| sum / words).collect()
    }

    /// What each sentence adds to the mean of the seeds' differences.
    fn by_sentence(&self) -> impl Iterator<Item = f64> {
        let seeds = self.seeds as f64;
        let scale: Vec<f64> = self.words_by_seed().into_iter().map(|words| 1.0 / (words * seeds)).collect();
        self.gains
            .chunks_exact(self.seeds)
            .map(move |of_sentence| of_sentence.iter().zip(&scale).map(|(gain, scale)| gain * scale).sum())
    }

    /// The variance of the mean over seeds that comes from the sample of sentences, and the part of it that is the
    /// interaction.
    fn sampling(&self, resamples: u32, stream: Stream) -> [f64; 2] {
        let seeds = self.seeds as f64;
        let centre = self.by_seed();
        let centre_of_all = centre.iter().sum::<f64>() / seeds;
        let (mut of_mean, mut of_seeds, mut used) = (0.0, 0.0, 0.0);
        let (mut sums, mut words) = (vec![0.0; self.seeds], vec![0.0; self.seeds]);
        for number in 0..resamples {
            let draws = stream.child(u64::from(number));
            sums.fill(0.0);
            words.fill(0.0);
            for text in &self.texts {
                let (first, count) = (text.sentences.start, text.sentences.len() as u64);
                let mut of_text = 0.0;
                for counter in text.sentences.clone() {
                    let item = first + draws.below(counter as u64, count) as usize;
                    of_text += f64::from(self.words[item]);
                    add(&mut sums, &self.gains[item * self.seeds..(item + 1) * self.seeds]);
                }
                text.add(&mut words, of_text);
            }
            if words.contains(&0.0) {
                continue;
            }
            let drawn = || sums.iter().zip(&words).map(|(sum, words)| sum / words);
            let mean = drawn().sum::<f64>() / seeds;
            of_mean += (mean - centre_of_all).powi(2);
            of_seeds +=
                drawn().zip(&centre).map(|(drawn, centre)| (drawn - centre).powi(2)).sum::<f64>() / seeds;
            used += 1.0;
        }
        // The bootstrap's variance has the number of sentences in the denominator, for each text; texts are of about one
        // size where there are several.
        let n = self.words.len() as f64;
        let scale = n / (n - self.texts.len() as f64) / f64::max(used, 1.0);
        let (of_mean, of_seeds) = (scale * of_mean, scale * of_seeds);
        // What two texts have in common is resampled with each of them alone, but is one sample.
        let of_mean = of_mean + self.overlap * (of_seeds - of_mean).max(0.0);
        let interaction = if self.seeds > 1 { (of_seeds - of_mean) / (seeds - 1.0) } else { 0.0 };
        // As if one more word were right in A alone and one in B alone: where the systems (nearly) never differ, the
        // sentences at hand do not prove that they never would.
        let unseen = 2.0 / self.all_words().powi(2);
        [of_mean + unseen, interaction.clamp(0.0, of_mean)]
    }
}

impl Text {
    /// Adds words to those of the seeds that were scored on this text.
    fn add(&self, words: &mut [f64], more: f64) {
        words
            .iter_mut()
            .zip(&self.scored)
            .filter(|(_, scored)| **scored)
            .for_each(|(words, _)| *words += more);
    }
}

fn add(sums: &mut [f64], values: &[f64]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

/// What the variance of a difference consists of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VarianceParts {
    /// The variance of seeds' differences divided by their number; absent for one seed.
    pub seeds: Option<f64>,
    /// From the sample of sentences.
    pub sentences: f64,
    /// What both contain: how a seed does on single sentences.
    pub interaction: f64,
}

/// The accuracy of A minus that of B, averaged over seeds, with how sure it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossedDifference {
    /// The difference, as a fraction of 1.
    pub value: f64,
    /// Seed by seed.
    pub by_seed: Vec<f64>,
    /// How many sentences a seed was scored on, on average.
    pub sentences: usize,
    /// The parts of its variance.
    pub variance: VarianceParts,
    /// Degrees of freedom of the sentences' part.
    #[serde(skip)]
    freedom: usize,
}

impl CrossedDifference {
    /// The difference; with several strata the weighted mean of theirs. Strata have the same seeds in the same order, and
    /// their sentences are resampled independently.
    ///
    /// # Errors
    /// Without strata, or if they differ in their number of seeds.
    ///
    /// # Panics
    /// If `resamples` is 0.
    pub fn of(strata: &[Stratum], resamples: u32, seed: u64) -> Result<Self, ScoreError> {
        assert!(resamples > 0, "at least one resample is needed");
        let Some(first) = strata.first() else {
            return Err(ScoreError::Empty { what: "the list of strata" });
        };
        if let Some(other) = strata.iter().find(|other| other.seeds != first.seeds) {
            return Err(ScoreError::Unpaired { a: first.seeds, b: other.seeds });
        }
        let weights: f64 = strata.iter().map(|stratum| stratum.weight).sum();
        let mut by_seed = vec![0.0; first.seeds];
        let (mut sentences, mut interaction) = (0.0, 0.0);
        let stream = Stream::new(seed, "bootstrap");
        for (stratum, number) in strata.iter().zip(0..) {
            let weight = stratum.weight / weights;
            let of_stratum: Vec<f64> = stratum.by_seed().iter().map(|value| weight * value).collect();
            add(&mut by_seed, &of_stratum);
            let [all, shared] = stratum.sampling(resamples, stream.child(number));
            sentences += weight * weight * all;
            interaction += weight * weight * shared;
        }
        let n = by_seed.len() as f64;
        let value = by_seed.iter().sum::<f64>() / n;
        let squares: f64 = by_seed.iter().map(|of_seed| (of_seed - value).powi(2)).sum();
        let seeds = (by_seed.len() > 1).then(|| squares / (n - 1.0) / n);
        let count: usize = strata.iter().map(|stratum| stratum.words.len()).sum();
        Ok(Self {
            value,
            by_seed,
            sentences: strata.iter().map(Stratum::sentences_of_seed).sum(),
            variance: VarianceParts { seeds, sentences, interaction },
            freedom: count - strata.iter().map(|stratum| stratum.texts.len()).sum::<usize>(),
        })
    }

    /// How many seeds.
    #[must_use]
    pub const fn seeds(&self) -> usize {
        self.by_seed.len()
    }

    /// The ends of an interval. With one seed it is about these two trained models alone: it covers other sentences,
    /// not other seeds.
    ///
    /// # Panics
    /// If `confidence` is not between 0 and 1.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> [f64; 2] {
        let half = self.half_width(confidence);
        [self.value - half, self.value + half]
    }

    /// The two-sided p-value of "no difference": 1 minus the confidence of the interval that ends at 0.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        self.two_sided_p(self.value.abs())
    }

    /// The one-sided p-value of "the difference is at most `bound`".
    #[must_use]
    pub fn p_at_most(&self, bound: f64) -> f64 {
        let half = 0.5 * self.two_sided_p((self.value - bound).abs());
        if self.value > bound { half } else { 1.0 - half }
    }

    /// The p-value of "the systems differ by at least `margin`": the larger of two one-sided ones. At most 0.05 exactly
    /// where the 90 % interval lies within the margin.
    ///
    /// # Source
    /// Schuirmann, *A Comparison of the Two One-Sided Tests Procedure and the Power Approach* (1987).
    #[must_use]
    pub fn p_equivalent(&self, margin: f64) -> f64 {
        let upper = 1.0 - self.p_at_most(margin);
        self.p_at_most(-margin).max(upper)
    }

    /// The variance between seeds that enters the interval.
    fn of_seeds(&self) -> f64 {
        let seeds = self.seeds() as f64;
        let subtracted = self.variance.interaction * (seeds - 2.0) / (seeds - 1.0);
        self.variance.seeds.map_or(0.0, |variance| (variance - subtracted).max(0.0))
    }

    pub(crate) fn half_width(&self, confidence: f64) -> f64 {
        half_width(
            checked(confidence),
            [self.of_seeds(), self.variance.sentences],
            [self.seeds() - 1, self.freedom],
        )
    }

    /// 1 minus the confidence of the interval with this half width.
    fn two_sided_p(&self, half: f64) -> f64 {
        if half <= 0.0 {
            return 1.0;
        }
        let (mut low, mut high) = (SMALLEST_P.ln(), 0.0);
        for _ in 0..P_STEPS {
            let middle = 0.5 * (low + high);
            if self.half_width(1.0 - f64::exp(middle)) > half {
                low = middle;
            } else {
                high = middle;
            }
        }
        high.exp()
    }
}

/// No smaller p-value is computed.
const SMALLEST_P: f64 = 1e-9;

/// Halvings by which a p-value is found, to nine digits.
const P_STEPS: u32 = 34;

/// Half the width of an interval from the variances of seeds and of sentences, with their degrees of freedom.
pub(crate) fn half_width(confidence: f64, variances: [f64; 2], freedom: [usize; 2]) -> f64 {
    let part = |(variance, freedom): (f64, usize)| match freedom {
        0 => 0.0,
        _ => two_sided(confidence, freedom).powi(2) * variance,
    };
    variances.into_iter().zip(freedom).map(part).sum::<f64>().sqrt()
}

/// Two-sided p-value of "A and B are exchangeable on every sentence": the results of a sentence are swapped at random,
/// for all seeds at once. It says nothing about other seeds.
///
/// # Errors
/// Without strata.
///
/// # Panics
/// If `swaps` is 0.
pub fn crossed_permutation(strata: &[Stratum], swaps: u32, seed: u64) -> Result<f64, ScoreError> {
    assert!(swaps > 0, "at least one swap is needed");
    if strata.is_empty() {
        return Err(ScoreError::Empty { what: "the list of strata" });
    }
    let scaled =
        |stratum: &Stratum| stratum.by_sentence().map(|gain| stratum.weight * gain).collect::<Vec<f64>>();
    // A sentence without a difference stays what it is when it is swapped.
    let gains: Vec<f64> = strata.iter().flat_map(scaled).filter(|gain| *gain != 0.0).collect();
    let far = gains.iter().sum::<f64>().abs() - 1e-12;
    let stream = Stream::new(seed, "permutation");
    let mut as_far = 0u32;
    for number in 0..swaps {
        let draws = stream.child(u64::from(number));
        let mut sum = 0.0;
        for (chunk, counter) in gains.chunks(64).zip(0..) {
            let mut bits = draws.bits(counter);
            for gain in chunk {
                // The last bit becomes the sign.
                sum += f64::from_bits(gain.to_bits() ^ (bits << 63));
                bits >>= 1;
            }
        }
        as_far += u32::from(sum.abs() >= far);
    }
    Ok((f64::from(as_far) + 1.0) / (f64::from(swaps) + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let same =
            CrossedDifference::of(&[stratum(&[&[0.0; 20], &[0.0; 20]])], 100, 0).expect("a difference");
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
        assert!(
            (found.variance.interaction / of_sentences - 1.0).abs() < 0.08,
            "all of it is in the seeds' too"
        );
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
        let gains =
            |shift: usize| (0..60).map(|at| ((at * 7 + shift) % 5) as f64 - 1.0).collect::<Vec<f64>>();
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
        assert!(
            Stratum::partly_crossed(vec![scored(&[gains.clone(), None])]).is_err(),
            "a seed without a text"
        );
        let idle = vec![scored(std::slice::from_ref(&gains)), scored(&[None])];
        assert!(Stratum::partly_crossed(idle).is_err(), "a text without a seed");
        let uneven = vec![scored(std::slice::from_ref(&gains)), scored(&[gains.clone(), gains.clone()])];
        assert!(Stratum::partly_crossed(uneven).is_err());
        assert!(CrossedDifference::of(&[], 1, 0).is_err() && crossed_permutation(&[], 1, 0).is_err());
        assert!(CrossedDifference::of(&[alternating(2, 9), alternating(3, 9)], 1, 0).is_err());
    }
}
