//! Freezes a burn model of one's own by the paths of its parameters: `cargo run -p frostline-train --example own_model -- first-1`.
//! A policy of `frostline-freeze` says which paths learn; `set_trainable`, a `ModuleMapper` for any module, does the rest.
//! Then one step with burn's own AdamW shows what moved.

use burn::backend::{Autodiff, Flex};
use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::optim::{AdamWConfig, GradientsParams, Optimizer as _};
use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor, activation};
use frostline_freeze::{Policy, PolicyError};
use frostline_model::{fingerprints, set_trainable};

/// Blocks of the model.
const DEPTH: usize = 3;
/// Width of its hidden states.
const WIDTH: usize = 8;

/// A model that Frostline does not know. The names of its fields make the paths: `embeddings.weight`, `blocks.0.weight` and
/// so on to `tagger.bias`. A policy takes what is below `blocks.N` for block N, `embeddings` for the embeddings, and anything
/// else for a head.
#[derive(Module, Debug)]
struct Own<B: Backend> {
    embeddings: Embedding<B>,
    blocks: Vec<Linear<B>>,
    tagger: Linear<B>,
}

impl<B: Backend> Own<B> {
    fn new(device: &B::Device) -> Self {
        Self {
            embeddings: EmbeddingConfig::new(20, WIDTH).init(device),
            blocks: (0..DEPTH).map(|_| LinearConfig::new(WIDTH, WIDTH).init(device)).collect(),
            tagger: LinearConfig::new(WIDTH, 4).init(device),
        }
    }

    fn forward(&self, ids: Tensor<B, 2, Int>) -> Tensor<B, 3> {
        let embedded = self.embeddings.forward(ids);
        let hidden = self.blocks.iter().fold(embedded, |rows, block| activation::gelu(block.forward(rows)));
        self.tagger.forward(hidden)
    }
}

fn main() -> Result<(), PolicyError> {
    let name = std::env::args().nth(1).filter(|name| !name.starts_with("--"));
    print!("{}", shown(name.as_deref().unwrap_or("first-1+embeddings"))?);
    Ok(())
}

/// A line for each parameter: whether it learns, and whether it moved.
fn shown(name: &str) -> Result<String, PolicyError> {
    type B = Autodiff<Flex>;
    let device = Default::default();
    let policy = Policy::parse(name)?.resolve(DEPTH, &["tagger"])?;
    let model = set_trainable(Own::<B>::new(&device), |path| !policy.freezes(path));
    let before = fingerprints(&model);

    let ids = Tensor::<B, 2, Int>::from_ints([[1, 2, 3], [4, 5, 6]], &device);
    let loss = model.forward(ids).powi_scalar(2).mean();
    let gradients = GradientsParams::from_grads(loss.backward(), &model);
    let model = AdamWConfig::new().init().step(1e-2, model, gradients);

    let after = fingerprints(&model);
    let line = |(path, bits): (&String, &u64)| {
        let what = if policy.freezes(path) { "frozen" } else { "learns" };
        let moved = if after[path] == *bits { "the same bits" } else { "moved" };
        format!("{what}  {path:<20} {moved}\n")
    };
    Ok(before.iter().map(line).collect())
}

#[test]
fn what_is_frozen_keeps_its_bits_and_nothing_else_does() {
    let text = shown("first-1+embeddings").unwrap();
    assert_eq!(text.matches("frozen").count(), 3, "{text}");
    for line in text.lines() {
        assert_eq!(line.starts_with("frozen"), line.ends_with("the same bits"), "{text}");
    }
    let learns = |policy: &str| shown(policy).unwrap().matches("learns").count();
    assert_eq!([learns("none"), learns("all"), learns("head-only")], [9, 3, 2]);
    assert!(shown("first-4").is_err());
}
