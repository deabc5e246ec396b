//! The value of each player of a game in which every subset of the players was measured: Shapley values and the
//! main effects of a linear model.
//!
//! In a freezing study the players are an encoder's blocks, and a subset's value is the cost of freezing it. A
//! subset is a number whose bit `i` is set if player `i` is in it; a game has one value for each of the 2^n
//! subsets.
//!
//! # Source
//! Shapley, *A value for n-person games* (1953). The main effects of a full two-level factorial design:
//! Yates, *The design and analysis of factorial experiments* (1937).

use serde::{Deserialize, Serialize};

/// Returns the weight of a subset's value in the Shapley value of one player among `players`: `|S|! (n - |S| -
/// 1)! / n!` for a set with the player, if `S` are its other members, and the same below 0 for `S` alone.
#[must_use]
pub fn coefficient(player: usize, players: usize, subset: usize) -> f64 {
    let has = subset >> player & 1 == 1;
    let others = subset.count_ones() as usize - usize::from(has);
    // 1 / (n * C(n - 1, others))
    let choices = (0..others).fold(1.0, |all, i| all * (players - 1 - i) as f64 / (i + 1) as f64);
    let weight = 1.0 / (players as f64 * choices);
    if has { weight } else { -weight }
}

/// Returns each player's Shapley value in a game with these values, one for each of the 2^n subsets.
///
/// ```
/// use frostline_score::shapley::shapley;
///
/// // Player 0 alone brings 1, player 1 alone 2, both together 5: the 2 on top are shared.
/// assert_eq!(shapley(&[0.0, 1.0, 2.0, 5.0]), [2.0, 3.0]);
/// ```
///
/// # Panics
/// If the number of values is no power of two.
#[must_use]
pub fn shapley(values: &[f64]) -> Vec<f64> {
    let players = count_players(values.len());
    let worth = |player| {
        let parts = values.iter().enumerate();
        parts.map(|(subset, value)| coefficient(player, players, subset) * value).sum()
    };
    (0..players).map(worth).collect()
}

/// A player's effect in a linear model, with its standard error if there are residuals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The mean value of subsets with the player minus the mean value of subsets without it.
    pub value: f64,
    /// The standard error; absent if no degree of freedom is left for residuals.
    pub error: Option<f64>,
}

/// Returns the least-squares effects of the players in several games, each with its own intercept. The design
/// is balanced, so an effect is the mean value with a player minus the mean value without it. Without games
/// there are no effects.
///
/// # Panics
/// If the number of a game's values is no power of two.
#[must_use]
pub fn effects(games: &[Vec<f64>]) -> Vec<Effect> {
    let Some(size) = games.first().map(Vec::len) else { return Vec::new() };
    let players = count_players(size);
    let all = (games.len() * size) as f64;
    let sign = |player: usize, subset: usize| if subset >> player & 1 == 1 { 1.0 } else { -1.0 };
    let effect = |player| {
        let sums = games.iter().flat_map(|game| game.iter().enumerate());
        2.0 / all * sums.map(|(subset, value)| sign(player, subset) * value).sum::<f64>()
    };
    let values: Vec<f64> = (0..players).map(effect).collect();
    let mut squares = 0.0;
    for game in games {
        let mean = game.iter().sum::<f64>() / size as f64;
        for (subset, value) in game.iter().enumerate() {
            let fitted: f64 =
                values.iter().enumerate().map(|(i, effect)| sign(i, subset) * effect / 2.0).sum();
            squares += (value - mean - fitted).powi(2);
        }
    }
    let freedom = games.len() * size - players - games.len();
    let error = (freedom > 0).then(|| 2.0 * (squares / freedom as f64 / all).sqrt());
    values.into_iter().map(|value| Effect { value, error }).collect()
}

/// Returns how many players a game with this many values has.
fn count_players(values: usize) -> usize {
    assert!(values.is_power_of_two(), "a game needs a value for each subset: {values} is no power of two");
    values.ilog2() as usize
}

/// Returns the standard error of a player's Shapley value if the values are shares of units drawn in clusters
/// (words in sentences), the same for every subset. It comes from the ratio's linear expansion, and agrees with
/// resampling of clusters.
///
/// `parts` contains each cluster's contribution to the player's value before division by all units, and `sizes`
/// each cluster's units. The result is `None` for fewer than two clusters or no units.
///
/// # Source
/// Cochran, *Sampling Techniques* (1977), chapter 6.
#[must_use]
pub fn cluster_error(parts: &[f64], sizes: &[f64]) -> Option<f64> {
    let (count, units) = (sizes.len() as f64, sizes.iter().sum::<f64>());
    if sizes.len() < 2 || units <= 0.0 {
        return None;
    }
    let ratio = parts.iter().sum::<f64>() / units;
    let squares: f64 = parts.iter().zip(sizes).map(|(part, size)| (part - ratio * size).powi(2)).sum();
    Some((count / (count - 1.0) * squares).sqrt() / units)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn players_of_an_additive_game_are_worth_what_they_bring() {
        let worth = [0.5, -1.0, 2.0];
        let game: Vec<f64> =
            (0..8_usize).map(|s| (0..3).filter(|i| s >> i & 1 == 1).map(|i| worth[i]).sum()).collect();
        assert_near(&shapley(&game), &worth);
        let effects = effects(&[game]);
        assert_near(&effects.iter().map(|effect| effect.value).collect::<Vec<_>>(), &worth);
        assert!(effects.iter().all(|effect| effect.error.is_some_and(|error| error < 1e-12)));
    }

    #[test]
    fn equal_players_share_equally_and_all_is_shared() {
        // Worth by the number of players alone: 0, 1, 1, 6.
        let game: Vec<f64> = (0..8_u32).map(|s| [0.0, 1.0, 1.0, 6.0][s.count_ones() as usize]).collect();
        assert_near(&shapley(&game), &[2.0, 2.0, 2.0]);
    }

    #[test]
    fn gloves_are_worth_what_the_textbook_says() {
        // Player 0 has a left glove, 1 and 2 a right one; a pair is worth 1.
        let pair = |s: usize| f64::from(u8::from(s & 1 == 1 && s & 6 != 0));
        let game: Vec<f64> = (0..8).map(pair).collect();
        assert_near(&shapley(&game), &[4.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0]);
        // Main effects: (0+1+1+1)/4 - 0 and (0+0+1+1)/4 - (0+0+0+1)/4, with squares left over.
        let found = effects(&[game]);
        assert_near(&found.iter().map(|effect| effect.value).collect::<Vec<_>>(), &[0.75, 0.25, 0.25]);
        // The effects explain 11/8 of 15/8 in squares; 1/2 remains on 4 degrees of freedom.
        let error = found[0].error.expect("residuals");
        assert!((error - 2.0 * (0.125_f64 / 8.0).sqrt()).abs() < 1e-12, "{error}");
    }

    #[test]
    fn worth_sums_to_what_all_are_worth_at_any_size() {
        for players in 1..=8_usize {
            let game: Vec<f64> = (0..1_u32 << players).map(|s| f64::from(s * s % 97)).collect();
            let sum: f64 = shapley(&game).iter().sum();
            assert!((sum - (game[game.len() - 1] - game[0])).abs() < 1e-9, "{players}: {sum}");
        }
    }

    #[test]
    fn a_seeds_own_level_is_no_noise() {
        let one = vec![0.0, 1.0, 2.0, 3.0];
        let two: Vec<f64> = one.iter().map(|value| value + 10.0).collect();
        for effect in effects(&[one, two]) {
            assert!(effect.error.is_some_and(|error| error < 1e-12), "{effect:?}");
        }
    }

    #[test]
    fn a_cluster_error_is_that_of_a_mean_where_clusters_are_alike() {
        // Values 0, 1, 1, 2: mean 1, variance 2/3, standard error sqrt(2/3 / 4).
        let error = cluster_error(&[0.0, 1.0, 1.0, 2.0], &[1.0; 4]).expect("four clusters");
        assert!((error - (2.0_f64 / 12.0).sqrt()).abs() < 1e-12, "{error}");
        // Clusters in proportion to their sizes contain the same information.
        assert_eq!(cluster_error(&[0.5, 1.0], &[1.0, 2.0]), Some(0.0));
        assert_eq!(cluster_error(&[0.5], &[1.0]), None);
    }
}
