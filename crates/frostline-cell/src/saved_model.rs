//! What a saved model's folder holds beside config and weights: the tokenizer's settings, and how
//! the training brought words to the model. It writes; `frostline_tagger::ModelFolder` reads.

use std::path::Path;

use anyhow::{Context, Result};
use frostline_record::{Inputs, MODEL_SCHEMA, SavedModel, Settings};
use serde_json::{Map, Value, json};

use crate::data::TaskData;
use crate::inputs;

/// Copies the tokenizer's files.
///
/// Training reads `tokenizer.json` alone. Where `tokenizer_config.json` says otherwise, Hugging Face's tools follow that,
/// so it is made to say what the training saw.
pub(crate) fn write_tokenizer(folder: &Path, inputs: &Inputs) -> Result<()> {
    let write = |file: &str, text: &str| frostline_files::write(&folder.join(file), text.as_bytes());
    for (role, file) in [("tokenizer", "tokenizer.json"), ("vocabulary", "vocab.txt")] {
        if inputs.contains_key(role) {
            write(file, &inputs::text(inputs, role)?)?;
        }
    }
    if let Some(mut config) = inputs::tokenizer_config(inputs)? {
        if let Some(input) = inputs.get("tokenizer") {
            let tokenizer = serde_json::from_str(&inputs::text_of(input)?);
            agree(&mut config, &tokenizer.with_context(|| input.path.clone())?);
        }
        write("tokenizer_config.json", &(serde_json::to_string_pretty(&config)? + "\n"))?;
    }
    Ok(())
}

/// Writes `frostline.json`. `settings` are those of the last stage, `served` the tasks that use the saved head.
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

/// Takes over into the config what `tokenizer.json` says of the same settings.
fn agree(config: &mut Map<String, Value>, tokenizer: &Value) {
    let normalizer = &tokenizer["normalizer"];
    if normalizer["type"] == "BertNormalizer" {
        let keys = [
            ("do_lower_case", "lowercase"),
            ("strip_accents", "strip_accents"),
            ("tokenize_chinese_chars", "handle_chinese_chars"),
        ];
        for (ours, theirs) in keys {
            config.insert(ours.into(), normalizer[theirs].clone());
        }
    }
    // Words come one by one, and each starts with a space.
    if tokenizer["pre_tokenizer"]["type"] == "ByteLevel" {
        config.insert("add_prefix_space".into(), json!(true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_config_says_what_training_saw() {
        let agreed = |config: Value, tokenizer: Value| {
            let Value::Object(mut config) = config else { panic!("an object") };
            agree(&mut config, &tokenizer);
            Value::Object(config)
        };
        let bert = json!({"normalizer": {"type": "BertNormalizer", "lowercase": false,
            "handle_chinese_chars": true, "strip_accents": null}});
        assert_eq!(
            agreed(json!({"do_lower_case": true, "model_max_length": 9}), bert),
            json!({"do_lower_case": false, "strip_accents": null, "tokenize_chinese_chars": true,
                "model_max_length": 9})
        );
        let bytes = json!({"normalizer": null, "pre_tokenizer": {"type": "ByteLevel"}});
        assert_eq!(agreed(json!({"add_prefix_space": false}), bytes), json!({"add_prefix_space": true}));
        let other = json!({"normalizer": {"type": "Sequence"}, "pre_tokenizer": {"type": "Metaspace"}});
        assert_eq!(agreed(json!({}), other), json!({}));
    }
}
