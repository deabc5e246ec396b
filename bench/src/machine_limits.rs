//! What a training step of ours could reach at most: its operations at the machine's limits, from
//! `frostline bench step --profile`.

use serde::Deserialize;

use crate::spread::format_figure;
use crate::stored::{SideFigures, StoredSide};

/// What is read of a step's profile.
#[derive(Debug, Deserialize)]
pub(crate) struct Profiled {
    profile: ProfiledRows,
}

#[derive(Debug, Deserialize)]
struct ProfiledRows {
    untimed_step_ms: f64,
    limits: SideFigures,
    at_limits: SideFigures,
}

impl Profiled {
    /// Returns the profile's numbers, which are shown next to the numbers of a measured step.
    pub(crate) fn named_figures(self) -> impl Iterator<Item = (String, f64)> {
        let ProfiledRows { untimed_step_ms, limits, at_limits } = self.profile;
        let step = [("untimed_step_ms".to_string(), untimed_step_ms)];
        let all = step.into_iter().chain(limits).chain(at_limits);
        all.map(|(key, value)| (format!("profile.{key}"), value))
    }
}

/// The columns of numbers: their headings, and the keys of what they show.
const NUMBERS: [(&str, &str); 7] = [
    ("Gflop>", "gflop"),
    ("peak, Gflop/s>", "product_gflops"),
    ("products at peak, ms>", "products_ms"),
    ("MB>", "mb"),
    ("memory, GB/s>", "memory_gb_per_s"),
    ("all else at that, ms>", "memory_ms"),
    ("step, ms>", "untimed_step_ms"),
];

/// Returns the headings of the columns.
pub(crate) fn column_heads() -> impl Iterator<Item = &'static str> {
    let shares = ["share of limit, %>", "share of peak, %>", "share of peak at the limit, %>"];
    NUMBERS.into_iter().map(|(head, _)| head).chain(shares)
}

/// Returns the cells of a side, if its steps were profiled: the round with the median share, so that a row's figures
/// belong together.
pub(crate) fn profiled_cells(side: &StoredSide) -> Option<Vec<String>> {
    let of = |round: &SideFigures, key: &str| round.get(&format!("profile.{key}")).copied();
    let share = |round: &SideFigures| of(round, "percent_of_step");
    let mut rounds: Vec<&SideFigures> = side.rounds.iter().filter(|round| share(round).is_some()).collect();
    rounds.sort_by(|a, b| share(a).partial_cmp(&share(b)).expect("shares are numbers"));
    let round = rounds.get(rounds.len().saturating_sub(1) / 2)?;
    let numbers: Option<Vec<f64>> = NUMBERS.iter().map(|(_, key)| of(round, key)).collect();
    let [of_limit, most] = [share(round)?, of(round, "percent_of_peak")?];
    let shares = [of_limit, of_limit * most / 100.0, most].map(|percent| format!("{percent:.0}"));
    Some(numbers?.into_iter().map(format_figure).chain(shares).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A step of this time with 20 Gflop and 400 MB, on a machine with 200 Gflop/s and 40 GB/s.
    pub(crate) fn profiled_step(step_ms: f64) -> Profiled {
        let text = format!(
            r#"{{"steps": 3, "profile": {{"step_ms": 1.0, "untimed_step_ms": {step_ms}, "parts": [],
                "limits": {{"product_gflops": 200.0, "memory_gb_per_s": 40.0}},
                "at_limits": {{"gflop": 20.0, "products_ms": 100.0, "mb": 400.0, "memory_ms": 10.0,
                    "percent_of_step": {}, "percent_of_peak": 90.9}}}}}}"#,
            11_000.0 / step_ms
        );
        serde_json::from_str(&text).expect("a profile")
    }

    #[test]
    fn a_row_is_one_round() {
        let rounds = [110.0, 220.0, 137.5].map(|step_ms| profiled_step(step_ms).named_figures().collect());
        let side = StoredSide {
            setting: "f32".into(),
            precision: "f32".into(),
            rounds: rounds.into(),
            note: None,
            failed: false,
        };
        // The second of three shares: 110 of 137.5 ms.
        let expected = ["20.0", "200", "100", "400", "40.0", "10.0", "138", "80", "73", "91"];
        assert_eq!(profiled_cells(&side).expect("a row"), expected);
        let without = StoredSide { rounds: vec![SideFigures::from([("step_ms_mean".into(), 1.0)])], ..side };
        assert_eq!(profiled_cells(&without), None);
    }
}
