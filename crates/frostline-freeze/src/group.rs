//! Groups: the parts of a model that a policy freezes as a whole, found in a parameter's path.

use std::fmt;

/// A part of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Word, position and token-type tables and their LayerNorm.
    Embeddings,
    /// A transformer block, counted from 0 at the input.
    Block(usize),
    /// The norm after the last block, if the encoder has one. It is frozen with the last block.
    Final,
    /// Everything after the encoder.
    Head,
}

impl Group {
    /// Returns the group of a parameter path such as `encoder.blocks.3.query.weight`: the segment after
    /// `blocks` decides, else `embeddings` or `final_norm`; any other path belongs to a head.
    #[must_use]
    pub fn of(path: &str) -> Self {
        let mut segments = path.split('.');
        while let Some(segment) = segments.next() {
            match segment {
                "embeddings" => return Self::Embeddings,
                "final_norm" => return Self::Final,
                "blocks" => {
                    if let Some(Ok(number)) = segments.next().map(str::parse) {
                        return Self::Block(number);
                    }
                }
                _ => {}
            }
        }
        Self::Head
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embeddings => f.write_str("embeddings"),
            Self::Block(number) => write!(f, "block {number}"),
            Self::Final => f.write_str("final norm"),
            Self::Head => f.write_str("head"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_find_their_group() {
        let cases = [
            ("encoder.embeddings.word", Group::Embeddings),
            ("encoder.embeddings.norm.beta", Group::Embeddings),
            ("encoder.blocks.0.query.weight", Group::Block(0)),
            ("encoder.blocks.11.output_norm.gamma", Group::Block(11)),
            ("encoder.final_norm.gamma", Group::Final),
            ("heads.0.classifier.weight", Group::Head),
            ("heads.0.norm.gamma", Group::Head),
        ];
        for (path, group) in cases {
            assert_eq!(Group::of(path), group, "{path}");
        }
    }
}
