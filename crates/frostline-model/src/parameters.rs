//! Operations on a model's parameters by path: freezing, copying, replacing, comparing.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::prelude::*;
use frostline_random::mix64;
use rayon::prelude::*;

use crate::ModelError;

/// A parameter's values.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// The shape of the parameter.
    pub shape: Vec<usize>,
    /// The values of the parameter, row-major.
    pub data: Vec<f32>,
}

/// Makes exactly the parameters trainable whose paths satisfy `is_trainable`.
#[must_use]
pub fn set_trainable<B: Backend, M: Module<B>>(model: M, is_trainable: impl Fn(&str) -> bool) -> M {
    model.map(&mut TrainableSetter { path: Vec::new(), is_trainable })
}

/// Returns the model with these values; parameters that are not named keep theirs.
///
/// # Errors
/// If the values of a parameter have another shape; the error names it.
pub fn replace<B: Backend, M: Module<B>>(
    model: M,
    values: &BTreeMap<String, Values>,
) -> Result<M, ModelError> {
    let mut writer = Writer { path: Vec::new(), values, wrong: None };
    let model = model.map(&mut writer);
    writer.wrong.map_or(Ok(model), Err)
}

/// Returns all parameters by path.
#[must_use]
pub fn snapshot<B: Backend, M: Module<B>>(model: &M) -> BTreeMap<String, Values> {
    let mut all = BTreeMap::new();
    visit(model, |path, shape, data| {
        all.insert(path, Values { shape, data });
    });
    all
}

/// Returns a 64-bit hash of every parameter's bits by path. Equal hashes mean equal bits, except for collisions
/// that a training run cannot produce in practice.
#[must_use]
pub fn fingerprints<B: Backend, M: Module<B>>(model: &M) -> BTreeMap<String, u64> {
    let (mut all, mut read, mut numbers) = (BTreeMap::new(), Vec::new(), 0);
    let hash = |read: &mut Vec<(String, Vec<f32>)>| -> Vec<(String, u64)> {
        std::mem::take(read).into_par_iter().map(|(path, data)| (path, hash_values(&data))).collect()
    };
    // A device's values are read by the thread that computes with them.
    visit(model, |path, _, data| {
        numbers += data.len();
        read.push((path, data));
        if numbers >= TOGETHER {
            all.extend(hash(&mut read));
            numbers = 0;
        }
    });
    all.extend(hash(&mut read));
    all
}

/// Numbers that are read before they are hashed, unless a single parameter has more.
const TOGETHER: usize = 4 << 20;

pub(crate) fn hash_values(values: &[f32]) -> u64 {
    // Four independent chains keep the processor busy.
    let mut chains = [1u64, 2, 3, 4];
    for quad in values.chunks(4) {
        for (chain, value) in chains.iter_mut().zip(quad) {
            *chain = mix64(*chain ^ u64::from(value.to_bits()));
        }
    }
    chains.into_iter().fold(0, |all, chain| mix64(all ^ chain))
}

fn visit<B: Backend, M: Module<B>>(model: &M, each: impl FnMut(String, Vec<usize>, Vec<f32>)) {
    model.visit(&mut Reader { path: Vec::new(), each });
}

struct TrainableSetter<F> {
    path: Vec<String>,
    is_trainable: F,
}

impl<B: Backend, F: Fn(&str) -> bool> ModuleMapper<B> for TrainableSetter<F> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let is_trainable = (self.is_trainable)(&self.path.join("."));
        parameter.set_require_grad(is_trainable)
    }
}

struct Writer<'a> {
    path: Vec<String>,
    values: &'a BTreeMap<String, Values>,
    wrong: Option<ModelError>,
}

impl<B: Backend> ModuleMapper<B> for Writer<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let path = self.path.join(".");
        let Some(Values { shape, data }) = self.values.get(&path) else {
            return parameter;
        };
        let expected = parameter.val().dims().to_vec();
        if *shape != expected {
            let (place, found) = ("the given values".into(), shape.clone());
            self.wrong = Some(ModelError::Shape { place, name: path, found, expected });
            return parameter;
        }
        let (id, tensor, mapper) = parameter.consume();
        let is_trainable = tensor.is_require_grad();
        let data = TensorData::new(data.clone(), shape.clone());
        let tensor = Tensor::from_data(data, &tensor.device()).set_require_grad(is_trainable);
        Param::from_mapped_value(id, tensor, mapper)
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
