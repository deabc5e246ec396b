//! What a sweep that grows until its question is answered has decided, in words.

use frostline_record::{DecideQuestion, FIRST_SEEDS, Plan, Rounds, Sweep};
use serde::Serialize;

use crate::units::count_noun;

/// What a sweep that grows until its question is answered has decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The number of the current round, from 1.
    pub round: usize,
    /// Lines on what is decided, what the current cells are for, and the answer.
    pub lines: Vec<String>,
}

impl Decision {
    /// Returns what a sweep has decided, if it grows until its question is answered.
    pub(crate) fn of_sweep(sweep: &Sweep) -> Option<Self> {
        let rounds = sweep.rounds.as_ref()?;
        let mut lines = Vec::new();
        if rounds.round > 1 || !sweep.search_continues {
            lines.push(describe_rounds(rounds));
        }
        match sweep.search_continues {
            true if rounds.open.is_empty() => {
                lines.push(format!("round 1 runs {FIRST_SEEDS} seeds of every policy"));
            }
            true => {
                lines.push(format!("round {} runs one more seed of {}", rounds.round, rounds.open.join(", ")))
            }
            false => lines.extend(describe_end(rounds, &sweep.plan)),
        }
        Some(Self { round: rounds.round, lines })
    }
}

/// Returns a line on what the records have decided.
pub(crate) fn describe_rounds(rounds: &Rounds) -> String {
    let Rounds { decided, open, set_aside, not_needed, .. } = rounds;
    let mut parts = vec![format!("{} decided", count_noun(decided.len(), "comparison"))];
    let named = [(open, "open"), (set_aside, "set aside")];
    let named = named.into_iter().filter(|(titles, _)| !titles.is_empty());
    parts.extend(named.map(|(titles, what)| format!("{} {what} ({})", titles.len(), titles.join(", "))));
    if !not_needed.is_empty() {
        parts.push(format!("{} not needed", not_needed.len()));
    }
    parts.join(", ")
}

/// Returns lines on the answer of a sweep that has ended, and on what it could not decide.
pub(crate) fn describe_end(rounds: &Rounds, plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    if !rounds.open.is_empty() {
        lines.push(
            "no more cells are planned: all seeds of the plan are used, or decide.cells or decide.hours is reached"
                .into(),
        );
    }
    if !rounds.set_aside.is_empty() {
        lines.push(
            "the planned seeds are unlikely to decide what is set aside; the report names what would".into(),
        );
    }
    let margin = plan.verdict.margin.points();
    match rounds.recommended.as_slice() {
        _ if plan.decide.question != DecideQuestion::Recommendation => {}
        _ if rounds.withheld => lines.push(
            "nothing is recommended: something makes these comparisons worthless, which the report names first".into(),
        ),
        [] => lines.push(format!("no policy is shown to lose at most {margin} points")),
        policies => lines.push(format!(
            "the cheapest policy that is shown to lose at most {margin} points: {}",
            policies.join(", ")
        )),
    }
    lines
}
