//! Finds the folder of the requested model, and checks that the model labels words.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use frostline_model::HeadKind;
use frostline_record::{SavedModel, Unit};

use crate::model_folder::ModelFolder;

/// The options of a tagger do not fit its model or folder.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ModelMismatch(pub String);

/// A model that labels words.
pub(crate) struct FoundModel {
    pub model: ModelFolder,
    pub saved: Option<SavedModel>,
}

/// A model folder with the metadata that Frostline saved in it.
struct CandidateFolder {
    place: PathBuf,
    saved: Option<SavedModel>,
}

/// Finds the model of a task, or of the headline task if none is given.
pub(crate) fn find_model(folder: &Path, task: Option<&str>) -> Result<FoundModel> {
    let all = find_candidates(folder)?;
    let chosen = match task {
        None => &all[0],
        Some(task) => all.iter().find(|one| one.has_task(task)).ok_or_else(|| {
            let there: Vec<&str> = all.iter().flat_map(CandidateFolder::tasks_of_head).collect();
            let there = if there.is_empty() { "none are named".into() } else { there.join(", ") };
            ModelMismatch(format!(
                "{}: no saved head of a task `{task}`; there are: {there}",
                folder.display()
            ))
        })?,
    };
    let place = chosen.place.display();
    let model = ModelFolder::open(&chosen.place)?;
    let unit = chosen.saved.as_ref().map(|saved| saved.unit);
    if unit == Some(Unit::Sentences) || model.head().kind != HeadKind::Linear {
        let words = all.iter().filter(|one| one.saved.as_ref().is_some_and(|it| it.unit == Unit::Words));
        let words: Vec<&str> = words.flat_map(CandidateFolder::tasks_of_head).collect();
        let next = match words.is_empty() {
            true => "give a model that labels words".into(),
            false => format!("a head for words: --task {}", words.join(" or --task ")),
        };
        return Err(
            ModelMismatch(format!("{place}: its head labels whole sentences, not words; {next}")).into()
        );
    }
    if !model.has_head() {
        return Err(ModelMismatch(format!(
            "{place}: the weights hold an encoder without a classifier, so there are no tags; train one, or \
             give the folder of a trained tagger"
        ))
        .into());
    }
    Ok(FoundModel { model, saved: chosen.saved.clone() })
}

/// Returns the models in a folder, at least one. The headline task's comes first.
fn find_candidates(folder: &Path) -> Result<Vec<CandidateFolder>> {
    let shown = folder.display();
    let entries =
        fs::read_dir(folder).map_err(|error| anyhow!("{shown}: cannot be read: {error}; check the path"))?;
    let mut places = Vec::new();
    if folder.join("config.json").exists() {
        places.push(folder.to_path_buf());
    } else {
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if (name == "model" || name.starts_with("model-")) && path.join("config.json").exists() {
                places.push(path);
            }
        }
        // `model` comes before every `model-NAME`.
        places.sort();
    }
    if places.is_empty() {
        let cells = folder.join("cells").is_dir();
        let next = match (cells, folder.join("record.json").exists()) {
            (true, _) => "it is a sweep's folder; give the folder of one of its cells, such as cells/NAME",
            (_, true) if folder.join("model").is_dir() => {
                "its model/ has no config.json; copy the folder again, or delete it and run the sweep again"
            }
            (_, true) => "the cell saved no model; run the sweep again with `--set save.model=true`",
            _ => "give a model's folder, or the folder of a cell that ran with `--set save.model=true`",
        };
        bail!("{shown} holds no model: {next}");
    }
    let candidate = |place: PathBuf| Ok(CandidateFolder { saved: SavedModel::read(&place)?, place });
    places.into_iter().map(candidate).collect()
}

impl CandidateFolder {
    /// Returns the tasks that share the model's head; empty if `frostline.json` is missing.
    fn tasks_of_head(&self) -> Vec<&str> {
        match &self.saved {
            Some(saved) => saved.tasks.keys().map(String::as_str).collect(),
            None => Vec::new(),
        }
    }

    fn has_task(&self, task: &str) -> bool {
        self.tasks_of_head().contains(&task)
    }
}
