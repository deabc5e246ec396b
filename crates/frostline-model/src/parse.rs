//! Reads an encoder from Hugging Face's `config.json`, and checks its sizes.

use serde_json::Value;

use crate::families::read_config;
use crate::{EncoderConfig, LayerKind, ModelError};

/// The most blocks of an encoder; the deepest in use have about a hundred.
const MOST_BLOCKS: usize = 4096;

/// The most hidden units and attention heads.
const MOST_WIDTH: usize = 1 << 16;

/// The most units inside a feed-forward layer.
const MOST_INTERMEDIATE: usize = 1 << 20;

/// The most rows of a table: words, positions or token types.
const MOST_ROWS: usize = 1 << 26;

/// Maximum number of an encoder's parameters: about a hundred times the largest encoder in use.
const MOST_PARAMETERS: u64 = 1 << 40;

/// The most positions of an encoder that rotates queries and keys or has relative positions, since the rotations or the buckets
/// of distances are kept in memory.
const MOST_PLACES: usize = 1 << 17;

impl EncoderConfig {
    /// Reads a `config.json`; `place` names the file in errors.
    ///
    /// # Errors
    /// If the file is not such a config, its family is not supported, it needs something that is not implemented, or a
    /// size is 0 or above the limits of `docs/limits.md`.
    pub fn parse(text: &str, place: &str) -> Result<Self, ModelError> {
        let fail = |reason: String| ModelError::Config { place: place.into(), reason };
        let file: Value = serde_json::from_str(text).map_err(|error| fail(format!("not JSON: {error}")))?;
        let model_type = file.get("model_type").and_then(Value::as_str).unwrap_or("missing").to_string();
        let config = read_config(file, &model_type).map_err(fail)?;
        config.check_sizes().map_err(fail)?;
        let rates = [
            ("dropout", config.dropout),
            ("attention dropout", config.attention_dropout),
            ("embedding dropout", config.embedding_dropout),
        ];
        if let Some((what, rate)) = rates.into_iter().find(|(_, rate)| !(0.0..1.0).contains(rate)) {
            return Err(fail(format!("the {what} is {rate}, expected a rate in [0, 1)")));
        }
        if !(config.norm_eps > 0.0 && config.norm_eps <= 1.0) {
            return Err(fail(format!("layer_norm_eps is {}, expected a number in (0, 1]", config.norm_eps)));
        }
        if !(0.0..=1000.0).contains(&config.initializer_range) {
            let range = config.initializer_range;
            return Err(fail(format!("initializer_range is {range}, expected a number from 0 to 1000")));
        }
        if config.first_position >= config.positions {
            return Err(fail(format!(
                "max_position_embeddings is {}, but pad_token_id takes the first {} of them; expected more",
                config.positions, config.first_position
            )));
        }
        Ok(config)
    }

    /// Checks that every size is possible and that the parameters can be counted.
    fn check_sizes(&self) -> Result<(), String> {
        let sizes = [
            ("width", self.hidden, MOST_WIDTH),
            ("width of the embeddings", self.embedding, MOST_WIDTH),
            ("number of blocks", self.depth, MOST_BLOCKS),
            ("number of attention heads", self.heads, MOST_WIDTH),
            ("number of heads of keys", self.key_heads, MOST_WIDTH),
            ("intermediate width", self.intermediate, MOST_INTERMEDIATE),
            ("vocabulary", self.vocabulary, MOST_ROWS),
            ("number of positions", self.positions, MOST_ROWS),
        ];
        if let Some((what, _, most)) = sizes.into_iter().find(|(_, size, _)| *size == 0) {
            return Err(format!("the {what} is 0, expected 1 to {most}"));
        }
        let sizes = sizes.into_iter().chain([("number of token types", self.token_types, MOST_ROWS)]);
        if let Some((what, size, most)) = { sizes }.find(|(_, size, most)| size > most) {
            return Err(format!("the {what} is {size}, expected at most {most}"));
        }
        if !self.hidden.is_multiple_of(self.heads) {
            return Err(format!(
                "the hidden size {} is not a multiple of the number of heads, {}",
                self.hidden, self.heads
            ));
        }
        if !self.heads.is_multiple_of(self.key_heads) {
            return Err(format!(
                "the number of attention heads {} is not a multiple of the number of heads of keys, {}",
                self.heads, self.key_heads
            ));
        }
        self.check_rotations()?;
        self.check_relative_positions()?;
        match self.count_parameters() {
            Some(0..=MOST_PARAMETERS) => Ok(()),
            _ => Err(format!("its sizes make more than {MOST_PARAMETERS} parameters")),
        }
    }

    /// Checks that queries and keys can be rotated and windows hold something, if the encoder has them.
    fn check_rotations(&self) -> Result<(), String> {
        let architecture = &self.architecture;
        if architecture.layers.contains(&LayerKind::Local) && architecture.window == 0 {
            return Err(
                "a window of local attention holds no neighbour; expected local_attention to be 2 or more"
                    .into(),
            );
        }
        let Some(bases) = architecture.rotary else { return Ok(()) };
        let channels = self.hidden / self.heads;
        if !channels.is_multiple_of(2) {
            return Err(format!(
                "heads have {channels} channels, but rotary positions turn pairs; expected an even number"
            ));
        }
        if self.positions > MOST_PLACES {
            return Err(format!(
                "the number of positions is {}, expected at most {MOST_PLACES} with rotary positions",
                self.positions
            ));
        }
        let wrong = [bases.global, bases.local].into_iter().find(|base| !(1.0..=1e12).contains(base));
        wrong.map_or(Ok(()), |base| {
            Err(format!("the rotary base is {base}, expected a number from 1 to 1e12"))
        })
    }

    /// Checks that distances can be put into buckets, if the encoder has a table of relative positions.
    fn check_relative_positions(&self) -> Result<(), String> {
        let Some(table) = &self.architecture.relative else { return Ok(()) };
        if self.positions > MOST_PLACES {
            return Err(format!(
                "the number of positions is {}, expected at most {MOST_PLACES} with relative positions",
                self.positions
            ));
        }
        if table.span() > MOST_ROWS {
            return Err(format!(
                "the number of relative positions is {}, expected at most {MOST_ROWS}",
                table.span()
            ));
        }
        match table.buckets {
            Some(buckets) if buckets < 4 || table.farthest < buckets / 2 + 2 => Err(format!(
                "position_buckets is {buckets} and the largest relative position is {}; expected 4 buckets or more, and a \
                 position above half of them",
                table.farthest
            )),
            _ => Ok(()),
        }
    }

    /// Returns the number of parameters of the encoder without extras; `None` if it is above 2⁶⁴.
    fn count_parameters(&self) -> Option<u64> {
        let architecture = &self.architecture;
        let [e, h, inner] = [self.embedding, self.hidden, self.intermediate].map(|size| size as u64);
        let biased = |has: bool, outputs: u64| if has { outputs } else { 0 };
        let positions = if architecture.learned_positions { self.positions as u64 } else { 0 };
        let rows = (self.vocabulary as u64).checked_add(positions)?.checked_add(self.token_types as u64)?;
        let norm = |width: u64| width + biased(architecture.norm_bias, width);
        let layers = 2 + u64::from(architecture.gated);
        let keys = (self.hidden / self.heads * self.key_heads) as u64;
        let of_attention = h.checked_add(keys)?.checked_mul(2)?.checked_mul(h)?;
        let squares = of_attention.checked_add(h.checked_mul(inner)?.checked_mul(layers)?)?;
        let inner_biases = biased(architecture.inner_bias, (layers - 1).checked_mul(inner)?);
        let biases =
            biased(architecture.attention_bias, 2 * (h + keys)) + biased(architecture.output_bias, h);
        let biases = inner_biases.checked_add(biases)?;
        let block = squares.checked_add(biases)?.checked_add(2 * norm(h))?;
        let projection = if e == h { 0 } else { e.checked_mul(h)?.checked_add(h)? };
        let outside = if architecture.embedding_norm { norm(e) } else { 0 };
        let outside = outside + if architecture.has_final_norm() { norm(h) } else { 0 };
        let relative = match &architecture.relative {
            None => 0,
            Some(table) => {
                let normed = if table.has_norm { norm(h) } else { 0 };
                (table.span() as u64).checked_mul(2)?.checked_mul(h)?.checked_add(normed)?
            }
        };
        let missing = if architecture.first_norm { 0 } else { norm(h) };
        let table = rows.checked_mul(e)?.checked_add(projection)?.checked_add(outside)?;
        let table = table.checked_add(relative)?;
        let own = (0..self.depth).filter(|&block| architecture.owns_weights(block)).count();
        block.checked_mul(own as u64)?.checked_add(table)?.checked_sub(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the config of a small BERT with one size replaced, or why it is refused.
    fn parse(key: &str, value: u64) -> Result<EncoderConfig, String> {
        let mut file = serde_json::json!({
            "model_type": "bert", "vocab_size": 100, "hidden_size": 8, "num_hidden_layers": 2,
            "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 32, "type_vocab_size": 2
        });
        file[key] = value.into();
        EncoderConfig::parse(&file.to_string(), "config.json").map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_have_limits_that_are_checked_without_wrapping() {
        let keys = [
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "max_position_embeddings",
            "type_vocab_size",
        ];
        for key in keys {
            for value in [u64::MAX, 1 << 63, 1 << 40, (1 << 26) + 1] {
                let error = parse(key, value).expect_err(key);
                assert!(error.contains("expected at most"), "{key} {value}: {error}");
            }
            assert_eq!(parse(key, 0).is_ok(), key == "type_vocab_size", "{key}");
        }
        assert!(parse("num_hidden_layers", 10_000_000).is_err());
        assert!(parse("hidden_size", 9).expect_err("9 of 2 heads").contains("not a multiple"));
        let large = parse("num_hidden_layers", 4096).expect("as deep as allowed");
        assert_eq!(large.depth, 4096);
    }

    #[test]
    fn the_count_is_that_of_the_parameters() {
        let config = parse("num_hidden_layers", 3).expect("a config");
        let all = config.parameters(&[]);
        let sum: usize = all.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
        assert_eq!(config.count_parameters(), Some(sum as u64));
    }
}
