//! The races of claims, each in the order that matters, on real files with invented times.

use std::cell::RefCell;
use std::fs::{self, File};

use tempfile::TempDir;

use super::*;

/// Real files. Before an operation that a test names, something else happens in between.
struct Between<'a> {
    before: RefCell<Option<(&'static str, InterposedDeed<'a>)>>,
}

type InterposedDeed<'a> = Box<dyn FnOnce() + 'a>;

impl<'a> Between<'a> {
    fn new(operation: &'static str, deed: impl FnOnce() + 'a) -> Self {
        Self { before: RefCell::new(Some((operation, Box::new(deed)))) }
    }

    fn at(&self, operation: &str) {
        let is_it = self.before.borrow().as_ref().is_some_and(|(before, _)| *before == operation);
        let deed = if is_it { self.before.borrow_mut().take() } else { None };
        if let Some((_, deed)) = deed {
            deed();
        }
    }
}

impl SharedFiles for Between<'_> {
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<SystemTime> {
        self.at("create");
        Disk.create(path, bytes)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<bool> {
        self.at("link");
        Disk.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<bool> {
        self.at("rename");
        Disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.at("remove");
        Disk.remove(path)
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        self.at("touch");
        Disk.touch(path)
    }

    fn look(&self, path: &Path) -> io::Result<Option<Seen>> {
        self.at("look");
        Disk.look(path)
    }

    fn elapsed(&self) -> Duration {
        Disk.elapsed()
    }
}

/// Returns an owner on another machine, whose processes are unknown.
fn other_owner(name: &str) -> Owner {
    let me = Owner::this_process("a test", LEASE);
    Owner { host: name.into(), machine: String::new(), ..me }
}

fn test_claimant(name: &str) -> Claimant<Disk> {
    Claimant::new(Disk, other_owner(name))
}

/// Makes a claim look as if it had last been touched so long ago.
fn make_older(file: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    File::options().write(true).open(file).expect("a claim").set_modified(then).expect("aged");
}

fn claim_now<F: SharedFiles>(claimant: &Claimant<F>, file: &Path) -> (WorkClaim, Option<Owner>) {
    match claimant.attempt(file).expect("the disk works") {
        Attempt::Claimed(claim, from) => (claim, from),
        Attempt::Busy(owner) => panic!("{owner} has it"),
    }
}

fn is_busy<F: SharedFiles>(claimant: &Claimant<F>, file: &Path) -> bool {
    matches!(claimant.attempt(file).expect("the disk works"), Attempt::Busy(_))
}

fn claim_folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(CLAIM);
    (folder, file)
}

/// Returns the files in the folder other than the claim.
fn other_files(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name != CLAIM).collect()
}

/// A claim is a small regular file; opening a pipe would wait for ever.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_claim() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(CLAIM);
    assert!(std::process::Command::new("mkfifo").arg(&file).status().expect("mkfifo runs").success());
    let claimant = Claimant::new(Disk, Owner::this_process("a test", LEASE));
    let errors = [claimant.holder(&file).expect_err("a pipe"), claimant.attempt(&file).expect_err("a pipe")];
    for error in errors {
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
    }
}

#[test]
fn of_two_claimants_one_gets_it() {
    let (folder, file) = claim_folder();
    let (one, other) = (test_claimant("one"), test_claimant("other"));
    let (claim, from) = claim_now(&one, &file);
    assert_eq!(from, None);
    assert!(is_busy(&other, &file) && is_busy(&one, &file));
    // The other one links between this one's look and its link.
    one.release(&claim).expect("released");
    let between = Between::new("link", || drop(claim_now(&other, &file)));
    let late = Claimant::new(between, other_owner("late"));
    assert!(is_busy(&late, &file));
    assert_eq!(other.holder(&file).expect("read").map(|(owner, _)| owner.host), Some("other".into()));
    assert!(!one.keep(&claim).expect("read"));
    assert_eq!(other_files(&folder), [""; 0]);
}

#[test]
fn many_threads_at_once_make_one_claim() {
    let (folder, file) = claim_folder();
    for round in 0..50 {
        if round % 2 == 1 {
            // Every second time there is a dead one's to steal.
            make_older(&file, 1000);
        } else {
            let _ = fs::remove_file(&file);
        }
        let attempt = || match test_claimant("one").attempt(&file).expect("attempted") {
            Attempt::Claimed(claim, _) => Some(claim),
            Attempt::Busy(_) => None,
        };
        let claims: Vec<WorkClaim> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(attempt)).collect();
            all.into_iter().filter_map(|one| one.join().expect("no panic")).collect()
        });
        // On Windows a slow thief takes the next one's claim away for a moment, in which a third can claim. The second finds out
        // before it records anything.
        if cfg!(unix) {
            assert_eq!(claims.len(), 1, "in round {round}");
        }
        let count = claims.iter().filter(|claim| is_held(&Disk, claim).expect("read")).count();
        assert_eq!(count, 1, "in round {round}");
    }
    assert_eq!(other_files(&folder), [""; 0]);
}

#[test]
fn a_claim_is_stale_by_the_file_servers_clock_alone() {
    let (_folder, file) = claim_folder();
    let (one, other) = (test_claimant("one"), test_claimant("other"));
    let (claim, _) = claim_now(&one, &file);
    make_older(&file, 100);
    assert!(is_busy(&other, &file), "younger than the lease");
    make_older(&file, 130);
    assert!(one.keep(&claim).expect("kept"), "its holder comes in time");
    assert!(is_busy(&other, &file));
    // A claim from the future, as a clock that was set back leaves it, is not taken.
    let later = SystemTime::now() + Duration::from_secs(10_000);
    File::options().write(true).open(&file).expect("a claim").set_modified(later).expect("set");
    assert!(is_busy(&other, &file));
    make_older(&file, 130);
    let (_, from) = claim_now(&other, &file);
    assert_eq!(from.map(|owner| owner.host), Some("one".into()));
    assert!(!one.keep(&claim).expect("read"), "its holder comes too late");
}

#[test]
fn the_lease_is_the_holders() {
    let (_folder, file) = claim_folder();
    let brief = Claimant::new(Disk, Owner { lease: Duration::from_secs(5), ..other_owner("brief") });
    claim_now(&brief, &file);
    make_older(&file, 6);
    claim_now(&test_claimant("other"), &file);
}

#[test]
fn of_two_thieves_one_succeeds() {
    for moment in ["rename", "look"] {
        let (folder, file) = claim_folder();
        let (dead, quick) = (test_claimant("dead"), test_claimant("quick"));
        claim_now(&dead, &file);
        make_older(&file, 1000);
        let between = Between::new(moment, || drop(claim_now(&quick, &file)));
        let slow = Claimant::new(between, other_owner("slow"));
        assert!(is_busy(&slow, &file), "the other one stole before the {moment}");
        assert_eq!(quick.holder(&file).expect("read").map(|(owner, _)| owner.host), Some("quick".into()));
        assert_eq!(other_files(&folder), [""; 0]);
    }
}

#[test]
fn a_live_claim_that_a_thief_takes_by_mistake_is_put_back() {
    let (folder, file) = claim_folder();
    let (sleepy, thief) = (test_claimant("sleepy"), test_claimant("thief"));
    let (claim, _) = claim_now(&sleepy, &file);
    make_older(&file, 1000);
    // The holder wakes up and touches the claim after the thief has found it stale.
    let between = Between::new("rename", || assert!(sleepy.keep(&claim).expect("kept")));
    assert!(is_busy(&Claimant::new(between, thief.me().clone()), &file));
    assert!(sleepy.keep(&claim).expect("kept"));
    assert_eq!(other_files(&folder), [""; 0]);
}

#[test]
fn a_holder_that_finds_its_claim_missing_makes_it_again() {
    let (folder, file) = claim_folder();
    let (one, other) = (test_claimant("one"), test_claimant("other"));
    let (claim, _) = claim_now(&one, &file);
    fs::remove_file(&file).expect("gone");
    assert!(one.keep(&claim).expect("kept"));
    assert!(is_busy(&other, &file));
    // Unless another process was faster.
    fs::remove_file(&file).expect("gone");
    let between = Between::new("link", || drop(claim_now(&other, &file)));
    assert!(!is_held(&between, &claim).expect("read"));
    assert_eq!(other_files(&folder), [""; 0]);
}

#[test]
fn a_claim_of_a_process_that_has_ended_on_this_machine_is_free_at_once() {
    let (_folder, file) = claim_folder();
    let me = Owner::this_process("a test", LEASE);
    claim_now(&Claimant::new(Disk, Owner { started: me.started + 1, ..me.clone() }), &file);
    let attempt = Claimant::new(Disk, me.clone()).attempt(&file).expect("the disk works");
    assert_eq!(matches!(attempt, Attempt::Claimed(_, Some(_))), !me.machine.is_empty());
}

#[test]
fn who_lost_its_claim_records_nothing() {
    let (folder, file) = claim_folder();
    let (frozen, thief) = (test_claimant("frozen"), test_claimant("thief"));
    let [part, name] = ["part", "record"].map(|name| folder.path().join(name));
    let record = |claim: &WorkClaim, text: &str, files: &dyn Fn(&WorkClaim) -> Commit| {
        fs::write(&part, text).expect("written");
        let commit = files(claim);
        assert!(!part.exists());
        (commit, fs::read_to_string(&name).unwrap_or_default())
    };
    let plainly = |claim: &WorkClaim| commit(&Disk, claim, &part, &name, || true).expect("the disk works");
    let (old, _) = claim_now(&frozen, &file);
    make_older(&file, 1000);
    let (new, _) = claim_now(&thief, &file);
    assert_eq!(record(&old, "late", &plainly), (Commit::Lost, String::new()));
    assert_eq!(record(&new, "good", &plainly), (Commit::Done, "good".into()));
    assert_eq!(record(&new, "again", &plainly), (Commit::Late, "good".into()), "also of its own");
    // Even if the claim passes on between the check and the link.
    fs::remove_file(&name).expect("gone");
    make_older(&file, 1000);
    let stolen = |claim: &WorkClaim| {
        let between = Between::new("link", || {
            claim_now(&frozen, &file);
            fs::write(&name, "the thief's").expect("written");
        });
        commit(&between, claim, &part, &name, || true).expect("the disk works")
    };
    assert_eq!(record(&new, "late", &stolen), (Commit::Late, "the thief's".into()));
}

#[test]
fn a_record_that_does_not_count_is_replaced() {
    let (folder, file) = claim_folder();
    let one = test_claimant("one");
    let [part, name] = ["part", "record"].map(|name| folder.path().join(name));
    let (claim, _) = claim_now(&one, &file);
    fs::write(&name, "failed").expect("written");
    fs::write(&part, "good").expect("written");
    assert_eq!(commit(&Disk, &claim, &part, &name, || false).expect("done"), Commit::Done);
    assert_eq!(fs::read_to_string(&name).expect("there"), "good");
    assert!(!part.exists());
}

#[test]
fn a_record_stands_though_its_part_cannot_be_removed() {
    let (folder, file) = claim_folder();
    let [part, name] = ["part", "record"].map(|name| folder.path().join(name));
    let (claim, _) = claim_now(&test_claimant("one"), &file);
    fs::write(&part, "good").expect("written");
    let between = Between::new("remove", || {
        fs::remove_file(&part).expect("gone");
        fs::create_dir(&part).expect("a folder, which is not removed as a file");
    });
    assert_eq!(commit(&between, &claim, &part, &name, || true).expect("recorded"), Commit::Done);
    assert!(part.exists());
    assert_eq!(fs::read_to_string(&name).expect("there"), "good");
}

#[test]
fn names_of_attempts_are_known() {
    let me = Owner::this_process("a test", LEASE);
    let private = file_beside(Path::new(CLAIM), &me.token, "");
    let aside = file_beside(Path::new(CLAIM), &me.token, ".stale");
    for (path, is) in [(private, true), (aside, true), (CLAIM.into(), false), (".claim.mine".into(), false)] {
        assert_eq!(is_attempt(path.to_str().expect("Unicode")), is, "{}", path.display());
    }
}
