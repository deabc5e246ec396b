//! From a sweep's folder to jobs: an array of workers that take cells, and behind it a job that writes the report.

use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use super::engine::{self, JobId, join_numbers};
use super::options::SlurmOptions;
use crate::program::Program;
use crate::shell::{quote_word, shown_command};

/// The largest list of submissions.
const MOST_BYTES: u64 = 1 << 24;

/// The scripts of the workers and of the report in the folder `slurm` of a sweep.
const SCRIPTS: [&str; 2] = ["work.sh", "report.sh"];

/// The largest program that is copied.
const MOST_PROGRAM: u64 = 4 << 30;

/// The jobs of one submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submitted {
    /// The number of the array of workers.
    pub array: JobId,
    /// The number of the report's job; `None` if this command ended before it was submitted.
    pub report: Option<JobId>,
    /// Jobs of the array.
    pub workers: usize,
}

impl Submitted {
    /// Returns the numbers of the submitted jobs.
    pub fn job_numbers(&self) -> impl Iterator<Item = JobId> {
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
    pub fn for_sweep(
        sweep: &Path,
        program: &Program,
        cells: usize,
        options: &SlurmOptions,
        passed: &[String],
    ) -> Self {
        let folder = sweep.join("slurm");
        // By its bytes: another build may have the same code and other features.
        let digest = file_sha256(&program.path);
        let name = digest.as_ref().map_or(program.about.code.as_str(), |digest| &digest[..16]);
        let copy = folder.join(format!("frostline-{name}"));
        let workers = options.workers_for(cells);
        let name = sweep.file_name().map_or("sweep".into(), |name| name.display().to_string());
        let job = |what: &str, log: &str| {
            let job_name = format!("--job-name=frostline-{what}-{name}");
            vec!["--parsable".into(), job_name, log_option(&folder, what, log)]
        };
        let mut of_workers = job("work", "%A_%a.log");
        of_workers.push(format!("--array=0-{}", workers.saturating_sub(1)));
        // Lines of a job that was requeued are kept. The signal goes to the batch script, which has become the program.
        of_workers.extend(["--open-mode=append".into(), "--requeue".into()]);
        of_workers.push(format!("--signal=B:USR1@{}", options.signal_s()));
        of_workers.extend(options.of_workers());
        let mut of_report = job("report", "report-%j.log");
        of_report.push("--open-mode=append".into());
        of_report.extend(options.of_report());
        let words = |words: &[&str]| words.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ");
        let (exe, out) = (copy.display().to_string(), sweep.display().to_string());
        let restarts = options.max_restarts().to_string();
        let mut work = words(&[&exe, "work", &out, "--max-restarts", &restarts]);
        passed.iter().for_each(|option| work += &format!(" {}", quote_word(option)));
        if !passed.iter().any(|option| option == "--threads") {
            // What a job has, and not what its node has.
            work += " --threads \"${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-1}}\"";
        }
        let report = words(&[&exe, "report", &out]);
        let [work_path, report_path] = SCRIPTS.map(|name| folder.join(name));
        let scripts =
            [(work_path, batch_script(options, &work)), (report_path, batch_script(options, &report))];
        Self { program: copy, scripts, workers, of_workers, of_report, folder }
    }

    /// Jobs of the array.
    pub fn worker_count(&self) -> usize {
        self.workers
    }

    /// Returns the commands that would be run, as a person would type them.
    pub fn shown_commands(&self) -> String {
        let mut text = String::new();
        let [work, report] = self.submit_commands(&"JOB");
        for ((path, script), command) in self.scripts.iter().zip([work, report]) {
            let _ = write!(text, "# {}\n{script}\n{}\n\n", path.display(), shown_command("sbatch", &command));
        }
        text.trim_end().into()
    }

    fn submit_commands(&self, array: &dyn Display) -> [Vec<String>; 2] {
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
    pub fn submit_jobs(&self, program: &Path) -> anyhow::Result<Submitted> {
        // Nothing is submitted that could not be noted.
        read_list(&self.folder)?;
        let limit = engine::array_limit()?;
        ensure!(
            self.workers <= limit,
            "{} workers are one array of jobs, and this cluster's arrays have at most {limit} (MaxArraySize); lower --workers",
            self.workers
        );
        frostline_files::create_own_folder(&self.folder)?;
        self.copy_program(program)?;
        for (path, script) in &self.scripts {
            frostline_files::write(path, script.as_bytes())?;
        }
        let [work, _] = self.submit_commands(&"");
        let array = engine::submit_job(&work)?;
        let [_, report] = self.submit_commands(&array);
        let mut submitted = Submitted { array, report: None, workers: self.workers };
        match note_submission(&self.folder, &submitted).and_then(|()| {
            submitted.report = Some(engine::submit_job(&report).context("the report's job was refused")?);
            note_submission(&self.folder, &submitted)
        }) {
            Ok(()) => Ok(submitted),
            Err(error) => {
                let jobs: Vec<JobId> = submitted.job_numbers().collect();
                let shown = join_numbers(&jobs, ", ");
                Err(error.context(match engine::cancel_jobs(&jobs) {
                    Ok(()) => format!("jobs {shown} were submitted and have been cancelled"),
                    Err(why) => format!("jobs {shown} were submitted and could not be cancelled ({why:#})"),
                }))
            }
        }
    }

    /// Copies the program, unless it is there. Another file of its name, which another command may have put into the
    /// folder, is replaced.
    fn copy_program(&self, program: &Path) -> anyhow::Result<()> {
        let there = file_sha256(&self.program);
        if there.is_some() && there == file_sha256(program) {
            return Ok(());
        }
        frostline_files::copy(program, &self.program)
            .with_context(|| format!("the program cannot be copied to {}", self.program.display()))
    }
}

/// Returns the SHA-256 of a program, if it can be read.
fn file_sha256(program: &Path) -> Option<String> {
    frostline_files::read(program, MOST_PROGRAM).ok().map(|bytes| frostline_record::sha256(&bytes))
}

/// The option of sbatch for a log in a folder. SLURM replaces `%` with a letter in the whole path, unless it is written
/// `%%`. In a path with a backslash it replaces nothing, so that all workers add to one file there, and reads two
/// backslashes as one.
fn log_option(folder: &Path, what: &str, pattern: &str) -> String {
    let folder = folder.display().to_string();
    if folder.contains('\\') {
        format!("--output={}/{what}.log", folder.replace('\\', r"\\"))
    } else {
        format!("--output={}/{pattern}", folder.replace('%', "%%"))
    }
}

/// A batch script. `exec` makes the program the process that SLURM's signals reach.
fn batch_script(options: &SlurmOptions, command: &str) -> String {
    let mut text = String::from("#!/bin/bash\nset -e\n");
    for line in &options.setup {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(text, "exec {command}");
    text
}

/// The submissions that are listed in a sweep's folder; none if it has no list.
///
/// # Errors
/// If the list cannot be read, or contains anything else than numbers of jobs.
pub fn read_submissions(sweep: &Path) -> anyhow::Result<Vec<Submitted>> {
    read_list(&sweep.join("slurm"))
}

/// Returns whether a job runs a script of this sweep's folder.
pub(super) fn is_script_of(sweep: &Path, script: &str) -> bool {
    let canonical = |path: &Path| path.canonicalize().ok();
    let script = canonical(Path::new(script));
    script.is_some() && SCRIPTS.iter().any(|name| canonical(&sweep.join("slurm").join(name)) == script)
}

/// The submissions that a folder's file has.
fn read_list(folder: &Path) -> anyhow::Result<Vec<Submitted>> {
    let path = folder.join("jobs.json");
    let damaged = "damaged; `squeue --me` shows your jobs; cancel those of this sweep, and delete the file";
    match frostline_files::read_text(&path, MOST_BYTES) {
        Ok(text) => serde_json::from_str(&text).with_context(|| format!("{}: {damaged}", path.display())),
        Err(error) if error.reason.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Notes a submission, in place of what was noted of its array and next to what others have noted meanwhile.
fn note_submission(folder: &Path, new: &Submitted) -> anyhow::Result<()> {
    let mut all = read_list(folder)?;
    all.retain(|one| one.array != new.array);
    all.push(new.clone());
    let text = serde_json::to_string_pretty(&all)? + "\n";
    Ok(frostline_files::write(&folder.join("jobs.json"), text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_lies_in_the_folder_whatever_its_name() {
        let cases = [
            ("/a/b", "--output=/a/b/%A_%a.log"),
            ("/a/p%j%x", "--output=/a/p%%j%%x/%A_%a.log"),
            ("/a/100%", "--output=/a/100%%/%A_%a.log"),
            (r"/a/p\%j", r"--output=/a/p\\%j/work.log"),
        ];
        for (folder, expected) in cases {
            assert_eq!(log_option(Path::new(folder), "work", "%A_%a.log"), expected);
        }
    }

    #[test]
    fn a_list_of_jobs_from_elsewhere_names_jobs_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let list = |array: &str, report: &str| {
            let text = format!(r#"[{{ "array": "{array}", "report": {report}, "workers": 2 }}]"#);
            frostline_files::write(&folder.path().join("jobs.json"), text.as_bytes()).expect("written");
            read_list(folder.path())
        };
        assert_eq!(list("123", "null").expect("a list")[0].job_numbers().count(), 1);
        for bad in ["--user=me", "-u", "", "1 2", "1,2", "123_", "99999999999"] {
            for error in [list(bad, "null"), list("123", &format!("{bad:?}"))] {
                let error = format!("{:#}", error.expect_err(bad));
                assert!(error.contains("jobs.json") && error.contains("is no number of a job"), "{error}");
            }
        }
    }

    #[test]
    fn a_program_that_somebody_else_put_there_is_not_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let [program, copy] = ["program", "copy"].map(|name| folder.path().join(name));
        frostline_files::write(&program, b"ours").expect("written");
        let submission = Submission {
            folder: folder.path().into(),
            program: copy.clone(),
            scripts: Default::default(),
            workers: 1,
            of_workers: vec![],
            of_report: vec![],
        };
        for there in [None, Some(b"theirs"), Some(b"ours\0\0")] {
            if let Some(bytes) = there {
                frostline_files::write(&copy, bytes).expect("written");
            }
            submission.copy_program(&program).expect("copied");
            assert_eq!(frostline_files::read(&copy, 9).expect("it is there"), b"ours");
        }
    }
}
