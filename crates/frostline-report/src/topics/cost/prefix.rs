//! What became of constant prefixes: which cells read theirs instead of computing it, and why others did not.

use std::collections::BTreeMap;

use frostline_record::{PrefixState, PrefixUse};
use serde::Serialize;

use crate::number::{decimals, listed, plural, plus_minus};
use crate::study::Done;
use frostline_score::MeanStd;

/// The constant prefix of cells that differ only in their seed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PrefixStats {
    /// Number of blocks in it, above frozen embeddings.
    pub blocks: u32,
    /// Cells by what became of it.
    pub cells: BTreeMap<&'static str, usize>,
    /// Time over cells that computed it.
    pub computed_s: Option<MeanStd>,
}

impl PrefixStats {
    /// Nothing if no cell has a constant prefix.
    pub fn of(done: &[&Done]) -> Option<Self> {
        let uses = done.iter().filter_map(|done| Some(done.timing.as_ref()?.prefix));
        let uses: Vec<PrefixUse> = uses.filter(|used| used.state != PrefixState::None).collect();
        let computed = uses.iter().filter(|used| used.state == PrefixState::Computed);
        let computed: Vec<f64> = computed.map(|used| used.fill_ms * 1e-3).collect();
        let mut cells = BTreeMap::new();
        for used in &uses {
            *cells.entry(used.state.name()).or_default() += 1;
        }
        Some(Self { blocks: uses.first()?.blocks, cells, computed_s: MeanStd::of(&computed) })
    }

    /// How many cells came to this.
    pub fn count(&self, state: PrefixState) -> usize {
        self.cells.get(state.name()).copied().unwrap_or(0)
    }

    /// Whether a cell read it.
    pub fn was_read(&self) -> bool {
        self.count(PrefixState::Computed) + self.count(PrefixState::Shared) > 0
    }

    /// What became of it, and what to do if it could have been read and was not.
    pub fn words(&self) -> String {
        let (computed, shared) = (self.count(PrefixState::Computed), self.count(PrefixState::Shared));
        let mut parts = Vec::new();
        if self.was_read() {
            let how = match self.computed_s {
                None => "computed by cells of other rows or earlier commands".into(),
                Some(time) => {
                    let seconds = plus_minus(time, decimals(time.mean));
                    let by = match (computed, shared) {
                        (1, 0) => String::new(),
                        (1, _) => format!(", for {} in all", plural(1 + shared, "cell")),
                        _ => format!(" by each of {computed} cells, for {} in all", computed + shared),
                    };
                    format!("computed once in {seconds} s{by}")
                }
            };
            parts.push(format!("read from the cache ({}, {how})", self.size()));
        }
        for (state, why) in [
            (
                PrefixState::DropoutActs,
                "dropout acts in it; `dropout.frozen = \"off\"` lifts that, and changes what is learned",
            ),
            (
                PrefixState::SwitchedOff,
                "the cache was switched off; `prefix_cache.enabled = \"on\"` without \
                 `--no-prefix-cache` switches it on, and changes no result",
            ),
        ] {
            if self.count(state) > 0 {
                let cells = plural(self.count(state), "cell");
                parts.push(format!("computed in every step by {cells} ({}): {why}", self.size()));
            }
        }
        listed(&parts)
    }

    fn size(&self) -> String {
        match self.blocks {
            0 => "embeddings alone".into(),
            blocks => plural(blocks as usize, "block"),
        }
    }
}
