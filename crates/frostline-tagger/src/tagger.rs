//! A trained tagger: words in, tags out.
//!
//! [`Tagger`] splits overlong sentences into windows, forms batches and runs them on a backend with
//! several threads. Reading input files and writing tagged ones is done by `frostline tag`.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use frostline_align::{AlignError, AlignOptions, Aligned, Aligner};
use frostline_kernels::backend;
use frostline_model::{EncoderConfig, passes};
use frostline_record::{Precision, SavedModel};
use rayon::prelude::*;

use crate::engine::{BATCH_TOKENS, Build, Engine, Window};
use crate::folder::{self, Found, ModelMismatch};

/// The tag of a word for which the tokenizer produces no subword, such as a zero-width space: `_`, as
/// CoNLL-U writes a missing value.
pub const NO_TAG: &str = "_";

/// The most words of a sentence that are read together. A longer sentence is read in parts, which overlap by
/// [`Tagger::context`] on either side, so that every word has as much context as in a window of the whole.
pub const PART_WORDS: usize = 8192;

/// About how many words are aligned before the model reads them.
const GROUP_WORDS: usize = 4 * PART_WORDS;

/// A trained model that labels words, with its tokenizer. It can be shared between threads.
///
/// Results do not depend on which sentences are tagged together, nor on the number of threads.
pub struct Tagger {
    place: PathBuf,
    labels: Vec<String>,
    saved: Option<SavedModel>,
    aligner: Aligner,
    encoder: EncoderConfig,
    engine: Box<dyn Engine>,
    pool: rayon::ThreadPool,
}

/// How a tagger is opened. By default, the settings stored in the model's folder apply.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The task whose head is used, for cells with several heads; by default the headline task.
    pub task: Option<String>,
    /// Whether to lowercase every word first. By default as in training if Frostline saved the model,
    /// otherwise false.
    pub lowercase: Option<bool>,
    /// The most positions in one window, special tokens included. By default as in training if
    /// Frostline saved the model, otherwise the encoder's maximum.
    pub max_length: Option<usize>,
    /// The precision of linear layers. By default as in training if Frostline saved the model,
    /// otherwise f32.
    pub precision: Option<Precision>,
    /// The backend: `flex`, `amx`, `ndarray`, `cuda` or `wgpu`, if this build contains it, or `auto`, the
    /// fastest on this machine; by default the first backend of the build.
    pub backend: Option<String>,
    /// The number of threads; by default one per core.
    pub threads: Option<usize>,
}

/// A word's predicted tag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer<'a> {
    /// The most probable label; [`NO_TAG`] if the tokenizer produces no subword for the word.
    pub tag: &'a str,
    /// The probability that the model gives it; 0 if there is no tag.
    pub probability: f32,
}

/// Words of a sentence: the words to tag, and their context.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The words of the part and of the context before and after it.
    pub words: Vec<&'a str>,
    /// The range of words to tag.
    pub own: Range<usize>,
}

/// A sentence that cannot be tokenized.
#[derive(Debug, thiserror::Error)]
#[error("sentence {}: {source}", .sentence + 1)]
pub struct SentenceError {
    /// The sentence's index in the input, from 0.
    pub sentence: usize,
    /// The tokenizer's error.
    pub source: AlignError,
}

impl Tagger {
    /// Opens a tagger: the folder of a cell that ran with `save.model = true`, a model that
    /// Frostline saved, or a token classifier in Hugging Face's layout.
    ///
    /// # Errors
    /// If there is no model, the model does not label words, or a file cannot be read.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self> {
        Self::open(folder, &Options::default())
    }

    /// Opens a tagger with options that override the settings stored in its folder.
    ///
    /// # Errors
    /// See [`Self::load`]; also a [`ModelMismatch`] if an option does not fit the model.
    pub fn open(folder: impl AsRef<Path>, options: &Options) -> Result<Self> {
        let Found { model, saved } = folder::find_model(folder.as_ref(), options.task.as_deref())?;
        model.check_names()?;
        let place = model.place.clone();
        let longest = model.config.longest_input();
        let noted = saved.as_ref();
        let max_length = options.max_length.or(noted.map(|it| it.max_length)).unwrap_or(longest);
        if max_length > longest {
            let shown = place.display();
            let reason = format!("{shown}: the encoder has {longest} positions, not {max_length}; lower it");
            return Err(ModelMismatch(reason).into());
        }
        let lowercase = options.lowercase.or(noted.map(|it| it.lowercase)).unwrap_or(false);
        let precision = options.precision.or(noted.map(|it| it.precision)).unwrap_or_default();
        let aligner = model.tokenizer()?;
        // Consecutive windows overlap by half, so every word has a quarter of a window as context on
        // either side.
        let stride = Some(max_length.saturating_sub(aligner.special_count()) / 2);
        let options_of = AlignOptions { max_length, lowercase, stride, ..AlignOptions::default() };
        let aligner = aligner
            .with_options(options_of)
            .map_err(|error| ModelMismatch(format!("{}: {error}", place.display())))?;
        let threads = options.threads.unwrap_or(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(16 << 20).build()?;
        let name = backend::chosen(options.backend.as_deref())?;
        let build = Build { model: &model, precision };
        let engine = pool.install(|| backend::on(&name, build))??;
        Ok(Self { place, labels: model.tags, saved, aligner, encoder: model.config, engine, pool })
    }

    /// Tags one sentence: one tag per word, [`NO_TAG`] if the tokenizer produces no subword.
    ///
    /// A sentence that is longer than the model's maximum is read in overlapping windows, and each word is
    /// tagged in the window that gives it the widest context. A sentence of more than [`PART_WORDS`] words is
    /// cut into windows in parts.
    ///
    /// # Errors
    /// If a word cannot be tokenized.
    pub fn tag(&self, words: &[&str]) -> Result<Vec<&str>> {
        let answers = self.tag_all(&[words])?.pop().unwrap_or_default();
        Ok(answers.into_iter().map(|answer| answer.tag).collect())
    }

    /// Tags many sentences, with the probability of each tag. This is much faster than one sentence
    /// at a time.
    ///
    /// # Errors
    /// A [`SentenceError`] if a word cannot be tokenized.
    pub fn tag_all<S: AsRef<[W]>, W: AsRef<str>>(&self, sentences: &[S]) -> Result<Vec<Vec<Answer<'_>>>> {
        self.tag_parts(&whole_sentences(sentences))
    }

    /// Tags the own words of many parts of sentences, as [`Self::tag_all`] does for whole sentences. A sentence that
    /// is cut into parts of [`PART_WORDS`] words, each with [`Self::context`] more on either side, gets the same tags
    /// as in one piece.
    ///
    /// # Errors
    /// A [`SentenceError`] if a word cannot be tokenized, with the index of its part.
    pub fn tag_parts(&self, parts: &[Part<'_>]) -> Result<Vec<Vec<Answer<'_>>>> {
        let none = Answer { tag: NO_TAG, probability: 0.0 };
        let mut answers: Vec<Vec<Answer<'_>>> = parts.iter().map(|part| vec![none; part.own.len()]).collect();
        self.visit_words(parts, &mut |part, word, logits| {
            let best = highest_logit(logits);
            let tag = self.labels[best].as_str();
            answers[part][word] = Answer { tag, probability: softmax(logits)[best] };
        })?;
        Ok(answers)
    }

    /// Returns the number of context words that a part needs on either side: as many as a window can contain.
    #[must_use]
    pub fn context(&self) -> usize {
        self.aligner.options().max_length
    }

    /// Returns the probability of every label for each word of a sentence, in the order of [`Self::labels`];
    /// empty if the tokenizer produces no subword for the word.
    ///
    /// # Errors
    /// If a word cannot be tokenized.
    pub fn probabilities(&self, words: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut all = vec![Vec::new(); words.len()];
        self.visit_words(&whole_sentences(&[words]), &mut |_, word, logits| all[word] = softmax(logits))?;
        Ok(all)
    }

    /// Returns all labels, in the model's order.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Returns the metadata that Frostline saved with the model; `None` if another program saved it.
    #[must_use]
    pub fn saved(&self) -> Option<&SavedModel> {
        self.saved.as_ref()
    }

    /// Returns the encoder's configuration.
    #[must_use]
    pub fn encoder(&self) -> &EncoderConfig {
        &self.encoder
    }

    /// Returns the aligner, which splits words into subwords.
    #[must_use]
    pub fn aligner(&self) -> &Aligner {
        &self.aligner
    }

    /// Returns the folder of the model itself.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Calls `visit` for every own word that has a subword, with the index of its part, its index among the part's own
    /// words and its logits, one per label. Memory is bounded by the words of a group.
    fn visit_words(
        &self,
        parts: &[Part<'_>],
        visit: &mut (dyn FnMut(usize, usize, &[f32]) + Send),
    ) -> Result<()> {
        let slices: Vec<Slice<'_>> = self.cut_slices(parts).collect();
        self.pool.install(|| {
            for group in group_slices(&slices) {
                let mut windows = self.label_windows(group)?;
                // Windows of equal length are batched together, which saves work on backends that pad.
                windows.sort_by_key(|window| (window.ids.len(), window.slice));
                let length = |window: &Window| window.ids.len();
                let logits = |batch: &[Window]| self.engine.logits(batch);
                let give =
                    |batch: &[Window], logits: Vec<f32>| self.visit_positions(group, batch, &logits, visit);
                passes(self.engine.on_threads(), &windows, BATCH_TOKENS, length, logits, give)?;
            }
            Ok(())
        })
    }

    /// Returns the parts, with long ones cut further.
    fn cut_slices<'a>(&self, parts: &'a [Part<'a>]) -> impl Iterator<Item = Slice<'a>> + use<'a> {
        let context = self.context();
        parts.iter().enumerate().flat_map(move |(part, Part { words, own })| {
            let end = own.end;
            own.clone().step_by(PART_WORDS).map(move |from| {
                let to = (from + PART_WORDS).min(end);
                let first = from.saturating_sub(context);
                let words = &words[first..(to + context).min(words.len())];
                Slice { part, first, words, own: from - first..to - first, done: from - own.start }
            })
        })
    }

    /// Calls `visit` for every label position of a batch.
    fn visit_positions(
        &self,
        slices: &[Slice<'_>],
        batch: &[Window],
        logits: &[f32],
        visit: &mut (dyn FnMut(usize, usize, &[f32]) + Send),
    ) -> Result<()> {
        let mut rows = logits.chunks_exact(self.labels.len());
        for window in batch {
            let Slice { part, own, done, .. } = &slices[window.slice];
            for &(_, word) in &window.label_positions {
                let row = rows.next().expect("one row per label position");
                let word = word as usize;
                if !row.iter().all(|logit| logit.is_finite()) {
                    bail!(
                        "{}: the model's output for sentence {} is NaN or infinite, so it predicts nothing; \
                         use other weights",
                        self.place.display(),
                        part + 1
                    );
                }
                if own.contains(&word) {
                    visit(*part, done + word - own.start, row);
                }
            }
        }
        Ok(())
    }

    /// Returns the windows of subwords that label an own word of a slice.
    fn label_windows(&self, slices: &[Slice<'_>]) -> Result<Vec<Window>> {
        let aligned: Vec<_> = slices
            .par_iter()
            .map(|slice| self.aligner.align_windows(slice.words).map_err(|error| slice.sentence_error(error)))
            .collect::<Result<_, _>>()?;
        let mut windows = Vec::with_capacity(slices.len());
        for (slice, aligned) in aligned.into_iter().enumerate() {
            let own = &slices[slice].own;
            let labels_own = |window: &Aligned| {
                window.label_positions.iter().any(|&(_, word)| own.contains(&(word as usize)))
            };
            for window in aligned.into_iter().filter(labels_own) {
                let rows = self.encoder.vocabulary;
                if let Some(id) = window.ids.iter().find(|&&id| id as usize >= rows) {
                    bail!(
                        "{}: the tokenizer gives the id {id}, but the word table has {rows} rows; they do not belong together",
                        self.place.display()
                    );
                }
                windows.push(Window { slice, ids: window.ids, label_positions: window.label_positions });
            }
        }
        Ok(windows)
    }
}

impl std::fmt::Debug for Tagger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tagger")
            .field("place", &self.place)
            .field("labels", &self.labels)
            .finish_non_exhaustive()
    }
}

/// A part of at most [`PART_WORDS`] own words, as it is aligned.
struct Slice<'a> {
    /// The index of the part that it belongs to.
    part: usize,
    /// Index of the slice's first word in the part.
    first: usize,
    words: &'a [&'a str],
    /// Which of the words are its own.
    own: Range<usize>,
    /// How many own words of the part are in earlier slices.
    done: usize,
}

impl Slice<'_> {
    /// Returns the error of a word, whose place is counted from the part's first word.
    fn sentence_error(&self, mut error: AlignError) -> SentenceError {
        if let AlignError::Word { word, .. } = &mut error {
            *word += self.first;
        }
        SentenceError { sentence: self.part, source: error }
    }
}

/// Returns the slices in groups that have [`GROUP_WORDS`] words or little more.
fn group_slices<'a, 'b>(slices: &'a [Slice<'b>]) -> impl Iterator<Item = &'a [Slice<'b>]> {
    let mut rest = slices;
    std::iter::from_fn(move || {
        let mut words = 0;
        let enough = |slice: &Slice<'_>| {
            words += slice.words.len();
            words >= GROUP_WORDS
        };
        let count = rest.iter().position(enough).map_or(rest.len(), |last| last + 1);
        let (group, later) = rest.split_at(count);
        rest = later;
        Some(group).filter(|group| !group.is_empty())
    })
}

/// Whole sentences as parts.
fn whole_sentences<'a, S: AsRef<[W]>, W: AsRef<str> + 'a>(sentences: &'a [S]) -> Vec<Part<'a>> {
    let part = |words: &'a S| {
        let words: Vec<&str> = words.as_ref().iter().map(AsRef::as_ref).collect();
        Part { own: 0..words.len(), words }
    };
    sentences.iter().map(part).collect()
}

/// Returns the index of the highest logit; the first of several equal ones.
fn highest_logit(logits: &[f32]) -> usize {
    let mut best = 0;
    for (label, value) in logits.iter().enumerate() {
        if *value > logits[best] {
            best = label;
        }
    }
    best
}

/// Returns the softmax of the logits.
fn softmax(logits: &[f32]) -> Vec<f32> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = logits.iter().map(|&value| f64::from(value - top).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| (power / sum) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one_and_the_first_of_the_highest_wins() {
        let found = softmax(&[0.0, 2.0, 2.0, -90.0]);
        assert!((found.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert_eq!(found[1], found[2]);
        assert!((found[1] / found[0] - 2f32.exp()).abs() < 1e-4);
        assert_eq!(highest_logit(&[0.0, 2.0, 2.0, -90.0]), 1);
        assert_eq!(softmax(&[1e30, 0.0]), [1.0, 0.0]);
    }
}
