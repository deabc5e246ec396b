//! The committed models of all families, for tests that train them. `../../../frostline-model/tests/references/make.py` made them.
#![allow(dead_code)] // every test binary uses its own part

use std::path::{Path, PathBuf};

use burn::backend::{Autodiff, Flex};
use frostline_kernels::Pack;
use frostline_model::{Checkpoint, EncoderConfig, HeadShape, Network, PackedInput, Vocabulary};

/// The committed taggers.
pub const MODELS: [&str; 17] = [
    "distilbert",
    "bert",
    "roberta",
    "xlm-roberta",
    "camembert",
    "electra",
    "modernbert",
    "nomic_bert",
    "gte",
    "deberta-v2",
    "eurobert",
    "xlm-roberta-xl",
    "albert",
    "albert-groups",
    "distilbert-relu",
    "bert-gelu_new",
    "roberta-silu",
];
/// A sentence in a model's subwords.
#[derive(serde::Deserialize)]
pub struct Sentence {
    pub ids: Vec<u32>,
    pub speaking: Vec<u32>,
    pub labels: Vec<u32>,
}

fn references() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../frostline-model/tests/references")
}

pub fn read<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let path = references().join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The sentences in a model's subwords; those of DistilBERT and BERT are the same.
pub fn sentences(model: &str) -> Vec<Sentence> {
    let own = format!("sentences-{model}.json");
    read(if references().join(&own).exists() { &own } else { "sentences.json" })
}

/// A committed tagger and its shape.
pub fn open(name: &str) -> (EncoderConfig, Network<Autodiff<Flex>>) {
    let folder = references().join(name);
    let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
    let config = EncoderConfig::parse(&config, name).unwrap();
    let weights = Checkpoint::open(&folder.join("model.safetensors"), &config).unwrap();
    let vocabulary = Vocabulary::full(config.vocabulary);
    let model = Network::build(
        &config,
        &vocabulary,
        &[HeadShape::linear(5)],
        [&weights, &weights],
        &Default::default(),
    )
    .unwrap();
    (config, model)
}

/// Packs sentences one after the other, and returns the labels of their label positions.
pub fn pack_sentences(encoder: &EncoderConfig, sentences: &[Sentence]) -> (PackedInput, Vec<u32>) {
    let lengths: Vec<usize> = sentences.iter().map(|sentence| sentence.ids.len()).collect();
    let pack = Pack::new(&lengths, &vec![0; lengths.len()]);
    let ids: Vec<u32> = sentences.iter().flat_map(|sentence| sentence.ids.clone()).collect();
    let starts = pack.offsets().to_vec();
    let speaking = sentences
        .iter()
        .zip(starts)
        .flat_map(|(sentence, start)| sentence.speaking.iter().map(move |position| start as u32 + position));
    let speaking: Vec<u32> = speaking.collect();
    let labels = sentences.iter().flat_map(|sentence| sentence.labels.clone()).collect();
    (PackedInput::new(encoder, pack, ids, speaking), labels)
}
