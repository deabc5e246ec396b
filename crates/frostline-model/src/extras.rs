//! The shapes of additions to an encoder: low-rank matrices for linear layers, bottlenecks in blocks, and a
//! learned mix of all blocks' outputs.

/// Additions to an encoder; none by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extras {
    /// Low-rank matrices.
    pub lora: Option<LoraShape>,
    /// Bottlenecks.
    pub adapters: Option<AdapterShape>,
    /// The blocks with learned factors ([`Matrix::ia3_side`]).
    pub ia3: Vec<usize>,
    /// Whether heads read a mix of all blocks' outputs.
    pub mix: bool,
}

/// Low-rank matrices: a linear layer with weight W then multiplies by W + alpha / rank · A B.
///
/// # Source
/// Hu et al., *LoRA: Low-Rank Adaptation of Large Language Models*, 2021.
#[derive(Clone, Debug, PartialEq)]
pub struct LoraShape {
    /// Columns of A and rows of B.
    pub rank: usize,
    /// Numerator of the scale, see above.
    pub alpha: f64,
    /// The linear layers of a block that have them.
    pub matrices: Vec<Matrix>,
    /// The blocks that have them.
    pub blocks: Vec<usize>,
    /// The blocks among these whose layers also have a learned norm for each column (DoRA): the layer then multiplies by
    /// the columns of W + alpha / rank · A B, each divided by its norm and multiplied by the learned one.
    ///
    /// # Source
    /// Liu et al., *DoRA: Weight-Decomposed Low-Rank Adaptation*, 2024.
    pub normed_blocks: Vec<usize>,
}

/// The side of a linear layer that has learned factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorSide {
    /// The layer's input.
    Input,
    /// The layer's output.
    Output,
}

/// Bottlenecks: x + up(GELU(down(x))) after the feed-forward layer, before its LayerNorm.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterShape {
    /// Width of the bottleneck.
    pub size: usize,
    /// The blocks that have one.
    pub blocks: Vec<usize>,
}

/// The linear layers of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matrix {
    /// Queries.
    Query,
    /// Keys.
    Key,
    /// Values.
    Value,
    /// The projection of the attention context.
    AttentionOutput,
    /// The first layer of the feed-forward part.
    Intermediate,
    /// The layer by which the activation is multiplied, if the feed-forward part is gated.
    Gate,
    /// The last layer of the feed-forward part.
    Output,
}

impl Matrix {
    /// All matrices, in the order of a block.
    pub const ALL: [Self; 7] = [
        Self::Query,
        Self::Key,
        Self::Value,
        Self::AttentionOutput,
        Self::Intermediate,
        Self::Gate,
        Self::Output,
    ];

    /// Returns the segment in a parameter's path.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Key => "key",
            Self::Value => "value",
            Self::AttentionOutput => "attention_output",
            Self::Intermediate => "intermediate",
            Self::Gate => "gate",
            Self::Output => "output",
        }
    }

    /// Returns the side of the layer that IA3 multiplies by learned factors: the outputs of keys and values, and the input of the
    /// last feed-forward layer.
    ///
    /// # Source
    /// Liu et al., *Few-Shot Parameter-Efficient Fine-Tuning is Better and Cheaper than In-Context Learning*, 2022.
    #[must_use]
    pub const fn ia3_side(self) -> Option<FactorSide> {
        match self {
            Self::Key | Self::Value => Some(FactorSide::Output),
            Self::Output => Some(FactorSide::Input),
            _ => None,
        }
    }

    /// Returns whether the layer comes before attention, so that every subword is needed.
    #[must_use]
    pub const fn is_before_attention(self) -> bool {
        matches!(self, Self::Query | Self::Key | Self::Value)
    }
}

impl LoraShape {
    /// Returns the factor of the low-rank product.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.alpha / self.rank as f64
    }
}
