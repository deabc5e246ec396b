//! Compares two checkpoints: what stayed, what moved, and whether that agrees with a rule.

mod lora;
mod named;
mod pair;
mod rank;
mod row;
mod side;
mod stats;

use serde::Serialize;

use crate::optimiser::{self, KnownParameter};
use crate::rule::{Applied, FreezeRule};
use crate::{CheckpointError, OptimiserReport};

use named::NamedTensors;
pub use row::{Difference, TensorChange, TensorKind, TensorRow};
pub use side::ComparedSide;

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckpointComparison {
    /// The checkpoint before training.
    pub before: String,
    /// The checkpoint after training.
    pub after: String,
    /// The rule in words.
    pub rule: String,
    /// Whether there is a rule.
    pub has_rule: bool,
    /// Whether every frozen tensor stayed as it was.
    pub holds: bool,
    /// All tensors, by name.
    pub rows: Vec<TensorRow>,
    /// Names that share their memory in one of the files.
    pub ties: Vec<Vec<String>>,
    /// The optimiser's state after training, if it is in the same file or folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimiser: Option<OptimiserReport>,
    /// What a reader should know, such as a prefix that was left out.
    pub notes: Vec<String>,
}

impl CheckpointComparison {
    /// Returns the number of frozen tensors that did not stay as they were.
    #[must_use]
    pub fn count_violations(&self) -> usize {
        self.rows.iter().filter(|row| row.is_violation()).count()
    }
}

/// Compares the tensors of two checkpoints.
///
/// # Errors
/// If a file cannot be read, the rule does not fit the names, or no tensor of one checkpoint is in the other.
pub fn compare(
    before: ComparedSide<'_>,
    after: ComparedSide<'_>,
    rule: &FreezeRule,
) -> Result<CheckpointComparison, CheckpointError> {
    let named = NamedTensors::new(before, after)?;
    let names = named.all_names();
    let applied = rule.apply_to_names(&names)?;
    let mut rows = Vec::new();
    let mut next = names.iter().skip(1);
    for name in &names {
        next.next().into_iter().for_each(|next| named.announce_tensors(next));
        rows.push(named.compare_name(name, &applied)?);
    }
    rows.extend(named.compare_adapters(&applied)?);
    let optimiser = after.optimiser.map(|state| {
        let known = rows.iter().filter(|row| row.kind == TensorKind::Parameter && row.shape_after.is_some());
        let known: Vec<KnownParameter<'_>> = known
            .map(|row| KnownParameter {
                name: &row.name,
                shape: row.shape_after.as_deref().unwrap_or_default(),
                is_frozen: row.frozen,
            })
            .collect();
        optimiser::compare_state(&named.shorten_state(state), &known)
    });
    Ok(CheckpointComparison {
        before: before.weights.place().into(),
        after: after.weights.place().into(),
        rule: applied.describe_rule(),
        has_rule: !matches!(applied, Applied::Nothing),
        holds: !rows.iter().any(TensorRow::is_violation),
        ties: named.tied_names(),
        optimiser,
        notes: named.prefix_note().into_iter().collect(),
        rows,
    })
}
