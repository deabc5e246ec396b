//! The peer's side: the scripts under `tests/peers/`, called with the given Python.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::anyhow;

use crate::agenda::BenchTask;
use crate::compare::command_words;
use crate::pace::Pace;
use crate::places::BenchEncoder;
use crate::process::{ProcessAnswer, ProcessRefusal, last_lines, run_for_answer};
use crate::stored::SideFigures;
use crate::suite::Suite;
use frostline_sweep::Backend;
use frostline_sweep::fault::{Blame as _, CommandResult, environment_fault};
use frostline_sweep::note;
use frostline_sweep::units::format_clock;

/// What the scripts import.
const NEEDS: &str = "import accelerate, conllu, torch, transformers";

/// Prints the GPU that PyTorch computes on; `cpu` if it finds none. It calls AMD's GPUs `cuda`, too.
const GPU: &str = "import torch\n\
                   mps = torch.backends.mps.is_available()\n\
                   print('cuda' if torch.cuda.is_available() else 'mps' if mps else 'cpu')";

/// Variables that hold PyTorch and its libraries to AVX2, as `FROSTLINE_ISA=avx2` does our side.
const AVX2: &[(&str, &str)] =
    &[("ATEN_CPU_CAPABILITY", "avx2"), ("ONEDNN_MAX_CPU_ISA", "AVX2"), ("MKL_ENABLE_INSTRUCTIONS", "AVX2")];

/// The peer's side of a run.
#[derive(Debug)]
pub(crate) struct Peer<'a> {
    python: PathBuf,
    pace: &'a Pace,
    /// PyTorch's name for the device: `cuda` or `mps` if our side runs on a GPU, else `cpu`.
    device: &'static str,
    /// Variables that hold it to the instruction set of our side.
    held_to: &'static [(&'static str, &'static str)],
}

impl<'a> Peer<'a> {
    /// Checks that this Python has the packages that the scripts need.
    pub(crate) fn new(python: &Path, pace: &'a Pace) -> CommandResult<Self> {
        let shown = python.display();
        let output = Command::new(python).args(["-c", NEEDS]).stdin(Stdio::null()).output();
        let output = output
            .map_err(|error| {
                anyhow!(
                    "{shown}: no Python can be started there ({error}); give --python the interpreter of an environment as in tests/peers/README.md, or omit it"
                )
            })
            .blame_environment()?;
        if !output.status.success() {
            return environment_fault(format!(
                "{shown}: it lacks packages that the peers need ({}); tests/peers/README.md says how to install them",
                last_lines(&output.stderr)
            ));
        }
        let held_to = match pace.isa.as_deref() {
            None => &[],
            Some("avx2") => AVX2,
            Some(isa) => {
                return environment_fault(format!(
                    "FROSTLINE_ISA is `{isa}`, and PyTorch can be held to `avx2` alone; unset it, or omit --python"
                ));
            }
        };
        Ok(Self { python: python.into(), pace, device: "cpu", held_to })
    }

    /// Returns the peer on the same kind of device as our side on this backend.
    ///
    /// # Errors
    /// If ours runs on a GPU and PyTorch finds none: a GPU is not compared with a processor.
    pub(crate) fn on_same_device(self, backend: Backend) -> CommandResult<Self> {
        let asked = std::env::var("FROSTLINE_DEVICE").unwrap_or_default();
        let device = if on_gpu(backend, &asked) { self.torch_gpu(backend)? } else { "cpu" };
        Ok(Self { device, ..self })
    }

    /// Returns PyTorch's name for the GPU that it finds.
    fn torch_gpu(&self, backend: Backend) -> CommandResult<&'static str> {
        let answer =
            Command::new(&self.python).args(["-c", GPU]).stdin(Stdio::null()).output().blame_environment()?;
        match String::from_utf8_lossy(&answer.stdout).trim() {
            "cuda" => Ok("cuda"),
            "mps" if backend != Backend::Cuda => Ok("mps"),
            _ => environment_fault(format!(
                "{}: its PyTorch finds no GPU for the peer of the backend {backend}; install a PyTorch for this GPU, or \
                 omit --python",
                self.python.display()
            )),
        }
    }

    /// Runs a task once. A sweep is one process for each of its cells.
    pub(crate) fn measure_task(
        &self,
        task: &BenchTask,
        encoder: &BenchEncoder,
        treebank: impl Fn(&str) -> PathBuf,
    ) -> std::result::Result<ProcessAnswer, ProcessRefusal> {
        if !task.suite.is_whole() {
            let starts = task.suite == Suite::Starts;
            let encoder = if starts { &encoder.with_weights() } else { encoder };
            let policy = task.policies.first().map(String::as_str).unwrap_or_default();
            let seed = task.scale.seeds[0];
            let mut answer = self.run_command(&mut self.script_command(
                task,
                encoder,
                &treebank(task.treebank_name()),
                policy,
                seed,
            ))?;
            if starts {
                // It keeps nothing that a second start could use.
                let first = answer.figures.get("start_s").copied();
                answer.figures.extend(first.map(|first| ("first_start_s".to_string(), first)));
            }
            return Ok(answer);
        }
        let (mut all, seeds) = (Vec::new(), &task.scale.seeds);
        let measured = seeds.len().min(self.pace.peer_seeds);
        for seed in &seeds[..measured] {
            for name in task.scale.treebanks.values() {
                for policy in task.policies {
                    let mut command = self.script_command(task, encoder, &treebank(name), policy, *seed);
                    let started = Instant::now();
                    let mut one = self.run_command(&mut command)?;
                    let wall_s = started.elapsed().as_secs_f64();
                    note!("peer      {name}  {policy}  seed {seed}  [{}]", format_clock(wall_s));
                    one.figures.insert("wall_s".into(), wall_s);
                    all.push(one);
                }
            }
        }
        Ok(combine_answers(all, seeds.len() as f64 / measured as f64))
    }

    fn run_command(&self, command: &mut Command) -> std::result::Result<ProcessAnswer, ProcessRefusal> {
        run_for_answer(command, &self.pace.limit)
    }

    /// Returns the command that runs the script of a task.
    fn script_command(
        &self,
        task: &BenchTask,
        encoder: &BenchEncoder,
        treebank: &Path,
        policy: &str,
        seed: u64,
    ) -> Command {
        let value = |name: &str| match name {
            "policy" => Some(vec![policy.into()]),
            "seed" => Some(vec![seed.to_string().into()]),
            "device" => Some(vec![self.device.into()]),
            name => task.placeholder_words(name, encoder, treebank, self.pace),
        };
        let words = command_words(&task.suite.suite_section().peer, &value);
        let mut command = self.python_command();
        command.arg(self.pace.root.join("tests/peers").join(&words[0])).args(&words[1..]);
        command
    }

    /// Returns Python with the variables that make both sides equal.
    fn python_command(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.envs(self.held_to.iter().copied());
        if self.device == "cuda" {
            // Trainer would divide each batch among all GPUs.
            let [visible, asked] = ["CUDA_VISIBLE_DEVICES", "FROSTLINE_DEVICE"].map(std::env::var);
            let one = one_gpu(&visible.unwrap_or_default(), &asked.unwrap_or_default());
            command.env("CUDA_VISIBLE_DEVICES", one);
        }
        command
    }
}

/// Returns whether our side computes on a GPU if `FROSTLINE_DEVICE` has this value.
fn on_gpu(backend: Backend, asked: &str) -> bool {
    matches!(backend, Backend::Cuda | Backend::Wgpu) && asked != "software"
}

/// Returns the GPU that our side computes on, out of the GPUs that it can see; all of these if none is chosen.
fn one_gpu(visible: &str, asked: &str) -> String {
    let number: usize = asked.parse().unwrap_or(0);
    let named = visible.split(',').map(str::trim).filter(|name| !name.is_empty()).nth(number);
    named.map_or_else(|| number.to_string(), String::from)
}

/// Combines the processes of a sweep: times are summed and multiplied by `times`, since the processes share nothing
/// that would make further ones faster; memory is the maximum, accuracy the mean.
fn combine_answers(all: Vec<ProcessAnswer>, times: f64) -> ProcessAnswer {
    let of = |key: &str| all.iter().filter_map(|one| one.figures.get(key).copied()).collect::<Vec<f64>>();
    let mut figures = SideFigures::new();
    for key in ["wall_s", "train_s", "eval_s"] {
        let each = of(key);
        if each.len() == all.len() {
            figures.insert(key.into(), times * each.iter().sum::<f64>());
        }
    }
    figures.insert("peak_rss_mib".into(), of("peak_rss_mib").into_iter().fold(0.0, f64::max));
    figures.insert("cells".into(), all.len() as f64);
    let accuracies = of("accuracy");
    if !accuracies.is_empty() {
        figures.insert("accuracy".into(), accuracies.iter().sum::<f64>() / accuracies.len() as f64);
    }
    ProcessAnswer { figures, words: all.into_iter().next().map(|one| one.words).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_that_is_not_there_says_what_to_do() {
        let pace = Pace::of_a_test();
        let fault = Peer::new(Path::new("no/such/python"), &pace).expect_err("no Python");
        assert_eq!(fault.code, frostline_sweep::fault::ENVIRONMENT);
        let text = fault.error.to_string();
        assert!(text.starts_with("no/such/python: no Python can be started there"), "{text}");
        assert!(text.contains("tests/peers/README.md"), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn a_python_without_the_packages_says_so() {
        // `false` always ends with code 1, as a Python without the packages does.
        let pace = Pace::of_a_test();
        let fault = Peer::new(Path::new("false"), &pace).expect_err("no packages");
        assert_eq!(fault.code, frostline_sweep::fault::ENVIRONMENT);
        assert!(fault.error.to_string().contains("lacks packages that the peers need"), "{:#}", fault.error);
    }

    #[cfg(unix)]
    #[test]
    fn a_gpu_is_not_compared_with_a_processor() {
        let pace = Pace::of_a_test();
        // `true` prints nothing, and so names no GPU.
        let peer = Peer::new(Path::new("true"), &pace).expect("it ends with code 0");
        let fault = peer.torch_gpu(Backend::Cuda).expect_err("no GPU");
        assert_eq!(fault.code, frostline_sweep::fault::ENVIRONMENT);
        let text = fault.error.to_string();
        assert!(text.starts_with("true: its PyTorch finds no GPU"), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn the_peer_has_the_instructions_that_ours_has() {
        // `true` ends with code 0, as a Python with the packages does.
        let held = |isa: Option<&str>| {
            let pace = Pace { isa: isa.map(String::from), ..Pace::of_a_test() };
            let peer = Peer::new(Path::new("true"), &pace)?;
            Ok::<_, frostline_sweep::fault::Fault>(peer.python_command().get_envs().count())
        };
        assert_eq!(held(None).expect("nothing is asked"), 0);
        assert_eq!(held(Some("avx2")).expect("PyTorch can be held to it"), 3);
        let fault = held(Some("portable")).expect_err("PyTorch has no such setting");
        assert!(fault.error.to_string().contains("PyTorch can be held to `avx2` alone"), "{:#}", fault.error);
    }

    #[test]
    fn the_peer_has_the_gpu_that_ours_has() {
        for (backend, asked, gpu) in [
            (Backend::Flex, "", false),
            (Backend::Cuda, "1", true),
            (Backend::Wgpu, "", true),
            (Backend::Wgpu, "software", false),
        ] {
            assert_eq!(on_gpu(backend, asked), gpu, "{backend} {asked}");
        }
        for (visible, asked, one) in [
            ("", "", "0"),
            ("", "2", "2"),
            ("3,5", "1", "5"),
            ("3,5", "", "3"),
            ("GPU-a, GPU-b", "1", "GPU-b"),
        ] {
            assert_eq!(one_gpu(visible, asked), one, "{visible} {asked}");
        }
    }

    #[test]
    fn cells_add_up() {
        let one = |wall_s: f64, memory: f64, accuracy: f64| ProcessAnswer {
            figures: SideFigures::from([
                ("wall_s".into(), wall_s),
                ("peak_rss_mib".into(), memory),
                ("accuracy".into(), accuracy),
            ]),
            ..ProcessAnswer::default()
        };
        let all = combine_answers(vec![one(10.0, 900.0, 0.5), one(20.0, 800.0, 1.0)], 3.0).figures;
        assert_eq!((all["wall_s"], all["peak_rss_mib"], all["accuracy"]), (90.0, 900.0, 0.75));
        assert_eq!(all["cells"], 2.0);
    }
}
