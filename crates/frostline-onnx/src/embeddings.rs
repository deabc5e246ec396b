//! The embeddings: rows of tables, their sum, its norm and its projection.

use crate::error::OnnxError;
use crate::graph::{Dim, Value, int};
use crate::layers::{Builder, LinearLayer};
use crate::tensor::Kind;

/// The inputs of a model.
pub(crate) struct Inputs {
    /// \[B, L\]
    pub ids: Value,
    /// \[B, L\]: 1 for a subword, 0 for padding.
    pub mask: Value,
    /// \[B, L\], if the encoder has several types of tokens.
    pub types: Option<Value>,
}

impl Builder<'_> {
    /// Adds the inputs, under the names that tokenizers use.
    pub fn inputs(&mut self) -> Inputs {
        let mut input = |name: &str| self.graph.input(name, Kind::I64, &[Dim::Batch, Dim::Sequence]);
        let (ids, mask) = (input("input_ids"), input("attention_mask"));
        let types = (self.config.token_types > 1).then(|| input("token_type_ids"));
        Inputs { ids, mask, types }
    }

    /// Returns the number of positions, L.
    ///
    /// # Shapes
    /// \[1\]
    pub fn length(&mut self, inputs: &Inputs) -> Value {
        match self.graph.known("positions/Shape") {
            Some(known) => known,
            None => self.graph.node("positions", "Shape", &[&inputs.ids], &[int("start", 1), int("end", 2)]),
        }
    }

    /// Returns the input of the first block.
    ///
    /// # Shapes
    /// \[B, L\] -> \[B, L, H\]
    pub fn embed(&mut self, inputs: &Inputs) -> Result<Value, OnnxError> {
        let (config, place) = (self.config, "encoder.embeddings");
        let e = config.embedding;
        let words = self.parameter("encoder.embeddings.word", &[config.vocabulary, e])?;
        let mut x = self.graph.node("encoder.embeddings.word", "Gather", &[&words, &inputs.ids], &[]);
        if config.architecture.learned_positions {
            let positions = self.position_rows(inputs)?;
            x = self.graph.node(place, "Add", &[&x, &positions], &[]);
        }
        if config.token_types > 0 {
            let path = "encoder.embeddings.token_type";
            let table = self.parameter(path, &[config.token_types, e])?;
            let rows = match &inputs.types {
                Some(types) => self.graph.node(path, "Gather", &[&table, types], &[]),
                // A single row is added to all positions.
                None => table,
            };
            x = self.graph.node(place, "Add", &[&x, &rows], &[]);
        }
        // The rows of positions hide the shape of the sum from onnxruntime, which fuses residuals with norms only if it is known.
        self.graph.declare(&x, &[Dim::Batch, Dim::Sequence, Dim::Fixed(e)]);
        if config.architecture.embedding_norm {
            x = self.norm(&x, "encoder.embeddings.norm", e)?;
        }
        if e != config.hidden {
            let path = "encoder.embeddings.projection";
            x = self
                .linear(&x, &LinearLayer { place: path, path, sides: [e, config.hidden], has_bias: true })?;
        }
        Ok(x)
    }

    /// Returns the rows of the table of positions.
    ///
    /// # Shapes
    /// \[L, E\], or \[B, L, E\] if padding has a row.
    fn position_rows(&mut self, inputs: &Inputs) -> Result<Value, OnnxError> {
        let (config, place) = (self.config, "encoder.embeddings.position");
        let table = self.parameter(place, &[config.positions, config.embedding])?;
        if config.first_position == 0 {
            return Ok(self.first_rows(place, &table, inputs));
        }
        // Padding has the row before the first one, and is not counted.
        let g = &mut self.graph;
        let (axis, padding) = (g.integer(1), g.integer(config.first_position as i64 - 1));
        let count = g.node(place, "CumSum", &[&inputs.mask, &axis], &[]);
        let count = g.node(place, "Mul", &[&count, &inputs.mask], &[]);
        let rows = g.node(place, "Add", &[&count, &padding], &[]);
        Ok(g.node(place, "Gather", &[&table, &rows], &[]))
    }

    /// Returns as many rows of a table as there are positions.
    pub fn first_rows(&mut self, place: &str, table: &Value, inputs: &Inputs) -> Value {
        let (zero, length) = (self.graph.list(&[0]), self.length(inputs));
        self.graph.node(place, "Slice", &[table, &zero, &length, &zero], &[])
    }
}
