//! Random initialisation: each parameter is drawn from a stream named after its path.

use frostline_random::Stream;

use crate::{ModelError, ParameterSource};

/// Weights and tables from N(0, std), biases and betas 0, gammas 1, as the families define it. Among the
/// extras, LoRA's second matrix, an adapter's up-projection and a mix's weights are 0, IA3's factors are 1, and LoRA's first
/// matrix is uniform in ±1/√in, as in `peft`.
///
/// A value depends only on the seed, the parameter's path and its index, so a compact table has the
/// values of the full one.
#[derive(Clone, Copy, Debug)]
pub struct RandomInit {
    stream: Stream,
    std: f64,
}

impl RandomInit {
    /// Initialisation with this seed and standard deviation.
    #[must_use]
    pub fn new(seed: u64, std: f64) -> Self {
        Self { stream: Stream::new(seed, "parameters"), std }
    }

    fn draw(&self, path: &str, range: std::ops::Range<usize>) -> impl Iterator<Item = f32> + use<> {
        let stream = Stream::new(self.stream.key(), path);
        let std = self.std;
        range.map(move |i| (stream.normal(i as u64) * std) as f32)
    }
}

impl ParameterSource for RandomInit {
    /// Always false: optional parameters are initialised with the head.
    fn has(&self, _: &str) -> bool {
        false
    }

    fn values(&self, path: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let count = shape.iter().product();
        if path.ends_with(".lora.a") {
            let stream = Stream::new(self.stream.key(), path);
            let widest = 1.0 / (shape[0] as f64).sqrt();
            return Ok((0..count as u64).map(|i| ((2.0 * stream.unit(i) - 1.0) * widest) as f32).collect());
        }
        let zero =
            [".lora.b", ".adapter.up.weight"].iter().any(|end| path.ends_with(end)) || path == "mix.weights";
        Ok(match path.rsplit('.').next() {
            _ if zero => vec![0.0; count],
            Some("bias" | "beta") => vec![0.0; count],
            Some("gamma" | "factors") => vec![1.0; count],
            _ => self.draw(path, 0..count).collect(),
        })
    }

    fn rows(&self, path: &str, [_, width]: [usize; 2], rows: &[u32]) -> Result<Vec<f32>, ModelError> {
        let line = |&row: &u32| self.draw(path, row as usize * width..(row as usize + 1) * width);
        Ok(rows.iter().flat_map(line).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_rows_equal_the_rows_of_the_full_table() {
        let init = RandomInit::new(3, 0.02);
        let all = init.values("encoder.embeddings.word", &[6, 4]).unwrap();
        let some = init.rows("encoder.embeddings.word", [6, 4], &[1, 5]).unwrap();
        assert_eq!(some, [&all[4..8], &all[20..24]].concat());
        assert_eq!(init.values("x.gamma", &[2]).unwrap(), [1.0, 1.0]);
        assert_eq!(init.values("x.bias", &[2]).unwrap(), [0.0, 0.0]);
    }
}
