//! Colours, dashes and shapes, the same in every figure.

use crate::chart::Tone;
use crate::render::svg::canvas::{PointShape, SHAPES, TEXT_COLOUR};

/// How a policy looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub colour: &'static str,
    pub dash: &'static str,
    pub shape: PointShape,
}

/// The palette of Okabe and Ito without its yellow, which is too light for lines on white. Black
/// is the baseline's.
pub(super) const COLOURS: [&str; 6] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const DASHES: [&str; 4] = ["", "7 3", "2 2.5", "8 3 2 3"];
/// The dashes of what policies are compared with.
pub(super) const REFERENCES: [&str; 2] = ["2 3", "7 3"];
/// The colour of what is missing to 1.
pub(super) const MISSING: &str = "#D55E00";
pub(super) const INK: &str = "#222222";
pub(super) const SOFT: &str = TEXT_COLOUR;
pub(super) const GRID: &str = "#E4E4E4";
pub(super) const WARN: &str = "#B34700";

/// The look of a tone.
pub(super) fn tone_style(tone: Tone) -> Style {
    match tone {
        Tone::Policy(None) => Style { colour: INK, dash: "", shape: PointShape::Circle },
        Tone::Policy(Some(place)) => Style {
            colour: COLOURS[place % COLOURS.len()],
            dash: DASHES[place / COLOURS.len() % DASHES.len()],
            shape: SHAPES[(place + 1) % SHAPES.len()],
        },
        Tone::Reference(place) => {
            Style { colour: SOFT, dash: REFERENCES[place % REFERENCES.len()], shape: PointShape::Circle }
        }
        Tone::Unnamed(_) => Style { colour: "#C4C4C4", dash: "", shape: PointShape::Circle },
    }
}
