//! What an unmerged LoRA adapter adds to a weight.

use rayon::prelude::*;
use serde_json::Value;

use crate::CheckpointError;
use crate::compare::row::Difference;
use crate::tensor::Weights;

/// The most elements of both matrices together.
const MOST: u64 = 1 << 27;

/// The most multiplications of a product; of a larger one only the rank is reported.
const MOST_WORK: u64 = 1 << 36;

/// The two matrices that an adapter has for a weight.
pub(super) struct Matrices<'a> {
    pub weights: &'a dyn Weights,
    /// The matrix with `r` rows.
    pub a: usize,
    /// The matrix with `r` columns.
    pub b: usize,
    /// The shape of the weight, if it is known.
    pub shape: Option<Vec<u64>>,
    pub scale: f64,
}

impl Matrices<'_> {
    /// Returns the difference that the adapter makes; `None` if its second matrix is all zero, as before training.
    ///
    /// # Errors
    /// If a matrix cannot be read, or the two do not fit.
    pub fn adapter_difference(&self) -> Result<Option<Difference>, CheckpointError> {
        let tensors = self.weights.tensors();
        let (a, b) = (&tensors[self.a], &tensors[self.b]);
        let numbers = |place: usize| {
            let tensor = &tensors[place];
            let count = tensor.count();
            if count > MOST || !tensor.dtype.has_numbers() {
                let reason = format!(
                    "`{}` has {count} elements of type {}, too many to multiply",
                    tensor.name,
                    tensor.dtype.name()
                );
                return Err(CheckpointError::new(self.weights.place(), reason));
            }
            let mut bytes = vec![0; count as usize * tensor.dtype.width()];
            self.weights.read(place, 0..count, &mut bytes)?;
            let mut numbers = Vec::new();
            tensor.dtype.decode_values(&bytes, &mut numbers);
            Ok(numbers)
        };
        let right = numbers(self.b)?;
        if right.iter().all(|value| *value == 0.0) {
            return Ok(None);
        }
        let rank = a.shape.first().copied().unwrap_or(0);
        let inputs: u64 = a.shape.iter().skip(1).product();
        let outputs = b.shape.first().copied().unwrap_or(0);
        if b.shape.get(1) != Some(&rank) || b.shape.iter().skip(2).any(|size| *size != 1) {
            let reason = format!(
                "`{}` has the shape {:?} and `{}` {:?}, which are no two matrices of LoRA",
                a.name, a.shape, b.name, b.shape
            );
            return Err(CheckpointError::new(self.weights.place(), reason));
        }
        let shape = vec![outputs, inputs];
        let elements = outputs.saturating_mul(inputs);
        let known = Difference {
            elements,
            changed: elements,
            changed_rows: outputs,
            rank: Some(rank as usize),
            ..Difference::default()
        };
        if elements.saturating_mul(rank) > MOST_WORK {
            return Ok(Some(known));
        }
        let left = numbers(self.a)?;
        let rows: Vec<(f64, u64)> = right
            .par_chunks_exact((rank as usize).max(1))
            .map(|factors| {
                let mut row = vec![0.0; inputs as usize];
                for (factor, line) in factors.iter().zip(left.chunks_exact((inputs as usize).max(1))) {
                    row.iter_mut().zip(line).for_each(|(sum, value)| *sum += factor * value);
                }
                let largest = row.iter().enumerate().max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
                largest.map_or((0.0, 0), |(place, value)| (value.abs() * self.scale.abs(), place as u64))
            })
            .collect();
        let largest = rows.iter().enumerate().max_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b));
        let (row, (largest, column)) = largest.map_or((0, (0.0, 0)), |(row, found)| (row, *found));
        // Embeddings are stored the other way round.
        let is_transposed =
            self.shape.as_ref().is_some_and(|known| *known != shape && known.iter().rev().eq(shape.iter()));
        let at = if is_transposed { vec![column, row as u64] } else { vec![row as u64, column] };
        Ok(Some(Difference { largest, at, ..known }))
    }
}

/// Returns the factor of an adapter's product, from its config: `lora_alpha / r`.
pub(super) fn adapter_scale(config: Option<&Value>, rank: u64, weight: &str) -> f64 {
    let Some(config) = config else { return 1.0 };
    let module = weight.strip_suffix(".weight").unwrap_or(weight);
    let pattern = config.get("alpha_pattern").and_then(Value::as_object);
    let own = pattern.and_then(|pattern| pattern.iter().find(|(end, _)| module.ends_with(end.as_str())));
    let alpha = own.map(|(_, alpha)| alpha).or_else(|| config.get("lora_alpha")).and_then(Value::as_f64);
    let rank = rank.max(1) as f64;
    let is_stabilised = config.get("use_rslora").and_then(Value::as_bool).unwrap_or(false);
    alpha.map_or(1.0, |alpha| alpha / if is_stabilised { rank.sqrt() } else { rank })
}
