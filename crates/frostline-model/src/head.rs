//! Heads: what stands on an encoder and turns a hidden state into logits.

use burn::module::Module;
use burn::prelude::*;
use burn::tensor::activation;
use frostline_kernels::{Kernels, Rows};

use crate::{Family, Linear, Pass, Source};

/// How a head is built. Dropout stands right before the classifier in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadKind {
    /// A classifier.
    Linear,
    /// DistilBERT's for sentences: a linear layer (`pre_classifier`), ReLU, a classifier.
    DistilBert,
    /// BERT's for sentences: a linear layer (the pooler), tanh, a classifier. RoBERTa's is the same
    /// with other names, and one more dropout in training that this one has not.
    Pooler,
}

impl HeadKind {
    /// Whether `transformers` has models of this family with such a head; no config is written for another.
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
    /// What its parameters are called in a [`Source`]: `head`, or `head.ner` where there are
    /// several.
    pub name: String,
    /// How it is built.
    pub kind: HeadKind,
    /// Columns of its logits.
    pub labels: usize,
}

/// A head.
#[derive(Module, Debug)]
pub struct Head<B: Backend> {
    /// \[H, H\]: `pre_classifier` or the pooler.
    pub dense: Option<Linear<B>>,
    /// \[H, labels\]
    pub classifier: Linear<B>,
    /// How it is built.
    #[module(skip)]
    pub kind: HeadKind,
}

impl HeadShape {
    /// A classifier of so many labels, the only head.
    #[must_use]
    pub fn linear(labels: usize) -> Self {
        Self { name: "head".into(), kind: HeadKind::Linear, labels }
    }

    /// Where a parameter of the head, such as `classifier.weight`, starts: its path in a source, and
    /// whether that is the encoder's.
    #[must_use]
    pub fn source_of(&self, part: &str, encoder: &dyn Source) -> (String, bool) {
        let (layer, kind) = part.split_once('.').unwrap_or((part, ""));
        match self.dense(encoder).filter(|_| layer == "dense") {
            Some((path, of_encoder)) => (format!("{path}.{kind}"), of_encoder),
            None => (format!("{}.{kind}", self.name), false),
        }
    }

    /// The path of the layer before the classifier, and whether it comes with the encoder.
    pub(crate) fn dense(&self, encoder: &dyn Source) -> Option<(String, bool)> {
        match self.kind {
            HeadKind::Linear => None,
            HeadKind::Pooler if encoder.has("pooler.weight") => Some(("pooler".into(), true)),
            HeadKind::DistilBert | HeadKind::Pooler => Some((format!("{}.dense", self.name), false)),
        }
    }
}

impl<B: Kernels> Head<B> {
    /// One row of logits per row of features; `rows` says whose they are, for dropout.
    ///
    /// # Shapes
    /// \[M, H\] -> \[M, labels\]
    #[must_use]
    pub fn forward(&self, x: Tensor<B, 2>, pass: &Pass, rows: &Rows) -> Tensor<B, 2> {
        let x = match &self.dense {
            None => x,
            Some(dense) => {
                let x = dense.forward(x, pass.precision);
                if self.kind == HeadKind::Pooler { activation::tanh(x) } else { activation::relu(x) }
            }
        };
        self.classifier.forward(B::k_dropout(x, pass.head, rows), pass.precision)
    }
}
