//! Our side: the runner's `bench` commands and its sweeps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime};

use frostline_record::{Record, SCHEMA, Sweep};
use tempfile::TempDir;

use crate::agenda::{Agenda, BenchTask};
use crate::compare::{command_words, scale_by_name};
use crate::machine_limits::Profiled;
use crate::pace::Pace;
use crate::places::BenchEncoder;
use crate::process::{
    ProcessAnswer, ProcessRefusal, last_lines, refusal_from_output, run_for_answer, run_for_object,
};
use crate::stored::SideFigures;
use crate::suite::Suite;
use crate::time_limit::TimeLimit;
use crate::trace;
use frostline_sweep::fault::{Blame as _, CommandResult, environment_fault};
use frostline_sweep::note;
use frostline_sweep::{Backend, Program};

/// The names of a sweep's folder and of its trace.
const OUT: &str = "out";
const TRACE: &str = "trace.json";

/// Our side of a run.
#[derive(Debug)]
pub(crate) struct FrostlineSide<'a> {
    runner: &'a Program,
    pace: &'a Pace,
}

impl<'a> FrostlineSide<'a> {
    pub(crate) const fn new(runner: &'a Program, pace: &'a Pace) -> Self {
        Self { runner, pace }
    }

    /// The backend of our tensors.
    pub(crate) fn backend(&self) -> Backend {
        self.runner.backend
    }

    /// Runs a task once.
    pub(crate) fn measure_task(
        &self,
        task: &BenchTask,
        encoder: &BenchEncoder,
        treebank: &Path,
    ) -> std::result::Result<ProcessAnswer, ProcessRefusal> {
        match task.suite {
            Suite::Starts => self.measure_starts(task, &encoder.with_weights(), treebank),
            suite if suite.is_whole() => self.run_sweep(task, encoder, treebank),
            suite => {
                let mut answer = self.run_command(&mut self.task_command(task, encoder, treebank))?;
                if suite == Suite::Steps && matches!(self.backend(), Backend::Flex | Backend::Amx) {
                    let mut command = self.task_command(task, encoder, treebank);
                    let profiled: Profiled =
                        run_for_object(command.args(["--profile", "--json"]), self.time_limit())?;
                    answer.figures.extend(profiled.named_figures());
                }
                Ok(answer)
            }
        }
    }

    /// The machine's speed in matrix products, in Gflop/s; `None` if the runner cannot measure it.
    pub(crate) fn gemm_gflops(&self, precision: &str) -> Option<f64> {
        let mut command = Command::new(&self.runner.path);
        command.args(["bench", "gemm", "--threads", &self.pace.threads.to_string()]);
        command.args(["--backend", &self.runner.backend.to_string()]);
        if precision != "f32" {
            command.args(["--precision", precision]);
        }
        self.run_command(&mut command).ok()?.figures.get("gflops").copied()
    }

    /// When the whole run has to end.
    pub(crate) fn time_limit(&self) -> &TimeLimit {
        &self.pace.limit
    }

    fn run_command(&self, command: &mut Command) -> std::result::Result<ProcessAnswer, ProcessRefusal> {
        run_for_answer(command, self.time_limit())
    }

    /// The command of a task that is no sweep.
    fn task_command(&self, task: &BenchTask, encoder: &BenchEncoder, treebank: &Path) -> Command {
        let value = |name: &str| match name {
            "policy" => Some(vec![task.policies.join(",").into()]),
            "backend" => Some(vec![self.runner.backend.to_string().into()]),
            name => task.placeholder_words(name, encoder, treebank, self.pace),
        };
        let mut command = Command::new(&self.runner.path);
        command.args(command_words(task.suite.suite_section().ours.as_deref().unwrap_or_default(), &value));
        command
    }

    /// Runs a sweep from its plan to its report, in a folder that is removed afterwards.
    fn run_sweep(
        &self,
        task: &BenchTask,
        encoder: &BenchEncoder,
        treebank: &Path,
    ) -> std::result::Result<ProcessAnswer, ProcessRefusal> {
        let scratch = tempfile::tempdir().map_err(|error| ProcessRefusal::Failed(error.to_string()))?;
        let (records, wall_s) = self.run_cells(task, encoder, treebank, scratch.path(), &[])?;
        let mut figures = sum_records(&records, wall_s);
        figures.extend(trace::part_seconds(&trace::read_spans(&scratch.path().join(TRACE)), wall_s));
        Ok(ProcessAnswer { figures, ..ProcessAnswer::default() })
    }

    /// Starts a sweep with an empty cache and once more, and ends each after its first step.
    fn measure_starts(
        &self,
        task: &BenchTask,
        encoder: &BenchEncoder,
        treebank: &Path,
    ) -> std::result::Result<ProcessAnswer, ProcessRefusal> {
        let scratch = tempfile::tempdir().map_err(|error| ProcessRefusal::Failed(error.to_string()))?;
        let mut figures = SideFigures::new();
        for key in ["first_start_s", "start_s"] {
            let folder = scratch.path().join(key);
            let mut command = self.sweep_command(task, encoder, treebank, &folder, &[])?;
            command.env("FROSTLINE_CACHE", scratch.path().join("cache"));
            let trace = folder.join(TRACE);
            let (mut stepped, began) = (None, SystemTime::now());
            let output = self.time_limit().output_until(&mut command, || {
                stepped = trace::first_step(&trace::read_spans(&trace));
                stepped.is_some()
            });
            let output = output.map_err(|error| ProcessRefusal::Failed(format!("the sweep: {error}")))?;
            let output = output.ok_or(ProcessRefusal::TimeOver)?;
            let stepped = stepped.ok_or_else(|| {
                ProcessRefusal::Failed(format!("the sweep took no step: {}", last_lines(&output.stderr)))
            })?;
            let began = began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            figures.insert(key.into(), stepped - began.as_secs_f64());
        }
        Ok(ProcessAnswer { figures, ..ProcessAnswer::default() })
    }

    /// Trains the tagger of each encoder that a task tags with or needs weights of, in a folder that is removed when
    /// the returned value is dropped.
    pub(crate) fn train_taggers(
        &self,
        agenda: &Agenda,
        encoders: &mut [BenchEncoder],
        treebanks: &BTreeMap<String, PathBuf>,
    ) -> CommandResult<Option<TempDir>> {
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
            let task = &BenchTask { scale: scale_by_name("tagging"), ..*task };
            let kept = match &mut scratch {
                Some(kept) => kept,
                none => none.insert(tempfile::tempdir().blame_environment()?),
            };
            let folder = kept.path().join(task.encoder.to_string());
            let init = encoder.random_init.then_some("encoder.init=\"random\"");
            let set: Vec<&str> = init.into_iter().chain(["save.model=true"]).collect();
            let treebank = &treebanks[task.treebank_name()];
            let made = self.run_cells(task, encoder, treebank, &folder, &set);
            let (records, _) = match made {
                Ok(made) => made,
                Err(ProcessRefusal::Unsupported(why) | ProcessRefusal::Failed(why)) => {
                    return environment_fault(why);
                }
                Err(ProcessRefusal::TimeOver) => {
                    return environment_fault("the time was over before a tagger was trained");
                }
            };
            encoder.tagger = records.first().map(|it| Sweep::cell_folder(&folder.join(OUT), &it.cell));
        }
        Ok(scratch)
    }

    /// Runs the sweep of a task in a folder, and returns its records and total time.
    fn run_cells(
        &self,
        task: &BenchTask,
        encoder: &BenchEncoder,
        treebank: &Path,
        folder: &Path,
        set: &[&str],
    ) -> std::result::Result<(Vec<Record>, f64), ProcessRefusal> {
        let mut command = self.sweep_command(task, encoder, treebank, folder, set)?;
        let started = Instant::now();
        let output = self.time_limit().run_process(&mut command);
        let wall_s = started.elapsed().as_secs_f64();
        let output = output.map_err(|error| ProcessRefusal::Failed(format!("the sweep: {error}")))?;
        let output = output.ok_or(ProcessRefusal::TimeOver)?;
        if !output.status.success() {
            return Err(refusal_from_output("the sweep", &output));
        }
        let out = folder.join(OUT);
        let records = Sweep::read(&out).and_then(|sweep| sweep.records(&out));
        Ok((records.map_err(|error| ProcessRefusal::Failed(error.to_string()))?, wall_s))
    }

    /// The sweep of a task: its plan, [`OUT`] and [`TRACE`] in a folder, which is created.
    fn sweep_command(
        &self,
        task: &BenchTask,
        encoder: &BenchEncoder,
        treebank: &Path,
        folder: &Path,
        set: &[&str],
    ) -> std::result::Result<Command, ProcessRefusal> {
        let plan_path = folder.join("plan.toml");
        let text = plan_text(task, &encoder.folder.display().to_string(), self.pace.batch);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&plan_path, text))
            .map_err(|error| ProcessRefusal::Failed(format!("{}: {error}", plan_path.display())))?;
        let mut command = Command::new(&self.runner.path);
        command.arg("sweep").arg("--plan").arg(&plan_path).arg("--out").arg(folder.join(OUT));
        command.arg("--trace").arg(folder.join(TRACE));
        command.args(["--backend", &self.runner.backend.to_string(), "--jobs", "1", "--no-timing"]);
        command.args(["--threads", &self.pace.threads.to_string()]);
        command.arg("--data").arg(treebank.parent().unwrap_or(Path::new(".")));
        command.args(
            task.setting
                .plan
                .iter()
                .map(String::as_str)
                .chain(set.iter().copied())
                .flat_map(|assignment| ["--set", assignment]),
        );
        Ok(command)
    }
}

/// The plan of a whole run or sweep, before its setting's own assignments.
fn plan_text(task: &BenchTask, encoder: &str, batch: u32) -> String {
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
fn sum_records(records: &[Record], wall_s: f64) -> SideFigures {
    let timings = || records.iter().filter_map(|record| record.timing.as_ref());
    let accuracies: Vec<f64> = records
        .iter()
        .filter_map(|record| Some(record.result.as_ref()?.scores().get("dev")?.study_accuracy()))
        .collect();
    let mut figures = SideFigures::from([
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agenda::{MeasuredSide, Only};
    use crate::places::tests::encoder;
    use frostline_record::{Plan, Switch};

    #[test]
    fn plans_of_whole_runs_are_plans() {
        let encoders = [encoder("all-MiniLM-L6-v2", false)];
        let agenda =
            Agenda::new(&[Suite::Runs, Suite::Sweeps], &encoders, Only::default()).expect("an agenda");
        for task in agenda.tasks.iter().filter(|task| task.who == MeasuredSide::Ours) {
            let parsed = Plan::parse(&plan_text(task, "a \"quoted\" folder", 8), "test").expect("a plan");
            let cells = parsed.expand().expect("cells");
            let scale = task.scale;
            assert_eq!(cells.len(), scale.treebanks.len() * task.policies.len() * scale.seeds.len());
            assert_eq!(cells[0].encoder.name, "a \"quoted\" folder");
            assert_eq!((cells[0].data.first, cells[0].train.epochs), (scale.first, scale.epochs));
            assert_eq!((cells[0].train.batch, cells[0].eval.baselines), (8, Switch::Off));
        }
    }
}
