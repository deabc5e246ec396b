//! The difference between two tensors, computed in pieces of constant size.

use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

use crate::compare::pair::{Buffers, TensorPair};
use crate::compare::rank;
use crate::compare::row::{Difference, TensorChange};
use crate::tensor::Tensor;
use crate::{CheckpointError, DType};

/// Elements that are read at once.
const PIECE: u64 = 1 << 18;

/// Pieces that threads share before the next ones.
const BATCH: usize = 16;

thread_local! {
    /// The buffers of a thread. New ones for each piece would cost more than the comparison: the system clears their pages.
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// Announces the first pieces of two tensors.
pub(super) fn announce_first_pieces(pair: TensorPair<'_>) {
    let count = pair.both_tensors().map(Tensor::count).into_iter().min().unwrap_or(0);
    pair.announce_range(0..count.min(BATCH as u64 * PIECE));
}

/// Sums over some of the elements.
#[derive(Clone, Debug, Default)]
struct ElementSums {
    changed: u64,
    changed_rows: u64,
    /// Elements that differ, except if one is the other rounded to the narrower type.
    unequal: u64,
    largest: f64,
    at: u64,
    not_finite: u64,
    before_squared: f64,
    before_difference: f64,
    difference_squared: f64,
}

/// Compares all elements.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn compare_elements(pair: TensorPair<'_>) -> Result<TensorChange, CheckpointError> {
    let [before, after] = pair.both_tensors();
    if before.shape != after.shape {
        return Ok(TensorChange::Shape);
    }
    let types = [before.dtype, after.dtype];
    if types[0] != types[1] && types.iter().any(|dtype| !dtype.has_numbers()) {
        return Ok(TensorChange::Uncompared);
    }
    let count = before.count();
    let row: u64 = before.shape.iter().skip(1).product();
    let piece = if row > 0 && row <= PIECE { PIECE / row * row } else { PIECE };
    let pieces: Vec<Range<u64>> =
        (0..count.div_ceil(piece)).map(|number| number * piece..((number + 1) * piece).min(count)).collect();
    let mut all = ElementSums::default();
    let mut batches = pieces.chunks(BATCH).peekable();
    while let Some(batch) = batches.next() {
        // Threads work on neighbouring pieces while the system reads the next ones.
        if let Some([first, .., last]) = batches.peek() {
            pair.announce_range(first.start..last.end);
        }
        let sums = batch
            .par_iter()
            .map(|elements| BUFFERS.with_borrow_mut(|buffers| sums_of(pair, elements.clone(), row, buffers)));
        let sums: Vec<Option<ElementSums>> = sums.collect::<Result<_, _>>()?;
        sums.iter().flatten().for_each(|sums| all.add_sums(sums));
    }
    if all.changed == 0 {
        return Ok(TensorChange::Same);
    }
    if types[0] != types[1] && all.unequal == 0 {
        return Ok(TensorChange::Rounded);
    }
    let mut difference = all.to_difference(before);
    // A merged adapter changes most rows.
    if all.changed_rows * 2 >= before.shape.first().copied().unwrap_or(0)
        && types.iter().all(|dtype| dtype.is_float())
    {
        difference.rank = rank::difference_rank(pair)?;
    }
    Ok(TensorChange::Moved(difference))
}

/// Compares a range; `None` if all bytes are equal.
fn sums_of(
    pair: TensorPair<'_>,
    elements: Range<u64>,
    row: u64,
    buffers: &mut Buffers,
) -> Result<Option<ElementSums>, CheckpointError> {
    pair.read_range(&elements, &mut buffers.bytes)?;
    let [before, after] = pair.both_tensors().map(|tensor| tensor.dtype);
    if before == after && buffers.bytes[0] == buffers.bytes[1] {
        return Ok(None);
    }
    let mut sums = ElementSums::default();
    if !before.has_numbers() {
        let width = before.width();
        let [left, right] = &buffers.bytes;
        let parts = left.chunks(width).zip(right.chunks(width));
        sums.changed = parts.filter(|(left, right)| left != right).count() as u64;
        sums.not_finite = sums.changed;
        return Ok(Some(sums));
    }
    pair.decode_bytes(buffers);
    let [left, right] = &buffers.numbers;
    let row = if row > 0 && row <= PIECE { row as usize } else { left.len().max(1) };
    let mut at = elements.start;
    for (left, right) in left.chunks(row).zip(right.chunks(row)) {
        sums.add_row(left, right, at, [before, after]);
        at += left.len() as u64;
    }
    Ok(Some(sums))
}

impl ElementSums {
    /// Adds the differences in a row that begins at an element.
    fn add_row(&mut self, before: &[f64], after: &[f64], start: u64, types: [DType; 2]) {
        let changed = self.changed;
        let mut largest = (self.largest, None);
        for (place, (&a, &b)) in before.iter().zip(after).enumerate() {
            if a.to_bits() == b.to_bits() {
                self.before_squared += a * a;
                continue;
            }
            self.changed += 1;
            let d = b - a;
            if !d.is_finite() {
                self.not_finite += u64::from(a.is_nan() != b.is_nan() || !a.is_nan());
                self.unequal += u64::from(!(a.is_nan() && b.is_nan()));
                continue;
            }
            if types[0] != types[1] {
                let is_rounded = types[1].round_value(a) == b || types[0].round_value(b) == a;
                self.unequal += u64::from(!is_rounded);
            }
            if d.abs() > largest.0 || (largest.1.is_none() && self.changed == 1) {
                largest = (d.abs(), Some(start + place as u64));
            }
            self.before_squared += a * a;
            self.before_difference += a * d;
            self.difference_squared += d * d;
        }
        self.changed_rows += u64::from(self.changed > changed);
        if let (value, Some(at)) = largest {
            (self.largest, self.at) = (value, at);
        }
    }

    /// Adds the sums of later elements.
    fn add_sums(&mut self, other: &Self) {
        if other.largest > self.largest || self.changed == 0 {
            (self.largest, self.at) = (other.largest, other.at);
        }
        self.changed += other.changed;
        self.changed_rows += other.changed_rows;
        self.unequal += other.unequal;
        self.not_finite += other.not_finite;
        self.before_squared += other.before_squared;
        self.before_difference += other.before_difference;
        self.difference_squared += other.difference_squared;
    }

    fn to_difference(&self, tensor: &Tensor) -> Difference {
        let mut at = vec![0; tensor.shape.len()];
        let mut position = self.at;
        for (index, size) in at.iter_mut().zip(&tensor.shape).rev() {
            *index = position % (*size).max(1);
            position /= (*size).max(1);
        }
        Difference {
            largest: self.largest,
            at,
            changed: self.changed,
            elements: tensor.count(),
            changed_rows: self.changed_rows,
            not_finite: self.not_finite,
            scale: self.decay_factor(tensor),
            rank: None,
        }
    }

    /// Returns the factor if all elements were multiplied by nearly the same one below 1: weight decay. Rounding and elements that
    /// were too small for it leave a rest.
    fn decay_factor(&self, tensor: &Tensor) -> Option<f64> {
        /// The part of the difference's length that other changes may be.
        const REST: f64 = 0.05;
        if !tensor.dtype.is_float() || tensor.count() < 4 || self.not_finite > 0 || self.before_squared == 0.0
        {
            return None;
        }
        let slope = self.before_difference / self.before_squared;
        let rest = self.difference_squared - slope * self.before_difference;
        (slope < 0.0 && slope > -1.0 && rest <= REST * REST * self.difference_squared).then_some(1.0 + slope)
    }
}
