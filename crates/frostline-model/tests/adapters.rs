//! Exported LoRA and DoRA in Python's `peft`: each adapter has the bytes that `peft` opened once, and the model has the logits that
//! `peft` computed with it. `references/peft.json` keeps both; the ignored test writes it, with `peft` next to `transformers`:
//!
//! ```text
//! FROSTLINE_PYTHON=PYTHON cargo test -p frostline-model --test adapters -- --ignored
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::backend::Flex;
use frostline_model::{
    EncoderConfig, HeadKind, HeadShape, LoraShape, Matrix, Network, ParameterSource as _, Pass, PeftExport,
    RandomInit, Values, Vocabulary, replace, snapshot,
};
use frostline_random::mix64;
use serde::{Deserialize, Serialize};

mod common;
use common::{Packed, Peer, ReferenceSentence, apart, open, references, sentences, text};

/// Models whose files or blocks differ in what matters to adapters.
const MODELS: [&str; 10] = [
    "distilbert",
    "bert",
    "electra",
    "deberta-v2",
    "modernbert",
    "eurobert",
    "nomic_bert",
    "gte",
    "albert",
    "albert-groups",
];

/// What `peft` opened and computed.
#[derive(Debug, Deserialize, Serialize)]
struct Reference {
    /// A digest of the adapter's tensors and of its config.
    digest: String,
    /// All logits of a few sentences.
    logits: Vec<f32>,
}

fn reference_file() -> PathBuf {
    references().join("peft.json")
}

/// A model with adapters, exported: tensors, config, and the logits of a few sentences.
struct Exported {
    tensors: Vec<u8>,
    config: String,
    logits: Vec<f32>,
}

impl Exported {
    fn digest(&self) -> String {
        let bytes = self.tensors.iter().chain(self.config.as_bytes());
        format!("{:016x}", bytes.fold(1, |all, byte| mix64(all ^ u64::from(*byte))))
    }
}

fn some_sentences(name: &str) -> Vec<ReferenceSentence> {
    sentences(name)[..3].to_vec()
}

/// Returns LoRA in every layer of some blocks, or DoRA in queries and values alone.
fn lora_shape(config: &EncoderConfig, normed: bool) -> LoraShape {
    let all = || Matrix::ALL.into_iter().filter(|matrix| matrix.exists_in(config));
    // Blocks with the same weights have the same adapters.
    let first = if config.architecture.sharing.is_some() { 0 } else { 2 };
    let blocks: Vec<usize> = (first..config.depth).collect();
    LoraShape {
        rank: 2,
        alpha: 6.0,
        matrices: if normed { vec![Matrix::Query, Matrix::Value] } else { all().collect() },
        normed_blocks: if normed { blocks.clone() } else { Vec::new() },
        blocks,
    }
}

/// Returns a model's parameters with numbers in place of LoRA's zeros, and other norms than the weights'.
fn with_trained_adapters(parameters: BTreeMap<String, Values>) -> BTreeMap<String, Values> {
    let draw = RandomInit::new(8, 0.3);
    let train = |(path, mut values): (String, Values)| {
        let drawn = || draw.values(&format!("{path}.drawn"), &values.shape).unwrap();
        match path.rsplit_once(".lora.") {
            Some((_, "b")) => values.data = drawn(),
            Some((_, "magnitude")) => {
                let factors = drawn();
                values.data.iter_mut().zip(factors).for_each(|(norm, factor)| *norm *= 1.0 + 0.5 * factor);
            }
            _ => {}
        }
        (path, values)
    };
    parameters.into_iter().map(train).collect()
}

fn export(name: &str, normed: bool) -> Exported {
    let (mut config, weights) = open(&references().join(name));
    let lora = lora_shape(&config, normed);
    config.extras.lora = Some(lora.clone());
    let (added, vocabulary) = (RandomInit::new(4, 0.3), Vocabulary::full(config.vocabulary));
    let head = Head { weights: &weights, added: &added };
    let heads = [HeadShape::linear(5)];
    let model =
        Network::<Flex>::build(&config, &vocabulary, &heads, [&weights, &head], &Default::default()).unwrap();
    let parameters = with_trained_adapters(snapshot(&model));
    let model = replace(model, &parameters).unwrap();
    let peft = PeftExport {
        config: &config,
        parameters: &parameters,
        head: 0,
        kind: HeadKind::Linear,
        encoder: "base",
    };
    let mut packed = Packed::new(&some_sentences(name));
    packed.label_rows = (0..packed.ids.len() as u32).collect();
    let logits = model.forward(0, &config, &packed.input(&config), &Pass::plain(config.depth));
    Exported {
        tensors: peft.safetensors().unwrap(),
        config: peft.config(&lora),
        logits: logits.into_data().into_vec().unwrap(),
    }
}

/// The file's own head, and drawn numbers for what is added.
struct Head<'a> {
    weights: &'a frostline_model::Checkpoint,
    added: &'a RandomInit,
}

impl frostline_model::ParameterSource for Head<'_> {
    fn has(&self, path: &str) -> bool {
        self.weights.has(path)
    }

    fn values(&self, path: &str, shape: &[usize]) -> Result<Vec<f32>, frostline_model::ModelError> {
        if path.contains(".lora.") {
            self.added.values(path, shape)
        } else {
            self.weights.values(path, shape)
        }
    }
}

#[test]
fn adapters_are_those_that_peft_opened_with_the_same_logits() {
    let known: BTreeMap<String, Reference> = serde_json::from_str(&text(&reference_file())).unwrap();
    for name in MODELS {
        for normed in [false, true] {
            let case = case_name(name, normed);
            let exported = export(name, normed);
            let far = apart(&exported.logits, &known[&case].logits);
            println!("{case}: logits within {far:.1e} of peft");
            assert!(far <= 1e-4, "{case}: {far:e}");
            assert_eq!(exported.digest(), known[&case].digest, "{case}: peft has to open this adapter first");
        }
    }
}

fn case_name(name: &str, normed: bool) -> String {
    format!("{name} {}", if normed { "dora" } else { "lora" })
}

/// Opens every adapter in `peft` and keeps what it computed.
#[test]
#[ignore = "it writes the reference, and needs peft"]
fn write_the_reference() {
    let python = frostline_testing::python().expect("FROSTLINE_PYTHON names a Python with peft");
    let mut peer = Peer::start(&python);
    let mut known = BTreeMap::new();
    for name in MODELS {
        for normed in [false, true] {
            let exported = export(name, normed);
            let folder = tempfile::tempdir().unwrap();
            copy_model(name, folder.path());
            let adapter = folder.path().join("adapter");
            std::fs::create_dir(&adapter).unwrap();
            std::fs::write(adapter.join("adapter_model.safetensors"), &exported.tensors).unwrap();
            std::fs::write(adapter.join("adapter_config.json"), &exported.config).unwrap();
            let ids: Vec<Vec<u32>> = some_sentences(name).into_iter().map(|sentence| sentence.ids).collect();
            let logits: Vec<Vec<f32>> = peer.ask("peft", folder.path(), &ids);
            let logits = logits.concat();
            let far = apart(&exported.logits, &logits);
            println!("{}: logits within {far:.1e}", case_name(name, normed));
            assert!(far <= 1e-4, "{name} {normed}: {far:e}");
            known.insert(case_name(name, normed), Reference { digest: exported.digest(), logits });
        }
    }
    let lines = known.iter().map(|(case, reference)| {
        format!("{}: {}", serde_json::to_string(case).unwrap(), serde_json::to_string(reference).unwrap())
    });
    let lines: Vec<String> = lines.collect();
    std::fs::write(reference_file(), format!("{{\n{}\n}}\n", lines.join(",\n"))).unwrap();
}

fn copy_model(name: &str, to: &Path) {
    for file in ["config.json", "model.safetensors"] {
        std::fs::copy(references().join(name).join(file), to.join(file)).unwrap();
    }
}
