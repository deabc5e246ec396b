//! The model of a cell, copied to a Hugging Face folder of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use frostline_record::Record;
use frostline_tagger::ModelFolder;

use crate::card;

/// The folder for the copy exists and is not empty.
#[derive(Debug, thiserror::Error)]
#[error("{} exists already; choose another --out", .0.display())]
pub struct OutputExists(pub PathBuf);

/// Checks that the model saved in the cell's folder opens and has the tags of its record, then
/// copies it to `out`, with a model card. Gives the record and the files.
///
/// # Errors
/// Where the cell holds no record, failed or saved no model, the model does not open, `out` holds files
/// ([`OutputExists`]) or cannot be written.
pub fn export(run: &Path, out: &Path) -> Result<(Record, Vec<String>)> {
    let cell = run.display();
    let (record, result) = crate::cell::finished(run).with_context(|| cell.to_string())?;
    let model = run.join("model");
    ensure!(model.is_dir(), "{cell} holds no saved model; run the sweep again with `--set save.model=true`");
    let opened = ModelFolder::open(&model)?;
    opened.check()?;
    ensure!(
        opened.tags == result.facts().tags,
        "{}: its id2label names other tags than the cell's record; run the cell again",
        model.join("config.json").display()
    );
    let mut files = copy(&model, out)?;
    if !files.iter().any(|file| file == card::FILE) {
        // The cell is older than cards, or could not write one.
        card::write(out, &record)?;
        files.insert(0, card::FILE.into());
    }
    Ok((record, files))
}

/// Copies all files of a folder, so that `out` is either whole or not there.
fn copy(from: &Path, out: &Path) -> Result<Vec<String>> {
    let place = out.display();
    if out.read_dir().is_ok_and(|mut entries| entries.next().is_some()) || out.is_file() {
        return Err(OutputExists(out.to_path_buf()).into());
    }
    // Not a name that somebody else may have given to a folder.
    let part = out.with_added_extension(format!("part-{}", std::process::id()));
    let cannot = |error: anyhow::Error| anyhow!("{place}: cannot be written: {error}; choose another --out");
    let begin = || {
        frostline_files::create_folder(out.parent().unwrap_or(out))?;
        frostline_files::create_new_folder(&part)
    };
    begin().map_err(|error| cannot(error.into()))?;
    let copied = || -> Result<Vec<String>> {
        let mut files = Vec::new();
        for entry in from.read_dir()? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                frostline_files::copy(&entry.path(), &part.join(entry.file_name()))?;
                files.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        // An empty folder of that name may be there.
        let _ = frostline_files::remove_empty_folder(out);
        frostline_files::rename(&part, out)?;
        files.sort();
        Ok(files)
    };
    copied().map_err(|error| {
        let _ = frostline_files::remove_own_folder(&part);
        cannot(error)
    })
}
