//! From an encoder's description and its weights to a model in ONNX's format.
//!
//! The description alone decides about the nodes. A family of known parts needs no change here; a new field of
//! [`Architecture`](frostline_model::Architecture) is read where the encoder in `frostline-model` reads it.

use frostline_model::{EncoderConfig, Extras, HeadShape, ParameterSource};

use crate::error::OnnxError;
use crate::graph::Graph;
use crate::layers::Builder;
use crate::model::OnnxModel;

/// A model to be exported.
pub struct OnnxExport<'a> {
    /// The encoder's shape.
    pub config: &'a EncoderConfig,
    /// The head to export.
    pub head: &'a HeadShape,
    /// Whether the head labels whole sentences: it then reads the first position alone.
    pub of_sentences: bool,
    /// The parameters of encoder and head.
    pub weights: &'a dyn ParameterSource,
}

impl OnnxExport<'_> {
    /// Returns the model in f32.
    ///
    /// # Errors
    /// If a parameter is missing or has another shape, or the encoder has LoRA matrices, adapters or a mix.
    pub fn model(&self) -> Result<OnnxModel, OnnxError> {
        refuse_extras(&self.config.extras)?;
        let mut builder = Builder { graph: Graph::default(), config: self.config, weights: self.weights };
        let inputs = builder.inputs();
        let states = builder.encode(&inputs)?;
        builder.head(&states, self.head, self.of_sentences)?;
        Ok(OnnxModel { graph: builder.graph })
    }
}

fn refuse_extras(extras: &Extras) -> Result<(), OnnxError> {
    let other = "export a model that was trained without them";
    let found = [
        (extras.lora.is_some(), "LoRA matrices", "merge them into the weights first (`merged`)"),
        (!extras.ia3.is_empty(), "factors (IA3)", "merge them into the weights first (`merged`)"),
        (extras.adapters.is_some(), "adapters", other),
        (extras.mix, "a mix of all blocks", other),
    ];
    match found.into_iter().find(|(is_there, ..)| *is_there) {
        Some((_, part, advice)) => Err(OnnxError::Extra { part, advice }),
        None => Ok(()),
    }
}
