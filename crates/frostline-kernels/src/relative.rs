//! Relative positions of disentangled attention: which row of a table each distance between two subwords has.

use std::ops::Range;
use std::sync::Arc;

/// The rows of a table of relative positions, \[2 × span, H\], by distance. Near distances have a row each; the farther
/// apart two subwords are, the more distances share a row, in steps of the logarithm.
///
/// # Source
/// He et al., *DeBERTa: Decoding-enhanced BERT with Disentangled Attention*, 2021, and the code of DeBERTa-v2.
#[derive(Clone, Debug)]
pub struct RelativePositions {
    span: usize,
    /// The bucket of each distance from 0.
    buckets: Arc<[u32]>,
}

impl RelativePositions {
    /// Returns the rows for sentences of at most `positions` subwords. With `buckets`, distances from half of it on share rows,
    /// up to `farthest`, which has the last one; without it, each distance below `farthest` has a row.
    ///
    /// # Panics
    /// If `buckets` is below 2, or `farthest` is not at least 2 above half of it.
    #[must_use]
    pub fn new(buckets: Option<usize>, farthest: usize, positions: usize) -> Self {
        let bucket = |distance: usize| match buckets {
            Some(buckets) => log_bucket(distance, buckets / 2, farthest),
            None => distance as u32,
        };
        if let Some(buckets) = buckets {
            assert!(buckets > 1 && farthest > buckets / 2 + 1, "{buckets} buckets up to {farthest}");
        }
        Self { span: buckets.unwrap_or(farthest), buckets: (0..positions).map(bucket).collect() }
    }

    /// Returns half of the rows of the table.
    #[must_use]
    pub const fn span(&self) -> usize {
        self.span
    }

    /// Returns the row of a query's position minus a key's.
    ///
    /// # Panics
    /// If no sentence of the given length has two positions so far apart.
    #[must_use]
    pub fn row(&self, difference: isize) -> usize {
        let bucket = self.buckets[difference.unsigned_abs()] as usize;
        let row = if difference < 0 { self.span.saturating_sub(bucket) } else { self.span + bucket };
        row.min(2 * self.span - 1)
    }

    /// Returns the rows that a sentence of this length reads.
    #[must_use]
    pub fn rows(&self, length: usize) -> Range<usize> {
        let farthest = length.saturating_sub(1) as isize;
        self.row(-farthest)..self.row(farthest) + 1
    }
}

/// The bucket of a distance: itself up to `middle`, then one for each step of the logarithm. Numbers are rounded to f32 as in
/// PyTorch, since rounding in another way could change a bucket.
fn log_bucket(distance: usize, middle: usize, farthest: usize) -> u32 {
    if distance <= middle {
        return distance as u32;
    }
    let steps =
        libm::logf(distance as f32 / middle as f32) / libm::logf((farthest - 1) as f32 / middle as f32);
    (steps * (middle - 1) as f32).ceil() as u32 + middle as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_distances_have_rows_of_their_own_and_far_ones_share() {
        let positions = RelativePositions::new(Some(256), 512, 512);
        assert_eq!((positions.row(0), positions.row(128), positions.row(-128)), (256, 384, 128));
        // From transformers' make_log_bucket_position(tensor([129, 130, 200, 511]), 256, 512).
        let far = [129, 130, 200, 511].map(|distance| positions.row(distance) - 256);
        assert_eq!(far, [129, 130, 169, 255]);
        assert_eq!(positions.rows(1), 256..257);
        assert_eq!(positions.rows(3), 254..259);
        assert_eq!(positions.rows(512), 1..512);
    }

    #[test]
    fn distances_beyond_the_table_have_its_last_rows() {
        let positions = RelativePositions::new(None, 4, 10);
        let rows = [-9, -4, -3, 0, 3, 4, 9].map(|difference| positions.row(difference));
        assert_eq!(rows, [0, 0, 1, 4, 7, 7, 7]);
    }
}
