//! The learning rate of every step.

use frostline_record::{ScheduleKind, ScheduleSettings};

/// The learning rate of every step of a run of known length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LrSchedule {
    kind: ScheduleKind,
    peak: f64,
    warmup: u64,
    steps: u64,
}

impl LrSchedule {
    /// A schedule over `steps` steps with the peak rate `lr`. The share of steps that warm up is rounded
    /// up.
    #[must_use]
    pub fn new(settings: &ScheduleSettings, lr: f64, steps: u64) -> Self {
        let warmup = (settings.warmup * steps as f64).ceil() as u64;
        Self { kind: settings.kind, peak: lr, warmup, steps }
    }

    /// The rate of a step, counted from 0.
    ///
    /// # Source
    /// `transformers`' constant, linear and cosine schedules with warm-up; Howard and Ruder, 2018,
    /// equation 3, for the slanted triangle.
    #[must_use]
    pub fn at(&self, step: u64) -> f64 {
        /// Howard and Ruder's ratio of the highest to the lowest rate.
        const RATIO: f64 = 32.0;
        let slanted = self.kind == ScheduleKind::SlantedTriangular;
        let share = if step < self.warmup {
            step as f64 / self.warmup as f64
        } else {
            // How far the rest of the run has come, in [0, 1].
            let rest = (self.steps - self.warmup).max(1) as f64;
            let done = (step.min(self.steps) - self.warmup) as f64 / rest;
            match self.kind {
                ScheduleKind::Constant => 1.0,
                ScheduleKind::Linear | ScheduleKind::SlantedTriangular => {
                    self.steps.saturating_sub(step) as f64 / rest
                }
                ScheduleKind::Cosine => 0.5 * (1.0 + libm::cos(std::f64::consts::PI * done)),
            }
        };
        self.peak * if slanted { (1.0 + share * (RATIO - 1.0)) / RATIO } else { share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(kind: ScheduleKind, lr: f64, warmup: f64, steps: u64) -> LrSchedule {
        LrSchedule::new(&ScheduleSettings { kind, warmup }, lr, steps)
    }

    #[test]
    fn linear_starts_at_the_peak_and_would_end_at_zero() {
        let schedule = schedule(ScheduleKind::Linear, 1.0, 0.0, 4);
        assert_eq!([0, 1, 2, 3, 4].map(|step| schedule.at(step)), [1.0, 0.75, 0.5, 0.25, 0.0]);
    }

    #[test]
    fn a_cosine_is_half_way_down_in_the_middle() {
        let schedule = schedule(ScheduleKind::Cosine, 2.0, 0.0, 4);
        let rates = [0, 2, 4].map(|step| schedule.at(step));
        for (rate, expected) in rates.into_iter().zip([2.0, 1.0, 0.0]) {
            assert!((rate - expected).abs() < 1e-12, "{rates:?}");
        }
    }

    #[test]
    fn a_slanted_triangle_rises_and_falls_above_its_floor() {
        let schedule = schedule(ScheduleKind::SlantedTriangular, 32.0, 0.25, 8);
        assert_eq!([0, 1, 2, 5, 8].map(|step| schedule.at(step)), [1.0, 16.5, 32.0, 16.5, 1.0]);
    }

    #[test]
    fn warmup_rises_from_zero() {
        let schedule = schedule(ScheduleKind::Constant, 2.0, 0.5, 4);
        assert_eq!([0, 1, 2, 3].map(|step| schedule.at(step)), [0.0, 1.0, 2.0, 2.0]);
    }
}
