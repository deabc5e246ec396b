//! Exports LoRA matrices (and the norms of DoRA) with one head as a folder that Python's `peft` loads for the same encoder.

use std::collections::BTreeMap;

use serde_json::json;

use crate::checkpoint::transpose;
use crate::export::{name_in_model, put_part, safetensors_file};
use crate::family::Name;
use crate::linear::norms_of;
use crate::names::{Naming, StoredName, stored_name};
use crate::{EncoderConfig, HeadKind, LoraShape, Matrix, ModelError, Values};

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
            let (stored, transposed) = match path.split_once(".lora.") {
                Some((layer, "magnitude")) => (self.name_of_norms(layer), false),
                Some((layer, part)) => (self.name_of_lora(layer, part), true),
                None if path.starts_with(&this) => {
                    let stored = name_in_model(self.config, path, self.parameters, &this);
                    let transposed = stored.transposed;
                    (stored, transposed)
                }
                None => continue,
            };
            let (shape, data) = match transposed {
                true => (vec![shape[1], shape[0]], transpose(data, shape[0], shape[1])),
                false => (shape.clone(), data.clone()),
            };
            let (shape, data) = match path.ends_with(".lora.b") {
                true => beside_zeros(shape, &data, stored.part),
                false => (shape, data),
            };
            let bytes = data.iter().flat_map(|value| value.to_le_bytes()).collect();
            let name = format!("base_model.model.{}", stored.name);
            put_part(&mut tensors, StoredName { name, ..stored }, shape, bytes);
        }
        for (layer, norms) in self.other_norms() {
            let stored = self.name_of_norms(&layer);
            let name = format!("base_model.model.{}", stored.name);
            let bytes = norms.iter().flat_map(|norm| norm.to_le_bytes()).collect();
            put_part(&mut tensors, StoredName { name, ..stored }, vec![norms.len()], bytes);
        }
        let fail = |error: safetensors::SafeTensorError| ModelError::Weights {
            place: "adapter_model.safetensors".into(),
            reason: error.to_string(),
        };
        safetensors_file(&tensors).map_err(fail)
    }

    /// Returns the norms of layers without matrices that are in one tensor with layers whose norms are learned: PEFT gives norms to
    /// the whole tensor.
    fn other_norms(&self) -> Vec<(String, Vec<f32>)> {
        let Some(lora) = &self.config.extras.lora else { return Vec::new() };
        let layers = Naming::in_memory(self.config).layers();
        let has_matrices = |entry: &Name| lora.matrices.iter().any(|matrix| matrix.name() == entry.path);
        let is_joined =
            |entry: &Name| layers.iter().any(|other| other.name == entry.name && has_matrices(other));
        let others = || layers.iter().filter(|entry| !has_matrices(entry) && is_joined(entry));
        let owns = |block: &&usize| self.config.architecture.owns_weights(**block);
        let paths =
            lora.normed_blocks.iter().filter(owns).flat_map(|block| {
                others().map(move |entry| format!("encoder.blocks.{block}.{}", entry.path))
            });
        let norms = paths.filter_map(|layer| {
            let Values { shape, data } = self.parameters.get(&format!("{layer}.weight"))?;
            Some((layer, norms_of(data, shape[1]).into_iter().map(|norm| norm as f32).collect()))
        });
        norms.collect()
    }

    /// Returns the name of a low-rank matrix, `a` or `b`, of a linear layer. The matrices of layers that files have in one tensor
    /// are parts of two matrices of a rank as many times as high: those of the layers below each other, and zeros between them.
    fn name_of_lora(&self, layer: &str, matrix: &str) -> StoredName {
        let stored = stored_name(Naming::in_memory(self.config), &format!("{layer}.weight"));
        let stem = stored.name.strip_suffix(".weight").unwrap_or(&stored.name);
        StoredName { name: format!("{stem}.lora_{}.weight", matrix.to_uppercase()), ..stored }
    }

    /// Returns the name of the learned norms of a linear layer's columns.
    fn name_of_norms(&self, layer: &str) -> StoredName {
        let stored = stored_name(Naming::in_memory(self.config), &format!("{layer}.weight"));
        let stem = stored.name.strip_suffix(".weight").unwrap_or(&stored.name);
        StoredName { name: format!("{stem}.lora_magnitude_vector"), ..stored }
    }

    /// Returns the text of `adapter_config.json`.
    #[must_use]
    pub fn config(&self, lora: &LoraShape) -> String {
        let token = self.kind == HeadKind::Linear;
        let sentences = self.config.family.table().sentences.as_ref().filter(|_| !token);
        let dense = match sentences {
            Some(head) => head.saved,
            // The layer and the norm before the classifier.
            None => self.config.family.table().heads.iter().any(|head| head.path == "norm").then_some("head"),
        };
        let saved: Vec<&str> = ["classifier"].into_iter().chain(dense).collect();
        let mut text = json!({
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
        if !lora.normed_blocks.is_empty() {
            text["use_dora"] = true.into();
        }
        let joined = self.joined_ranks(lora);
        if !joined.is_empty() {
            let pattern = |factor: f64| -> serde_json::Map<String, serde_json::Value> {
                let value = |(name, parts): (&String, &usize)| (name.clone(), json!(factor * *parts as f64));
                joined.iter().map(value).collect()
            };
            text["alpha_pattern"] = pattern(lora.alpha).into();
            let ranks: serde_json::Map<String, serde_json::Value> =
                joined.iter().map(|(name, parts)| (name.clone(), json!(lora.rank * parts))).collect();
            text["rank_pattern"] = ranks.into();
        }
        serde_json::to_string_pretty(&text).expect("plain data always serialises")
    }

    /// Returns the layers that files have in one tensor and that have matrices, each with its number of parts.
    fn joined_ranks(&self, lora: &LoraShape) -> BTreeMap<String, usize> {
        let layers = Naming::in_memory(self.config).layers();
        let entries = layers.iter().filter(|entry| entry.part[1] > 1);
        let has = |entry: &&Name| lora.matrices.iter().any(|matrix| matrix.name() == entry.path);
        entries.filter(has).map(|entry| (entry.name.to_string(), entry.part[1])).collect()
    }

    /// Returns a regular expression for the full names of the layers that have matrices.
    fn target_pattern(&self, lora: &LoraShape) -> String {
        let naming = Naming::in_memory(self.config);
        let layer = |matrix: &Matrix| {
            let entry = naming.layers().iter().find(|entry| entry.path == matrix.name())?;
            Some(entry.name.replace('.', "\\."))
        };
        let mut layers: Vec<String> = lora.matrices.iter().filter_map(layer).collect();
        layers.dedup();
        let layers = layers.join("|");
        let owns = |block: &&usize| self.config.architecture.owns_weights(**block);
        let names = lora.blocks.iter().filter(owns).map(|block| naming.block(*block));
        if self.config.architecture.sharing.is_some() {
            let blocks: Vec<String> = names.map(|name| name.replace('.', "\\.")).collect();
            return format!(".*\\.({})\\.({layers})", blocks.join("|"));
        }
        let blocks: Vec<String> = lora.blocks.iter().map(ToString::to_string).collect();
        let list = naming.blocks().rsplit('.').next().unwrap_or_default();
        format!(".*\\.{list}\\.({})\\.({layers})", blocks.join("|"))
    }
}

/// Returns a part's matrix \[out, rank\] with zeros in the columns of the other parts, \[out, parts * rank\].
fn beside_zeros(shape: Vec<usize>, data: &[f32], [part, parts]: [usize; 2]) -> (Vec<usize>, Vec<f32>) {
    let [rows, rank] = [shape[0], shape[1]];
    let mut out = vec![0.0; rows * rank * parts];
    for (row, numbers) in out.chunks_exact_mut(rank * parts).zip(data.chunks_exact(rank)) {
        row[part * rank..(part + 1) * rank].copy_from_slice(numbers);
    }
    (vec![rows, rank * parts], out)
}
