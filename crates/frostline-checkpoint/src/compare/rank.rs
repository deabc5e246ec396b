//! The rank of a difference, which shows a merged LoRA adapter. A sample of rows and columns of a matrix of low rank has that rank
//! too.

use crate::CheckpointError;
use crate::compare::pair::TensorPair;

/// The most rows and columns of the sample.
const SAMPLE: usize = 128;

/// The longest row that is read for its sample.
const MOST_ROW: u64 = 1 << 22;

/// Returns the rank of the difference of two matrices if it is low, and larger than rounding explains.
pub(super) fn difference_rank(pair: TensorPair<'_>) -> Result<Option<usize>, CheckpointError> {
    let [before, after] = pair.both_tensors();
    let rows = before.shape.first().copied().unwrap_or(0);
    let columns: u64 = before.shape.iter().skip(1).product();
    let size = SAMPLE.min(rows as usize).min(columns as usize);
    if before.shape.len() < 2 || size < 4 || columns > MOST_ROW {
        return Ok(None);
    }
    let spread = |number: usize, all: u64| number as u64 * all / size as u64;
    let mut matrix = Vec::with_capacity(size * size);
    let mut squares = 0.0;
    for row in 0..size {
        let start = spread(row, rows) * columns;
        let [left, right] = pair.read_numbers(start..start + columns)?;
        for column in 0..size {
            let place = spread(column, columns) as usize;
            squares += right[place] * right[place];
            matrix.push(right[place] - left[place]);
        }
    }
    // The largest singular value that rounding of the values causes in a matrix of this size, with room.
    let typical = (squares / (size * size) as f64).sqrt();
    let rounding = before.dtype.rounding_error().max(after.dtype.rounding_error());
    let noise = 4.0 * rounding * typical * 2.0 * (size as f64).sqrt();
    let lengths: Vec<f64> = matrix
        .chunks_exact(size)
        .map(|row| row.iter().map(|value| value * value).sum::<f64>().sqrt())
        .collect();
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    let diagonal = qr_diagonal(&mut matrix, size);
    let first = diagonal.first().copied().unwrap_or(0.0);
    let rank = diagonal.iter().filter(|value| **value > noise.max(1e-9 * first)).count();
    // Noise among the largest values would hide the rank.
    let is_clear = first > 10.0 * noise;
    // A few rows that moved have a low rank too. An adapter moves nearly all rows.
    let rows = lengths.iter().filter(|length| **length > noise.max(1e-3 * longest)).count();
    let is_spread = rows > 2 * rank && rows * 4 > size * 3;
    Ok((is_clear && is_spread && rank > 0 && rank * 2 <= size).then_some(rank))
}

/// Returns the diagonal of R in a QR decomposition with pivoting, which decreases about as the singular values do.
fn qr_diagonal(matrix: &mut [f64], size: usize) -> Vec<f64> {
    let mut diagonal = Vec::new();
    let mut columns: Vec<Vec<f64>> =
        (0..size).map(|column| (0..size).map(|row| matrix[row * size + column]).collect()).collect();
    while !columns.is_empty() {
        let square = |column: &Vec<f64>| column.iter().map(|value| value * value).sum::<f64>();
        let squares: Vec<f64> = columns.iter().map(square).collect();
        let place = (0..squares.len()).max_by(|a, b| squares[*a].total_cmp(&squares[*b])).unwrap_or(0);
        let length = squares[place].sqrt();
        diagonal.push(length);
        if length == 0.0 || !length.is_finite() {
            break;
        }
        let pivot: Vec<f64> = columns.swap_remove(place).iter().map(|value| value / length).collect();
        for column in &mut columns {
            let product: f64 = column.iter().zip(&pivot).map(|(a, b)| a * b).sum();
            column.iter_mut().zip(&pivot).for_each(|(value, unit)| *value -= product * unit);
        }
    }
    diagonal
}

#[cfg(test)]
mod tests {
    use super::qr_diagonal;

    #[test]
    fn pivots_count_the_rank() {
        let size = 16;
        let factor = |row: usize, k: usize| ((row * 7 + k * 13 + 3) % 11) as f64 - 5.0;
        for rank in [1, 3, 8] {
            let mut matrix: Vec<f64> = (0..size * size)
                .map(|place| {
                    let (row, column) = (place / size, place % size);
                    (0..rank)
                        .map(|k| {
                            factor(row, k).powi(k as i32 % 3 + 1) * (factor(column, k + 5) + k as f64).sin()
                        })
                        .sum()
                })
                .collect();
            let diagonal = qr_diagonal(&mut matrix, size);
            assert_eq!(
                diagonal.iter().filter(|value| **value > 1e-9 * diagonal[0]).count(),
                rank,
                "{diagonal:?}"
            );
        }
    }
}
