//! The way from values to pixels, and which values an axis names: fewer if labels would overlap.

use crate::number::fixed;

/// How an axis is spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    /// Equal steps are equal differences.
    Even,
    /// Equal steps are equal factors.
    Log,
    /// For shares: equal steps divide what is missing to 1 by equal factors.
    Missing,
}

/// An axis between two values, drawn between two pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    spacing: Spacing,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    pub fn new(spacing: Spacing, range: (f64, f64), pixels: (f64, f64)) -> Self {
        let (low, high) = range;
        let high = if high > low {
            high
        } else {
            match spacing {
                Spacing::Even => low + 1.0,
                Spacing::Log => low * 10.0,
                Spacing::Missing => low + (1.0 - low) / 2.0,
            }
        };
        Self { spacing, low, high, from: pixels.0, to: pixels.1 }
    }

    /// The pixel of a value; values outside are drawn at the edge.
    pub fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let (low, high) = (self.warp(self.low), self.warp(self.high));
        self.from + (self.warp(value) - low) / (high - low) * (self.to - self.from)
    }

    pub const fn low(&self) -> f64 {
        self.low
    }

    fn warp(&self, value: f64) -> f64 {
        match self.spacing {
            Spacing::Even => value,
            Spacing::Log => value.log10(),
            Spacing::Missing => -(1.0 - value).max(1e-9).log10(),
        }
    }

    /// Values to name, at least `gap` pixels apart, in rising order.
    pub fn ticks(&self, gap: f64) -> Vec<f64> {
        let candidates = match self.spacing {
            Spacing::Even => return self.even_ticks(gap),
            Spacing::Log => ticks_of_powers(self.low, self.high),
            Spacing::Missing => SHARES.map(|percent| percent / 100.0).to_vec(),
        };
        let mut kept: Vec<f64> = Vec::new();
        for value in candidates {
            let inside = value >= self.low - 1e-12 && value <= self.high + 1e-12;
            let free = kept.iter().all(|other| (self.at(*other) - self.at(value)).abs() >= gap);
            if inside && free {
                kept.push(value);
            }
        }
        if kept.len() < 2 {
            // So narrow a range has no two of these: its steps are nearly even.
            return self.even_ticks(gap);
        }
        kept.sort_by(f64::total_cmp);
        kept
    }

    fn even_ticks(&self, gap: f64) -> Vec<f64> {
        let room = ((self.to - self.from).abs() / gap).floor().max(1.0);
        let step = nice_step((self.high - self.low) / room);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        let ticks: Vec<f64> = (first..=last).map(|i| i as f64 * step).collect();
        // A warped axis crowds them at one end.
        let mut kept: Vec<f64> = Vec::new();
        for tick in ticks {
            if kept.last().is_none_or(|last| (self.at(*last) - self.at(tick)).abs() >= gap.min(20.0)) {
                kept.push(tick);
            }
        }
        kept
    }
}

/// Percentages worth naming, the most telling first.
const SHARES: [f64; 32] = [
    0.0, 50.0, 90.0, 99.0, 80.0, 95.0, 98.0, 99.9, 99.5, 99.8, 97.0, 96.0, 92.0, 94.0, 85.0, 70.0, 60.0,
    30.0, 93.0, 91.0, 88.0, 75.0, 40.0, 20.0, 65.0, 10.0, 98.5, 97.5, 96.5, 95.5, 99.2, 99.6,
];

/// 1, 2 and 5 times the powers of ten in a range: powers first, then fives, then twos.
fn ticks_of_powers(low: f64, high: f64) -> Vec<f64> {
    let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
    [1.0, 3.0, 2.0, 5.0]
        .iter()
        .flat_map(|factor| exponents.clone().map(move |e| factor * 10_f64.powi(e)))
        .collect()
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least this.
pub(super) fn nice_step(least: f64) -> f64 {
    if least <= 0.0 || !least.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powi(least.log10().floor() as i32);
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

/// Decimals that write even ticks exactly, and so tell them apart.
pub(super) fn tick_decimals(ticks: &[f64]) -> usize {
    decimals_within(ticks, label_tolerance(ticks))
}

/// The label of each tick, all different. Even ticks have as many decimals as their step needs; others as many as
/// each one needs.
pub(super) fn tick_labels(ticks: &[f64]) -> Vec<String> {
    let steps: Vec<f64> = ticks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let is_even = steps.iter().all(|step| (step - steps[0]).abs() <= steps[0].abs() * 1e-2);
    let least = label_tolerance(ticks);
    let decimals =
        |tick: &f64| decimals_within(if is_even { ticks } else { std::slice::from_ref(tick) }, least);
    ticks.iter().map(|tick| fixed(*tick, decimals(tick))).collect()
}

/// How far a label may be from its tick: a thousandth of the least step. A tick alone is written as it is.
fn label_tolerance(ticks: &[f64]) -> f64 {
    let steps = ticks.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let sizes = ticks.iter().map(|tick| tick.abs() * 1e-6).filter(|_| ticks.len() == 1);
    steps.chain(sizes).filter(|step| *step > 0.0).fold(1.0, f64::min) * 1e-3
}

fn decimals_within(ticks: &[f64], least: f64) -> usize {
    let exact = |tick: &f64, decimals: i32| {
        let unit = 10_f64.powi(decimals);
        ((tick * unit).round() / unit - tick).abs() <= least
    };
    (0..15).find(|&decimals| ticks.iter().all(|tick| exact(tick, decimals))).unwrap_or(15) as usize
}

/// Accuracies far apart are stretched towards 100 %, so that close ones can be distinguished.
pub(super) fn accuracy_range(low: f64, high: f64) -> (Spacing, (f64, f64)) {
    let (low, high) = (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0));
    if low >= high {
        return (Spacing::Even, ((high - 0.05).max(0.0), (high + 0.05).min(1.0)));
    }
    let least_missing = (1.0 - high).max(5e-4);
    if (1.0 - low) / least_missing > 3.0 {
        let range = (1.0 - (1.0 - low) * 1.08, 1.0 - least_missing / 1.08);
        return (Spacing::Missing, (range.0.max(0.0), range.1));
    }
    let step = nice_step((high - low) / 5.0);
    let low = ((low / step).floor() * step).max(0.0);
    (Spacing::Even, (low, ((high / step).ceil() * step).min(1.0)))
}

/// Explains the vertical axis of accuracies.
pub(super) fn accuracy_note(spacing: Spacing, range: (f64, f64)) -> String {
    let start = if range.0 > 0.0 {
        "The vertical axis does not start at 0."
    } else {
        "The vertical axis starts at 0."
    };
    let stretch = match spacing {
        Spacing::Missing => {
            " It is stretched towards 100 %: equal steps divide the number of errors by equal factors."
        }
        _ => "",
    };
    format!("{start}{stretch}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ticks_are_round_and_apart() {
        let scale = Scale::new(Spacing::Even, (0.0, 134.7), (0.0, 300.0));
        assert_eq!(scale.ticks(50.0), [0.0, 50.0, 100.0]);
        let scale = Scale::new(Spacing::Missing, (0.28, 0.965), (200.0, 0.0));
        let ticks = scale.ticks(22.0);
        assert!(ticks.contains(&0.9) && ticks.contains(&0.5), "{ticks:?}");
        let places: Vec<f64> = ticks.iter().map(|tick| scale.at(*tick)).collect();
        assert!(places.windows(2).all(|pair| pair[0] - pair[1] >= 22.0));
    }

    #[test]
    fn halving_the_errors_is_always_the_same_step() {
        let scale = Scale::new(Spacing::Missing, (0.2, 0.99), (0.0, 100.0));
        let step = |a: f64, b: f64| scale.at(b) - scale.at(a);
        assert!((step(0.6, 0.8) - step(0.9, 0.95)).abs() < 1e-9);
        assert_eq!(scale.at(2.0), 100.0, "outside is drawn at the edge");
    }

    #[test]
    fn a_range_of_one_value_is_still_an_axis() {
        let scale = Scale::new(Spacing::Even, (3.0, 3.0), (0.0, 10.0));
        assert_eq!(scale.at(3.0), 0.0);
        assert_eq!(nice_step(0.0), 1.0);
        assert_eq!(tick_decimals(&[92.5, 95.0]), 1);
    }

    proptest! {
        #[test]
        fn labels_of_an_axis_differ_and_say_where_they_stand(
            low in 0.0..1.0_f64, log_width in -7.0..0.0_f64, factor in prop::sample::select(vec![1.0, 100.0, 1e6]),
            gap in 20.0..70.0_f64, kind in 0..3_usize,
        ) {
            let spacing = [Spacing::Even, Spacing::Log, Spacing::Missing][kind];
            let high = low + 10_f64.powf(log_width) * (1.0 - low);
            let low = if spacing == Spacing::Log { low.max(1e-4) } else { low };
            prop_assume!(high > low && high < 1.0 - 1e-6);
            // Shares are named in percent; a stretched axis ends at 1.
            let factor = if spacing == Spacing::Missing { 1.0 } else { factor };
            let scale = Scale::new(spacing, (low * factor, high * factor), (0.0, 300.0));
            let percent = if spacing == Spacing::Missing { 100.0 } else { 1.0 };
            let ticks: Vec<f64> = scale.ticks(gap).iter().map(|tick| tick * percent).collect();
            let labels = tick_labels(&ticks);
            let mut different = labels.clone();
            different.sort();
            different.dedup();
            prop_assert_eq!(different.len(), labels.len(), "{:?}", labels);
            for (tick, label) in ticks.iter().zip(&labels) {
                let told: f64 = label.replace(['\u{a0}', ','], "").replace('\u{2212}', "-").parse().unwrap();
                let off = (scale.at(told / percent) - scale.at(tick / percent)).abs();
                prop_assert!(off < 0.5, "{} at {}: {} pixels off", label, tick, off);
            }
        }
    }
}
