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

pub(crate) use owner::token;
pub use owner::{LEASE, LONGEST_LEASE, Owner};
pub use shared::{Disk, Seen, SharedFiles};

/// The name of the file that is the claim on a folder; added to that of a file, the name of the claim on this file.
pub const CLAIM: &str = ".claim";

/// A claim that this process made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkClaim {
    /// Its file.
    pub file: PathBuf,
    /// The whole text of the file: nobody else writes the same.
    pub text: String,
}

/// What an attempt to claim led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The work is this process's. Where it was taken over, from whom.
    Claimed(WorkClaim, Option<Owner>),
    /// Somebody else has it, or was quicker.
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
    /// A claimant that is `me`.
    pub fn new(files: F, me: Owner) -> Self {
        Self { files, me, clock: Mutex::new(None) }
    }

    /// Who claims.
    pub fn me(&self) -> &Owner {
        &self.me
    }

    /// The files on which it claims.
    pub fn files(&self) -> &F {
        &self.files
    }

    /// Tries to make the claim `file`, and takes it over where its holder has died. Its folder must exist.
    ///
    /// # Errors
    /// If the folder cannot be written, or the file system has no hard links.
    pub fn attempt(&self, file: &Path) -> io::Result<Attempt> {
        // Most claims are young, which costs one look.
        if let Some(seen) = self.files.look(file)? {
            let owner = Owner::parse(&seen.bytes);
            if self.now().is_some_and(|now| !is_stale(&seen, &owner, now)) {
                return Ok(Attempt::Busy(owner));
            }
        }
        let me = self.me.renewed();
        let claim = WorkClaim { file: file.into(), text: me.text() };
        let private = beside(file, &me.token, "");
        // A file of one's own is a reading of the server's clock too.
        let now = match self.files.create(&private, claim.text.as_bytes()) {
            // A new holder has cleared it away in this moment. Without a folder there is none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => match self.files.look(file)? {
                Some(seen) => return Ok(Attempt::Busy(Owner::parse(&seen.bytes))),
                None => self.files.create(&private, claim.text.as_bytes())?,
            },
            created => created?,
        };
        self.set_clock(now);
        let taken = self.take(claim, &private, now);
        let removed = self.files.remove(&private);
        let taken = taken?;
        // What remains of it is removed with the next claim.
        let _ = removed;
        Ok(taken)
    }

    fn take(&self, claim: WorkClaim, private: &Path, now: SystemTime) -> io::Result<Attempt> {
        let file = claim.file.clone();
        if self.link(private, &file)? {
            return Ok(Attempt::Claimed(claim, None));
        }
        let Some(seen) = self.files.look(&file)? else {
            // It was released in this moment, or is visible late.
            return Ok(match self.link(private, &file)? {
                true => Attempt::Claimed(claim, None),
                false => Attempt::Busy(Owner::parse(b"")),
            });
        };
        let owner = Owner::parse(&seen.bytes);
        if !is_stale(&seen, &owner, now) {
            return Ok(Attempt::Busy(owner));
        }
        let aside = beside(&file, &Owner::parse(claim.text.as_bytes()).token, ".stale");
        // One of several thieves succeeds.
        if !self.files.rename(&file, &aside)? {
            return Ok(Attempt::Busy(owner));
        }
        let found = self.files.look(&aside)?;
        if found.as_ref() != Some(&seen) {
            // Its holder has touched it, or another has made a claim in its place. If a third one has claimed by now, the
            // holder finds out before it records anything.
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

    /// As [`SharedFiles::link`]; false also if a later holder has cleared `from` away.
    fn link(&self, from: &Path, to: &Path) -> io::Result<bool> {
        match self.files.link(from, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            other => other,
        }
    }

    /// Touches a claim. Returns whether this process still holds it.
    ///
    /// # Errors
    /// If that cannot be found out now.
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

    /// The holder of a claim and, where the server's clock was read before, how long it has not been touched.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn holder(&self, file: &Path) -> io::Result<Option<(Owner, Option<Duration>)>> {
        let seen = self.files.look(file)?;
        Ok(seen.map(|seen| {
            let age = self.now().map(|now| now.duration_since(seen.modified).unwrap_or_default());
            (Owner::parse(&seen.bytes), age)
        }))
    }

    /// Takes this machine's clock for the file server's. Only for those who show ages and write nothing: a claimant that
    /// makes claims reads the server's.
    pub fn guess_clock(&self) {
        self.set_clock(SystemTime::now());
    }

    /// Reads the file server's clock with a file of one's own in this folder.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn read_clock(&self, folder: &Path) -> io::Result<SystemTime> {
        let probe = beside(&folder.join(CLAIM), &owner::token(), "");
        let now = self.files.create(&probe, b"")?;
        self.set_clock(now);
        self.files.remove(&probe)?;
        Ok(now)
    }

    fn set_clock(&self, now: SystemTime) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, self.files.elapsed()));
    }

    /// The file server's present, as far as it is known from the last reading. While a machine sleeps this falls behind,
    /// which makes claims look younger than they are.
    fn now(&self) -> Option<SystemTime> {
        let (now, read) = (*self.clock.lock().unwrap_or_else(PoisonError::into_inner))?;
        Some(now + self.files.elapsed().saturating_sub(read))
    }
}

/// Whether the holder of a claim has died, as far as can be known.
fn is_stale(seen: &Seen, owner: &Owner, now: SystemTime) -> bool {
    let age = now.duration_since(seen.modified).unwrap_or_default();
    age >= owner.lease || owner.has_ended()
}

/// A file beside a claim that belongs to one attempt alone.
fn beside(file: &Path, token: &str, ending: &str) -> PathBuf {
    file.with_added_extension(format!("{token}{ending}"))
}

/// Whether a file lies beside claims while one is attempted. What a killed process left can be removed by the holder.
#[must_use]
pub fn is_attempt(name: &str) -> bool {
    let token = name.split_once(CLAIM).and_then(|(_, rest)| rest.strip_prefix('.'));
    let token = token.map(|token| token.strip_suffix(".stale").unwrap_or(token));
    token.is_some_and(|token| token.len() == 16 && token.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether a claim is still its maker's. One that is missing is made again: a thief that has erred removes it for a
/// moment.
///
/// # Errors
/// If that cannot be found out now.
pub fn is_held(files: &impl SharedFiles, claim: &WorkClaim) -> io::Result<bool> {
    let is_mine = |seen: Seen| seen.bytes == claim.text.as_bytes();
    if let Some(seen) = files.look(&claim.file)? {
        return Ok(is_mine(seen));
    }
    let private = beside(&claim.file, &token(), "");
    files.create(&private, claim.text.as_bytes())?;
    let linked = files.link(&private, &claim.file);
    files.remove(&private)?;
    match linked {
        Ok(true) => Ok(true),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        // If it is there but not visible yet, it is this process's again, or another's: the next look tells, and of what
        // both finish only one gets its name.
        _ => Ok(files.look(&claim.file)?.is_none_or(is_mine)),
    }
}

/// What became of a file that was to get its final name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// It has the name.
    Done,
    /// Another process had recorded the same before: that file stays.
    Late,
    /// The claim has passed to another process: nothing was renamed.
    Lost,
}

/// Gives a finished file its name, if the claim is still held and the name is free. A file that has the name is replaced
/// only if it does not `count`. `part` is removed; where that fails the commit stands, and [`is_part`](crate::is_part) tells
/// the file that is left by its name.
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
        // The server decides, also where this machine does not see the other's file yet.
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
