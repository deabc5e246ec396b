//! Exports a trained encoder with one of its heads as the files of a Hugging Face folder.

use std::collections::BTreeMap;

use safetensors::{Dtype, tensor::TensorView};
use serde_json::{Value, json};

use crate::checkpoint::transpose;
use crate::families::class_of_type;
use crate::names::{StoredName, sentence_name, stored_name};
use crate::{
    EncoderConfig, FactorSide, Family, HeadKind, Matrix, ModelError, ParameterSource, Values, Vocabulary,
};

/// A trained model to be exported in Hugging Face's format.
pub struct HuggingFaceExport<'a> {
    /// The encoder's shape.
    pub config: &'a EncoderConfig,
    /// The trained parameters, see [`crate::snapshot`].
    pub parameters: &'a BTreeMap<String, Values>,
    /// The index of the head to export.
    pub head: usize,
    /// The rows of the word table that were trained.
    pub vocabulary: &'a Vocabulary,
    /// The initial values of all other rows.
    pub source: &'a dyn ParameterSource,
    /// The factor of all other rows: the product of the steps' weight decays, 1 if the table was
    /// frozen.
    pub other_rows: f64,
}

impl HuggingFaceExport<'_> {
    /// Returns the bytes of `model.safetensors`, f32, under Hugging Face's names. LoRA is merged into the
    /// weights.
    ///
    /// # Errors
    /// If the source lacks the word table, or if adapters or a mix were added, which Hugging Face's
    /// format cannot represent.
    pub fn safetensors(&self) -> Result<Vec<u8>, ModelError> {
        let place = || "model.safetensors".to_string();
        if let Some(path) =
            self.parameters.keys().find(|path| path.contains(".adapter.") || path.starts_with("mix."))
        {
            let reason = format!(
                "Hugging Face's format cannot represent `{path}`; export a model without adapters and mix"
            );
            return Err(ModelError::Weights { place: place(), reason });
        }
        let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
        let this = format!("heads.{}.", self.head);
        let chosen = |path: &str| !path.starts_with("heads.") || path.starts_with(&this);
        let parameters = merged(self.parameters, self.config);
        for (path, Values { shape, data }) in parameters.iter().filter(|(path, _)| chosen(path)) {
            let stored = name_in_model(self.config, path, self.parameters, &this);
            let (shape, data) = if path == "encoder.embeddings.word" {
                (vec![self.config.vocabulary, self.config.embedding], self.word_table(data)?)
            } else if stored.transposed {
                (vec![shape[1], shape[0]], transpose(data, shape[0], shape[1]))
            } else {
                (shape.clone(), data.clone())
            };
            put_part(
                &mut tensors,
                stored,
                shape,
                data.iter().flat_map(|value| value.to_le_bytes()).collect(),
            );
        }
        safetensors_file(&tensors)
            .map_err(|error| ModelError::Weights { place: place(), reason: error.to_string() })
    }

    /// Returns the full word table: the trained rows, and all others with their weight decay.
    fn word_table(&self, trained: &[f32]) -> Result<Vec<f32>, ModelError> {
        let h = self.config.embedding;
        let mut table = self.source.values("encoder.embeddings.word", &[self.config.vocabulary, h])?;
        if self.other_rows != 1.0 {
            for value in &mut table {
                *value = (f64::from(*value) * self.other_rows) as f32;
            }
        }
        for (row, &id) in self.vocabulary.rows().iter().enumerate() {
            table[id as usize * h..][..h].copy_from_slice(&trained[row * h..][..h]);
        }
        Ok(table)
    }
}

/// Returns a model's parameters with what was added to linear layers merged into their weights and biases: LoRA's matrices,
/// the norms of columns (DoRA) and factors (IA3).
#[must_use]
pub fn merged(parameters: &BTreeMap<String, Values>, config: &EncoderConfig) -> BTreeMap<String, Values> {
    let own = |(path, _): &(&String, &Values)| !path.contains(".lora.") && !path.contains(".ia3.");
    let mut out: BTreeMap<String, Values> =
        parameters.iter().filter(own).map(|(path, values)| (path.clone(), values.clone())).collect();
    for path in parameters.keys() {
        if let Some(layer) = path.strip_suffix(".lora.a") {
            merge_matrices(layer, parameters, config, &mut out);
        }
    }
    for (path, factors) in parameters {
        if let Some(layer) = path.strip_suffix(".ia3.factors") {
            merge_factors(layer, &factors.data, &mut out);
        }
    }
    out
}

/// Adds the low-rank product to a layer's weight, and gives its columns the learned norms if there are some.
fn merge_matrices(
    layer: &str,
    parameters: &BTreeMap<String, Values>,
    config: &EncoderConfig,
    out: &mut BTreeMap<String, Values>,
) {
    let part = |name: &str| parameters.get(&format!("{layer}.lora.{name}"));
    let (Some(lora), Some(a), Some(b)) = (&config.extras.lora, part("a"), part("b")) else { return };
    let Some(weight) = out.get_mut(&format!("{layer}.weight")) else { return };
    let columns = b.shape[1];
    for (row, numbers) in weight.data.chunks_exact_mut(columns).enumerate() {
        for (column, number) in numbers.iter_mut().enumerate() {
            let term =
                |k: usize| f64::from(a.data[row * lora.rank + k]) * f64::from(b.data[k * columns + column]);
            *number += (lora.scale() * (0..lora.rank).map(term).sum::<f64>()) as f32;
        }
    }
    let Some(magnitude) = part("magnitude") else { return };
    let norms = crate::linear::norms_of(&weight.data, columns);
    let ratios: Vec<f64> =
        magnitude.data.iter().zip(norms).map(|(learned, norm)| f64::from(*learned) / norm).collect();
    scale_columns(&mut weight.data, &ratios);
}

/// Multiplies a layer's weight and bias by the factors of its output, or the weight by the factors of its input.
fn merge_factors(layer: &str, factors: &[f32], out: &mut BTreeMap<String, Values>) {
    let factors: Vec<f64> = factors.iter().copied().map(f64::from).collect();
    let matrix = Matrix::ALL.into_iter().find(|matrix| layer.ends_with(&format!(".{}", matrix.name())));
    let of_input = matrix.and_then(Matrix::ia3_side) == Some(FactorSide::Input);
    let Some(weight) = out.get_mut(&format!("{layer}.weight")) else { return };
    if of_input {
        let columns = weight.shape[1];
        for (row, factor) in weight.data.chunks_exact_mut(columns).zip(&factors) {
            row.iter_mut().for_each(|number| *number = (f64::from(*number) * factor) as f32);
        }
        return;
    }
    scale_columns(&mut weight.data, &factors);
    if let Some(bias) = out.get_mut(&format!("{layer}.bias")) {
        scale_columns(&mut bias.data, &factors);
    }
}

/// Multiplies each column of a matrix by its factor.
fn scale_columns(data: &mut [f32], factors: &[f64]) {
    for row in data.chunks_exact_mut(factors.len()) {
        row.iter_mut()
            .zip(factors)
            .for_each(|(number, factor)| *number = (f64::from(*number) * factor) as f32);
    }
}

/// Adds a tensor, or a part of one: the parts of a tensor are its rows, one after the other.
pub(crate) fn put_part(
    tensors: &mut Vec<(String, Vec<usize>, Vec<u8>)>,
    StoredName { name, part: [part, parts], .. }: StoredName,
    mut shape: Vec<usize>,
    bytes: Vec<u8>,
) {
    if parts == 1 {
        return tensors.push((name, shape, bytes));
    }
    let size = bytes.len();
    let number = tensors.iter().position(|(known, ..)| *known == name).unwrap_or_else(|| {
        shape[0] *= parts;
        tensors.push((name, shape, vec![0; parts * size]));
        tensors.len() - 1
    });
    tensors[number].2[part * size..(part + 1) * size].copy_from_slice(&bytes);
}

/// Returns the place of a parameter in a model whose head's paths start with `this`.
pub(crate) fn name_in_model(
    config: &EncoderConfig,
    path: &str,
    parameters: &BTreeMap<String, Values>,
    this: &str,
) -> StoredName {
    let stored = stored_name(config, path);
    let of_sentences = parameters.contains_key(&format!("{this}dense.bias"));
    let other = sentence_name(config.family, &stored.name).filter(|_| of_sentences);
    StoredName { name: other.unwrap_or_else(|| stored.name.clone()), ..stored }
}

/// Returns a safetensors file of f32 tensors: name, shape and bytes of each.
pub(crate) fn safetensors_file(
    tensors: &[(String, Vec<usize>, Vec<u8>)],
) -> Result<Vec<u8>, safetensors::SafeTensorError> {
    let mut views = Vec::with_capacity(tensors.len());
    for (name, shape, bytes) in tensors {
        views.push((name, TensorView::new(Dtype::F32, shape.clone(), bytes)?));
    }
    safetensors::serialize(views, Some([("format".to_string(), "pt".to_string())].into()))
}

/// Returns the encoder's own `config.json` with a head: architecture and label names are added, and `dtype` is
/// the type of the exported weights. A linear head on the first position becomes a token classifier, of which
/// only the first row is used.
///
/// # Errors
/// If the text is not a JSON object, or the encoder's family has no such head.
pub fn hugging_face_config(
    encoder_config: &str,
    labels: &[String],
    head: HeadKind,
) -> Result<String, ModelError> {
    let fail = |reason: String| ModelError::Config { place: "config.json".into(), reason };
    let mut config: Value = serde_json::from_str(encoder_config).map_err(|error| fail(error.to_string()))?;
    let object = config.as_object_mut().ok_or_else(|| fail("not a JSON object".into()))?;
    let model_type = object.get("model_type").and_then(Value::as_str).unwrap_or_default();
    let family = Family::of_type(model_type).unwrap_or(Family::BERT);
    let class = class_of_type(model_type).unwrap_or("Bert");
    if !family.has_head(head) {
        return Err(fail(format!(
            "transformers has no {class} model with a {head:?} head; train with a head of this family"
        )));
    }
    let task = if head == HeadKind::Linear { "Token" } else { "Sequence" };
    let id2label: serde_json::Map<String, Value> =
        labels.iter().enumerate().map(|(id, label)| (id.to_string(), json!(label))).collect();
    let label2id: serde_json::Map<String, Value> =
        labels.iter().enumerate().map(|(id, label)| (label.clone(), json!(id))).collect();
    object.insert("architectures".into(), json!([format!("{class}For{task}Classification")]));
    object.remove("torch_dtype");
    object.insert("dtype".into(), json!("float32"));
    object.insert("id2label".into(), Value::Object(id2label));
    object.insert("label2id".into(), Value::Object(label2id));
    serde_json::to_string_pretty(&config).map_err(|error| fail(error.to_string()))
}
