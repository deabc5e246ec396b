//! What a saved model's folder holds beside config and weights: the tokenizer's settings, and how
//! the training brought words to the model. It writes; `frostline_tagger::ModelFolder` reads.

use std::path::Path;

use anyhow::{Context, Result};
use frostline_record::{MODEL_SCHEMA, SavedModel, Settings};
use serde_json::{Map, Value, json};

use crate::data::TaskData;

/// Writes `tokenizer_config.json`, where the encoder's tokenizer has one beside it, and
/// `frostline.json`.
///
/// `settings` are those of the last stage; `served` are the tasks that use the saved head.
pub(crate) fn finish<'a>(
    folder: &Path,
    settings: &Settings,
    tokenizer: Option<&str>,
    served: impl Iterator<Item = &'a TaskData>,
) -> Result<()> {
    if let Some(path) = tokenizer
        && let Some(config) = tokenizer_config(path)?
    {
        frostline_files::write(&folder.join("tokenizer_config.json"), config.as_bytes())?;
    }
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

/// The `tokenizer_config.json` beside a `tokenizer.json`, nothing where there is none.
///
/// Training reads `tokenizer.json` alone. Where the config says otherwise, Hugging Face's tools
/// follow the config, so it is made to say what the training saw.
fn tokenizer_config(tokenizer: &str) -> Result<Option<String>> {
    let path = match tokenizer.rfind(['/', std::path::MAIN_SEPARATOR]) {
        Some(at) => format!("{}tokenizer_config.json", &tokenizer[..=at]),
        None => "tokenizer_config.json".into(),
    };
    // The config decides nothing that is computed here, so it is no input of the cell: one that is
    // not there is no fault.
    let Ok(text) = frostline_assets::read(&path) else { return Ok(None) };
    let mut config: Map<String, Value> =
        serde_json::from_slice(&text).with_context(|| format!("{path}: no JSON object; fix or delete it"))?;
    let tokenizer: Value =
        serde_json::from_slice(&frostline_assets::read(tokenizer)?).with_context(|| tokenizer.to_string())?;
    agree(&mut config, &tokenizer);
    Ok(Some(serde_json::to_string_pretty(&config)? + "\n"))
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

    #[test]
    fn a_tokenizer_without_a_config_stays_without() {
        assert_eq!(tokenizer_config("embedded:nowhere/tokenizer.json").unwrap(), None);
        let config = tokenizer_config("embedded:demo-distilbert/tokenizer.json").unwrap().unwrap();
        assert!(config.contains("tokenizer_class"), "{config}");
    }
}
