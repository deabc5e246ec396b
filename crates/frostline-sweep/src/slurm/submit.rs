//! From a sweep's folder to jobs: an array of workers that take cells, and behind it a job that writes the report.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use super::engine::{self, quoted};
use super::options::SlurmArgs;
use crate::program::Program;

/// The largest list of submissions.
const MOST_BYTES: u64 = 1 << 24;

/// The jobs of one submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Submitted {
    /// The number of the array of workers.
    pub array: String,
    /// The number of the report's job; none where this command ended before it was submitted.
    pub report: Option<String>,
    /// Jobs of the array.
    pub workers: usize,
}

impl Submitted {
    /// The numbers of its jobs.
    pub fn numbers(&self) -> impl Iterator<Item = String> {
        [self.array.clone()].into_iter().chain(self.report.clone())
    }
}

/// What is submitted: two scripts and the options of `sbatch` for each.
pub(super) struct Submission {
    folder: PathBuf,
    /// The program that jobs run: a copy in the sweep's folder, so that a later build does not replace it.
    program: PathBuf,
    scripts: [(PathBuf, String); 2],
    workers: usize,
    of_workers: Vec<String>,
    of_report: Vec<String>,
}

impl Submission {
    /// Workers for so many cells of a sweep's folder, given as an absolute path; `passed` are options of `frostline
    /// work`.
    pub fn of(sweep: &Path, program: &Program, cells: usize, options: &SlurmArgs, passed: &[String]) -> Self {
        let folder = sweep.join("slurm");
        // By its bytes: another build may have the same code and other features.
        let bytes = std::fs::read(&program.path).map(|bytes| frostline_record::sha256(&bytes));
        let name = bytes.map_or_else(|_| program.about.code.clone(), |digest| digest[..16].into());
        let copy = folder.join(format!("frostline-{name}"));
        let workers = options.workers_for(cells);
        let name = sweep.file_name().map_or("sweep".into(), |name| name.display().to_string());
        let job = |what: &str, log: &str| {
            let output = format!("--output={}", folder.join(log).display());
            vec!["--parsable".into(), format!("--job-name=frostline-{what}-{name}"), output]
        };
        let mut of_workers = job("work", "%A_%a.log");
        of_workers.push(format!("--array=0-{}", workers.saturating_sub(1)));
        // Lines of a job that was requeued are kept. The signal goes to the batch script, which has become the program.
        of_workers.extend(["--open-mode=append".into(), "--requeue".into()]);
        of_workers.push(format!("--signal=B:USR1@{}", options.signal_s()));
        of_workers.extend(options.of_workers());
        let mut of_report = job("report", "report-%j.log");
        of_report.extend(options.of_report());
        let words = |words: &[&str]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let (exe, out) = (copy.display().to_string(), sweep.display().to_string());
        let restarts = options.max_restarts().to_string();
        let mut work = words(&[&exe, "work", &out, "--max-restarts", &restarts]);
        passed.iter().for_each(|option| work += &format!(" {}", quoted(option)));
        if !passed.iter().any(|option| option == "--threads") {
            // What a job has, and not what its node has.
            work += " --threads \"${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-1}}\"";
        }
        let scripts = [
            (folder.join("work.sh"), script(options, &work)),
            (folder.join("report.sh"), script(options, &words(&[&exe, "report", &out]))),
        ];
        Self { program: copy, scripts, workers, of_workers, of_report, folder }
    }

    /// Jobs of the array.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// What would be run, as one would type it.
    pub fn shown(&self) -> String {
        let mut text = String::new();
        let [work, report] = self.commands("JOB");
        for ((path, script), command) in self.scripts.iter().zip([work, report]) {
            let _ = write!(text, "# {}\n{script}\n{}\n\n", path.display(), engine::shown("sbatch", &command));
        }
        text.trim_end().into()
    }

    fn commands(&self, array: &str) -> [Vec<String>; 2] {
        let [work, report] = [0, 1].map(|at: usize| self.scripts[at].0.display().to_string());
        let behind = format!("--dependency=afterany:{array}");
        let of_work = self.of_workers.iter().cloned().chain([work]);
        [
            of_work.collect(),
            [behind].into_iter().chain(self.of_report.iter().cloned()).chain([report]).collect(),
        ]
    }

    /// Writes the scripts, submits both jobs and notes each at once, so that they can be cancelled. Where the second is
    /// refused, or one cannot be noted, they are cancelled.
    pub fn submit(&self, program: &Path) -> anyhow::Result<Submitted> {
        // Nothing is submitted that could not be noted.
        noted(&self.folder)?;
        let limit = engine::array_limit()?;
        ensure!(
            self.workers <= limit,
            "{} workers are one array of jobs, and this cluster's arrays have at most {limit} (MaxArraySize); lower --workers",
            self.workers
        );
        frostline_files::create_own_folder(&self.folder)?;
        self.copy(program)?;
        for (path, script) in &self.scripts {
            frostline_files::write(path, script.as_bytes())?;
        }
        let [work, _] = self.commands("");
        let array = engine::submit(&work)?;
        let [_, report] = self.commands(&array);
        let mut submitted = Submitted { array, report: None, workers: self.workers };
        match note(&self.folder, &submitted).and_then(|()| {
            submitted.report = Some(engine::submit(&report).context("the report's job was refused")?);
            note(&self.folder, &submitted)
        }) {
            Ok(()) => Ok(submitted),
            Err(error) => {
                let jobs: Vec<String> = submitted.numbers().collect();
                let shown = jobs.join(", ");
                Err(error.context(match engine::cancel(&jobs) {
                    Ok(()) => format!("jobs {shown} were submitted and have been cancelled"),
                    Err(why) => format!("jobs {shown} were submitted and could not be cancelled ({why:#})"),
                }))
            }
        }
    }

    /// Copies the program, unless it is there.
    fn copy(&self, program: &Path) -> anyhow::Result<()> {
        if self.program.exists() {
            return Ok(());
        }
        frostline_files::copy(program, &self.program)
            .with_context(|| format!("the program cannot be copied to {}", self.program.display()))
    }
}

/// A batch script. `exec` makes the program the process that SLURM's signals reach.
fn script(options: &SlurmArgs, command: &str) -> String {
    let mut text = String::from("#!/bin/bash\nset -e\n");
    for line in &options.setup {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(text, "exec {command}");
    text
}

/// The submissions of a sweep's folder.
pub(super) fn submissions(sweep: &Path) -> anyhow::Result<Vec<Submitted>> {
    noted(&sweep.join("slurm"))
}

/// The submissions that a folder's file has.
fn noted(folder: &Path) -> anyhow::Result<Vec<Submitted>> {
    let path = folder.join("jobs.json");
    let damaged = "damaged; `squeue --me` shows your jobs; cancel those of this sweep, and delete the file";
    match frostline_files::read_text(&path, MOST_BYTES) {
        Ok(text) => serde_json::from_str(&text).with_context(|| format!("{}: {damaged}", path.display())),
        Err(error) if error.reason.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Notes a submission, in place of what was noted of its array and beside what others have noted meanwhile.
fn note(folder: &Path, new: &Submitted) -> anyhow::Result<()> {
    let mut all = noted(folder)?;
    all.retain(|one| one.array != new.array);
    all.push(new.clone());
    let text = serde_json::to_string_pretty(&all)? + "\n";
    Ok(frostline_files::write(&folder.join("jobs.json"), text.as_bytes())?)
}
