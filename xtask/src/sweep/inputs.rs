//! Where a study's inputs come from: found, read, hashed and checked once, before any cell.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow, bail};
use frostline_assets::{Origin, Places, read};
use frostline_conllu::{Checks, read_strict};
use frostline_freeze::Policy;
use frostline_record::{Init, Input, Inputs, Settings};

use crate::args::SweepArgs;
use crate::fault::{Blame as _, Result, environment};
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
    /// How it got here.
    pub origin: Origin,
    /// `train`, `dev` and, where there is one, `test`.
    pub files: Inputs,
    /// Sentences by split.
    pub sentences: BTreeMap<String, usize>,
}

/// An encoder's files.
#[derive(Debug)]
pub(crate) struct Encoder {
    /// How it got here.
    pub origin: Origin,
    /// `config`, `tokenizer` or `vocabulary`, and `weights` where a cell needs them.
    pub files: Inputs,
    /// Its blocks.
    pub blocks: usize,
}

/// Finds, hashes and checks what the study reads.
pub(crate) fn find(study: &Study, args: &SweepArgs) -> Result<Sources> {
    let mut sources = Sources { treebanks: BTreeMap::new(), encoders: BTreeMap::new() };
    let places = Places::new(args.data.clone(), args.models.clone());
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
    for settings in &study.settings {
        let lang = &settings.lang;
        if !sources.treebanks.contains_key(lang) {
            let treebank = treebank(&places, &study.plan.treebanks[lang]).environment()?;
            sources.treebanks.insert(lang.clone(), treebank);
        }
        let files = &sources.treebanks[lang].files;
        if settings.eval.test && !files.contains_key("test") {
            return environment(format!(
                "{}: no test split, but `eval.test` asks for its score; add the file or set eval.test=false",
                study.plan.treebanks[lang]
            ));
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
            _ if role.starts_with("weights") => settings.encoder.init == Init::Pretrained,
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

/// A treebank, each of whose splits parses and has a sentence.
fn treebank(places: &Places, name: &str) -> anyhow::Result<Treebank> {
    let found = places.treebank(name)?;
    let mut sentences = BTreeMap::new();
    for (split, source) in &found.sources {
        sentences.insert(split.clone(), count(&source.path)?);
    }
    Ok(Treebank { name: found.name, origin: found.origin, files: inputs_of(found.sources), sentences })
}

/// Parses a split as its cells will, so that a bad line is told before any of them starts.
fn count(path: &str) -> anyhow::Result<usize> {
    let bytes = read(path)?;
    let mut count = 0;
    for sentence in read_strict(&bytes, Checks::default()) {
        sentence.map_err(|fault| anyhow!("{}", fault.at(path)))?;
        count += 1;
    }
    if count == 0 {
        bail!("{path}: the split has 0 sentences; expected at least one");
    }
    Ok(count)
}

fn encoder(places: &Places, name: &str, weights: bool) -> anyhow::Result<Encoder> {
    let found = places.encoder(name, weights)?;
    let blocks = blocks(&found.sources["config"].path)?;
    Ok(Encoder { origin: found.origin, files: inputs_of(found.sources), blocks })
}

/// The depth that an encoder's config states, whichever family it is of.
fn blocks(path: &str) -> anyhow::Result<usize> {
    let config: serde_json::Value =
        serde_json::from_slice(&read(path)?).with_context(|| format!("{path}: no JSON"))?;
    ["n_layers", "num_hidden_layers"]
        .iter()
        .find_map(|key| config.get(key)?.as_u64())
        .map(|blocks| blocks as usize)
        .ok_or_else(|| {
            anyhow!(
                "{path}: neither `n_layers` (DistilBERT) nor `num_hidden_layers` (BERT) says how many blocks there are; give an encoder of one of these families"
            )
        })
}

fn inputs_of(sources: frostline_assets::Sources) -> Inputs {
    let input = |source: frostline_assets::Source| Input {
        path: source.path,
        sha256: source.sha256,
        bytes: source.bytes,
    };
    sources.into_iter().map(|(role, source)| (role, input(source))).collect()
}
