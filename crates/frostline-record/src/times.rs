//! Times of training steps that several policies took in turns, and a sweep's request for them.

use frostline_freeze::FreezeSchedule;
use serde::{Deserialize, Serialize};

use crate::{Cell, Load, MadeBy, Settings, Switch, sha256};

/// Whether and how long policies take steps in turns after the cells are done; changes no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TimingSettings {
    /// Whether they do if a language has cells of several policies.
    pub paired: Switch,
    /// The percentage of each ratio within which its 95 % interval must end.
    pub within_percent: f64,
    /// The longest time per language, whether or not that is reached.
    ///
    /// # Units
    /// Seconds.
    pub limit_s: f64,
}

impl Default for TimingSettings {
    fn default() -> Self {
        Self { paired: Switch::On, within_percent: 2.0, limit_s: 60.0 }
    }
}

/// A sweep's request to measure steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimingJob {
    /// Cells that differ in their policy only.
    pub cells: Vec<Cell>,
    /// Whether constant prefixes are read if they can be.
    pub prefix_cache: bool,
    /// The quantity to measure.
    pub measure: Measurement,
}

/// The quantity measured for cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measurement {
    /// Steps in turns.
    Steps {
        /// See [`TimingSettings::within_percent`].
        within_percent: f64,
        /// See [`TimingSettings::limit_s`].
        limit_s: f64,
    },
    /// The memory of one cell's largest steps, in a process that does nothing else.
    Memory,
}

/// Steps of several policies in turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairedTimes {
    /// [`SCHEMA`](crate::SCHEMA).
    pub schema: u32,
    /// The policies.
    pub policies: Vec<TimedPolicy>,
    /// Subwords of each round's batch.
    pub subwords: Vec<u64>,
    /// How busy the machine was with other work.
    pub load: Load,
    /// The program and machine.
    pub made_by: MadeBy,
}

/// The times of one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimedPolicy {
    /// The cell's id.
    pub cell: String,
    /// One step per round, in milliseconds.
    pub step_ms: Vec<f64>,
    /// Processor time of each of these steps, of all threads together, in milliseconds; absent on a GPU, and if
    /// the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<Vec<f64>>,
    /// Peak resident memory of a process that took only this policy's steps, on the largest batches, in MiB; absent
    /// if the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss_mib: Option<f64>,
    /// The most memory of the GPU that was in use at once in that process, as the GPU's allocator counts it, in MiB; absent on
    /// a processor, and in files of before it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_device_mib: Option<f64>,
}

impl TimedPolicy {
    /// Returns the peak memory of steps on the device that computed them, in MiB: of the GPU, or of the process
    /// on a processor.
    #[must_use]
    pub fn peak_mib(&self, on_gpu: bool) -> Option<f64> {
        if on_gpu { self.peak_device_mib } else { self.peak_rss_mib }
    }

    /// Returns the times of each round's step that are compared.
    #[must_use]
    pub fn compared(&self, by_cpu_time: bool) -> &[f64] {
        self.cpu_ms.as_ref().filter(|_| by_cpu_time).unwrap_or(&self.step_ms)
    }
}

impl PairedTimes {
    /// Returns whether the steps' processor time is compared: if the machine was [busy](Load::is_busy) and that
    /// time was measured. A step waits for a processor each time its threads meet, so waiting changes the
    /// ratios of steps of a few milliseconds; the processor time that they use hardly changes.
    #[must_use]
    pub fn by_cpu_time(&self) -> bool {
        self.load.is_busy() && self.policies.iter().all(|policy| policy.cpu_ms.is_some())
    }

    /// Returns the times without the names of nodes.
    #[must_use]
    pub fn published(mut self) -> Self {
        self.made_by.forget_node();
        self
    }

    /// Returns the name of the file for these cells in the sweep's folder `timings/`.
    #[must_use]
    pub fn file_name(cells: &[Cell]) -> String {
        let mut ids: Vec<&str> = cells.iter().map(|cell| cell.id.as_str()).collect();
        ids.sort_unstable();
        let lang = cells.first().map_or("", |cell| &cell.settings.lang);
        format!("{lang}-{}.json", &sha256(ids.join(" ").as_bytes())[..8])
    }

    /// Checks that there is a round and that the parts fit together.
    ///
    /// # Errors
    /// The first thing that does not fit.
    pub(crate) fn check(&self) -> Result<(), String> {
        let rounds = self.subwords.len();
        if rounds == 0 {
            return Err("there is no round".into());
        }
        let fits = |policy: &TimedPolicy| {
            let mut all = std::iter::once(&policy.step_ms).chain(&policy.cpu_ms);
            all.all(|times| times.len() == rounds && times.iter().all(|ms| ms.is_finite() && *ms > 0.0))
        };
        match self.policies.iter().find(|policy| !fits(policy)) {
            None => Ok(()),
            Some(policy) => {
                Err(format!("the cell {} does not have a time above 0 for each round", policy.cell))
            }
        }
    }
}

impl Settings {
    /// Returns the settings, other than the policy, on which the time of a step depends.
    #[must_use]
    pub fn step_key(&self) -> String {
        serde_json::to_string(&(self.batch_key(), &self.lora, &self.adapters))
            .expect("plain data always serialises")
    }

    /// Returns the part of these settings that defines a step's batch, regardless of additions to the model:
    /// policies with equal keys are compared.
    pub(crate) fn batch_key(&self) -> String {
        let Self { lang, encoder, data, train, dropout, tasks, .. } = self;
        let sizes =
            ((train.batch, train.accumulate), train.precision, train.mixing, data.max_length, data.lowercase);
        serde_json::to_string(&(lang, encoder, sizes, dropout, tasks)).expect("plain data always serialises")
    }

    /// Returns whether every step of the cell trains the same parameters.
    #[must_use]
    pub fn has_even_steps(&self) -> bool {
        self.stages.is_empty() && self.unfreeze.every == 0 && self.policy.schedule() == FreezeSchedule::Fixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = concat!(
        r#"{"schema":4,"policies":[{"cell":"0123456789abcdef","step_ms":[5.0,6.0]}],"subwords":[20,30],"#,
        r#""load":{"others":0.5},"made_by":{"version":"0.1.0","code":"0123456789abcdef","revision":"","#,
        r#""backend":"flex","device":"a processor","isa":"avx2","threads":2}}"#
    );

    fn test_times() -> PairedTimes {
        serde_json::from_str(OLD).expect("times of before")
    }

    /// Files from before processor time was measured are read, and written as they were.
    #[test]
    fn times_of_before_are_read() {
        let times = test_times();
        assert_eq!(serde_json::to_string(&times).expect("plain data"), OLD);
        times.check().expect("they fit together");
        assert!(!times.by_cpu_time());
        assert_eq!(times.policies[0].compared(true), [5.0, 6.0]);
    }

    #[test]
    fn processor_time_is_compared_on_a_busy_machine_where_all_policies_have_it() {
        let mut times = test_times();
        times.policies.push(times.policies[0].clone());
        times.policies[0].cpu_ms = Some(vec![3.0, 4.0]);
        assert!(!times.by_cpu_time(), "one policy has none");
        times.policies[1].cpu_ms = Some(vec![3.0, 4.0]);
        assert!(times.by_cpu_time());
        assert_eq!(times.policies[0].compared(times.by_cpu_time()), [3.0, 4.0]);
        times.load.others = Some(0.05);
        assert!(!times.by_cpu_time(), "a quiet machine");
        assert_eq!(times.policies[0].compared(times.by_cpu_time()), [5.0, 6.0]);
    }

    #[test]
    fn times_that_do_not_fit_are_refused() {
        let mut none = test_times();
        none.subwords.clear();
        none.policies[0].step_ms.clear();
        assert!(none.check().is_err(), "no round");
        for wrong in [vec![3.0], vec![3.0, 0.0], vec![f64::NAN, 1.0]] {
            let mut times = test_times();
            times.policies[0].cpu_ms = Some(wrong.clone());
            assert!(times.check().is_err(), "{wrong:?}");
        }
    }
}
