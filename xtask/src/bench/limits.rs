//! What a training step of ours could reach at most: its operations at the machine's limits, from
//! `frostline bench step --profile`.

use serde::Deserialize;

use crate::bench::grid::Grid;
use crate::bench::spread::figure;
use crate::bench::stored::{Figures, Side};

/// What is read of a step's profile.
#[derive(Debug, Deserialize)]
pub(crate) struct Profiled {
    profile: Profile,
}

#[derive(Debug, Deserialize)]
struct Profile {
    untimed_step_ms: f64,
    limits: Figures,
    at_limits: Figures,
}

impl Profiled {
    /// Its numbers, beside those of a measured step.
    pub(crate) fn figures(self) -> impl Iterator<Item = (String, f64)> {
        let Profile { untimed_step_ms, limits, at_limits } = self.profile;
        let step = [("untimed_step_ms".to_string(), untimed_step_ms)];
        let all = step.into_iter().chain(limits).chain(at_limits);
        all.map(|(key, value)| (format!("profile.{key}"), value))
    }
}

/// A step and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limited {
    step_ms: f64,
    /// Products, and the rate of a large one.
    gflop: f64,
    product_gflops: f64,
    products_ms: f64,
    /// What all else reads and writes, and the memory's rate.
    mb: f64,
    memory_gb_per_s: f64,
    memory_ms: f64,
}

impl Limited {
    fn of(figures: &Figures) -> Option<Self> {
        let of = |key: &str| figures.get(&format!("profile.{key}")).copied();
        Some(Self {
            step_ms: of("untimed_step_ms")?,
            gflop: of("gflop")?,
            product_gflops: of("product_gflops")?,
            products_ms: of("products_ms")?,
            mb: of("mb")?,
            memory_gb_per_s: of("memory_gb_per_s")?,
            memory_ms: of("memory_ms")?,
        })
    }

    fn limit_ms(&self) -> f64 {
        self.products_ms + self.memory_ms
    }

    fn share(&self) -> f64 {
        self.limit_ms() / self.step_ms
    }

    /// Of the products' peak, for a step of this time.
    fn share_of_peak(&self, step_ms: f64) -> f64 {
        1e3 * self.gflop / step_ms / self.product_gflops
    }
}

/// An empty table.
pub(crate) fn grid() -> Grid {
    let heads =
        ["encoder", "frozen", "ours", "Gflop>", "peak, Gflop/s>", "at peak, ms>", "MB>", "memory, GB/s>"];
    let rest = ["at that, ms>", "limit, ms>", "step, ms>", "share of limit, %>"];
    let heads = heads.into_iter().chain(rest);
    Grid::new(heads.chain(["share of peak, %>", "at the limit, %>", "machine"]))
}

/// The row of a side, where its steps were profiled: the round with the median share, so that a row's figures belong together.
pub(crate) fn row(side: &Side, name: [String; 3], machine: String) -> Option<Vec<String>> {
    let mut rounds: Vec<Limited> = side.rounds.iter().filter_map(Limited::of).collect();
    rounds.sort_by(|a, b| a.share().total_cmp(&b.share()));
    let found = rounds.get(rounds.len().saturating_sub(1) / 2)?;
    let Limited { step_ms, gflop, product_gflops, products_ms, mb, memory_gb_per_s, memory_ms } = *found;
    let limit_ms = found.limit_ms();
    let numbers = [gflop, product_gflops, products_ms, mb, memory_gb_per_s, memory_ms, limit_ms, step_ms];
    let shares = [found.share(), found.share_of_peak(step_ms), found.share_of_peak(limit_ms)];
    let shares = shares.map(|share| format!("{:.0}", 100.0 * share));
    Some(name.into_iter().chain(numbers.map(figure)).chain(shares).chain([machine]).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A step of this time with 20 Gflop and 400 MB, on a machine with 200 Gflop/s and 40 GB/s.
    pub(crate) fn profiled(step_ms: f64) -> Profiled {
        let text = format!(
            r#"{{"steps": 3, "profile": {{"step_ms": 1.0, "untimed_step_ms": {step_ms}, "parts": [],
                "limits": {{"product_gflops": 200.0, "memory_gb_per_s": 40.0}},
                "at_limits": {{"gflop": 20.0, "products_ms": 100.0, "mb": 400.0, "memory_ms": 10.0}}}}}}"#
        );
        serde_json::from_str(&text).expect("a profile")
    }

    #[test]
    fn a_row_is_one_round() {
        let rounds = [110.0, 220.0, 137.5].map(|step_ms| profiled(step_ms).figures().collect());
        let side = Side {
            setting: "f32".into(),
            precision: "f32".into(),
            rounds: rounds.into(),
            note: None,
            failed: false,
        };
        let name = ["tiny", "none", "f32"].map(String::from);
        let found = row(&side, name.clone(), "A".into()).expect("a row");
        // 100 + 10 of 137.5 ms; 20 Gflop at 200 Gflop/s are 100 ms.
        let expected = ["20.0", "200", "100", "400", "40.0", "10.0", "110", "138", "80", "73", "91", "A"];
        assert_eq!(found[3..], expected);
        let without = Side { rounds: vec![Figures::from([("step_ms_mean".into(), 1.0)])], ..side };
        assert_eq!(row(&without, name, "A".into()), None);
    }
}
