//! Loading a tokenizer from a folder, from the bytes of `tokenizer.json`, or from a vocabulary.
//!
//! Padding, truncation and sampling are cleared, since they would change alignments unexpectedly. The
//! prefix space is set, since byte-level subwords would continue the previous word without it. Only
//! [`Aligner::from_folder`] opens files.

use std::path::Path;

use tokenizers::{
    Encoding, ModelWrapper, Normalizer as _, NormalizerWrapper, OffsetReferential, OffsetType,
    PreTokenizedString, PreTokenizer as _, PreTokenizerWrapper, Token, Tokenizer,
};

use crate::panic_guard::catch_panic;
use crate::tokenizer_json::read_tokenizer;
use crate::vocab::{ClassSettings, bert_tokenizer};
use crate::{AlignError, Aligner, VocabOptions};

/// Maximum size of a tokenizer's file; files for vocabularies of 250,000 tokens have 20 MiB.
///
/// # Units
/// Bytes.
const MOST_BYTES: u64 = 256 << 20;

/// How many times as long a normalizer may make a word.
const MOST_GROWTH: u64 = 1 << 16;

impl Aligner {
    /// Loads the tokenizer of a Hugging Face model folder: `tokenizer.json`, or else `vocab.txt`
    /// with the settings of `tokenizer_config.json`.
    ///
    /// Like `AutoTokenizer`, this lets the `do_lower_case`, `strip_accents` and `tokenize_chinese_chars` of
    /// `tokenizer_config.json` override the BERT normaliser of `tokenizer.json`. If `tokenizer_class` is a BERT
    /// class, missing keys have that class's defaults; if there is no `tokenizer_class`, only the keys that are
    /// present count; with any other class, none does. The classes of XLM-R, CamemBERT and ALBERT split words
    /// at white space first, so a word that is normalised to white space has no subword.
    ///
    /// # Errors
    /// If neither file exists, one cannot be read, or it is not a tokenizer; see also
    /// [`Self::from_bytes`].
    pub fn from_folder(folder: impl AsRef<Path>) -> Result<Self, AlignError> {
        let folder = folder.as_ref();
        let config = folder.join("tokenizer_config.json");
        let config_bytes = read_if_present(&config)?.unwrap_or_else(|| b"{}".to_vec());
        let config = config.display().to_string();
        let json = folder.join("tokenizer.json");
        if let Some(bytes) = read_if_present(&json)? {
            return from_named(&json.display().to_string(), &bytes, &config, &config_bytes);
        }
        let vocab = folder.join("vocab.txt");
        let Some(bytes) = read_if_present(&vocab)? else {
            return Err(AlignError::NoTokenizer { folder: folder.to_owned() });
        };
        let origin = vocab.display().to_string();
        let text = std::str::from_utf8(&bytes).map_err(|e| format_error(&origin, &e))?;
        let options: VocabOptions =
            serde_json::from_slice(&config_bytes).map_err(|e| format_error(&config, &e))?;
        build_aligner(&origin, || bert_tokenizer(text, &options, &origin))
    }

    /// Loads the bytes of a `tokenizer.json`. Padding, truncation and sampling (BPE dropout, Unigram alpha) in
    /// the file are cleared: an alignment depends only on the words and the options. If the pre-tokenizer is
    /// `ByteLevel`, as in RoBERTa, `add_prefix_space` is always set, which Hugging Face requires with
    /// `is_split_into_words`. If the space before a word is part of its first subword in another way, as in
    /// EuroBERT and Gemma, every word is encoded with a space before it.
    ///
    /// # Errors
    /// If the bytes are not a tokenizer, or its post-processor does not insert a sentence exactly
    /// once among its special tokens.
    pub fn from_bytes(tokenizer_json: &[u8]) -> Result<Self, AlignError> {
        let origin = "tokenizer.json";
        build_aligner(origin, || read_tokenizer(tokenizer_json).map_err(|e| format_error(origin, &e)))
    }

    /// Loads the bytes of a `tokenizer.json` and of its `tokenizer_config.json`, as [`Self::from_folder`] does.
    ///
    /// # Errors
    /// Fails as [`Self::from_bytes`] does, and if the settings are not a JSON object.
    pub fn from_files(tokenizer_json: &[u8], tokenizer_config: &[u8]) -> Result<Self, AlignError> {
        from_named("tokenizer.json", tokenizer_json, "tokenizer_config.json", tokenizer_config)
    }

    /// Builds Hugging Face's `BertTokenizer` from the text of a `vocab.txt`.
    ///
    /// # Errors
    /// If the vocabulary lacks the unknown, the classifier or the separator token.
    pub fn from_vocab(vocab: &str, options: &VocabOptions) -> Result<Self, AlignError> {
        build_aligner("vocabulary", || bert_tokenizer(vocab, options, "vocabulary"))
    }
}

/// Makes an aligner of a `tokenizer.json` and a `tokenizer_config.json`, which errors name as given.
fn from_named(
    origin: &str,
    tokenizer_json: &[u8],
    config: &str,
    tokenizer_config: &[u8],
) -> Result<Aligner, AlignError> {
    let settings: ClassSettings =
        serde_json::from_slice(tokenizer_config).map_err(|e| format_error(config, &e))?;
    build_aligner(origin, || {
        let mut tokenizer = read_tokenizer(tokenizer_json).map_err(|e| format_error(origin, &e))?;
        settings.apply_to(&mut tokenizer).map_err(|e| format_error(config, &e))?;
        Ok(tokenizer)
    })
}

/// Returns the file's bytes; `None` if it does not exist.
fn read_if_present(path: &Path) -> Result<Option<Vec<u8>>, AlignError> {
    match frostline_files::read(path, MOST_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.reason.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(AlignError::Read { path: path.to_owned(), source: error.reason }),
    }
}

/// Makes an aligner of a tokenizer. All calls of the tokenizer library that a file decides on are in here and in
/// `Aligner::tokenize`.
fn build_aligner(
    origin: &str,
    tokenizer: impl FnOnce() -> Result<Tokenizer, AlignError>,
) -> Result<Aligner, AlignError> {
    catch_panic(|| {
        let tokenizer = tokenizer()?;
        check_growth(&tokenizer).map_err(|reason| format_error(origin, &reason))?;
        make_deterministic(tokenizer, origin)
    })
    .map_err(|reason| format_error(origin, &reason))?
}

/// Checks that a normalizer cannot make a short word so long that it fills the memory: each replacement in a sequence
/// multiplies the length.
fn check_growth(tokenizer: &Tokenizer) -> Result<(), String> {
    match tokenizer.get_normalizer().map_or(1, longest_expansion) {
        0..=MOST_GROWTH => Ok(()),
        _ => Err(format!("its normalizer may make a word more than {MOST_GROWTH} times as long")),
    }
}

/// Returns how many times as long a normalizer may make a text, except for normal forms of Unicode.
fn longest_expansion(normalizer: &NormalizerWrapper) -> u64 {
    match normalizer {
        // A pattern that matches the empty text adds the content at every place.
        NormalizerWrapper::Replace(replace) => replace.content.len() as u64 + 1,
        NormalizerWrapper::Prepend(prepend) => prepend.prepend.len() as u64 + 1,
        NormalizerWrapper::Sequence(all) => {
            all.as_ref().iter().map(longest_expansion).fold(1, |product, one| product.saturating_mul(one))
        }
        _ => 1,
    }
}

fn make_deterministic(mut tokenizer: Tokenizer, origin: &str) -> Result<Aligner, AlignError> {
    without_sampling(&mut tokenizer);
    with_prefix_space(&mut tokenizer);
    let (prefix, suffix) = special_token_template(&tokenizer, origin)?;
    // A tokenizer that fails here fails on words too, with an error that names the word.
    let space_before = catch_panic(|| marks_spaces(&tokenizer).unwrap_or(false)).unwrap_or(false);
    let mut aligner = Aligner::new(tokenizer, prefix, suffix);
    aligner.space_before = space_before;
    Ok(aligner)
}

/// Returns whether a space before a word is marked in its first subword, and the tokenizer adds none by itself.
/// Words of running text follow a space, so words on their own need one to be encoded in the same way.
fn marks_spaces(tokenizer: &Tokenizer) -> tokenizers::Result<bool> {
    // `Ġ` is how `ByteLevel` writes the byte of a space; `▁` is SentencePiece's.
    let is_marked = |text: &str| -> tokenizers::Result<bool> {
        let mut splits = PreTokenizedString::from(text);
        if let Some(normalizer) = tokenizer.get_normalizer() {
            splits.normalize(|split| normalizer.normalize(split))?;
        }
        if let Some(pre_tokenizer) = tokenizer.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut splits)?;
        }
        let pieces = splits.get_splits(OffsetReferential::Original, OffsetType::None);
        Ok(pieces.first().is_some_and(|(piece, ..)| piece.starts_with(['\u{120}', '\u{2581}'])))
    };
    Ok(!is_marked("x")? && is_marked(" x")?)
}

/// Sets `add_prefix_space`: byte-level vocabularies encode the start of a word as a space. RoBERTa's
/// own files leave it unset, because in running text every word but the first follows a space;
/// pre-tokenised words do not.
fn with_prefix_space(tokenizer: &mut Tokenizer) {
    if let Some(&PreTokenizerWrapper::ByteLevel(bytes)) = tokenizer.get_pre_tokenizer() {
        tokenizer.with_pre_tokenizer(Some(bytes.add_prefix_space(true)));
    }
}

/// Removes sampling, which makes a word's subwords random. Without it they depend only on the word,
/// for every model: `tokenizers` normalises, splits and encodes each pre-tokenised word on its own.
fn without_sampling(tokenizer: &mut Tokenizer) {
    let model = match tokenizer.get_model() {
        ModelWrapper::BPE(bpe) if bpe.dropout.is_some() => {
            let mut bpe = bpe.clone();
            bpe.dropout = None;
            ModelWrapper::BPE(bpe)
        }
        ModelWrapper::Unigram(unigram) if unigram.alpha.is_some() => {
            let mut unigram = unigram.clone();
            unigram.alpha = None;
            ModelWrapper::Unigram(unigram)
        }
        _ => return,
    };
    tokenizer.with_model(model);
}

/// Returns the special tokens around one sentence, found by passing a sentence of one marked token through the
/// post-processor: tokens that belong to no word are special.
fn special_token_template(tokenizer: &Tokenizer, origin: &str) -> Result<(Vec<u32>, Vec<u32>), AlignError> {
    let marked = Token { id: 0, value: "x".to_owned(), offsets: (0, 1) };
    let mut sentence = Encoding::from_tokens(vec![marked], 0);
    sentence.get_word_ids_mut()[0] = Some(0);
    let processed = tokenizer.post_process(sentence, None, true).map_err(|e| format_error(origin, &e))?;
    let words = processed.get_word_ids();
    let times = words.iter().flatten().count();
    match words.iter().position(Option::is_some) {
        Some(at) if times == 1 => {
            let ids = processed.get_ids();
            Ok((ids[..at].to_vec(), ids[at + 1..].to_vec()))
        }
        _ => Err(AlignError::Template { origin: origin.to_owned(), times }),
    }
}

fn format_error(origin: &str, message: &dyn std::fmt::Display) -> AlignError {
    AlignError::Format { origin: origin.to_owned(), message: message.to_string() }
}
