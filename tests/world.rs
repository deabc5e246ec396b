//! A small world for one test: a temporary folder with a plan, treebanks, an encoder's config and
//! a script for the fake runner.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use frostline_record::{Record, Sweep, read_record};
use tempfile::TempDir;

use crate::CellDeed;

const PLAN: &str = r#"schema = 4
name = "small"

[treebanks]
en = "UD_Small-EN"
pcm = "UD_Small-PCM"

[grid]
lang = ["en", "pcm"]
policy = ["none", "all"]
seed = [1, 2]

[settings.encoder]
name = "tiny"
"#;

const SENTENCE: &str =
    "# sent_id = s1\n1\tGlaciers\t_\tNOUN\t_\t_\t2\t_\t_\t_\n2\tthaw\t_\tVERB\t_\t_\t0\t_\t_\t_\n\n";

/// A temporary folder in which commands run.
#[derive(Debug)]
pub struct World {
    folder: TempDir,
    xtask: PathBuf,
    runner: PathBuf,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// The standard output.
    pub out: String,
    /// The standard error.
    pub err: String,
}

impl World {
    /// Returns a world with two treebanks of one sentence per split, an encoder of 6 blocks and a plan of 8
    /// cells. `xtask` and `runner` are the binaries under test.
    #[must_use]
    pub fn new(xtask: &str, runner: &str) -> Self {
        let world = Self {
            folder: TempDir::new().expect("a temporary folder"),
            xtask: xtask.into(),
            runner: runner.into(),
        };
        world.write_file("plan.toml", PLAN);
        for bank in ["UD_Small-EN", "UD_Small-PCM"] {
            for split in ["train", "dev", "test"] {
                let name = format!("data/{bank}/x-ud-{split}.conllu");
                world.write_file(&name, &SENTENCE.replace("s1", &format!("{bank}-{split}")));
            }
        }
        world.write_file("models/tiny/config.json", r#"{"model_type": "distilbert", "n_layers": 6}"#);
        world.write_file("models/tiny/tokenizer.json", "{}");
        world.write_file("models/tiny/model.safetensors", "weights");
        world
    }

    /// Returns a path in this world.
    #[must_use]
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of this world.
    pub fn write_file(&self, name: &str, text: &str) {
        let path = self.path_of(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
        std::fs::write(path, text).expect("the file");
    }

    /// Sets the behaviour of the fake runner in the cells with these titles.
    pub fn set_script(&self, deeds: &[(&str, CellDeed)]) {
        let deeds: BTreeMap<_, _> = deeds.iter().copied().collect();
        self.write_file("script.json", &serde_json::to_string(&deeds).expect("plain data"));
    }

    /// `cargo xtask ARGUMENTS` in this world.
    #[must_use]
    pub fn xtask_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.xtask);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("FROSTLINE_CACHE", self.path_of("cache"))
            .env("FAKE_SCRIPT", self.path_of("script.json"))
            .env("TMPDIR", self.folder.path())
            .env_remove("RUST_BACKTRACE")
            .env_remove("HF_HOME")
            .env_remove("HF_HUB_CACHE")
            .stdin(Stdio::null());
        if !self.path_of("script.json").exists() {
            self.set_script(&[]);
        }
        command
    }

    /// `cargo xtask sweep` with this world's plan, data, encoder and runner, into `out`.
    #[must_use]
    pub fn sweep_command(&self, arguments: &[&str]) -> Command {
        let runner = self.runner.display().to_string();
        let fixed = ["sweep", "--plan", "plan.toml", "--data", "data", "--models", "models"];
        let mut all = fixed.to_vec();
        all.extend(["--out", "out", "--threads", "1", "--runner", &runner]);
        // An option given by the test replaces the fixed one.
        let mut at = 1;
        while at < all.len() {
            if arguments.contains(&all[at]) {
                all.drain(at..at + 2);
            } else {
                at += 2;
            }
        }
        all.extend(arguments);
        self.xtask_command(&all)
    }

    /// `cargo xtask work` on `out`, with this world's runner.
    #[must_use]
    pub fn work_command(&self, arguments: &[&str]) -> Command {
        let runner = self.runner.display().to_string();
        let mut all = vec!["work", "out", "--threads", "1", "--runner", &runner];
        all.extend(arguments);
        self.xtask_command(&all)
    }

    /// Returns all records in `out`, by cell title.
    #[must_use]
    pub fn records_by_title(&self) -> BTreeMap<String, Record> {
        let Ok(folders) = std::fs::read_dir(self.path_of("out/cells")) else {
            return BTreeMap::new();
        };
        folders
            .flatten()
            .filter_map(|entry| read_record(&entry.path()).expect("a whole record"))
            .map(|record| (record.cell.title(), record))
            .collect()
    }

    /// Returns the folder in `out` of the cell with this title.
    #[must_use]
    pub fn cell_folder(&self, title: &str) -> PathBuf {
        let sweep = Sweep::read(&self.path_of("out")).expect("a sweep");
        let cell = sweep.cells.iter().find(|cell| cell.title() == title);
        Sweep::cell_folder(&self.path_of("out"), cell.expect("a cell of this title"))
    }

    /// Waits until a condition holds.
    ///
    /// # Panics
    /// If it does not hold within a minute.
    pub fn wait_until(&self, what: &str, holds: impl Fn() -> bool) {
        let started = Instant::now();
        while !holds() {
            assert!(started.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Ended {
    /// Runs a command to its end.
    #[must_use]
    pub fn run_to_end(command: &mut Command) -> Self {
        let output = command.output().expect("the command starts");
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Waits for a started command, whose output is captured.
    #[must_use]
    pub fn wait_for_child(child: Child) -> Self {
        let output = child.wait_with_output().expect("it ends");
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

/// Starts a command with its output captured.
#[must_use]
pub fn start_captured(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

/// Returns whether a file grows.
#[must_use]
pub fn file_grows(path: &Path) -> bool {
    let size = || std::fs::metadata(path).map_or(0, |about| about.len());
    let before = size();
    std::thread::sleep(Duration::from_millis(100));
    size() > before
}
