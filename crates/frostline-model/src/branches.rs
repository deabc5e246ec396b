//! Models of one configuration whose equal lowest parts are computed once.
//!
//! Where embeddings and blocks of two models have the same bits, so have their outputs. The models form trees: each
//! stretch of blocks is computed once for all models above it.

use std::collections::BTreeMap;
use std::ops::Range;

use burn::prelude::*;
use frostline_kernels::Kernels;

use crate::{EncoderConfig, Network, PackedInput, Pass};

/// Models that share the parts of them that are equal. Each has one head.
pub struct Branches<B: Backend> {
    models: Vec<Network<B>>,
    trees: Vec<Tree>,
}

/// Models with equal embeddings.
struct Tree {
    /// The models, of which the first has the parameters.
    models: Vec<usize>,
    stretches: Vec<Stretch>,
}

/// Consecutive blocks that are equal in some models.
struct Stretch {
    /// The models, of which the first has the parameters.
    models: Vec<usize>,
    blocks: Range<usize>,
    /// What follows; empty at the top of the encoder.
    above: Vec<Stretch>,
}

/// Number of blocks that a pass computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComputedBlocks {
    /// If what is equal is computed once.
    pub shared: usize,
    /// If each model is computed by itself.
    pub separate: usize,
}

/// The parts of a model that must be equal to be computed once, from the input to the output: the embeddings, then each
/// block. A part is the numbers of its tensors in the pool.
type Parts = Vec<BTreeMap<String, usize>>;

impl<B: Kernels> Branches<B> {
    /// Finds what models of this configuration share, from what [`ParameterPool::share`](crate::ParameterPool::share)
    /// of one pool has returned for each.
    ///
    /// # Panics
    /// If the configuration has a mix of all blocks, which needs each block's output.
    #[must_use]
    pub fn new(config: &EncoderConfig, models: Vec<(Network<B>, BTreeMap<String, usize>)>) -> Self {
        assert!(!config.extras.mix, "a mix of all blocks has no single input of a block");
        let (models, numbers): (Vec<_>, Vec<_>) = models.into_iter().unzip();
        let parts: Vec<Parts> =
            numbers.into_iter().map(|numbers| split_into_parts(config.depth, numbers)).collect();
        let all: Vec<usize> = (0..models.len()).collect();
        let grow = |models: Vec<usize>| {
            let stretches = grow_stretches(&parts, &models, 0..config.depth);
            Tree { models, stretches }
        };
        let trees = partition_models(&parts, &all, 0).into_iter().map(grow).collect();
        Self { models, trees }
    }

    /// Returns the logits of some models, in the order asked for, each with the bits that the model computes alone.
    ///
    /// # Shapes
    /// N subwords, M label rows below N -> for each model \[M, labels\]
    ///
    /// # Panics
    /// If there is no model of a number.
    #[must_use]
    pub fn forward(
        &self,
        wanted: &[usize],
        config: &EncoderConfig,
        input: &PackedInput,
        pass: &Pass,
    ) -> Vec<Tensor<B, 2>> {
        let mut features: Vec<Option<Tensor<B, 2>>> = self.models.iter().map(|_| None).collect();
        for tree in self.trees.iter().filter(|tree| holds_any(&tree.models, wanted)) {
            let x = self.models[tree.models[0]].encoder.embed(config, input, pass);
            let with = Computation { wanted, config, input, pass };
            self.compute_stretches(&tree.stretches, &x, with, &mut features);
        }
        let logits = |&model: &usize| {
            let features = features[model].clone().expect("every model is in a tree");
            self.models[model].heads[0].forward(features, pass, &input.labels.identities)
        };
        wanted.iter().map(logits).collect()
    }

    /// Computes the heads' inputs of the wanted models from the input of a stretch.
    fn compute_stretches(
        &self,
        stretches: &[Stretch],
        x: &Tensor<B, 2>,
        with: Computation<'_>,
        features: &mut [Option<Tensor<B, 2>>],
    ) {
        let Computation { wanted, config, input, pass } = with;
        for Stretch { models, blocks, above } in stretches.iter().filter(|it| holds_any(&it.models, wanted)) {
            let (model, x) = (&self.models[models[0]], x.clone());
            if above.is_empty() {
                let x = model.features(blocks.start, config, x, input, pass);
                models.iter().for_each(|&model| features[model] = Some(x.clone()));
            } else {
                let x = model.encoder.forward_blocks(config, x, blocks.clone(), &input.pack, pass);
                self.compute_stretches(above, &x, with, features);
            }
        }
    }

    /// Returns how many blocks a pass computes for all models.
    #[must_use]
    pub fn block_count(&self) -> ComputedBlocks {
        let counts = self.trees.iter().flat_map(|tree| &tree.stretches).map(Stretch::block_count);
        counts.fold(ComputedBlocks::default(), ComputedBlocks::plus)
    }
}

/// What all stretches of a pass are computed with.
#[derive(Clone, Copy)]
struct Computation<'a> {
    wanted: &'a [usize],
    config: &'a EncoderConfig,
    input: &'a PackedInput,
    pass: &'a Pass,
}

impl Stretch {
    fn block_count(&self) -> ComputedBlocks {
        let own = self.blocks.len();
        let own = ComputedBlocks { shared: own, separate: own * self.models.len() };
        self.above.iter().map(Self::block_count).fold(own, ComputedBlocks::plus)
    }
}

impl ComputedBlocks {
    /// Returns the sums of two counts.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { shared: self.shared + other.shared, separate: self.separate + other.separate }
    }
}

fn holds_any(models: &[usize], wanted: &[usize]) -> bool {
    models.iter().any(|model| wanted.contains(model))
}

/// Returns the parts of a model; what follows the last block counts as part of that block.
fn split_into_parts(depth: usize, numbers: BTreeMap<String, usize>) -> Parts {
    let mut parts = vec![BTreeMap::new(); depth + 1];
    for (path, number) in numbers {
        let rest = path.strip_prefix("encoder.blocks.");
        let block = rest.and_then(|rest| rest.split('.').next()?.parse::<usize>().ok());
        let part = match block {
            Some(block) => 1 + block,
            None if path.starts_with("encoder.final_norm.") => depth,
            None if path.starts_with("encoder.") => 0,
            // Heads are never shared: they are small.
            None => continue,
        };
        parts[part].insert(path, number);
    }
    parts
}

/// Returns the models in groups that have an equal part.
fn partition_models(parts: &[Parts], models: &[usize], part: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &model in models {
        match groups.iter_mut().find(|group| parts[group[0]][part] == parts[model][part]) {
            Some(group) => group.push(model),
            None => groups.push(vec![model]),
        }
    }
    groups
}

/// Returns the stretches of these blocks for models that are equal below them.
fn grow_stretches(parts: &[Parts], models: &[usize], blocks: Range<usize>) -> Vec<Stretch> {
    let stretch = |models: Vec<usize>| {
        let is_equal = |block: &usize| partition_models(parts, &models, block + 1).len() == 1;
        let end = (blocks.clone()).find(|block| !is_equal(block)).unwrap_or(blocks.end);
        let above =
            if end == blocks.end { Vec::new() } else { grow_stretches(parts, &models, end..blocks.end) };
        Stretch { models, blocks: blocks.start..end, above }
    };
    partition_models(parts, models, blocks.start + 1).into_iter().map(stretch).collect()
}
