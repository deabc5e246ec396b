//! The encoders and treebanks of a run, found before anything is measured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use frostline_assets::Places;

use crate::compare::DEFINITIONS;
use crate::suite::Suite;
use frostline_sweep::fault::{Blame as _, CommandResult, environment_fault};

/// An encoder's folder.
#[derive(Debug)]
pub(crate) struct BenchEncoder {
    /// The last part of the requested name.
    pub name: String,
    /// The folder's path.
    pub folder: PathBuf,
    /// Whether it has no weights, so that both sides draw them at random.
    pub random_init: bool,
    /// The folder of a cell that trained a tagger on it, if a task needs one.
    pub tagger: Option<PathBuf>,
}

impl BenchEncoder {
    /// The encoder with weights in its folder; for an encoder without weights, the one of its tagger, trained from
    /// random weights.
    pub(crate) fn with_weights(&self) -> Self {
        let saved = self.tagger.as_ref().filter(|_| self.random_init).map(|cell| cell.join("model"));
        Self {
            name: self.name.clone(),
            folder: saved.unwrap_or_else(|| self.folder.clone()),
            random_init: false,
            tagger: self.tagger.clone(),
        }
    }
}

/// Finds the named encoders; if none is named, the default encoders that are present.
pub(crate) fn find_encoders(names: &[String], models: Option<&PathBuf>) -> CommandResult<Vec<BenchEncoder>> {
    let places = Places::new(None, models.cloned());
    if !names.is_empty() {
        return names.iter().map(|name| find_encoder(&places, name).blame_environment()).collect();
    }
    let found: Vec<BenchEncoder> =
        DEFINITIONS.encoders.iter().filter_map(|name| find_encoder(&places, name).ok()).collect();
    if found.is_empty() {
        return environment_fault(format!(
            "neither {} is in the models folder or the cache; give --models DIR, or --encoder NAME for another",
            DEFINITIONS.encoders.join(" nor ")
        ));
    }
    Ok(found)
}

fn find_encoder(places: &Places, name: &str) -> anyhow::Result<BenchEncoder> {
    let found = places.encoder(name, false)?;
    let config = Path::new(&found.sources["config"].path);
    let folder = config.parent().filter(|folder| folder.is_dir());
    let folder = folder.ok_or_else(|| anyhow!("`{name}`: the peer needs a folder on disk; give another"))?;
    let folder = std::path::absolute(folder).with_context(|| name.to_string())?;
    // The name is a key of tables and bars: `hub/NAME` and a path count as NAME.
    let name = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name);
    // The bare check comes first: hashing weights takes seconds, and the runner reads them anyway.
    let weights = std::fs::read_dir(&folder)?
        .flatten()
        .any(|entry| entry.path().extension().is_some_and(|extension| extension == "safetensors"));
    Ok(BenchEncoder { name: name.into(), folder, random_init: !weights, tagger: None })
}

/// Finds the treebank folders that these suites read, by name.
pub(crate) fn find_treebanks(
    data: Option<&PathBuf>,
    suites: &[Suite],
) -> CommandResult<BTreeMap<String, PathBuf>> {
    let places = Places::new(data.cloned(), None);
    let read = DEFINITIONS.comparisons.iter().filter(|comparison| suites.contains(&comparison.suite));
    let mut folders = BTreeMap::new();
    for name in read.flat_map(|comparison| comparison.measure_scale().treebanks.values()) {
        if folders.contains_key(name) {
            continue;
        }
        let found = places.treebank(name).blame_environment()?;
        let train = Path::new(&found.sources["train"].path);
        let folder = train.parent().unwrap_or(Path::new("."));
        folders.insert(name.clone(), std::path::absolute(folder).blame_environment()?);
    }
    Ok(folders)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An encoder without a folder.
    pub(crate) fn encoder(name: &str, random_init: bool) -> BenchEncoder {
        BenchEncoder { name: name.into(), folder: PathBuf::from(name), random_init, tagger: None }
    }
}
