//! Adam and AdamW over a module's parameters: global-norm clipping, no decay on biases and
//! LayerNorms, and no state for what is frozen.

use std::collections::{BTreeMap, HashMap};

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::prelude::*;
use burn::tensor::backend::AutodiffBackend;
use frostline_freeze::{Group, LayerDecay};
use frostline_kernels::{AdamW, Kernels, Train};
use frostline_record::OptimizerSettings;

/// The optimiser with its state.
pub struct Optimizer<B: Backend> {
    settings: OptimizerSettings,
    rates: LayerDecay,
    /// Of each parameter of the model.
    places: HashMap<ParamId, Place>,
    /// Of each parameter that has received a gradient.
    moments: HashMap<ParamId, Moments<B>>,
}

/// What follows from a parameter's path.
#[derive(Clone, Copy)]
struct Place {
    group: Group,
    /// Whether weight decay acts on it.
    decays: bool,
}

/// A parameter's state. Its steps count from its own first gradient, as in PyTorch, so that what
/// is unfrozen late is corrected for its own beginning.
struct Moments<B: Backend> {
    steps: u64,
    /// First and second moment, flattened.
    values: [Tensor<B, 1>; 2],
}

/// A parameter's state as numbers: its steps, its first and second moment.
pub(crate) type SavedMoments = (u64, [Vec<f32>; 2]);

impl<B: Kernels> Optimizer<B> {
    /// An optimiser that has taken no step, for an encoder of `depth` blocks.
    #[must_use]
    pub fn new(settings: OptimizerSettings, depth: usize) -> Self {
        let rates = LayerDecay::new(settings.layer_decay, depth);
        Self { settings, rates, places: HashMap::new(), moments: HashMap::new() }
    }

    /// Parameters that have state.
    #[must_use]
    pub fn states(&self) -> usize {
        self.moments.len()
    }

    /// Takes a step with this learning rate. Returns the model and the gradients' norms before
    /// clipping.
    pub fn step<A, M>(&mut self, lr: f64, model: M, gradients: GradientsParams) -> (M, Norms)
    where
        A: Train + AutodiffBackend<InnerBackend = B>,
        M: Module<A>,
    {
        let mut squares = Squares { gradients: &gradients, of: Vec::new() };
        model.visit(&mut squares);
        let squares = squares.of;
        if squares.iter().any(|(id, _)| !self.places.contains_key(id)) {
            self.places = places(&model);
        }
        let norm = squares.iter().map(|(_, squares)| squares).sum::<f64>().sqrt();
        let clip = self.settings.clip_norm;
        let gradient_scale = if clip > 0.0 { (clip / (norm + 1e-6)).min(1.0) } else { 1.0 };
        let rule = AdamW {
            lr,
            beta1: self.settings.beta1,
            beta2: self.settings.beta2,
            eps: self.settings.eps,
            weight_decay: self.settings.decay(),
            step: 0,
            gradient_scale,
        };
        let norms = Norms(squares.iter().map(|(id, squares)| (self.places[id].group, *squares)).collect());
        let Self { rates, places, moments, .. } = self;
        (model.map(&mut Update { rule, rates, places, gradients, moments }), norms)
    }

    /// Drops the state of what is frozen from now on.
    pub(crate) fn forget<M: Module<A>, A: AutodiffBackend<InnerBackend = B>>(
        &mut self,
        model: &M,
        frozen: impl Fn(&str) -> bool,
    ) {
        for (_, id) in ids(model).into_iter().filter(|(path, _)| frozen(path)) {
            self.moments.remove(&id);
        }
    }

    /// The state of every parameter that has some, by path.
    pub(crate) fn save<M: Module<A>, A: AutodiffBackend<InnerBackend = B>>(
        &self,
        model: &M,
    ) -> BTreeMap<String, SavedMoments> {
        let numbers = |tensor: &Tensor<B, 1>| tensor.to_data().into_vec::<f32>().expect("moments are f32");
        ids(model)
            .into_iter()
            .filter_map(|(path, id)| {
                let Moments { steps, values } = self.moments.get(&id)?;
                Some((path, (*steps, [numbers(&values[0]), numbers(&values[1])])))
            })
            .collect()
    }

    /// Takes over what [`Optimizer::save`] gave for a model of the same parameters.
    pub(crate) fn restore<M: Module<A>, A: AutodiffBackend<InnerBackend = B>>(
        &mut self,
        model: &M,
        device: &B::Device,
        mut saved: BTreeMap<String, SavedMoments>,
    ) {
        for (path, id) in ids(model) {
            if let Some((steps, numbers)) = saved.remove(&path) {
                let values = numbers.map(|values| Tensor::from_floats(values.as_slice(), device));
                self.moments.insert(id, Moments { steps, values });
            }
        }
    }
}

/// The parameters' names for the optimiser, by path.
fn ids<A: Backend, M: Module<A>>(model: &M) -> BTreeMap<String, ParamId> {
    struct Ids {
        path: Vec<String>,
        all: BTreeMap<String, ParamId>,
    }
    impl<A: Backend> ModuleVisitor<A> for Ids {
        fn enter_module(&mut self, name: &str, _: &str) {
            self.path.push(name.into());
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.pop();
        }
        fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<A, D>>) {
            self.all.insert(self.path.join("."), parameter.id);
        }
    }
    let mut ids = Ids { path: Vec::new(), all: BTreeMap::new() };
    model.visit(&mut ids);
    ids.all
}

/// What follows from the path of each parameter.
fn places<A: Backend, M: Module<A>>(model: &M) -> HashMap<ParamId, Place> {
    let place = |path: &str| Place {
        group: Group::of(path),
        decays: !matches!(path.rsplit('.').next(), Some("bias" | "gamma" | "beta")),
    };
    ids(model).into_iter().map(|(path, id)| (id, place(&path))).collect()
}

/// The squared norms of a step's gradients, with the group of each parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Norms(Vec<(Group, f64)>);

impl Norms {
    /// The norm of a group's gradient; 0 where it has none.
    #[must_use]
    pub fn of(&self, group: Group) -> f64 {
        let squares = self.0.iter().filter(|(other, _)| *other == group);
        squares.map(|(_, squares)| squares).sum::<f64>().sqrt()
    }
}

/// The sum of the squares of each gradient, in the order of the model's parameters.
struct Squares<'a> {
    gradients: &'a GradientsParams,
    of: Vec<(ParamId, f64)>,
}

impl<A: Train> ModuleVisitor<A> for Squares<'_> {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<A, D>>) {
        if let Some(gradient) = self.gradients.get::<A::InnerBackend, D>(parameter.id) {
            self.of.push((parameter.id, <A::InnerBackend as Kernels>::k_sum_squares(&gradient)));
        }
    }
}

struct Update<'a, B: Backend> {
    rule: AdamW,
    rates: &'a LayerDecay,
    places: &'a HashMap<ParamId, Place>,
    gradients: GradientsParams,
    moments: &'a mut HashMap<ParamId, Moments<B>>,
}

impl<A: Train> ModuleMapper<A> for Update<'_, A::InnerBackend> {
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<A, D>>) -> Param<Tensor<A, D>> {
        let Some(gradient) = self.gradients.remove::<A::InnerBackend, D>(parameter.id) else {
            return parameter;
        };
        let (id, tensor, mapper) = parameter.consume();
        let shape = tensor.dims();
        let count: usize = shape.iter().product();
        let tensor = tensor.inner().reshape([count]);
        let Moments { steps, values } = self.moments.remove(&id).unwrap_or_else(|| {
            let device = tensor.device();
            Moments { steps: 0, values: [Tensor::zeros([count], &device), Tensor::zeros([count], &device)] }
        });
        let steps = steps + 1;
        let place = self.places[&id];
        let rule = AdamW {
            lr: self.rule.lr * self.rates.of(place.group),
            weight_decay: if place.decays { self.rule.weight_decay } else { 0.0 },
            step: steps,
            ..self.rule
        };
        let gradient = gradient.reshape([count]);
        let (tensor, values) = <A::InnerBackend as Kernels>::k_adamw(&rule, tensor, gradient, values);
        self.moments.insert(id, Moments { steps, values });
        let tensor = Tensor::from_inner(tensor.reshape(shape)).require_grad();
        Param::from_mapped_value(id, tensor, mapper)
    }
}
