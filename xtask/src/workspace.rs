//! Where the workspace lies.

use std::path::{Path, PathBuf};

use frostline_sweep::Place;

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

/// Sweeps lie in the workspace, and plans are those of its `configs/`.
pub(crate) fn place() -> Place {
    Place { folder: root(), plans: Some(root().join("configs")) }
}
