//! BERT's tokenization of words in ASCII, which covers nearly all of English. It gives the same ids as the
//! tokenizer library, without normalised strings, offsets and token texts.

use ahash::RandomState;
use tokenizers::{Model, ModelWrapper, NormalizerWrapper, PreTokenizerWrapper, Tokenizer};

use crate::cache::fixed_hasher;

/// A WordPiece vocabulary behind BERT's normaliser and pre-tokenizer, for words in ASCII alone.
pub(crate) struct AsciiWordPiece {
    /// Tokens that begin a word.
    first: Tokens,
    /// Tokens that continue one, without their prefix.
    next: Tokens,
    unknown: u32,
    /// A longer part of a word is unknown.
    most_bytes: usize,
    lowercase: bool,
    /// By byte: whether an added token may begin with it.
    begins_added: [bool; 256],
}

type VocabularyIds = std::collections::HashMap<Box<[u8]>, u32, RandomState>;

/// Tokens in ASCII with their ids.
struct Tokens {
    ids: VocabularyIds,
    /// The length of the longest.
    longest: usize,
}

impl AsciiWordPiece {
    /// Returns the tokenization of words in ASCII by `tokenizer`; `None` if it is not BERT's, or has added
    /// tokens beyond ASCII.
    pub(crate) fn from_tokenizer(tokenizer: &Tokenizer) -> Option<Self> {
        let ModelWrapper::WordPiece(model) = tokenizer.get_model() else { return None };
        let NormalizerWrapper::BertNormalizer(normalizer) = tokenizer.get_normalizer()? else { return None };
        let PreTokenizerWrapper::BertPreTokenizer(_) = tokenizer.get_pre_tokenizer()? else { return None };
        let added = tokenizer.get_added_vocabulary();
        let mut begins_added = [false; 256];
        for (&id, token) in added.get_added_tokens_decoder() {
            // The library searches for its own text of this id, which may differ from the token's.
            let texts = [token.content.clone(), added.simple_id_to_token(id).unwrap_or_default()];
            for text in texts.iter().map(String::as_bytes) {
                if text.is_empty() || !text.iter().all(is_printable_ascii) {
                    return None;
                }
                begins_added[usize::from(text[0].to_ascii_lowercase())] = true;
                begins_added[usize::from(text[0].to_ascii_uppercase())] = true;
            }
        }
        let vocabulary = model.get_vocab();
        let unknown = *vocabulary.get(&model.unk_token)?;
        let tokens = || vocabulary.iter().map(|(token, &id)| (token.as_str(), id));
        let prefix = model.continuing_subword_prefix.as_str();
        Some(Self {
            first: Tokens::new(tokens()),
            next: Tokens::new(tokens().filter_map(|(token, id)| Some((token.strip_prefix(prefix)?, id)))),
            unknown,
            most_bytes: model.max_input_chars_per_word,
            lowercase: normalizer.lowercase,
            begins_added,
        })
    }

    /// Adds the ids of a word. Returns false and adds nothing if the library has to tokenize the word: beyond
    /// ASCII, with control characters, or possibly with an added token.
    pub(crate) fn push(&self, form: &str, lowercase: bool, ids: &mut Vec<u32>) -> bool {
        let own = |byte: &u8| is_printable_ascii(byte) && !self.begins_added[usize::from(*byte)];
        if form.is_empty() || !form.as_bytes().iter().all(own) {
            return false;
        }
        let text = if lowercase || self.lowercase { crate::lowercase(form) } else { form.into() };
        for run in text.as_bytes().split(|byte| *byte == b' ') {
            let together = |a: &u8, b: &u8| !a.is_ascii_punctuation() && !b.is_ascii_punctuation();
            run.chunk_by(together).for_each(|part| self.push_part(part, ids));
        }
        true
    }

    /// Adds the tokens of a part of a word, or the unknown token if it has none.
    fn push_part(&self, part: &[u8], ids: &mut Vec<u32>) {
        let before = ids.len();
        if part.len() > self.most_bytes || !self.push_longest(part, ids) {
            ids.truncate(before);
            ids.push(self.unknown);
        }
    }

    /// Adds the longest tokens from the left, and returns whether they cover the whole word.
    fn push_longest(&self, mut rest: &[u8], ids: &mut Vec<u32>) -> bool {
        let mut tokens = &self.first;
        while let Some((length, id)) = tokens.longest_at_start(rest) {
            ids.push(id);
            (rest, tokens) = (&rest[length..], &self.next);
        }
        rest.is_empty()
    }
}

/// Printable ASCII, which normalisation changes at most in its case.
fn is_printable_ascii(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~')
}

impl Tokens {
    fn new<'a>(tokens: impl Iterator<Item = (&'a str, u32)>) -> Self {
        let mut ids = VocabularyIds::with_hasher(fixed_hasher());
        ids.extend(
            tokens.filter(|(token, _)| token.is_ascii()).map(|(token, id)| (token.as_bytes().into(), id)),
        );
        let longest = ids.keys().map(|token| token.len()).max().unwrap_or(0);
        Self { ids, longest }
    }

    /// Returns the longest token that `text` begins with, by its length and id.
    fn longest_at_start(&self, text: &[u8]) -> Option<(usize, u32)> {
        let mut lengths = (1..=text.len().min(self.longest)).rev();
        lengths.find_map(|length| Some((length, *self.ids.get(&text[..length])?)))
    }
}

#[cfg(test)]
mod tests {
    use ahash::AHashMap;
    use proptest::prelude::*;
    use tokenizers::AddedToken;
    use tokenizers::models::wordpiece::WordPiece;
    use tokenizers::normalizers::BertNormalizer;

    use super::*;
    use crate::vocab::bert_tokenizer;
    use crate::{AlignOptions, Aligner, VocabOptions};

    const VOCAB: [&str; 27] = [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "ab", "aba", "##a", "##b", "##ab", "##bab",
        "A", "Ab", "##B", ".", "##.", "-", "#", "##", "###a", "1", "##1", "\u{e9}", "##\u{e9}", "bb",
    ];

    fn small_tokenizer(lowercase: bool) -> Tokenizer {
        let options = VocabOptions { do_lower_case: lowercase, ..VocabOptions::default() };
        bert_tokenizer(&VOCAB.join("\n"), &options, "the test").expect("a tokenizer")
    }

    /// A tokenizer like BERT's.
    #[derive(Clone, Debug)]
    struct Like {
        lowercase: bool,
        clean_text: bool,
        prefix: &'static str,
        most: usize,
        added: String,
        /// Flags of the added token: a single word, normalised, with the space around it.
        flags: [bool; 3],
    }

    prop_compose! {
        fn tokenizer_variants()(
            [lowercase, clean_text] in any::<[bool; 2]>(),
            prefix in prop::sample::select(vec!["##", "##", "", "a"]),
            most in prop::sample::select(vec![100, 100, 3, 0]),
            added in "(bb|Ab|-|1a| a|\u{e9}b|ba b)",
            flags in any::<[bool; 3]>(),
        ) -> Like {
            Like { lowercase, clean_text, prefix, most, added, flags }
        }
    }

    /// Returns an aligner without the word cache.
    fn uncached_aligner(like: &Like) -> Aligner {
        let mut tokenizer = small_tokenizer(like.lowercase);
        let vocabulary: AHashMap<String, u32> =
            VOCAB.iter().zip(0..).map(|(token, id)| ((*token).to_owned(), id)).collect();
        let model = WordPiece::builder().vocab(vocabulary).unk_token("[UNK]".into());
        let model = model.continuing_subword_prefix(like.prefix.into()).max_input_chars_per_word(like.most);
        tokenizer.with_model(model.build().expect("a model"));
        let normalizer = BertNormalizer::new(like.clean_text, true, None, like.lowercase);
        tokenizer.with_normalizer(Some(normalizer)).expect("a normaliser");
        let [single_word, normalized, strip] = like.flags;
        let token =
            AddedToken::from(like.added.as_str(), false).single_word(single_word).normalized(normalized);
        tokenizer.add_tokens([token.lstrip(strip).rstrip(strip)]).expect("added");
        Aligner::new(tokenizer, vec![2], vec![3]).with_cache(false)
    }

    fn any_word() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => "[abAB1]{0,8}",
            3 => "[abAB1.# -]{0,8}",
            1 => "[ -~]{0,12}",
            1 => "[ab]{95,105}",
            1 => any::<String>(),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

        #[test]
        fn words_have_the_subwords_of_the_library(
            words in prop::collection::vec(any_word(), 1..6),
            like in tokenizer_variants(),
            lowercase in any::<bool>(),
        ) {
            let options = AlignOptions { lowercase, ..AlignOptions::default() };
            let made = || uncached_aligner(&like).with_options(options).expect("they fit");
            let (fast, library) = (made(), made().by_library());
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            prop_assert_eq!(fast.align(&words).unwrap(), library.align(&words).unwrap());
        }
    }

    #[test]
    fn only_words_that_the_library_must_see_are_left_to_it() {
        let ascii = AsciiWordPiece::from_tokenizer(&small_tokenizer(true)).expect("BERT's");
        let mut ids = Vec::new();
        for (word, expected) in [
            ("ABAbab", Some(vec![8, 12])),
            ("ab.a", Some(vec![7, 16, 5])),
            ("b  a", Some(vec![6, 5])),
            ("abc", Some(vec![1])),
            (" ", Some(vec![])),
            ("", None),
            ("a[b", None),
            ("\u{e9}", None),
            ("a\tb", None),
        ] {
            ids.clear();
            let done = ascii.push(word, false, &mut ids);
            assert_eq!(done.then(|| ids.clone()), expected, "{word:?}");
        }
    }
}
