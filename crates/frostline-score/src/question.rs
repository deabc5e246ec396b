//! Which comparisons of a growing study need more seeds, given what it is asked.

use crate::verdict::{Judged, Prospects, Verdict};

/// Comparisons that all planned seeds would decide with a smaller probability get none of them.
pub const LEAST_CHANCE: f64 = 0.05;

/// What a study is asked about systems that are compared with one baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which is the cheapest that loses at most the margin?
    Recommendation,
    /// Is each of them better, worse or equivalent?
    Verdicts,
}

/// What is known about a comparison, or a system in all its comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// The question is answered.
    Decided,
    /// It is not, and more seeds may answer it.
    Open,
    /// It is not, and the planned seeds are unlikely to answer it, or are used up.
    SetAside,
    /// It does not matter for the question.
    Irrelevant,
}

/// Returns what is known about each comparison of each candidate. Candidates come from the cheapest to the most expensive, each
/// with its comparisons, one for each data set; `margin` is a fraction of 1.
#[must_use]
pub fn assess(question: Question, candidates: &[Vec<&Judged>], margin: f64) -> Vec<Vec<Knowledge>> {
    match question {
        Question::Verdicts => {
            let one = |row: &&Judged| match row.verdict {
                Verdict::Undecided => by_chance(row, |prospects| prospects.verdict),
                _ => Knowledge::Decided,
            };
            candidates.iter().map(|rows| rows.iter().map(one).collect()).collect()
        }
        Question::Recommendation => {
            let mut is_chosen = false;
            let mut one = |rows: &Vec<&Judged>| {
                if is_chosen {
                    return vec![Knowledge::Irrelevant; rows.len()];
                }
                is_chosen = rows.iter().all(|row| row.loses_at_most(margin));
                assess_loss(rows, margin)
            };
            candidates.iter().map(&mut one).collect()
        }
    }
}

/// Whether a system loses at most the margin in all its comparisons.
fn assess_loss(rows: &[&Judged], margin: f64) -> Vec<Knowledge> {
    if rows.iter().any(|row| row.loses_more_than(margin)) {
        let of = |row: &&Judged| match row.loses_more_than(margin) || row.loses_at_most(margin) {
            true => Knowledge::Decided,
            false => Knowledge::Irrelevant,
        };
        return rows.iter().map(of).collect();
    }
    let one = |row: &&Judged| match row.loses_at_most(margin) {
        true => Knowledge::Decided,
        false => by_chance(row, |prospects| prospects.within_loss + prospects.beyond_loss),
    };
    let mut known: Vec<Knowledge> = rows.iter().map(one).collect();
    // A system that cannot be shown to be good in one comparison needs no more seeds in the others, unless one of them may show
    // that it is bad.
    if known.contains(&Knowledge::SetAside) {
        for (known, row) in known.iter_mut().zip(rows) {
            if *known == Knowledge::Open {
                *known = by_chance(row, |prospects| prospects.beyond_loss);
            }
        }
    }
    known
}

/// Open if the planned seeds have a chance, with several seeds; with one seed always.
fn by_chance(row: &Judged, chance: impl Fn(&Prospects) -> f64) -> Knowledge {
    match &row.prospects {
        _ if row.difference.seeds() < 2 => Knowledge::Open,
        Some(prospects) if chance(prospects) >= LEAST_CHANCE => Knowledge::Open,
        _ => Knowledge::SetAside,
    }
}
