//! Profiles a training step: the time and work of each kind of operation, compared with the machine's limits.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use anyhow::Result;
use frostline_kernels::Train;
use frostline_kernels::profile::{self, Counted, Limit, Operation};
use frostline_model::Network;
use frostline_train::{Run, RunEvent, train};
use rayon::prelude::*;
use serde::Serialize;

/// A step in parts.
#[derive(Debug, Serialize)]
pub struct Profile {
    /// Mean time of a step while its operations are timed, in milliseconds: the sum of the parts.
    pub step_ms: f64,
    /// Mean time of the same steps without that, in milliseconds.
    pub untimed_step_ms: f64,
    /// The limits of the machine.
    pub limits: Limits,
    /// The parts, with the rest as the last one.
    pub parts: Vec<Part>,
    /// The least that these operations can take.
    pub at_limits: AtLimits,
}

/// A step in which each operation is as fast as its limit allows, and in which nothing else takes time: one operation after the
/// other, but updates overlapped with the next step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AtLimits {
    /// Work of products, in GFLOP.
    pub gflop: f64,
    /// The time of products at the rate of a large one, in milliseconds.
    pub products_ms: f64,
    /// Bytes that all other operations read and write, in 10⁶ bytes.
    pub mb: f64,
    /// Time of all other operations at the memory's rate, in milliseconds; the time of updates is multiplied by
    /// the share of the threads that do them. Operations that were faster, from a cache, count with their own
    /// time.
    pub memory_ms: f64,
    /// The sum of both times as a share of a step without timers, in percent.
    pub percent_of_step: f64,
    /// The rate of such a step as a share of a large product's in the precision of linear layers, in percent.
    pub percent_of_peak: f64,
}

/// Limits of the machine, measured in the same run with the same threads.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Limits {
    /// Rate of a large product in the precision of linear layers, in GFLOP/s.
    pub product_gflops: f64,
    /// Rate of a large product in f32, in GFLOP/s.
    pub f32_gflops: f64,
    /// Rate of reading from and writing to memory, in 10⁹ bytes per second.
    pub memory_gb_per_s: f64,
    /// The share of the threads that updates occupy, from 0 to 1: [`frostline_kernels::background_threads`], or 0 where products
    /// compute them.
    pub background_share: f64,
}

/// A part of a step.
#[derive(Debug, Serialize)]
pub struct Part {
    /// The kind of operation.
    pub name: &'static str,
    /// Calls in a mean step.
    pub calls: f64,
    /// Time in a mean step, in milliseconds.
    pub step_ms: f64,
    /// Share of the step's time, in percent.
    pub percent: f64,
    /// Work of the part, if it was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
}

/// Work of a part of a step.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Products: limited by arithmetic.
    Arithmetic {
        /// In a mean step, in GFLOP.
        gflop: f64,
        /// The rate, in GFLOP/s.
        gflops: f64,
        /// The rate as a share of a large product's, in percent.
        percent_of_limit: f64,
    },
    /// All other operations: limited by memory if their operands do not fit into a cache.
    Memory {
        /// Read and written in a mean step, each operand once, in 10⁶ bytes.
        mb: f64,
        /// The rate, in 10⁹ bytes per second.
        gb_per_s: f64,
        /// The rate as a share of the memory's, in percent; more than 100 if operands are in a cache.
        percent_of_limit: f64,
    },
}

/// So many steps are timed one after the other, and then as many are not. The first of them do not count, since the step before
/// may have deferred work to them.
const TOGETHER: usize = 8;

/// Takes the steps of a run twice, with a new model each time. The first run times half of the steps, the
/// second run the other half, so that other load slows both kinds alike. The limits are measured between the
/// runs. Returns the times of the steps without timers, in milliseconds, without the warm-up. The run must
/// report each step's loss.
///
/// # Errors
/// If a model cannot be built, or a step's loss is no number.
pub(crate) fn measure<B: Train>(
    run: &Run<'_>,
    warmup: usize,
    build: impl Fn() -> Result<Network<B>>,
    limits: impl FnOnce() -> Limits,
) -> Result<(Vec<f64>, Profile)> {
    let together = TOGETHER.min((run.steps() as usize).saturating_sub(warmup)).max(1);
    let is_timed = |step: usize, half: usize| step >= warmup && (step - warmup) / together % 2 == half;
    let counts = |step: usize| step >= warmup && (together == 1 || !(step - warmup).is_multiple_of(together));
    let mut counted = BTreeMap::new();
    let mut half = |half: usize| -> Result<Vec<f64>> {
        let (model, mut done) = (build()?, 0);
        let _off = Off;
        profile::switch(is_timed(0, half));
        let finished = train::<B>(run, model, None, &mut |event: RunEvent<'_>| {
            if let RunEvent::Loss { steps, .. } = event {
                // Counts of warm-up steps and of earlier runs are taken too, and dropped.
                for (operation, found) in profile::take() {
                    if is_timed(done, half) && counts(done) {
                        *counted.entry(operation).or_default() += found;
                    }
                }
                done += 1;
                profile::switch(is_timed(done, half) && (done as u64) < steps);
            }
        })?;
        Ok(finished.times.steps_ms)
    };
    let first = half(0)?;
    let limits = limits();
    let second = half(1)?;
    let (mut timed, mut untimed) = (Vec::new(), Vec::new());
    for (step, (first, second)) in first.into_iter().zip(second).enumerate().filter(|(step, _)| counts(*step))
    {
        let [with, without] = if is_timed(step, 0) { [first, second] } else { [second, first] };
        timed.push(with);
        untimed.push(without);
    }
    let counted: Vec<(Operation, Counted)> = counted.into_iter().collect();
    let profile = Profile::of(&counted, [&timed, &untimed], limits);
    Ok((untimed, profile))
}

/// Switches timing off when dropped, even if a run fails.
struct Off;

impl Drop for Off {
    fn drop(&mut self) {
        profile::switch(false);
    }
}

impl Profile {
    /// Builds the profile from the counts of the timed steps, and the times of steps with and without timers.
    fn of(counted: &[(Operation, Counted)], [timed, untimed]: [&[f64]; 2], limits: Limits) -> Self {
        let steps = timed.len().max(1) as f64;
        let step_ms = timed.iter().sum::<f64>() / steps;
        let part = |name, calls: u64, ms: f64, work| Part {
            name,
            calls: calls as f64 / steps,
            step_ms: ms,
            percent: 100.0 * ms / step_ms,
            work,
        };
        let counted = counted.iter().filter(|(_, counted)| counted.calls > 0);
        let mut parts: Vec<Part> = counted
            .map(|(operation, counted)| {
                let ms = counted.elapsed_ns as f64 / 1e6 / steps;
                let work = limits.work(*operation, counted, steps);
                part(operation.name(), counted.calls, ms, Some(work))
            })
            .collect();
        let rest = step_ms - parts.iter().map(|part| part.step_ms).sum::<f64>();
        parts.push(part("everything else", 0, rest, None));
        let untimed_step_ms = untimed.iter().sum::<f64>() / steps;
        let at_limits = AtLimits::of(&parts, &limits, untimed_step_ms);
        Self { step_ms, untimed_step_ms, limits, parts, at_limits }
    }
}

impl AtLimits {
    /// From the parts of a step that takes so long without timers.
    fn of(parts: &[Part], limits: &Limits, step_ms: f64) -> Self {
        let mut sum = Self::default();
        for part in parts {
            match &part.work {
                Some(Work::Arithmetic { gflop, percent_of_limit, .. }) => {
                    sum.gflop += gflop;
                    sum.products_ms += part.step_ms * percent_of_limit / 100.0;
                }
                Some(Work::Memory { mb, percent_of_limit, .. }) => {
                    sum.mb += mb;
                    let threads =
                        if part.name == Operation::AdamW.name() { limits.background_share } else { 1.0 };
                    sum.memory_ms += threads * part.step_ms * percent_of_limit.min(100.0) / 100.0;
                }
                None => {}
            }
        }
        // 10⁹ per second are 10⁶ per millisecond.
        let peak_ms = 1e3 * sum.gflop / limits.product_gflops;
        sum.percent_of_step = 100.0 * sum.step_ms() / step_ms;
        sum.percent_of_peak = 100.0 * peak_ms / sum.step_ms();
        sum
    }

    /// Returns the time of the step, in milliseconds.
    #[must_use]
    pub fn step_ms(&self) -> f64 {
        self.products_ms + self.memory_ms
    }
}

impl Limits {
    /// Returns the work of operations in a mean step, and how close they came to their limit.
    fn work(&self, operation: Operation, counted: &Counted, steps: f64) -> Work {
        // 10⁹ per second is 1 per nanosecond.
        let elapsed_ns = (counted.elapsed_ns as f64).max(1.0);
        match operation.limit() {
            Limit::Arithmetic => {
                let gflops = counted.flop as f64 / elapsed_ns;
                let limit = if operation.is_rounded() { self.product_gflops } else { self.f32_gflops };
                let gflop = counted.flop as f64 / 1e9 / steps;
                Work::Arithmetic { gflop, gflops, percent_of_limit: 100.0 * gflops / limit }
            }
            Limit::Memory => {
                let bytes = 4.0 * counted.floats as f64;
                let gb_per_s = bytes / elapsed_ns;
                let percent_of_limit = 100.0 * gb_per_s / self.memory_gb_per_s;
                Work::Memory { mb: bytes / 1e6 / steps, gb_per_s, percent_of_limit }
            }
        }
    }
}

/// Measures how fast the threads of the caller's pool read and write memory: `a = a + factor * b` over vectors
/// larger than the caches, the fastest of several passes. It writes in place, since a processor first reads the
/// target of any other write.
///
/// # Units
/// 10⁹ bytes per second: for each element two floats are read and one is written.
#[must_use]
pub fn memory_gb_per_s() -> f64 {
    /// Floats of a vector: 192 MiB.
    const LENGTH: usize = 3 << 24;
    const PASSES: usize = 30;
    const CHUNK: usize = 1 << 16;
    // Not zero: pages that were never written are all the same one.
    let (mut a, b) = (vec![1f32; LENGTH], vec![2f32; LENGTH]);
    let passes = (0..PASSES).map(|pass| {
        let (factor, clock) = (pass as f32, Instant::now());
        a.par_chunks_mut(CHUNK).zip(b.par_chunks(CHUNK)).for_each(|(a, b)| {
            for (a, b) in a.iter_mut().zip(b) {
                *a += factor * b;
            }
        });
        std::hint::black_box(&a);
        clock.elapsed().as_secs_f64()
    });
    let fastest = passes.fold(f64::INFINITY, f64::min);
    12.0 * LENGTH as f64 / fastest / 1e9
}

/// Returns a profile as a table.
#[must_use]
pub fn table(profile: &Profile) -> String {
    let mut out = format!(
        "{:<28} {:>9} {:>7} {:>14} {:>15} {:>9}\n",
        "part of a step", "ms", "share", "work", "rate", "of limit"
    );
    for Part { name, step_ms, percent, work, .. } in &profile.parts {
        let _ = write!(out, "{name:<28} {step_ms:>9.3} {percent:>5.1} %");
        let _ = match work {
            Some(Work::Arithmetic { gflop, gflops, percent_of_limit }) => {
                write!(out, " {gflop:>8.3} GFLOP {gflops:>8.1} GFLOP/s {percent_of_limit:>7.0} %")
            }
            Some(Work::Memory { mb, gb_per_s, percent_of_limit }) => {
                write!(out, " {mb:>8.2} MB    {gb_per_s:>8.1} GB/s    {percent_of_limit:>7.0} %")
            }
            None => Ok(()),
        };
        out.push('\n');
    }
    let Profile { step_ms, untimed_step_ms, limits, at_limits, .. } = profile;
    let Limits { product_gflops, f32_gflops, memory_gb_per_s, .. } = limits;
    let change = 100.0 * (untimed_step_ms / step_ms - 1.0);
    let _ = writeln!(out, "{:<28} {step_ms:>9.3} {:>5.1} %", "step", 100.0);
    let _ = writeln!(
        out,
        "{:<28} {untimed_step_ms:>9.3} {change:>+6.1} % with gradients of weights and updates overlapping other work",
        "step without timers"
    );
    let AtLimits { percent_of_step, percent_of_peak, .. } = at_limits;
    let _ = writeln!(
        out,
        "{:<28} {:>9.3} {percent_of_step:>5.1} % of a step without timers",
        "step at its limits",
        at_limits.step_ms()
    );
    let _ = writeln!(
        out,
        "\nlimits       {product_gflops:.0} GFLOP/s: the fastest large product in the precision of linear layers; {f32_gflops:.0} in \
         f32, for attention\n             {memory_gb_per_s:.1} GB/s: reading and writing memory outside of the caches; what is in a \
         cache can be faster\n             {percent_of_peak:.0} % of the products' peak: a step whose operations all reach their limits, with \
         updates\n             overlapping the next step; this step reaches {:.0} %",
        percent_of_peak * percent_of_step / 100.0
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { product_gflops: 400.0, f32_gflops: 200.0, memory_gb_per_s: 20.0, background_share: 0.5 };

    fn counted(calls: u64, elapsed_ms: u64, flop: u64, floats: u64) -> Counted {
        Counted { calls, elapsed_ns: elapsed_ms * 1_000_000, flop, floats }
    }

    /// Four steps of 10 ms each.
    fn example() -> Profile {
        let all = [
            (Operation::Products, counted(8, 16, 3_200_000_000, 1)),
            (Operation::Attention, counted(4, 4, 400_000_000, 1)),
            (Operation::Gelu, counted(0, 0, 0, 0)),
            (Operation::AdamW, counted(4, 8, 0, 20_000_000)),
        ];
        Profile::of(&all, [&[9.0, 11.0, 8.0, 12.0], &[9.0, 9.0, 9.0, 11.0]], LIMITS)
    }

    #[test]
    fn shares_are_of_the_whole_step() {
        let profile = example();
        let names: Vec<&str> = profile.parts.iter().map(|part| part.name).collect();
        assert_eq!(names, ["products forward", "attention forward", "AdamW", "everything else"]);
        let percent: f64 = profile.parts.iter().map(|part| part.percent).sum();
        let ms: f64 = profile.parts.iter().map(|part| part.step_ms).sum();
        assert!((percent - 100.0).abs() < 1e-9 && (ms - profile.step_ms).abs() < 1e-9, "{percent} % {ms} ms");
        let shares: Vec<f64> = profile.parts.iter().map(|part| part.percent.round()).collect();
        assert_eq!(shares, [40.0, 10.0, 20.0, 30.0]);
        assert_eq!([profile.step_ms, profile.untimed_step_ms, profile.parts[0].calls], [10.0, 9.5, 2.0]);
    }

    #[test]
    fn each_rate_has_its_own_limit() {
        let found: Vec<[f64; 3]> = example()
            .parts
            .into_iter()
            .filter_map(|part| part.work)
            .map(|work| match work {
                Work::Arithmetic { gflop, gflops, percent_of_limit } => [gflop, gflops, percent_of_limit],
                Work::Memory { mb, gb_per_s, percent_of_limit } => [mb, gb_per_s, percent_of_limit],
            })
            .collect();
        // 3.2 GFLOP in 16 ms of 400 GFLOP/s; 0.4 in 4 ms of 200, since attention is in f32; 80 MB in 8 ms of 20 GB/s.
        let expected = [[0.8, 200.0, 50.0], [0.1, 100.0, 50.0], [20.0, 10.0, 50.0]];
        let close = |(found, expected): (&[f64; 3], &[f64; 3])| {
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9)
        };
        assert!(found.len() == 3 && found.iter().zip(&expected).all(close), "{found:?}");
    }

    #[test]
    fn a_step_at_its_limits_is_the_sum_of_its_operations() {
        let found = example().at_limits;
        // 3.2 GFLOP at 400 GFLOP/s and 0.4 at 200 are 10 ms in four steps; 80 MB at 20 GB/s are 4, on half of the threads. A
        // step without timers takes 9.5 ms. 3.6 GFLOP at 400 GFLOP/s would take 9 ms.
        let expected = [0.9, 2.5, 20.0, 0.5, 100.0 * 3.0 / 9.5, 100.0 * 2.25 / 3.0];
        let AtLimits { gflop, products_ms, mb, memory_ms, percent_of_step, percent_of_peak } = found;
        let found = [gflop, products_ms, mb, memory_ms, percent_of_step, percent_of_peak];
        assert!(
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9),
            "{found:?}"
        );
    }

    #[test]
    fn what_a_cache_makes_faster_than_memory_counts_with_its_own_time() {
        let limits = Limits { memory_gb_per_s: 5.0, ..LIMITS };
        let all = [(Operation::Gelu, counted(1, 8, 0, 20_000_000))];
        let found = Profile::of(&all, [&[9.0], &[10.0]], limits).at_limits;
        assert_eq!((found.memory_ms, found.percent_of_step, found.percent_of_peak), (8.0, 80.0, 0.0));
    }

    #[test]
    fn a_table_shows_each_part_and_the_limits() {
        insta::assert_snapshot!(table(&example()));
    }
}
