//! The options with which the same command is to be run next.

use frostline_record::{Plan, RateSearch, Settings};

use crate::study::sanity::Examined;

/// Advised number of seeds.
const ENOUGH_SEEDS: usize = 5;

/// The most rates that a search may add.
const MOST_RATES: usize = 15;

/// The option that turns the search for rates on.
const FIND_LR: &str = "--find-lr";

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

/// A search for rates if a plan can have one, its next rates if it had one, else a lower rate than a cell's and higher
/// ones as an axis.
pub(super) fn other_rates(study: &Examined<'_>, settings: &Settings) -> String {
    match study.rates {
        Some(search) => more_of_search(study.plan, search),
        None if can_search(study.plan) => FIND_LR.into(),
        None => {
            let own = settings.optimizer.lr;
            let rates = [0.1, 1.0, 3.0, 10.0].map(|factor| show_rate(own * factor));
            quote_assignment(&format!("{RATE}=[{}]", rates.join(", ")))
        }
    }
}

/// Twice a policy's epochs if its rate is already high or was found, else a rate of its own: by a search if the plan can have
/// one, or ten times its rate.
pub(super) fn own_rate(study: &Examined<'_>, settings: &Settings, policy: &str) -> String {
    let higher = 10.0 * settings.optimizer.lr;
    if higher > HIGHEST_RATE || study.rates.is_some() {
        return quote_assignment(&format!(
            "policies.{policy}.train.epochs={}",
            (2 * settings.train.epochs).max(3)
        ));
    }
    match can_search(study.plan) {
        true => FIND_LR.into(),
        false => quote_assignment(&format!("policies.{policy}.{RATE}={}", show_rate(higher))),
    }
}

/// A larger allowance of rates for a search; more sentences if it has all that it may have.
pub(super) fn more_of_search(plan: &Plan, search: &RateSearch) -> String {
    let sentences =
        || search.found.iter().filter_map(|found| found.rungs.last()).map(|rung| rung.sentences).max();
    match plan.search.more {
        more if more < MOST_RATES => quote_assignment(&format!("search.more={}", (more + 4).min(MOST_RATES))),
        _ => quote_assignment(&format!("search.sentences={}", 2 * sentences().unwrap_or(1000))),
    }
}

/// Whether a plan can have a search for rates: it has none, no axis of rates, and no stage with a rate of its own.
fn can_search(plan: &Plan) -> bool {
    let has_axis = plan.extra_axes().iter().any(|axis| axis.ends_with(RATE));
    !plan.search.is_on() && !has_axis && plan.settings.stages_with(RATE).is_empty()
}

/// A rate with two digits, as a person writes it: `1.5e-4`.
pub(super) fn show_rate(value: f64) -> String {
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
    quote_assignment(&format!("{path}={}", (2 * epochs).max(3)))
}

/// An assignment as a shell takes it.
pub(super) fn quote_assignment(assignment: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._=+%-".contains(sign);
    match assignment.chars().all(is_plain) {
        true => format!("--set {assignment}"),
        false => format!("--set '{assignment}'"),
    }
}
