//! SLURM's own commands: `sbatch`, `squeue`, `scancel`, `scontrol`.

use std::fmt::{self, Display, Formatter};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use serde::{Deserialize, Serialize};

use crate::shell::shown_command;

/// The number of a job, of an array's task or of several tasks, as SLURM writes them: `123`, `123_4`, `123_[0-5]`. Nothing
/// else reaches SLURM's commands, which would take `--user=ME` for all jobs of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(String);

/// The most digits of a number; SLURM counts to 2^32.
const MOST_DIGITS: usize = 10;

impl TryFrom<String> for JobId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_number = |text: &str| {
            (1..=MOST_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        let is_list = |list: &str| {
            list.split(',').all(|range| {
                range
                    .split_once('-')
                    .map_or(is_number(range), |(first, last)| is_number(first) && is_number(last))
            })
        };
        let is_task = |task: &str| match task.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']').is_some_and(is_list),
            None => is_number(task),
        };
        let (job, task) = text.split_once('_').map_or((text.as_str(), None), |(job, task)| (job, Some(task)));
        if is_number(job) && task.is_none_or(is_task) {
            return Ok(Self(text));
        }
        Err(format!("`{text}` is no number of a job, as in 123, 123_4 or 123_[0-5]"))
    }
}

impl From<JobId> for String {
    fn from(job: JobId) -> Self {
        job.0
    }
}

impl Display for JobId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Joins the numbers of jobs into one text.
pub(super) fn join_numbers(jobs: &[JobId], between: &str) -> String {
    jobs.iter().map(|job| job.0.as_str()).collect::<Vec<_>>().join(between)
}

/// Runs one of SLURM's commands, and returns what it printed.
fn run_command(program: &str, arguments: &[String]) -> anyhow::Result<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().with_context(|| {
        format!("{program} cannot be started; run this on a machine from which jobs are submitted")
    })?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{} failed: {}", shown_command(program, arguments), errors.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Submits a job and returns its number.
pub(super) fn submit_job(arguments: &[String]) -> anyhow::Result<JobId> {
    let printed = run_command("sbatch", arguments)?;
    let number = printed.trim().split(';').next().unwrap_or_default();
    JobId::try_from(number.to_string()).map_err(|error| anyhow!("what sbatch printed: {error}"))
}

/// The number of jobs that one array can have.
pub(super) fn array_limit() -> anyhow::Result<usize> {
    let config = run_command("scontrol", &["show".into(), "config".into()])?;
    limit_in(&config).ok_or_else(|| anyhow!("`scontrol show config` does not tell MaxArraySize"))
}

fn limit_in(config: &str) -> Option<usize> {
    let line = config.lines().find_map(|line| line.trim().strip_prefix("MaxArraySize"))?;
    line.trim_start_matches([' ', '=']).trim().parse().ok()
}

/// Returns the state of each job that has these numbers, with the reason of those that wait. Jobs that the controller has
/// forgotten are not there.
pub(super) fn query_states(jobs: &[JobId]) -> anyhow::Result<Vec<(String, String)>> {
    let pairs = query_queue(jobs, "%T|%r")?;
    Ok(pairs.into_iter().map(|(state, reason)| (state.to_lowercase(), reason)).collect())
}

/// Returns the number of each job that has one of these numbers and has not ended, and the script that it runs. The jobs
/// of an array have the number of the array.
pub(super) fn query_scripts(jobs: &[JobId]) -> anyhow::Result<Vec<(String, String)>> {
    query_queue(jobs, "%F|%o")
}

/// Asks `squeue` for two fields of each job, separated by `|`.
fn query_queue(jobs: &[JobId], format: &str) -> anyhow::Result<Vec<(String, String)>> {
    let numbers = join_numbers(jobs, ",");
    let arguments = ["-h", "-r", "-o", format, "-j", &numbers].map(String::from);
    match run_command("squeue", &arguments) {
        Ok(text) => Ok(text.lines().filter_map(split_fields).collect()),
        Err(error) if error.to_string().contains("Invalid job id") => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn split_fields(line: &str) -> Option<(String, String)> {
    line.trim().split_once('|').map(|(first, second)| (first.into(), second.into()))
}

/// Ends jobs.
pub(super) fn cancel_jobs(jobs: &[JobId]) -> anyhow::Result<()> {
    let jobs: Vec<String> = jobs.iter().map(JobId::to_string).collect();
    run_command("scancel", &jobs).map(drop)
}

/// Puts a job back into the queue.
pub(super) fn requeue_job(job: &str) -> anyhow::Result<()> {
    run_command("scontrol", &["requeue".into(), job.into()]).map(drop)
}

/// Returns whether a job that is being ended reached its time limit or has to make room for another, as its
/// controller reports.
pub(super) fn was_not_cancelled(job: &str) -> bool {
    run_command("scontrol", &["show", "job", "-o", job].map(String::from))
        .is_ok_and(|about| is_limit_in(&about, job))
}

/// The same for what `scontrol` prints: a line for each job of an array.
fn is_limit_in(about: &str, job: &str) -> bool {
    let own = about.lines().find(|line| line.split(' ').next() == Some(&format!("JobId={job}")));
    own.into_iter().flat_map(|line| line.split(' ')).any(|field| match field.split_once('=') {
        Some(("Reason", reason)) => reason == "TimeLimit",
        Some(("PreemptTime", time)) => !matches!(time, "None" | "Unknown" | "N/A"),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_job_is_nothing_else() {
        let read = |text: &str| JobId::try_from(text.to_string());
        for good in ["1", "123", "4294967295", "123_4", "123_[0-5]", "123_[0-5,7,9-11]"] {
            assert_eq!(read(good).expect(good).to_string(), good);
        }
        for bad in [
            "",
            "-1",
            "--user=me",
            "12345678901",
            "123_",
            "_4",
            "123_[",
            "123_[]",
            "123_[0-]",
            "1 2",
            "1,2",
            "1\n",
            "١",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_slurm_prints_is_read() {
        let config = "MaxArraySize            = 1001\nMaxBatchRequeue         = 5\n";
        assert_eq!((limit_in(config), limit_in("")), (Some(1001), None));
        assert_eq!(split_fields("PENDING|Priority\n"), Some(("PENDING".into(), "Priority".into())));
        assert_eq!(split_fields("41|/a|b/work.sh"), Some(("41".into(), "/a|b/work.sh".into())));
        assert_eq!(split_fields(""), None);
    }

    #[test]
    fn a_job_that_was_cancelled_is_told_from_one_whose_time_is_over() {
        let about = "JobId=2 ArrayJobId=1 JobState=COMPLETING Reason=TimeLimit PreemptTime=None EndTime=x\n\
                     JobId=3 ArrayJobId=1 JobState=COMPLETING Reason=None PreemptTime=2026-11-24T06:41:55 EndTime=x\n\
                     JobId=1 ArrayJobId=1 JobState=CANCELLED Reason=None PreemptTime=None EndTime=x\n\
                     JobId=11 JobState=RUNNING Reason=TimeLimit\n";
        assert_eq!(["1", "2", "3", "4"].map(|job| is_limit_in(about, job)), [false, true, true, false]);
    }
}
