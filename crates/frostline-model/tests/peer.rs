//! Folders opened by Hugging Face `transformers` itself: exported models give the same logits there, and
//! a real encoder has the same hidden states. Needs FROSTLINE_PYTHON, and FROSTLINE_SHARED for the latter.

use std::path::Path;

use burn::backend::Flex;
use burn::prelude::*;
use frostline_model::{
    Checkpoint, Encoder, EncoderConfig, HeadKind, HeadShape, HuggingFaceExport, Network, Pass, RandomInit,
    Vocabulary, hugging_face_config, snapshot,
};

mod common;
use common::{MODELS, Packed, Peer, ReferenceSentence, apart, open, references, sentences, text};
use frostline_testing::{python, shared};

fn tensor_values(tensor: Tensor<Flex, 2>) -> Vec<f32> {
    tensor.into_data().into_vec().unwrap()
}

/// Logits at every position of every sentence.
fn position_logits(
    config: &EncoderConfig,
    model: &Network<Flex>,
    sentences: &[ReferenceSentence],
) -> Vec<f32> {
    let mut packed = Packed::new(sentences);
    packed.label_rows = (0..packed.ids.len() as u32).collect();
    tensor_values(model.forward(0, config, &packed.input(config), &Pass::plain(config.depth)))
}

/// A tagger as a Hugging Face folder; only the rows of `vocabulary` come from the model itself.
fn export_tagger(
    config: &EncoderConfig,
    model: &Network<Flex>,
    vocabulary: &Vocabulary,
    source: &Checkpoint,
    [config_text, folder]: [&Path; 2],
    tags: &[String],
) {
    let parameters = snapshot(model);
    let export =
        HuggingFaceExport { config, parameters: &parameters, head: 0, vocabulary, source, other_rows: 1.0 };
    std::fs::write(folder.join("model.safetensors"), export.safetensors().unwrap()).unwrap();
    let config = hugging_face_config(&text(config_text), tags, HeadKind::Linear).unwrap();
    std::fs::write(folder.join("config.json"), config).unwrap();
}

#[test]
fn exported_taggers_tag_the_same_in_transformers() {
    let Some(python) = python() else { return };
    let mut peer = Peer::start(&python);
    for name in MODELS {
        let original = references().join(name);
        let (config, weights) = open(&original);
        // A head and tags that differ from the folder's; the folder's must not be exported.
        let head = RandomInit::new(9, 0.5);
        let tags: Vec<String> = ["A", "B", "_", "D-x", "E", "F", "G"].map(String::from).into();
        let vocabulary = Vocabulary::full(config.vocabulary);
        let model = Network::<Flex>::build(
            &config,
            &vocabulary,
            &[HeadShape::linear(tags.len())],
            [&weights, &head],
            &Default::default(),
        )
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let compact = Vocabulary::of(config.vocabulary, []);
        let places = [&original.join("config.json"), folder.path()];
        export_tagger(&config, &without_words(&model), &compact, &weights, places, &tags);
        for file in ["tokenizer.json", "tokenizer_config.json"] {
            std::fs::copy(original.join(file), folder.path().join(file)).unwrap();
        }

        let all = sentences(name);
        let words: Vec<_> = all.iter().map(|sentence| &sentence.words).collect();
        let theirs: Vec<(Vec<u32>, Vec<String>)> = peer.ask("tags", folder.path(), &words);
        assert_eq!(theirs.len(), all.len());
        let mut differ = 0;
        for (sentence, (ids, theirs)) in all.iter().zip(&theirs) {
            assert_eq!(*ids, sentence.ids, "{name}: another tokenizer");
            let rows = position_logits(&config, &model, std::slice::from_ref(sentence));
            for (&position, theirs) in sentence.label_positions.iter().zip(theirs) {
                let row = &rows[position as usize * tags.len()..][..tags.len()];
                let best = (0..tags.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
                differ += usize::from(tags[best] != *theirs);
            }
        }
        assert_eq!(differ, 0, "{name}: tags differ");
        let ids: Vec<_> = all.iter().map(|sentence| &sentence.ids).collect();
        let theirs: Vec<Vec<f32>> = peer.ask("logits", folder.path(), &ids);
        let far = apart(&position_logits(&config, &model, &all), &theirs.concat());
        println!("{name}: exported logits within {far:.1e}");
        assert!(far <= 1e-4, "{name}: {far:e}");
    }
}

/// Returns the model without any row of its word table: an export then takes all rows from the source.
fn without_words(model: &Network<Flex>) -> Network<Flex> {
    let mut model = model.clone();
    let width = model.heads[0].classifier.weight.dims()[0];
    let empty = Tensor::from_data(TensorData::new(Vec::<f32>::new(), [0, width]), &Default::default());
    model.encoder.embeddings.word = burn::module::Param::from_tensor(empty);
    model
}

#[test]
fn a_real_encoder_has_the_same_hidden_states_and_logits() {
    let (Some(shared), Some(python)) = (shared(), python()) else { return };
    let mut peer = Peer::start(&python);
    let folder = shared.join("models/all-MiniLM-L6-v2");
    let (config, weights) = open(&folder);
    // Sentences of 1 to 160 subwords out of the whole vocabulary.
    let draw = frostline_random::Stream::new(1, "ids");
    let sentence = |number: u64| {
        let length = [1, 2, 3, 7, 16, 31, 64, 160][number as usize];
        let ids = (0..length).map(|i| draw.child(number).below(i, config.vocabulary as u64) as u32);
        ReferenceSentence { words: vec![], ids: ids.collect(), label_positions: vec![], labels: vec![] }
    };
    let all: Vec<ReferenceSentence> = (0..8).map(sentence).collect();
    let ids: Vec<_> = all.iter().map(|sentence| &sentence.ids).collect();

    let vocabulary = Vocabulary::full(config.vocabulary);
    let encoder =
        Encoder::<Flex>::build(&config, &vocabulary, [&weights, &weights], &Default::default()).unwrap();
    let packed = Packed::new(&all);
    let ours = tensor_values(encoder.forward(&config, &packed.input(&config), &Pass::plain(config.depth)));
    let theirs: Vec<Vec<f32>> = peer.ask("hidden", &folder, &ids);
    let far = apart(&ours, &theirs.concat());
    println!("all-MiniLM-L6-v2: hidden states within {far:.1e}");
    assert!(far <= 1e-4, "hidden states: {far:e}");

    let tags: Vec<String> = (0..17).map(|tag| format!("T{tag}")).collect();
    let head = RandomInit::new(2, 0.1);
    let model = Network::<Flex>::build(
        &config,
        &vocabulary,
        &[HeadShape::linear(17)],
        [&weights, &head],
        &Default::default(),
    )
    .unwrap();
    let saved = tempfile::tempdir().unwrap();
    let places = [&folder.join("config.json"), saved.path()];
    export_tagger(&config, &model, &vocabulary, &weights, places, &tags);
    let theirs: Vec<Vec<f32>> = peer.ask("logits", saved.path(), &ids);
    let far = apart(&position_logits(&config, &model, &all), &theirs.concat());
    println!("all-MiniLM-L6-v2: exported logits within {far:.1e}");
    assert!(far <= 1e-4, "logits: {far:e}");
}
