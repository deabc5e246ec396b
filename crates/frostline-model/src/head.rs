//! Heads, which compute logits from hidden states.
//!
//! # To add a kind of head
//!
//! A `HeadKind` in `crates/frostline-model/src/head.rs` with its names in `names.rs` and its class in `export.rs`,
//! and the same in `crates/frostline-record/src/task.rs`.

use burn::module::Module;
use burn::prelude::*;
use burn::tensor::activation;
use frostline_kernels::{Kernels, Rows};

use crate::{Family, Linear, ParameterSource, Pass};

/// The architecture of a head. In all of them, dropout comes right before the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadKind {
    /// A classifier.
    Linear,
    /// DistilBERT's sentence head: a linear layer (`pre_classifier`), ReLU, a classifier.
    DistilBert,
    /// BERT's sentence head: a linear layer (the pooler), tanh, a classifier. RoBERTa's has the same
    /// form with other names; its additional dropout in training is not implemented.
    Pooler,
}

impl HeadKind {
    /// Returns whether `transformers` has models of this family with such a head; only then can a config be
    /// exported.
    #[must_use]
    pub const fn belongs_to(self, family: Family) -> bool {
        match self {
            Self::Linear => true,
            Self::DistilBert => matches!(family, Family::DistilBert),
            Self::Pooler => !matches!(family, Family::DistilBert),
        }
    }
}

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
    /// \[H, H\]: `pre_classifier` or the pooler.
    pub dense: Option<Linear<B>>,
    /// \[H, labels\]
    pub classifier: Linear<B>,
    /// The architecture.
    #[module(skip)]
    pub kind: HeadKind,
}

impl HeadShape {
    /// Returns a linear classifier with this number of labels, as the only head.
    #[must_use]
    pub fn linear(labels: usize) -> Self {
        Self { name: "head".into(), kind: HeadKind::Linear, labels }
    }

    /// Returns the source of a parameter of the head, such as `classifier.weight`: its path, and whether it
    /// comes from the encoder's source.
    #[must_use]
    pub fn source_of(&self, part: &str, encoder: &dyn ParameterSource) -> (String, bool) {
        let (layer, kind) = part.split_once('.').unwrap_or((part, ""));
        match self.dense_path(encoder).filter(|_| layer == "dense") {
            Some((path, of_encoder)) => (format!("{path}.{kind}"), of_encoder),
            None => (format!("{}.{kind}", self.name), false),
        }
    }

    /// Returns the path of the layer before the classifier, and whether it comes from the encoder's source.
    pub(crate) fn dense_path(&self, encoder: &dyn ParameterSource) -> Option<(String, bool)> {
        match self.kind {
            HeadKind::Linear => None,
            HeadKind::Pooler if encoder.has("pooler.weight") => Some(("pooler".into(), true)),
            HeadKind::DistilBert | HeadKind::Pooler => Some((format!("{}.dense", self.name), false)),
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
                if self.kind == HeadKind::Pooler { B::k_tanh(x) } else { activation::relu(x) }
            }
        };
        self.classifier.forward(B::k_dropout(x, pass.head, rows), pass.precision)
    }
}
