//! A machine in a few numbers, which turn counted work into time. They are given, not measured here.

use crate::{Cost, Work};

/// How fast a machine does each kind of work. Speed-ups depend only on how these relate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Products of linear layers, in floating-point operations per second; a multiply-add is two.
    pub gemm_flop_per_s: f64,
    /// The small products inside attention, in floating-point operations per second.
    pub attention_flop_per_s: f64,
    /// Element-wise passes over activations and tables, in bytes read or written per second. The
    /// arithmetic of GELU, softmax and dropout is part of it, so it lies below what memory gives.
    pub elementwise_bytes_per_s: f64,
    /// The optimiser's pass over parameters, gradients and moments, in bytes per second.
    pub optimiser_bytes_per_s: f64,
    /// What a tensor operation costs besides its work, in seconds.
    pub operation_s: f64,
    /// What a step costs besides its operations, in seconds.
    pub step_s: f64,
}

impl Default for Machine {
    /// Two processor cores with AVX-512, in f32: the place for every constant of a prediction. They
    /// were fitted to the step times of two encoders in `docs/benchmarks.md`; a sweep's report sets
    /// the measured speed-up beside the predicted one. A record's prediction is part of its result,
    /// so a change here makes new cells.
    fn default() -> Self {
        Self {
            gemm_flop_per_s: 390e9,
            attention_flop_per_s: 200e9,
            elementwise_bytes_per_s: 65e9,
            optimiser_bytes_per_s: 41e9,
            operation_s: 1e-6,
            step_s: 0.13e-3,
        }
    }
}

impl Machine {
    /// The time of some work, in seconds.
    #[must_use]
    pub fn seconds(&self, work: &Work) -> f64 {
        let linear = work.forward + work.backward_inputs + work.backward_weights;
        2.0 * linear / self.gemm_flop_per_s
            + 2.0 * work.attention / self.attention_flop_per_s
            + work.elementwise_bytes / self.elementwise_bytes_per_s
            + work.optimiser_bytes / self.optimiser_bytes_per_s
            + work.operations * self.operation_s
    }
}

impl Cost {
    /// The predicted time of one step, in seconds.
    #[must_use]
    pub fn seconds(&self, machine: &Machine) -> f64 {
        machine.step_s + machine.seconds(&self.total())
    }

    /// How many times as fast as `slower` a step is predicted to be.
    #[must_use]
    pub fn speedup_over(&self, slower: &Self, machine: &Machine) -> f64 {
        slower.seconds(machine) / self.seconds(machine)
    }
}
