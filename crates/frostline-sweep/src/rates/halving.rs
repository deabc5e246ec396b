//! Successive halving over learning rates: what one search tries next, as a function of the scores that are known.
//!
//! Rates are half a decade apart. Every rung tries a few rates on as many sentences. Before a rung ends, the neighbours of
//! its best rate are tried too, whether they lie beyond the first rates or were given up on fewer sentences, which favour
//! higher rates. The better half continues to the next rung.

use std::collections::BTreeMap;

use frostline_record::Edge;

/// A rate's place: two for each decade, 0 is 1, -1 is 0.3.
pub(super) type RatePlace = i32;

/// The places of rates that are tried at all: from 1e-8 to 1.
const PLACES: std::ops::RangeInclusive<RatePlace> = -16..=0;

/// The most by which a small trainable share raises the first rates.
const MOST_RAISED: f64 = 100.0;

/// Returns the rate at a place: 1 or 3 times a power of ten.
pub(super) fn place_rate(place: RatePlace) -> f64 {
    let digit = if place.rem_euclid(2) == 0 { 1 } else { 3 };
    format!("{digit}e{}", place.div_euclid(2)).parse().expect("a number")
}

/// Returns the place nearest to a rate.
fn nearest_place(rate: f64) -> RatePlace {
    ((2.0 * rate.log10()).round() as RatePlace).clamp(*PLACES.start(), *PLACES.end())
}

/// Returns the middle of the first rates: the plan's rate, times the root of what all parameters are to those that
/// learn, since fewer of them need larger steps. A rate that the plan gives to the policy itself stays.
pub(super) fn middle_place(lr: f64, is_own: bool, [trainable, all]: [u64; 2]) -> RatePlace {
    let raised = (all.max(1) as f64 / trainable.max(1) as f64).sqrt().min(MOST_RAISED);
    nearest_place(if is_own { lr } else { lr * raised.max(1.0) })
}

/// What is known of a rate in a rung.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RateScore {
    /// Not all cells of the rate have run.
    Missing,
    /// The loss became infinite or no number.
    Diverged,
    /// The score, higher is better, and the loss, which decides between equal scores.
    Scored(f64, f64),
}

/// A search for one rate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Halving {
    /// The rates that each rung has tried so far; the last one is the running rung.
    pub rungs: Vec<Vec<RatePlace>>,
    /// How many rungs there are.
    of: usize,
    /// Rates that may still be added.
    more: usize,
}

/// What a search needs or has found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NextStep {
    /// Scores of the running rung.
    Scores,
    /// Nothing: this rate, which may be at an end of what was tried.
    Found(RatePlace, Option<Edge>),
    /// No rate of the running rung has a score.
    NoScore,
}

impl Halving {
    /// A search over so many rates around a place.
    pub fn new(middle: RatePlace, rates: usize, rungs: usize, more: usize) -> Self {
        let first = middle - (rates as RatePlace - 1) / 2;
        let all = (first..first + rates as RatePlace).filter(|place| PLACES.contains(place));
        Self { rungs: vec![all.collect()], of: rungs, more }
    }

    /// Goes on as far as `known`, which is asked for a rung and a rate, has scores.
    pub fn advance_search(&mut self, known: impl Fn(usize, RatePlace) -> RateScore) -> NextStep {
        loop {
            let rung = self.rungs.len() - 1;
            let found: BTreeMap<RatePlace, RateScore> =
                self.rungs[rung].iter().map(|place| (*place, known(rung, *place))).collect();
            if found.values().any(|known| *known == RateScore::Missing) {
                return NextStep::Scores;
            }
            let ranked = rank_rates(&found);
            // If all diverged, only lower rates can help.
            let best = ranked.first().copied().unwrap_or_else(|| self.rungs[rung][0]);
            let neighbours = if ranked.is_empty() { vec![best - 1] } else { vec![best - 1, best + 1] };
            if self.add_rates(neighbours) {
                continue;
            }
            if ranked.is_empty() {
                return NextStep::NoScore;
            }
            if rung + 1 == self.of {
                return NextStep::Found(best, self.edge_of_rates(best));
            }
            let mut kept = ranked[..ranked.len().div_ceil(2).max(2).min(ranked.len())].to_vec();
            kept.sort_unstable();
            self.rungs.push(kept);
        }
    }

    /// Adds the rates that the running rung has not tried; returns whether there was one.
    fn add_rates(&mut self, rates: Vec<RatePlace>) -> bool {
        let rung = self.rungs.last_mut().expect("a rung");
        let new = rates.into_iter().filter(|place| PLACES.contains(place) && !rung.contains(place));
        let new: Vec<RatePlace> = new.take(self.more).collect();
        self.more -= new.len();
        rung.extend(&new);
        rung.sort_unstable();
        !new.is_empty()
    }

    /// Returns at which end of all tried rates this one lies. A rate beyond it that diverged was tried.
    fn edge_of_rates(&self, best: RatePlace) -> Option<Edge> {
        let tried = || self.rungs.iter().flatten();
        if tried().all(|place| *place >= best) {
            Some(Edge::Lowest)
        } else {
            tried().all(|place| *place <= best).then_some(Edge::Highest)
        }
    }
}

/// Returns the rates that have a score, the best first; of equal ones the lower.
fn rank_rates(found: &BTreeMap<RatePlace, RateScore>) -> Vec<RatePlace> {
    let scored = found.iter().filter_map(|(place, known)| match known {
        RateScore::Scored(score, loss) => Some((*place, *score, *loss)),
        _ => None,
    });
    let mut scored: Vec<(RatePlace, f64, f64)> = scored.collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.2.total_cmp(&b.2)).then(a.0.cmp(&b.0)));
    scored.into_iter().map(|(place, ..)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search in which scores fall with the distance from a rate, which moves down from rung to rung.
    fn run_search(middle: RatePlace, best: RatePlace, drift: RatePlace, more: usize) -> (Halving, NextStep) {
        let mut search = Halving::new(middle, 5, 3, more);
        let next = search.advance_search(|rung, place| {
            let peak = best - drift * rung as RatePlace;
            RateScore::Scored(1.0 - 0.1 * f64::from((place - peak).abs()), 1.0)
        });
        (search, next)
    }

    #[test]
    fn rates_are_half_a_decade_apart_and_exact() {
        assert_eq!([-9, -8, -5, 0].map(place_rate), [3e-5, 1e-4, 3e-3, 1.0]);
        assert_eq!([5e-5, 1e-3, 2e-3, 7e-3].map(nearest_place), [-9, -6, -5, -4]);
    }

    #[test]
    fn fewer_trainable_parameters_get_higher_rates() {
        assert_eq!(middle_place(1e-4, false, [100, 100]), -8);
        assert_eq!(middle_place(1e-4, false, [1, 100]), -6);
        assert_eq!(middle_place(1e-4, false, [1, 1_000_000_000]), -4, "at most a hundred times as high");
        assert_eq!(middle_place(3e-3, true, [1, 100]), -5, "the plan's own");
        assert_eq!(middle_place(1e-4, false, [0, 0]), -8);
    }

    #[test]
    fn the_better_half_goes_on_and_the_best_is_found_between_its_neighbours() {
        let (search, next) = run_search(-6, -6, 0, 4);
        assert_eq!(next, NextStep::Found(-6, None));
        assert_eq!(search.rungs, [vec![-8, -7, -6, -5, -4], vec![-7, -6, -5], vec![-7, -6, -5]]);
    }

    #[test]
    fn rates_are_added_where_the_best_is_at_an_end() {
        let (search, next) = run_search(-6, -2, 0, 4);
        assert_eq!(next, NextStep::Found(-2, None));
        assert_eq!(search.rungs[0], [-8, -7, -6, -5, -4, -3, -2, -1]);
        // With one rate more, the end is reached, and is an end.
        let (search, next) = run_search(-6, -2, 0, 1);
        assert_eq!(next, NextStep::Found(-3, Some(Edge::Highest)));
        assert_eq!(search.rungs[0].last(), Some(&-3));
        assert_eq!(run_search(-6, -12, 0, 0).1, NextStep::Found(-8, Some(Edge::Lowest)));
    }

    #[test]
    fn a_lower_rate_that_few_sentences_gave_up_is_tried_again_on_more() {
        let (search, next) = run_search(-6, -5, 1, 4);
        assert_eq!(next, NextStep::Found(-7, None));
        assert!(search.rungs[2].contains(&-8), "{search:?}");
    }

    #[test]
    fn rates_that_diverge_are_the_worst_and_lower_ones_are_tried() {
        let mut search = Halving::new(-4, 3, 2, 4);
        let scored = |place: RatePlace| RateScore::Scored(0.5 + 0.01 * f64::from(place), 1.0);
        let known =
            |_: usize, place: RatePlace| if place >= -6 { RateScore::Diverged } else { scored(place) };
        assert_eq!(search.advance_search(known), NextStep::Found(-7, None));
        assert_eq!(search.rungs[0], [-8, -7, -6, -5, -4, -3]);
        assert_eq!(Halving::new(-4, 3, 2, 2).advance_search(|_, _| RateScore::Diverged), NextStep::NoScore);
    }

    #[test]
    fn it_waits_for_scores_and_equal_ones_are_decided_by_loss_and_then_the_lower_rate() {
        let mut search = Halving::new(-6, 3, 1, 0);
        assert_eq!(
            search.advance_search(|_, place| if place == -6 {
                RateScore::Missing
            } else {
                RateScore::Diverged
            }),
            NextStep::Scores
        );
        assert_eq!(
            search.clone().advance_search(|_, _| RateScore::Scored(0.9, 1.0)),
            NextStep::Found(-7, Some(Edge::Lowest))
        );
        let loss = |_: usize, place: RatePlace| RateScore::Scored(0.9, if place == -6 { 0.1 } else { 0.2 });
        assert_eq!(search.advance_search(loss), NextStep::Found(-6, None));
    }

    #[test]
    fn the_number_of_cells_is_bounded_whatever_the_scores() {
        // Scores without any order.
        for seed in 0..200_i32 {
            let mut search = Halving::new(-6, 5, 3, 4);
            let scatter = |rung: usize, place: RatePlace| {
                let mixed =
                    (place + 40).wrapping_mul(7919).wrapping_add(seed * 104_729 + rung as i32 * 31) % 97;
                RateScore::Scored(f64::from(mixed.abs()) / 97.0, 1.0)
            };
            assert!(matches!(search.advance_search(scatter), NextStep::Found(..)));
            let tried: usize = search.rungs.iter().map(Vec::len).sum();
            assert!(tried <= 9 + 5 + 3 + 4, "{search:?}");
        }
    }
}
