//! Losses of steps, left on the device until they are needed: reading one waits for all work before it.

use burn::prelude::*;

/// The losses of the last steps.
pub(crate) struct Losses<B: Backend>(Vec<Option<Tensor<B, 1>>>);

impl<B: Backend> Losses<B> {
    /// None yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a step's loss \[1\] in nats, or a step without labels.
    pub fn push(&mut self, loss: Option<Tensor<B, 1>>) {
        self.0.push(loss);
    }

    /// How many have not been read.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// The losses since the last call, in their order; nothing for a step without labels. Waits for the device once.
    pub fn read(&mut self) -> Vec<Option<f32>> {
        let kept: Vec<Tensor<B, 1>> = self.0.iter().flatten().cloned().collect();
        let read =
            if kept.is_empty() { Vec::new() } else { Tensor::cat(kept, 0).into_data().iter().collect() };
        let mut read: std::vec::IntoIter<f32> = read.into_iter();
        self.0.drain(..).map(|loss| loss.map(|_| read.next().expect("one number per loss"))).collect()
    }
}
