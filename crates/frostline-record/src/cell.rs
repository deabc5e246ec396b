//! Cells: one full setting of an experiment with the inputs it reads, and its identity.

use std::collections::BTreeMap;

use frostline_freeze::BlockOrders;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{SCHEMA, Settings};

/// A file that a cell reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Absolute path, or `embedded:NAME/FILE` for a file in the program.
    pub path: String,
    /// SHA-256 of its bytes in hexadecimal.
    pub sha256: String,
    /// The size in bytes.
    pub bytes: u64,
}

/// The files that a cell reads, by role: `train`, `dev`, `test`, `config`, `weights`, `tokenizer`
/// (and `vocabulary` if the encoder has no `tokenizer.json`).
pub type Inputs = BTreeMap<String, Input>;

/// One cell: settings, inputs, and the id made from both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The first 16 hexadecimal digits of the hash that [`Cell::new`] describes.
    pub id: String,
    /// The backend: `flex`, `amx`, `ndarray`, `cuda` or `wgpu`.
    pub backend: String,
    /// Hash of the code that computes results, as the runner reports it.
    pub code: String,
    /// All settings.
    pub settings: Settings,
    /// The files that are read.
    pub inputs: Inputs,
    /// The order of the encoder's blocks by each score that a policy of the cell chooses blocks by.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub block_orders: BlockOrders,
}

impl Cell {
    /// Makes a cell. Its id is a hash of settings, the inputs' contents (not their places), the
    /// backend and the code: a record under this id can be trusted to be this experiment's.
    #[must_use]
    pub fn new(settings: Settings, inputs: Inputs, backend: &str, code: &str) -> Self {
        let (schema, backend, code) = (SCHEMA, backend.to_string(), code.to_string());
        let block_orders = BlockOrders::new();
        let mut cell = Self { schema, id: String::new(), backend, code, settings, inputs, block_orders };
        cell.id = cell.identity();
        cell
    }

    /// Returns the cell with the order of blocks by scores, which is a part of its identity.
    #[must_use]
    pub fn with_block_orders(mut self, orders: BlockOrders) -> Self {
        self.block_orders = orders;
        self.id = self.identity();
        self
    }

    fn identity(&self) -> String {
        let Self { settings, inputs, backend, code, block_orders, .. } = self;
        let contents: BTreeMap<&str, &str> =
            inputs.iter().map(|(role, input)| (role.as_str(), input.sha256.as_str())).collect();
        let whole = (SCHEMA, settings, contents, backend, code);
        // Without orders it is what it was before there were any.
        let text = if block_orders.is_empty() {
            serde_json::to_string(&whole)
        } else {
            serde_json::to_string(&(whole, block_orders))
        };
        let text = text.expect("plain data always serialises");
        hex(&Sha256::digest(text.as_bytes()))[..16].to_string()
    }

    /// Returns a readable folder name: language, policy (at most its first hundred characters, `pct` for `%`,
    /// which has a meaning in links), seed and the start of the id.
    #[must_use]
    pub fn folder(&self) -> String {
        let Settings { lang, policy, seed, .. } = &self.settings;
        let policy: String = policy.as_str().chars().take(100).collect::<String>().replace('%', "pct");
        format!("{lang}-{policy}-s{seed}-{}", self.id.get(..8).unwrap_or(&self.id))
    }

    /// Returns a readable name for messages: `en first-4 seed 42`.
    #[must_use]
    pub fn title(&self) -> String {
        let Settings { lang, policy, seed, .. } = &self.settings;
        format!("{lang} {policy} seed {seed}")
    }
}

/// SHA-256 of bytes in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
