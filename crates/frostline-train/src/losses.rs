//! Losses of steps, left on the device until they are needed: reading one waits for all work before it.

use burn::prelude::*;

use crate::progress::Progress;
use crate::{LrSchedule, TrainError};

/// The losses of the last steps.
pub(crate) struct Losses<B: Backend>(Vec<Option<Tensor<B, 1>>>);

impl<B: Backend> Losses<B> {
    /// An empty list.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a step's loss \[1\] in nats, or a step without labels.
    pub fn push(&mut self, loss: Option<Tensor<B, 1>>) {
        self.0.push(loss);
    }

    /// Number of losses that have not been read.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Reads the losses since the last call and adds them to the run's means. A step without labels has no loss and no part in
    /// a mean: counted as 0, it would make the loss look smaller than it is. Waits for the device once.
    ///
    /// # Errors
    /// If a loss is NaN or infinite; the error names its step.
    pub fn read_into(&mut self, at: &mut Progress, schedule: &LrSchedule) -> Result<(), TrainError> {
        let first = at.step + 1 - self.0.len() as u64;
        let on_device: Vec<Tensor<B, 1>> = self.0.iter().flatten().cloned().collect();
        let steps = (first..).zip(self.0.drain(..)).filter_map(|(step, loss)| loss.map(|_| step));
        let losses: Vec<f32> = match on_device.is_empty() {
            true => Vec::new(),
            false => Tensor::cat(on_device, 0).into_data().iter().collect(),
        };
        for (step, loss) in steps.zip(losses) {
            if !loss.is_finite() {
                return Err(TrainError::Diverged { step, loss, lr: schedule.at(step - 1) });
            }
            at.add_loss(loss);
        }
        Ok(())
    }
}
