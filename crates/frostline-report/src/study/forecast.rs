//! What a step was predicted to cost, from shapes alone and before it was taken.

use frostline_record::PredictedMemory;
use frostline_score::MeanStd;
use serde::Serialize;

use crate::study::cells::{Done, value_of_each};

/// Prediction for a step, over cells that differ only in their seed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StepForecast {
    pub gflop_per_step: MeanStd,
    /// How many times as fast as the baseline a step should be.
    predicted_speedup: MeanStd,
    /// Memory of a step on the longest sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_memory: Option<MemoryForecast>,
}

/// What a step should keep in memory besides the model and the data, in MiB; a mean over seeds.
#[derive(Clone, Copy, Debug, Serialize)]
struct MemoryForecast {
    gradients_mib: f64,
    moments_mib: f64,
    activations_mib: f64,
}

/// Bytes of a MiB.
const MIB: f64 = (1 << 20) as f64;

impl StepForecast {
    /// Returns nothing if no cell is done.
    pub fn of(done: &[&Done]) -> Option<Self> {
        Some(Self {
            gflop_per_step: MeanStd::of(&value_of_each(done, |done| done.result.cost.gflop_per_step))?,
            predicted_speedup: MeanStd::of(&value_of_each(done, |done| done.predicted_speedup()))?,
            predicted_memory: MemoryForecast::of(done),
        })
    }

    /// Memory that a step should need, in MiB.
    pub fn memory_mib(&self) -> Option<f64> {
        let memory = self.predicted_memory?;
        Some(memory.gradients_mib + memory.moments_mib + memory.activations_mib)
    }
}

impl MemoryForecast {
    fn of(done: &[&Done]) -> Option<Self> {
        let all: Vec<PredictedMemory> =
            done.iter().map(|done| done.result.cost.memory).collect::<Option<_>>()?;
        let mean = |get: fn(&PredictedMemory) -> u64| {
            all.iter().map(|memory| get(memory) as f64).sum::<f64>() / all.len() as f64 / MIB
        };
        Some(Self {
            gradients_mib: mean(|memory| memory.gradients),
            moments_mib: mean(|memory| memory.moments),
            activations_mib: mean(|memory| memory.activations),
        })
    }
}
