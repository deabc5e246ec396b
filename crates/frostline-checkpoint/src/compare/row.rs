//! The result for one tensor.

use serde::Serialize;

use crate::DType;

/// The result for one tensor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TensorRow {
    /// The name without what wrappers add.
    pub name: String,
    /// The part of the model: `embeddings`, `block 3`, or the first part of the name.
    pub group: String,
    /// What kind of tensor it is.
    pub kind: TensorKind,
    /// Whether it must not change.
    pub frozen: bool,
    /// The type before, if it was there.
    pub dtype_before: Option<DType>,
    /// The type after, if it is there.
    pub dtype_after: Option<DType>,
    /// The shape before, if it was there.
    pub shape_before: Option<Vec<u64>>,
    /// The shape after, if it is there.
    pub shape_after: Option<Vec<u64>>,
    /// What happened to it.
    pub change: TensorChange,
    /// Why it moved or is missing, if that can be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What kind of tensor a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TensorKind {
    /// A parameter.
    Parameter,
    /// A buffer: the file marks it so, its elements are not floating-point numbers, or its name is the usual one of a buffer.
    Buffer,
    /// A tensor of an adapter.
    Adapter,
}

/// What happened to a tensor.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TensorChange {
    /// Every bit is equal.
    Same,
    /// The type changed, and the numbers are equal up to rounding to the narrower type.
    Rounded,
    /// Numbers differ.
    Moved(Difference),
    /// An adapter changes the weight when the model computes.
    Adapted(Difference),
    /// The shape changed.
    Shape,
    /// It is only before.
    Missing,
    /// It is only before, since an adapter's file contains no base weights.
    LeftToBase,
    /// It is only after.
    New,
    /// The types differ, and one has no numbers that can be compared, as with quantised weights.
    Uncompared,
}

/// How two tensors differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// The largest absolute difference.
    pub largest: f64,
    /// The index of that element.
    pub at: Vec<u64>,
    /// Number of elements whose bits differ.
    pub changed: u64,
    /// Number of elements.
    pub elements: u64,
    /// Number of rows with such an element.
    pub changed_rows: u64,
    /// Elements without a finite difference: NaN or infinite on one side.
    pub not_finite: u64,
    /// The factor if every element was multiplied by the same one: weight decay.
    pub scale: Option<f64>,
    /// The rank of the difference if it is low: a merged LoRA adapter.
    pub rank: Option<usize>,
}

impl TensorChange {
    /// Returns the difference in numbers.
    #[must_use]
    pub const fn numeric_difference(&self) -> Option<&Difference> {
        match self {
            Self::Moved(difference) | Self::Adapted(difference) => Some(difference),
            _ => None,
        }
    }

    /// Returns whether the tensor is the same, perhaps rounded to another type.
    #[must_use]
    pub const fn is_same(&self) -> bool {
        matches!(self, Self::Same | Self::Rounded | Self::LeftToBase)
    }
}

impl TensorRow {
    /// Returns whether a frozen tensor moved, or is not there to show that it did not.
    #[must_use]
    pub fn is_violation(&self) -> bool {
        self.frozen
            && match self.change {
                TensorChange::Moved(_)
                | TensorChange::Adapted(_)
                | TensorChange::Shape
                | TensorChange::Uncompared => true,
                // Without its value before, a new tensor shows nothing; a missing one with a reason is elsewhere in the file.
                TensorChange::Missing => self.reason.is_none(),
                TensorChange::Same | TensorChange::Rounded | TensorChange::LeftToBase | TensorChange::New => {
                    false
                }
            }
    }

    /// Returns whether a trainable parameter did not move.
    #[must_use]
    pub fn is_still(&self) -> bool {
        !self.frozen
            && self.kind == TensorKind::Parameter
            && matches!(self.change, TensorChange::Same | TensorChange::Rounded)
    }
}
