//! The folders in which datasets and encoders are searched. Nothing is downloaded here: see the feature
//! `fetch`.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::error::SearchedPlaces;
use crate::format::Format;
use crate::hub_cache::HOME;
use crate::{AssetError, HubCache, Origin, default_hub_cache, embedded, hub};

/// The places in which datasets and encoders are searched, in this order: the user's folders, the cache of
/// fetched files, then the name as a path. `embedded:NAME` is searched only among the embedded files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The user's folder of dataset folders (`--data`), which may be one level deeper. See [`Places::unpacked`] for an archive.
    pub data: Option<PathBuf>,
    /// The user's folder of encoder folders (`--models`).
    pub models: Option<PathBuf>,
    /// The cache of fetched files, with the subfolders `treebanks/` and `encoders/`, and `hub/` in the layout of
    /// `huggingface_hub`.
    pub cache: Option<PathBuf>,
    /// The cache that `huggingface_hub` uses, in which fetched encoders are.
    pub hub: Option<PathBuf>,
}

impl Places {
    /// Returns the user's folders and the default caches.
    #[must_use]
    pub fn new(data: Option<PathBuf>, models: Option<PathBuf>) -> Self {
        Self { data, models, cache: default_cache(), hub: default_hub_cache() }
    }

    /// Returns the same places; if [`Places::data`] is a ZIP archive, its datasets are unpacked into the cache.
    ///
    /// # Errors
    /// If it is no archive of datasets or cannot be unpacked, see [`unpack_archive`](crate::unpack_archive), or if there is no cache.
    pub fn unpacked(mut self) -> Result<Self, AssetError> {
        if let Some(archive) = self.data.as_ref().filter(|data| data.is_file()) {
            let cache = self.cache.as_ref().ok_or_else(|| AssetError::Archive {
                path: archive.clone(),
                reason: "there is no cache to unpack it into; set FROSTLINE_CACHE, or unpack it yourself"
                    .into(),
            })?;
            self.data = Some(crate::unpack_archive(archive, cache)?);
        }
        Ok(self)
    }

    /// Returns the names of all datasets in the user's folder, in the cache and in the program.
    #[must_use]
    pub fn datasets(&self) -> Vec<String> {
        self.all_names(AssetKind::Dataset, self.data.as_deref())
    }

    /// Returns the ids of all models in the caches that are in the layout of `huggingface_hub`, sorted. They may be of any kind:
    /// other programs have downloaded some of them.
    #[must_use]
    pub fn hub_models(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.hub_caches().iter().flat_map(HubCache::models).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    /// Returns the names of all encoders in the user's folder, in the cache and in the program, without [`Places::hub_models`].
    #[must_use]
    pub fn encoders(&self) -> Vec<String> {
        self.all_names(AssetKind::Encoder, self.models.as_deref())
    }

    fn all_names(&self, kind: AssetKind, given: Option<&Path>) -> Vec<String> {
        let cached = self.cache.as_ref().map(|cache| cache.join(kind.cache_folder()));
        let folders = [given, cached.as_deref()].into_iter().flatten();
        let mut names: Vec<String> = folders.flat_map(|folder| kind.names_in(folder)).collect();
        names.sort();
        names.dedup();
        names.into_iter().chain(kind.embedded_names()).collect()
    }

    /// Returns the folders in the layout of `huggingface_hub`, each once.
    fn hub_caches(&self) -> Vec<HubCache> {
        let own = self.cache.as_ref().map(|cache| cache.join("hub"));
        let mut roots: Vec<PathBuf> = [self.hub.clone(), own].into_iter().flatten().collect();
        roots.dedup();
        roots.into_iter().map(HubCache::at).collect()
    }

    /// Returns the folder of a hub id, with or without `@REVISION`, in a cache of `huggingface_hub`.
    fn find_snapshot(&self, name: &str) -> Option<PathBuf> {
        let (id, revision) = hub::split_revision(name);
        let given = self.models.clone().map(HubCache::at);
        let names = [Some(id), hub::other_name(id)].into_iter().flatten();
        let caches: Vec<HubCache> = given.into_iter().chain(self.hub_caches()).collect();
        names
            .flat_map(|id| caches.iter().filter_map(move |cache| cache.snapshot(id, revision)))
            .find(|folder| folder.join("config.json").exists())
    }

    /// Returns the folder for `name` and its origin.
    pub(crate) fn find_place(&self, kind: AssetKind, name: &str) -> Result<FoundFolder, AssetError> {
        if name.starts_with(embedded::PREFIX) {
            return if kind.embedded_list().contains(&name) {
                Ok(FoundFolder::Embedded(name.into()))
            } else {
                Err(kind.missing_asset(
                    name,
                    vec![("embedded in the program".into(), Some(kind.embedded_names()))],
                ))
            };
        }
        let given = match kind {
            AssetKind::Dataset => self.data.as_deref(),
            AssetKind::Encoder => self.models.as_deref(),
        };
        let cached = self.cache.as_ref().map(|cache| cache.join(kind.cache_folder()));
        let direct = given.map(|folder| folder.join(name));
        let below = match (kind, given, &direct) {
            (AssetKind::Dataset, Some(folder), Some(direct)) if !direct.is_dir() => find_below(folder, name)?,
            _ => None,
        };
        let other = hub::other_name(name).filter(|_| kind == AssetKind::Encoder);
        let snapshot = if kind == AssetKind::Encoder { self.find_snapshot(name) } else { None };
        let under = |folder: Option<&Path>, name: Option<&str>| Some(folder?.join(name?));
        let candidates = [
            (direct, Origin::Given),
            (below, Origin::Given),
            (under(given, other), Origin::Given),
            (under(cached.as_deref(), Some(name)), Origin::Cache),
            (under(cached.as_deref(), other), Origin::Cache),
            (snapshot, Origin::Cache),
            (Some(PathBuf::from(name)), Origin::Given),
        ];
        let is_name = !name.trim_matches(['.', '/']).is_empty() || Path::new(name).is_absolute();
        for (folder, origin) in candidates {
            if let Some(folder) = folder.filter(|folder| is_name && folder.is_dir()) {
                return Ok(FoundFolder::Folder { folder, origin, cache: self.cache.clone() });
            }
        }
        let mut looked = Vec::new();
        match given {
            Some(folder) => {
                let place = format!("in {} ({})", folder.display(), kind.option_name());
                looked.push((place, Some(kind.names_in(folder))));
            }
            None => looked.push((format!("no {} folder was given", kind.option_name()), None)),
        }
        if let Some(folder) = cached {
            looked.push((format!("in {} (cache)", folder.display()), Some(kind.names_in(&folder))));
        }
        if kind == AssetKind::Encoder {
            let caches = self.hub_caches().into_iter().map(|cache| (cache.models(), cache));
            for (models, cache) in caches.filter(|(models, _)| !models.is_empty()) {
                let place = format!("in {} (cache of huggingface_hub)", cache.root().display());
                looked.push((place, Some(models)));
            }
        }
        looked.push(("embedded in the program".into(), Some(kind.embedded_names())));
        Err(kind.missing_asset(name, looked))
    }
}

/// If a name was found.
pub(crate) enum FoundFolder {
    /// A folder on disk.
    Folder {
        folder: PathBuf,
        origin: Origin,
        /// The cache for hashes of the files.
        cache: Option<PathBuf>,
    },
    /// An embedded folder, such as `embedded:en`.
    Embedded(String),
}

impl FoundFolder {
    /// Returns the place, for messages and records.
    pub(crate) fn show(&self) -> String {
        match self {
            Self::Folder { folder, .. } => {
                std::path::absolute(folder).unwrap_or_else(|_| folder.clone()).display().to_string()
            }
            Self::Embedded(name) => name.clone(),
        }
    }

    /// Returns the names of the files in it, sorted.
    pub(crate) fn file_names(&self) -> Result<Vec<String>, AssetError> {
        match self {
            Self::Embedded(name) => {
                Ok(embedded::files_in_folder(name).into_iter().map(String::from).collect())
            }
            Self::Folder { folder, .. } => {
                let mut names = names_in_folder(folder, Path::is_file)
                    .map_err(|source| AssetError::Io { path: folder.clone(), source })?;
                names.sort();
                Ok(names)
            }
        }
    }

    /// Returns whether a folder on disk has anything of this name, readable or not.
    pub(crate) fn contains_file(&self, file: &str) -> bool {
        match self {
            Self::Embedded(_) => false,
            Self::Folder { folder, .. } => std::fs::symlink_metadata(folder.join(file)).is_ok(),
        }
    }

    /// Describes one of its files.
    pub(crate) fn source(&self, file: &str) -> Result<crate::Source, AssetError> {
        match self {
            Self::Embedded(name) => crate::Source::of_embedded(&format!("{name}/{file}")),
            Self::Folder { folder, origin, cache } => {
                crate::Source::of_known_file(&folder.join(file), *origin, cache.as_deref())
            }
        }
    }
}

/// Whether a dataset or an encoder is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AssetKind {
    Dataset,
    Encoder,
}

impl AssetKind {
    pub(crate) const fn cache_folder(self) -> &'static str {
        match self {
            Self::Dataset => "treebanks",
            Self::Encoder => "encoders",
        }
    }

    const fn option_name(self) -> &'static str {
        match self {
            Self::Dataset => "--data",
            Self::Encoder => "--models",
        }
    }

    const fn embedded_list(self) -> &'static [&'static str] {
        match self {
            Self::Dataset => &embedded::DATASETS,
            Self::Encoder => &embedded::ENCODERS,
        }
    }

    fn embedded_names(self) -> Vec<String> {
        self.embedded_list().iter().map(|name| (*name).into()).collect()
    }

    /// Returns the names that can be requested in a folder, sorted: `NAME`, or `GROUP/NAME` if a folder
    /// contains folders and is neither a dataset nor an encoder itself.
    fn names_in(self, folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for name in list_subfolders(folder) {
            let inner = if self.is_one(&folder.join(&name)) {
                Vec::new()
            } else {
                list_subfolders(&folder.join(&name))
            };
            if inner.is_empty() {
                found.push(name);
            } else {
                found.extend(inner.into_iter().map(|inner| format!("{name}/{inner}")));
            }
        }
        found
    }

    /// Returns whether a folder contains files of this kind.
    fn is_one(self, folder: &Path) -> bool {
        match self {
            Self::Dataset => Format::ALL.into_iter().any(|format| {
                names_in_folder(folder, Path::is_file)
                    .is_ok_and(|names| names.iter().any(|name| name.ends_with(format.extension())))
            }),
            Self::Encoder => folder.join("config.json").exists(),
        }
    }

    fn missing_asset(self, name: &str, places: Vec<(String, Option<Vec<String>>)>) -> AssetError {
        let (name, looked) = (name.into(), SearchedPlaces { places });
        match self {
            Self::Dataset => AssetError::NoDataset { name, looked },
            Self::Encoder => AssetError::NoEncoder { name, looked },
        }
    }
}

/// Returns the default cache: `$FROSTLINE_CACHE`, otherwise `frostline` under `$XDG_CACHE_HOME` or
/// `.cache` in the home folder, which is `$HOME`, or `%USERPROFILE%` on Windows; `None` if none of these is set.
#[must_use]
pub fn default_cache() -> Option<PathBuf> {
    cache_from(|name| std::env::var_os(name))
}

/// [`default_cache`] for a given environment. A relative `$XDG_CACHE_HOME` is ignored, as the XDG
/// Base Directory Specification requires.
fn cache_from(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| var(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("FROSTLINE_CACHE").or_else(|| {
        set("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| set(HOME).map(|home| home.join(".cache")))
            .map(|base| base.join("frostline"))
    })
}

/// Returns the folder for a name in one of a folder's direct subfolders. A name with `..` or a root is not
/// searched there, since it could lead outside.
///
/// # Errors
/// If several subfolders have it.
fn find_below(folder: &Path, name: &str) -> Result<Option<PathBuf>, AssetError> {
    if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(None);
    }
    let groups = list_subfolders(folder).into_iter().filter(|group| folder.join(group).join(name).is_dir());
    let found: Vec<String> = groups.map(|group| format!("{group}/{name}")).collect();
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(folder.join(one))),
        _ => Err(AssetError::ManyDatasets { name: name.into(), folder: folder.display().to_string(), found }),
    }
}

/// Returns the names in a folder that pass the test, in no particular order.
fn names_in_folder(folder: &Path, keep: impl Fn(&Path) -> bool) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if keep(&path)
            && let Some(name) = path.file_name()
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// Returns the folders in a folder, sorted; none if it cannot be read.
fn list_subfolders(folder: &Path) -> Vec<String> {
    let mut names = names_in_folder(folder, Path::is_dir).unwrap_or_default();
    names.retain(|name| !name.starts_with('.') && !name.ends_with(".part"));
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_follows_xdg() {
        let cache = |vars: &[(&str, &str)]| {
            cache_from(|name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into()))
        };
        assert_eq!(cache(&[]), None);
        let home = (HOME, "/h");
        assert_eq!(cache(&[home]), Some("/h/.cache/frostline".into()));
        let xdg = ("XDG_CACHE_HOME", "/x");
        assert_eq!(cache(&[home, xdg]), Some("/x/frostline".into()));
        let relative = ("XDG_CACHE_HOME", "x");
        assert_eq!(cache(&[home, relative]), Some("/h/.cache/frostline".into()));
        let own = ("FROSTLINE_CACHE", "/f");
        assert_eq!(cache(&[home, xdg, own]), Some("/f".into()));
        assert_eq!(cache(&[home, ("FROSTLINE_CACHE", "")]), Some("/h/.cache/frostline".into()));
    }
}
