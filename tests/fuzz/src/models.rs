//! Files of models: config, tokenizer, weights, checkpoints.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use frostline_align::{AlignOptions, Aligner, VocabOptions};
use frostline_files::{seal, unseal};
use frostline_model::{Checkpoint, EncoderConfig, Family, HeadShape, ParameterSource as _};
use frostline_train::Saved;
use tempfile::TempDir;

/// The folder for files that can only be opened by their path.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

/// Writes an input to a file.
fn file(name: &str, data: &[u8]) -> PathBuf {
    let path = FOLDER.path().join(name);
    fs::write(&path, data).expect("a temporary file");
    path
}

/// A config that is accepted describes an encoder whose parameters can be counted.
pub(crate) fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(config) = EncoderConfig::parse(text, "config.json") else { return };
    assert!(config.longest_input() > 0 && config.hidden % config.heads == 0);
    let counted: u64 = config
        .parameters(&[HeadShape::linear(17)])
        .iter()
        .map(|(_, shape)| shape.iter().map(|size| *size as u64).product::<u64>())
        .sum();
    assert!(counted > 0);
}

/// Words that tokenizers find difficult.
const WORDS: [&str; 10] = [
    "Frostline",
    "naïve",
    "日本語",
    "",
    " ",
    "\u{200b}",
    "[CLS]",
    "e\u{301}x",
    "👩‍👩‍👧",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// A tokenizer aligns words or says why not; labels lie inside, and no id is above the largest.
fn align(aligner: Aligner) {
    let largest = aligner.largest_id();
    let options = AlignOptions { max_length: 16, stride: Some(1), ..AlignOptions::default() };
    let Ok(aligner) = aligner.with_options(options) else { return };
    for words in [&WORDS[..], &WORDS[..1]] {
        let Ok(aligned) = aligner.align(words) else { continue };
        assert!(aligned.ids.len() <= 16, "more positions than were allowed");
        assert!(aligned.ids.iter().all(|id| *id <= largest), "an id above the largest");
        let said = aligned.labelled() + aligned.truncated.len() + aligned.vanished.len();
        assert_eq!(said, words.len(), "a word is labelled, truncated or vanished");
        let _ = aligner.tokens(&aligned.ids);
        let windows = aligner.align_windows(words).expect("it aligned before");
        let labelled: usize = windows.iter().map(frostline_align::Aligned::labelled).sum();
        assert_eq!(labelled + windows[0].vanished.len(), words.len());
    }
}

/// `tokenizer.json`.
pub(crate) fn tokenizer(data: &[u8]) {
    if let Ok(aligner) = Aligner::from_bytes(data) {
        align(aligner);
    }
}

/// `tokenizer_config.json` in the first line, then `vocab.txt`.
pub(crate) fn vocabulary(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (options, vocabulary) = text.split_once('\n').unwrap_or(("", text));
    let options: VocabOptions = serde_json::from_str(options).unwrap_or_default();
    if let Ok(aligner) = Aligner::from_vocab(vocabulary, &options) {
        align(aligner);
    }
}

/// The encoder whose weights are looked for: two blocks of width 4.
const CONFIG: &str = r#"{"model_type":"distilbert","vocab_size":7,"dim":4,"n_layers":2,"n_heads":2,"hidden_dim":8,
    "max_position_embeddings":5}"#;

/// Asks for every parameter in the weights.
fn weights(weights: &Checkpoint) {
    let config = EncoderConfig::parse(CONFIG, "config.json").expect("a config");
    let complete = weights.check(&config).is_ok();
    for (path, shape) in config.parameters(&[HeadShape::linear(3)]) {
        let values = weights.values(&path, &shape);
        if let Ok(values) = &values {
            assert_eq!(values.len(), shape.iter().product::<usize>());
            assert!(values.iter().all(|value| value.is_finite()));
        }
        if complete && path.starts_with("encoder.") {
            assert!(weights.has(&path), "a checked parameter is missing: {path}");
        }
        if let [rows, width] = shape[..] {
            let _ = weights.rows(&path, [rows, width], &[0, rows as u32 - 1]);
        }
    }
}

/// `model.safetensors`.
pub(crate) fn safetensors(data: &[u8]) {
    let path = file("model.safetensors", data);
    for family in [Family::DistilBert, Family::Roberta] {
        if let Ok(checkpoint) = Checkpoint::open(&path, family) {
            weights(&checkpoint);
        }
    }
}

/// `model.safetensors.index.json`, with shards that do not exist: no file outside the folder is opened.
pub(crate) fn index(data: &[u8]) {
    let path = file("model.safetensors.index.json", data);
    if let Ok(checkpoint) = Checkpoint::open(&path, Family::Bert) {
        weights(&checkpoint);
    }
}

/// A cell's checkpoint, sealed as on disk: what is read is written and read again.
pub(crate) fn checkpoint(data: &[u8]) {
    let sealed = [data, &seal(data)].concat();
    let inside = unseal(&sealed).expect("it was sealed");
    let Ok((saved, note)) = Saved::from_bytes(inside) else { return };
    let _ = saved.step();
    let written = saved.to_bytes(&note);
    let (again, same) = Saved::from_bytes(&written).expect("what was written is read");
    assert_eq!((again.to_bytes(&same), same), (written, note), "a checkpoint changed when it was stored");
}
