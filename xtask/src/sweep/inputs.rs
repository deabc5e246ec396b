//! Where a study's inputs come from: found, read, hashed and checked once, before any cell.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use frostline_freeze::Policy;
use frostline_record::{Init, Input, Inputs, Settings, sha256};

use crate::args::SweepArgs;
use crate::fault::{Blame as _, Result};
use crate::sweep::study::Study;

/// All inputs of a study, by the name its settings use.
#[derive(Debug)]
pub(crate) struct Sources {
    /// By language.
    pub treebanks: BTreeMap<String, Treebank>,
    /// By encoder name.
    pub encoders: BTreeMap<String, Encoder>,
}

/// A treebank's files.
#[derive(Debug)]
pub(crate) struct Treebank {
    /// As the plan names it.
    pub name: String,
    /// Where it came from, in words.
    pub origin: String,
    /// `train`, `dev` and, where there is one, `test`.
    pub files: Inputs,
    /// Sentences by split.
    pub sentences: BTreeMap<String, usize>,
}

/// An encoder's files.
#[derive(Debug)]
pub(crate) struct Encoder {
    /// Where it came from, in words.
    pub origin: String,
    /// `config`, `tokenizer` or `vocabulary`, and `weights` where a cell needs them.
    pub files: Inputs,
    /// Its blocks.
    pub blocks: usize,
}

/// Finds, hashes and checks what the study reads.
pub(crate) fn find(study: &Study, args: &SweepArgs) -> Result<Sources> {
    let mut sources = Sources { treebanks: BTreeMap::new(), encoders: BTreeMap::new() };
    let places = Places { data: args.data.clone(), models: args.models.clone() };
    for settings in &study.settings {
        let name = &settings.encoder.name;
        if !sources.encoders.contains_key(name) {
            let weights =
                study.settings.iter().any(|s| s.encoder.name == *name && s.encoder.init == Init::Pretrained);
            let encoder = encoder(&places, name, weights).environment()?;
            sources.encoders.insert(name.clone(), encoder);
        }
        Policy::parse(&settings.policy, sources.encoders[name].blocks).plan()?;
    }
    let need_test = study.settings.iter().any(|settings| settings.eval.test);
    for settings in &study.settings {
        if !sources.treebanks.contains_key(&settings.lang) {
            let name = &study.plan.treebanks[&settings.lang];
            let treebank = treebank(&places, name, need_test).environment()?;
            sources.treebanks.insert(settings.lang.clone(), treebank);
        }
    }
    Ok(sources)
}

impl Sources {
    /// What a cell with these settings reads.
    pub(crate) fn inputs(&self, settings: &Settings) -> Inputs {
        let treebank = &self.treebanks[&settings.lang].files;
        let encoder = &self.encoders[&settings.encoder.name].files;
        let needed = |role: &str| match role {
            "weights" => settings.encoder.init == Init::Pretrained,
            "test" => settings.eval.test,
            _ => true,
        };
        treebank
            .iter()
            .chain(encoder)
            .filter(|(role, _)| needed(role))
            .map(|(role, input)| (role.clone(), input.clone()))
            .collect()
    }
}

struct Places {
    data: Option<PathBuf>,
    models: Option<PathBuf>,
}

fn folder(root: Option<&PathBuf>, name: &str) -> PathBuf {
    root.map_or_else(|| PathBuf::from(name), |root| root.join(name))
}

fn treebank(places: &Places, name: &str, need_test: bool) -> anyhow::Result<Treebank> {
    let folder = folder(places.data.as_ref(), name);
    let mut treebank = Treebank {
        name: name.into(),
        origin: "given folder".into(),
        files: Inputs::new(),
        sentences: BTreeMap::new(),
    };
    for split in ["train", "dev", "test"] {
        let file = std::fs::read_dir(&folder)
            .with_context(|| format!("no treebank at {}", folder.display()))?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| path.to_string_lossy().ends_with(&format!("{split}.conllu")));
        let Some(path) = file else {
            if split == "test" && !need_test {
                continue;
            }
            bail!("{}: no {split} split", folder.display());
        };
        let (input, bytes) = read(&path)?;
        let sentences = sentences(&input.path, &bytes)?;
        treebank.files.insert(split.into(), input);
        treebank.sentences.insert(split.into(), sentences);
    }
    Ok(treebank)
}

/// Parses a split as its cells will, so that a bad line is told before any of them starts.
fn sentences(path: &str, bytes: &[u8]) -> anyhow::Result<usize> {
    let mut count = 0;
    for sentence in frostline_conllu::read_strict(bytes, frostline_conllu::Checks::default()) {
        sentence.map_err(|fault| anyhow!("{}", fault.at(path)))?;
        count += 1;
    }
    if count == 0 {
        bail!("{path}: the split has no sentence; expected at least one");
    }
    Ok(count)
}

fn encoder(places: &Places, name: &str, weights: bool) -> anyhow::Result<Encoder> {
    let folder = folder(places.models.as_ref(), name);
    let mut files = Inputs::new();
    let (config, bytes) = read(&folder.join("config.json"))?;
    let blocks = blocks(&config.path, &bytes)?;
    files.insert("config".into(), config);
    let tokenizer = folder.join("tokenizer.json");
    if tokenizer.exists() {
        files.insert("tokenizer".into(), read(&tokenizer)?.0);
    } else {
        files.insert("vocabulary".into(), read(&folder.join("vocab.txt"))?.0);
    }
    if weights {
        files.insert("weights".into(), read(&folder.join("model.safetensors"))?.0);
    }
    Ok(Encoder { origin: "given folder".into(), files, blocks })
}

/// The depth that an encoder's config states, whichever family it is of.
fn blocks(path: &str, bytes: &[u8]) -> anyhow::Result<usize> {
    let config: serde_json::Value = serde_json::from_slice(bytes).with_context(|| path.to_string())?;
    ["n_layers", "num_hidden_layers"]
        .iter()
        .find_map(|key| config.get(key)?.as_u64())
        .map(|blocks| blocks as usize)
        .ok_or_else(|| {
            anyhow!("{path}: neither `n_layers` nor `num_hidden_layers` says how many blocks there are")
        })
}

fn read(path: &Path) -> anyhow::Result<(Input, Vec<u8>)> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    let path = std::path::absolute(path)?;
    let input = Input { path: path.display().to_string(), sha256: sha256(&bytes), bytes: bytes.len() as u64 };
    Ok((input, bytes))
}
