//! What a training step of a policy costs, compared with one of the baseline, from steps that the policies of a language took in
//! turns.

use frostline_record::{Load, PairedTimes};
use frostline_score::{Estimate, MeanInterval, median};
use serde::Serialize;

use crate::study::cells::{BASELINE, CellView};
use crate::study::groups::CellGroup;
use crate::study::hardware::Hardware;
use crate::table::TableValue;

/// An interval of a saving that is wider than this and holds zero is no result.
const MOST_WIDTH: f64 = 0.04;

/// How far the share of processor time that is saved may be from the share of time, as a part of it: what one thread does while
/// others are idle counts less in processor time, and waiting for memory together with others counts more.
///
/// # Source
/// Steps in turns, alone and next to other work (`docs/protocol.md`).
const DOUBT: f64 = 0.125;

/// A policy's steps.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StepCost {
    /// Median, in milliseconds.
    pub step_ms: f64,
    /// Each round's step as it is compared, in milliseconds.
    #[serde(skip)]
    by_round: Vec<f64>,
    /// Median of their processor time, in milliseconds, if that is compared, since the machine was busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<f64>,
    /// Which measurement it is of, and on what.
    #[serde(skip)]
    measured: usize,
    pub hardware: Hardware,
    /// The median of its time over the baseline's, round by round, with a 95 % interval; absent without a baseline.
    pub ratio: Option<Estimate>,
    /// Rounds: steps of each policy.
    pub rounds: usize,
    /// Whether the steps were taken on a GPU, whose memory the peak is of.
    pub on_gpu: bool,
    /// The peak memory of a process that took only this policy's steps: of the GPU that computed them, as its
    /// allocator counts it, or resident memory of the process.
    pub peak_mib: Option<f64>,
    /// The baseline's peak minus this one's.
    pub saved_mib: Option<f64>,
}

impl StepCost {
    /// The median of what is compared, in milliseconds.
    pub fn compared_ms(&self) -> f64 {
        self.cpu_ms.unwrap_or(self.step_ms)
    }

    /// Returns the ratio of its time to another's, round by round; nothing if they did not take turns.
    pub fn over(&self, other: &Self) -> Option<RoundRatios> {
        let by_round = || self.by_round.iter().zip(&other.by_round).map(|(own, other)| own / other).collect();
        (self.measured == other.measured)
            .then(|| RoundRatios { measured: self.measured, by_round: by_round() })
    }

    /// How far its ratio to another may be from the ratio of times: each saving against the baseline may be off on its own, or the saving
    /// against the other if there is no baseline. Nothing if time itself was compared.
    pub fn doubt_over(&self, other: &Self) -> f64 {
        match (self.cpu_ms, self.ratio, other.ratio) {
            (None, ..) => 0.0,
            (Some(_), Some(Estimate { value: own, .. }), Some(Estimate { value: other, .. })) => {
                DOUBT * ((1.0 - own).abs() + (1.0 - other).abs() * own / other) / other
            }
            _ => DOUBT * (1.0 - self.compared_ms() / other.compared_ms()).abs(),
        }
    }

    /// The share of a baseline step's time that is saved.
    pub fn saving(&self) -> Option<Estimate> {
        self.ratio.map(|ratio| Estimate {
            value: 1.0 - ratio.value,
            low: 1.0 - ratio.high,
            high: 1.0 - ratio.low,
        })
    }

    /// The same if its interval is narrow enough.
    pub fn measured_saving(&self) -> Option<Estimate> {
        let says_nothing =
            |found: &Estimate| found.low < 0.0 && found.high > 0.0 && found.high - found.low > MOST_WIDTH;
        self.saving().filter(|found| !says_nothing(found))
    }

    /// The same as a table shows it.
    pub fn saving_shown(&self) -> TableValue {
        match (self.ratio, self.measured_saving()) {
            (None, _) => TableValue::Missing,
            (Some(_), None) => "not measurable here".into(),
            (Some(_), Some(Estimate { value, low, high })) => {
                TableValue::Mean(MeanInterval { n: self.rounds, mean: value, interval: Some([low, high]) })
            }
        }
    }
}

/// Ratios of two policies' steps.
#[derive(Clone, Debug)]
pub(crate) struct RoundRatios {
    /// The measurement they belong to; savings of one measurement are of the same rounds.
    pub measured: usize,
    pub by_round: Vec<f64>,
}

/// How busy the machine was during a measurement.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredLoad {
    pub lang: String,
    pub load: Load,
    pub threads: usize,
    /// Whether processor time is compared for it.
    pub by_cpu_time: bool,
}

/// The step costs of a study, and how busy the machine was.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepCosts {
    /// By the settings on which a step's time depends, and policy.
    rows: Vec<(String, String, StepCost)>,
    /// The load during each measurement.
    pub loads: Vec<MeasuredLoad>,
}

impl StepCosts {
    /// From stored times, without cells that the study does not have.
    pub fn of(cells: &[CellView], times: &[PairedTimes]) -> Self {
        let mut costs = Self::default();
        for (measured, times) in times.iter().enumerate() {
            let find = |id: &str| cells.iter().find(|view| view.cell.id == id);
            let timed: Vec<_> =
                times.policies.iter().filter_map(|one| Some((find(&one.cell)?, one))).collect();
            let base =
                timed.iter().find(|(view, _)| view.cell.settings.policy == BASELINE).map(|(_, one)| *one);
            let by_cpu_time = times.by_cpu_time();
            let on_gpu = times.made_by.on_gpu();
            for (view, one) in &timed {
                let settings = &view.cell.settings;
                let cost = StepCost {
                    step_ms: median(&one.step_ms, 0.95).value,
                    by_round: one.compared(by_cpu_time).to_vec(),
                    cpu_ms: by_cpu_time.then(|| median(one.compared(true), 0.95).value),
                    measured,
                    hardware: Hardware::of(&times.made_by),
                    ratio: base.map(|base| {
                        let found = estimate_ratio(one.compared(by_cpu_time), base.compared(by_cpu_time));
                        widen_interval(
                            found,
                            if by_cpu_time { DOUBT * (1.0 - found.value).abs() } else { 0.0 },
                        )
                    }),
                    rounds: one.step_ms.len(),
                    on_gpu,
                    peak_mib: one.peak_mib(on_gpu),
                    saved_mib: base.and_then(|base| Some(base.peak_mib(on_gpu)? - one.peak_mib(on_gpu)?)),
                };
                costs.rows.push((settings.step_key(), settings.policy.to_string(), cost));
            }
            if let Some((first, _)) = timed.first() {
                let lang = first.cell.settings.lang.to_string();
                let (load, threads) = (times.load, times.made_by.threads);
                costs.loads.push(MeasuredLoad { lang, load, threads, by_cpu_time });
            }
        }
        costs
    }

    /// Returns the costs of a group, given one of its cells.
    pub fn find(&self, member: &CellView) -> Option<&StepCost> {
        let settings = &member.cell.settings;
        let key = settings.step_key();
        // The same policy with steps of another kind, as with gradual unfreezing, is not what was timed.
        let found = self.rows.iter().find(|(other, policy, _)| *other == key && settings.policy == *policy);
        found.filter(|_| settings.has_even_steps()).map(|(_, _, cost)| cost)
    }

    /// Whether any are of processor time.
    pub fn compare_cpu_time(&self) -> bool {
        self.loads.iter().any(|one| one.by_cpu_time)
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// A ratio of times that may be so much more or less.
pub(crate) fn widen_interval(ratio: Estimate, doubt: f64) -> Estimate {
    Estimate { low: ratio.low - doubt, high: ratio.high + doubt, ..ratio }
}

fn estimate_ratio(own: &[f64], other: &[f64]) -> Estimate {
    median(&own.iter().zip(other).map(|(own, other)| own / other).collect::<Vec<_>>(), 0.95)
}

/// The time that a group saves as a table shows it. It comes from steps in turns alone: training times of cells hold
/// whatever else the machine did, so their ratios are no savings.
pub(crate) fn saving(group: &CellGroup, cost: Option<&StepCost>) -> TableValue {
    match cost {
        // The cells of such a policy take no step, whatever a forward pass costs.
        _ if group.learns_nothing() => "100, nothing learned".into(),
        None => TableValue::Missing,
        Some(_) if group.policy == BASELINE => "baseline".into(),
        Some(cost) => cost.saving_shown(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policy whose step takes so long, and so much of the baseline's time.
    fn cost(step_ms: f64, ratio: Option<f64>, by_cpu_time: bool) -> StepCost {
        let [node, backend, device, isa] = ["", "flex", "cpu", "avx2"].map(String::from);
        StepCost {
            step_ms,
            by_round: vec![step_ms],
            cpu_ms: by_cpu_time.then_some(step_ms),
            measured: 0,
            hardware: Hardware { node, backend, device, isa, threads: 2 },
            ratio: ratio.map(|value| Estimate { value, low: value, high: value }),
            rounds: 1,
            on_gpu: false,
            peak_mib: None,
            saved_mib: None,
        }
    }

    #[test]
    fn a_ratio_of_processor_times_is_in_doubt_by_an_eighth_of_what_both_save() {
        let doubt = |a: StepCost, b: StepCost| (a.doubt_over(&b) * 1e9).round() / 1e9;
        let (saving, half) = (|cpu| cost(8.0, Some(0.8), cpu), |cpu| cost(5.0, Some(0.5), cpu));
        assert_eq!(doubt(saving(false), half(false)), 0.0, "time itself");
        // 0.8 and 0.5 may be off by an eighth of 0.2 and of 0.5, and so may their ratio, 1.6.
        assert_eq!(doubt(saving(true), half(true)), DOUBT * (0.2 + 1.6 * 0.5) / 0.5);
        assert_eq!(doubt(saving(true), cost(10.0, Some(1.0), true)), DOUBT * 0.2, "over the baseline");
        // Without a baseline, the saving against each other.
        assert_eq!(doubt(cost(8.0, None, true), cost(5.0, None, true)), DOUBT * 0.6);
    }
}
