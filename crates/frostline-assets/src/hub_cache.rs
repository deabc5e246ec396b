//! The cache that `huggingface_hub` and this program share: how its folders are read.
//!
//! ```text
//! hub/models--OWNER--NAME/blobs/DIGEST                  a file's bytes, under its git blob id or SHA-256
//! hub/models--OWNER--NAME/snapshots/COMMIT/config.json  a link to ../../blobs/DIGEST
//! hub/models--OWNER--NAME/refs/main                     the commit of a branch or tag
//! hub/.locks/models--OWNER--NAME/DIGEST.lock            locked while the file is downloaded
//! ```
//!
//! If a system has no links, a snapshot contains the files themselves.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::hub::{is_commit, is_hub_id, is_revision};

/// How the folders of models begin.
const MODELS: &str = "models--";

/// The branch that a hub id without a revision means.
pub(crate) const MAIN: &str = "main";

/// The largest file of a reference that is read.
///
/// # Units
/// Bytes.
const MOST_REF: u64 = 4096;

/// The variable with the user's home folder, as Python's `expanduser` reads it.
pub(crate) const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };

/// A folder in the layout of `huggingface_hub`.
///
/// # Examples
/// ```
/// let cache = frostline_assets::HubCache::at("/no/such/folder");
/// assert_eq!(cache.snapshot("intfloat/multilingual-e5-small", None), None);
/// assert!(cache.models().is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubCache {
    root: PathBuf,
}

impl HubCache {
    /// Returns the cache in a folder such as `~/.cache/huggingface/hub`, which need not exist.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the folder of the cache.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of a revision's files; without a revision, of `main` or, if that is not there, of the only
    /// snapshot. It may lack files.
    #[must_use]
    pub fn snapshot(&self, id: &str, revision: Option<&str>) -> Option<PathBuf> {
        let commit = self.commit_of(id, revision)?;
        Some(self.snapshot_folder(id, &commit)).filter(|folder| folder.is_dir())
    }

    /// Returns the ids of all models with a snapshot that has a `config.json`, sorted.
    #[must_use]
    pub fn models(&self) -> Vec<String> {
        let folders = names_in(&self.root).into_iter();
        let ids = folders.filter_map(|name| Some(name.strip_prefix(MODELS)?.replace("--", "/")));
        let has_config = |id: &String| {
            let commits = self.commits(id).into_iter();
            commits.map(|commit| self.snapshot_folder(id, &commit)).any(|at| at.join("config.json").exists())
        };
        let mut ids: Vec<String> = ids.filter(|id| is_hub_id(id)).filter(has_config).collect();
        ids.sort();
        ids
    }

    /// Returns the folder of a model: `models--OWNER--NAME`.
    pub(crate) fn model_folder(&self, id: &str) -> PathBuf {
        self.root.join(folder_name(id))
    }

    pub(crate) fn snapshot_folder(&self, id: &str, commit: &str) -> PathBuf {
        self.model_folder(id).join("snapshots").join(commit)
    }

    /// Returns the commit that a branch, tag or commit had when it was downloaded.
    pub(crate) fn commit_of(&self, id: &str, revision: Option<&str>) -> Option<String> {
        if !is_hub_id(id) || !revision.is_none_or(is_revision) {
            return None;
        }
        match revision {
            Some(commit) if is_commit(commit) => Some(commit.into()),
            Some(name) => self.read_ref(id, name),
            None => self.read_ref(id, MAIN).or_else(|| match self.commits(id).as_slice() {
                [only] => Some(only.clone()),
                _ => None,
            }),
        }
    }

    fn read_ref(&self, id: &str, name: &str) -> Option<String> {
        let file = self.model_folder(id).join("refs").join(name);
        let text = frostline_files::read_text(&file, MOST_REF).ok()?;
        Some(text.trim().to_string()).filter(|commit| is_commit(commit))
    }

    fn commits(&self, id: &str) -> Vec<String> {
        let mut names = names_in(&self.model_folder(id).join("snapshots"));
        names.retain(|name| is_commit(name));
        names
    }
}

/// Returns the name of a model's folder in the cache.
pub(crate) fn folder_name(id: &str) -> String {
    format!("{MODELS}{}", id.replace('/', "--"))
}

/// Returns the folder that `huggingface_hub` uses: `$HF_HUB_CACHE`, otherwise `hub` in `$HF_HOME`. If neither is set:
/// `hub` in `$FROSTLINE_CACHE`, otherwise `huggingface/hub` under `$XDG_CACHE_HOME` or `$HOME/.cache` (`%USERPROFILE%` on Windows).
#[must_use]
pub fn default_hub_cache() -> Option<PathBuf> {
    hub_cache_from(&|name| std::env::var_os(name))
}

/// [`default_hub_cache`] for a given environment.
fn hub_cache_from(var: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    expanded_path(var, "HF_HUB_CACHE")
        .or_else(|| expanded_path(var, "HF_HOME").map(|home| home.join("hub")))
        .or_else(|| set_path(var, "FROSTLINE_CACHE").map(|cache| cache.join("hub")))
        .or_else(|| default_hub_home(var).map(|home| home.join("hub")))
}

/// Returns the path in a variable, if it is set and not empty.
fn set_path(var: &dyn Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    var(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the path in a variable with the home folder in place of `~`.
fn expanded_path(var: &dyn Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    let path = set_path(var, name)?;
    Some(match (path.strip_prefix("~"), set_path(var, HOME)) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    })
}

/// Returns the folder of `huggingface_hub` if no variable names it.
fn default_hub_home(var: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let home = || set_path(var, HOME).map(|home| home.join(".cache"));
    let base = set_path(var, "XDG_CACHE_HOME").or_else(home);
    base.map(|base| base.join("huggingface"))
}

/// Returns the folder with the token file of `huggingface_hub`: `$HF_HOME`, otherwise its default.
#[cfg(feature = "fetch")]
pub(crate) fn hub_home_from(var: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    expanded_path(var, "HF_HOME").or_else(|| default_hub_home(var))
}

/// Returns the names in a folder; none if it cannot be read.
fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_one_of_huggingface_hub() {
        let cache = |vars: &[(&str, &str)]| {
            let found =
                hub_cache_from(&|name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).into()))?;
            Some(found.to_str()?.to_string())
        };
        let home = (HOME, "/h");
        assert_eq!(cache(&[]), None);
        assert_eq!(cache(&[home]).as_deref(), Some("/h/.cache/huggingface/hub"));
        assert_eq!(cache(&[home, ("XDG_CACHE_HOME", "/x")]).as_deref(), Some("/x/huggingface/hub"));
        let own = ("FROSTLINE_CACHE", "/f");
        assert_eq!(cache(&[home, own]).as_deref(), Some("/f/hub"));
        assert_eq!(cache(&[home, own, ("HF_HOME", "/hf")]).as_deref(), Some("/hf/hub"));
        assert_eq!(cache(&[home, ("HF_HOME", "~/hf")]).as_deref(), Some("/h/hf/hub"));
        assert_eq!(cache(&[own, ("HF_HOME", "/hf"), ("HF_HUB_CACHE", "/c")]).as_deref(), Some("/c"));
    }
}
