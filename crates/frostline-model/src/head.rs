//! Heads, which compute logits from hidden states.
//!
//! # To add a kind of head
//!
//! A `HeadKind` in `crates/frostline-model/src/head_kind.rs`, its names in the tables of `families/`, its class in `export.rs`,
//! and the same in `crates/frostline-record/src/task.rs`.

use burn::module::Module;
use burn::prelude::*;
use burn::tensor::activation;
use frostline_kernels::{Kernels, Rows};

use crate::{EncoderConfig, HeadKind, Linear, Norm, ParameterSource, Pass, WordHead};

/// A head's kind and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadShape {
    /// The prefix of the head's parameters in a [`ParameterSource`]: `head`, or for example `head.ner` if there
    /// are several heads.
    pub name: String,
    /// The architecture.
    pub kind: HeadKind,
    /// The number of labels: the columns of its logits.
    pub labels: usize,
}

/// A head.
#[derive(Module, Debug)]
pub struct Head<B: Backend> {
    /// \[H, H\]: `pre_classifier`, the pooler, or the layer of a transform.
    pub dense: Option<Linear<B>>,
    /// The norm before the classifier.
    pub norm: Option<Norm<B>>,
    /// \[H, labels\]
    pub classifier: Linear<B>,
    /// The architecture.
    #[module(skip)]
    pub kind: HeadKind,
    /// Added to the norm's variance.
    #[module(skip)]
    pub norm_eps: f64,
}

impl HeadShape {
    /// Returns a linear classifier with this number of labels, as the only head.
    #[must_use]
    pub fn linear(labels: usize) -> Self {
        Self { name: "head".into(), kind: HeadKind::Linear, labels }
    }

    /// Returns the shape of this head on an encoder: its family's head for words, if that is asked for.
    #[must_use]
    pub fn in_encoder(&self, config: &EncoderConfig) -> Self {
        let kind = match (self.kind, config.architecture.word_head) {
            (HeadKind::Linear, WordHead::Transform { activation, bias }) => {
                HeadKind::Transform { activation, bias }
            }
            (kind, _) => kind,
        };
        Self { kind, ..self.clone() }
    }

    /// Returns the source of a parameter of the head, such as `classifier.weight`: its path, and whether it
    /// comes from the encoder's source.
    #[must_use]
    pub fn source_of(&self, part: &str, encoder: &dyn ParameterSource) -> (String, bool) {
        let (layer, kind) = part.split_once('.').unwrap_or((part, ""));
        if layer == "classifier" {
            return (format!("{}.{kind}", self.name), false);
        }
        let (path, of_encoder) = self.layer_path(layer, encoder);
        (format!("{path}.{kind}"), of_encoder)
    }

    /// Returns the path of a layer before the classifier, and whether it comes from the encoder's source.
    pub(crate) fn layer_path(&self, layer: &str, encoder: &dyn ParameterSource) -> (String, bool) {
        let pretrained = match self.kind {
            HeadKind::Pooler => "pooler".to_string(),
            // An encoder's file has the head of its pretraining, except for the last layer.
            HeadKind::Linear | HeadKind::Transform { .. } => format!("head.{layer}"),
            HeadKind::DistilBert => return (format!("{}.{layer}", self.name), false),
        };
        let first = if layer == "norm" { "gamma" } else { "weight" };
        match encoder.has(&format!("{pretrained}.{first}")) {
            true => (pretrained, true),
            false => (format!("{}.{layer}", self.name), false),
        }
    }
}

impl<B: Kernels> Head<B> {
    /// One row of logits per row of features; `rows` identifies the rows for dropout.
    ///
    /// # Shapes
    /// \[M, H\] -> \[M, labels\]
    #[must_use]
    pub fn forward(&self, x: Tensor<B, 2>, pass: &Pass, rows: &Rows) -> Tensor<B, 2> {
        let x = match &self.dense {
            None => x,
            Some(dense) => {
                let x = dense.forward(x, pass.precision);
                match self.kind {
                    HeadKind::Pooler => B::k_tanh(x),
                    HeadKind::Transform { activation, .. } => B::k_activation(x, activation),
                    HeadKind::Linear | HeadKind::DistilBert => activation::relu(x),
                }
            }
        };
        let x = match &self.norm {
            None => x,
            Some(norm) => norm.forward(x, self.norm_eps, rows),
        };
        self.classifier.forward(B::k_dropout(x, pass.head, rows), pass.precision)
    }
}
