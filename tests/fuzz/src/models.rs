//! Files of models: config, tokenizer, weights, checkpoints.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use frostline_align::{AlignOptions, Aligner, VocabOptions};
use frostline_files::{seal, unseal};
use frostline_model::{Checkpoint, EncoderConfig, Family, HeadShape, ParameterSource as _};
use frostline_train::Saved;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::files::empty_folder;

/// The folder for files that can only be opened by their path.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

/// Writes an input to a file.
fn write_input(name: &str, data: &[u8]) -> PathBuf {
    let path = FOLDER.path().join(name);
    fs::write(&path, data).expect("a temporary file");
    path
}

/// A config that is accepted describes an encoder whose parameters can be counted.
pub(crate) fn fuzz_config(data: &[u8]) {
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

/// A tokenizer aligns words or returns an error; labels are inside the sentence, and no id is above the
/// largest.
fn check_aligner(aligner: Aligner) {
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
pub(crate) fn fuzz_tokenizer(data: &[u8]) {
    if let Ok(aligner) = Aligner::from_bytes(data) {
        check_aligner(aligner);
    }
}

/// `tokenizer_config.json` in the first line, then `vocab.txt`.
pub(crate) fn fuzz_vocabulary(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (options, vocabulary) = text.split_once('\n').unwrap_or(("", text));
    let options: VocabOptions = serde_json::from_str(options).unwrap_or_default();
    if let Ok(aligner) = Aligner::from_vocab(vocabulary, &options) {
        check_aligner(aligner);
    }
}

/// The encoder whose weights are looked for: two blocks of width 4.
const CONFIG: &str = r#"{"model_type":"distilbert","vocab_size":7,"dim":4,"n_layers":2,"n_heads":2,"hidden_dim":8,
    "max_position_embeddings":5}"#;

/// Reads every parameter in the weights.
fn check_weights(weights: &Checkpoint) {
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
pub(crate) fn fuzz_safetensors(data: &[u8]) {
    let path = write_input("model.safetensors", data);
    for family in [Family::DISTILBERT, Family::ROBERTA] {
        if let Ok(checkpoint) = Checkpoint::open(&path, family) {
            check_weights(&checkpoint);
        }
    }
}

/// `model.safetensors.index.json`, with shards that do not exist: no file outside the folder is opened.
pub(crate) fn index(data: &[u8]) {
    let path = write_input("model.safetensors.index.json", data);
    if let Ok(checkpoint) = Checkpoint::open(&path, Family::BERT) {
        check_weights(&checkpoint);
    }
}

/// A JSON object with an `index` and the headers of its `shards` by their names, each of which becomes a file: every
/// tensor of an index that is accepted is in the shard that it names, in the same folder.
pub(crate) fn fuzz_shards(data: &[u8]) {
    let Ok(input) = serde_json::from_slice::<Value>(data) else { return };
    let folder = empty_folder(FOLDER.path(), "shards");
    let index = folder.join("model.safetensors.index.json");
    fs::write(&index, input["index"].to_string()).expect("a temporary file");
    // A good shard in another folder, which an index may try to name.
    fs::write(FOLDER.path().join("outside.safetensors"), shard_bytes(&json!({}))).expect("a temporary file");
    for (name, header) in input["shards"].as_object().into_iter().flatten().take(4) {
        if Path::new(name).file_name().is_some_and(|plain| plain == name.as_str()) {
            let _ = fs::write(folder.join(name), shard_bytes(header));
        }
    }
    for family in [Family::DISTILBERT, Family::ROBERTA] {
        let Ok(checkpoint) = Checkpoint::open(&index, family) else { continue };
        for (tensor, file) in input["index"]["weight_map"].as_object().into_iter().flatten() {
            let file = file.as_str().expect("a name");
            assert!(!file.contains(['/', '\\']), "{file:?} was opened");
            assert!(input["shards"][file].get(tensor).is_some(), "{tensor:?} is not in {file:?}");
        }
        check_weights(&checkpoint);
    }
}

/// Returns a safetensors file with this header, and as many bytes as its last tensor needs.
fn shard_bytes(header: &Value) -> Vec<u8> {
    let tensors = header.as_object().into_iter().flat_map(|tensors| tensors.values());
    let end = tensors.filter_map(|about| about["data_offsets"][1].as_u64()).max().unwrap_or(0);
    let header = header.to_string();
    let values = vec![0; end.min(64 << 10) as usize];
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &values].concat()
}

/// A cell's checkpoint, sealed as on disk, survives writing and reading.
pub(crate) fn fuzz_checkpoint(data: &[u8]) {
    let sealed = [data, &seal(data)].concat();
    let inside = unseal(&sealed).expect("it was sealed");
    let Ok((saved, note)) = Saved::from_bytes(inside) else { return };
    let _ = saved.step();
    let written = saved.to_bytes(&note);
    let (again, same) = Saved::from_bytes(&written).expect("what was written is read");
    assert_eq!((again.to_bytes(&same), same), (written, note), "a checkpoint changed when it was stored");
}
