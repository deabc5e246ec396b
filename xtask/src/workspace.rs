//! The location of the workspace.

use std::path::{Path, PathBuf};

use frostline_sweep::Place;

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace").to_path_buf()
}

/// The default folders of `cargo xtask sweep`: sweeps in the workspace, plans in its `configs/`.
pub(crate) fn place() -> Place {
    Place { folder: root(), plans: Some(root().join("configs")), built: false }
}
