//! `sweep --send-tracked`: sends what an MLflow server did not take while cells ran.

use std::path::{Path, PathBuf};

use frostline_record::{Mlflow, Sweep};

use crate::ending::Ending;
use crate::fault::{Blame as _, CommandResult, environment_fault};
use crate::{place, track};

/// Sends what a sweep's folder has kept, and removes each file that was sent.
///
/// # Errors
/// If there is no sweep, its plan names no server, or the server does not take everything.
pub fn send_tracked(folder: &Path) -> CommandResult<Ending> {
    let sweep = Sweep::read(folder).blame_environment()?;
    let Mlflow::Server(url) = &sweep.plan.track.mlflow else {
        return environment_fault(format!(
            "{}: its plan sends nothing to an MLflow server",
            place::shown_path(folder)
        ));
    };
    let files = list_unsent(&track::unsent_folder(folder));
    if files.is_empty() {
        say!("sent      nothing: everything is at {url} already");
        return Ok(Ending::Done);
    }
    send_files(url, &files)
}

fn list_unsent(unsent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(unsent).into_iter().flatten().flatten();
    let is_ours = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_ours).collect();
    files.sort();
    files
}

#[cfg(feature = "fetch")]
fn send_files(url: &str, files: &[PathBuf]) -> CommandResult<Ending> {
    use std::time::{Duration, Instant};

    use frostline_track::{Credentials, MlflowServer, Tracker as _};

    use crate::offline::{OFFLINE, environment_variable, is_offline};
    use crate::units::count_noun;

    /// The time for what one cell has left.
    const MOST: Duration = Duration::from_secs(3600);

    if is_offline(environment_variable)? {
        return environment_fault(format!("{OFFLINE} is set: no connection to {url} is opened"));
    }
    let mut sent = 0;
    for file in files {
        let mut server = MlflowServer::new(url, Credentials::from_environment()).blame_environment()?;
        let (_, values, damaged) = server.read_unsent(file).blame_environment()?;
        if damaged > 0 {
            note!(
                "warning   {}: {} damaged, and left out",
                place::shown_path(file),
                count_noun(damaged, "line")
            );
        }
        let all = server.finish(Instant::now() + MOST);
        all.map_err(|error| anyhow::anyhow!("{error}; {} stays, for another try", place::shown_path(file)))
            .blame_environment()?;
        frostline_files::remove(file).blame_environment()?;
        sent += values;
    }
    say!("sent      {} of {} to {url}", count_noun(sent, "value"), count_noun(files.len(), "cell"));
    let _ = files[0].parent().is_some_and(frostline_files::remove_empty_folder);
    Ok(Ending::Done)
}

#[cfg(not(feature = "fetch"))]
fn send_files(url: &str, _files: &[PathBuf]) -> CommandResult<Ending> {
    track::check_server(url).map(|()| Ending::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_cell_are_sent() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["b.jsonl", "a.jsonl", "x.part", "notes"] {
            frostline_files::write(&folder.path().join(name), b"").expect("written");
        }
        assert_eq!(list_unsent(folder.path()), ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name)));
        assert!(list_unsent(&folder.path().join("none")).is_empty());
    }
}
