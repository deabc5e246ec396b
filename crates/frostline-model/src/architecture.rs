//! The form of an encoder: what its parts are, apart from their sizes.
//!
//! The encoder, its parameters' names, the cost model and the export read this description; none of them knows a family.

use frostline_kernels::Activation;

/// What an encoder is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Architecture {
    /// Whether the embeddings add a row of a table of positions.
    pub learned_positions: bool,
    /// Whether the sum of the embeddings is normed.
    pub embedding_norm: bool,
    /// The place of a block's norms.
    pub norms: NormPlace,
    /// Whether the first block has a norm before attention, if norms come before.
    pub first_norm: bool,
    /// Whether norms subtract the mean of a row (LayerNorm) or not (RMSNorm, which adds no bias).
    pub centred_norms: bool,
    /// Whether norms add a bias.
    pub norm_bias: bool,
    /// Whether the linear layers of attention add a bias.
    pub attention_bias: bool,
    /// Whether the first layer of the feed-forward part and the gate add a bias.
    pub inner_bias: bool,
    /// Whether the last layer of the feed-forward part adds a bias.
    pub output_bias: bool,
    /// The function between the layers of the feed-forward part.
    pub activation: Activation,
    /// Whether the activation is multiplied by a second layer of the same input.
    pub gated: bool,
    /// The bases of rotary positions, if queries and keys are rotated.
    pub rotary: Option<RotaryBases>,
    /// The table of relative positions that all blocks share, if scores of attention depend on it.
    pub relative: Option<RelativeTable>,
    /// The distance up to which a subword attends to others in a local block.
    pub window: usize,
    /// The kind of each block.
    pub layers: Vec<LayerKind>,
    /// Which blocks have the same weights, if some do.
    pub sharing: Option<Sharing>,
    /// The head for words.
    pub word_head: WordHead,
}

/// The place of a block's norms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlace {
    /// After the residual is added, as in BERT.
    After,
    /// Before attention and before the feed-forward part; a last norm follows the last block.
    Before,
}

/// What a block attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// The whole sentence.
    Global,
    /// A window around each subword.
    Local,
}

/// Blocks with the same weights: `span` blocks one after the other use a group of weights, which has the weights of `cycle`
/// blocks. The first `cycle` blocks of a span own the weights, and the others repeat them in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Number of blocks that use a group of weights.
    pub span: usize,
    /// Number of blocks whose weights a group contains.
    pub cycle: usize,
}

impl Sharing {
    /// Returns the first block that has the weights of a block.
    #[must_use]
    pub const fn owner(self, block: usize) -> usize {
        block / self.span * self.span + block % self.span % self.cycle
    }

    /// Returns the number of a block's group, and its place in the group.
    pub(crate) const fn place(self, block: usize) -> [usize; 2] {
        [block / self.span, block % self.span % self.cycle]
    }
}

/// The bases of rotary positions in both kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RotaryBases {
    /// In global blocks.
    pub global: f64,
    /// In local blocks.
    pub local: f64,
}

/// A table of relative positions, \[2 × span, H\]. Each block makes keys and queries of its rows with its own layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelativeTable {
    /// The number of rows for one direction if far distances share rows; without it, each distance has a row.
    pub buckets: Option<usize>,
    /// The distance that has the last row.
    pub farthest: usize,
    /// Whether the rows are normed.
    pub has_norm: bool,
}

impl RelativeTable {
    /// Returns half of the number of rows.
    #[must_use]
    pub const fn span(&self) -> usize {
        match self.buckets {
            Some(buckets) => buckets,
            None => self.farthest,
        }
    }

    /// Returns whether its rows are normed, or false for no table.
    pub(crate) fn is_normed(table: Option<&Self>) -> bool {
        table.is_some_and(|table| table.has_norm)
    }
}

/// The head that a family puts on its encoder to label words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordHead {
    /// A classifier alone.
    Classifier,
    /// A linear layer, an activation, a norm and a classifier.
    Transform {
        /// The function after the linear layer.
        activation: Activation,
        /// Whether the linear layer adds a bias.
        bias: bool,
    },
}

impl Architecture {
    /// Returns the form of BERT: learned positions, norms with biases after the residuals, and attention to the whole sentence.
    #[must_use]
    pub fn bert(activation: Activation) -> Self {
        Self {
            learned_positions: true,
            embedding_norm: true,
            norms: NormPlace::After,
            first_norm: true,
            centred_norms: true,
            norm_bias: true,
            attention_bias: true,
            inner_bias: true,
            output_bias: true,
            activation,
            gated: false,
            rotary: None,
            relative: None,
            window: 0,
            layers: Vec::new(),
            sharing: None,
            word_head: WordHead::Classifier,
        }
    }

    /// Returns the kind of a block; blocks that are not listed are global.
    #[must_use]
    pub fn layer(&self, block: usize) -> LayerKind {
        self.layers.get(block).copied().unwrap_or(LayerKind::Global)
    }

    /// Returns the first block that has the weights of a block: usually the block itself.
    #[must_use]
    pub const fn owner(&self, block: usize) -> usize {
        match self.sharing {
            None => block,
            Some(sharing) => sharing.owner(block),
        }
    }

    /// Returns how many blocks use a group of weights, and of how many blocks it has the weights; 1 and 1 if none are shared.
    #[must_use]
    pub fn spans(&self) -> [usize; 2] {
        self.sharing.map_or([1, 1], |Sharing { span, cycle }| [span, cycle])
    }

    /// Returns whether a block's parameters are its own, and no earlier block's.
    #[must_use]
    pub const fn owns_weights(&self, block: usize) -> bool {
        self.owner(block) == block
    }

    /// Returns whether a norm follows the last block.
    #[must_use]
    pub fn has_final_norm(&self) -> bool {
        self.norms == NormPlace::Before
    }

    /// Returns whether a block has a norm before attention or after it.
    #[must_use]
    pub const fn has_attention_norm(&self, block: usize) -> bool {
        block > 0 || self.first_norm
    }

    /// Returns whether no linear layer of a block and no norm has a bias.
    #[must_use]
    pub const fn has_no_bias(&self) -> bool {
        !self.norm_bias && !self.attention_bias && !self.inner_bias && !self.output_bias
    }
}
