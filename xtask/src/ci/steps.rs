//! The steps of `cargo xtask ci` as data, the quick ones first.
//!
//! Builds are expensive: `test` and the steps after it use the same packages and features, so that they
//! share one build; `clippy-fetch` uses those of `clippy`, and checks again only what the feature changes.

use std::path::Path;

use super::call::{Call, call};
use super::outcome::Outcome;
use super::script::{Script, Tool};
use super::{Session, aarch64, browser, deny, docs, nvrtc, package, python_package};
use crate::workspace::built;

/// One step of a run.
pub(super) struct Step {
    pub name: &'static str,
    pub work: Work,
}

type Prepare = dyn Fn(&Path) -> anyhow::Result<Result<Vec<Call>, String>>;
type Check = dyn Fn(&mut Session, &str) -> anyhow::Result<Outcome>;

/// What a step does.
pub(super) enum Work {
    /// Calls of cargo, one after the other.
    Cargo(Vec<Call>),
    /// Calls of cargo for which something is made first, in the run's folder; or why they cannot be made.
    Prepared(Box<Prepare>),
    /// Prepares the Python environment that tests compare with.
    Python,
    /// Something else, given the step's name.
    Check(Box<Check>),
    /// Nothing, for this reason.
    Skip(&'static str),
}

fn step(name: &'static str, calls: impl Into<Vec<Call>>) -> Step {
    Step { name, work: Work::Cargo(calls.into()) }
}

fn check(
    name: &'static str,
    check: impl Fn(&mut Session, &str) -> anyhow::Result<Outcome> + 'static,
) -> Step {
    Step { name, work: Work::Check(Box::new(check)) }
}

fn script(name: &'static str, script: Script) -> Step {
    check(name, move |session, step| script.run(step, &mut session.skips))
}

/// All steps in their order. Sweeps are written to `scratch`.
pub(super) fn steps(scratch: &Path) -> Vec<Step> {
    let sweep = |arguments: &str, more: [String; 2]| {
        let mut call = call(&format!("xtask sweep --lang en,pcm {arguments}"));
        call.arguments.extend(more);
        call
    };
    let out = |folder: &str| ["--out".to_string(), scratch.join(folder).display().to_string()];
    // The code for other processors, if this one can run it. Whole sweeps on them are part of `test`: `tests/real/bits.rs`.
    let lesser = |name, isa| {
        let calls = ["test --workspace --test parity", "test --workspace --lib -- cpu::"];
        step(name, calls.map(|arguments| call(arguments).with("FROSTLINE_ISA", isa)))
    };
    let doc = call("doc --workspace --no-deps").with("RUSTDOCFLAGS", "-Dwarnings");
    let mut ndarray =
        sweep("--seeds 42 --set train.epochs=2 --policies first-2 --backend ndarray", out("ndarray"));
    ndarray.arguments.extend(["--runner".into(), tested_runner()]);
    vec![
        step("format", [call("fmt --all -- --check")]),
        step("tidy", [call("xtask tidy")]),
        step("clippy", [call("clippy --workspace --all-targets -- -D warnings")]),
        step(
            "clippy-fetch",
            [call("clippy --workspace --all-targets --features xtask/fetch,xtask/pdf -- -D warnings")],
        ),
        step("cuda", [cuda()]),
        step("doc", [doc]),
        check("package", |_, step| package::run(step)),
        check("links", |_, step| docs::links(step)),
        Step { name: "python", work: Work::Python },
        check("deny", |session, step| {
            deny::run(step, session.python.as_deref(), session.shared.as_deref(), &mut session.skips)
        }),
        step("test", [call("test --workspace")]),
        lesser("test-avx2", "avx2"),
        lesser("test-portable", "portable"),
        // The program of `test` has both backends, since `frostline-e2e` needs them: this costs no build.
        step("sweep-ndarray", [call("test --workspace --test tag --no-run"), ndarray]),
        // As a user runs it: the command builds the program with the profile `runner`.
        step("sweep-flex", [sweep("--backend flex", out("flex"))]),
        // The pages of docs/study follow from the records that lie there.
        step("study", [call("xtask study --check")]),
        check("browser", |session, step| browser::run(step, &mut session.skips)),
        track(),
        serve(),
        paper(),
        check("python-package", python_package::run),
        check("docs", |session, step| docs::run(step, &tested_runner(), &session.scratch)),
        cluster(),
        gpu(),
        Step { name: "nvrtc", work: Work::Prepared(Box::new(|_| nvrtc::prepared(nvrtc()))) },
        Step { name: "aarch64", work: Work::Prepared(Box::new(aarch64::calls)) },
        asan(),
        fuzz(),
    ]
}

impl Step {
    /// The calls that this step starts with, if their build shares nothing with those of other steps and so can be made
    /// beside them.
    pub(super) fn separate(&self) -> Option<Vec<Call>> {
        match &self.work {
            Work::Cargo(calls) if ["gpu", "asan"].contains(&self.name) => Some(calls.clone()),
            _ if self.name == "aarch64" => aarch64::lacking().is_none().then(aarch64::builds),
            _ => None,
        }
    }
}

/// The program that the tests start.
fn tested_runner() -> String {
    built(&format!("frostline{}", std::env::consts::EXE_SUFFIX)).display().to_string()
}

/// What a sweep writes for trackers, read with their own programs.
fn track() -> Step {
    let about = "a sweep, read with TensorBoard, MLflow and Weights & Biases";
    let script = Script { packages: true, ..Script::new("tests/track/check.py", about, tested_runner()) };
    self::script("track", script)
}

/// Attacks on the live page's server, whose memory is read as Linux reports it.
fn serve() -> Step {
    let script = Script::new("tests/serve/attack.py", "attacks on the live page's server", tested_runner());
    let script = Script { arguments: "--rush-s 5", ..script };
    if cfg!(target_os = "linux") {
        self::script("serve", script)
    } else {
        Step { name: "serve", work: Work::Skip("it needs Linux") }
    }
}

/// A report used as the author of a paper uses it.
fn paper() -> Step {
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
    self::script("paper", Script { packages: true, tools: &TOOLS, ..script })
}

/// Studies on a real SLURM of four nodes on this machine, while things go wrong: the cases that CI has time for; all of them
/// take a quarter of an hour.
fn cluster() -> Step {
    let script = Script::new("tests/cluster/check.py", "a study on four nodes of SLURM", tested_runner());
    let arguments = "--only plain,stays,too-many,cancelled,two-sweeps";
    self::script("cluster", Script { arguments, ..script })
}

/// The program with the backend `cuda` alone. This is the only look at code without `flex`, so it shows what is unused there; that
/// `cuda` starts without a GPU, and says so, is a test of the step `gpu`.
fn cuda() -> Call {
    call("clippy -p frostline --no-default-features --features cuda -- -D warnings")
}

/// The kernels for GPUs on whatever adapter there is, Mesa's software Vulkan too, against the processor; what a training step
/// asks of a device, and that the study and tagging are the same there. It is built in a quick profile.
fn gpu() -> Step {
    step("gpu", [gpu_tests("")])
}

/// Of the same build, the test that compiles all kernels for CUDA.
fn nvrtc() -> Call {
    gpu_tests(" -- kernels_compile_for_cuda")
}

fn gpu_tests(filter: &str) -> Call {
    let arguments = "test --profile quick -p frostline-kernels -p frostline-train -p frostline-tagger --features \
                     frostline-kernels/cuda,frostline-kernels/wgpu,frostline-train/wgpu,frostline-tagger/wgpu --test gpu --test device";
    call(&format!("{arguments}{filter}")).with("FROSTLINE_DEVICE", "software")
}

/// The unsafe code of the kernels under AddressSanitizer: the tests that call it, and not those of the stock backend
/// ndarray, which is not ours and needs a feature. The flag is unstable, so the compiler is allowed to use it; a
/// separate target folder leaves the other steps' builds unchanged.
fn asan() -> Step {
    let arguments = "test --profile quick --config profile.quick.package.frostline-kernels.opt-level=2 -p frostline-kernels \
                     --lib --test parity --target x86_64-unknown-linux-gnu --target-dir target/asan";
    let call = call(arguments).with("RUSTC_BOOTSTRAP", "1").with("RUSTFLAGS", "-Zsanitizer=address");
    on_linux(step("asan", [call]))
}

/// Damaged and made-up files for every reader of files from elsewhere. Only the project's own crates are compiled again
/// for it. The seed is fixed, so that a failure tells of a change and not of luck; `cargo xtask fuzz` looks further.
fn fuzz() -> Step {
    let named = std::env::var_os(crate::fuzz::SECONDS).is_some_and(|seconds| !seconds.is_empty());
    let seconds = if named { "" } else { "--seconds 2" };
    on_linux(step("fuzz", [call(&format!("xtask fuzz --jobs 2 --seed 1 {seconds}"))]))
}

/// A step that runs on Linux with x86-64 alone.
fn on_linux(step: Step) -> Step {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        step
    } else {
        Step { work: Work::Skip("it needs Linux on x86-64"), ..step }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_a_build_asks_for_the_same_packages_and_features() {
        let all = steps(Path::new("scratch"));
        let mut tests = 0;
        for step in &all {
            let Work::Cargo(calls) = &step.work else { continue };
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
        let all = steps(Path::new("scratch"));
        let place = |name: &str| all.iter().position(|step| step.name == name);
        assert!(place("python").expect("a step") < place("test").expect("a step"));
        assert!(place("python").expect("a step") < place("deny").expect("a step"));
    }
}
