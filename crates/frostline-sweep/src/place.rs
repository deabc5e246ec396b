//! Where a sweep lies by default, and how paths are shown.

use std::path::{Path, PathBuf};

/// Where the program was called: the folder for new sweeps, and the folder of plans where there is one.
#[derive(Clone, Debug)]
pub struct Place {
    /// New sweeps lie in `sweeps/` of this folder unless `--out` names another.
    pub folder: PathBuf,
    /// Plans named without a path are read from here instead of from the program itself.
    pub plans: Option<PathBuf>,
}

impl Place {
    /// The current folder, with the plans that the program carries.
    #[must_use]
    pub fn here() -> Self {
        Self { folder: PathBuf::new(), plans: None }
    }
}

/// A path as a person at this prompt would write it: relative where it lies below the current folder.
#[must_use]
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here)
        .ok()
        .filter(|rest| !rest.as_os_str().is_empty())
        .unwrap_or(path)
        .display()
        .to_string()
}
