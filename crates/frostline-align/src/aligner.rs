//! The alignment of words with subwords. `load` builds an aligner from files.

use tokenizers::{
    Model, NormalizerWrapper, OffsetReferential, OffsetType, PreTokenizer, Tokenizer,
    tokenizer::{Error as TkError, Result as TkResult},
};

use crate::cache::WordCache;
use crate::panic_guard::catch_panic;
use crate::windows::{best_window, cut_windows, label_subwords, word_ranges};
use crate::wordpiece::AsciiWordPiece;
use crate::{AlignError, AlignOptions, Aligned, lowercase};

/// Splits words into subwords and finds the position that carries each word's label.
///
/// It can be shared by threads: aligning needs only `&self`, and all threads share the word cache.
pub struct Aligner {
    pub(crate) tokenizer: Tokenizer,
    /// Tokenizes most words instead of the library, if the tokenizer is BERT's.
    ascii: Option<AsciiWordPiece>,
    /// The special tokens that the post-processor adds before and after a sentence.
    pub(crate) prefix: Vec<u32>,
    pub(crate) suffix: Vec<u32>,
    /// Whether a space is put before every word, which its first subword then contains.
    pub(crate) space_before: bool,
    options: AlignOptions,
    cache: Option<WordCache>,
}

impl Aligner {
    /// Combines a tokenizer without padding, truncation and sampling with a sentence's special tokens.
    pub(crate) fn new(tokenizer: Tokenizer, prefix: Vec<u32>, suffix: Vec<u32>) -> Self {
        let cache = Some(WordCache::new());
        let ascii = AsciiWordPiece::from_tokenizer(&tokenizer);
        let options = AlignOptions::default();
        Self { tokenizer, ascii, prefix, suffix, space_before: false, options, cache }
    }

    /// Returns the same tokenizer with other settings; the word cache starts empty.
    ///
    /// # Errors
    /// If `max_length` leaves no room next to the special tokens, or `stride` is not below this room.
    pub fn with_options(mut self, options: AlignOptions) -> Result<Self, AlignError> {
        let specials = self.special_count();
        let max_length = options.max_length;
        if max_length <= specials {
            return Err(AlignError::TooShort { max_length, specials });
        }
        let room = max_length - specials;
        if let Some(stride) = options.stride.filter(|&stride| stride >= room) {
            return Err(AlignError::Stride { stride, max_length, specials, room });
        }
        self.options = options;
        self.cache = self.cache.map(|_| WordCache::new());
        Ok(self)
    }

    /// Switches the word cache on (the default) or off. The output is the same.
    #[must_use]
    pub fn with_cache(mut self, on: bool) -> Self {
        self.cache = on.then(WordCache::new);
        self
    }

    /// Returns an aligner for which the library tokenizes every word.
    #[cfg(test)]
    pub(crate) fn by_library(self) -> Self {
        Self { ascii: None, ..self }
    }

    /// Returns the current settings.
    #[must_use]
    pub fn options(&self) -> &AlignOptions {
        &self.options
    }

    /// Aligns one sentence, truncating it at `max_length`.
    ///
    /// # Errors
    /// If the tokenizer fails on a word, such as an unknown word if the vocabulary has no token
    /// for unknown words.
    pub fn align(&self, words: &[&str]) -> Result<Aligned, AlignError> {
        let pieces = self.split_words(words)?;
        let kept = 0..pieces.ids.len().min(self.subwords_per_window());
        let mut aligned = self.window_of(&pieces, &kept);
        aligned.cut = (pieces.ids.len() - kept.end) as u32;
        aligned.vanished = pieces.vanished;
        for (word, range) in word_ranges(&pieces.words) {
            let before = aligned.label_positions.len();
            for at in label_subwords(self.options.labels, &range).filter(|at| kept.contains(at)) {
                aligned.label_positions.push(((at + self.prefix.len()) as u32, word));
            }
            if aligned.label_positions.len() == before {
                aligned.truncated.push(word);
            }
        }
        Ok(aligned)
    }

    /// Aligns one sentence in as many windows as needed, consecutive windows sharing `stride`
    /// subwords. Without a stride this is [`Self::align`], one window.
    ///
    /// Every word with a subword is labelled in exactly one window: the one that contains most of its
    /// label positions and has the most context around them. A window may start inside a word; its
    /// first position is then not a first subword. Vanished words are listed in the first window.
    /// Under [`crate::LabelPolicy::All`] a word longer than a window is labelled in one window only.
    ///
    /// # Errors
    /// See [`Self::align`].
    pub fn align_windows(&self, words: &[&str]) -> Result<Vec<Aligned>, AlignError> {
        let Some(stride) = self.options.stride else {
            return Ok(vec![self.align(words)?]);
        };
        let pieces = self.split_words(words)?;
        let ranges = cut_windows(pieces.ids.len(), self.subwords_per_window(), stride);
        let mut windows: Vec<_> = ranges.iter().map(|kept| self.window_of(&pieces, kept)).collect();
        for (word, range) in word_ranges(&pieces.words) {
            let labelled = label_subwords(self.options.labels, &range);
            let at_window = best_window(&ranges, &labelled, pieces.ids.len());
            let kept = &ranges[at_window];
            for at in labelled.filter(|at| kept.contains(at)) {
                let position = at - kept.start + self.prefix.len();
                windows[at_window].label_positions.push((position as u32, word));
            }
        }
        windows[0].vanished = pieces.vanished;
        Ok(windows)
    }

    /// Returns the tokens of `ids`, for display; an id outside the vocabulary is shown as `<id 7>`.
    #[must_use]
    pub fn tokens(&self, ids: &[u32]) -> Vec<String> {
        let show = |&id| self.tokenizer.id_to_token(id).unwrap_or_else(|| format!("<id {id}>"));
        ids.iter().map(show).collect()
    }

    /// Returns the id of a token such as `"[MASK]"`, if the vocabulary has it.
    #[must_use]
    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// Returns the number of tokens in the vocabulary, including added ones. Ids may have gaps: size an
    /// embedding table by the encoder's own configuration.
    #[must_use]
    pub fn vocab_size(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }

    /// Returns the largest id that an alignment can have: of the vocabulary, added tokens and special tokens.
    /// An encoder needs a word table with more rows than that.
    #[must_use]
    pub fn largest_id(&self) -> u32 {
        let vocabulary = self.tokenizer.get_vocab(true).into_values().max();
        let special = self.prefix.iter().chain(&self.suffix).copied().max();
        vocabulary.max(special).unwrap_or(0)
    }

    /// Returns whether a space is put before each word, since the tokenizer marks spaces but adds none itself.
    #[must_use]
    pub fn adds_spaces(&self) -> bool {
        self.space_before
    }

    /// Returns the settings of BERT's normaliser as they are applied, under their keys in
    /// `tokenizer_config.json`; `None` for another normaliser.
    #[must_use]
    pub fn bert_settings(&self) -> Option<[(&'static str, Option<bool>); 3]> {
        let Some(NormalizerWrapper::BertNormalizer(normalizer)) = self.tokenizer.get_normalizer() else {
            return None;
        };
        Some([
            ("do_lower_case", Some(normalizer.lowercase)),
            ("strip_accents", normalizer.strip_accents),
            ("tokenize_chinese_chars", Some(normalizer.handle_chinese_chars)),
        ])
    }

    /// Returns the special tokens before every sentence, such as `[CLS]`.
    #[must_use]
    pub fn prefix_ids(&self) -> &[u32] {
        &self.prefix
    }

    /// Returns the special tokens after every sentence, such as `[SEP]`.
    #[must_use]
    pub fn suffix_ids(&self) -> &[u32] {
        &self.suffix
    }

    /// Returns the number of special tokens in every window.
    #[must_use]
    pub fn special_count(&self) -> usize {
        self.prefix.len() + self.suffix.len()
    }

    /// Returns the number of distinct forms in the word cache, which holds only words that the tokenizer
    /// library tokenized.
    #[must_use]
    pub fn cached_words(&self) -> usize {
        self.cache.as_ref().map_or(0, WordCache::len)
    }

    fn subwords_per_window(&self) -> usize {
        self.options.max_length - self.special_count()
    }

    /// Returns the subwords `kept` between the special tokens, without label positions.
    fn window_of(&self, pieces: &Pieces, kept: &std::ops::Range<usize>) -> Aligned {
        let mut ids = Vec::with_capacity(kept.len() + self.special_count());
        ids.extend_from_slice(&self.prefix);
        ids.extend_from_slice(&pieces.ids[kept.clone()]);
        ids.extend_from_slice(&self.suffix);
        let mut word_ids = Vec::with_capacity(ids.len());
        word_ids.resize(self.prefix.len(), None);
        word_ids.extend(pieces.words[kept.clone()].iter().map(|&word| Some(word)));
        word_ids.resize(ids.len(), None);
        Aligned { ids, word_ids, ..Aligned::default() }
    }

    /// Returns all subwords of a sentence, each with its word.
    fn split_words(&self, words: &[&str]) -> Result<Pieces, AlignError> {
        let mut pieces = Pieces::default();
        for (word, form) in words.iter().enumerate() {
            let before = pieces.ids.len();
            self.push_subwords(form, &mut pieces.ids).map_err(|source| AlignError::Word {
                word,
                form: (*form).to_owned(),
                message: source.to_string(),
            })?;
            pieces.words.resize(pieces.ids.len(), word as u32);
            if pieces.ids.len() == before {
                pieces.vanished.push(word as u32);
            }
        }
        Ok(pieces)
    }

    fn push_subwords(&self, form: &str, ids: &mut Vec<u32>) -> TkResult<()> {
        if self.ascii.as_ref().is_some_and(|ascii| ascii.push(form, self.options.lowercase, ids)) {
            return Ok(());
        }
        let Some(cache) = &self.cache else {
            return self.guarded_tokenize(form, ids);
        };
        if cache.get(form, |known| ids.extend_from_slice(known)) {
            return Ok(());
        }
        let before = ids.len();
        self.guarded_tokenize(form, ids)?;
        cache.store_ids(form, &ids[before..]);
        Ok(())
    }

    /// Returns the ids of one word; a panic of the tokenizer library is an error.
    fn guarded_tokenize(&self, form: &str, ids: &mut Vec<u32>) -> TkResult<()> {
        catch_panic(|| self.tokenize(form, ids)).map_err(TkError::from)?
    }

    /// Returns the steps of `Tokenizer::encode` on one pre-tokenised word, without offsets and token strings.
    fn tokenize(&self, form: &str, ids: &mut Vec<u32>) -> TkResult<()> {
        let form = if self.options.lowercase { lowercase(form) } else { form.into() };
        let tokenizer = &self.tokenizer;
        let added = tokenizer.get_added_vocabulary();
        let split = |text: &str| added.extract_and_normalize(tokenizer.get_normalizer(), text);
        let mut splits = split(&form);
        if self.space_before && !form.starts_with(char::is_whitespace) {
            // An added token has no mark of a space, which would be a subword by itself before it.
            let first = splits.get_splits(OffsetReferential::Original, OffsetType::None);
            if first.first().is_some_and(|(text, _, tokens)| tokens.is_none() && !text.is_empty()) {
                splits = split(&format!(" {form}"));
            }
        }
        if let Some(pre_tokenizer) = tokenizer.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut splits)?;
        }
        for (text, _, tokens) in splits.get_splits(OffsetReferential::Original, OffsetType::None) {
            match tokens {
                Some(tokens) => ids.extend(tokens.iter().map(|token| token.id)),
                None => ids.extend(tokenizer.get_model().tokenize(text)?.iter().map(|t| t.id)),
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Aligner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aligner")
            .field("vocab_size", &self.vocab_size())
            .field("prefix", &self.prefix)
            .field("suffix", &self.suffix)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// All subwords of one sentence.
#[derive(Default)]
struct Pieces {
    ids: Vec<u32>,
    words: Vec<u32>,
    vanished: Vec<u32>,
}
