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
//! of sentences contains too. Where both are added it is left to the seeds. But an interval is never narrower than that of
//! the sentences alone, since the variance between two or three seeds may be small by chance.
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

    pub(crate) fn half_width(&self, confidence: f64) -> f64 {
        half_width(checked(confidence), &self.variance, [self.seeds() - 1, self.freedom])
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

/// Half the width of an interval from the variances of seeds and of sentences, with the degrees of freedom of both.
pub(crate) fn half_width(confidence: f64, variance: &VarianceParts, freedom: [usize; 2]) -> f64 {
    let VarianceParts { seeds, sentences, interaction } = *variance;
    let squared = |variance: f64, freedom: usize| two_sided(confidence, freedom).powi(2) * variance;
    let alone = squared(sentences, freedom[1]);
    let of_both = |seeds| squared(seeds, freedom[0]) + squared(sentences - interaction, freedom[1]);
    alone.max(seeds.map_or(0.0, of_both)).sqrt()
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
mod tests;
