//! Adam and AdamW over a module's parameters: global-norm clipping, no decay on biases and
//! LayerNorms, and no state for what is frozen.

use std::collections::{BTreeMap, HashMap};

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::prelude::*;
use burn::tensor::backend::AutodiffBackend;
use frostline_freeze::{Group, LayerDecay};
use frostline_kernels::{AdamW, Kernels, Train, Update, clipping};
use frostline_model::Network;
use frostline_record::OptimizerSettings;

use crate::batch::Batch;
use crate::moments::{AllMoments, Moments};
use crate::word_table::WordTable;

/// The optimiser with its state.
pub struct Optimizer<B: Backend> {
    settings: OptimizerSettings,
    rates: LayerDecay,
    /// Of each parameter of the model.
    places: HashMap<ParamId, ParameterKind>,
    /// Of each parameter that has received a gradient, except the word table's while the optimiser has it.
    moments: AllMoments<B>,
    /// The word table, where the model has only the rows that a step reads.
    word_table: Option<WordTable>,
}

/// What follows from a parameter's path.
#[derive(Clone, Copy)]
struct ParameterKind {
    group: Group,
    /// Whether weight decay acts on it.
    decays: bool,
}

/// A parameter's state as numbers: its steps, its first and second moment.
pub(crate) type SavedMoments = (u64, [Vec<f32>; 2]);

impl<B: Kernels> Optimizer<B> {
    /// An optimiser that has taken no step, for an encoder of `depth` blocks.
    #[must_use]
    pub fn new(settings: OptimizerSettings, depth: usize) -> Self {
        let rates = LayerDecay::new(settings.layer_decay, depth).with_head_factor(settings.head_factor);
        Self { settings, rates, places: HashMap::new(), moments: HashMap::new(), word_table: None }
    }

    /// Parameters that have state.
    #[must_use]
    pub fn states(&self) -> usize {
        self.moments.len()
    }

    /// Takes a step with this learning rate. Returns the model and the gradients' norms before
    /// clipping.
    pub fn step<A, M>(&mut self, lr: f64, model: M, gradients: GradientsParams) -> (M, Norms<B>)
    where
        A: Train + AutodiffBackend<InnerBackend = B>,
        M: Module<A>,
    {
        let mut taken = TakenParameters { gradients, all: Vec::new() };
        let model = model.map(&mut taken);
        let TakenParameters { mut all, .. } = taken;
        if all.is_empty() {
            return (model, Norms::NONE);
        }
        if all.iter().any(|part| !self.places.contains_key(&part.id)) {
            self.places = places(&model);
        }
        let squares = B::k_squares(&all.iter().map(|part| part.gradient.clone()).collect::<Vec<_>>());
        let norms =
            Norms(Some((all.iter().map(|part| self.places[&part.id].group).collect(), squares.clone())));
        let clip = Some(self.settings.clip_norm).filter(|&clip| clip > 0.0);
        let mut after = HashMap::new();
        let mut word_table = self.word_table.take();
        if let Some(table) = &mut word_table
            && let Some(at) = all.iter().position(|part| table.is(part.id))
        {
            let FlatParameter { id, shape, parameter, gradient } = all.remove(at);
            let rule = self.rule(lr, self.places[&id], table.next_step());
            table.update(&rule, clipping(&squares, clip), gradient);
            after.insert(id, (shape, parameter));
        }
        self.word_table = word_table;
        let mut kept = Vec::with_capacity(all.len());
        let updates = all.into_iter().map(|FlatParameter { id, shape, parameter, gradient }| {
            let Moments { steps, values: moments } = self.moments.remove(&id).unwrap_or_else(|| {
                let ([count], device) = (parameter.dims(), parameter.device());
                Moments {
                    steps: 0,
                    values: [Tensor::zeros([count], &device), Tensor::zeros([count], &device)],
                }
            });
            kept.push((id, shape, steps + 1));
            Update { rule: self.rule(lr, self.places[&id], steps + 1), parameter, gradient, moments }
        });
        let updates = updates.collect();
        let updated = B::k_adamw(updates, &squares, clip);
        for ((id, shape, steps), (parameter, values)) in kept.into_iter().zip(updated) {
            self.moments.insert(id, Moments { steps, values });
            after.insert(id, (shape, parameter));
        }
        (model.map(&mut Put { after }), norms)
    }

    /// Takes the word table out of the model where it learns, and puts it back where it does not.
    pub(crate) fn take_table<A>(&mut self, model: Network<A>) -> Network<A>
    where
        A: Train + AutodiffBackend<InnerBackend = B>,
    {
        if !model.encoder.embeddings.word.is_require_grad() {
            return self.give_back(model);
        }
        let (None, Some(make)) = (&self.word_table, B::k_lazy_table()) else { return model };
        let (model, table) = WordTable::take(model, make, &mut self.moments);
        self.word_table = Some(table);
        model
    }

    /// Gives the model the rows of the word table that these batches read, where the table was taken out of it.
    pub(crate) fn lend<A>(&mut self, model: Network<A>, batches: &mut [Batch]) -> Network<A>
    where
        A: Train + AutodiffBackend<InnerBackend = B>,
    {
        let model = self.take_table(model);
        match &mut self.word_table {
            None => model,
            Some(table) => table.lend(model, batches),
        }
    }

    /// Puts the word table back into the model, with all its rows up to date.
    pub(crate) fn give_back<A>(&mut self, model: Network<A>) -> Network<A>
    where
        A: Train + AutodiffBackend<InnerBackend = B>,
    {
        match self.word_table.take() {
            None => model,
            Some(table) => table.give_back(model, &mut self.moments),
        }
    }

    /// The hyperparameters of a parameter's update.
    fn rule(&self, lr: f64, place: ParameterKind, step: u64) -> AdamW {
        let Self { settings, rates, .. } = self;
        AdamW {
            lr: lr * rates.of(place.group),
            beta1: settings.beta1,
            beta2: settings.beta2,
            eps: settings.eps,
            weight_decay: if place.decays { settings.decay() } else { 0.0 },
            step,
        }
    }

    /// Drops the state of what is frozen from now on.
    pub(crate) fn forget<M: Module<A>, A: AutodiffBackend<InnerBackend = B>>(
        &mut self,
        model: &M,
        frozen: impl Fn(&str) -> bool,
    ) {
        for (_, id) in parameter_ids(model).into_iter().filter(|(path, _)| frozen(path)) {
            self.moments.remove(&id);
        }
    }

    /// The state of every parameter that has some, by path.
    pub(crate) fn save<M: Module<A>, A: AutodiffBackend<InnerBackend = B>>(
        &self,
        model: &M,
    ) -> BTreeMap<String, SavedMoments> {
        assert!(self.word_table.is_none(), "the model is given back before a run is saved");
        let numbers = |tensor: &Tensor<B, 1>| tensor.to_data().into_vec::<f32>().expect("moments are f32");
        parameter_ids(model)
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
        for (path, id) in parameter_ids(model) {
            if let Some((steps, numbers)) = saved.remove(&path) {
                let values = numbers.map(|values| Tensor::from_floats(values.as_slice(), device));
                self.moments.insert(id, Moments { steps, values });
            }
        }
    }
}

/// The parameters' names for the optimiser, by path.
fn parameter_ids<A: Backend, M: Module<A>>(model: &M) -> BTreeMap<String, ParamId> {
    struct ParameterIds {
        path: Vec<String>,
        all: BTreeMap<String, ParamId>,
    }
    impl<A: Backend> ModuleVisitor<A> for ParameterIds {
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
    let mut ids = ParameterIds { path: Vec::new(), all: BTreeMap::new() };
    model.visit(&mut ids);
    ids.all
}

/// What follows from the path of each parameter.
fn places<A: Backend, M: Module<A>>(model: &M) -> HashMap<ParamId, ParameterKind> {
    let place = |path: &str| ParameterKind {
        group: Group::of(path),
        decays: !matches!(path.rsplit('.').next(), Some("bias" | "gamma" | "beta")),
    };
    parameter_ids(model).into_iter().map(|(path, id)| (id, place(&path))).collect()
}

/// The squared norms of a step's gradients, with the group of each parameter; nothing where there was no gradient. They
/// stay on the device until they are [read](Norms::read).
pub struct Norms<B: Backend>(Option<(Vec<Group>, Tensor<B, 1>)>);

/// The norms of a step's gradients, read from the device.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadNorms(Vec<(Group, f64)>);

impl<B: Backend> Norms<B> {
    /// Those of a step without a gradient.
    pub(crate) const NONE: Self = Self(None);

    /// Waits for the device.
    #[must_use]
    pub fn read(&self) -> ReadNorms {
        let Some((groups, squares)) = &self.0 else { return ReadNorms(Vec::new()) };
        ReadNorms(groups.iter().copied().zip(squares.to_data().iter::<f64>()).collect())
    }

    /// Those of several steps. Waits for the device once.
    pub(crate) fn read_all(all: Vec<Self>) -> Vec<ReadNorms> {
        let squares: Vec<Tensor<B, 1>> =
            all.iter().flat_map(|one| &one.0).map(|(_, sum)| sum.clone()).collect();
        let read: Vec<f64> = if squares.is_empty() {
            Vec::new()
        } else {
            Tensor::cat(squares, 0).into_data().iter().collect()
        };
        let mut read = read.into_iter();
        let of_step = |Self(own): Self| {
            let groups = own.map_or_else(Vec::new, |(groups, _)| groups);
            ReadNorms(groups.into_iter().zip(read.by_ref()).collect())
        };
        all.into_iter().map(of_step).collect()
    }
}

impl ReadNorms {
    /// The norm of a group's gradient; 0 where it has none.
    #[must_use]
    pub fn of(&self, group: Group) -> f64 {
        let squares = self.0.iter().filter(|(other, _)| *other == group);
        squares.map(|(_, squares)| squares).sum::<f64>().sqrt()
    }
}

/// A parameter that has a gradient, flattened.
struct FlatParameter<B: Backend> {
    id: ParamId,
    shape: Shape,
    parameter: Tensor<B, 1>,
    gradient: Tensor<B, 1>,
}

/// Takes the parameters that have a gradient out of a model, so that they can be updated in place.
struct TakenParameters<B: Backend> {
    gradients: GradientsParams,
    all: Vec<FlatParameter<B>>,
}

impl<A: Train> ModuleMapper<A> for TakenParameters<A::InnerBackend> {
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<A, D>>) -> Param<Tensor<A, D>> {
        let Some(gradient) = self.gradients.remove::<A::InnerBackend, D>(parameter.id) else {
            return parameter;
        };
        let (id, tensor, _) = parameter.consume();
        let (shape, device) = (tensor.shape(), tensor.device());
        let count = shape.num_elements();
        let parameter = tensor.inner().reshape([count]);
        self.all.push(FlatParameter {
            id,
            shape: shape.clone(),
            parameter,
            gradient: gradient.reshape([count]),
        });
        let empty = |_: &A::Device, _: bool| unreachable!("the parameter is put back before it is read");
        Param::uninitialized(id, empty, device, true, shape)
    }
}

/// Puts them back.
struct Put<B: Backend> {
    after: HashMap<ParamId, (Shape, Tensor<B, 1>)>,
}

impl<A: Train> ModuleMapper<A> for Put<A::InnerBackend> {
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<A, D>>) -> Param<Tensor<A, D>> {
        let Some((shape, after)) = self.after.remove(&parameter.id) else { return parameter };
        let tensor = Tensor::from_inner(after.reshape(shape)).set_require_grad(true);
        Param::initialized(parameter.id, tensor)
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::{Autodiff, Flex};

    use super::*;

    type Ad = Autodiff<Flex>;

    #[derive(Module, Debug)]
    struct Two<B: Backend> {
        first: Param<Tensor<B, 2>>,
        second: Param<Tensor<B, 2>>,
    }

    impl Two<Ad> {
        fn new() -> Self {
            let parameter = |first: f32| {
                let values =
                    std::array::from_fn(|row| std::array::from_fn(|at| first + (9 * row + at) as f32));
                let values: [[f32; 9]; 3] = values;
                Param::initialized(
                    ParamId::new(),
                    Tensor::from_floats(values, &Default::default()).require_grad(),
                )
            };
            Self { first: parameter(-7.0), second: parameter(0.5) }
        }

        fn values(&self) -> [Vec<f32>; 2] {
            [&self.first, &self.second]
                .map(|parameter| parameter.val().to_data().into_vec().expect("numbers"))
        }

        /// Where the parameters lie in memory.
        fn places(&self) -> [*const f32; 2] {
            [&self.first, &self.second].map(|parameter| {
                let tensor = parameter.val().inner().into_primitive().tensor();
                tensor.as_slice::<f32>().expect("numbers").as_ptr()
            })
        }
    }

    /// Takes steps of which every third one does not read the second parameter, and keeps a copy of the model on the way.
    /// Gives the model's values, the copy's and the state, after the model was seen to stay where it is in memory.
    fn trained() -> ([[Vec<f32>; 2]; 2], BTreeMap<String, SavedMoments>) {
        let mut optimizer = Optimizer::<Flex>::new(OptimizerSettings::default(), 1);
        let (mut model, mut kept, mut before) = (Two::new(), None, None);
        for step in 0..12 {
            let mut loss = model.first.val().powi_scalar(2).sum();
            if step % 3 != 1 {
                loss = loss + model.second.val().sin().sum();
            }
            let gradients = GradientsParams::from_grads(loss.backward(), &model);
            (model, _) = optimizer.step(0.01, model, gradients);
            if step == 4 {
                kept = Some(model.clone());
            }
            if step > 6 && step % 2 == 0 {
                let places = model.places();
                assert_eq!(*before.get_or_insert(places), places, "an update copies a parameter");
            }
        }
        let saved = optimizer.save(&model);
        ([model.values(), kept.expect("a copy").values()], saved)
    }

    #[test]
    fn updates_are_in_place_and_change_no_copy() {
        let ([model, kept], saved) = trained();
        assert_ne!(model, kept);
        assert_eq!([saved["first"].0, saved["second"].0], [12, 8], "the steps of each parameter");
    }
}
