//! Writes a model folder as ONNX, with the files that loaders of ONNX models expect next to it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, ensure};
use frostline_files::{FileError, Writer};
use frostline_model::HeadKind;
use frostline_onnx::{MOST_INSIDE, OnnxExport, OnnxModel};
use frostline_record::{Precision, SavedModel, Unit};
use frostline_tagger::ModelFolder;
use serde_json::{Value, json};

use crate::export::write_folder;

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

/// Writes the model of a folder to the new folder `out`.
///
/// # Errors
/// If the model has no classifier ([`NoClassifier`]) or a file that the layout needs is missing, a weight cannot be read, `out` contains files
/// ([`crate::export::OutputExists`]) or cannot be written.
pub fn export_onnx(folder: &ModelFolder, out: &Path, options: OnnxOptions) -> Result<OnnxFiles> {
    let place = folder.place.display();
    if !folder.has_head() {
        return Err(NoClassifier(folder.place.clone()).into());
    }
    folder.check()?;
    let saved = SavedModel::read(&folder.place)?;
    let head = folder.head();
    let of_sentences =
        head.kind != HeadKind::Linear || saved.as_ref().is_some_and(|saved| saved.unit == Unit::Sentences);
    let mut copied: Vec<&str> = COPIED.into_iter().filter(|name| folder.place.join(name).is_file()).collect();
    let is_web = options.layout == OnnxLayout::TransformersJs;
    ensure!(
        !is_web || copied.contains(&TOKENIZER),
        "{place}: it has no {TOKENIZER}, which transformers.js reads; in Python, write it with \
         `AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)`"
    );
    let export = OnnxExport { config: &folder.config, head: &head, of_sentences, weights: &folder.weights };
    let model = export.model()?;
    let models: Vec<(&str, OnnxModel)> = match options.quantize {
        true => {
            let whole = model.quantized();
            vec![(NAMES[0], model), (NAMES[1], whole)]
        }
        false => vec![(NAMES[0], model)],
    };
    let large: Vec<String> =
        models.iter().filter(|(_, model)| is_large(model)).map(|(name, _)| format!("{name}.onnx")).collect();
    let config = config_text(folder, of_sentences, if is_web { &large } else { &[] })?;
    let mut files = Vec::new();
    write_folder(out, |part| {
        let inner = if is_web { "onnx/" } else { "" };
        frostline_files::create_folder(&part.join(inner))?;
        for (name, model) in &models {
            files.extend(write_model(&part.join(inner), name, model)?);
        }
        files.iter_mut().for_each(|(name, _)| name.insert_str(0, inner));
        frostline_files::write(&part.join(CONFIG), config.as_bytes())?;
        for name in &copied {
            frostline_files::copy(&folder.place.join(name), &part.join(name))?;
        }
        if is_web && !copied.contains(&TOKENIZER_CONFIG) {
            // transformers.js reads it even if it says nothing.
            frostline_files::write(&part.join(TOKENIZER_CONFIG), b"{}\n")?;
            copied.push(TOKENIZER_CONFIG);
        }
        Ok(())
    })?;
    copied.push(CONFIG);
    copied.sort_unstable();
    files.extend(copied.into_iter().map(|name| (name.to_string(), None)));
    let saved = saved.as_ref();
    Ok(OnnxFiles {
        files,
        lowercase: saved.is_some_and(|saved| saved.lowercase),
        rounded: saved.is_some_and(|saved| saved.precision != Precision::F32),
    })
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
