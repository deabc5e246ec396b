//! The uncertainty of a difference between two systems that were trained with the same seeds and scored on the
//! same sentences.
//!
//! Seeds and sentences are both samples, and they are crossed: every seed is scored on every sentence. A
//! [`CrossedDifference`] separates the contribution of each to the variance and combines both in one interval.
//! If a split is drawn anew for every seed, each seed has separate sentences. The variance between seeds then
//! includes the sentences' variance, except for sentences that two seeds have both drawn.
//!
//! - *Sentences* are resampled with replacement, the same ones for all seeds, since words of a sentence are not
//!   independent and one sentence may be hard for every seed.
//! - *Seeds* are too few to be resampled: a bootstrap of three values gives an interval that is far too narrow. Their
//!   variance is estimated with `seeds - 1` in the denominator.
//!
//! The variance between seeds also contains the effect of a seed on single sentences (the interaction), which
//! the variance of sentences contains too.
//!
//! [`verdict::judge`](crate::verdict::judge) computes the intervals of a table's comparisons.
//!
//! # Source
//! Efron and Tibshirani, *An Introduction to the Bootstrap* (1993), chapter 8; Owen and Eckles, *Bootstrapping Data
//! Arrays of Arbitrary Order* (2012), for crossed samples; Agresti and Min, *Effects and Non-effects of Paired Identical
//! Observations* (2005), for the pseudo-observations; Agarwal et al., *Deep Reinforcement Learning at the Edge of the
//! Statistical Precipice* (2021), for resampling within strata.

use std::ops::Range;

use frostline_random::Stream;
use serde::Serialize;

use crate::error::ScoreError;

/// How often sentences are resampled by default.
pub const RESAMPLES: u32 = 2_000;

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
    texts: Vec<SeedText>,
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
struct SeedText {
    sentences: Range<usize>,
    /// Seed by seed, whether it was scored on them.
    scored: Vec<bool>,
}

impl Stratum {
    /// From the number of words of each sentence, and for each seed the number of words by which A has more right than
    /// B in each sentence.
    ///
    /// # Errors
    /// See [`Stratum::partly_crossed`].
    pub fn new(words: Vec<u32>, gains: &[Vec<f64>]) -> Result<Self, ScoreError> {
        let gains = gains.iter().cloned().map(Some).collect();
        Self::partly_crossed(vec![Scored { words, gains }])
    }

    /// Creates strata from several texts, if not every seed was scored on every text. Each text has a place for
    /// every seed, in the same order.
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
            made.texts.push(SeedText { sentences: first..made.words.len(), scored });
        }
        if made.words_by_seed().contains(&0.0) {
            return Err(ScoreError::Empty { what: "the sample of sentences" });
        }
        Ok(made)
    }

    /// Sets the weight in the mean over strata, 1 by default.
    ///
    /// # Panics
    /// If the weight is not above 0 and finite.
    #[must_use]
    pub fn with_weight(self, weight: f64) -> Self {
        assert!(weight > 0.0 && weight.is_finite(), "a weight of {weight} is not above 0");
        Self { weight, ..self }
    }

    /// Declares that the texts were drawn from the same sentences, so that two of them share this fraction. A
    /// sentence is assumed to be equally hard for every seed that has it: intervals are too wide rather than
    /// too narrow.
    ///
    /// # Panics
    /// If the share is not in \[0, 1\].
    #[must_use]
    pub fn with_overlap(self, share: f64) -> Self {
        assert!((0.0..=1.0).contains(&share), "a share of {share}");
        Self { overlap: if self.texts.len() > 1 { share } else { 0.0 }, ..self }
    }

    /// Returns the words of all texts, with shared words counted once.
    fn all_words(&self) -> f64 {
        let texts = self.texts.len() as f64;
        let words: f64 = self.words.iter().map(|&words| f64::from(words)).sum();
        words / (1.0 + (texts - 1.0) * self.overlap)
    }

    /// Sentences that a seed was scored on, on average.
    fn sentences_of_seed(&self) -> usize {
        let of_text =
            |text: &SeedText| text.sentences.len() * text.scored.iter().filter(|scored| **scored).count();
        self.texts.iter().map(of_text).sum::<usize>().div_ceil(self.seeds)
    }

    /// Returns the words that each seed was scored on.
    fn words_by_seed(&self) -> Vec<f64> {
        let mut words = vec![0.0; self.seeds];
        for text in &self.texts {
            let sentences = &self.words[text.sentences.clone()];
            text.add(&mut words, sentences.iter().map(|&words| f64::from(words)).sum());
        }
        words
    }

    /// Returns each seed's difference of accuracies.
    fn by_seed(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.seeds];
        for of_sentence in self.gains.chunks_exact(self.seeds) {
            add(&mut sums, of_sentence);
        }
        sums.into_iter().zip(self.words_by_seed()).map(|(sum, words)| sum / words).collect()
    }

    /// How the sample of sentences makes the mean over seeds vary.
    fn sample_sentences(&self, resamples: u32, stream: Stream) -> Sampled {
        let seeds = self.seeds as f64;
        let centre = self.by_seed();
        let centre_of_all = centre.iter().sum::<f64>() / seeds;
        let (mut of_mean, mut of_seeds, mut used) = (0.0, 0.0, 0.0);
        let mut deviations = Vec::with_capacity(resamples as usize);
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
                deviations.push(0.0);
                continue;
            }
            let drawn = || sums.iter().zip(&words).map(|(sum, words)| sum / words);
            let deviation = drawn().sum::<f64>() / seeds - centre_of_all;
            deviations.push(deviation);
            of_mean += deviation.powi(2);
            of_seeds +=
                drawn().zip(&centre).map(|(drawn, centre)| (drawn - centre).powi(2)).sum::<f64>() / seeds;
            used += 1.0;
        }
        // The bootstrap's variance has the number of sentences in the denominator, for each text; texts are of about one
        // size if there are several.
        let n = self.words.len() as f64;
        let scale = n / (n - self.texts.len() as f64) / f64::max(used, 1.0);
        let (of_mean, of_seeds) = (scale * of_mean, scale * of_seeds);
        // The common part of two texts is resampled with each text separately, but is one sample.
        let of_mean = of_mean + self.overlap * (of_seeds - of_mean).max(0.0);
        let interaction = if self.seeds > 1 { (of_seeds - of_mean) / (seeds - 1.0) } else { 0.0 };
        // This adds one more word that only A has correct and one that only B has correct: systems that
        // (almost) never differ on these sentences may differ on others.
        let unseen = 2.0 / self.all_words().powi(2);
        Sampled {
            variance: of_mean + unseen,
            interaction: interaction.clamp(0.0, of_mean),
            unseen,
            deviations,
        }
    }
}

/// The results of resampling sentences.
struct Sampled {
    /// The variance of the mean over seeds.
    variance: f64,
    /// The part of it that is the interaction.
    interaction: f64,
    /// The part of the variance for unseen words.
    unseen: f64,
    /// The mean over seeds minus its value over all sentences, for each resample.
    deviations: Vec<f64>,
}

impl SeedText {
    /// Adds words to the seeds that were scored on this text.
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

/// The parts of the variance of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VarianceParts {
    /// The variance of seeds' differences divided by their number; absent for one seed.
    pub seeds: Option<f64>,
    /// From the sample of sentences.
    pub sentences: f64,
    /// The part contained in both: the effect of a seed on single sentences.
    pub interaction: f64,
}

/// The accuracy of A minus the accuracy of B, averaged over seeds, with its uncertainty.
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
    pub(crate) freedom: usize,
    /// The part of the sentences' variance for unseen words.
    #[serde(skip)]
    pub(crate) unseen: f64,
    /// The deviation of each resample from the value over all sentences. The same sentences are drawn for all
    /// comparisons on one text, so that the deviations of different comparisons belong together.
    #[serde(skip)]
    pub(crate) deviations: Vec<f64>,
}

impl CrossedDifference {
    /// Returns the difference; with several strata the weighted mean of theirs. Strata have the same seeds in
    /// the same order, and their sentences are resampled independently.
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
        let (mut sentences, mut interaction, mut unseen) = (0.0, 0.0, 0.0);
        let mut deviations = vec![0.0; resamples as usize];
        let stream = Stream::new(seed, "bootstrap");
        for (stratum, number) in strata.iter().zip(0..) {
            let weight = stratum.weight / weights;
            let of_stratum: Vec<f64> = stratum.by_seed().iter().map(|value| weight * value).collect();
            add(&mut by_seed, &of_stratum);
            let sampled = stratum.sample_sentences(resamples, stream.child(number));
            sentences += weight * weight * sampled.variance;
            interaction += weight * weight * sampled.interaction;
            unseen += weight * weight * sampled.unseen;
            deviations.iter_mut().zip(&sampled.deviations).for_each(|(sum, one)| *sum += weight * one);
        }
        let count: usize = strata.iter().map(|stratum| stratum.words.len()).sum();
        let parts = VarianceParts { seeds: None, sentences, interaction };
        Ok(Self {
            sentences: strata.iter().map(Stratum::sentences_of_seed).sum(),
            freedom: count - strata.iter().map(|stratum| stratum.texts.len()).sum::<usize>(),
            unseen,
            deviations,
            ..Self::from_parts(by_seed, count, parts)?
        })
    }

    /// Returns a difference with known parts: each seed's difference, the number of sentences, and their
    /// variance. The variance between seeds is computed from the seeds.
    ///
    /// # Errors
    /// If there are no seeds or fewer than two sentences.
    pub fn from_parts(by_seed: Vec<f64>, sentences: usize, parts: VarianceParts) -> Result<Self, ScoreError> {
        if by_seed.is_empty() {
            return Err(ScoreError::Empty { what: "the list of seeds" });
        }
        if sentences < 2 {
            return Err(ScoreError::Empty { what: "the sample of sentences" });
        }
        let n = by_seed.len() as f64;
        let value = by_seed.iter().sum::<f64>() / n;
        let squares: f64 = by_seed.iter().map(|of_seed| (of_seed - value).powi(2)).sum();
        let seeds = (by_seed.len() > 1).then(|| squares / (n - 1.0) / n);
        Ok(Self {
            value,
            by_seed,
            sentences,
            variance: VarianceParts { seeds, ..parts },
            freedom: sentences - 1,
            unseen: 0.0,
            deviations: Vec::new(),
        })
    }

    /// Returns how many seeds.
    #[must_use]
    pub const fn seeds(&self) -> usize {
        self.by_seed.len()
    }
}

#[cfg(test)]
mod tests;
