//! A study's inputs: found, read, hashed and checked once, before any cell is started.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow, bail};
use frostline_assets::{AssetError, DatasetFiles, Format, Origin, Places, read};
use frostline_conllu::{Checks, Fault, FaultKind, foreign, parse_iob2, parse_labelled, read_strict};
use frostline_freeze::Blocks;
use frostline_record::{Cell, Init, Input, Inputs, Settings, sha256};

use crate::fault::{Blame as _, CommandResult};
use crate::fetch::local_data;
use crate::program::Program;
use crate::request::InputFolders;
use crate::study::PlannedStudy;

/// All inputs of a study, by the names that its settings use.
#[derive(Debug)]
pub(crate) struct StudyInputs {
    /// By language.
    pub treebanks: BTreeMap<String, TreebankInput>,
    /// By encoder name.
    pub encoders: BTreeMap<String, EncoderInput>,
}

/// A treebank's files.
#[derive(Debug)]
pub(crate) struct TreebankInput {
    /// The dataset's name in the plan.
    pub name: String,
    /// Where it was found.
    pub origin: Origin,
    /// `train`, `dev` and, if there is one, `test`.
    pub files: Inputs,
    /// The format of the files.
    pub format: Format,
    /// The number of sentences by split.
    pub sentences: BTreeMap<String, usize>,
}

/// An encoder's files.
#[derive(Debug)]
pub(crate) struct EncoderInput {
    /// Where it was found.
    pub origin: Origin,
    /// `config`, `tokenizer` or `vocabulary`, and `weights` if a cell needs them.
    pub files: Inputs,
    /// The blocks.
    pub blocks: Blocks,
    /// SHA-256 of what the config says of the model, see [`hash_config`].
    pub config: String,
}

/// The most blocks of an encoder; the deepest in use have about a hundred.
const MOST_BLOCKS: u64 = 4096;

/// Finds, hashes and checks what the study reads. It also replaces the policies `subsets` and `greedy` by sets of
/// blocks, since the encoder's depth is known only here.
pub(crate) fn find_inputs(study: &mut PlannedStudy, folders: &InputFolders) -> CommandResult<StudyInputs> {
    check_folders(study, folders).blame_plan()?;
    let data = local_data(folders.data.as_deref())?;
    let places = Places::new(data, folders.models.clone()).unpacked().blame_environment()?;
    // Weights are hashed while treebanks are parsed.
    let (encoders, treebanks) =
        rayon::join(|| find_encoders(study, &places), || find_treebanks(study, &places));
    let encoders = encoders.blame_environment()?;
    study.expand_block_sets(&encoders.values().map(|encoder| encoder.blocks.depth()).collect())?;
    check_policies(study, &encoders)?;
    let treebanks = treebanks.blame_environment()?;
    for settings in study.grid.of_langs() {
        for (name, task) in &settings.tasks {
            check_treebank(&treebanks[settings.dataset_of(task)], &settings, name, &task.labels)
                .blame_environment()?;
        }
    }
    Ok(StudyInputs { treebanks, encoders })
}

/// Finds the study's encoders, each with weights if a cell reads them.
fn find_encoders(study: &PlannedStudy, places: &Places) -> anyhow::Result<BTreeMap<String, EncoderInput>> {
    let mut found = BTreeMap::new();
    for settings in study.grid.variants() {
        let name = &settings.encoder.name;
        if !found.contains_key(name) {
            let reads = |s: &Settings| s.encoder.name == *name && s.encoder.init == Init::Pretrained;
            let weights = study.grid.variants().any(|settings| reads(&settings));
            found.insert(name.clone(), find_encoder(places, name, weights)?);
        }
    }
    Ok(found)
}

/// Finds the datasets of the study's tasks.
fn find_treebanks(study: &PlannedStudy, places: &Places) -> anyhow::Result<BTreeMap<String, TreebankInput>> {
    let mut found = BTreeMap::new();
    for settings in study.grid.of_langs() {
        for lang in settings.tasks.values().map(|task| settings.dataset_of(task)) {
            if !found.contains_key(lang) {
                let reads = Reads::reads_of_study(study, lang);
                found.insert(lang.into(), find_treebank(places, &study.plan.treebanks[lang], reads)?);
            }
        }
    }
    Ok(found)
}

/// Checks that a dataset has what a task of a cell needs.
fn check_treebank(
    treebank: &TreebankInput,
    settings: &Settings,
    task: &str,
    labels: &str,
) -> anyhow::Result<()> {
    let TreebankInput { name, files, format, .. } = treebank;
    let wanted = format_of(labels);
    if *format != wanted {
        bail!(
            "{name}: the task `{task}` learns `{labels}`, which {} files have, but these are {} files; give another dataset or other labels",
            wanted.name(),
            format.name()
        );
    }
    if settings.data.cut_dev > 0.0 && !files.contains_key("train") {
        bail!(
            "{name}: no train file, so no dev split can be cut from it; set data.cut_dev=0, and data.train_from_dev \
             decides what is trained on"
        );
    }
    let cut = settings.data.cut_test > 0.0;
    if settings.eval.test && !cut && !files.contains_key("test") {
        bail!(
            "{name}: no test split, but `eval.test` asks for its score; add the file, cut one from train with \
             data.cut_test=0.1, or set eval.test=false"
        );
    }
    Ok(())
}

/// Checks that all policies fit their encoders.
fn check_policies(study: &PlannedStudy, encoders: &BTreeMap<String, EncoderInput>) -> CommandResult<()> {
    for settings in study.grid.variants() {
        let own = settings.tasks.iter().filter(|(_, task)| task.shares.is_empty());
        let heads: Vec<&str> = own.map(|(name, _)| name.as_str()).collect();
        for (_, stage) in settings.in_stages().blame_plan()? {
            let blocks = &encoders[&settings.encoder.name].blocks;
            stage.policy.resolve(blocks.clone().in_any_order(), &heads).blame_plan()?;
        }
    }
    Ok(())
}

/// Checks that a folder that was given is one in which something is looked for.
fn check_folders(study: &PlannedStudy, folders: &InputFolders) -> anyhow::Result<()> {
    let embedded = |name: &str| name.starts_with(frostline_assets::embedded::PREFIX);
    let plan = &study.plan.name;
    if folders.data.is_some() && study.plan.treebanks.values().all(|name| embedded(name)) {
        bail!(
            "--data would not be read: all datasets of the plan `{plan}` are embedded; leave it out, or choose another \
             plan, as with --plan paper"
        );
    }
    if folders.models.is_some() && study.grid.variants().all(|settings| embedded(&settings.encoder.name)) {
        bail!(
            "--models would not be read: all encoders of the plan `{plan}` are embedded; leave it out, or name an encoder \
             in that folder with --encoder NAME"
        );
    }
    Ok(())
}

impl StudyInputs {
    /// Makes the study's cells, each with the files that it reads.
    pub(crate) fn make_cells(&self, study: &PlannedStudy, program: &Program) -> Vec<Cell> {
        study.grid.iter().map(|settings| self.make_cell(study, program, settings)).collect()
    }

    /// Makes a cell with these settings.
    pub(crate) fn make_cell(&self, study: &PlannedStudy, program: &Program, settings: Settings) -> Cell {
        let inputs = self.inputs_of_cell(&settings);
        let depth = self.encoders[&settings.encoder.name].blocks.depth();
        let orders = study.block_orders.orders_of_cell(&settings, depth);
        let cell = Cell::new(settings, inputs, &study.backend.to_string(), &program.about.code);
        if orders.is_empty() { cell } else { cell.with_block_orders(orders) }
    }

    /// How many sentences a dataset's train file has, if there is one.
    pub(crate) fn train_sentences(&self, dataset: &str) -> Option<usize> {
        let found = self.treebanks.get(dataset)?;
        found.files.contains_key("train").then(|| found.sentences.get("train").copied())?
    }

    /// Returns the files that a cell with these settings reads.
    pub(crate) fn inputs_of_cell(&self, settings: &Settings) -> Inputs {
        let needed = |role: &str| match role {
            _ if role.starts_with("weights") => settings.encoder.init == Init::Pretrained,
            "test" => settings.eval.test && settings.data.cut_test == 0.0,
            "dev" => settings.data.cut_dev == 0.0,
            _ => true,
        };
        let encoder = &self.encoders[&settings.encoder.name].files;
        let encoder = encoder.iter().map(|(role, input)| (role.clone(), role.clone(), input));
        let of_tasks = settings.tasks.values().flat_map(|task| {
            let dataset = settings.dataset_of(task);
            let files = self.treebanks[dataset].files.iter();
            files.map(move |(split, input)| (split.clone(), settings.role(dataset, split), input))
        });
        let all = of_tasks.chain(encoder).filter(|(kind, ..)| needed(kind));
        all.map(|(_, role, input)| (role, input.clone())).collect()
    }
}

/// The format of the files that contain these labels.
fn format_of(labels: &str) -> Format {
    match labels {
        "entity" => Format::Iob2,
        "label" => Format::Labelled,
        _ => Format::Conllu,
    }
}

/// Which files of a dataset some cell reads, besides train.
#[derive(Clone, Copy, Debug)]
struct Reads {
    dev: bool,
    test: bool,
}

impl Reads {
    /// Returns what the study's cells read of a dataset.
    fn reads_of_study(study: &PlannedStudy, lang: &str) -> Self {
        let uses =
            |settings: &Settings| settings.tasks.values().any(|task| settings.dataset_of(task) == lang);
        let mut reads = Self { dev: false, test: false };
        for settings in study.grid.of_langs().filter(uses) {
            reads.dev |= settings.data.cut_dev == 0.0;
            reads.test |= settings.eval.test && settings.data.cut_test == 0.0;
        }
        reads
    }
}

/// Finds a dataset, and checks that every split can be parsed and has a sentence. A test file without labels, as
/// GLUE's, is left out if no cell reads it.
fn find_treebank(places: &Places, name: &str, reads: Reads) -> anyhow::Result<TreebankInput> {
    let found = places.dataset_cut(name, !reads.dev);
    let DatasetFiles { name, origin, format, mut sources, .. } = found.map_err(|error| {
        let cut = match &error {
            AssetError::NoSplit { split: "dev", .. } => {
                "; or cut a dev split from train with --set data.cut_dev=0.1, or for one language with --set langs.NAME.data.cut_dev=0.1"
            }
            _ => "",
        };
        anyhow!("{error}{cut}")
    })?;
    let mut sentences = BTreeMap::new();
    if let Some(test) = sources.get("test")
        && has_no_labels(&test.path, format)?
    {
        if reads.test {
            bail!(
                "{}: it has sentences but no labels, and `eval.test` asks for its score; cut a test split from train with \
                 --set data.cut_test=0.1, or leave it out with --set eval.test=false",
                test.path
            );
        }
        sources.remove("test");
    }
    for (split, source) in &sources {
        sentences.insert(split.clone(), count_sentences(&source.path, format)?);
    }
    Ok(TreebankInput { name, origin, format, files: inputs_of(sources), sentences })
}

/// Whether a file has sentences but no labels, as GLUE's test files.
fn has_no_labels(path: &str, format: Format) -> anyhow::Result<bool> {
    let bytes = read(path)?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let first = || parse_labelled(text).next();
    Ok(format == Format::Labelled
        && matches!(first(), Some(Err(Fault { kind: FaultKind::LabelledWithoutLabels, .. }))))
}

/// Counts the sentences of a split. It is parsed as the cells will parse it, so that a bad line is found before any
/// of them starts.
fn count_sentences(path: &str, format: Format) -> anyhow::Result<usize> {
    let bytes = read(path)?;
    if let Some(foreign) = foreign(&bytes) {
        bail!("{path}: {foreign}");
    }
    let text = || std::str::from_utf8(&bytes).with_context(|| format!("{path}: not UTF-8; convert it"));
    let fault = |fault: Fault| anyhow!("{}", fault.at(path));
    let count = match format {
        Format::Conllu => {
            count_all(read_strict(&bytes, Checks::default()).map(|found| found.map_err(fault)))?
        }
        Format::Iob2 => count_all(parse_iob2(text()?).map(|found| found.map_err(fault)))?,
        Format::Labelled => count_all(parse_labelled(text()?).map(|found| found.map_err(fault)))?,
    };
    if count == 0 {
        bail!("{path}: the split has 0 sentences; expected at least one");
    }
    Ok(count)
}

/// The number of items, or the first error.
fn count_all<T>(mut found: impl Iterator<Item = anyhow::Result<T>>) -> anyhow::Result<usize> {
    found.try_fold(0, |count, one| one.map(|_| count + 1))
}

fn find_encoder(places: &Places, name: &str, weights: bool) -> anyhow::Result<EncoderInput> {
    let found = places.encoder(name, weights)?;
    let path = &found.sources["config"].path;
    let config = serde_json::from_slice(&read(path)?).with_context(|| format!("{path}: not JSON"))?;
    let depth = count_blocks(path, &config)?;
    let blocks = Blocks::new(depth, local_blocks(&config, depth)).with_sharing(shared_spans(&config, depth));
    let config = hash_config(config);
    Ok(EncoderInput { origin: found.origin, files: inputs_of(found.sources), blocks, config })
}

/// Keys of a config that describe a model's origin or later use, and not what it computes.
const DESCRIPTIVE: [&str; 8] = [
    "_name_or_path",
    "architectures",
    "dtype",
    "id2label",
    "label2id",
    "torch_dtype",
    "transformers_version",
    "use_cache",
];

/// Returns a hash of a config without [`DESCRIPTIVE`] keys. Layout and the order of keys do not count.
fn hash_config(mut config: serde_json::Value) -> String {
    if let Some(all) = config.as_object_mut() {
        all.retain(|key, _| !DESCRIPTIVE.contains(&key.as_str()));
        all.sort_keys();
    }
    sha256(config.to_string().as_bytes())
}

/// Returns the number of blocks in an encoder's config, under the key of any supported family.
fn count_blocks(path: &str, config: &serde_json::Value) -> anyhow::Result<usize> {
    ["n_layers", "num_hidden_layers"]
        .iter()
        .find_map(|key| config.get(key)?.as_u64())
        .map(|layers| layers.saturating_mul(blocks_in_layer(config)))
        .map(|blocks| match blocks {
            1..=MOST_BLOCKS => Ok(blocks as usize),
            _ => bail!("{path}: the config says {blocks} blocks, expected 1 to {MOST_BLOCKS}"),
        })
        .ok_or_else(|| {
            anyhow!(
                "{path}: neither `n_layers` (DistilBERT) nor `num_hidden_layers` (BERT, RoBERTa, XLM-R) says how many blocks there are; give an encoder of one of these families"
            )
        })
        .flatten()
}

/// The blocks of a config that attend to a window alone: as it lists them, or all but every so many.
fn local_blocks(config: &serde_json::Value, blocks: usize) -> Vec<usize> {
    if let Some(types) = config.get("layer_types").and_then(|types| types.as_array()) {
        let is_local = |block: &usize| types.get(*block).is_some_and(|kind| *kind == "sliding_attention");
        return (0..blocks).filter(is_local).collect();
    }
    let period = config.get("global_attn_every_n_layers").map(|period| period.as_u64());
    // A window without a period has the period that `transformers` assumes.
    let period = period.or_else(|| config.get("local_attention").map(|_| Some(3)));
    match period.flatten() {
        Some(period @ 2..) => (0..blocks).filter(|block| !(*block as u64).is_multiple_of(period)).collect(),
        _ => Vec::new(),
    }
}

/// Returns the number of blocks that a layer of a config has: one, except in some models of ALBERT.
fn blocks_in_layer(config: &serde_json::Value) -> u64 {
    config.get("inner_group_num").and_then(serde_json::Value::as_u64).unwrap_or(1).max(1)
}

/// Returns how many blocks use a group of weights, and of how many blocks it has the weights; 1 and 1 if a config shares none.
fn shared_spans(config: &serde_json::Value, depth: usize) -> [usize; 2] {
    if config.get("model_type").is_none_or(|found| *found != "albert") {
        return [1, 1];
    }
    let groups = config.get("num_hidden_groups").and_then(serde_json::Value::as_u64).unwrap_or(1);
    [(depth / groups.max(1) as usize).max(1), blocks_in_layer(config) as usize]
}

fn inputs_of(sources: frostline_assets::Sources) -> Inputs {
    let input = |source: frostline_assets::Source| Input {
        path: source.path,
        sha256: source.sha256,
        bytes: source.bytes,
    };
    sources.into_iter().map(|(role, source)| (role, input(source))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same groups as `frostline-model` reads from such configs.
    #[test]
    fn blocks_of_albert_share_weights() {
        let spans = |text: &str| {
            let config = serde_json::from_str(text).expect("JSON");
            shared_spans(&config, count_blocks("config.json", &config).expect("a number"))
        };
        assert_eq!(spans(r#"{"model_type": "bert", "num_hidden_layers": 3}"#), [1, 1]);
        assert_eq!(spans(r#"{"model_type": "albert", "num_hidden_layers": 3}"#), [3, 1]);
        let groups = r#"{"model_type": "albert", "num_hidden_layers": 4, "num_hidden_groups": 2, "inner_group_num": 2}"#;
        assert_eq!(spans(groups), [4, 2]);
    }

    /// Data that are not text in UTF-8 are refused with the cause, in every format, before a cell starts.
    #[test]
    fn data_that_are_no_text_name_the_cause() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("train");
        let path = path.to_str().expect("a Unicode path");
        let text = "1\tice\tB-X\t_\n\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (bytes, cause) in [
            (b"\x1f\x8b\x08\0".to_vec(), "this is a gzip file; decompress it"),
            (little, "UTF-16 (little-endian)"),
            (text.replace('\n', "\r").into_bytes(), "a carriage return alone"),
            (Vec::new(), "0 sentences"),
        ] {
            std::fs::write(path, bytes).expect("written");
            for format in [Format::Conllu, Format::Iob2, Format::Labelled] {
                let error = count_sentences(path, format).expect_err("no text").to_string();
                assert!(error.contains(path) && error.contains(cause), "{error}");
            }
        }
        std::fs::write(path, "i\u{fffd}e\tcold\n").expect("written");
        assert_eq!(count_sentences(path, Format::Labelled).expect("read"), 1);
    }
}
