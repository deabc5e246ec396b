//! Owns the list of figures, their colours and their words.
//!
//! Refuses colour as the only sign: every line, point and bar carries its name.

mod accuracy;
mod bars;
mod blocks;
mod changes;
mod curves;
mod errors;
mod heat;
mod lines;
mod parameters;
mod scale;
mod several;
mod sheet;
mod subsets;
mod svg;
mod time;

use crate::Report;
use crate::summary::BASELINE;
use crate::words;

pub(crate) use sheet::named;

/// A figure as the page embeds it.
pub(crate) struct Figure {
    pub path: &'static str,
    pub title: &'static str,
    /// What it shows; `{units}` stands for what the headline counts.
    about: &'static str,
    /// Whether the report has anything for it.
    when: fn(&Report) -> bool,
    draw: fn(&Report, &Figure) -> String,
}

impl Figure {
    /// What it shows.
    pub fn about(&self, report: &Report) -> String {
        self.about.replace("{units}", words::units(report).many)
    }
}

/// Those of `errors.md`.
const OF_ERRORS: [Figure; 2] = [
    Figure {
        path: "figures/familiarity.svg",
        title: "Dev accuracy by what train knows of a word",
        about: "Three bars per policy: words that train lacks, words with several tags there, and words with one.",
        when: always,
        draw: errors::familiarity,
    },
    Figure {
        path: "figures/tags.svg",
        title: "F1 of each tag on dev",
        about: "A row per policy, a column per tag, the most frequent first. The darker a field, the more is missing \
                to an F1 of 100.",
        when: always,
        draw: errors::tags,
    },
];

const FIGURES: [Figure; 11] = [
    Figure {
        path: "figures/accuracy.svg",
        title: "Dev accuracy by what is frozen",
        about: "Each bar is the mean dev accuracy over all {units}. The thick line \
                at its end is one standard deviation over seeds. The thin line is the 95 % Wilson \
                interval: bars whose thin lines overlap may differ by chance. Dashed lines are \
                baselines, which need no training of the encoder.",
        when: always,
        draw: accuracy::draw,
    },
    Figure {
        path: "figures/dev_test.svg",
        title: "Dev and test accuracy by what is frozen",
        about: "Each pair of bars is a policy's mean accuracy over all {units} of dev and of test, the thin \
                line at its end the 95 % Wilson interval at that split's size.",
        when: |report| report.groups.iter().any(|group| group.test.is_some()),
        draw: several::dev_and_test,
    },
    Figure {
        path: "figures/learning_curve.svg",
        title: "Dev accuracy by the number of train sentences",
        about: "Each line is a policy's mean dev accuracy over all {units}, by how many sentences it learned from; \
                grey lines are baselines on the same sentences.",
        when: |report| !crate::curves::of(report).is_empty(),
        draw: curves::draw,
    },
    Figure {
        path: "figures/subsets.svg",
        title: "Dev accuracy by which blocks are frozen",
        about: "Each column is a set of frozen blocks: a point at its mean dev accuracy over all {units}, and \
                below it a dark field for each block in the set. Columns stand by how many blocks are frozen, \
                then by accuracy.",
        when: |report| !crate::subsets::lattices(report).is_empty(),
        draw: subsets::draw,
    },
    Figure {
        path: "figures/blocks.svg",
        title: "What freezing each block costs",
        about: "Each bar is a block's Shapley value: its share of the dev accuracy that is lost when all blocks \
                are frozen. The thin line is its 95 % interval. The diamond is its effect in a linear model.",
        when: |report| !crate::subsets::lattices(report).is_empty(),
        draw: blocks::draw,
    },
    Figure {
        path: "figures/stages.svg",
        title: "Dev score after each stage",
        about: "Each bar is a policy's mean dev score after a stage, in the order of stages. The thick line \
                at its end is one standard deviation over seeds.",
        when: Report::is_staged,
        draw: several::stages,
    },
    Figure {
        path: "figures/convergence.svg",
        title: "Dev accuracy after each epoch",
        about: "Each line is the mean over seeds. The shade around it is one standard deviation.",
        when: always,
        draw: lines::convergence,
    },
    Figure {
        path: "figures/parameters.svg",
        title: "Dev accuracy against what learns",
        about: "Each point is a policy. Further left means that fewer parameters learn; higher \
                means better. The whisker is the 95 % Wilson interval; one smaller than its point \
                is hidden by it.",
        when: always,
        draw: parameters::draw,
    },
    Figure {
        path: "figures/changes.svg",
        title: "How far each part of the encoder moved",
        about: "Each row is a policy, each column a part of the encoder. The first panels show how far its \
                parameters moved, the others how alike its outputs are to those at the start.",
        when: crate::changes::any,
        draw: changes::draw,
    },
    Figure {
        path: "figures/time.svg",
        title: "Where the time of a cell goes",
        about: "Each bar is the mean time of one cell: training steps, evaluation and loading. The \
                thick line is one standard deviation of the training time over seeds.",
        when: always,
        draw: time::draw,
    },
    Figure {
        path: "figures/train_loss.svg",
        title: "Train loss while learning",
        about: "Each line is the mean over seeds of the loss since the point before.",
        when: always,
        draw: lines::train_loss,
    },
];

/// All figures with their paths.
pub(crate) fn all(report: &Report) -> Vec<(&'static str, String)> {
    let figures = all_described(report).chain(of_errors(report));
    figures.map(|figure| (figure.path, (figure.draw)(report, figure))).collect()
}

/// All figures as the page embeds them.
pub(crate) fn all_described(report: &Report) -> impl Iterator<Item = &'static Figure> {
    FIGURES.iter().filter(|figure| (figure.when)(report))
}

/// The figures of `errors.md`, where it is.
pub(crate) fn of_errors(report: &Report) -> impl Iterator<Item = &'static Figure> {
    let any = report.errors.groups.iter().any(|group| group.split == "dev");
    OF_ERRORS.iter().filter(move |_| any)
}

const fn always(_: &Report) -> bool {
    true
}

/// How a policy looks, everywhere the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub colour: &'static str,
    pub dash: &'static str,
    pub shape: svg::Shape,
}

/// The palette of Okabe and Ito without its yellow, which is too light for lines on white. Black
/// is the baseline's.
const COLOURS: [&str; 6] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const DASHES: [&str; 4] = ["", "7 3", "2 2.5", "8 3 2 3"];
const INK: &str = "#222222";
const SOFT: &str = "#595959";
const GRID: &str = "#E4E4E4";
const WARN: &str = "#B34700";

/// The look of what has no name because there is too much of it.
pub(crate) const UNNAMED: Style = Style { colour: "#C4C4C4", dash: "", shape: svg::Shape::Circle };

/// The look of a policy by its place among the report's policies.
pub(crate) fn style(report: &Report, policy: &str) -> Style {
    let others = report.policies().into_iter().filter(|&p| p != BASELINE);
    let place = others.clone().position(|other| other == policy);
    let Some(place) = place else {
        return Style { colour: INK, dash: "", shape: svg::Shape::Circle };
    };
    Style {
        colour: COLOURS[place % COLOURS.len()],
        dash: DASHES[place / COLOURS.len() % DASHES.len()],
        shape: svg::SHAPES[(place + 1) % svg::SHAPES.len()],
    }
}
