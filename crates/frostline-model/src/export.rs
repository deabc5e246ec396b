//! A trained encoder with one of its heads as a Hugging Face folder's files.

use std::collections::BTreeMap;

use safetensors::{Dtype, tensor::TensorView};
use serde_json::{Value, json};

use crate::checkpoint::transpose;
use crate::names::sentence_name;
use crate::{
    EncoderConfig, Family, HeadKind, ModelError, Source, Values, Vocabulary, hugging_face_name, merged,
};

/// What is exported.
pub struct Export<'a> {
    /// The encoder's shape.
    pub config: &'a EncoderConfig,
    /// The trained parameters, see [`crate::snapshot`].
    pub parameters: &'a BTreeMap<String, Values>,
    /// The head that goes with the encoder.
    pub head: usize,
    /// The rows of the word table that were trained.
    pub vocabulary: &'a Vocabulary,
    /// Where all other rows started.
    pub source: &'a dyn Source,
    /// What all other rows are multiplied with: the product of the steps' weight decays, 1 where
    /// the table was frozen.
    pub other_rows: f64,
}

impl Export<'_> {
    /// The bytes of `model.safetensors`, f32, under Hugging Face's names. LoRA is merged into the
    /// weights.
    ///
    /// # Errors
    /// Where the source cannot give the word table; where adapters or a mix were added, for which
    /// such a file has no place.
    pub fn safetensors(&self) -> Result<Vec<u8>, ModelError> {
        let place = || "model.safetensors".to_string();
        if let Some(path) =
            self.parameters.keys().find(|path| path.contains(".adapter.") || path.starts_with("mix."))
        {
            let reason = format!("a Hugging Face folder has no place for `{path}`");
            return Err(ModelError::Weights { place: place(), reason });
        }
        let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
        let this = format!("heads.{}.", self.head);
        let chosen = |path: &str| !path.starts_with("heads.") || path.starts_with(&this);
        let parameters = merged(self.parameters, self.config);
        for (path, Values { shape, data }) in parameters.iter().filter(|(path, _)| chosen(path)) {
            let (name, transposed) = stored_name(self.config.family, path, self.parameters, &this);
            let (shape, data) = if path == "encoder.embeddings.word" {
                (vec![self.config.vocabulary, self.config.hidden], self.word_table(data)?)
            } else if transposed {
                (vec![shape[1], shape[0]], transpose(data, shape[0], shape[1]))
            } else {
                (shape.clone(), data.clone())
            };
            tensors.push((name, shape, data.iter().flat_map(|value| value.to_le_bytes()).collect()));
        }
        store(&tensors).map_err(|error| ModelError::Weights { place: place(), reason: error.to_string() })
    }

    /// The full word table: trained rows as they are, all others decayed.
    fn word_table(&self, trained: &[f32]) -> Result<Vec<f32>, ModelError> {
        let h = self.config.hidden;
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

/// A parameter's name in a model whose head's paths start with `this`, and whether it is stored turned.
pub(crate) fn stored_name(
    family: Family,
    path: &str,
    parameters: &BTreeMap<String, Values>,
    this: &str,
) -> (String, bool) {
    let (name, turned) = hugging_face_name(family, path);
    let of_sentences = parameters.contains_key(&format!("{this}dense.bias"));
    let other = sentence_name(family, &name).filter(|_| of_sentences);
    (other.unwrap_or(name), turned)
}

/// A safetensors file of f32 tensors: name, shape and bytes of each.
pub(crate) fn store(
    tensors: &[(String, Vec<usize>, Vec<u8>)],
) -> Result<Vec<u8>, safetensors::SafeTensorError> {
    let mut views = Vec::with_capacity(tensors.len());
    for (name, shape, bytes) in tensors {
        views.push((name, TensorView::new(Dtype::F32, shape.clone(), bytes)?));
    }
    safetensors::serialize(views, Some([("format".to_string(), "pt".to_string())].into()))
}

/// The encoder's own `config.json` with a head: architecture and label names added, and `dtype` that of
/// the exported weights. A linear head on the first position is a token classifier of which only the
/// first row is read.
///
/// # Errors
/// Where the text is no JSON object, or the head is not one of the encoder's family.
pub fn hugging_face_config(
    encoder_config: &str,
    labels: &[String],
    head: HeadKind,
) -> Result<String, ModelError> {
    let fail = |reason: String| ModelError::Config { place: "config.json".into(), reason };
    let mut config: Value = serde_json::from_str(encoder_config).map_err(|error| fail(error.to_string()))?;
    let object = config.as_object_mut().ok_or_else(|| fail("no JSON object".into()))?;
    let (family, class) = match object.get("model_type").and_then(Value::as_str) {
        Some("distilbert") => (Family::DistilBert, "DistilBert"),
        Some("roberta") => (Family::Roberta, "Roberta"),
        Some("xlm-roberta") => (Family::Roberta, "XLMRoberta"),
        _ => (Family::Bert, "Bert"),
    };
    if !head.belongs_to(family) {
        return Err(fail(format!("transformers has no {class} model with a head of the kind {head:?}")));
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
