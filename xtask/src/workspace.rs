//! The location of the workspace.

use std::path::{Path, PathBuf};

use frostline_sweep::Place;

/// The workspace's root. A program that was built on another machine is about the checkout in which it is started.
pub(crate) fn root() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = || std::env::current_dir().unwrap_or_else(|_| ".".into());
    built.parent().filter(|_| built.is_dir()).map_or_else(here, Path::to_path_buf)
}

/// The default folders of `cargo xtask sweep`: sweeps in the workspace, plans in its `configs/`.
pub(crate) fn place() -> Place {
    Place { folder: root(), plans: Some(root().join("configs")), built: false }
}
