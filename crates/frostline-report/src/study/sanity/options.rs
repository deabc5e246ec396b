//! The options with which the same command is to be run next.

use frostline_record::Settings;

/// So many seeds are advised.
const ENOUGH_SEEDS: usize = 5;

/// No rate above this is advised.
const HIGHEST_RATE: f64 = 5e-2;

/// The setting whose axis holds learning rates; a stage's own ends alike.
pub(super) const RATE: &str = "optimizer.lr";

/// These seeds and those after the largest: `--seeds 42-46`, or one by one.
pub(super) fn more_seeds(seeds: &[u64]) -> String {
    let last = seeds.last().copied().unwrap_or(0);
    let new = (1..).map(|more| last.saturating_add(more));
    let all: Vec<u64> = seeds.iter().copied().chain(new).take(ENOUGH_SEEDS).collect();
    if all.windows(2).all(|pair| pair[1] == pair[0] + 1) {
        return format!("--seeds {}-{}", all[0], all[all.len() - 1]);
    }
    format!("--seeds {}", all.iter().map(u64::to_string).collect::<Vec<_>>().join(","))
}

/// A lower rate than a cell's, and higher ones.
pub(super) fn other_rates(settings: &Settings) -> String {
    let own = settings.optimizer.lr;
    let rates = [0.1, 1.0, 3.0, 10.0].map(|factor| rate(own * factor));
    set(&format!("{RATE}=[{}]", rates.join(", ")))
}

/// Ten times a cell's rate for a policy alone; twice its epochs where its rate is already high.
pub(super) fn own_rate(settings: &Settings, policy: &str) -> String {
    let higher = 10.0 * settings.optimizer.lr;
    set(&match higher <= HIGHEST_RATE {
        true => format!("policies.{policy}.{RATE}={}", rate(higher)),
        false => format!("policies.{policy}.train.epochs={}", (2 * settings.train.epochs).max(3)),
    })
}

/// A rate with two digits, as a person writes it: `1.5e-4`.
pub(super) fn rate(value: f64) -> String {
    format!("{value:.1e}").replace(".0e", "e")
}

/// Twice the epochs of the last stage.
pub(super) fn more_epochs(settings: &Settings) -> String {
    let stages = settings.in_stages().unwrap_or_default();
    let (path, epochs) = match stages.last() {
        Some((name, stage)) if !settings.stages.is_empty() => {
            (format!("stages.{name}.train.epochs"), stage.train.epochs)
        }
        _ => ("train.epochs".into(), settings.train.epochs),
    };
    set(&format!("{path}={}", (2 * epochs).max(3)))
}

/// An assignment as a shell takes it.
pub(super) fn set(assignment: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._=+%-".contains(sign);
    match assignment.chars().all(is_plain) {
        true => format!("--set {assignment}"),
        false => format!("--set '{assignment}'"),
    }
}
