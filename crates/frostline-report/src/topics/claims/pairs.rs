//! Pairs of cells that a test compares, or of stages of a cell.

use frostline_record::Cell;

use crate::study::comparison::SplitComparison;
use crate::study::outcomes::{After, Twins};

/// Two cells of one seed, or a cell after two stages: A and B.
pub(super) struct CellPair<'a> {
    pub twins: Option<Twins<'a>>,
    /// The language and further axes.
    pub cells: String,
    pub lang: String,
    /// What is compared with what.
    pub names: [String; 2],
    pub seed: u64,
    pub values: [f64; 2],
    /// The row of the study's verdicts that compares the same, if there is one.
    pub in_study: Option<&'a SplitComparison>,
}

impl<'a> CellPair<'a> {
    pub fn new([a, b]: [After<'a>; 2], cells: String, names: [String; 2], values: [f64; 2]) -> Self {
        let settings = &a.cell.settings;
        let lang = settings.lang.to_string();
        Self { twins: Some((a, b)), cells, lang, names, seed: settings.seed, values, in_study: None }
    }

    /// Whether this is so of both cells.
    pub fn all(&self, is: impl Fn(&Cell) -> bool) -> bool {
        self.twins.is_none_or(|(a, b)| is(a.cell) && is(b.cell))
    }
}

/// The cells of a pair and what is compared.
pub(super) type PairKind<'b> = (&'b str, &'b [String; 2]);

/// What a pair is one of, whatever its seed.
pub(super) fn pair_kind<'b>(pair: &'b CellPair<'_>) -> PairKind<'b> {
    (&pair.cells, &pair.names)
}
