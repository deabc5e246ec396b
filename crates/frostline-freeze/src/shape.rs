//! The parts of a tagger's shape that determine the cost of a step.

use crate::blocks::owner;

/// The parts of a tagger's shape that determine its cost: depth and width, then other sizes that differ from
/// the defaults.
///
/// ```
/// use frostline_freeze::Shape;
///
/// // Multilingual DistilBERT with 17 tags, and the 12,000 words of its table that a corpus has.
/// let shape = Shape::new(6, 768).with_word_rows(12_000).with_other_rows(512);
/// assert_eq!((shape.heads, shape.intermediate, shape.tags), (12, 3072, 17));
///
/// // A smaller encoder that is named by all its sizes, whose step updates only rows that it reads.
/// let small = Shape::new(12, 384).with_heads(12).with_intermediate(1536).with_tags(9).with_word_rows(8_000);
/// assert_eq!((small.read_rows, small.reading(900).read_rows), (8_000, 900));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Width of a row, H.
    pub hidden: usize,
    /// Width of the tables of embeddings, E; a layer projects them to H if it differs.
    pub embedding: usize,
    /// Width inside the feed-forward layer.
    pub intermediate: usize,
    /// Transformer blocks.
    pub depth: usize,
    /// Attention heads.
    pub heads: usize,
    /// Heads of keys and values.
    pub key_heads: usize,
    /// Whether a third layer gates the feed-forward part.
    pub gated: bool,
    /// Whether linear layers and norms of blocks have biases.
    pub biases: bool,
    /// Subwords that a subword attends to at most in a local block; 0 if all blocks are global.
    pub window: usize,
    /// Every so many blocks one is global, if there are local ones.
    pub global_every: usize,
    /// Number of blocks that use a group of weights one after the other, and of blocks whose weights a group contains; 1 and 1 if
    /// each block has weights of its own.
    pub sharing: [usize; 2],
    /// Rows of a table of relative positions, from which each block makes keys and queries; 0 without one.
    pub relative_rows: usize,
    /// Tags of the classifier, C.
    pub tags: usize,
    /// Rows that the trained word table carries.
    pub word_rows: usize,
    /// Number of rows for which a step has a gradient: all rows if a step updates the whole table.
    pub read_rows: usize,
    /// Rows of the position and token-type tables.
    pub other_rows: usize,
    /// Parameters of the matrices that a parameter-efficient method adds to a trainable block: for queries,
    /// keys and values, and after attention.
    pub added: [usize; 2],
    /// Numbers per row that the gradients of these matrices read: inputs of the matrices for queries, keys and
    /// values, and after attention.
    pub added_inputs: [usize; 2],
}

impl Shape {
    /// Returns an encoder of so many blocks and this width, as most are made: heads 64 wide, a feed-forward
    /// layer four times as wide as a row, 512 positions with two token types, and a head for the 17 universal
    /// parts of speech over a table of 30,000 words.
    #[must_use]
    pub const fn new(depth: usize, hidden: usize) -> Self {
        Self {
            hidden,
            embedding: hidden,
            intermediate: 4 * hidden,
            depth,
            heads: if hidden < 64 { 1 } else { hidden / 64 },
            key_heads: if hidden < 64 { 1 } else { hidden / 64 },
            gated: false,
            biases: true,
            window: 0,
            global_every: 1,
            sharing: [1, 1],
            relative_rows: 0,
            tags: 17,
            word_rows: 30_000,
            read_rows: 30_000,
            other_rows: 514,
            added: [0, 0],
            added_inputs: [0, 0],
        }
    }

    /// Sets the number of attention heads, of queries as of keys and values.
    #[must_use]
    pub const fn with_heads(self, heads: usize) -> Self {
        Self { heads, key_heads: heads, ..self }
    }

    /// Sets the number of heads of keys and values, each of which several heads of queries share.
    #[must_use]
    pub const fn with_key_heads(self, key_heads: usize) -> Self {
        Self { key_heads, ..self }
    }

    /// Sets the width inside the feed-forward layer.
    #[must_use]
    pub const fn with_intermediate(self, intermediate: usize) -> Self {
        Self { intermediate, ..self }
    }

    /// Makes the feed-forward part gated: a third layer of the block's width multiplies the activation.
    #[must_use]
    pub const fn with_gate(self) -> Self {
        Self { gated: true, ..self }
    }

    /// Makes all blocks local except every `global_every`-th: a subword attends to at most `window` subwords there.
    #[must_use]
    pub const fn with_windows(self, window: usize, global_every: usize) -> Self {
        Self { window, global_every, ..self }
    }

    /// Gives `span` blocks one after the other a group of weights, which has the weights of `cycle` blocks.
    #[must_use]
    pub const fn with_sharing(self, span: usize, cycle: usize) -> Self {
        Self { sharing: [span, cycle], ..self }
    }

    /// Returns whether a block is the first that has its weights.
    pub(crate) fn owns_weights(&self, block: usize) -> bool {
        owner(self.sharing, block) == block
    }

    /// Adds a table of this many relative positions, with which scores of attention are computed, too.
    #[must_use]
    pub const fn with_relative_rows(self, rows: usize) -> Self {
        Self { relative_rows: rows, ..self }
    }

    /// Returns how many rows of the table of relative positions a sentence of this length reads.
    pub(crate) fn relative_rows_read(&self, length: f64) -> f64 {
        (2.0 * length).min(self.relative_rows as f64)
    }

    /// Returns how many subwords a subword attends to in a block, if it attends to `context` in a global one.
    pub(crate) fn context_in(&self, block: usize, context: f64) -> f64 {
        let is_global = self.window == 0 || block.is_multiple_of(self.global_every.max(1));
        if is_global { context } else { context.min(self.window as f64) }
    }

    /// Sets the number of tags.
    #[must_use]
    pub const fn with_tags(self, tags: usize) -> Self {
        Self { tags, ..self }
    }

    /// Sets the number of rows in the word table, all of which a step updates; see [`Shape::reading`].
    #[must_use]
    pub const fn with_word_rows(self, rows: usize) -> Self {
        Self { word_rows: rows, read_rows: rows, ..self }
    }

    /// Sets the number of rows in the position and token-type tables.
    #[must_use]
    pub const fn with_other_rows(self, rows: usize) -> Self {
        Self { other_rows: rows, ..self }
    }

    /// Adds the matrices of a parameter-efficient method to a block: their parameters, and the numbers per row
    /// that their gradients read, each for queries, keys and values, and after attention.
    #[must_use]
    pub const fn with_added(self, added: [usize; 2], added_inputs: [usize; 2]) -> Self {
        Self { added, added_inputs, ..self }
    }

    /// Returns the shape if a step updates only the rows of the word table that it reads, at most this many.
    #[must_use]
    pub fn reading(self, rows: usize) -> Self {
        Self { read_rows: rows.min(self.word_rows), ..self }
    }
}
