//! Owns the list of figures, their colours and their words.
//!
//! Refuses colour as the only sign: every line, point and bar carries its name.

mod accuracy;
mod lines;
mod parameters;
mod scale;
mod sheet;
mod svg;
mod time;

use crate::Report;
use crate::summary::BASELINE;

/// A figure as the page embeds it.
pub(crate) struct Figure {
    pub path: &'static str,
    pub title: &'static str,
    pub about: &'static str,
    draw: fn(&Report, &Figure) -> String,
}

const FIGURES: [Figure; 5] = [
    Figure {
        path: "figures/accuracy.svg",
        title: "Dev accuracy by what is frozen",
        about: "Each bar is the mean dev accuracy over all words. The thick line \
                at its end is one standard deviation over seeds. The thin line is the 95 % Wilson \
                interval: bars whose thin lines overlap may differ by chance.",
        draw: accuracy::draw,
    },
    Figure {
        path: "figures/convergence.svg",
        title: "Dev accuracy after each epoch",
        about: "Each line is the mean over seeds. The shade around it is one standard deviation.",
        draw: lines::convergence,
    },
    Figure {
        path: "figures/parameters.svg",
        title: "Dev accuracy against what learns",
        about: "Each point is a policy. Further left means that fewer parameters learn; higher \
                means better. The whisker is the 95 % Wilson interval; one smaller than its point \
                is hidden by it.",
        draw: parameters::draw,
    },
    Figure {
        path: "figures/time.svg",
        title: "Where the time of a cell goes",
        about: "Each bar is the mean time of one cell: training steps, evaluation and loading. The \
                thick line is one standard deviation of the training time over seeds.",
        draw: time::draw,
    },
    Figure {
        path: "figures/train_loss.svg",
        title: "Train loss while learning",
        about: "Each line is the mean over seeds of the loss since the point before.",
        draw: lines::train_loss,
    },
];

/// All figures with their paths.
pub(crate) fn all(report: &Report) -> Vec<(&'static str, String)> {
    FIGURES.iter().map(|figure| (figure.path, (figure.draw)(report, figure))).collect()
}

/// All figures as the page embeds them.
pub(crate) fn all_described(_: &Report) -> &'static [Figure] {
    &FIGURES
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
