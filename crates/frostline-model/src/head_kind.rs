//! The kinds of heads.

use frostline_kernels::Activation;

/// The architecture of a head. In all of them, dropout comes right before the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadKind {
    /// The family's head for words: a classifier, or [`HeadKind::Transform`] if the family has that.
    Linear,
    /// DistilBERT's sentence head: a linear layer (`pre_classifier`), ReLU, a classifier.
    DistilBert,
    /// BERT's sentence head: a linear layer (the pooler), tanh, a classifier. RoBERTa's has the same
    /// form with other names; its additional dropout in training is not implemented.
    Pooler,
    /// A linear layer, an activation, a norm, a classifier: ModernBERT's head for words.
    Transform {
        /// The function after the linear layer.
        activation: Activation,
        /// Whether the linear layer adds a bias.
        bias: bool,
    },
}

impl HeadKind {
    /// Returns whether the head has a norm before the classifier.
    #[must_use]
    pub const fn has_norm(self) -> bool {
        matches!(self, Self::Transform { .. })
    }

    /// Returns whether the layer before the classifier adds a bias, if there is one.
    #[must_use]
    pub const fn has_dense_bias(self) -> bool {
        !matches!(self, Self::Transform { bias: false, .. })
    }
}
