//! Writes a model folder as ONNX, with the files that loaders of ONNX models expect next to it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use frostline_files::{FileError, Writer};
use frostline_model::HeadKind;
use frostline_onnx::{MOST_INSIDE, OnnxExport, OnnxModel};
use frostline_record::{Precision, Record, SavedModel, Unit};
use frostline_tagger::ModelFolder;
use serde_json::{Value, json};

use crate::card::{self, ModelForm};
use crate::export::{check_new, write_folder};

/// The places of files in the new folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnnxLayout {
    /// Everything in one folder, as optimum has it.
    Optimum,
    /// The models in `onnx/`, as transformers.js has it.
    TransformersJs,
}

/// How a model is written.
#[derive(Clone, Copy, Debug)]
pub struct OnnxOptions {
    /// The places of files.
    pub layout: OnnxLayout,
    /// Whether to write the model in dynamic int8, too.
    pub quantize: bool,
}

/// The model is an encoder alone.
#[derive(Debug, thiserror::Error)]
#[error("{}: the weights hold no classifier, so there are no logits to export; give a trained tagger", .0.display())]
pub struct NoClassifier(pub PathBuf);

/// The files that were written, and what else a user of them should know.
#[derive(Debug)]
pub struct OnnxFiles {
    /// The names from the new folder, with the size of each model.
    ///
    /// # Units
    /// Bytes.
    pub files: Vec<(String, Option<u64>)>,
    /// Whether the model was trained on lowercased words.
    pub lowercase: bool,
    /// Whether linear layers were trained in a precision other than f32, in which ONNX computes.
    pub rounded: bool,
}

/// The files next to a model that are copied as they are, if they exist: the tokenizer, and how training prepared words.
const COPIED: [&str; 8] = [
    TOKENIZER,
    TOKENIZER_CONFIG,
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    SavedModel::FILE,
];

const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const TOKENIZER_CONFIG: &str = "tokenizer_config.json";

/// The names of the model in f32 and in int8 without their ending.
const NAMES: [&str; 2] = ["model", "model_quantized"];

/// The largest `config.json` that is read.
///
/// # Units
/// Bytes.
const MOST_CONFIG: u64 = 16 << 20;

/// Writes the model of a folder to the new folder `out`, with a model card if the folder is the headline task's of a cell with
/// this record.
///
/// # Errors
/// If the model has no classifier ([`NoClassifier`]) or a file that the layout needs is missing, a weight cannot be read, `out`
/// contains files ([`crate::export::OutputExists`]) or cannot be written.
pub fn export_onnx(
    folder: &ModelFolder,
    record: Option<&Record>,
    out: &Path,
    options: OnnxOptions,
) -> Result<OnnxFiles> {
    if !folder.has_head() {
        return Err(NoClassifier(folder.place.clone()).into());
    }
    check_new(out)?;
    folder.check()?;
    let is_web = options.layout == OnnxLayout::TransformersJs;
    let copied = list_copied(folder, is_web)?;
    let saved = SavedModel::read(&folder.place)?;
    let saved = saved.as_ref();
    let of_sentences =
        folder.head().kind != HeadKind::Linear || saved.is_some_and(|saved| saved.unit == Unit::Sentences);
    let models = make_models(folder, of_sentences, options.quantize)?;
    let large = models.iter().filter(|(_, model)| is_web && is_large(model));
    let large: Vec<String> = large.map(|(name, _)| format!("{name}.onnx")).collect();
    let config = config_text(folder, of_sentences, &large)?;
    let form = if is_web { ModelForm::TransformersJs } else { ModelForm::Onnx };
    let card = record.map(|record| card::text_in_form(record, form)).transpose()?;
    let mut files = Vec::new();
    write_folder(out, |part| {
        let inner = if is_web { "onnx/" } else { "" };
        frostline_files::create_folder(&part.join(inner))?;
        for (name, model) in &models {
            let written = write_model(&part.join(inner), name, model)?;
            files.extend(written.into_iter().map(|(name, bytes)| (format!("{inner}{name}"), bytes)));
        }
        frostline_files::write(&part.join(CONFIG), config.as_bytes())?;
        files.push((CONFIG.into(), None));
        if let Some(card) = &card {
            frostline_files::write(&part.join(card::FILE), card.as_bytes())?;
            files.push((card::FILE.into(), None));
        }
        for name in copied {
            frostline_files::copy(&folder.place.join(name), &part.join(name))?;
            files.push((name.into(), None));
        }
        Ok(())
    })?;
    let lowercase = saved.is_some_and(|saved| saved.lowercase);
    Ok(OnnxFiles { files, lowercase, rounded: saved.is_some_and(|saved| saved.precision != Precision::F32) })
}

/// Returns the files of a model's folder that are copied.
fn list_copied(folder: &ModelFolder, is_web: bool) -> Result<Vec<&'static str>> {
    let copied: Vec<&str> = COPIED.into_iter().filter(|name| folder.place.join(name).is_file()).collect();
    let needed = [TOKENIZER, TOKENIZER_CONFIG];
    if let Some(name) = needed.into_iter().find(|name| is_web && !copied.contains(name)) {
        bail!(
            "{}: it has no {name}, which transformers.js reads; in Python, write it with \
             `AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)`",
            folder.place.display()
        );
    }
    Ok(copied)
}

/// Returns the model in f32 and, if it is asked for, in int8, with the names of their files.
fn make_models(
    folder: &ModelFolder,
    of_sentences: bool,
    quantize: bool,
) -> Result<Vec<(&'static str, OnnxModel)>> {
    let (config, head, weights) = (&folder.config, &folder.head(), &folder.weights);
    let model = OnnxExport { config, head, of_sentences, weights }.model()?;
    let whole = quantize.then(|| (NAMES[1], model.quantized()));
    Ok([(NAMES[0], model)].into_iter().chain(whole).collect())
}

fn is_large(model: &OnnxModel) -> bool {
    model.weight_bytes() > MOST_INSIDE
}

/// Writes `NAME.onnx` and, for a large model, `NAME.onnx_data` with its weights. Returns names and sizes.
fn write_model(folder: &Path, name: &str, model: &OnnxModel) -> Result<Vec<(String, Option<u64>)>> {
    let (name, data) = (format!("{name}.onnx"), format!("{name}.onnx_data"));
    let (path, data_path) = (folder.join(&name), folder.join(&data));
    let mut file = Writer::create(&path)?;
    let mut names = vec![name];
    if is_large(model) {
        let mut second = Writer::create(&data_path)?;
        model.write_in_two(&mut file, &data, &mut second).map_err(FileError::of(&data_path))?;
        second.finish()?;
        names.push(data);
    } else {
        model.write(&mut file).map_err(FileError::of(&path))?;
    }
    file.finish()?;
    let sized = |name: String| {
        let bytes = folder.join(&name).metadata().map(|about| about.len()).ok();
        (name, bytes)
    };
    Ok(names.into_iter().map(sized).collect())
}

/// Returns the model's `config.json`. A head for words that labels sentences becomes a sentence classifier: its logits are those
/// of the first position alone. `large` are the models whose weights are in a second file.
fn config_text(folder: &ModelFolder, of_sentences: bool, large: &[String]) -> Result<String> {
    let place = folder.place.join(CONFIG);
    let text = frostline_files::read_text(&place, MOST_CONFIG)?;
    let mut config: Value = serde_json::from_str(&text).with_context(|| place.display().to_string())?;
    let object = config.as_object_mut().ok_or_else(|| anyhow!("{}: not a JSON object", place.display()))?;
    if of_sentences {
        let renamed = |class: &String| class.replace("ForTokenClassification", "ForSequenceClassification");
        let classes: Vec<String> = folder.architectures.iter().map(renamed).collect();
        object.insert("architectures".into(), json!(classes));
    }
    if !large.is_empty() {
        let outside: serde_json::Map<String, Value> =
            large.iter().map(|name| (name.clone(), json!(true))).collect();
        object.insert("transformers.js_config".into(), json!({"use_external_data_format": outside}));
    }
    Ok(serde_json::to_string_pretty(&config)? + "\n")
}
