//! Sets of blocks: what each block is worth if all sets were frozen, the best set of each size, and whether scores before training
//! would have told.

mod choices;
mod worth;

use crate::chart::{
    Bar, BarPanel, BarRow, Bars, BlockSetChart, Chart, ChartNote, Figure, Lengths, SetPanel, Theme, Tone,
};
use crate::fields::JsonFields;
use crate::keys;
use crate::number::{count, signed};
use crate::page::Page;
use crate::study::words::{DEV_AXIS, dev_accuracy};
use crate::study::words::{counted_units, extras_name};
use crate::study::{StoredPredictions, Study};
use crate::table::{Quantity, TableValue};
use crate::topic::{ReportPlace, Topic};

use choices::{BlockChoice, block_choices};
use frostline_score::MeanStd;
use worth::{BestSet, BlockWorth, Lattice, SentenceErrors, best_sets, find_lattices, sentence_errors};

/// Sets of blocks, with what each block is worth.
pub(crate) struct BlocksTopic {
    errors: SentenceErrors,
    worths: Vec<BlockWorth>,
    best: Vec<BestSet>,
    choices: Vec<BlockChoice>,
}

impl BlocksTopic {
    /// Computes the worths of a study. If one seed froze every set, stored predictions give the error.
    pub fn of(study: &Study, stored: &mut StoredPredictions<'_>) -> Self {
        let errors = sentence_errors(study, stored);
        let worths = find_lattices(study).iter().flat_map(|lattice| lattice.worths(&errors)).collect();
        Self { worths, best: best_sets(study), choices: block_choices(study), errors }
    }
}

impl Topic for BlocksTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        if let ReportPlace::Language(lang) = place {
            self.worths(study, lang, page);
            self.best(study, lang, page);
            self.choices(study, lang, page);
        }
    }

    fn figures(&self, study: &Study) -> Vec<Figure> {
        let lattices = find_lattices(study);
        if lattices.is_empty() {
            return Vec::new();
        }
        vec![sets_figure(study, &lattices), self.worths_figure(study, &lattices)]
    }

    fn facts(&self, _: &Study) -> JsonFields {
        JsonFields::default()
            .with_some("blocks", &self.worths)
            .with_some("best_sets", &self.best)
            .with_some("block_choices", &self.choices)
    }
}

impl BlocksTopic {
    fn of_lattice<'a>(&'a self, lattice: &'a Lattice<'_>) -> impl DoubleEndedIterator<Item = &'a BlockWorth> {
        self.worths.iter().filter(|worth| worth.lang == lattice.lang && worth.extras == lattice.extras)
    }

    /// The best set of each number of blocks.
    fn best(&self, study: &Study, lang: &str, page: &mut Page) {
        let sets: Vec<&BestSet> = self.best.iter().filter(|best| best.lang == lang).collect();
        if sets.is_empty() {
            return;
        }
        page.section(3, "The best set of each size");
        let columns = keys::axis_columns(study, |best: &&BestSet| &best.extras)
            .column("Frozen blocks", Quantity::Count, |best| best.frozen.len())
            .column("Which", Quantity::Text, |best| {
                let which: Vec<String> = best.frozen.iter().map(ToString::to_string).collect();
                (!which.is_empty()).then(|| which.join(", "))
            })
            .column("Dev acc.", Quantity::Percent(2), |best| best.accuracy)
            .column("Best of", Quantity::Count, |best| best.of);
        page.table(columns.table(sets));
        page.paragraph(
            "The embeddings learn. A set was chosen on the split that it is scored on: of near equals it is the \
             luckiest, the more so the more were run.",
        );
    }

    /// Ways to choose the blocks that learn, the scores before the rules.
    fn choices(&self, study: &Study, lang: &str, page: &mut Page) {
        let rows: Vec<&BlockChoice> = self.choices.iter().filter(|choice| choice.lang == lang).collect();
        let Some(first) = rows.first() else { return };
        page.section(3, "Scores of blocks against what freezing cost");
        let columns = keys::axis_columns(study, |choice: &&BlockChoice| &choice.extras)
            .column("Blocks chosen by", Quantity::Text, |choice| choice.chosen_by)
            .column("Rank correlation", Quantity::Signed(2), |choice| {
                choice.rank_correlation.map(|correlation| correlation.mean)
            })
            .column("95 % interval", Quantity::Signed(2), |choice| choice.rank_correlation?.interval)
            .column("Regret", Quantity::Points(2), |choice| choice.regret)
            .column("Regret with half frozen", Quantity::Points(2), |choice| choice.regret_of_half)
            .column("Seeds", Quantity::Count, |choice| choice.seeds);
        page.table(columns.table(rows.iter().copied()));
        page.paragraph(explained_choices(first));
    }

    fn worths(&self, study: &Study, lang: &str, page: &mut Page) {
        let lattices: Vec<Lattice<'_>> =
            find_lattices(study).into_iter().filter(|one| one.lang == lang).collect();
        if lattices.is_empty() {
            return;
        }
        page.section(3, "Which blocks matter");
        let rows = lattices
            .iter()
            .flat_map(|lattice| self.of_lattice(lattice).rev().map(move |worth| (worth, lattice.blocks)));
        let columns = keys::axis_columns(study, |row: &(&BlockWorth, usize)| &row.0.extras)
            .column("Block", Quantity::Text, |(worth, blocks)| block_name(worth.block, *blocks))
            .column("Lost by freezing it", Quantity::Points(2), |row| row.0.shapley_loss)
            .column("95 % interval", Quantity::Change(2), |row| row.0.interval)
            .column("In a linear model", Quantity::Points(2), |row| {
                TableValue::Error(row.0.regression_loss, row.0.regression_error)
            })
            .column("Seeds", Quantity::Count, |row| row.0.seeds);
        page.table(columns.table(rows));
        for lattice in &lattices {
            page.item(self.sum_note(study, lattice));
        }
        page.paragraph(explain_sets(study, &lattices));
    }

    fn sum_note(&self, study: &Study, lattice: &Lattice<'_>) -> String {
        let place = extras_name(study, &lattice.extras);
        let over = if place.is_empty() { "Over".into() } else { format!("{place}: over") };
        let sum: f64 = self.of_lattice(lattice).map(|worth| worth.shapley_loss).sum();
        let sets = count(lattice.sets() as u64);
        let missing = match self.errors.get(&(lattice.lang.clone(), lattice.extras.clone())) {
            Some(Err(why)) => format!(" The predictions give no error: {why}."),
            None if lattice.seeds() == 1 => {
                " One seed without the stored predictions gives no error.".to_string()
            }
            _ => String::new(),
        };
        format!(
            "{over} {sets} sets of blocks. The losses sum to {} points, what freezing all blocks costs.{missing}",
            signed(sum * 100.0, 2)
        )
    }

    /// What freezing each block costs. The block nearest the head is on top, as in drawings of encoders.
    fn worths_figure(&self, study: &Study, lattices: &[Lattice<'_>]) -> Figure {
        let bar = |worth: &BlockWorth| Bar {
            diamond: Some(worth.regression_loss),
            interval: worth.interval,
            ..Bar::of_share("", MeanStd { n: worth.seeds, mean: worth.shapley_loss, std: None }, None)
        };
        let row = |worth: &BlockWorth| BarRow {
            name: format!("block {}", worth.block),
            tone: Tone::Policy(Some(0)),
            bars: vec![bar(worth)],
        };
        let axis = "lost by freezing it, points of accuracy on dev";
        let panels = lattices.iter().map(|lattice| {
            let rows = self.of_lattice(lattice).rev().map(row).collect();
            BarPanel::new(panel_title(study, lattice), axis, rows)
        });
        let mut notes: Vec<ChartNote> = vec![
            "Bar and number: the Shapley value, in points of accuracy on dev. The bars of a panel sum to what freezing \
             all blocks costs. Diamond: accuracy with the block free minus frozen."
                .into(),
        ];
        if let Some(over) = self.worths.iter().find_map(|worth| worth.error_over) {
            let of_dev = if over == "sentences" { " of dev" } else { "" };
            notes.push(format!("Thin line: 95 % interval over {over}{of_dev}.").into());
        }
        Figure {
            path: "figures/blocks.svg",
            title: "What freezing each block costs",
            theme: Theme::Parts,
            about: "Each bar is a block's Shapley value: its share of the accuracy on dev that is lost when all blocks \
                    are frozen. The thin line is its 95 % interval. The diamond is its effect in a linear model."
                .into(),
            chart: Chart::Bars(Bars {
                lengths: Lengths::Differences,
                panels: panels.collect(),
                interval: "95 % interval",
                diamond: "in a linear model",
            }),
            notes,
            across: 2,
        }
    }
}

fn explained_choices(choice: &BlockChoice) -> String {
    let cost =
        if choice.over_all_sets { "its Shapley value" } else { "the loss with this block alone frozen" };
    let mut text = format!(
        "Scores are computed before training. **Rank correlation**: of a \
         score with what freezing each block cost ({cost}), 1 if both order the blocks alike."
    );
    if let Some(chance) = choice.chance() {
        text += &format!(
            " One in twenty random orders of {} blocks reaches {}.",
            choice.blocks,
            signed(chance, 2)
        );
    }
    if choice.seeds > 1 {
        text += " The interval is Student's over seeds.";
    }
    if choice.over_all_sets {
        text += " **Regret**: dev accuracy of the best set minus that of the set in which the blocks with the lowest scores are \
                 frozen, in the mean over all numbers of blocks. The best set was chosen on the same split, which adds the same \
                 luck to every regret: compare rows with each other, and with sets chosen at random.";
    }
    text
}

fn block_name(block: usize, blocks: usize) -> String {
    match block {
        0 => "0, nearest the input".into(),
        last if last + 1 == blocks => format!("{last}, nearest the head"),
        block => block.to_string(),
    }
}

/// A panel's title: the language and the further axes.
fn panel_title(study: &Study, lattice: &Lattice<'_>) -> String {
    if lattice.extras.is_empty() {
        return study.lang_title(&lattice.lang);
    }
    keys::title(study, lattice.lang.clone(), &lattice.extras)
}

/// Every set with its accuracy, by how many blocks it has, the most accurate of a size first.
fn sets_figure(study: &Study, lattices: &[Lattice<'_>]) -> Figure {
    let columns = |lattice: &Lattice<'_>| {
        let all = (0..lattice.sets()).filter_map(|set| Some((set, lattice.accuracy(set)?)));
        let mut all: Vec<(usize, MeanStd)> = all.collect();
        all.sort_by(|(a, one), (b, other)| {
            a.count_ones().cmp(&b.count_ones()).then(other.mean.total_cmp(&one.mean)).then(a.cmp(b))
        });
        all
    };
    let panels = lattices.iter().map(|lattice| SetPanel {
        title: panel_title(study, lattice),
        blocks: lattice.blocks,
        columns: columns(lattice),
    });
    let mut notes: Vec<ChartNote> =
        vec!["A column is a set of frozen blocks. The dashed line is the accuracy with none frozen.".into()];
    if lattices.iter().any(|lattice| lattice.seeds() > 1) {
        notes.push("Vertical line: one standard deviation over seeds.".into());
    }
    notes.push(ChartNote::YAxis);
    Figure {
        path: "figures/subsets.svg",
        title: dev_accuracy!(" by which blocks are frozen"),
        theme: Theme::Parts,
        about: format!(
            "Each column is a set of frozen blocks: a point at its mean accuracy on dev over all {}, and \
             below it a dark field for each block in the set. Columns are ordered by how many blocks are frozen, \
             then by accuracy.",
            counted_units(study).many
        ),
        chart: Chart::Sets(BlockSetChart { panels: panels.collect(), y_title: DEV_AXIS }),
        notes,
        across: 1,
    }
}

fn explain_sets(study: &Study, lattices: &[Lattice<'_>]) -> String {
    let units = counted_units(study).many;
    let error = if lattices.iter().any(|lattice| lattice.seeds() > 1) {
        "The interval is Student's over seeds: it covers what another seed would change, on the same dev split."
            .to_string()
    } else {
        format!(
            "The interval is for drawing other dev sentences, the same ones for every set, from the stored \
             predictions of all {units}. It does not cover what another seed would change."
        )
    };
    format!(
        "**Lost by freezing it** is a block's Shapley value: the mean, over all orders in which blocks could be \
         frozen one by one, of what accuracy falls by when its turn comes. {error} **In a linear model** is \
         accuracy with the block free minus accuracy with it frozen, over all sets of the others; ± is one \
         standard error, from what the linear model leaves unexplained: it is large if what a block costs \
         depends on which others are frozen."
    )
}
