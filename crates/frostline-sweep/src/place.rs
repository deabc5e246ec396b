//! The default folders of sweeps and plans, and how paths are displayed.

use std::path::{Path, PathBuf};

/// The folder for new sweeps, and the folder of plans, if there is one.
#[derive(Clone, Debug)]
pub struct Place {
    /// New sweeps are written to `sweeps/` in this folder unless `--out` names another folder.
    pub folder: PathBuf,
    /// If set, built-in plans are read from this folder instead of from the program itself.
    pub plans: Option<PathBuf>,
    /// Whether the worker program is there already, so that it costs nothing to ask it.
    pub built: bool,
}

impl Place {
    /// The current folder, with the plans that are compiled into the program.
    #[must_use]
    pub fn current_folder() -> Self {
        Self { folder: PathBuf::new(), plans: None, built: true }
    }
}

/// A path for messages: relative if it is below the current folder.
#[must_use]
pub fn shown_path(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here)
        .ok()
        .filter(|rest| !rest.as_os_str().is_empty())
        .unwrap_or(path)
        .display()
        .to_string()
}
