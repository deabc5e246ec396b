//! Files that processes of several users share in a sweep's folder: claims, lists of jobs, values for a server.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Instant;

use frostline_files::claim::{Attempt, CLAIM, Claimant, Disk, LEASE, Owner, WorkClaim, is_attempt, is_held};
use frostline_sweep::{Submitted, read_submissions};
use frostline_track::{Credentials, MlflowServer, Tracker as _};
use tempfile::TempDir;

use crate::files::empty_folder;

/// The folder that inputs are written to.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

/// A process that claims.
static CLAIMANT: LazyLock<Claimant<Disk>> =
    LazyLock::new(|| Claimant::new(Disk, Owner::this_process("a fuzzer", LEASE)));

/// A claim on a cell, just touched. With any content it is respected unless its process has ended, its holder
/// survives writing and reading, and no other file is left. The text is also used as a file name: an attempt's
/// file belongs to a claim.
pub(crate) fn fuzz_claim(data: &[u8]) {
    let owner = Owner::parse(data);
    assert!(!owner.lease.is_zero(), "a claim that is never respected");
    assert_eq!(Owner::parse(owner.text().as_bytes()), owner, "a holder changed when it was stored");
    if let Ok(name) = std::str::from_utf8(data)
        && is_attempt(name)
    {
        assert!(name.contains(CLAIM));
    }
    let folder = empty_folder(FOLDER.path(), "claim");
    let file = folder.join(CLAIM);
    fs::write(&file, data).expect("a temporary file");
    match CLAIMANT.attempt(&file).expect("a claim or its holder") {
        Attempt::Busy(holder) => {
            assert_eq!(holder, owner);
            assert_eq!(fs::read(&file).expect("it is left"), data);
            let stolen = WorkClaim { file, text: CLAIMANT.me().text() };
            assert!(!is_held(&Disk, &stolen).expect("an answer"), "somebody else's claim is held");
        }
        Attempt::Claimed(mine, from) => {
            assert_eq!(from, Some(owner.clone()));
            let is_short = u64::try_from(owner.lease.as_millis()).is_ok_and(|lease_ms| lease_ms < 60_000);
            assert!(owner.has_ended() || is_short, "the claim of a living process was taken");
            assert!(is_held(&Disk, &mine).expect("an answer"));
            CLAIMANT.release(&mine).expect("released");
            assert!(!mine.file.exists());
        }
    }
    let left = fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.file_name());
    assert!(left.into_iter().all(|name| name == CLAIM), "an attempt's file is left");
}

/// `slurm/jobs.json`: numbers of jobs and nothing else, the same when they are written and read again.
pub(crate) fn fuzz_jobs(data: &[u8]) {
    let folder = empty_folder(FOLDER.path(), "jobs");
    let slurm = empty_folder(&folder, "slurm");
    fs::write(slurm.join("jobs.json"), data).expect("a temporary file");
    let all: Vec<Submitted> = match read_submissions(&folder) {
        Ok(all) => all,
        Err(error) => return assert!(!format!("{error:#}").contains('\n'), "a message of several lines"),
    };
    for job in all.iter().flat_map(Submitted::job_numbers) {
        let number = job.to_string();
        let is_sign = |sign: char| sign.is_ascii_digit() || "_[],-".contains(sign);
        assert!(number.starts_with(|first: char| first.is_ascii_digit()), "{number:?} could be an option");
        assert!(number.chars().all(is_sign), "{number:?}");
    }
    let text = serde_json::to_string_pretty(&all).expect("a list is JSON");
    fs::write(slurm.join("jobs.json"), text).expect("a temporary file");
    assert_eq!(read_submissions(&folder).expect("what was written is read"), all);
}

/// Values kept for an MLflow server: after reading, they can be kept again in files of this folder, and reading
/// these gives the same contents.
pub(crate) fn fuzz_unsent(data: &[u8]) {
    let folder = empty_folder(FOLDER.path(), "unsent");
    let file = folder.join("given.jsonl");
    fs::write(&file, data).expect("a temporary file");
    let kept = ["once", "twice"].map(|name| folder.join(name));
    let Some((runs, values, _)) = keep_values(&[file], &kept[0]) else { return };
    let files = list_files(&kept[0]);
    assert_eq!(files.len(), runs, "a run is not one file");
    for file in &files {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).expect("text");
        assert!(stem.bytes().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit()), "{stem:?}");
        assert!(file.extension().is_some_and(|ending| ending == "jsonl"), "{stem:?} would not be sent");
    }
    let again = keep_values(&files, &kept[1]).expect("what was kept is read");
    assert_eq!(again, (runs, values, 0), "what is kept changed");
    for (one, other) in files.iter().zip(list_files(&kept[1])) {
        assert_eq!(fs::read(one).expect("a file"), fs::read(other).expect("a file"));
    }
}

/// Reads files for an unreachable server, and keeps their values. Returns the number of runs, of values, and of
/// lines that are damaged.
fn keep_values(files: &[PathBuf], into: &Path) -> Option<(usize, usize, usize)> {
    let mut all = (0, 0, 0);
    for file in files {
        let server = MlflowServer::new("http://127.0.0.1:9", Credentials::None).expect("a server");
        let mut server = server.keep_unsent_in(into.into(), String::new()).offline();
        let (runs, values, damaged) = server.read_unsent(file).ok()?;
        let _ = server.finish(Instant::now());
        all = (all.0 + runs, all.1 + values, all.2 + damaged);
    }
    Some(all)
}

fn list_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}
