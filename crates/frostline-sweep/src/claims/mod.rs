//! Claims of this process: on the cells that it runs, and on the files of a sweep's folder while it writes them. So any
//! number of processes on any number of machines share the folder.

mod beat;
mod jobs;
mod pull;
#[cfg(test)]
mod simulation;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use frostline_files::claim::{Attempt, CLAIM, Claimant, Disk, Owner, is_attempt};
use frostline_files::is_part;

use crate::fault::{Blame as _, CommandResult};
use crate::place;
use beat::Beats;

pub(crate) use jobs::ClaimedJobs;

/// How often a file that another process is writing is looked at.
const PAUSE: Duration = Duration::from_millis(100);

/// The claims of this process.
#[derive(Debug)]
pub(crate) struct ProcessClaims {
    claimant: Arc<Claimant<Disk>>,
    beats: Beats,
}

impl ProcessClaims {
    /// Creates the claims of a command of this name. They are respected for the lease after this process has died.
    pub(crate) fn for_command(command: &str, lease: Duration) -> Self {
        let claimant = Arc::new(Claimant::new(Disk, Owner::this_process(command, lease)));
        Self { beats: Beats::start_touching(claimant.clone()), claimant }
    }

    /// Returns the identity under which this process claims.
    pub(crate) fn own_claimant(&self) -> &Owner {
        self.claimant.me()
    }

    /// Claims a folder's own files, and removes what killed processes left of them; waits while another process writes
    /// them.
    pub(crate) fn hold_folder(&self, folder: &Path) -> CommandResult<Held<'_>> {
        let mut said = false;
        loop {
            match self.try_hold(folder)? {
                Ok(held) => return Ok(held),
                Err(owner) => {
                    if !std::mem::replace(&mut said, true) {
                        note!("waiting   for {owner}, which writes to {}", place::shown_path(folder));
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    /// As [`ProcessClaims::hold_folder`] without waiting: the other process, if there is one.
    pub(crate) fn try_hold(&self, folder: &Path) -> CommandResult<std::result::Result<Held<'_>, Owner>> {
        frostline_files::create_own_folder(folder).blame_environment()?;
        let file = folder.join(CLAIM);
        match self.claimant.attempt(&file).map_err(|error| claim_error(folder, &error)).blame_environment()? {
            Attempt::Busy(owner) => Ok(Err(owner)),
            Attempt::Claimed(claim, _) => {
                self.beats.add_claim(claim);
                clear_leftovers(folder);
                Ok(Ok(Held { claims: self, file }))
            }
        }
    }

    /// Removes what killed processes left in a folder that no process needs to hold any more, unless one holds it.
    pub(crate) fn remove_leftovers_unless_held(&self, folder: &Path) {
        if !find_leftovers(folder).is_empty() {
            let _ = self.try_hold(folder);
        }
    }
}

/// A folder's own files, which only this process writes as long as this value exists.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    claims: &'a ProcessClaims,
    file: PathBuf,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.claims.beats.release_claim(&self.file);
    }
}

/// Returns the error for a folder that cannot be claimed, with what to do.
fn claim_error(folder: &Path, error: &std::io::Error) -> anyhow::Error {
    let folder = place::shown_path(folder);
    if error.kind() == std::io::ErrorKind::Unsupported {
        return anyhow!(
            "{folder}: its file system has no hard links ({error}), by which processes agree on who runs a cell; give an \
             --out on another disk"
        );
    }
    if error.kind() == std::io::ErrorKind::PermissionDenied {
        // So do FAT and exFAT refuse a hard link.
        return anyhow!(
            "{folder}: no claim can be made ({error}): it must be writable, and its file system must have hard links, by which \
             processes agree on who runs a cell; give another --out"
        );
    }
    if error.kind() == std::io::ErrorKind::InvalidInput {
        return anyhow!("{folder}/{CLAIM}: {error}; remove it, and run the same command again");
    }
    anyhow!(
        "{folder}: no claim can be made ({error}); free some disk or give another --out, and run the same command again"
    )
}

/// Removes what killed processes left in a folder that this process holds. If that fails, the files only take space.
fn clear_leftovers(folder: &Path) {
    find_leftovers(folder).iter().for_each(|path| drop(frostline_files::remove(path)));
}

/// Finds what killed processes left in a folder, and in its folders unless these have their own holders.
fn find_leftovers(folder: &Path) -> Vec<PathBuf> {
    // The sweep's own folder: cells, report and timings are claimed one by one.
    let is_shared = folder.join("cells").is_dir();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of_entry = |entry: fs::DirEntry| {
        let name = entry.file_name();
        if !is_shared && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find_leftovers(&entry.path())
        } else if name.to_str().is_some_and(|name| is_part(name) || is_attempt(name)) {
            vec![entry.path()]
        } else {
            Vec::new()
        }
    };
    entries.flat_map(of_entry).collect()
}
