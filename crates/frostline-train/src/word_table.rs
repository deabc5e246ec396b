//! The word table while it learns: the optimiser has it, and lends a step the rows that its batch reads. Backends that update
//! whole tables leave it in the model.

use burn::module::{Param, ParamId};
use burn::prelude::*;
use burn::tensor::Device;
use frostline_kernels::{AdamW, LazyTable, MakeLazyTable, Train};
use frostline_model::Network;

use crate::batch::Batch;
use crate::moments::{AllMoments, Moments};

/// A word table that was taken out of a model.
pub(crate) struct WordTable {
    id: ParamId,
    /// Updates of the parameter.
    steps: u64,
    table: Box<dyn LazyTable>,
    shape: [usize; 2],
}

impl WordTable {
    /// Takes the word table out of a model, with its moments if it has some.
    pub fn take<B: Train>(
        mut model: Network<B>,
        make: MakeLazyTable,
        moments: &mut AllMoments<B::InnerBackend>,
    ) -> (Network<B>, Self) {
        let (id, tensor, _) = model.encoder.embeddings.word.consume();
        let (shape, tensor) = (tensor.dims(), tensor.inner());
        let (device, table) = (tensor.device(), read_numbers(tensor));
        let (steps, [first, second]) = match moments.remove(&id) {
            Some(Moments { steps, values }) => (steps, values.map(read_numbers)),
            None => (0, [(); 2].map(|()| vec![0.0; table.len()])),
        };
        model.encoder.embeddings.word = word_of(id, Vec::new(), [0, shape[1]], true, &device);
        (model, Self { id, steps, table: make(shape[1], [table, first, second]), shape })
    }

    /// Gives a model the rows that these batches read, and numbers the batches' subwords by them.
    pub fn lend<B: Train>(&mut self, mut model: Network<B>, batches: &mut [Batch]) -> Network<B> {
        let mut rows: Vec<u32> = batches.iter().flat_map(|batch| batch.input.ids()).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        for batch in batches {
            batch.input.renumber(|row| rows.partition_point(|&other| other < row) as u32);
        }
        let (_, before, _) = model.encoder.embeddings.word.consume();
        let shape = [rows.len(), self.shape[1]];
        let device = before.inner().device();
        model.encoder.embeddings.word = word_of(self.id, self.table.read(&rows), shape, true, &device);
        model
    }

    /// Whether this is the table.
    pub fn is(&self, id: ParamId) -> bool {
        self.id == id
    }

    /// The number of the next update, from 1.
    pub const fn next_step(&self) -> u64 {
        self.steps + 1
    }

    /// Updates the table, given the gradient of the rows that were lent last.
    pub fn update<B: Backend>(&mut self, rule: &AdamW, scale: f64, gradient: Tensor<B, 1>) {
        self.steps += 1;
        self.table.update(rule, scale, &read_numbers(gradient));
    }

    /// Puts the table back into a model, with all its rows up to date.
    pub fn give_back<B: Train>(
        self,
        mut model: Network<B>,
        moments: &mut AllMoments<B::InnerBackend>,
    ) -> Network<B> {
        let Self { id, steps, table, shape } = self;
        let (_, rows, _) = model.encoder.embeddings.word.consume();
        let (learns, device) = (rows.is_require_grad(), rows.inner().device());
        let [table, first, second] = table.finish();
        model.encoder.embeddings.word = word_of(id, table, shape, learns, &device);
        if steps > 0 {
            let flat = |values: Vec<f32>| {
                let count = values.len();
                Tensor::from_data(TensorData::new(values, [count]), &device)
            };
            moments.insert(id, Moments { steps, values: [first, second].map(flat) });
        }
        model
    }
}

fn read_numbers<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f32> {
    tensor.into_data().into_vec().expect("parameters, gradients and moments are f32")
}

/// The parameter of a word table.
fn word_of<A: Train>(
    id: ParamId,
    values: Vec<f32>,
    shape: [usize; 2],
    learns: bool,
    device: &Device<A::InnerBackend>,
) -> Param<Tensor<A, 2>> {
    let tensor = Tensor::from_data(TensorData::new(values, shape), device);
    Param::initialized(id, Tensor::from_inner(tensor).set_require_grad(learns))
}
