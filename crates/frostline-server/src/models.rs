//! The taggers that a server offers, by name.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Result, bail};
use frostline_tagger::{ModelMismatch, Options, TagTarget, TaggerModel, Taggers};

use crate::refusal::Refusal;

/// A tagger's folder, and the name by which clients ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFolder {
    /// The name.
    pub name: String,
    /// The folder of a cell or of a model.
    pub folder: PathBuf,
    /// The column of CoNLL-U for its labels; by default the one that training read.
    pub target: Option<TagTarget>,
}

/// Loaded taggers with their names.
#[derive(Debug)]
pub struct ServedModels {
    pub(crate) taggers: Taggers,
    pub(crate) names: Vec<String>,
    /// The place of each model's labels in CoNLL-U, or why there is none.
    targets: Vec<Result<TagTarget, String>>,
    /// Each model's labels, for answers that outlive a computation.
    pub(crate) labels: Vec<Vec<Arc<str>>>,
}

impl FromStr for NamedFolder {
    type Err = String;

    /// Reads `NAME=DIR`, or a folder whose last part is the name.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, folder) = match text.split_once('=') {
            Some((name, folder)) if !name.contains(['/', '\\']) => (name.to_string(), Path::new(folder)),
            _ => (last_part(Path::new(text)), Path::new(text)),
        };
        let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(format!(
                "{name:?} cannot be a model's name; give one of letters, digits, `.`, `_` and `-`, as in en-upos={}",
                folder.display()
            ));
        }
        Ok(Self { name, folder: folder.to_path_buf(), target: None })
    }
}

/// Returns the last part of a path that says something: `cells/NAME/model` is NAME.
fn last_part(folder: &Path) -> String {
    let names: Vec<_> = folder.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let mut names = names.into_iter().rev().filter(|name| name != "." && name != "/");
    match names.next() {
        Some(name) if name == "model" => names.next().unwrap_or(name),
        name => name.unwrap_or_default(),
    }
}

impl ServedModels {
    /// Loads taggers; what is equal in them is kept and computed once.
    ///
    /// # Errors
    /// If two have the same name, or one cannot be loaded.
    pub fn load(folders: &[NamedFolder], options: &Options) -> Result<Self> {
        for (at, NamedFolder { name, folder, .. }) in folders.iter().enumerate() {
            if let Some(same) = folders[..at].iter().find(|earlier| earlier.name == *name) {
                bail!(ModelMismatch(format!(
                    "{} and {} both have the name {name}; give names, as in {name}-2={}",
                    same.folder.display(),
                    folder.display(),
                    folder.display()
                )));
            }
        }
        let taggers = Taggers::open_many(folders.iter().map(|named| &named.folder), options)?;
        let choose = |(named, model): (&NamedFolder, &TaggerModel)| {
            let chosen = TagTarget::choose(named.target.as_ref(), options.task.as_deref(), model);
            match (chosen, &named.target) {
                (Err(mismatch), Some(_)) => Err(mismatch),
                (chosen, _) => Ok(chosen.map_err(|ModelMismatch(reason)| reason)),
            }
        };
        let targets = folders.iter().zip(taggers.models()).map(choose).collect::<Result<_, _>>()?;
        let labels = |model: &TaggerModel| model.labels().iter().map(|label| label.as_str().into()).collect();
        let labels = taggers.models().map(labels).collect();
        let names = folders.iter().map(|named| named.name.clone()).collect();
        Ok(Self { taggers, names, targets, labels })
    }

    /// Returns the loaded taggers, in the order of their folders.
    #[must_use]
    pub fn taggers(&self) -> &Taggers {
        &self.taggers
    }

    /// Returns the names of the models, in the order of their folders.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the place of a model's labels in CoNLL-U, if it has one.
    pub(crate) fn target(&self, number: usize) -> Result<&TagTarget, Refusal> {
        self.targets[number].as_ref().map_err(|reason| {
            Refusal::unusable(format!(
                "the labels of {} have no column of CoNLL-U: {reason}",
                self.names[number]
            ))
        })
    }

    /// Returns the number of a model.
    pub(crate) fn find(&self, name: &str) -> Result<usize, Refusal> {
        self.names.iter().position(|known| known == name).ok_or_else(|| {
            Refusal::not_found(format!("there is no model {name:?}; there are {}", self.names.join(", ")))
        })
    }

    /// Returns the numbers of models, each once; of all if none is named.
    pub(crate) fn find_all<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<usize>, Refusal> {
        let mut numbers = Vec::new();
        for name in names {
            let number = self.find(name)?;
            if numbers.contains(&number) {
                return Err(Refusal::unusable(format!("the model {name} is named twice; name it once")));
            }
            numbers.push(number);
        }
        Ok(if numbers.is_empty() { (0..self.names.len()).collect() } else { numbers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_a_name() {
        for (text, expected) in [
            ("en=study/cells/a", Some(("en", "study/cells/a"))),
            ("study/cells/en-first-4", Some(("en-first-4", "study/cells/en-first-4"))),
            ("study/cells/en-first-4/model/", Some(("en-first-4", "study/cells/en-first-4/model/"))),
            ("./model", Some(("model", "./model"))),
            ("a/b=c/d", Some(("d", "a/b=c/d"))),
            ("=x", None),
            ("a b=x", None),
            ("/", None),
        ] {
            let found: Result<NamedFolder, _> = text.parse();
            let found =
                found.as_ref().ok().map(|named| (named.name.as_str(), named.folder.to_str().unwrap_or("")));
            assert_eq!(found, expected, "{text}");
        }
    }
}
