//! Writes the other files of a saved model's folder: the tokenizer's settings, and how training prepared words.
//! `frostline_tagger::ModelFolder` reads them.

use std::path::Path;

use anyhow::{Context, Result};
use frostline_align::Aligner;
use frostline_record::{Inputs, MODEL_SCHEMA, SavedModel, Settings};
use serde_json::{Map, Value, json};

use crate::data::TaskData;
use crate::inputs;

/// Copies the tokenizer's files.
///
/// `tokenizer_config.json` gets every setting that training used, so that Hugging Face's tools use it too if
/// their default differs.
pub(crate) fn write_tokenizer(folder: &Path, inputs: &Inputs) -> Result<()> {
    let write = |file: &str, text: &str| frostline_files::write(&folder.join(file), text.as_bytes());
    for (role, file) in [("tokenizer", "tokenizer.json"), ("vocabulary", "vocab.txt")] {
        if inputs.contains_key(role) {
            write(file, &inputs::text(inputs, role)?)?;
        }
    }
    if let Some(mut config) = inputs::tokenizer_config(inputs)? {
        if let Some(input) = inputs.get("tokenizer") {
            let tokenizer = inputs::text_of(input)?;
            agree(&mut config, &tokenizer).with_context(|| input.path.clone())?;
        }
        write("tokenizer_config.json", &(serde_json::to_string_pretty(&config)? + "\n"))?;
    }
    Ok(())
}

/// Writes `frostline.json`. `settings` are the last stage's settings, and `served` are the tasks that use the
/// saved head.
pub(crate) fn write_notes<'a>(
    folder: &Path,
    settings: &Settings,
    served: impl Iterator<Item = &'a TaskData>,
) -> Result<()> {
    let mut unit = frostline_record::Unit::Words;
    let tasks = served.map(|task| {
        unit = task.settings.unit();
        (task.name.to_string(), task.settings.labels.clone())
    });
    let saved = SavedModel {
        schema: MODEL_SCHEMA,
        tasks: tasks.collect(),
        unit,
        lowercase: settings.data.lowercase,
        max_length: settings.data.max_length,
        precision: settings.train.precision,
    };
    Ok(frostline_files::write(&folder.join(SavedModel::FILE), saved.text().as_bytes())?)
}

/// Writes the behaviour of the aligner of both files into the config.
fn agree(config: &mut Map<String, Value>, tokenizer: &str) -> Result<()> {
    let aligner = Aligner::from_files(tokenizer.as_bytes(), &serde_json::to_vec(&config)?)?;
    for (key, value) in aligner.bert_settings().into_iter().flatten() {
        config.insert(key.into(), json!(value));
    }
    // Words come one by one, and each starts with a space.
    let tokenizer: Value = serde_json::from_str(tokenizer)?;
    if tokenizer["pre_tokenizer"]["type"] == "ByteLevel" {
        config.insert("add_prefix_space".into(), json!(true));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a `tokenizer.json` with these parts.
    fn tokenizer(normalizer: Value, pre_tokenizer: Value) -> String {
        let model = json!({"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0}});
        json!({"version": "1.0", "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
            "post_processor": null, "decoder": null, "model": model})
        .to_string()
    }

    #[test]
    fn the_config_says_what_training_saw() {
        let agreed = |config: Value, tokenizer: &str| {
            let Value::Object(mut config) = config else { panic!("an object") };
            agree(&mut config, tokenizer).expect("a tokenizer");
            Value::Object(config)
        };
        let bert = json!({"type": "BertNormalizer", "clean_text": true, "lowercase": false,
            "handle_chinese_chars": true, "strip_accents": null});
        let bert = tokenizer(bert, json!({"type": "BertPreTokenizer"}));
        let settings = |lowercase: bool| json!({"do_lower_case": lowercase, "strip_accents": null, "tokenize_chinese_chars": true});
        // The config overrides the file; if it lacks the setting, the file decides.
        assert_eq!(agreed(json!({"do_lower_case": true}), &bert), settings(true));
        assert_eq!(agreed(json!({}), &bert), settings(false));
        let bytes = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true});
        let bytes = tokenizer(Value::Null, bytes);
        assert_eq!(agreed(json!({"add_prefix_space": false}), &bytes), json!({"add_prefix_space": true}));
        let marks = json!({"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true});
        assert_eq!(agreed(json!({}), &tokenizer(Value::Null, marks)), json!({}));
    }
}
