//! BERT tokenizers: building one from a `vocab.txt` alone, and the settings of
//! `tokenizer_config.json`.

use ahash::AHashMap;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::whitespace::WhitespaceSplit;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, NormalizerWrapper, PreTokenizerWrapper, Tokenizer, decoders};

use crate::AlignError;

/// The settings of a BERT tokenizer that its vocabulary does not contain: the keys of
/// `tokenizer_config.json`, with Hugging Face's defaults.
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
#[serde(default, remote = "Self")]
pub struct VocabOptions {
    /// Whether to lowercase inside the tokenizer (`BertNormalizer`, not Python's `str.lower()`).
    /// Default true, as in `BertTokenizer`.
    pub do_lower_case: bool,
    /// Whether to strip accents; `None`, the default, follows `do_lower_case`.
    pub strip_accents: Option<bool>,
    /// Whether to split Chinese characters one by one. Default true.
    pub tokenize_chinese_chars: bool,
    /// The token for unknown words. Default `[UNK]`.
    pub unk_token: SpecialToken,
    /// The token before a sentence. Default `[CLS]`.
    pub cls_token: SpecialToken,
    /// The token after a sentence. Default `[SEP]`.
    pub sep_token: SpecialToken,
    /// The padding token, if the vocabulary has it. Default `[PAD]`.
    pub pad_token: Option<SpecialToken>,
    /// The mask token of masked language modelling, if the vocabulary has it. Default `[MASK]`.
    pub mask_token: Option<SpecialToken>,
}

/// Reads `tokenizer_config.json`. A class other than BERT's is an error, since it would split words in another
/// way.
impl<'de> Deserialize<'de> for VocabOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let config = Value::deserialize(deserializer)?;
        let class = config.get("tokenizer_class").and_then(Value::as_str);
        if let Some(class) = class.filter(|class| !ClassSettings::is_bert(class)) {
            return Err(D::Error::custom(format!(
                "a `vocab.txt` alone is read as BERT's, and tokenizer_class is `{class}`; save the tokenizer as `tokenizer.json`"
            )));
        }
        let other = [("word_tokenizer_type", "basic"), ("subword_tokenizer_type", "wordpiece")];
        for (key, known) in other {
            if let Some(kind) = config.get(key).and_then(Value::as_str).filter(|kind| *kind != known) {
                return Err(D::Error::custom(format!("{key} is `{kind}`; only `{known}` is supported")));
            }
        }
        Self::deserialize(config).map_err(D::Error::custom)
    }
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
            pad_token: Some("[PAD]".into()),
            mask_token: Some("[MASK]".into()),
        }
    }
}

/// A special token as `tokenizer_config.json` writes it: a string, or an object with its `content`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenConfig")]
pub struct SpecialToken(String);

impl SpecialToken {
    /// Returns the token itself.
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
enum WrittenConfig {
    Plain(String),
    Object { content: String },
}

impl From<WrittenConfig> for SpecialToken {
    fn from(written: WrittenConfig) -> Self {
        match written {
            WrittenConfig::Plain(content) | WrittenConfig::Object { content } => Self(content),
        }
    }
}

/// Builds the tokenizer that Hugging Face's `BertTokenizer` builds from `vocab.txt`.
///
/// # Errors
/// If the vocabulary lacks the unknown, the classifier or the separator token.
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
    // A special token without an entry would get an id beyond the encoder's embedding table.
    let [pad, mask] = [&options.pad_token, &options.mask_token].map(Option::as_ref);
    let always = [&options.unk_token, &options.cls_token, &options.sep_token];
    let added: Vec<_> = (always.into_iter().chain(pad).chain(mask))
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

/// The settings in `tokenizer_config.json` that override `tokenizer.json`, and the tokenizer's class.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct ClassSettings(Map<String, Value>);

impl ClassSettings {
    /// The classes that build their normaliser from these settings.
    const BERT: [&str; 8] = [
        "BertTokenizer",
        "ConvBertTokenizer",
        "DistilBertTokenizer",
        "ElectraTokenizer",
        "LayoutLMTokenizer",
        "LxmertTokenizer",
        "MobileBertTokenizer",
        "SqueezeBertTokenizer",
    ];

    /// The classes that split at white space before `Metaspace`.
    const SPLIT_AT_SPACES: [&str; 3] = ["AlbertTokenizer", "CamembertTokenizer", "XLMRobertaTokenizer"];

    /// Returns whether a class is among these, in Python or in Rust.
    fn is_among(class: &str, classes: &[&str]) -> bool {
        classes.contains(&class.strip_suffix("Fast").unwrap_or(class))
    }

    /// Returns whether a class is one of BERT's.
    fn is_bert(class: &str) -> bool {
        Self::is_among(class, &Self::BERT)
    }

    /// Applies the settings in the same cases as Hugging Face.
    ///
    /// # Source
    /// The classes of transformers 5.23.0.
    pub(crate) fn apply_to(&self, tokenizer: &mut Tokenizer) -> tokenizers::Result<()> {
        let class = self.0.get("tokenizer_class").and_then(Value::as_str);
        if let Some(PreTokenizerWrapper::Metaspace(marks)) = tokenizer.get_pre_tokenizer()
            && class.is_some_and(|class| Self::is_among(class, &Self::SPLIT_AT_SPACES))
        {
            let both = vec![WhitespaceSplit.into(), marks.clone().into()];
            tokenizer.with_pre_tokenizer(Some(Sequence::new(both)));
        }
        let Some(NormalizerWrapper::BertNormalizer(written)) = tokenizer.get_normalizer() else {
            return Ok(());
        };
        let mut wanted = match class {
            Some(class) if Self::is_bert(class) => BertNormalizer::default(),
            Some(_) => return Ok(()),
            None => *written,
        };
        if let Some(&Value::Bool(lowercase)) = self.0.get("do_lower_case") {
            wanted.lowercase = lowercase;
        }
        if let Some(&Value::Bool(split)) = self.0.get("tokenize_chinese_chars") {
            wanted.handle_chinese_chars = split;
        }
        match self.0.get("strip_accents") {
            Some(&Value::Bool(strip)) => wanted.strip_accents = Some(strip),
            Some(Value::Null) => wanted.strip_accents = None,
            _ => {}
        }
        tokenizer.with_normalizer(Some(wanted)).map(|_| ())
    }
}

/// One token per line, its id the line's index; a repeated token gets the later id.
///
/// # Source
/// `WordPiece::read_file` of `tokenizers`, which transformers 5 uses: lines end at `\n` or `\r\n`,
/// and trailing white space is dropped.
fn read_vocab(text: &str) -> AHashMap<String, u32> {
    text.lines().zip(0..).map(|(line, id)| (line.trim_end().to_owned(), id)).collect()
}
