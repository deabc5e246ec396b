//! Comparison with Hugging Face `transformers`: logits, loss and every gradient of a tiny DistilBERT,
//! BERT, RoBERTa and XLM-R, and weights in every kind of file. `references/make.py` made the references.

use std::collections::{BTreeMap, BTreeSet};

use burn::backend::{Autodiff, Flex, NdArray};
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::prelude::*;
use burn::tensor::ElementConversion;
use frostline_kernels::{Kernels, Train};
use frostline_model::{
    Checkpoint, Encoder, HeadKind, HeadShape, HuggingFaceExport, Network, ParameterSource as _, Pass,
    RandomInit, Vocabulary, hugging_face_name, snapshot, stored_name,
};

mod common;
use common::{MODELS, Packed, Tensors, apart, open, references, sentences};

const TAGS: usize = 5;

fn tensor_values<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f32> {
    tensor.into_data().into_vec().unwrap()
}

/// Returns how much further results may be from a model's reference than usual: rotations are computed in f32 even in the
/// reference, and some activations amplify rounding.
fn margin(name: &str) -> f32 {
    if ["distilbert", "bert", "roberta", "xlm-roberta"].contains(&name) { 1.0 } else { 3.0 }
}

/// Builds a committed tagger with these rows of the word table.
fn build_tagger<B: Kernels>(
    name: &str,
    vocabulary: &Vocabulary,
) -> (frostline_model::EncoderConfig, Network<B>) {
    let (config, weights) = open(&references().join(name));
    let model = Network::build(
        &config,
        vocabulary,
        &[HeadShape::linear(TAGS)],
        [&weights, &weights],
        &B::Device::default(),
    )
    .unwrap();
    (config, model)
}

/// Logits of all sentences in packs of `size` sentences, against the reference's padded batches.
fn logits_agree<B: Kernels>(size: usize, allowed: f32) {
    for name in MODELS {
        let (config, _) = open(&references().join(name));
        let all = sentences(name);
        let (config, model) = build_tagger::<B>(name, &Vocabulary::full(config.vocabulary));
        let mut ours = Vec::new();
        for some in all.chunks(size) {
            let packed = Packed::new(some);
            let off = Pass::plain(config.depth);
            ours.extend(tensor_values(model.forward(0, &config, &packed.input(&config), &off)));
        }
        let (shape, theirs) = Tensors::open(&references().join(format!("{name}.safetensors"))).get("logits");
        assert_eq!(shape, [ours.len() / TAGS, TAGS]);
        let far = apart(&ours, &theirs);
        println!("{name}, {} sentences a pack: logits within {far:.1e}", size.min(all.len()));
        assert!(far <= allowed * margin(name), "{name}: {far:e}");
        let spread = theirs.iter().fold(0f32, |most, value| most.max(value.abs()));
        assert!(spread > 0.3, "{name}: the logits are too small to compare");
    }
}

#[test]
fn packed_logits_equal_padded_ones_within_1e_5_on_flex() {
    for size in [1, 5, usize::MAX] {
        logits_agree::<Flex>(size, 1e-5);
    }
}

#[test]
fn logits_on_ndarray() {
    for size in [1, 5, usize::MAX] {
        logits_agree::<NdArray>(size, 1e-4);
    }
}

/// Every gradient by path.
struct Gradients<'a> {
    all: &'a GradientsParams,
    path: Vec<String>,
    found: BTreeMap<String, Vec<f32>>,
}

impl<B: Train> ModuleVisitor<B> for Gradients<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<B, D>>) {
        if let Some(gradient) = self.all.get::<B::InnerBackend, D>(parameter.id) {
            self.found.insert(self.path.join("."), tensor_values(gradient));
        }
    }
}

/// Loss and gradients of all sentences in one pack.
fn loss_and_gradients<B: Train>(name: &str, vocabulary: &Vocabulary) -> (f64, BTreeMap<String, Vec<f32>>) {
    let (config, model) = build_tagger::<B>(name, vocabulary);
    let mut packed = Packed::new(&sentences(name));
    for id in &mut packed.ids {
        *id = vocabulary.row(*id).unwrap();
    }
    let off = Pass::plain(config.depth);
    let logits = model.forward(0, &config, &packed.input(&config), &off);
    let loss =
        B::k_cross_entropy(logits, &packed.labels.clone().into()).div_scalar(packed.labels.len() as f64);
    let value = loss.clone().into_scalar().elem();
    let all = GradientsParams::from_grads(loss.backward(), &model);
    let mut gradients = Gradients { all: &all, path: Vec::new(), found: BTreeMap::new() };
    model.visit(&mut gradients);
    (value, gradients.found)
}

/// Checks that no gradient is further from the reference than this share of its own norm, or of a thousandth of
/// all gradients' norm if that is more (key biases have a true gradient of zero).
fn gradients_agree<B: Train>(allowed: f64) {
    for name in MODELS {
        let (config, _) = open(&references().join(name));
        let file = Tensors::open(&references().join(format!("{name}.safetensors")));
        let theirs = |path: &str| {
            let stored = stored_name(&config, path);
            let (mut shape, mut values) = file.get(&format!("gradient.{}", stored.name));
            let [part, parts] = stored.part;
            shape[0] /= parts;
            let size = values.len() / parts;
            values = values[part * size..(part + 1) * size].to_vec();
            if !stored.transposed {
                return values;
            }
            let turned = (0..values.len()).map(|i| values[i % shape[0] * shape[1] + i / shape[0]]);
            turned.collect()
        };
        let norm = |values: &[f32]| values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        let parameters = config.parameters(&[HeadShape::linear(TAGS)]);
        let all: f64 = parameters.iter().map(|(path, _)| norm(&theirs(path)).powi(2)).sum::<f64>().sqrt();
        let stored = parameters.iter().map(|(path, _)| stored_name(&config, path).name);
        let stored: BTreeSet<String> = stored.collect();
        assert_eq!(file.names().len(), stored.len() + 1, "{name}: one gradient per parameter");

        let (loss, ours) = loss_and_gradients::<B>(name, &Vocabulary::full(config.vocabulary));
        let reference: serde_json::Value =
            serde_json::from_str(&common::text(&references().join(format!("{name}.json")))).unwrap();
        let far = (loss - reference["loss"].as_f64().unwrap()).abs();
        assert!(far <= 1e-5, "{name}: the loss is {far:e} away");
        let mut worst = (0.0, String::new());
        for (path, shape) in &parameters {
            let (ours, theirs) = (&ours[path], theirs(path));
            assert_eq!(ours.len(), shape.iter().product::<usize>(), "{path}");
            let away: Vec<f32> = ours.iter().zip(&theirs).map(|(a, b)| a - b).collect();
            let share = norm(&away) / norm(&theirs).max(1e-3 * all);
            assert!(
                share <= allowed * f64::from(margin(name)),
                "{name}: the gradient of {path} is {share:e} away"
            );
            if share > worst.0 {
                worst = (share, path.clone());
            }
        }
        println!("{name}: loss within {far:.1e}, gradients within {:.1e} ({})", worst.0, worst.1);
    }
}

#[test]
fn packed_gradients_equal_padded_ones_within_1e_5_on_flex() {
    gradients_agree::<Autodiff<Flex>>(1e-5);
}

#[test]
fn loss_and_every_gradient_on_ndarray() {
    gradients_agree::<Autodiff<NdArray>>(1e-5);
}

#[test]
fn a_compact_vocabulary_gives_the_same_loss_and_gradients() {
    for name in MODELS {
        let (config, _) = open(&references().join(name));
        let ids = sentences(name).into_iter().flat_map(|sentence| sentence.ids);
        let compact = Vocabulary::of(config.vocabulary, ids);
        assert!(compact.rows().len() < config.vocabulary, "no id is missing from the sentences");
        let (loss, ours) = loss_and_gradients::<Autodiff<Flex>>(name, &compact);
        let (full_loss, full) =
            loss_and_gradients::<Autodiff<Flex>>(name, &Vocabulary::full(config.vocabulary));
        assert_eq!(loss, full_loss);
        for (path, gradient) in &ours {
            if path == "encoder.embeddings.word" {
                let row =
                    |&id: &u32| full[path][id as usize * config.embedding..][..config.embedding].to_vec();
                assert_eq!(*gradient, compact.rows().iter().flat_map(row).collect::<Vec<_>>());
            } else {
                assert_eq!(gradient, &full[path], "{path}");
            }
        }
    }
}

/// Last hidden states of a folder's encoder against the reference of this name.
fn hidden_states_agree<B: Kernels>() {
    let packed = Packed::new(&sentences("bert")[..4]);
    let references_file = Tensors::open(&references().join("small.safetensors"));
    for kind in ["f16", "bf16", "sharded"] {
        let (config, weights) = open(&references().join(format!("small-{kind}")));
        let vocabulary = Vocabulary::full(config.vocabulary);
        let encoder =
            Encoder::<B>::build(&config, &vocabulary, [&weights, &weights], &B::Device::default()).unwrap();
        let hidden = encoder.forward(&config, &packed.input(&config), &Pass::plain(config.depth));
        let far = apart(&tensor_values(hidden), &references_file.get(kind).1);
        println!("{kind}: hidden states within {far:.1e}");
        assert!(far <= 1e-4, "{kind}: {far:e}");
    }
}

#[test]
fn half_precision_and_sharded_files() {
    hidden_states_agree::<Flex>();
    hidden_states_agree::<NdArray>();
}

#[test]
fn single_rows_equal_the_rows_of_the_table() {
    for kind in ["f16", "bf16", "sharded"] {
        let (config, weights) = open(&references().join(format!("small-{kind}")));
        let shape = [config.vocabulary, config.hidden];
        let all = weights.values("encoder.embeddings.word", &shape).unwrap();
        let some = weights.rows("encoder.embeddings.word", shape, &[3, 0, 70]).unwrap();
        let row = |id: usize| &all[id * shape[1]..][..shape[1]];
        assert_eq!(some, [row(3), row(0), row(70)].concat(), "{kind}");
    }
}

#[test]
fn the_prefix_of_the_family_may_be_missing() {
    for name in MODELS {
        let from = references().join(name);
        let (config, weights) = open(&from);
        let file = std::fs::read(from.join("model.safetensors")).unwrap();
        let file = safetensors::SafeTensors::deserialize(&file).unwrap();
        let (word, _) = hugging_face_name(&config, "encoder.embeddings.word");
        let prefix = word.split_inclusive('.').next().unwrap();
        let bare = file.tensors().into_iter().filter_map(|(name, view)| {
            let name = name.strip_prefix(prefix)?.to_string();
            Some((name, view))
        });
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("model.safetensors");
        std::fs::write(&place, safetensors::serialize(bare, None).unwrap()).unwrap();
        let bare = frostline_model::Checkpoint::open(&place, &config).unwrap();
        for (path, shape) in config.parameters(&[HeadShape::linear(TAGS)]) {
            assert_eq!(bare.has(&path), !path.starts_with("heads."), "{name}: {path}");
            if bare.has(&path) {
                let both = [&bare, &weights].map(|weights| weights.values(&path, &shape).unwrap());
                assert_eq!(both[0], both[1], "{name}: {path}");
            }
        }
    }
}

#[test]
fn a_missing_shard_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let from = references().join("small-sharded");
    let index = "model.safetensors.index.json";
    std::fs::copy(from.join(index), folder.path().join(index)).unwrap();
    let error = frostline_model::Checkpoint::open(&folder.path().join(index), frostline_model::Family::BERT);
    let message = error.err().unwrap().to_string();
    assert!(message.contains("model-00001-of-0000"), "{message}");
}

#[test]
fn a_tensor_is_in_the_one_shard_that_the_index_names() {
    let from = references().join("small-sharded");
    let index = "model.safetensors.index.json";
    let whole: serde_json::Value = serde_json::from_slice(&std::fs::read(from.join(index)).unwrap()).unwrap();
    let map = whole["weight_map"].as_object().unwrap();
    let (name, shard) = map.iter().next().unwrap();
    let other = map.values().find(|other| *other != shard).unwrap();
    let error = |value: serde_json::Value, copied: bool| {
        let folder = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(&from).unwrap().flatten() {
            std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
        if copied {
            std::fs::copy(from.join(shard.as_str().unwrap()), folder.path().join("copy.safetensors"))
                .unwrap();
        }
        let mut changed = whole.clone();
        changed["weight_map"][name] = value;
        std::fs::write(folder.path().join(index), changed.to_string()).unwrap();
        let opened =
            frostline_model::Checkpoint::open(&folder.path().join(index), frostline_model::Family::BERT);
        opened.err().map(|error| error.to_string())
    };
    assert_eq!(error(shard.clone(), false), None);
    let wrong = error(other.clone(), false).unwrap();
    assert!(wrong.contains(&format!("`{name}` in {}", other.as_str().unwrap())), "{wrong}");
    let twice = error("copy.safetensors".into(), true).unwrap();
    assert!(twice.contains("two tensors are `"), "{twice}");
    for odd in [serde_json::json!(null), serde_json::json!(1), serde_json::json!([shard])] {
        let message = error(odd, false).unwrap();
        assert!(message.contains(&format!("for `{name}`")), "{message}");
    }
}

/// Opens a model whose tensors have other names, with these files next to it.
fn open_renamed(rename: &dyn Fn(&str) -> Vec<String>, beside: &[&str]) -> Result<Checkpoint, String> {
    let from = references().join(MODELS[1]);
    let (config, _) = open(&from);
    let file = std::fs::read(from.join("model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&file).unwrap();
    let mut tensors = Vec::new();
    for (name, view) in file.tensors() {
        tensors.extend(rename(&name).into_iter().map(|name| (name, view.clone())));
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("model.safetensors");
    std::fs::write(&place, safetensors::serialize(tensors, None).unwrap()).unwrap();
    for name in beside {
        std::fs::write(folder.path().join(name), "{}").unwrap();
    }
    let checked = Checkpoint::open(&place, &config).and_then(|opened| {
        opened.check_shapes(&config)?;
        Ok(opened)
    });
    checked.map_err(|error| error.to_string().replace(&folder.path().display().to_string(), "FOLDER"))
}

#[test]
fn what_wrappers_add_to_names_is_left_out() {
    let (config, plain) = open(&references().join(MODELS[1]));
    let wrapped: [fn(&str) -> String; 5] = [
        |name| format!("module.{name}"),
        |name| format!("module._orig_mod.{name}"),
        |name| format!("_orig_mod.module.{name}"),
        |name| name.replace(".encoder.", "._fsdp_wrapped_module.encoder._checkpoint_wrapped_module."),
        |name| format!("base_model.model.{name}"),
    ];
    for rename in wrapped {
        let opened = open_renamed(&|name| vec![rename(name)], &[]).expect("the same tensors");
        for (path, shape) in config.parameters(&[HeadShape::linear(TAGS)]) {
            assert_eq!(opened.has(&path), plain.has(&path), "{path}");
            if plain.has(&path) {
                assert_eq!(opened.values(&path, &shape).unwrap(), plain.values(&path, &shape).unwrap());
            }
        }
    }
}

#[test]
fn weights_of_which_it_is_not_known_what_they_mean_are_refused() {
    let same = |name: &str| vec![name.to_string()];
    let lora = |name: &str| match name.strip_suffix("query.weight") {
        None => same(name),
        Some(layer) => ["base_layer.weight", "lora_A.default.weight", "lora_B.default.weight"]
            .map(|part| format!("base_model.model.{layer}query.{part}"))
            .to_vec(),
    };
    let twice = |name: &str| vec![name.to_string(), format!("module.{name}")];
    let elsewhere = |name: &str| vec![format!("auto_model.{name}")];
    let errors = [
        open_renamed(&lora, &[]),
        open_renamed(&twice, &[]),
        open_renamed(&elsewhere, &[]),
        open_renamed(&same, &["adapter_config.json"]),
        open_renamed(&same, &["adapter_model.bin"]),
    ]
    .map(|opened| opened.err().expect("an error"));
    let causes = [
        "belongs to a PEFT adapter that is not merged",
        "two tensors are `",
        "which the config requires; it has `auto_model.",
        "FOLDER/adapter_config.json lies in the same folder",
        "FOLDER/adapter_model.bin lies in the same folder",
    ];
    for (error, cause) in errors.iter().zip(causes) {
        assert!(error.contains(cause), "{error}");
    }
}

/// A model with a sentence head, written as the weights of a Hugging Face folder and built from them.
#[test]
fn sentence_heads_round_trip() {
    let kinds = [HeadKind::DistilBert, HeadKind::Pooler, HeadKind::Pooler, HeadKind::Pooler];
    for (name, kind) in MODELS.into_iter().zip(kinds) {
        let (config, weights) = open(&references().join(name));
        let vocabulary = Vocabulary::full(config.vocabulary);
        let heads = [HeadShape { kind, ..HeadShape::linear(3) }];
        let draw = RandomInit::new(9, 0.5);
        let device = Default::default();
        let model = Network::<Flex>::build(&config, &vocabulary, &heads, [&weights, &draw], &device).unwrap();
        let parameters = snapshot(&model);
        let export = HuggingFaceExport {
            config: &config,
            parameters: &parameters,
            head: 0,
            vocabulary: &vocabulary,
            source: &weights,
            other_rows: 1.0,
        };
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("model.safetensors");
        std::fs::write(&place, export.safetensors().unwrap()).unwrap();
        let saved = Checkpoint::open(&place, &config).unwrap();
        assert!(saved.has("head.weight"), "{name}");
        for (path, values) in &parameters {
            assert_eq!(saved.values(path, &values.shape).unwrap(), values.data, "{name}: {path}");
        }
        let again = Network::<Flex>::build(&config, &vocabulary, &heads, [&saved, &saved], &device).unwrap();
        assert_eq!(snapshot(&again), parameters, "{name}");
    }
}
