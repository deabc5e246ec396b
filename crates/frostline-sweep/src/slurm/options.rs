//! What is asked of SLURM: options of a request, and their defaults from the user's own file.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, ensure};
use serde::Deserialize;

/// The environment variable with the path of the user's file.
const VARIABLE: &str = "FROSTLINE_CONFIG";

/// The largest file of defaults.
const MOST_BYTES: u64 = 1 << 20;

/// Further options of sbatch that hold for the report's job too.
const SHARED: [&str; 15] = [
    "--chdir",
    "--comment",
    "--exclude",
    "--export",
    "--get-user-env",
    "--mail-type",
    "--mail-user",
    "--nice",
    "--priority",
    "--reservation",
    "--uid",
    "--wckey",
    "-D",
    "-x",
    "--gid",
];

/// Options of jobs. None of them is part of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SlurmOptions {
    /// Jobs of one array that take cells [default: 4, at most one per cell]
    pub workers: Option<u32>,
    /// Time limit of a job, as sbatch takes it: 4:00:00, 2-12:00:00, or minutes
    pub time: Option<String>,
    /// Partition
    pub partition: Option<String>,
    /// Account that is charged
    pub account: Option<String>,
    /// Quality of service
    pub qos: Option<String>,
    /// Features that nodes must have
    pub constraint: Option<String>,
    /// GPUs of a job, as in `1` or `a100:1`
    pub gpus: Option<String>,
    /// Cores of a job [default: the cluster's]
    pub cpus: Option<u32>,
    /// Memory of a job, as in `16G`
    pub mem: Option<String>,
    /// A command that each job runs first, as in `module load cuda`; may be repeated
    pub setup: Vec<String>,
    /// A further option of sbatch, as in `--nice=100`; may be repeated. The report's job gets those that say for whom
    /// and how jobs run, and none that asks for nodes or devices
    pub sbatch: Vec<String>,
    /// An option of sbatch for the report's job alone, as in `--partition=cpu`; may be repeated
    pub report_sbatch: Vec<String>,
    /// Seconds before the time limit at which a job stores its cells and returns to the queue [default: 120]
    pub signal_s: Option<u32>,
    /// How often a job returns to the queue at its time limit while cells are left [default: 3]
    pub max_restarts: Option<u32>,
}

/// The user's file of defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct UserFile {
    slurm: SlurmOptions,
}

impl SlurmOptions {
    /// These options, with the user's defaults for those that were not given.
    pub(crate) fn with_defaults(&self) -> anyhow::Result<Self> {
        let given = self.clone();
        let Some(path) = user_file() else { return given.check_options() };
        let text = match frostline_files::read_text(&path, MOST_BYTES) {
            Ok(text) => text,
            Err(error) if error.reason.kind() == std::io::ErrorKind::NotFound => {
                return given.check_options();
            }
            Err(error) => return Err(anyhow!("{}: cannot be read: {}", path.display(), error.reason)),
        };
        let file: UserFile = toml::from_str(&text).with_context(|| place_of(&path))?;
        given.or_else_from(file.slurm).check_options()
    }

    fn or_else_from(self, other: Self) -> Self {
        let first = |own: Vec<String>, other: Vec<String>| if own.is_empty() { other } else { own };
        Self {
            workers: self.workers.or(other.workers),
            time: self.time.or(other.time),
            partition: self.partition.or(other.partition),
            account: self.account.or(other.account),
            qos: self.qos.or(other.qos),
            constraint: self.constraint.or(other.constraint),
            gpus: self.gpus.or(other.gpus),
            cpus: self.cpus.or(other.cpus),
            mem: self.mem.or(other.mem),
            setup: first(self.setup, other.setup),
            sbatch: first(self.sbatch, other.sbatch),
            report_sbatch: first(self.report_sbatch, other.report_sbatch),
            signal_s: self.signal_s.or(other.signal_s),
            max_restarts: self.max_restarts.or(other.max_restarts),
        }
    }

    /// A setup command may be anything; options of sbatch are options.
    fn check_options(self) -> anyhow::Result<Self> {
        for (name, options) in [("--sbatch", &self.sbatch), ("--report-sbatch", &self.report_sbatch)] {
            for option in options {
                ensure!(
                    option.starts_with('-'),
                    "{name} takes an option of sbatch, as in {name}=--nice=100, and `{option}` is none"
                );
                ensure!(
                    !["--clusters", "-M"].contains(&name_of(option)),
                    "{name}={option}: jobs of another cluster cannot be followed or cancelled from here; run this on a machine \
                     of that cluster"
                );
            }
        }
        Ok(self)
    }

    /// Jobs for so many cells.
    pub(crate) fn workers_for(&self, cells: usize) -> usize {
        (self.workers.unwrap_or(4) as usize).min(cells)
    }

    /// Seconds before the time limit.
    pub(crate) fn signal_s(&self) -> u32 {
        self.signal_s.unwrap_or(120)
    }

    /// Returns to the queue.
    pub(crate) fn max_restarts(&self) -> u32 {
        self.max_restarts.unwrap_or(3)
    }

    /// The options of sbatch for workers.
    pub(crate) fn of_workers(&self) -> Vec<String> {
        let constraint = format_option("constraint", self.constraint.as_ref());
        let cpus = format_option("cpus-per-task", self.cpus.as_ref());
        let gpus = format_option("gpus", self.gpus.as_ref());
        let own = [constraint, cpus, gpus].into_iter().flatten();
        self.common_options().chain(own).chain(self.sbatch.iter().cloned()).collect()
    }

    /// Returns the options of the report's job, which needs no GPU and no particular kind of node.
    pub(crate) fn of_report(&self) -> Vec<String> {
        let shared = self.sbatch.iter().filter(|option| SHARED.contains(&name_of(option)));
        // If two contradict each other, sbatch takes the last.
        self.common_options().chain(shared.cloned()).chain(self.report_sbatch.iter().cloned()).collect()
    }

    fn common_options(&self) -> impl Iterator<Item = String> {
        let time = format_option("time", self.time.as_ref());
        let partition = format_option("partition", self.partition.as_ref());
        let account = format_option("account", self.account.as_ref());
        let qos = format_option("qos", self.qos.as_ref());
        [time, partition, account, qos, format_option("mem", self.mem.as_ref())].into_iter().flatten()
    }
}

fn format_option(name: &str, value: Option<&impl Display>) -> Option<String> {
    value.map(|value| format!("--{name}={value}"))
}

/// The name of an option: `--nice` of `--nice=100`, `-x` of `-xnode7`.
fn name_of(option: &str) -> &str {
    match option.strip_prefix("--") {
        Some(_) => option.split('=').next().unwrap_or(option),
        None => option.get(..2).unwrap_or(option),
    }
}

fn place_of(path: &Path) -> String {
    format!("{}: not the options that Frostline knows", path.display())
}

/// `$FROSTLINE_CONFIG`, otherwise `frostline/config.toml` under `$XDG_CONFIG_HOME` or `$HOME/.config`.
fn user_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(VARIABLE).or_else(|| {
        let folder = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let folder = folder.or_else(|| set("HOME").map(|home| home.join(".config")));
        folder.map(|folder| folder.join("frostline").join("config.toml"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_comes_before_the_users_defaults() {
        let file: UserFile = toml::from_str(
            "[slurm]\nworkers = 8\npartition = 'gpu'\nsetup = ['module load cuda']\nmax-restarts = 1\n",
        )
        .expect("options");
        let given =
            SlurmOptions { workers: Some(2), time: Some("1:00:00".into()), ..SlurmOptions::default() };
        let both = given.or_else_from(file.slurm);
        assert_eq!((both.workers, both.max_restarts(), both.signal_s()), (Some(2), 1, 120));
        assert_eq!(both.of_workers(), ["--time=1:00:00", "--partition=gpu"]);
        assert_eq!(both.setup, ["module load cuda"]);
        assert_eq!((both.workers_for(1), both.workers_for(100)), (1, 2));
        assert!(toml::from_str::<UserFile>("[slurm]\nworker = 8\n").is_err());
    }

    #[test]
    fn an_option_of_sbatch_is_one() {
        let bad = || vec!["nice=100".to_string()];
        let bad = [
            SlurmOptions { sbatch: bad(), ..SlurmOptions::default() },
            SlurmOptions { report_sbatch: bad(), ..SlurmOptions::default() },
        ];
        for bad in bad {
            assert!(bad.check_options().is_err_and(|error| error.to_string().contains("`nice=100` is none")));
        }
        for other in ["--clusters=big", "-Mbig"] {
            let bad = SlurmOptions { sbatch: vec![other.into()], ..SlurmOptions::default() };
            assert!(bad.check_options().is_err_and(|error| error.to_string().contains("of another cluster")));
        }
    }

    #[test]
    fn the_reports_job_asks_for_no_more_than_it_needs() {
        let texts = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let given = SlurmOptions {
            partition: Some("gpu".into()),
            account: Some("a".into()),
            constraint: Some("a100".into()),
            gpus: Some("1".into()),
            cpus: Some(8),
            mem: Some("16G".into()),
            sbatch: texts(&[
                "--gres=shard:2",
                "--exclusive",
                "--nice=100",
                "-xnode7",
                "-N2",
                "--reservation=r",
            ]),
            report_sbatch: texts(&["--partition=cpu"]),
            ..SlurmOptions::default()
        };
        let shared = ["--partition=gpu", "--account=a", "--mem=16G"];
        let of_workers = ["--constraint=a100", "--cpus-per-task=8", "--gpus=1"];
        let own = texts(&[&shared[..], &of_workers[..]].concat());
        assert_eq!(given.of_workers(), [own, given.sbatch.clone()].concat());
        let of_report = ["--nice=100", "-xnode7", "--reservation=r", "--partition=cpu"];
        assert_eq!(given.of_report(), texts(&[&shared[..], &of_report[..]].concat()));
    }
}
