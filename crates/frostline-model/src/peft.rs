//! Exports LoRA matrices with one head as a folder that Python's `peft` loads for the same encoder.

use std::collections::BTreeMap;

use serde_json::json;

use crate::checkpoint::transpose;
use crate::export::{safetensors_file, stored_name};
use crate::{EncoderConfig, Family, HeadKind, LoraShape, Matrix, ModelError, Values, hugging_face_name};

/// LoRA matrices and a head to be exported in `peft`'s format.
pub struct PeftExport<'a> {
    /// The encoder's shape, with LoRA among its extras.
    pub config: &'a EncoderConfig,
    /// The trained parameters, see [`crate::snapshot`].
    pub parameters: &'a BTreeMap<String, Values>,
    /// The index of the head to export.
    pub head: usize,
    /// The kind of the head.
    pub kind: HeadKind,
    /// The encoder's place for `peft`: a folder or a hub id.
    pub encoder: &'a str,
}

impl PeftExport<'_> {
    /// Returns the bytes of `adapter_model.safetensors`.
    ///
    /// # Errors
    /// If the tensors cannot be serialised.
    pub fn safetensors(&self) -> Result<Vec<u8>, ModelError> {
        let this = format!("heads.{}.", self.head);
        let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
        for (path, Values { shape, data }) in self.parameters {
            let (name, transposed) = match path.split_once(".lora.") {
                Some((layer, part)) => {
                    let (name, _) = hugging_face_name(self.config.family, &format!("{layer}.weight"));
                    let stem = name.strip_suffix(".weight").unwrap_or(&name).to_string();
                    (format!("{stem}.lora_{}.weight", part.to_uppercase()), true)
                }
                None if path.starts_with(&this) => {
                    stored_name(self.config.family, path, self.parameters, &this)
                }
                None => continue,
            };
            let (shape, data) = match transposed {
                true => (vec![shape[1], shape[0]], transpose(data, shape[0], shape[1])),
                false => (shape.clone(), data.clone()),
            };
            let bytes = data.iter().flat_map(|value| value.to_le_bytes()).collect();
            tensors.push((format!("base_model.model.{name}"), shape, bytes));
        }
        let fail = |error: safetensors::SafeTensorError| ModelError::Weights {
            place: "adapter_model.safetensors".into(),
            reason: error.to_string(),
        };
        safetensors_file(&tensors).map_err(fail)
    }

    /// Returns the text of `adapter_config.json`.
    #[must_use]
    pub fn config(&self, lora: &LoraShape) -> String {
        let token = self.kind == HeadKind::Linear;
        let dense = match self.config.family {
            _ if token => None,
            Family::DistilBert => Some("pre_classifier"),
            Family::Bert => Some("pooler"),
            // RoBERTa's dense layer is part of the classifier.
            Family::Roberta => None,
        };
        let saved: Vec<&str> = ["classifier"].into_iter().chain(dense).collect();
        let text = json!({
            "peft_type": "LORA",
            "task_type": if token { "TOKEN_CLS" } else { "SEQ_CLS" },
            "base_model_name_or_path": self.encoder,
            "r": lora.rank,
            "lora_alpha": lora.alpha,
            "lora_dropout": 0.0,
            "bias": "none",
            "fan_in_fan_out": false,
            "inference_mode": true,
            "init_lora_weights": true,
            "target_modules": self.target_pattern(lora),
            "modules_to_save": saved,
        });
        serde_json::to_string_pretty(&text).expect("plain data always serialises")
    }

    /// Returns a regular expression for the full names of the layers that have matrices.
    fn target_pattern(&self, lora: &LoraShape) -> String {
        let layer = |matrix: Matrix| {
            let path = format!("encoder.blocks.0.{}.weight", matrix.name());
            let (name, _) = hugging_face_name(self.config.family, &path);
            let after = name.split_once(".layer.0.").map_or(name.as_str(), |(_, after)| after);
            after.strip_suffix(".weight").unwrap_or(after).replace('.', "\\.")
        };
        let blocks: Vec<String> = lora.blocks.iter().map(ToString::to_string).collect();
        let layers: Vec<String> = lora.matrices.iter().map(|&matrix| layer(matrix)).collect();
        format!(".*\\.layer\\.({})\\.({})", blocks.join("|"), layers.join("|"))
    }
}
