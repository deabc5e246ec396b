//! The steps of `cargo xtask ci` as data, the quick ones first.
//!
//! Builds are expensive: `test` and the steps after it use the same packages and features, so that they
//! share one build; `clippy-fetch` uses the build of `clippy`, and checks again only what the feature changes.

use std::path::Path;

use super::call::{CargoCall, cargo_call};
use super::outcome::StepOutcome;
use super::script::{Script, Tool};
use super::{CiSession, aarch64, browser, deny, dist, docs, nvrtc, package, python_package};
use crate::workspace::built_file;

/// One step of a run.
pub(super) struct CiStep {
    pub name: &'static str,
    pub work: StepWork,
}

type Prepare = dyn Fn(&Path) -> anyhow::Result<Result<Vec<CargoCall>, String>>;
type StepCheck = dyn Fn(&mut CiSession, &str) -> anyhow::Result<StepOutcome>;

/// What a step does.
pub(super) enum StepWork {
    /// Calls of cargo, one after the other.
    Cargo(Vec<CargoCall>),
    /// Calls of cargo for which something is made first, in the run's folder; or why they cannot be made.
    Prepared(Box<Prepare>),
    /// Prepares the Python environment that tests compare with.
    Python,
    /// Something else, given the step's name.
    Check(Box<StepCheck>),
    /// Nothing, for this reason.
    Skip(&'static str),
}

fn calls_step(name: &'static str, calls: impl Into<Vec<CargoCall>>) -> CiStep {
    CiStep { name, work: StepWork::Cargo(calls.into()) }
}

fn check_step(
    name: &'static str,
    check: impl Fn(&mut CiSession, &str) -> anyhow::Result<StepOutcome> + 'static,
) -> CiStep {
    CiStep { name, work: StepWork::Check(Box::new(check)) }
}

fn script_step(name: &'static str, script: Script) -> CiStep {
    check_step(name, move |session, step| script.run_script(step, &mut session.skips))
}

/// Returns all steps in their order. Sweeps are written to `scratch`.
pub(super) fn all_steps(scratch: &Path) -> Vec<CiStep> {
    let sweep = |arguments: &str, more: [String; 2]| {
        let mut call = cargo_call(&format!("xtask sweep --lang en,pcm {arguments}"));
        call.arguments.extend(more);
        call
    };
    let out = |folder: &str| ["--out".to_string(), scratch.join(folder).display().to_string()];
    // The code for other processors, if this one can run it. Whole sweeps on them are part of `test`: `tests/real/bits.rs`.
    let lesser = |name, isa| {
        let calls = ["test --workspace --test stock", "test --workspace --lib -- cpu::"];
        calls_step(name, calls.map(|arguments| cargo_call(arguments).with_variable("FROSTLINE_ISA", isa)))
    };
    let doc = cargo_call("doc --workspace --no-deps").with_variable("RUSTDOCFLAGS", "-Dwarnings");
    let mut ndarray =
        sweep("--seeds 42 --set train.epochs=2 --policies first-2 --backend ndarray", out("ndarray"));
    ndarray.arguments.extend(["--runner".into(), tested_runner()]);
    vec![
        calls_step("format", [cargo_call("fmt --all -- --check")]),
        calls_step("tidy", [cargo_call("xtask tidy")]),
        calls_step("clippy", [cargo_call("clippy --workspace --all-targets -- -D warnings")]),
        calls_step(
            "clippy-fetch",
            [cargo_call("clippy --workspace --all-targets --features xtask/fetch,xtask/pdf -- -D warnings")],
        ),
        calls_step("cuda", [cuda_call()]),
        calls_step("doc", [doc]),
        check_step("package", |_, step| package::check_packages(step)),
        check_step("links", |_, step| docs::check_links(step)),
        CiStep { name: "python", work: StepWork::Python },
        check_step("deny", |session, step| {
            deny::run_checks(step, session.python.as_deref(), session.shared.as_deref(), &mut session.skips)
        }),
        calls_step("test", [cargo_call("test --workspace")]),
        lesser("test-avx2", "avx2"),
        lesser("test-portable", "portable"),
        // The program of `test` has both backends, since `frostline-e2e` needs them: this costs no build.
        calls_step("sweep-ndarray", [cargo_call("test --workspace --test tag --no-run"), ndarray]),
        // A user's way to run it: the command builds the program with the profile `runner`.
        calls_step("sweep-flex", [sweep("--backend flex", out("flex"))]),
        // The pages of docs/study follow from the records that lie there.
        calls_step("study", [cargo_call("xtask study --check")]),
        check_step("browser", |session, step| browser::check_pages(step, &mut session.skips)),
        track_step(),
        onnx_step(),
        serve_step(),
        paper_step(),
        check_step("docs", |session, step| {
            docs::check_documentation(step, &tested_runner(), &session.scratch)
        }),
        cluster_step(),
        check_step("python-package", python_package::build_and_test_wheels),
        gpu_step(),
        CiStep { name: "nvrtc", work: StepWork::Prepared(Box::new(|_| nvrtc::prepare_call(nvrtc_call()))) },
        CiStep { name: "aarch64", work: StepWork::Prepared(Box::new(aarch64::all_calls)) },
        asan_step(),
        fuzz_step(),
        check_step("dist", |session, step| dist::build_and_use(session, step, &tested_runner())),
    ]
}

impl CiStep {
    /// The minutes that a step takes on two cores, if a run without much time may leave it out. What the program does for a user is
    /// tested before the first of these.
    pub(super) fn expected_minutes(&self) -> Option<u32> {
        Some(match self.name {
            "browser" | "fuzz" => 5,
            "track" | "onnx" | "serve" => 3,
            "paper" | "nvrtc" => 2,
            "docs" | "cluster" | "dist" | "gpu" => 8,
            "python-package" => 14,
            "aarch64" | "asan" => 6,
            _ => return None,
        })
    }

    /// The calls that this step starts with, if their build shares nothing with other steps' builds and so can be made
    /// at the same time.
    pub(super) fn separate_calls(&self) -> Option<Vec<CargoCall>> {
        match &self.work {
            StepWork::Cargo(calls) if ["gpu", "asan"].contains(&self.name) => Some(calls.clone()),
            _ if self.name == "dist" => dist::missing_tool().is_none().then(dist::build_calls),
            _ if self.name == "aarch64" => aarch64::missing_tool().is_none().then(aarch64::build_calls),
            _ => None,
        }
    }
}

/// The program that the tests start.
fn tested_runner() -> String {
    built_file(&format!("frostline{}", std::env::consts::EXE_SUFFIX)).display().to_string()
}

/// What a sweep writes for trackers, read with their own programs.
fn track_step() -> CiStep {
    let about = "a sweep, read with TensorBoard, MLflow and Weights & Biases";
    let script = Script { packages: true, ..Script::new("tests/track/check.py", about, tested_runner()) };
    self::script_step("track", script)
}

/// Exported models of every family and the demo's tagger, run in onnxruntime.
fn onnx_step() -> CiStep {
    let script = Script::new("tests/onnx/check.py", "exported models in onnxruntime", tested_runner());
    self::script_step("onnx", Script { packages: true, ..script })
}

/// Attacks on the live page's server, whose memory is read as Linux reports it.
fn serve_step() -> CiStep {
    let script = Script::new("tests/serve/attack.py", "attacks on the live page's server", tested_runner());
    let script = Script { arguments: ["--rush-s", "5"].map(String::from).into(), ..script };
    if cfg!(target_os = "linux") {
        self::script_step("serve", script)
    } else {
        CiStep { name: "serve", work: StepWork::Skip("it needs Linux") }
    }
}

/// A report used as the author of a paper uses it.
fn paper_step() -> CiStep {
    const TOOLS: [Tool; 2] = [
        Tool {
            call: "pdflatex --version",
            without: "--no-latex",
            lack: "latex",
            reason: "there is no pdflatex (texlive-latex-recommended): no text is compiled",
        },
        Tool {
            call: "pdffonts -v",
            without: "--no-poppler",
            lack: "latex",
            reason: "there is no pdffonts (poppler-utils): the fonts of figures are not looked at",
        },
    ];
    let script = Script::new("tests/paper/check.py", "a report in pandas and pdfLaTeX", tested_runner());
    self::script_step("paper", Script { packages: true, tools: &TOOLS, ..script })
}

/// Studies on a real SLURM of four nodes on this machine, while things go wrong: the cases that CI has time for; all of them
/// take a quarter of an hour.
fn cluster_step() -> CiStep {
    let script = Script::new("tests/cluster/check.py", "a study on four nodes of SLURM", tested_runner());
    let arguments = ["--only", "plain,stays,too-many,cancelled,two-sweeps"].map(String::from).into();
    self::script_step("cluster", Script { arguments, ..script })
}

/// The program with the backend `cuda` alone. This is the only look at code without `flex`, so it shows what is unused there; that
/// `cuda` starts without a GPU, and reports that, is a test of the step `gpu`.
fn cuda_call() -> CargoCall {
    cargo_call("clippy -p frostline --no-default-features --features cuda -- -D warnings")
}

/// The kernels for GPUs on whatever adapter there is, Mesa's software Vulkan too, against the processor; what a training step
/// asks of a device, and that the study and tagging are the same there. It is built in a quick profile.
fn gpu_step() -> CiStep {
    calls_step("gpu", [gpu_tests("")])
}

/// The test in the same build that compiles all kernels for CUDA.
fn nvrtc_call() -> CargoCall {
    gpu_tests(" -- kernels_compile_for_cuda")
}

fn gpu_tests(filter: &str) -> CargoCall {
    let arguments = "test --profile quick --config profile.quick.package.frostline-kernels.opt-level=2 -p frostline-kernels \
                     -p frostline-train -p frostline-tagger --features \
                     frostline-kernels/cuda,frostline-kernels/wgpu,frostline-train/wgpu,frostline-tagger/wgpu --test gpu --test device";
    cargo_call(&format!("{arguments}{filter}")).with_variable("FROSTLINE_DEVICE", "software")
}

/// The unsafe code of the kernels under AddressSanitizer: the tests that call it, and not the tests of the stock backend
/// ndarray, which is not ours and needs a feature. The flag is unstable, so the compiler is allowed to use it; a
/// separate target folder leaves the other steps' builds unchanged.
fn asan_step() -> CiStep {
    let arguments = "test --profile quick --config profile.quick.package.frostline-kernels.opt-level=2 -p frostline-kernels \
                     --lib --test stock --target x86_64-unknown-linux-gnu --target-dir target/asan";
    let call = cargo_call(arguments)
        .with_variable("RUSTC_BOOTSTRAP", "1")
        .with_variable("RUSTFLAGS", "-Zsanitizer=address");
    on_linux(calls_step("asan", [call]))
}

/// Damaged and made-up files for every reader of files from elsewhere. Only the project's own crates are compiled again
/// for it. The seed is fixed, so that a failure is caused by a change and not by chance; `cargo xtask fuzz` looks further.
fn fuzz_step() -> CiStep {
    let named = std::env::var_os(crate::fuzz::SECONDS).is_some_and(|seconds| !seconds.is_empty());
    let seconds = if named { "" } else { "--seconds 2" };
    on_linux(calls_step("fuzz", [cargo_call(&format!("xtask fuzz --jobs 2 --seed 1 {seconds}"))]))
}

/// A step that runs on Linux with x86-64 alone.
fn on_linux(step: CiStep) -> CiStep {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        step
    } else {
        CiStep { work: StepWork::Skip("it needs Linux on x86-64"), ..step }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_a_build_asks_for_the_same_packages_and_features() {
        let all = all_steps(Path::new("scratch"));
        let mut tests = 0;
        for step in &all {
            let StepWork::Cargo(calls) = &step.work else { continue };
            for call in calls.iter().filter(|call| call.arguments.first().is_some_and(|word| word == "test"))
            {
                if !["asan", "gpu"].contains(&step.name) {
                    let line = call.arguments.join(" ");
                    assert!(line.starts_with("test --workspace") && !line.contains("--features"), "{line}");
                    tests += 1;
                }
            }
        }
        assert_eq!(tests, 6);
    }

    #[test]
    fn the_python_is_there_before_the_tests_that_ask_it() {
        let all = all_steps(Path::new("scratch"));
        let place = |name: &str| all.iter().position(|step| step.name == name);
        assert!(place("python").expect("a step") < place("test").expect("a step"));
        assert!(place("python").expect("a step") < place("deny").expect("a step"));
    }
}
