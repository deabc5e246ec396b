//! Parameters that several models share: equal tensors are found by their hashes and kept once.

use std::collections::{BTreeMap, HashMap};

use burn::module::{Module, ModuleMapper, Param};
use burn::prelude::*;
use burn::tensor::TensorPrimitive;

use crate::parameters::hash_values;

/// Tensors of models that were added, each kept once.
pub struct ParameterPool<B: Backend> {
    kept: Vec<KeptTensor<B>>,
    /// The tensors with a hash of shape and values; nearly always one.
    by_hash: HashMap<u64, Vec<usize>>,
    /// Values of all models that were added, as if each had tensors of its own.
    added_values: usize,
}

/// A tensor of any rank.
struct KeptTensor<B: Backend> {
    shape: Vec<usize>,
    tensor: B::FloatTensorPrimitive,
}

impl<B: Backend> Default for ParameterPool<B> {
    fn default() -> Self {
        Self { kept: Vec::new(), by_hash: HashMap::new(), added_values: 0 }
    }
}

impl<B: Backend> ParameterPool<B> {
    /// Returns the model with tensors of the pool in place of those that have the same bits, and the number of each
    /// parameter's tensor in the pool. Equal numbers mean equal bits: where hashes agree, values are compared.
    pub fn share<M: Module<B>>(&mut self, model: M) -> (M, BTreeMap<String, usize>) {
        let mut sharer = Sharer { pool: self, path: Vec::new(), numbers: BTreeMap::new() };
        let model = model.map(&mut sharer);
        (model, sharer.numbers)
    }

    /// Returns how many values are kept.
    #[must_use]
    pub fn kept_values(&self) -> usize {
        self.kept.iter().map(|kept| kept.shape.iter().product::<usize>()).sum()
    }

    /// Returns how many values the models would have if each had tensors of its own.
    #[must_use]
    pub fn added_values(&self) -> usize {
        self.added_values
    }

    /// Returns the number of a kept tensor with these values.
    fn find<const D: usize>(&self, hash: u64, shape: &[usize], values: &[f32]) -> Option<usize> {
        let is_equal = |number: &usize| {
            let kept = &self.kept[*number];
            kept.shape == shape && {
                let tensor = TensorPrimitive::Float(kept.tensor.clone());
                let other = read_values(Tensor::<B, D>::from_primitive(tensor));
                other.iter().map(|value| value.to_bits()).eq(values.iter().map(|value| value.to_bits()))
            }
        };
        self.by_hash.get(&hash)?.iter().copied().find(is_equal)
    }
}

fn read_values<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f32> {
    tensor.into_data().into_vec().expect("parameters are f32")
}

struct Sharer<'a, B: Backend> {
    pool: &'a mut ParameterPool<B>,
    path: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl<B: Backend> ModuleMapper<B> for Sharer<'_, B> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let (id, tensor, mapper) = parameter.consume();
        let shape = tensor.dims().to_vec();
        let values = read_values(tensor.clone());
        let hash = hash_values(&values);
        let pool = &mut *self.pool;
        pool.added_values += values.len();
        let number = pool.find::<D>(hash, &shape, &values).unwrap_or_else(|| {
            let number = pool.kept.len();
            pool.kept.push(KeptTensor { shape, tensor: tensor.into_primitive().tensor() });
            pool.by_hash.entry(hash).or_default().push(number);
            number
        });
        self.numbers.insert(self.path.join("."), number);
        let shared = TensorPrimitive::Float(pool.kept[number].tensor.clone());
        Param::from_mapped_value(id, Tensor::from_primitive(shared), mapper)
    }
}
