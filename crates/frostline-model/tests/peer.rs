//! Folders opened by Hugging Face `transformers` itself: exported models give the same logits there, and
//! a real encoder has the same hidden states. Needs FROSTLINE_PYTHON, and FROSTLINE_SHARED for the latter.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use burn::backend::Flex;
use burn::prelude::*;
use frostline_align::{AlignOptions, Aligner};
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

/// Returns the one process of `transformers` for all tests, which takes seconds to start; it ends when its input is closed.
fn shared_peer(python: &Path) -> MutexGuard<'static, Peer> {
    static PEER: OnceLock<Mutex<Peer>> = OnceLock::new();
    let peer = PEER.get_or_init(|| Mutex::new(Peer::start(python)));
    peer.lock().unwrap_or_else(PoisonError::into_inner)
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
    let mut peer = shared_peer(&python);
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
        check_odd_sentences(&mut peer, name, folder.path());
        let ids: Vec<_> = all.iter().map(|sentence| &sentence.ids).collect();
        let theirs: Vec<Vec<f32>> = peer.ask("logits", folder.path(), &ids);
        let far = apart(&position_logits(&config, &model, &all), &theirs.concat());
        println!("{name}: exported logits within {far:.1e}");
        assert!(far <= 1e-4, "{name}: {far:e}");
    }
}

/// Words that tokenizers treat in particular ways: accents, capitals, scripts without spaces, marks and controls, signs of several
/// code points, white space inside, pieces of other languages, and the names of special tokens.
const ODD_WORDS: [&str; 56] = [
    "frost",
    "Frost",
    "FROST",
    "frosts",
    "sniing",
    "kasting",
    "don't",
    "l'eau",
    "e\u{301}t\u{e9}",
    "\u{c9}T\u{c9}",
    "Stra\u{df}e",
    "\u{130}stanbul",
    "na\u{ef}ve",
    "\u{fb01}n",
    "\u{2126}",
    "\u{ff21}\u{ff22}",
    "\u{b2}",
    "\u{bd}",
    "3.14",
    "1,000",
    "2024-11-30",
    "007",
    "\u{6771}\u{4eac}",
    "\u{6771}x\u{4eac}",
    "\u{304b}\u{3099}",
    "\u{d55c}\u{ae00}",
    "\u{645}\u{64f}\u{62f}",
    "\u{5e9}\u{5b8}",
    "\u{928}\u{93f}",
    "\u{e01}\u{e33}",
    "\u{1f600}",
    "\u{1f469}\u{200d}\u{1f4bb}",
    "\u{1f1eb}\u{1f1ee}",
    "a\u{200b}b",
    "\u{200d}",
    "soft\u{ad}ly",
    "a\u{a0}b",
    "new york",
    "tab\tbed",
    "``",
    "''",
    "\"",
    "--",
    "\u{2014}",
    "\u{2026}",
    "...",
    "$5",
    "#tag",
    "@name",
    "http://frost.net/a?b=c",
    "[MASK]",
    "<mask>",
    "[SEP]",
    "</s>",
    "\u{2581}the",
    "##s",
];

/// Returns 200 sentences of odd words, and of letters in any order.
fn odd_sentences() -> Vec<Vec<String>> {
    let draw = frostline_random::Stream::new(5, "odd sentences");
    let sentence = |number: u64| {
        let draw = draw.child(number);
        let word = |place: u64| match draw.below(2 * place, 4) {
            0 => {
                let letters = draw.child(place);
                let count = if number == 7 { 300 } else { 1 + letters.below(0, 9) };
                (1..=count).map(|at| char::from(b'a' + letters.below(at, 26) as u8)).collect()
            }
            _ => ODD_WORDS[draw.below(2 * place + 1, ODD_WORDS.len() as u64) as usize].to_string(),
        };
        (0..1 + number % 13).map(word).collect()
    };
    (0..200).map(sentence).collect()
}

/// Compares the subwords of odd sentences with those of `transformers`.
fn check_odd_sentences(peer: &mut Peer, name: &str, folder: &Path) {
    let aligner = Aligner::from_folder(folder)
        .unwrap()
        .with_options(AlignOptions { max_length: 4096, ..AlignOptions::default() });
    let aligner = aligner.unwrap();
    let sentences = odd_sentences();
    let theirs: Vec<Vec<u32>> = peer.ask("ids", folder, &sentences);
    assert_eq!(theirs.len(), 200, "{name}");
    for (words, theirs) in sentences.iter().zip(&theirs) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(aligner.align(&words).unwrap().ids, *theirs, "{name}: {words:?}");
    }
}

/// The longest sentence of a released model of a family; others have 512 positions.
fn longest_sentence(name: &str) -> usize {
    if ["modernbert", "nomic_bert", "gte", "eurobert"].contains(&name) { 8192 } else { 512 }
}

/// Returns a model's config with so many positions and fewer blocks.
fn config_with_positions(name: &str, positions: usize) -> String {
    let mut config: serde_json::Value =
        serde_json::from_str(&text(&references().join(name).join("config.json"))).unwrap();
    // Enough for each kind of block: ModernBERT's second one is local, and ALBERT's second one has the weights of the first.
    let layers = if ["modernbert", "albert", "albert-groups"].contains(&name) { 2 } else { 1 };
    for key in ["n_layers", "num_hidden_layers"] {
        if config.get(key).is_some() {
            config[key] = layers.into();
        }
    }
    if let Some(types) = config.get_mut("layer_types").and_then(|types| types.as_array_mut()) {
        types.truncate(layers);
    }
    // RoBERTa and its relatives do not use the first positions.
    let unused = if name.contains("roberta") || name == "camembert" { 2 } else { 0 };
    config["max_position_embeddings"] = (positions + unused).into();
    config.to_string()
}

#[test]
fn the_longest_sentences_have_the_logits_of_transformers() {
    let Some(python) = python() else { return };
    let mut peer = shared_peer(&python);
    let draw = frostline_random::Stream::new(6, "long sentences");
    // Other activations and names change nothing about lengths.
    let same = ["xlm-roberta", "camembert", "distilbert-relu", "bert-gelu_new", "roberta-silu"];
    for name in MODELS.into_iter().filter(|name| !same.contains(name)) {
        let longest = longest_sentence(name);
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("encoder.json");
        std::fs::write(&place, config_with_positions(name, longest)).unwrap();
        let config = EncoderConfig::parse(&text(&place), name).unwrap();
        assert_eq!(config.longest_input(), longest, "{name}");
        let (source, vocabulary) = (RandomInit::new(3, 0.3), Vocabulary::full(config.vocabulary));
        let heads = [HeadShape::linear(5)];
        let model =
            Network::<Flex>::build(&config, &vocabulary, &heads, [&source, &source], &Default::default())
                .unwrap();
        let parameters = snapshot(&model);
        let export = HuggingFaceExport {
            config: &config,
            parameters: &parameters,
            head: 0,
            vocabulary: &vocabulary,
            source: &source,
            other_rows: 1.0,
        };
        std::fs::write(folder.path().join("model.safetensors"), export.safetensors().unwrap()).unwrap();
        let tags: Vec<String> = (0..5).map(|tag| format!("T{tag}")).collect();
        let exported = hugging_face_config(&text(&place), &tags, HeadKind::Linear).unwrap();
        std::fs::write(folder.path().join("config.json"), exported).unwrap();
        // The first ids are special; RoBERTa gives no position to one of them.
        let ids: Vec<u32> =
            (0..longest as u64).map(|at| 5 + draw.below(at, config.vocabulary as u64 - 5) as u32).collect();
        let theirs: Vec<Vec<f32>> = peer.ask("logits", folder.path(), &[&ids]);
        let sentence = ReferenceSentence { words: vec![], ids, label_positions: vec![], labels: vec![] };
        let ours = position_logits(&config, &model, &[sentence]);
        let far = apart(&ours, &theirs.concat());
        println!("{name}, {longest} subwords: logits within {far:.1e}");
        assert!(far <= 1e-4, "{name}, {longest} subwords: {far:e}");
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
    let mut peer = shared_peer(&python);
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
