//! Walking over a model's parameters by path: freezing, copying, comparing.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::prelude::*;
use frostline_random::mix64;

/// A parameter's numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers, row-major.
    pub data: Vec<f32>,
}

/// Lets exactly the parameters learn whose path satisfies `learns`.
#[must_use]
pub fn set_trainable<B: Backend, M: Module<B>>(model: M, learns: impl Fn(&str) -> bool) -> M {
    model.map(&mut Gate { path: Vec::new(), learns })
}

/// All parameters by path.
#[must_use]
pub fn snapshot<B: Backend, M: Module<B>>(model: &M) -> BTreeMap<String, Values> {
    let mut all = BTreeMap::new();
    visit(model, |path, shape, data| {
        all.insert(path, Values { shape, data });
    });
    all
}

/// A 64-bit hash of every parameter's bits by path: equal hashes mean equal bits for all that a
/// training run can do by accident.
#[must_use]
pub fn fingerprints<B: Backend, M: Module<B>>(model: &M) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    visit(model, |path, _, data| {
        // Four independent chains keep the processor busy.
        let mut chains = [1u64, 2, 3, 4];
        for quad in data.chunks(4) {
            for (chain, value) in chains.iter_mut().zip(quad) {
                *chain = mix64(*chain ^ u64::from(value.to_bits()));
            }
        }
        all.insert(path, chains.into_iter().fold(0, |all, chain| mix64(all ^ chain)));
    });
    all
}

fn visit<B: Backend, M: Module<B>>(model: &M, each: impl FnMut(String, Vec<usize>, Vec<f32>)) {
    model.visit(&mut Reader { path: Vec::new(), each });
}

struct Gate<F> {
    path: Vec<String>,
    learns: F,
}

impl<B: Backend, F: Fn(&str) -> bool> ModuleMapper<B> for Gate<F> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let learns = (self.learns)(&self.path.join("."));
        parameter.set_require_grad(learns)
    }
}

struct Reader<F> {
    path: Vec<String>,
    each: F,
}

impl<B: Backend, F: FnMut(String, Vec<usize>, Vec<f32>)> ModuleVisitor<B> for Reader<F> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<B, D>>) {
        let tensor = parameter.val();
        let shape = tensor.dims().to_vec();
        let data = tensor.into_data().into_vec().expect("parameters are f32");
        (self.each)(self.path.join("."), shape, data);
    }
}
