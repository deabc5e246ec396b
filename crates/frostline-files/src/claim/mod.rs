//! Claims on work that several processes on several machines share a folder for: exactly one of them does it.
//!
//! A claim is a file. It is made by `link()`, which succeeds for one; its holder touches it while it works; its age is
//! judged by the file server's clock; and one whose holder has died is taken away by `rename`, which succeeds for one.
//! No file is locked: on many cluster file systems locks are missing, or hold on one machine only.

mod owner;
mod shared;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

pub(crate) use owner::new_token;
pub use owner::{LEASE, LONGEST_LEASE, Owner};
pub use shared::{Disk, Seen, SharedFiles};

/// File name of the claim on a folder. The claim on a file has the file's name with this suffix.
pub const CLAIM: &str = ".claim";

/// A claim that this process made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkClaim {
    /// The file of the claim.
    pub file: PathBuf,
    /// The whole text of the file, which is unique to this claim.
    pub text: String,
}

/// The result of an attempt to claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The work is this process's. If it was taken over, from whom.
    Claimed(WorkClaim, Option<Owner>),
    /// Another process holds the claim, or was faster.
    Busy(Owner),
}

/// Makes claims for one process.
#[derive(Debug)]
pub struct Claimant<F> {
    files: F,
    me: Owner,
    /// The last reading of the file server's clock, and when that was by this process's.
    clock: Mutex<Option<(SystemTime, Duration)>>,
}

impl<F: SharedFiles> Claimant<F> {
    /// Returns a claimant that is `me`.
    pub fn new(files: F, me: Owner) -> Self {
        Self { files, me, clock: Mutex::new(None) }
    }

    /// Who claims.
    pub fn me(&self) -> &Owner {
        &self.me
    }

    /// Returns the files on which it claims.
    pub fn files(&self) -> &F {
        &self.files
    }

    /// Tries to make the claim `file`, and takes it over if its holder has died. Its folder must exist.
    ///
    /// # Errors
    /// If the folder cannot be written, or the file system has no hard links.
    pub fn attempt(&self, file: &Path) -> io::Result<Attempt> {
        // Most claims are young, which costs one look.
        if let Some(seen) = self.files.look(file)? {
            let owner = Owner::parse(&seen.bytes);
            if self.server_time().is_some_and(|now| !is_stale(&seen, &owner, now)) {
                return Ok(Attempt::Busy(owner));
            }
        }
        let me = self.me.with_new_token();
        let claim = WorkClaim { file: file.into(), text: me.text() };
        let private = file_beside(file, &me.token, "");
        // Creating a private file also reads the server's clock.
        let now = match self.files.create(&private, claim.text.as_bytes()) {
            // A new holder has cleared it away in this moment. Without a folder there is none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => match self.files.look(file)? {
                Some(seen) => return Ok(Attempt::Busy(Owner::parse(&seen.bytes))),
                None => self.files.create(&private, claim.text.as_bytes())?,
            },
            created => created?,
        };
        self.set_clock(now);
        let taken = self.take_over(claim, &private, now);
        let removed = self.files.remove(&private);
        let taken = taken?;
        // A remaining file is removed with the next claim.
        let _ = removed;
        Ok(taken)
    }

    fn take_over(&self, claim: WorkClaim, private: &Path, now: SystemTime) -> io::Result<Attempt> {
        let file = claim.file.clone();
        if self.link(private, &file)? {
            return Ok(Attempt::Claimed(claim, None));
        }
        let Some(seen) = self.files.look(&file)? else {
            // The claim was just released, or becomes visible late.
            return Ok(match self.link(private, &file)? {
                true => Attempt::Claimed(claim, None),
                false => Attempt::Busy(Owner::parse(b"")),
            });
        };
        let owner = Owner::parse(&seen.bytes);
        if !is_stale(&seen, &owner, now) {
            return Ok(Attempt::Busy(owner));
        }
        let aside = file_beside(&file, &Owner::parse(claim.text.as_bytes()).token, ".stale");
        // One of several thieves succeeds.
        if !self.files.rename(&file, &aside)? {
            return Ok(Attempt::Busy(owner));
        }
        let found = self.files.look(&aside)?;
        if found.as_ref() != Some(&seen) {
            // The holder has touched the claim, or another process has claimed in its place. If a third process
            // has claimed by now, the holder detects this before it records anything.
            self.link(&aside, &file)?;
            self.files.remove(&aside)?;
            return Ok(Attempt::Busy(found.map_or(owner, |found| Owner::parse(&found.bytes))));
        }
        self.files.remove(&aside)?;
        Ok(match self.link(private, &file)? {
            true => Attempt::Claimed(claim, Some(owner)),
            false => Attempt::Busy(owner),
        })
    }

    /// Like [`SharedFiles::link`]; returns false also if a later holder has removed `from`.
    fn link(&self, from: &Path, to: &Path) -> io::Result<bool> {
        match self.files.link(from, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            other => other,
        }
    }

    /// Touches a claim. Returns whether this process still holds it.
    ///
    /// # Errors
    /// If this cannot be determined now.
    pub fn keep(&self, claim: &WorkClaim) -> io::Result<bool> {
        let held = is_held(&self.files, claim)?;
        if held {
            match self.files.touch(&claim.file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return is_held(&self.files, claim),
                touched => touched?,
            }
        }
        Ok(held)
    }

    /// Gives a claim up, if it is still held.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub fn release(&self, claim: &WorkClaim) -> io::Result<()> {
        match self.files.look(&claim.file)? {
            Some(seen) if seen.bytes == claim.text.as_bytes() => self.files.remove(&claim.file),
            _ => Ok(()),
        }
    }

    /// Returns the holder of a claim and, if the server's clock was read before, how long it has not been
    /// touched.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn holder(&self, file: &Path) -> io::Result<Option<(Owner, Option<Duration>)>> {
        let seen = self.files.look(file)?;
        Ok(seen.map(|seen| {
            let age = self.server_time().map(|now| now.duration_since(seen.modified).unwrap_or_default());
            (Owner::parse(&seen.bytes), age)
        }))
    }

    /// Assumes that this machine's clock equals the file server's. Use it only to show ages: a claimant that
    /// makes claims reads the server's clock.
    pub fn guess_clock(&self) {
        self.set_clock(SystemTime::now());
    }

    /// Reads the file server's clock with a private file in this folder.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn read_clock(&self, folder: &Path) -> io::Result<SystemTime> {
        let probe = file_beside(&folder.join(CLAIM), &owner::new_token(), "");
        let now = self.files.create(&probe, b"")?;
        self.set_clock(now);
        self.files.remove(&probe)?;
        Ok(now)
    }

    fn set_clock(&self, now: SystemTime) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, self.files.elapsed()));
    }

    /// Returns the file server's present, as far as it is known from the last reading. While a machine sleeps
    /// this falls behind, which makes claims look younger than they are.
    fn server_time(&self) -> Option<SystemTime> {
        let (now, read) = (*self.clock.lock().unwrap_or_else(PoisonError::into_inner))?;
        Some(now + self.files.elapsed().saturating_sub(read))
    }
}

/// Returns whether the holder of a claim has died, as far as can be known.
fn is_stale(seen: &Seen, owner: &Owner, now: SystemTime) -> bool {
    let age = now.duration_since(seen.modified).unwrap_or_default();
    age >= owner.lease || owner.has_ended()
}

/// Returns the path of a file next to a claim that belongs to one attempt.
fn file_beside(file: &Path, token: &str, ending: &str) -> PathBuf {
    file.with_added_extension(format!("{token}{ending}"))
}

/// Returns whether a file is a temporary file of an attempt to claim. The holder can remove files that a killed
/// process left behind.
#[must_use]
pub fn is_attempt(name: &str) -> bool {
    let token = name.split_once(CLAIM).and_then(|(_, rest)| rest.strip_prefix('.'));
    let token = token.map(|token| token.strip_suffix(".stale").unwrap_or(token));
    token.is_some_and(|token| token.len() == 16 && token.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns whether a claim still belongs to its maker. A missing claim is made again: a mistaken thief removes
/// it for a moment.
///
/// # Errors
/// If this cannot be determined now.
pub fn is_held(files: &impl SharedFiles, claim: &WorkClaim) -> io::Result<bool> {
    let is_mine = |seen: Seen| seen.bytes == claim.text.as_bytes();
    if let Some(seen) = files.look(&claim.file)? {
        return Ok(is_mine(seen));
    }
    let private = file_beside(&claim.file, &new_token(), "");
    files.create(&private, claim.text.as_bytes())?;
    let linked = files.link(&private, &claim.file);
    files.remove(&private)?;
    match linked {
        Ok(true) => Ok(true),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        // If the claim exists but is not visible yet, it belongs to this process again or to another one. The
        // next read shows it, and only one of two finished files gets its name.
        _ => Ok(files.look(&claim.file)?.is_none_or(is_mine)),
    }
}

/// The result of giving a file its final name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// The file has the name.
    Done,
    /// Another process had recorded the same before: that file stays.
    Late,
    /// The claim has passed to another process: nothing was renamed.
    Lost,
}

/// Gives a finished file its name, if the claim is still held and the name is free. An existing file with the
/// name is replaced only if it does not `count`. `part` is removed; if this fails the commit is still valid,
/// and [`is_part`](crate::is_part) recognises the remaining file by its name.
///
/// # Errors
/// If the file system fails.
pub fn commit(
    files: &impl SharedFiles,
    claim: &WorkClaim,
    part: &Path,
    name: &Path,
    counts: impl FnOnce() -> bool,
) -> io::Result<Commit> {
    let commit = || {
        if !is_held(files, claim)? {
            return Ok(Commit::Lost);
        }
        // The server decides, even if this machine does not see the other's file yet.
        if files.link(part, name)? {
            return Ok(Commit::Done);
        }
        if counts() {
            return Ok(Commit::Late);
        }
        files.rename(part, name).map(|_| Commit::Done)
    };
    let committed = commit();
    let _ = files.remove(part);
    committed
}

#[cfg(test)]
mod tests;
