//! MLflow's file store.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::json;

use super::{NAME_TAG, RUN_TAG, run_status};
use crate::run::unix_milliseconds;
use crate::{Ending, Point, Run, TrackError, Tracker};

/// Writes a folder `mlruns` in the format of MLflow's file store, for machines without access to a server.
///
/// `mlflow ui --backend-store-uri FOLDER` shows it; from MLflow 3.7 on with `MLFLOW_ALLOW_FILE_STORE=true`, or
/// after `mlflow migrate-filestore` into a database. A resumed run stays the same run and gets more values.
#[derive(Debug)]
pub struct MlflowFolder {
    folder: PathBuf,
    runs: HashMap<String, StoredRun>,
}

#[derive(Debug)]
struct StoredRun {
    folder: PathBuf,
    meta: serde_json::Value,
    /// Lines by the name of their metric.
    waiting: BTreeMap<Cow<'static, str>, String>,
}

impl MlflowFolder {
    /// Writes into a folder, which MLflow calls `mlruns`.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), runs: HashMap::new() }
    }

    /// Returns the folder of an experiment, which is made if it is missing.
    fn experiment_folder(&self, name: &str, now: i64) -> Result<(String, PathBuf), TrackError> {
        // MLflow's own ids are numbers too, made of a clock.
        let id = format!("{:010}", crc32fast::hash(name.as_bytes()));
        let folder = self.folder.join(&id);
        let meta = folder.join("meta.yaml");
        if !meta.exists() {
            frostline_files::create_folder(&folder)?;
            let text = json!({
                "artifact_location": folder.display().to_string(),
                "creation_time": now,
                "experiment_id": id,
                "last_update_time": now,
                "lifecycle_stage": "active",
                "name": name,
            });
            write_file(&meta, &text.to_string())?;
        }
        Ok((id, folder))
    }
}

impl Tracker for MlflowFolder {
    fn name(&self) -> String {
        format!("MLflow in {}", self.folder.display())
    }

    fn start(&mut self, run: &Run) -> Result<(), TrackError> {
        let now = unix_milliseconds(run.started);
        let (experiment, folder) = self.experiment_folder(&run.experiment, now)?;
        // MLflow's ids have 32 hexadecimal digits.
        let id: String = run.id.chars().cycle().take(32).collect();
        let folder = folder.join(&id);
        for part in ["metrics", "params", "tags", "artifacts"] {
            frostline_files::create_folder(&folder.join(part))?;
        }
        for parameter in &run.parameters {
            write_file(&folder.join("params").join(&parameter.name), &parameter.value.text())?;
        }
        for (name, text) in [(NAME_TAG, &run.name), (RUN_TAG, &run.id)] {
            write_file(&folder.join("tags").join(name), text)?;
        }
        let meta = json!({
            "artifact_uri": folder.join("artifacts").display().to_string(),
            "end_time": null,
            "entry_point_name": "",
            "experiment_id": experiment,
            "lifecycle_stage": "active",
            "run_id": id,
            "run_uuid": id,
            "run_name": run.name,
            "source_name": "",
            "source_type": 4,
            "source_version": "",
            "start_time": now,
            "status": 1,
            "tags": [],
            "user_id": "",
        });
        let run_now = StoredRun { folder, meta, waiting: BTreeMap::new() };
        run_now.write_meta()?;
        self.runs.insert(run.id.clone(), run_now);
        Ok(())
    }

    fn log(&mut self, run: &str, point: &Point) -> Result<(), TrackError> {
        let Some(run) = self.runs.get_mut(run) else { return Ok(()) };
        let time = unix_milliseconds(point.time);
        for (name, value) in &point.values {
            let lines = run.waiting.entry(name.clone()).or_default();
            *lines += &format!("{time} {value} {}\n", point.step);
        }
        Ok(())
    }

    fn end(&mut self, run: &str, at: SystemTime, ending: Ending) -> Result<(), TrackError> {
        let Some(mut run) = self.runs.remove(run) else { return Ok(()) };
        run.flush()?;
        run.meta["end_time"] = unix_milliseconds(at).into();
        run.meta["status"] = run_status(ending).1.into();
        run.write_meta()
    }

    fn flush(&mut self) -> Result<(), TrackError> {
        self.runs.values_mut().try_for_each(StoredRun::flush)
    }
}

impl StoredRun {
    fn write_meta(&self) -> Result<(), TrackError> {
        write_file(&self.folder.join("meta.yaml"), &self.meta.to_string())
    }

    fn flush(&mut self) -> Result<(), TrackError> {
        while let Some(first) = self.waiting.first_entry() {
            let path = self.folder.join("metrics").join(&**first.key());
            if let Some(group) = path.parent() {
                frostline_files::create_folder(group)?;
            }
            frostline_files::append(&path)?.add(first.get().as_bytes())?;
            first.remove();
        }
        Ok(())
    }
}

/// Writes a small file. JSON is also YAML, in which MLflow keeps its own.
fn write_file(path: &Path, text: &str) -> Result<(), TrackError> {
    Ok(frostline_files::write(path, text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{end, point, run};

    /// All files below a folder with their text, its own path replaced.
    fn collect_files(folder: &Path, top: &Path, found: &mut Vec<String>) {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                collect_files(&path, top, found);
            } else {
                let name = path.strip_prefix(top).expect("below it").display();
                let text = std::fs::read_to_string(&path).expect("text");
                found.push(format!("{name}: {}", text.replace(&top.display().to_string(), "TOP").trim_end()));
            }
        }
    }

    #[test]
    fn a_run_lies_as_mlflow_reads_it_and_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = run(0);
        for (step, ending) in [(5, Ending::Stopped), (9, Ending::Finished)] {
            let mut tracker = MlflowFolder::new(folder.path());
            tracker.start(&run).expect("started");
            tracker.log(&run.id, &point(step, 0.75)).expect("logged");
            tracker.flush().expect("flushed");
            tracker.log(&run.id, &point(step + 1, 0.5)).expect("logged");
            tracker.end(&run.id, end(), ending).expect("ended");
        }
        let mut found = Vec::new();
        collect_files(folder.path(), folder.path(), &mut found);
        insta::assert_snapshot!(found.join("\n"));
    }
}
