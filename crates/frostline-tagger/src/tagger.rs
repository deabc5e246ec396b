//! A trained tagger: words in, tags out.
//!
//! [`Tagger`] splits overlong sentences into windows, forms batches and runs them on a backend with
//! several threads. Reading input files and writing tagged ones is done by `frostline tag`.

use std::path::Path;

use anyhow::Result;
use frostline_align::Aligner;
use frostline_model::EncoderConfig;
use frostline_record::SavedModel;

use crate::answer::{Answer, Options, Part, softmax};
use crate::group::{ModelGroup, TaggerModel};
use crate::slices::whole_sentences;
use crate::taggers::Taggers;

/// A trained model that labels words, with its tokenizer. It can be shared between threads.
///
/// Results do not depend on which sentences are tagged together, nor on the number of threads.
pub struct Tagger {
    /// The only tagger of a list.
    list: Taggers,
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
    /// See [`Self::load`]; also a [`ModelMismatch`](crate::ModelMismatch) if an option does not fit the model.
    pub fn open(folder: impl AsRef<Path>, options: &Options) -> Result<Self> {
        Ok(Self { list: Taggers::open_many([folder], options)? })
    }

    /// Tags one sentence: one tag per word, [`NO_TAG`](crate::NO_TAG) if the tokenizer produces no subword.
    ///
    /// A sentence that is longer than the model's maximum is read in overlapping windows, and each word is
    /// tagged in the window that gives it the widest context. A sentence of more than
    /// [`PART_WORDS`](crate::PART_WORDS) words is cut into windows in parts.
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
    /// A [`SentenceError`](crate::SentenceError) if a word cannot be tokenized.
    pub fn tag_all<S: AsRef<[W]>, W: AsRef<str>>(&self, sentences: &[S]) -> Result<Vec<Vec<Answer<'_>>>> {
        self.tag_parts(&whole_sentences(sentences))
    }

    /// Tags the own words of many parts of sentences, as [`Self::tag_all`] does for whole sentences. A sentence that
    /// is cut into parts of [`PART_WORDS`](crate::PART_WORDS) words, each with [`Self::context`] more on either side,
    /// gets the same tags as in one piece.
    ///
    /// # Errors
    /// A [`SentenceError`](crate::SentenceError) if a word cannot be tokenized, with the index of its part.
    pub fn tag_parts(&self, parts: &[Part<'_>]) -> Result<Vec<Vec<Answer<'_>>>> {
        Ok(self.list.tag_parts(&[0], parts)?.pop().unwrap_or_default())
    }

    /// Returns the number of context words that a part needs on either side: as many as a window can contain.
    #[must_use]
    pub fn context(&self) -> usize {
        self.list.context()
    }

    /// Returns the probability of every label for each word of a sentence, in the order of [`Self::labels`];
    /// empty if the tokenizer produces no subword for the word.
    ///
    /// # Errors
    /// If a word cannot be tokenized.
    pub fn probabilities(&self, words: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut all = vec![Vec::new(); words.len()];
        let sentences = [words];
        let parts = whole_sentences(&sentences);
        let mut visit = |[_, _, word]: [usize; 3], logits: &[f32]| all[word] = softmax(logits);
        self.list.pool.install(|| self.group().visit_words(&[0], &parts, &mut visit))?;
        Ok(all)
    }

    /// Returns all labels, in the model's order.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        self.model().labels()
    }

    /// Returns the metadata that Frostline saved with the model; `None` if another program saved it.
    #[must_use]
    pub fn saved(&self) -> Option<&SavedModel> {
        self.model().saved()
    }

    /// Returns the encoder's configuration.
    #[must_use]
    pub fn encoder(&self) -> &EncoderConfig {
        &self.group().encoder
    }

    /// Returns the aligner, which splits words into subwords.
    #[must_use]
    pub fn aligner(&self) -> &Aligner {
        &self.group().aligner
    }

    /// Returns the folder of the model itself.
    #[must_use]
    pub fn place(&self) -> &Path {
        self.model().place()
    }

    fn group(&self) -> &ModelGroup {
        &self.list.groups[0]
    }

    /// Returns the folder, the labels and the saved metadata.
    #[must_use]
    pub fn model(&self) -> &TaggerModel {
        &self.group().models[0]
    }
}

impl std::fmt::Debug for Tagger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tagger")
            .field("place", &self.place())
            .field("labels", &self.labels())
            .finish_non_exhaustive()
    }
}
