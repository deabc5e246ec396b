//! Copies the model of a cell to a separate Hugging Face folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use frostline_record::{Record, SavedFiles};
use frostline_tagger::ModelFolder;

use crate::card;

/// The folder for the copy exists and is not empty.
#[derive(Debug, thiserror::Error)]
#[error("{} exists already; choose another --out", .0.display())]
pub struct OutputExists(pub PathBuf);

/// The model that a cell saved, checked and opened.
pub struct SavedFolder {
    /// The cell's record.
    pub record: Record,
    /// The model's folder.
    pub model: ModelFolder,
    files: SavedFiles,
}

impl SavedFolder {
    /// Opens the model in a cell's folder, and checks that it has the tags of its record.
    ///
    /// # Errors
    /// If the cell has no record, failed or saved no model, or the model does not open.
    pub fn open(run: &Path) -> Result<Self> {
        let cell = run.display();
        let (record, result) = crate::cell::read_finished(run).with_context(|| cell.to_string())?;
        let place = run.join("model");
        ensure!(
            place.is_dir(),
            "{cell} holds no saved model; run the sweep again with `--set save.model=true`"
        );
        let model = ModelFolder::open(&place)?;
        model.check()?;
        model.check_names()?;
        ensure!(
            model.tags == result.facts().tags,
            "{}: its id2label names other tags than the cell's record; run the cell again",
            place.join("config.json").display()
        );
        let files = result.files.clone();
        Ok(Self { record, model, files })
    }
}

/// Checks the model saved in the cell's folder as [`SavedFolder::open`] does, then copies it to
/// `out`, with a model card. Returns the record and the files.
///
/// # Errors
/// If [`SavedFolder::open`] fails, or `out` contains files ([`OutputExists`]) or cannot be written.
pub fn export(run: &Path, out: &Path) -> Result<(Record, Vec<String>)> {
    let (record, mut files) = check_saved(run)?;
    let from = run.join("model");
    write_folder(out, |part| {
        for name in &files {
            frostline_files::copy(&from.join(name), &part.join(name))?;
        }
        Ok(())
    })?;
    if !files.iter().any(|file| file == card::FILE) {
        // The cell is older than cards, or could not write one.
        card::write(out, &record)?;
        files.insert(0, card::FILE.into());
    }
    Ok((record, files))
}

/// Checks the model saved in the cell's folder as [`SavedFolder::open`] does. Returns the record and the names of the model's files.
///
/// # Errors
/// If [`SavedFolder::open`] fails.
pub fn check_saved(run: &Path) -> Result<(Record, Vec<String>)> {
    let SavedFolder { record, model, files } = SavedFolder::open(run)?;
    let files = exported_names(&model.place, &files)?;
    Ok((record, files))
}

/// Returns the files of a saved model: the files listed in the record, and the card. For an older record
/// without a list, these are the files from which a model is read, so that a script or pickle that was added
/// later is not copied.
fn exported_names(model: &Path, saved: &SavedFiles) -> Result<Vec<String>> {
    let listed: Vec<&str> = saved.names_in("model").collect();
    let is_read =
        |name: &str| name.ends_with(".json") || name.ends_with(".safetensors") || name == "vocab.txt";
    let mut names = Vec::new();
    for entry in model.read_dir()? {
        let Ok(name) = entry?.file_name().into_string() else { continue };
        if name == card::FILE || listed.contains(&name.as_str()) || (listed.is_empty() && is_read(&name)) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Checks that a folder is empty or does not exist.
pub(crate) fn check_new(out: &Path) -> Result<(), OutputExists> {
    let has_files = out.read_dir().is_ok_and(|mut entries| entries.next().is_some()) || out.is_file();
    if has_files { Err(OutputExists(out.to_path_buf())) } else { Ok(()) }
}

/// Writes files into a new folder, so that `out` is either whole or not there.
pub(crate) fn write_folder(out: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let place = out.display();
    check_new(out)?;
    // This name cannot be the name of an existing folder of another process.
    let part = out.with_added_extension(format!("part-{}", std::process::id()));
    let cannot = |error: anyhow::Error| anyhow!("{place}: cannot be written: {error}; choose another --out");
    let begin = || {
        frostline_files::create_folder(out.parent().unwrap_or(out))?;
        frostline_files::create_new_folder(&part)
    };
    begin().map_err(|error| cannot(error.into()))?;
    let written = || -> Result<()> {
        write(&part)?;
        // An empty folder of that name may be there.
        let _ = frostline_files::remove_empty_folder(out);
        frostline_files::rename(&part, out)?;
        Ok(())
    };
    written().map_err(|error| {
        let _ = frostline_files::remove_own_folder(&part);
        cannot(error)
    })
}
