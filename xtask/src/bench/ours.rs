//! Our side: the runner's `bench` commands and its sweeps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Instant, SystemTime};

use frostline_record::{Plan, Record, SCHEMA, Sweep};

use crate::bench::Pace;
use crate::bench::agenda::{Agenda, Task};
use crate::bench::compare::TAGGING;
use crate::bench::limits::Profiled;
use crate::bench::measure::{Measure, Suite};
use crate::bench::places::Encoder;
use crate::bench::process::{Answer, Refusal, answer, last_lines, object};
use crate::bench::stored::Figures;
use crate::bench::trace;
use crate::limit::Limit;
use frostline_sweep::Backend;
use frostline_sweep::Program;
use frostline_sweep::fault::{Blame as _, Result, environment};
use frostline_sweep::note;

/// The names of a sweep's folder and of its trace.
const OUT: &str = "out";
const TRACE: &str = "trace.json";

/// Our side of a run.
#[derive(Debug)]
pub(crate) struct Ours<'a> {
    runner: &'a Program,
    pace: &'a Pace,
    /// The help text of `bench step`, which lists its options; empty if it was not needed.
    help: String,
}

impl<'a> Ours<'a> {
    /// Finds out what the runner can measure.
    pub(crate) fn new(runner: &'a Program, pace: &'a Pace, suites: &[Suite]) -> Result<Self> {
        let mut help = String::new();
        if suites.iter().any(|suite| matches!(suite, Suite::Steps | Suite::Device | Suite::Reading)) {
            let mut asked = Command::new(&runner.path);
            let output =
                asked.args(["bench", "step", "--help"]).stdin(Stdio::null()).output().environment()?;
            if !output.status.success() {
                return environment(format!(
                    "the runner {} has no command `bench step`: {}; omit --runner to have one built",
                    runner.path.display(),
                    last_lines(&output.stderr)
                ));
            }
            help = String::from_utf8_lossy(&output.stdout).into_owned();
        }
        Ok(Self { runner, pace, help })
    }

    /// The backend of our tensors.
    pub(crate) fn backend(&self) -> Backend {
        self.runner.backend
    }

    /// Why a task cannot be run with this runner, if it cannot.
    pub(crate) fn lacks(&self, task: &Task, encoder: &Encoder) -> Option<String> {
        match task.suite {
            Suite::Steps | Suite::Device => missing(&self.help, task.setting.flags)
                .map(|flag| format!("the runner's `bench step` has no `{flag}` yet")),
            Suite::Reading | Suite::Tagging => None,
            Suite::Starts | Suite::Runs | Suite::ShortSweeps | Suite::Sweeps => {
                let text = plan(task, &encoder.folder.display().to_string(), self.pace.batch);
                let mut plan = Plan::parse(&text, "the bench's plan").expect("the bench's own plan");
                let bad = task.setting.plan.iter().find(|assignment| plan.assign(assignment).is_err());
                bad.map(|assignment| format!("plans do not have `{assignment}` yet"))
            }
        }
    }

    /// Runs a task once.
    pub(crate) fn measure(
        &self,
        task: &Task,
        encoder: &Encoder,
        treebank: &Path,
    ) -> std::result::Result<Answer, Refusal> {
        match task.suite {
            Suite::Device => self.answer(&mut self.step(task, encoder, treebank)),
            Suite::Steps => {
                let mut answer = self.answer(&mut self.step(task, encoder, treebank))?;
                if matches!(self.backend(), Backend::Flex | Backend::Amx) {
                    let mut command = self.step(task, encoder, treebank);
                    let profiled: Profiled = object(command.args(["--profile", "--json"]), self.limit())?;
                    answer.figures.extend(profiled.figures());
                }
                Ok(answer)
            }
            Suite::Reading => {
                self.answer(self.bench("read").args(folders(encoder)).arg("--treebank").arg(treebank))
            }
            Suite::Tagging => {
                let tagger = encoder.tagger.as_ref().expect("taggers are trained before the rounds");
                let mut command = self.bench("tag");
                command.args(task.setting.flags).arg("--run").arg(tagger).arg("--treebank").arg(treebank);
                command.args(["--threads", &self.pace.threads.to_string()]);
                self.answer(command.args(["--backend", &self.runner.backend.to_string()]))
            }
            Suite::Starts => self.starts(task, &encoder.with_weights(), treebank),
            Suite::Runs | Suite::ShortSweeps | Suite::Sweeps => self.sweep(task, encoder, treebank),
        }
    }

    /// The machine's speed in matrix products, in Gflop/s; `None` if the runner cannot measure it.
    pub(crate) fn gemm_gflops(&self, precision: &str) -> Option<f64> {
        let mut command = self.bench("gemm");
        command.args(["--threads", &self.pace.threads.to_string()]);
        command.args(["--backend", &self.runner.backend.to_string()]);
        if precision != "f32" {
            command.args(["--precision", precision]);
        }
        self.answer(&mut command).ok()?.figures.get("gflops").copied()
    }

    /// When the whole run has to end.
    pub(crate) fn limit(&self) -> &Limit {
        &self.pace.limit
    }

    fn answer(&self, command: &mut Command) -> std::result::Result<Answer, Refusal> {
        answer(command, self.limit())
    }

    fn bench(&self, what: &str) -> Command {
        let mut command = Command::new(&self.runner.path);
        command.args(["bench", what]);
        command
    }

    fn step(&self, task: &Task, encoder: &Encoder, treebank: &Path) -> Command {
        let mut command = self.bench("step");
        command.args(folders(encoder)).arg("--treebank").arg(treebank);
        command.args(["--policy", &task.policies.join(",")]);
        command.args(["--steps", &self.pace.steps.to_string(), "--warmup", &self.pace.warmup.to_string()]);
        command.args(["--batch", &self.pace.batch_of(task).to_string()]);
        command.args(["--threads", &self.pace.threads.to_string()]);
        command.args(["--backend", &self.runner.backend.to_string()]);
        if encoder.random_init {
            command.arg("--random-init");
        }
        if task.scale.first > 0 {
            command.args(["--first", &task.scale.first.to_string()]);
        }
        command.args(task.setting.flags);
        command
    }

    /// Runs a sweep from its plan to its report, in a folder that is removed afterwards.
    fn sweep(&self, task: &Task, encoder: &Encoder, treebank: &Path) -> std::result::Result<Answer, Refusal> {
        let scratch = Scratch::new().map_err(|error| Refusal::Failed(error.to_string()))?;
        let (records, wall_s) = self.cells(task, encoder, treebank, &scratch.0, &[])?;
        let mut figures = summed(&records, wall_s);
        figures.extend(trace::parts(&trace::spans(&scratch.0.join(TRACE)), wall_s));
        Ok(Answer { figures, ..Answer::default() })
    }

    /// Starts a sweep with an empty cache and once more, and ends each after its first step.
    fn starts(
        &self,
        task: &Task,
        encoder: &Encoder,
        treebank: &Path,
    ) -> std::result::Result<Answer, Refusal> {
        let scratch = Scratch::new().map_err(|error| Refusal::Failed(error.to_string()))?;
        let mut figures = Figures::new();
        for measure in [Measure::FirstStart, Measure::Start] {
            let folder = scratch.0.join(measure.key());
            let mut command = self.sweep_command(task, encoder, treebank, &folder, &[])?;
            command.env("FROSTLINE_CACHE", scratch.0.join("cache"));
            let trace = folder.join(TRACE);
            let (mut stepped, began) = (None, SystemTime::now());
            let output = self.limit().output_until(&mut command, || {
                stepped = trace::first_step(&trace::spans(&trace));
                stepped.is_some()
            });
            let output = output.map_err(|error| Refusal::Failed(format!("the sweep: {error}")))?;
            let output = output.ok_or(Refusal::TimeOver)?;
            let stepped = stepped.ok_or_else(|| {
                Refusal::Failed(format!("the sweep took no step: {}", last_lines(&output.stderr)))
            })?;
            let began = began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            figures.insert(measure.key().into(), stepped - began.as_secs_f64());
        }
        Ok(Answer { figures, ..Answer::default() })
    }

    /// Trains the tagger of each encoder that a task tags with or needs weights of, in a folder that is removed when
    /// the returned value is dropped.
    pub(crate) fn train_taggers(
        &self,
        agenda: &Agenda,
        encoders: &mut [Encoder],
        treebanks: &BTreeMap<String, PathBuf>,
    ) -> Result<Option<Scratch>> {
        let mut scratch = None;
        for task in &agenda.tasks {
            let encoder = &mut encoders[task.encoder];
            let needed = match task.suite {
                Suite::Tagging => true,
                Suite::Starts => encoder.random_init,
                _ => false,
            };
            if !needed || encoder.tagger.is_some() {
                continue;
            }
            note!("train     a tagger on {} to measure with", encoder.name);
            let task = &Task { scale: &TAGGING, ..*task };
            let kept = match &mut scratch {
                Some(kept) => kept,
                none => none.insert(Scratch::new().environment()?),
            };
            let folder = kept.0.join(task.encoder.to_string());
            let init = encoder.random_init.then_some("encoder.init=\"random\"");
            let set: Vec<&str> = init.into_iter().chain(["save.model=true"]).collect();
            let treebank = &treebanks[task.scale.treebanks[0].1];
            let made = self.cells(task, encoder, treebank, &folder, &set);
            let (records, _) = match made {
                Ok(made) => made,
                Err(Refusal::Unsupported(why) | Refusal::Failed(why)) => return environment(why),
                Err(Refusal::TimeOver) => {
                    return environment("the time was over before a tagger was trained");
                }
            };
            encoder.tagger = records.first().map(|it| Sweep::cell_folder(&folder.join(OUT), &it.cell));
        }
        Ok(scratch)
    }

    /// Runs the sweep of a task in a folder, and returns its records and total time.
    fn cells(
        &self,
        task: &Task,
        encoder: &Encoder,
        treebank: &Path,
        folder: &Path,
        set: &[&str],
    ) -> std::result::Result<(Vec<Record>, f64), Refusal> {
        let mut command = self.sweep_command(task, encoder, treebank, folder, set)?;
        let started = Instant::now();
        let output = self.limit().output(&mut command);
        let wall_s = started.elapsed().as_secs_f64();
        let output = output.map_err(|error| Refusal::Failed(format!("the sweep: {error}")))?;
        let output = output.ok_or(Refusal::TimeOver)?;
        if !output.status.success() {
            return Err(Refusal::Failed(format!("the sweep failed: {}", last_lines(&output.stderr))));
        }
        let out = folder.join(OUT);
        let records = Sweep::read(&out).and_then(|sweep| sweep.records(&out));
        Ok((records.map_err(|error| Refusal::Failed(error.to_string()))?, wall_s))
    }

    /// The sweep of a task: its plan, [`OUT`] and [`TRACE`] in a folder, which is created.
    fn sweep_command(
        &self,
        task: &Task,
        encoder: &Encoder,
        treebank: &Path,
        folder: &Path,
        set: &[&str],
    ) -> std::result::Result<Command, Refusal> {
        let plan_path = folder.join("plan.toml");
        let text = plan(task, &encoder.folder.display().to_string(), self.pace.batch);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&plan_path, text))
            .map_err(|error| Refusal::Failed(format!("{}: {error}", plan_path.display())))?;
        let mut command = Command::new(&self.runner.path);
        command.arg("sweep").arg("--plan").arg(&plan_path).arg("--out").arg(folder.join(OUT));
        command.arg("--trace").arg(folder.join(TRACE));
        command.args(["--backend", &self.runner.backend.to_string(), "--jobs", "1", "--no-timing"]);
        command.args(["--threads", &self.pace.threads.to_string()]);
        command.arg("--data").arg(treebank.parent().unwrap_or(Path::new(".")));
        command.args(task.setting.plan.iter().chain(set).flat_map(|assignment| ["--set", assignment]));
        Ok(command)
    }
}

/// The first option of a setting that is missing from a help text.
fn missing(help: &str, flags: &'static [&'static str]) -> Option<&'static str> {
    flags.iter().copied().find(|flag| !help.contains(flag))
}

/// The runner's arguments for an encoder: the parent folder, and the name of its folder there.
fn folders(encoder: &Encoder) -> Vec<std::ffi::OsString> {
    let parent = encoder.folder.parent().unwrap_or(Path::new("."));
    let name = encoder.folder.file_name().unwrap_or_default();
    vec!["--models".into(), parent.into(), "--encoder".into(), name.into()]
}

/// The plan of a whole run or sweep, before its setting's own assignments.
fn plan(task: &Task, encoder: &str, batch: u32) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let list = |items: Vec<String>| items.join(", ");
    let treebanks = task.scale.treebanks.iter();
    let named: String =
        treebanks.clone().map(|(lang, name)| format!("{lang} = {}\n", quoted(name))).collect();
    format!(
        "schema = {SCHEMA}\nname = \"bench\"\n\n[treebanks]\n{named}\n[grid]\nlang = [{}]\npolicy = [{}]\nseed = [{}]\n\n\
         [settings.encoder]\nname = {}\n\n[settings.data]\nfirst = {}\n\n[settings.train]\nepochs = {}\nbatch = {batch}\n\n\
         # The peer computes none.\n[settings.eval]\nbaselines = \"off\"\n",
        list(treebanks.map(|(lang, _)| quoted(lang)).collect()),
        list(task.policies.iter().map(|policy| quoted(policy)).collect()),
        list(task.scale.seeds.iter().map(u64::to_string).collect()),
        quoted(encoder),
        task.scale.first,
        task.scale.epochs,
    )
}

/// Sums the records of a sweep. The accuracy is defined as in the original study, as the peer reports it too: the
/// mean over cells.
fn summed(records: &[Record], wall_s: f64) -> Figures {
    let timings = || records.iter().filter_map(|record| record.timing.as_ref());
    let accuracies: Vec<f64> = records
        .iter()
        .filter_map(|record| Some(record.result.as_ref()?.scores().get("dev")?.study_accuracy()))
        .collect();
    let mut figures = Figures::from([
        ("wall_s".into(), wall_s),
        (
            "train_s".into(),
            timings().map(|timing| timing.train_ms + timing.prefix.fill_ms).sum::<f64>() / 1e3,
        ),
        ("eval_s".into(), timings().map(|timing| timing.eval_ms).sum::<f64>() / 1e3),
        ("peak_rss_mib".into(), timings().map(|timing| timing.peak_rss_mib).fold(0.0, f64::max)),
        ("cells".into(), records.len() as f64),
    ]);
    if !accuracies.is_empty() {
        figures.insert("accuracy".into(), accuracies.iter().sum::<f64>() / accuracies.len() as f64);
    }
    figures
}

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Scratch(pub PathBuf);

impl Scratch {
    pub(crate) fn new() -> std::io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("frostline-bench-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::agenda::{Only, Who};
    use crate::bench::compare::COMPARISONS;
    use crate::bench::places::tests::encoder;
    use frostline_record::Switch;

    #[test]
    fn an_option_the_runner_lacks_is_named() {
        let help = "--steps <N>\n--precision <P>  [possible values: f32]";
        assert_eq!(missing(help, &["--precision", "bf16"]), Some("bf16"));
        assert_eq!(missing(help, &["--prefix-cache"]), Some("--prefix-cache"));
        assert_eq!(missing(help, &[]), None);
    }

    #[test]
    fn a_second_scratch_leaves_the_first_alone() {
        let [first, second] = [(); 2].map(|()| Scratch::new().expect("a folder"));
        assert!(first.0 != second.0 && first.0.is_dir());
    }

    #[test]
    fn plans_of_whole_runs_are_plans() {
        let encoders = [encoder("all-MiniLM-L6-v2", false)];
        let agenda =
            Agenda::new(&[Suite::Runs, Suite::Sweeps], &encoders, Only::default()).expect("an agenda");
        for task in agenda.tasks.iter().filter(|task| task.who == Who::Ours) {
            let parsed = Plan::parse(&plan(task, "a \"quoted\" folder", 8), "test").expect("a plan");
            let cells = parsed.expand().expect("cells");
            let scale = task.scale;
            assert_eq!(cells.len(), scale.treebanks.len() * task.policies.len() * scale.seeds.len());
            assert_eq!(cells[0].encoder.name, "a \"quoted\" folder");
            assert_eq!((cells[0].data.first, cells[0].train.epochs), (scale.first, scale.epochs));
            assert_eq!((cells[0].train.batch, cells[0].eval.baselines), (8, Switch::Off));
        }
        assert!(COMPARISONS.iter().any(|comparison| comparison.suite == Suite::Runs));
    }
}
