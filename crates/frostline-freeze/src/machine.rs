//! A machine in a few numbers, which turn counted work into time. They are given, or fitted to times that were measured.

use serde::{Deserialize, Serialize};

use crate::{Cost, Work};

/// How fast a machine does each kind of work. Speed-ups depend only on how these relate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Products of linear layers, in floating-point operations per second; a multiply-add is two.
    pub gemm_flop_per_s: f64,
    /// The small products inside attention, in floating-point operations per second.
    pub attention_flop_per_s: f64,
    /// Element-wise passes over activations and tables, in bytes read or written per second. The arithmetic of
    /// GELU, softmax and dropout is included, so the rate is below the memory's.
    pub elementwise_bytes_per_s: f64,
    /// The optimiser's pass over parameters, gradients and moments, in bytes per second.
    pub optimiser_bytes_per_s: f64,
    /// Fixed time per tensor operation, in seconds.
    pub operation_s: f64,
    /// Fixed time per step, in seconds.
    pub step_s: f64,
}

impl Default for Machine {
    /// Returns two processor cores with AVX-512, in f32. All constants of a prediction are here. They were
    /// fitted to the step times of two encoders in `docs/benchmarks.md`; a sweep's report shows the measured
    /// speed-up next to the predicted one. A record's prediction is part of its result, so a change here makes
    /// new cells.
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

/// Strength with which a fit is held to the ratios of [`Machine::default`]: times that a few steps cannot
/// separate keep their ratios.
const HOLD: f64 = 0.01;

impl Machine {
    /// Returns the machine on which steps take these times, in seconds: a least-squares fit of relative errors,
    /// close to the default machine scaled by one factor.
    ///
    /// # Panics
    /// If there are no samples, or a time is not positive.
    #[must_use]
    pub fn fitted(samples: &[(Work, f64)]) -> Self {
        assert!(!samples.is_empty() && samples.iter().all(|(_, seconds)| *seconds > 0.0), "no times to fit");
        let default = Self::default();
        // Each sample as the parts of its time on the default machine, in units of the measured time: a perfect fit sums to 1.
        let rows: Vec<[f64; 6]> = samples
            .iter()
            .map(|(work, seconds)| default.seconds_by_kind(work).map(|part| part / seconds))
            .collect();
        let sums: Vec<f64> = rows.iter().map(|row| row.iter().sum()).collect();
        let whole = sums.iter().sum::<f64>() / sums.iter().map(|sum| sum * sum).sum::<f64>();
        let mut factors = [whole; 6];
        let hold = HOLD * rows.len() as f64;
        for _ in 0..2_000 {
            for part in 0..6 {
                let (mut along, mut square) = (hold / whole, hold / (whole * whole));
                for row in &rows {
                    let others: f64 = (0..6).filter(|&at| at != part).map(|at| row[at] * factors[at]).sum();
                    along += row[part] * (1.0 - others);
                    square += row[part] * row[part];
                }
                // A kind of work that took no time at all would be a fit to noise.
                factors[part] = (along / square).max(0.05 * whole);
            }
        }
        Self {
            gemm_flop_per_s: default.gemm_flop_per_s / factors[0],
            attention_flop_per_s: default.attention_flop_per_s / factors[1],
            elementwise_bytes_per_s: default.elementwise_bytes_per_s / factors[2],
            optimiser_bytes_per_s: default.optimiser_bytes_per_s / factors[3],
            operation_s: default.operation_s * factors[4],
            step_s: default.step_s * factors[5],
        }
    }

    /// Returns the time of a step by kind of work, in seconds.
    fn seconds_by_kind(&self, work: &Work) -> [f64; 6] {
        let linear = work.forward + work.backward_inputs + work.backward_weights;
        [
            2.0 * linear / self.gemm_flop_per_s,
            2.0 * work.attention / self.attention_flop_per_s,
            work.elementwise_bytes / self.elementwise_bytes_per_s,
            work.optimiser_bytes / self.optimiser_bytes_per_s,
            work.operations * self.operation_s,
            self.step_s,
        ]
    }

    /// Returns the time of a step that does this work, in seconds.
    #[must_use]
    pub fn step_seconds(&self, work: &Work) -> f64 {
        self.step_s + self.seconds(work)
    }

    /// Returns the time of some work, in seconds.
    #[must_use]
    pub fn seconds(&self, work: &Work) -> f64 {
        // All parts but the step's own.
        self.seconds_by_kind(work)[..5].iter().sum()
    }
}

impl Cost {
    /// Returns the predicted time of one step, in seconds.
    #[must_use]
    pub fn seconds(&self, machine: &Machine) -> f64 {
        machine.step_seconds(&self.total())
    }

    /// Returns how many times as fast as `slower` a step is predicted to be.
    #[must_use]
    pub fn speedup_over(&self, slower: &Self, machine: &Machine) -> f64 {
        slower.seconds(machine) / self.seconds(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ResolvedPolicy, Shape, Workload};

    /// Steps of a small encoder under several policies, with their times on a machine.
    fn timed_steps(machine: &Machine, noise: impl Fn(usize) -> f64) -> Vec<(Cost, f64)> {
        let shape = Shape::new(12, 384).with_heads(12).with_word_rows(12_000);
        let policies = ["none", "first-6", "first-6+embeddings", "head-only", "all", "alternating"];
        let lengths = [8.0, 24.0, 96.0];
        let all = policies.iter().flat_map(|policy| lengths.map(|length| (policy, length)));
        let step = |(at, (policy, length)): (usize, (&&str, f64))| {
            let policy = ResolvedPolicy::parse(policy, shape.depth).expect("a policy");
            let cost = Cost::of(&shape, &Workload::typical(16.0, length), &policy);
            let seconds = cost.seconds(machine) * noise(at);
            (cost, seconds)
        };
        all.enumerate().map(step).collect()
    }

    fn fitted(steps: &[(Cost, f64)]) -> Machine {
        Machine::fitted(&steps.iter().map(|(cost, seconds)| (cost.total(), *seconds)).collect::<Vec<_>>())
    }

    #[test]
    fn times_of_another_machine_are_fitted() {
        let slower = Machine {
            gemm_flop_per_s: 120e9,
            attention_flop_per_s: 40e9,
            elementwise_bytes_per_s: 30e9,
            optimiser_bytes_per_s: 12e9,
            operation_s: 3e-6,
            step_s: 1e-3,
        };
        // Times that are off by up to 3 %.
        let measured = timed_steps(&slower, |at| 1.0 + 0.03 * ((at * 7 % 5) as f64 - 2.0) / 2.0);
        let found = fitted(&measured[..12]);
        for (cost, seconds) in timed_steps(&slower, |_| 1.0) {
            let error = cost.seconds(&found) / seconds - 1.0;
            assert!(error.abs() < 0.08, "{error} of {seconds} s");
        }
    }

    #[test]
    fn one_time_makes_the_whole_machine_faster_or_slower() {
        let default = Machine::default();
        let found = fitted(&timed_steps(&default, |_| 2.0)[..1]);
        assert!((default.gemm_flop_per_s / found.gemm_flop_per_s - 2.0).abs() < 1e-6, "{found:?}");
        assert!((found.step_s / default.step_s - 2.0).abs() < 1e-6, "{found:?}");
    }
}
