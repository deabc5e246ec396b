//! Writes the other files of a saved model's folder: the tokenizer's settings, and how training prepared words.
//! `frostline_tagger::ModelFolder` reads them.

use std::path::Path;

use anyhow::{Context, Result};
use frostline_align::Aligner;
use frostline_record::{Inputs, MODEL_SCHEMA, SavedModel, Settings};
use serde_json::{Map, Value, json};

use crate::data::TaskData;
use crate::inputs;

/// Writes the tokenizer's files.
///
/// Both get every setting that training used, so that Hugging Face's tools use it too if their default differs.
pub(crate) fn write_tokenizer(folder: &Path, inputs: &Inputs) -> Result<()> {
    let write = |file: &str, text: &str| frostline_files::write(&folder.join(file), text.as_bytes());
    if inputs.contains_key("vocabulary") {
        write("vocab.txt", &inputs::text(inputs, "vocabulary")?)?;
    }
    let mut config = inputs::tokenizer_config(inputs)?;
    if let Some(input) = inputs.get("tokenizer") {
        let tokenizer = inputs::text_of(input)?;
        let (tokenizer, agreed) = adapt_files(config.clone().unwrap_or_default(), &tokenizer)
            .with_context(|| input.path.clone())?;
        write("tokenizer.json", &tokenizer)?;
        config = config.and(Some(agreed));
    }
    if let Some(config) = config {
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

/// Returns both files with the aligner's behaviour written into them: the text of `tokenizer.json`, and the config.
fn adapt_files(mut config: Map<String, Value>, tokenizer: &str) -> Result<(String, Map<String, Value>)> {
    let aligner = Aligner::from_files(tokenizer.as_bytes(), &serde_json::to_vec(&config)?)?;
    for (key, value) in aligner.bert_settings().into_iter().flatten() {
        config.insert(key.into(), json!(value));
    }
    let mut file: Value = serde_json::from_str(tokenizer)?;
    // Words come one by one, and each starts with a space. Loaders of a few families ignore the config's setting.
    if file["pre_tokenizer"]["type"] == "ByteLevel" {
        config.insert("add_prefix_space".into(), json!(true));
        file["pre_tokenizer"]["add_prefix_space"] = json!(true);
    } else if aligner.adds_spaces() {
        let mut steps = vec![json!({"type": "Prepend", "prepend": " "})];
        match file["normalizer"].take() {
            Value::Null => {}
            normalizer => steps.push(normalizer),
        }
        file["normalizer"] = json!({"type": "Sequence", "normalizers": steps});
    } else {
        return Ok((tokenizer.into(), config));
    }
    Ok((serde_json::to_string(&file)?, config))
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
            let Value::Object(config) = config else { panic!("an object") };
            Value::Object(adapt_files(config, tokenizer).expect("a tokenizer").1)
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

    #[test]
    fn the_file_starts_each_word_as_in_training() {
        let words = ["lo", "lo", "low"];
        let file = |pre_tokenizer: Value| {
            let vocab = json!({"l": 0, "o": 1, "w": 2, "\u{120}": 3, "\u{120}l": 4, "u": 5});
            let model = json!({"type": "BPE", "unk_token": "u", "vocab": vocab, "merges": ["\u{120} l"]});
            json!({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": pre_tokenizer,
                "post_processor": null, "decoder": null, "model": model})
            .to_string()
        };
        let bytes =
            json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
        let split =
            json!({"type": "Split", "pattern": {"String": "-"}, "behavior": "Isolated", "invert": false});
        let sequence = json!({"type": "Sequence", "pretokenizers": [split, bytes]});
        for pre_tokenizer in [bytes, sequence] {
            let before = file(pre_tokenizer);
            let (after, _) = adapt_files(Map::new(), &before).expect("a tokenizer");
            // What `tokenizers` makes of the file by itself, as other programs use it.
            let plain: tokenizers::Tokenizer = after.parse().expect("a tokenizer");
            let theirs = plain.encode(words.to_vec(), false).expect("encoded");
            assert_eq!(theirs.get_ids(), [4, 1, 4, 1, 4, 1, 2]);
            let ours = Aligner::from_files(after.as_bytes(), b"{}").expect("a tokenizer");
            let mut ids = vec![];
            for word in words {
                ids.extend(ours.align(&[word]).expect("aligned").ids);
            }
            assert_eq!(ids, theirs.get_ids());
        }
    }
}
