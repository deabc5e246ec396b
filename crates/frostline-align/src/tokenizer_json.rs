//! A faster reader of `tokenizer.json`. It accepts everything that `tokenizers` accepts and builds
//! the same tokenizer several times faster, because the vocabulary is deserialised directly instead
//! of going through a tree of JSON values.

use serde::Deserialize;
use serde_json::value::RawValue;
use tokenizers::models::{
    ModelWrapper, bpe::BPE, unigram::Unigram, wordlevel::WordLevel, wordpiece::WordPiece,
};
use tokenizers::{
    AddedToken, DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, Tokenizer,
    tokenizer::Result as TkResult,
};

/// The contents of `tokenizer.json`, without padding and truncation.
#[derive(Deserialize)]
struct TokenizerFile<'a> {
    version: Option<String>,
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
    post_processor: Option<PostProcessorWrapper>,
    decoder: Option<DecoderWrapper>,
    #[serde(borrow)]
    model: &'a RawValue,
}

/// Reads a tokenizer without its padding and truncation.
pub(crate) fn read_tokenizer(bytes: &[u8]) -> TkResult<Tokenizer> {
    let file: TokenizerFile<'_> = serde_json::from_slice(bytes)?;
    if let Some(version) = file.version.filter(|version| version != "1.0") {
        return Err(format!("unknown tokenizer version {version:?}, expected \"1.0\"").into());
    }
    let mut tokenizer = Tokenizer::new(read_model(file.model.get())?);
    tokenizer.with_normalizer(file.normalizer)?;
    tokenizer.with_pre_tokenizer(file.pre_tokenizer);
    tokenizer.with_post_processor(file.post_processor);
    tokenizer.with_decoder(file.decoder);
    // After the normalizer and the model, which normalise and number the added tokens.
    tokenizer.add_tokens(file.added_tokens)?;
    Ok(tokenizer)
}

fn read_model(json: &str) -> TkResult<ModelWrapper> {
    #[derive(Deserialize)]
    struct ModelType {
        r#type: Option<String>,
    }
    let model: ModelType = serde_json::from_str(json)?;
    Ok(match model.r#type.as_deref() {
        Some("WordPiece") => ModelWrapper::WordPiece(serde_json::from_str::<WordPiece>(json)?),
        Some("BPE") => ModelWrapper::BPE(serde_json::from_str::<BPE>(json)?),
        Some("WordLevel") => ModelWrapper::WordLevel(serde_json::from_str::<WordLevel>(json)?),
        Some("Unigram") => ModelWrapper::Unigram(serde_json::from_str::<Unigram>(json)?),
        // Old files whose model has no type, and unknown types, which `tokenizers` reports.
        _ => serde_json::from_str(json)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AROUND: &str = r#""version":"1.0","truncation":{"direction":"Right","max_length":4,
        "strategy":"LongestFirst","stride":0},"padding":null,
        "added_tokens":[
          {"id":1,"content":"[X]","single_word":false,"lstrip":true,"rstrip":false,
           "normalized":true,"special":true},
          {"id":9,"content":"new","single_word":true,"lstrip":false,"rstrip":false,
           "normalized":false,"special":false}],
        "normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"}]},
        "pre_tokenizer":{"type":"Whitespace"},
        "post_processor":{"type":"BertProcessing","sep":["b",2],"cls":["a",1]},
        "decoder":{"type":"WordPiece","prefix":"$$","cleanup":true}"#;

    #[test]
    fn every_model_is_read_as_tokenizers_reads_it() {
        let models = [
            r#"{"type":"WordPiece","unk_token":"u","continuing_subword_prefix":"$$",
               "max_input_chars_per_word":7,"vocab":{"u":0,"a":1,"b":2,"\u0009$$ü":3}}"#,
            r#"{"unk_token":"u","continuing_subword_prefix":"$$",
               "max_input_chars_per_word":7,"vocab":{"u":0,"a":1,"b":2}}"#,
            r#"{"type":"WordLevel","vocab":{"u":0,"a":1,"b":2},"unk_token":"u"}"#,
            r#"{"type":"BPE","dropout":0.5,"unk_token":"u","continuing_subword_prefix":null,
               "end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":false,
               "vocab":{"u":0,"a":1,"b":2,"ab":3},"merges":["a b"]}"#,
            r#"{"type":"Unigram","unk_id":0,"byte_fallback":false,
               "vocab":[["u",0.0],["a",-1.5],["b",-2.0]]}"#,
        ];
        for model in models {
            let json = format!("{{{AROUND},\"model\":{model}}}");
            let mut theirs = Tokenizer::from_bytes(&json).expect("tokenizers reads it");
            theirs.with_truncation(None).expect("clears");
            let ours = read_tokenizer(json.as_bytes()).expect("this crate reads it");
            let [ours, theirs] = [ours, theirs].map(|t| t.to_string(true).expect("serialises"));
            assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn errors_name_the_reason() {
        let model = r#"{"type":"WordLevel","vocab":{"u":0},"unk_token":"u"}"#;
        for (json, reason) in [
            (format!("{{\"version\":\"2.0\",\"model\":{model}}}"), "unknown tokenizer version"),
            ("{}".to_owned(), "missing field `model`"),
            ("[]".to_owned(), "invalid length 0"),
            (r#"{"model":{"type":"Letters"}}"#.to_owned(), "did not match any variant"),
        ] {
            let error = read_tokenizer(json.as_bytes()).expect_err(&json).to_string();
            assert!(error.contains(reason), "{json}: {error}");
        }
    }
}
