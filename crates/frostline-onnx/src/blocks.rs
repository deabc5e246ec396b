//! The blocks of an encoder, and the head above them.

use frostline_model::{HeadKind, HeadShape, Matrix, NormPlace};

use crate::attention::Surroundings;
use crate::embeddings::Inputs;
use crate::error::OnnxError;
use crate::graph::{Dim, Value, int};
use crate::layers::{Builder, LinearLayer};

impl Builder<'_> {
    /// Returns the last hidden states.
    ///
    /// # Shapes
    /// \[B, L\] -> \[B, L, H\]
    pub fn encode(&mut self, inputs: &Inputs) -> Result<Value, OnnxError> {
        let mut x = self.embed(inputs)?;
        let around = self.surroundings(inputs)?;
        for block in 0..self.config.depth {
            x = match self.config.architecture.norms {
                NormPlace::After => self.block_with_norms_after(&x, block, &around)?,
                NormPlace::Before => self.block_with_norms_before(&x, block, &around)?,
            };
        }
        match self.config.architecture.has_final_norm() {
            true => self.norm(&x, "encoder.final_norm", self.config.hidden),
            false => Ok(x),
        }
    }

    fn block_with_norms_after(
        &mut self,
        x: &Value,
        block: usize,
        around: &Surroundings,
    ) -> Result<Value, OnnxError> {
        let context = self.attend(x, block, around)?;
        let context = self.matrix(&context, block, Matrix::AttentionOutput)?;
        let sum = self.residual(&context, x, block);
        let x = self.block_norm(&sum, block, "attention_norm")?;
        let output = self.feed_forward(&x, block)?;
        let sum = self.residual(&output, &x, block);
        self.block_norm(&sum, block, "output_norm")
    }

    fn block_with_norms_before(
        &mut self,
        x: &Value,
        block: usize,
        around: &Surroundings,
    ) -> Result<Value, OnnxError> {
        let normed = match self.config.architecture.has_attention_norm(block) {
            true => self.block_norm(x, block, "attention_norm")?,
            false => x.clone(),
        };
        let context = self.attend(&normed, block, around)?;
        let context = self.matrix(&context, block, Matrix::AttentionOutput)?;
        let x = self.residual(&context, x, block);
        let normed = self.block_norm(&x, block, "output_norm")?;
        let output = self.feed_forward(&normed, block)?;
        Ok(self.residual(&output, &x, block))
    }

    /// Returns the output of the feed-forward part.
    ///
    /// # Shapes
    /// \[B, L, H\] -> \[B, L, H\]
    fn feed_forward(&mut self, x: &Value, block: usize) -> Result<Value, OnnxError> {
        let architecture = &self.config.architecture;
        let place = format!("encoder.blocks.{block}.activation");
        let inner = self.matrix(x, block, Matrix::Intermediate)?;
        let mut inner = self.activation(&inner, &place, architecture.activation);
        if architecture.gated {
            let gate = self.matrix(x, block, Matrix::Gate)?;
            inner = self.graph.node(&format!("encoder.blocks.{block}.gated"), "Mul", &[&inner, &gate], &[]);
        }
        self.matrix(&inner, block, Matrix::Output)
    }

    fn residual(&mut self, output: &Value, x: &Value, block: usize) -> Value {
        self.graph.node(&format!("encoder.blocks.{block}.residual"), "Add", &[output, x], &[])
    }

    fn block_norm(&mut self, x: &Value, block: usize, name: &str) -> Result<Value, OnnxError> {
        let owner = self.config.architecture.owner(block);
        self.norm(x, &format!("encoder.blocks.{owner}.{name}"), self.config.hidden)
    }

    /// Adds the head, whose logits are the output: of each position, or of each sentence.
    ///
    /// # Shapes
    /// \[B, L, H\] -> \[B, L, C\] or \[B, C\]
    pub fn head(&mut self, x: &Value, head: &HeadShape, of_sentences: bool) -> Result<(), OnnxError> {
        let head = head.in_encoder(self.config);
        let h = self.config.hidden;
        let mut x = x.clone();
        if of_sentences {
            let first = self.graph.integer(0);
            x = self.graph.node("head.first_position", "Gather", &[&x, &first], &[int("axis", 1)]);
        }
        if head.kind != HeadKind::Linear {
            self.load_head_layer(&head, "dense.weight", &[h, h])?;
            let has_bias = head.kind.has_dense_bias();
            if has_bias {
                self.load_head_layer(&head, "dense.bias", &[h])?;
            }
            let layer = LinearLayer { place: "head.dense", path: "head.dense", sides: [h, h], has_bias };
            x = self.linear(&x, &layer)?;
            x = self.head_activation(&x, head.kind);
        }
        if head.kind.has_norm() {
            self.load_head_layer(&head, "norm.gamma", &[h])?;
            if self.config.architecture.norm_bias {
                self.load_head_layer(&head, "norm.beta", &[h])?;
            }
            x = self.norm(&x, "head.norm", h)?;
        }
        self.load_head_layer(&head, "classifier.weight", &[h, head.labels])?;
        self.load_head_layer(&head, "classifier.bias", &[head.labels])?;
        let path = "head.classifier";
        self.linear(&x, &LinearLayer { place: path, path, sides: [h, head.labels], has_bias: true })?;
        let labels = Dim::Fixed(head.labels);
        match of_sentences {
            true => self.graph.output("logits", &[Dim::Batch, labels]),
            false => self.graph.output("logits", &[Dim::Batch, Dim::Sequence, labels]),
        }
        Ok(())
    }

    fn head_activation(&mut self, x: &Value, kind: HeadKind) -> Value {
        let place = "head.activation";
        match kind {
            HeadKind::Pooler => self.graph.node(place, "Tanh", &[x], &[]),
            HeadKind::DistilBert => self.graph.node(place, "Relu", &[x], &[]),
            HeadKind::Transform { activation, .. } => self.activation(x, place, activation),
            HeadKind::Linear => x.clone(),
        }
    }

    /// Reads a parameter of the head from where the model has it: a pooler, for example, is the encoder's.
    fn load_head_layer(&mut self, head: &HeadShape, part: &str, shape: &[usize]) -> Result<(), OnnxError> {
        let (path, _) = head.source_of(part, self.weights);
        self.renamed_parameter(&format!("head.{part}"), &path, shape)?;
        Ok(())
    }
}
