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

/// Checks that the model saved in the cell's folder opens and has the tags of its record, then copies it to
/// `out`, with a model card. Returns the record and the files.
///
/// # Errors
/// If the cell has no record, failed or saved no model, the model does not open, `out` contains files
/// ([`OutputExists`]) or cannot be written.
pub fn export(run: &Path, out: &Path) -> Result<(Record, Vec<String>)> {
    let (record, files) = check_saved(run)?;
    let mut files = copy(&run.join("model"), &files, out)?;
    if !files.iter().any(|file| file == card::FILE) {
        // The cell is older than cards, or could not write one.
        card::write(out, &record)?;
        files.insert(0, card::FILE.into());
    }
    Ok((record, files))
}

/// Checks that the model saved in the cell's folder opens and has the tags of its record. Returns the record and the names of the
/// model's files.
///
/// # Errors
/// If the cell has no record, failed or saved no model, or the model does not open.
pub fn check_saved(run: &Path) -> Result<(Record, Vec<String>)> {
    let cell = run.display();
    let (record, result) = crate::cell::finished(run).with_context(|| cell.to_string())?;
    let model = run.join("model");
    ensure!(model.is_dir(), "{cell} holds no saved model; run the sweep again with `--set save.model=true`");
    let opened = ModelFolder::open(&model)?;
    opened.check()?;
    opened.check_names()?;
    ensure!(
        opened.tags == result.facts().tags,
        "{}: its id2label names other tags than the cell's record; run the cell again",
        model.join("config.json").display()
    );
    let files = names(&model, &result.files)?;
    Ok((record, files))
}

/// Returns the files of a saved model: the files listed in the record, and the card. For an older record
/// without a list, these are the files from which a model is read, so that a script or pickle that was added
/// later is not copied.
fn names(model: &Path, saved: &SavedFiles) -> Result<Vec<String>> {
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

/// Copies files of a folder, so that `out` is either whole or not there.
fn copy(from: &Path, names: &[String], out: &Path) -> Result<Vec<String>> {
    let place = out.display();
    if out.read_dir().is_ok_and(|mut entries| entries.next().is_some()) || out.is_file() {
        return Err(OutputExists(out.to_path_buf()).into());
    }
    // This name cannot be the name of an existing folder of another process.
    let part = out.with_added_extension(format!("part-{}", std::process::id()));
    let cannot = |error: anyhow::Error| anyhow!("{place}: cannot be written: {error}; choose another --out");
    let begin = || {
        frostline_files::create_folder(out.parent().unwrap_or(out))?;
        frostline_files::create_new_folder(&part)
    };
    begin().map_err(|error| cannot(error.into()))?;
    let copied = || -> Result<Vec<String>> {
        for name in names {
            frostline_files::copy(&from.join(name), &part.join(name))?;
        }
        // An empty folder of that name may be there.
        let _ = frostline_files::remove_empty_folder(out);
        frostline_files::rename(&part, out)?;
        Ok(names.to_vec())
    };
    copied().map_err(|error| {
        let _ = frostline_files::remove_own_folder(&part);
        cannot(error)
    })
}
