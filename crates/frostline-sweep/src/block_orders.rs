//! The order of blocks by scores, for policies such as `fisher-3`: computed once for each encoder and treebank before the first cell
//! starts, and a part of each cell that needs it.

use std::collections::{BTreeMap, BTreeSet};

use frostline_random::Stream;
use frostline_record::{
    BlockOrders, BlockScore, DataSettings, EncoderSettings, FileName, Settings, TaskSettings,
};

/// The orders of a study.
#[derive(Debug, Default)]
pub(crate) struct OrderTable(Vec<OrderRow>);

/// The orders of one encoder's blocks on one treebank's data.
#[derive(Debug)]
struct OrderRow {
    scored: ScoredData,
    /// The seed, by which some plans draw data.
    seed: u64,
    orders: BlockOrders,
}

/// The settings that decide what blocks are scored, and on what.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScoredData {
    lang: FileName,
    encoder: EncoderSettings,
    data: DataSettings,
    tasks: BTreeMap<FileName, TaskSettings>,
}

impl ScoredData {
    /// Returns those of a cell.
    pub fn of_cell(settings: &Settings) -> Self {
        let Settings { lang, encoder, data, tasks, .. } = settings.clone();
        Self { lang, encoder, data, tasks }
    }
}

impl OrderTable {
    /// Adds the orders that cells with the same encoder, data and seed have.
    pub fn add_orders(&mut self, settings: &Settings, orders: BlockOrders) {
        self.0.push(OrderRow { scored: ScoredData::of_cell(settings), seed: settings.seed, orders });
    }

    /// Returns the orders that the policies of a cell need. A cell of a search learns from a sample of the data, for which the
    /// orders of the whole data count.
    pub fn orders_of_cell(&self, settings: &Settings, depth: usize) -> BlockOrders {
        let scored = ScoredData::of_cell(settings);
        let of_cell = |row: &&OrderRow| row.scored == scored && row.seed == settings.seed;
        let of_sample =
            |row: &&OrderRow| ScoredData { data: scored.data.clone(), ..row.scored.clone() } == scored;
        let row = self.0.iter().find(of_cell).or_else(|| self.0.iter().find(of_sample));
        let order = |score| match score {
            BlockScore::Random => {
                Some((score, Stream::new(settings.seed, "random blocks").permutation(depth)))
            }
            score => Some((score, row?.orders.get(&score)?.clone())),
        };
        scores_of_policies(settings).into_iter().filter_map(order).collect()
    }

    /// Returns the orders that are the same for all seeds, by which policies can be compared by their meaning.
    pub fn orders_of_all_seeds(&self, settings: &Settings) -> BlockOrders {
        let scored = ScoredData::of_cell(settings);
        let rows = || self.0.iter().filter(|row| row.scored == scored);
        let first = rows().next().map(|row| row.orders.clone()).unwrap_or_default();
        let same = |(score, order): &(BlockScore, Vec<usize>)| {
            rows().all(|row| row.orders.get(score) == Some(order))
        };
        first.into_iter().filter(same).collect()
    }
}

/// Returns the scores by which the policies of a cell choose blocks.
fn scores_of_policies(settings: &Settings) -> BTreeSet<BlockScore> {
    let stages = settings.in_stages().unwrap_or_default();
    stages.iter().filter_map(|(_, stage)| stage.policy.block_score()).collect()
}

/// Returns the same without the one that is drawn.
pub(crate) fn computed_scores(settings: &Settings) -> BTreeSet<BlockScore> {
    scores_of_policies(settings).into_iter().filter(|score| *score != BlockScore::Random).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(policy: &str, seed: u64) -> Settings {
        let lang = "en".parse().expect("a name");
        Settings { lang, seed, policy: policy.parse().expect("a policy"), ..Settings::default() }
    }

    fn row(seed: u64, order: [usize; 3]) -> OrderRow {
        let orders = [(BlockScore::Fisher, order.to_vec())].into();
        OrderRow { scored: ScoredData::of_cell(&settings("none", seed)), seed, orders }
    }

    #[test]
    fn a_cell_has_the_orders_that_its_policy_needs() {
        let table = OrderTable(vec![row(1, [2, 0, 1]), row(2, [1, 0, 2])]);
        let orders = |policy: &str, seed| table.orders_of_cell(&settings(policy, seed), 3);
        assert_eq!(orders("fisher-1", 2), [(BlockScore::Fisher, vec![1, 0, 2])].into());
        assert_eq!(orders("none", 2), BlockOrders::new());
        assert_eq!(orders("snr-1", 2), BlockOrders::new());
        let mut sampled = settings("fisher-1", 9);
        sampled.data.first = 20;
        assert_eq!(table.orders_of_cell(&sampled, 3), [(BlockScore::Fisher, vec![2, 0, 1])].into());
        let mut other_labels = settings("fisher-1", 1);
        other_labels.tasks.values_mut().for_each(|task| task.labels = "xpos".into());
        assert_eq!(table.orders_of_cell(&other_labels, 3), BlockOrders::new());
    }

    #[test]
    fn random_blocks_are_drawn_by_the_seed() {
        let table = OrderTable::default();
        let drawn = |seed| table.orders_of_cell(&settings("random-4", seed), 12)[&BlockScore::Random].clone();
        assert_eq!(drawn(3), drawn(3));
        assert_ne!(drawn(3), drawn(4));
        let mut sorted = drawn(3);
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..12));
    }

    #[test]
    fn only_what_is_the_same_for_all_seeds_has_a_meaning() {
        let orders = |rows| OrderTable(rows).orders_of_all_seeds(&settings("fisher-1", 1));
        assert_eq!(orders(vec![row(1, [2, 0, 1]), row(2, [2, 0, 1])]).len(), 1);
        assert_eq!(orders(vec![row(1, [2, 0, 1]), row(2, [1, 0, 2])]).len(), 0);
    }
}
