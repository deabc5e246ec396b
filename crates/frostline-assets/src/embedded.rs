//! The files embedded in the program: the demo, by name.

use crate::AssetError;

/// The prefix of the names of embedded files and folders.
pub const PREFIX: &str = "embedded:";

/// The embedded datasets.
pub const DATASETS: [&str; 4] = ["embedded:en", "embedded:names", "embedded:pcm", "embedded:reviews"];

/// The embedded encoders.
pub const ENCODERS: [&str; 1] = ["embedded:demo-distilbert"];

macro_rules! embedded_files {
    ($($path:literal),* $(,)?) => {
        &[$((
            concat!("embedded:", $path),
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/demo/", $path)).as_slice(),
        )),*]
    };
}

/// All embedded files except the weights.
const FILES: &[(&str, &[u8])] = embedded_files![
    "demo-distilbert/config.json",
    "demo-distilbert/tokenizer.json",
    "demo-distilbert/tokenizer_config.json",
    "demo-distilbert/vocab.txt",
    "en/dev.conllu",
    "en/test.conllu",
    "en/train.conllu",
    "names/dev.iob2",
    "names/test.iob2",
    "names/train.iob2",
    "pcm/dev.conllu",
    "pcm/test.conllu",
    "pcm/train.conllu",
    "reviews/dev.tsv",
    "reviews/test.tsv",
    "reviews/train.tsv",
];

/// The pretrained weights of the demo encoder, if they are committed (see `build.rs`).
#[cfg(demo_weights)]
const WEIGHTS: &[(&str, &[u8])] = embedded_files!["demo-distilbert/model.safetensors"];
#[cfg(not(demo_weights))]
const WEIGHTS: &[(&str, &[u8])] = &[];

/// Returns every embedded file: its name, such as `embedded:en/train.conllu`, and its bytes.
pub fn files() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    FILES.iter().chain(WEIGHTS).copied()
}

/// Returns whether the demo encoder's pretrained weights are embedded.
#[must_use]
pub const fn has_weights() -> bool {
    !WEIGHTS.is_empty()
}

/// Returns the bytes of an embedded file.
///
/// # Errors
/// If there is no file of this name; the message lists all files.
pub fn bytes(path: &str) -> Result<&'static [u8], AssetError> {
    files().find_map(|(name, contents)| (name == path).then_some(contents)).ok_or_else(|| {
        AssetError::NotEmbedded { path: path.into(), known: files().map(|(name, _)| name).collect() }
    })
}

/// Returns the embedded files of a folder such as `embedded:en`, by file name.
pub(crate) fn files_in_folder(name: &str) -> Vec<&'static str> {
    files().filter_map(|(path, _)| path.strip_prefix(name)?.strip_prefix('/')).collect()
}
