//! Owns what the page says about sets of blocks: what each block is worth where all sets were frozen, and the
//! best set of each size.
//!
//! Refuses a worth without its error, or without why it has none.

use crate::Report;
use crate::number::{count, fixed, or_dash, plus_minus, signed};
use crate::page::{paragraph, section};
use crate::subsets::{BestSet, BlockWorth, Lattice, best_sets, lattices};
use crate::table::Table;
use crate::words;

/// What freezing each block of a language's encoder costs, and the best sets.
pub(super) fn table(report: &Report, lang: &str, text: &mut String) {
    worths(report, lang, text);
    best(report, lang, text);
}

fn axes(report: &Report) -> Table {
    report.axes().into_iter().fold(Table::default(), |table, axis| table.left(format!("`{axis}`"), 0))
}

/// The best set of each number of blocks.
fn best(report: &Report, lang: &str, text: &mut String) {
    let sets: Vec<BestSet> = best_sets(report).into_iter().filter(|best| best.lang == lang).collect();
    if sets.is_empty() {
        return;
    }
    section(text, 3, "The best set of each size");
    let mut table =
        axes(report).right("Frozen blocks", 0).left("Which", 0).right("Dev acc. %", 0).right("Best of", 0);
    for best in sets {
        let which: Vec<String> = best.frozen.iter().map(ToString::to_string).collect();
        let mut row = best.extras.clone();
        row.extend([
            best.frozen.len().to_string(),
            if which.is_empty() { "–".into() } else { which.join(", ") },
            plus_minus(best.accuracy.times(100.0), 2),
            best.of.to_string(),
        ]);
        table.row(row);
    }
    paragraph(text, table.markdown().trim_end());
    paragraph(
        text,
        "The embeddings learn. A set was chosen on the split that it is scored on: of near equals it is the \
         luckiest, the more so the more were run.",
    );
}

fn worths(report: &Report, lang: &str, text: &mut String) {
    let lattices: Vec<Lattice<'_>> = lattices(report).into_iter().filter(|one| one.lang == lang).collect();
    if lattices.is_empty() {
        return;
    }
    section(text, 3, "Which blocks matter");
    let mut table = axes(report)
        .left("Block", 0)
        .right("Lost by freezing it, points", 0)
        .right("95 % interval", 0)
        .right("In a linear model, points", 0)
        .right("Seeds", 0);
    let mut notes = Vec::new();
    for lattice in &lattices {
        let worths = lattice.worths(&report.sentence_errors);
        for worth in worths.iter().rev() {
            let mut row = worth.extras.clone();
            row.extend(cells(worth, lattice.blocks));
            table.row(row);
        }
        notes.push(sum_note(report, lattice, &worths));
    }
    paragraph(text, table.markdown().trim_end());
    for note in notes {
        *text += &format!("- {note}\n");
    }
    paragraph(text, &explained(report, &lattices));
}

fn cells(worth: &BlockWorth, blocks: usize) -> [String; 5] {
    let name = match worth.block {
        0 => "0, nearest the input".into(),
        last if last + 1 == blocks => format!("{last}, nearest the head"),
        block => block.to_string(),
    };
    let points = |value: f64| signed(value * 100.0, 2);
    let error = worth.regression_error.map_or_else(String::new, |e| format!(" ± {}", fixed(e * 100.0, 2)));
    [
        name,
        points(worth.shapley_loss),
        or_dash(worth.interval, |[low, high]| format!("{} to {}", points(low), points(high))),
        points(worth.regression_loss) + &error,
        worth.seeds.to_string(),
    ]
}

fn sum_note(report: &Report, lattice: &Lattice<'_>, worths: &[BlockWorth]) -> String {
    let place = words::extras_name(report, &lattice.extras);
    let over = if place.is_empty() { "Over".into() } else { format!("{place}: over") };
    let sum: f64 = worths.iter().map(|worth| worth.shapley_loss).sum();
    let sets = count(lattice.sets() as u64);
    let missing = match report.sentence_errors.get(&(lattice.lang.clone(), lattice.extras.clone())) {
        Some(Err(why)) => format!(" No error could be told from the predictions: {why}."),
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

fn explained(report: &Report, lattices: &[Lattice<'_>]) -> String {
    let units = words::units(report).many;
    let error = if lattices.iter().any(|lattice| lattice.seeds() > 1) {
        "The interval is Student's over seeds: it covers what another seed would change, on the same dev split."
            .to_string()
    } else {
        format!(
            "The interval is that of drawing other dev sentences, the same ones for every set, from the stored \
             predictions of all {units}. It does not cover what another seed would change."
        )
    };
    format!(
        "**Lost by freezing it** is a block's Shapley value: the mean, over all orders in which blocks could be \
         frozen one by one, of what accuracy falls by when its turn comes. {error} **In a linear model** is \
         accuracy with the block free minus accuracy with it frozen, over all sets of the others; ± is one \
         standard error, from what the linear model leaves unexplained: it is large where what a block costs \
         depends on which others are frozen."
    )
}
