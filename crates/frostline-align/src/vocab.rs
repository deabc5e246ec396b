//! Owns the BERT tokenizer that a bare `vocab.txt` describes. Refuses any other model.

use ahash::AHashMap;
use serde::Deserialize;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, Tokenizer, decoders};

use crate::AlignError;

/// What a BERT vocabulary alone does not say; the keys of `tokenizer_config.json`, with Hugging
/// Face's defaults.
///
/// ```
/// use frostline_align::{Aligner, VocabOptions};
///
/// let vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nfrost\n##line\n";
/// let aligner = Aligner::from_vocab(vocab, &VocabOptions::default())?;
/// assert_eq!(aligner.align(&["Frostline"])?.ids, [2, 5, 6, 3]);
/// # Ok::<(), frostline_align::AlignError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct VocabOptions {
    /// Lowercase inside the tokenizer (`BertNormalizer`, not Python's `str.lower()`). Default true,
    /// as `BertTokenizer` has always had it.
    pub do_lower_case: bool,
    /// Strip accents; `None`, the default, does as `do_lower_case` does.
    pub strip_accents: Option<bool>,
    /// Split Chinese characters one by one. Default true.
    pub tokenize_chinese_chars: bool,
    /// The token for what the vocabulary cannot spell. Default `[UNK]`.
    pub unk_token: SpecialToken,
    /// The token before a sentence. Default `[CLS]`.
    pub cls_token: SpecialToken,
    /// The token after a sentence. Default `[SEP]`.
    pub sep_token: SpecialToken,
    /// The token of padding. Default `[PAD]`.
    pub pad_token: SpecialToken,
    /// The token of masked language modelling. Default `[MASK]`.
    pub mask_token: SpecialToken,
}

impl Default for VocabOptions {
    fn default() -> Self {
        Self {
            do_lower_case: true,
            strip_accents: None,
            tokenize_chinese_chars: true,
            unk_token: "[UNK]".into(),
            cls_token: "[CLS]".into(),
            sep_token: "[SEP]".into(),
            pad_token: "[PAD]".into(),
            mask_token: "[MASK]".into(),
        }
    }
}

/// A special token as `tokenizer_config.json` writes it: a string, or an object with its `content`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Written")]
pub struct SpecialToken(String);

impl SpecialToken {
    /// The token itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SpecialToken {
    fn from(token: &str) -> Self {
        Self(token.to_owned())
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Plain(String),
    Object { content: String },
}

impl From<Written> for SpecialToken {
    fn from(written: Written) -> Self {
        match written {
            Written::Plain(content) | Written::Object { content } => Self(content),
        }
    }
}

/// Builds what Hugging Face's `BertTokenizer` builds from `vocab.txt`.
pub(crate) fn bert_tokenizer(
    vocab: &str,
    options: &VocabOptions,
    origin: &str,
) -> Result<Tokenizer, AlignError> {
    let vocab = read_vocab(vocab);
    let id_of = |token: &SpecialToken, role| {
        vocab.get(token.as_str()).copied().ok_or_else(|| AlignError::MissingToken {
            origin: origin.to_owned(),
            token: token.0.clone(),
            role,
        })
    };
    let (cls, sep) = (options.cls_token.0.clone(), options.sep_token.0.clone());
    let around = BertProcessing::new(
        (sep, id_of(&options.sep_token, "sep_token")?),
        (cls, id_of(&options.cls_token, "cls_token")?),
    );
    id_of(&options.unk_token, "unk_token")?;
    let named =
        [&options.pad_token, &options.unk_token, &options.cls_token, &options.sep_token, &options.mask_token];
    let added: Vec<_> = named
        .into_iter()
        .filter(|token| vocab.contains_key(token.as_str()))
        .map(|token| AddedToken::from(token.0.clone(), true))
        .collect();
    let failed = |message: String| AlignError::Format { origin: origin.to_owned(), message };

    let model = WordPiece::builder()
        .vocab(vocab)
        .unk_token(options.unk_token.0.clone())
        .build()
        .map_err(|e| failed(e.to_string()))?;
    let mut tokenizer = Tokenizer::new(model);
    tokenizer
        .with_normalizer(Some(BertNormalizer::new(
            true,
            options.tokenize_chinese_chars,
            options.strip_accents,
            options.do_lower_case,
        )))
        .map_err(|e| failed(e.to_string()))?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    tokenizer.with_post_processor(Some(around));
    tokenizer.with_decoder(Some(decoders::wordpiece::WordPiece::default()));
    tokenizer.add_special_tokens(added).map_err(|e| failed(e.to_string()))?;
    Ok(tokenizer)
}

/// One token per line, its id the line's index; a token that comes again takes the later id.
///
/// # Source
/// `load_vocab` of Hugging Face transformers: Python's text mode ends a line at `\n`, `\r\n` or
/// `\r`, and takes nothing else off it.
fn read_vocab(text: &str) -> AHashMap<String, u32> {
    let mut vocab = AHashMap::with_capacity(text.len() / 8);
    let mut rest = text;
    let mut id = 0;
    while !rest.is_empty() {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        vocab.insert(rest[..end].to_owned(), id);
        let broken = &rest[end..];
        let break_len = if broken.starts_with("\r\n") { 2 } else { broken.len().min(1) };
        rest = &broken[break_len..];
        id += 1;
    }
    vocab
}
