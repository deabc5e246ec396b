//! Shared by the tests: the committed models and their references, packed sentences, and the peer.
#![allow(dead_code)] // every test binary uses its own part

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use frostline_kernels::Pack;
use frostline_model::{Checkpoint, EncoderConfig, PackedInput};
use safetensors::SafeTensors;
use serde::Deserialize;

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

/// A sentence of `sentences.json`.
#[derive(Clone, Deserialize)]
pub struct ReferenceSentence {
    pub words: Vec<String>,
    pub ids: Vec<u32>,
    #[serde(rename = "speaking")]
    pub label_positions: Vec<u32>,
    pub labels: Vec<u32>,
}

/// Returns the folder with everything `make.py` wrote.
pub fn references() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/references")
}

pub fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the sentences in a model's subwords, which are the same for DistilBERT and BERT.
pub fn sentences(name: &str) -> Vec<ReferenceSentence> {
    let own = references().join(format!("sentences-{name}.json"));
    let path = if own.exists() { own } else { references().join("sentences.json") };
    serde_json::from_str(&text(&path)).unwrap()
}

/// Returns a Hugging Face folder, opened.
pub fn open(folder: &Path) -> (EncoderConfig, Checkpoint) {
    let place = folder.join("config.json");
    let config = EncoderConfig::parse(&text(&place), &place.display().to_string()).unwrap();
    let index = folder.join("model.safetensors.index.json");
    let weights = if index.exists() { index } else { folder.join("model.safetensors") };
    let checkpoint = Checkpoint::open(&weights, &config).unwrap();
    checkpoint.check(&config).unwrap();
    (config, checkpoint)
}

/// Reference tensors by name.
pub struct Tensors(Vec<u8>);

impl Tensors {
    pub fn open(path: &Path) -> Self {
        Self(std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    /// Returns a tensor's shape and numbers.
    pub fn get(&self, name: &str) -> (Vec<usize>, Vec<f32>) {
        let file = SafeTensors::deserialize(&self.0).unwrap();
        let view = file.tensor(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(view.dtype(), safetensors::Dtype::F32);
        let quads = view.data().as_chunks::<4>().0;
        (view.shape().to_vec(), quads.iter().map(|quad| f32::from_le_bytes(*quad)).collect())
    }

    pub fn names(&self) -> Vec<String> {
        let file = SafeTensors::deserialize(&self.0).unwrap();
        file.names().into_iter().map(String::from).collect()
    }
}

/// A packed batch of sentences.
pub struct Packed {
    pub ids: Vec<u32>,
    pub pack: Pack,
    pub label_rows: Vec<u32>,
    pub labels: Vec<u32>,
}

impl Packed {
    pub fn new(sentences: &[ReferenceSentence]) -> Self {
        let lengths: Vec<usize> = sentences.iter().map(|sentence| sentence.ids.len()).collect();
        let numbers: Vec<u64> = (0..sentences.len() as u64).collect();
        let (mut ids, mut label_rows, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for sentence in sentences {
            let start = ids.len() as u32;
            label_rows.extend(sentence.label_positions.iter().map(|position| start + position));
            labels.extend(&sentence.labels);
            ids.extend(&sentence.ids);
        }
        Self { ids, pack: Pack::new(&lengths, &numbers), label_rows, labels }
    }

    pub fn input(&self, config: &EncoderConfig) -> PackedInput {
        PackedInput::new(config, self.pack.clone(), self.ids.clone(), self.label_rows.clone())
    }
}

/// Returns the largest distance between two lists of numbers.
pub fn apart(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let far = |(a, b): (&f32, &f32)| (a - b).abs();
    a.iter().zip(b).map(far).fold(0.0, |most, far| if far > most || far.is_nan() { far } else { most })
}

/// `transformers` in a process of its own, which takes seconds to start.
pub struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    pub fn start(python: &Path) -> Self {
        let mut child = Command::new(python)
            .arg(references().join("peer.py"))
            .env("HF_HUB_OFFLINE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", python.display()));
        let (requests, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, requests, answers: BufReader::new(answers) }
    }

    /// Returns what peer.py calls `mode`, for each of the sentences.
    pub fn ask<T: serde::de::DeserializeOwned>(
        &mut self,
        mode: &str,
        folder: &Path,
        sentences: &impl serde::Serialize,
    ) -> Vec<T> {
        let request = serde_json::to_string(&(mode, folder, sentences)).unwrap();
        writeln!(self.requests, "{request}").expect("peer.py runs");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        assert!(!answer.is_empty(), "peer.py failed");
        serde_json::from_str(&answer).unwrap()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
