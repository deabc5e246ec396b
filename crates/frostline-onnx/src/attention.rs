//! Attention of a block, in every form that an encoder can have: rotated queries and keys, windows, relative positions, and keys
//! that queries share.

use frostline_kernels::{RelativePositions, Rotary};
use frostline_model::{LayerKind, Matrix};

use crate::embeddings::Inputs;
use crate::error::OnnxError;
use crate::graph::{Dim, Value, int, ints};
use crate::layers::{Builder, LinearLayer};
use crate::tensor::{Data, Kind};

/// The values that all blocks share.
pub(crate) struct Surroundings {
    /// Added to scores: 0, or the lowest number for padding, \[B, 1, 1, L\].
    everywhere: Value,
    /// The same with the lowest number outside of a window, \[B, 1, L, L\], if some block has one.
    nearby: Option<Value>,
    /// Cosines and sines by the base of the rotations, \[L, D\].
    rotations: Vec<(f64, [Value; 2])>,
    relative: Option<Relative>,
}

/// The values that scores of relative positions need.
struct Relative {
    /// The rows of the table, \[R, H\].
    rows: Value,
    /// The row of each query and key, and of each key and query, \[B, heads, L, L\].
    pairs: [Value; 2],
}

impl Builder<'_> {
    /// Adds what all blocks share.
    pub fn surroundings(&mut self, inputs: &Inputs) -> Result<Surroundings, OnnxError> {
        let (config, architecture) = (self.config, &self.config.architecture);
        let everywhere = self.padding_bias(&inputs.mask);
        let has_windows = (0..config.depth).any(|block| architecture.layer(block) == LayerKind::Local);
        let distances = (has_windows || architecture.relative.is_some()).then(|| self.distances(inputs));
        let nearby = distances
            .as_ref()
            .filter(|_| has_windows)
            .map(|distances| self.window_bias(distances, &everywhere));
        let relative = match (&architecture.relative, &distances) {
            (Some(_), Some(distances)) => Some(self.relative(inputs, distances)?),
            _ => None,
        };
        let mut rotations: Vec<(f64, [Value; 2])> = Vec::new();
        for block in 0..config.depth {
            if let Some(base) = self.rotary_base(block)
                && !rotations.iter().any(|(known, _)| *known == base)
            {
                let turns = self.rotations(base, rotations.len(), inputs);
                rotations.push((base, turns));
            }
        }
        Ok(Surroundings { everywhere, nearby, rotations, relative })
    }

    /// Returns the context of attention.
    ///
    /// # Shapes
    /// \[B, L, H\] -> \[B, L, H\]
    pub fn attend(&mut self, x: &Value, block: usize, around: &Surroundings) -> Result<Value, OnnxError> {
        let config = self.config;
        let place = format!("encoder.blocks.{block}.attention");
        let mut query = self.heads(x, block, Matrix::Query)?;
        let mut key = self.heads(x, block, Matrix::Key)?;
        let value = self.heads(x, block, Matrix::Value)?;
        let base = self.rotary_base(block);
        if let Some((_, turns)) = around.rotations.iter().find(|(known, _)| Some(*known) == base) {
            query = self.rotate(&query, &format!("{place}.rotated_query"), turns);
            key = self.rotate(&key, &format!("{place}.rotated_key"), turns);
        }
        let scores = self.scores([&query, &key], block, &place, around)?;
        let bias = match (config.architecture.layer(block), &around.nearby) {
            (LayerKind::Local, Some(nearby)) => nearby,
            _ => &around.everywhere,
        };
        let g = &mut self.graph;
        let scores = g.node(&place, "Add", &[&scores, bias], &[]);
        let shares = g.node(&place, "Softmax", &[&scores], &[int("axis", -1)]);
        let context = g.node(&place, "MatMul", &[&shares, &value], &[]);
        let context = g.node(&place, "Transpose", &[&context], &[ints("perm", &[0, 2, 1, 3])]);
        let joined = g.list(&[0, 0, config.hidden as i64]);
        let context = g.node(&place, "Reshape", &[&context, &joined], &[]);
        // Rotations and relative positions hide this shape, too (see `embed`).
        g.declare(&context, &[Dim::Batch, Dim::Sequence, Dim::Fixed(config.hidden)]);
        Ok(context)
    }

    /// Returns the scaled scores of all pairs of positions.
    ///
    /// # Shapes
    /// \[B, heads, L, D\] each -> \[B, heads, L, L\]
    fn scores(
        &mut self,
        [query, key]: [&Value; 2],
        block: usize,
        place: &str,
        around: &Surroundings,
    ) -> Result<Value, OnnxError> {
        let channels = self.config.hidden / self.config.heads;
        let columns = self.graph.node(place, "Transpose", &[key], &[ints("perm", &[0, 1, 3, 2])]);
        let mut scores = self.graph.node(place, "MatMul", &[query, &columns], &[]);
        let mut terms = 1;
        if let Some(relative) = &around.relative {
            terms = 3;
            for term in self.relative_scores([query, key], block, relative)? {
                scores = self.graph.node(place, "Add", &[&scores, &term], &[]);
            }
        }
        let root = self.graph.number(((terms * channels) as f32).sqrt());
        Ok(self.graph.node(place, "Div", &[&scores, &root], &[]))
    }

    /// Returns queries, keys or values of each head. Keys and values are repeated if several queries share them.
    ///
    /// # Shapes
    /// \[B, L, H\] -> \[B, heads, L, D\]
    fn heads(&mut self, x: &Value, block: usize, matrix: Matrix) -> Result<Value, OnnxError> {
        let config = self.config;
        let path = format!("encoder.blocks.{block}.{}", matrix.name());
        let mut rows = self.matrix(x, block, matrix)?;
        let (heads, channels) = (config.heads, config.hidden / config.heads);
        let groups = matrix.sides(config)[1] / channels;
        let g = &mut self.graph;
        if groups < heads {
            let parts = g.list(&[0, 0, groups as i64, 1, channels as i64]);
            let times = g.list(&[1, 1, 1, (heads / groups) as i64, 1]);
            rows = g.node(&path, "Reshape", &[&rows, &parts], &[]);
            rows = g.node(&path, "Expand", &[&rows, &times], &[]);
        }
        let split = g.list(&[0, 0, heads as i64, channels as i64]);
        let rows = g.node(&path, "Reshape", &[&rows, &split], &[]);
        Ok(g.node(&path, "Transpose", &[&rows], &[ints("perm", &[0, 2, 1, 3])]))
    }

    /// Returns the result of a linear layer of a block.
    pub fn matrix(&mut self, x: &Value, block: usize, matrix: Matrix) -> Result<Value, OnnxError> {
        let name = |block: usize| format!("encoder.blocks.{block}.{}", matrix.name());
        let (place, path) = (name(block), name(self.config.architecture.owner(block)));
        let (sides, has_bias) = (matrix.sides(self.config), matrix.has_bias(self.config));
        self.linear(x, &LinearLayer { place: &place, path: &path, sides, has_bias })
    }

    /// Rotates each head by the position: channels i and i + D/2 are a point in the plane.
    ///
    /// # Shapes
    /// \[B, heads, L, D\] -> \[B, heads, L, D\]
    fn rotate(&mut self, x: &Value, place: &str, [cosines, sines]: &[Value; 2]) -> Value {
        let half = (self.config.hidden / self.config.heads / 2) as i64;
        let g = &mut self.graph;
        let (start, middle, end) = (g.list(&[0]), g.list(&[half]), g.list(&[2 * half]));
        let axis = g.list(&[3]);
        let first = g.node(place, "Slice", &[x, &start, &middle, &axis], &[]);
        let second = g.node(place, "Slice", &[x, &middle, &end, &axis], &[]);
        let swapped = g.node(place, "Concat", &[&second, &first], &[int("axis", -1)]);
        let along = g.node(place, "Mul", &[x, cosines], &[]);
        let across = g.node(place, "Mul", &[&swapped, sines], &[]);
        g.node(place, "Add", &[&along, &across], &[])
    }

    /// Returns cosines and sines of the angles of each position; the sine of a pair's first channel is negated.
    ///
    /// # Shapes
    /// \[L, D\] each
    fn rotations(&mut self, base: f64, number: usize, inputs: &Inputs) -> [Value; 2] {
        let (positions, channels) = (self.config.positions, self.config.hidden / self.config.heads);
        let rotary = Rotary::new(base, channels, positions);
        let (mut cosines, mut sines) = (Vec::new(), Vec::new());
        for position in 0..positions {
            let turns = rotary.turns(position);
            cosines.extend(turns.iter().chain(turns).map(|[cosine, _]| *cosine));
            sines.extend(turns.iter().map(|[_, sine]| -sine).chain(turns.iter().map(|[_, sine]| *sine)));
        }
        [("cosines", cosines), ("sines", sines)].map(|(name, values)| {
            let place = format!("rotations.{number}.{name}");
            let table = self.graph.tensor(&place, &[positions, channels], Data::F32(values));
            self.first_rows(&place, &table, inputs)
        })
    }

    /// Returns the base of the rotations in a block, if queries and keys are rotated.
    fn rotary_base(&self, block: usize) -> Option<f64> {
        let architecture = &self.config.architecture;
        architecture.rotary.map(|bases| match architecture.layer(block) {
            LayerKind::Global => bases.global,
            LayerKind::Local => bases.local,
        })
    }

    /// Returns what is added to scores: the lowest number for padding, otherwise 0.
    ///
    /// # Shapes
    /// \[B, L\] -> \[B, 1, 1, L\]
    fn padding_bias(&mut self, mask: &Value) -> Value {
        let (g, place) = (&mut self.graph, "padding");
        let (axis, next) = (g.list(&[1]), g.list(&[2]));
        let (one, lowest) = (g.number(1.0), g.number(f32::MIN));
        let mask = g.node(place, "Unsqueeze", &[mask, &axis], &[]);
        let mask = g.node(place, "Unsqueeze", &[&mask, &next], &[]);
        let mask = g.node(place, "Cast", &[&mask], &[int("to", i64::from(Kind::F32.code()))]);
        let mask = g.node(place, "Sub", &[&one, &mask], &[]);
        g.node(place, "Mul", &[&mask, &lowest], &[])
    }

    /// Returns the position of each query minus the position of each key.
    ///
    /// # Shapes
    /// \[L, L\]
    fn distances(&mut self, inputs: &Inputs) -> Value {
        let length = self.length(inputs);
        let (g, place) = (&mut self.graph, "distances");
        let (zero, one) = (g.integer(0), g.integer(1));
        let (before, after) = (g.list(&[0]), g.list(&[1]));
        let length = g.node(place, "Squeeze", &[&length], &[]);
        let positions = g.node(place, "Range", &[&zero, &length, &one], &[]);
        let queries = g.node(place, "Unsqueeze", &[&positions, &after], &[]);
        let keys = g.node(place, "Unsqueeze", &[&positions, &before], &[]);
        g.node(place, "Sub", &[&queries, &keys], &[])
    }

    /// Returns the bias of padding with the lowest number outside of the window, too. The two are not added: a row of minus
    /// infinities would become NaN.
    ///
    /// # Shapes
    /// \[L, L\] and \[B, 1, 1, L\] -> \[B, 1, L, L\]
    fn window_bias(&mut self, distances: &Value, everywhere: &Value) -> Value {
        let (g, place) = (&mut self.graph, "window");
        let (window, lowest, zero) =
            (g.integer(self.config.architecture.window as i64), g.number(f32::MIN), g.number(0.0));
        let distances = g.node(place, "Abs", &[distances], &[]);
        let is_far = g.node(place, "Greater", &[&distances, &window], &[]);
        let far = g.node(place, "Where", &[&is_far, &lowest, &zero], &[]);
        g.node(place, "Min", &[everywhere, &far], &[])
    }

    /// Adds the rows of relative positions, and the row of each pair of positions.
    fn relative(&mut self, inputs: &Inputs, distances: &Value) -> Result<Relative, OnnxError> {
        let config = self.config;
        let table = config.architecture.relative.as_ref().expect("the encoder has relative positions");
        let (path, positions) = ("encoder.embeddings.relative", config.positions);
        let mut rows = self.parameter(path, &[2 * table.span(), config.hidden])?;
        if table.has_norm {
            rows = self.norm(&rows, "encoder.embeddings.relative_norm", config.hidden)?;
        }
        let known = RelativePositions::new(table.buckets, table.farthest, positions);
        let farthest = positions as isize - 1;
        let of_distance: Vec<i32> =
            (-farthest..=farthest).map(|distance| known.row(distance) as i32).collect();
        let length = self.length(inputs);
        let g = &mut self.graph;
        let of_distance = g.tensor("relative.row_of_distance", &[of_distance.len()], Data::I32(of_distance));
        let (farthest, heads) = (g.integer(farthest as i64), g.list(&[config.heads as i64]));
        let batch = g.node("relative", "Shape", &[&inputs.ids], &[int("start", 0), int("end", 1)]);
        let sizes = [&batch, &heads, &length, &length];
        let shape = g.node("relative", "Concat", &sizes, &[int("axis", 0)]);
        let distances = g.node("relative", "Add", &[distances, &farthest], &[]);
        let pairs = g.node("relative", "Gather", &[&of_distance, &distances], &[]);
        let swapped = g.node("relative", "Transpose", &[&pairs], &[ints("perm", &[1, 0])]);
        let pairs = [pairs, swapped].map(|pairs| g.node("relative", "Expand", &[&pairs, &shape], &[]));
        Ok(Relative { rows, pairs })
    }

    /// Returns the scores of queries with keys of relative positions, and of keys with queries of relative positions.
    ///
    /// # Shapes
    /// \[B, heads, L, D\] each -> \[B, heads, L, L\] each
    fn relative_scores(
        &mut self,
        [query, key]: [&Value; 2],
        block: usize,
        relative: &Relative,
    ) -> Result<[Value; 2], OnnxError> {
        let of_query = self.relative_term(query, block, Matrix::Key, relative)?;
        let of_key = self.relative_term(key, block, Matrix::Query, relative)?;
        let place = format!("encoder.blocks.{block}.query.relative");
        let of_key = self.graph.node(&place, "Transpose", &[&of_key], &[ints("perm", &[0, 1, 3, 2])]);
        Ok([of_query, of_key])
    }

    /// Returns the products of each row with the row of relative positions of each other position, made by a linear layer.
    ///
    /// # Shapes
    /// \[B, heads, L, D\] -> \[B, heads, L, L\]
    fn relative_term(
        &mut self,
        x: &Value,
        block: usize,
        matrix: Matrix,
        relative: &Relative,
    ) -> Result<Value, OnnxError> {
        let config = self.config;
        let path = format!("encoder.blocks.{}.{}", config.architecture.owner(block), matrix.name());
        let place = format!("encoder.blocks.{block}.{}.relative", matrix.name());
        let (sides, has_bias) = (matrix.sides(config), matrix.has_bias(config));
        let layer = LinearLayer { place: &place, path: &path, sides, has_bias };
        let rows = self.linear(&relative.rows, &layer)?;
        let pairs = &relative.pairs[usize::from(matrix == Matrix::Query)];
        let g = &mut self.graph;
        let split = g.list(&[0, config.heads as i64, (config.hidden / config.heads) as i64]);
        let rows = g.node(&place, "Reshape", &[&rows, &split], &[]);
        let columns = g.node(&place, "Transpose", &[&rows], &[ints("perm", &[1, 2, 0])]);
        let products = g.node(&place, "MatMul", &[x, &columns], &[]);
        Ok(g.node(&place, "GatherElements", &[&products, pairs], &[int("axis", 3)]))
    }
}
