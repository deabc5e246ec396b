//! The learning rate of every step.

use crate::ScheduleKind;

/// The learning rate over a run of known length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    kind: ScheduleKind,
    peak: f64,
    warmup: u64,
    steps: u64,
}

impl Schedule {
    /// A schedule over `steps` steps whose first `warmup` share (rounded up) rises from 0.
    #[must_use]
    pub fn new(kind: ScheduleKind, peak: f64, warmup: f64, steps: u64) -> Self {
        Self { kind, peak, warmup: (warmup * steps as f64).ceil() as u64, steps }
    }

    /// The rate of a step, counted from 0.
    ///
    /// # Source
    /// `transformers`' linear and constant schedules with warm-up.
    #[must_use]
    pub fn at(&self, step: u64) -> f64 {
        if step < self.warmup {
            return self.peak * step as f64 / self.warmup as f64;
        }
        match self.kind {
            ScheduleKind::Constant => self.peak,
            ScheduleKind::Linear => {
                let left = self.steps.saturating_sub(step) as f64;
                self.peak * left / (self.steps - self.warmup).max(1) as f64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_starts_at_the_peak_and_would_end_at_zero() {
        let schedule = Schedule::new(ScheduleKind::Linear, 1.0, 0.0, 4);
        assert_eq!([0, 1, 2, 3, 4].map(|step| schedule.at(step)), [1.0, 0.75, 0.5, 0.25, 0.0]);
    }

    #[test]
    fn warmup_rises_from_zero() {
        let schedule = Schedule::new(ScheduleKind::Constant, 2.0, 0.5, 4);
        assert_eq!([0, 1, 2, 3].map(|step| schedule.at(step)), [0.0, 1.0, 2.0, 2.0]);
    }
}
