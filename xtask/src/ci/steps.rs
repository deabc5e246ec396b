//! The steps of `cargo xtask ci` as data, the quick ones first.
//!
//! Builds are expensive: `test` and the steps after it use the same packages and features, so that they
//! share one build; `clippy-fetch` uses those of `clippy`, and checks again only what the feature changes.

use std::path::{Path, PathBuf};

use super::aarch64;
use super::call::{Call, call};

/// One step of a run.
pub(super) struct Step {
    pub name: &'static str,
    pub work: Work,
}

/// What a step does.
pub(super) enum Work {
    /// Calls of cargo, one after the other.
    Cargo(Vec<Call>),
    /// Prepares the Python environment that tests compare with.
    Python,
    /// Checks licences, sources, duplicates and advisories of the dependencies.
    Deny,
    /// Uses the report's page in a browser.
    Browser,
    /// Reads with the trackers' programs what a sweep of this program writes for them.
    Track(String),
    /// Reads the report of a sweep of this program with pandas and pdfLaTeX.
    Paper(String),
    /// Attacks the live page's server of this program.
    Serve(String),
    /// Runs studies on a cluster, with this program.
    Cluster(String),
    /// Runs the commands of the documentation with this program, and builds the book.
    Docs(String),
    /// Runs the code for Arm in an emulator.
    Aarch64,
    /// Compiles the kernels for CUDA without a GPU, by this test.
    Nvrtc(Call),
    /// Builds the Python package, and tests it with this program.
    PythonPackage(String),
    /// Lists the files of each package.
    Package,
    /// Nothing, for this reason.
    #[cfg_attr(all(target_os = "linux", target_arch = "x86_64"), allow(dead_code))]
    Skip(&'static str),
}

fn step(name: &'static str, calls: impl Into<Vec<Call>>) -> Step {
    Step { name, work: Work::Cargo(calls.into()) }
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
        Step { name: "package", work: Work::Package },
        Step { name: "python", work: Work::Python },
        Step { name: "deny", work: Work::Deny },
        step("test", [call("test --workspace")]),
        lesser("test-avx2", "avx2"),
        lesser("test-portable", "portable"),
        // The program of `test` has both backends, since `frostline-e2e` needs them: this costs no build.
        step("sweep-ndarray", [call("test --workspace --test tag --no-run"), ndarray]),
        // As a user runs it: the command builds the program with the profile `runner`.
        step("sweep-flex", [sweep("--backend flex", out("flex"))]),
        // The pages of docs/study follow from the records that lie there.
        step("study", [call("xtask study --check")]),
        Step { name: "browser", work: Work::Browser },
        Step { name: "track", work: Work::Track(tested_runner()) },
        Step { name: "serve", work: Work::Serve(tested_runner()) },
        Step { name: "paper", work: Work::Paper(tested_runner()) },
        Step { name: "python-package", work: Work::PythonPackage(tested_runner()) },
        Step { name: "docs", work: Work::Docs(tested_runner()) },
        Step { name: "cluster", work: Work::Cluster(tested_runner()) },
        gpu(),
        Step { name: "nvrtc", work: Work::Nvrtc(nvrtc()) },
        Step { name: "aarch64", work: Work::Aarch64 },
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
            Work::Aarch64 => aarch64::lacking().is_none().then(aarch64::builds),
            _ => None,
        }
    }
}

/// The program that the tests start.
fn tested_runner() -> String {
    built(&format!("frostline{}", std::env::consts::EXE_SUFFIX)).display().to_string()
}

/// What the build of the step `test` has made: its profile's folder lies beside that of this program's.
pub(super) fn built(path: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap_or_default();
    let folder = here.ancestors().skip(1).find(|folder| !folder.ends_with("deps"));
    folder.and_then(Path::parent).unwrap_or(Path::new("target")).join("debug").join(path)
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
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn asan() -> Step {
    let arguments = "test --profile quick --config profile.quick.package.frostline-kernels.opt-level=2 -p frostline-kernels \
                     --lib --test parity --target x86_64-unknown-linux-gnu --target-dir target/asan";
    let call = call(arguments).with("RUSTC_BOOTSTRAP", "1").with("RUSTFLAGS", "-Zsanitizer=address");
    step("asan", [call])
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn asan() -> Step {
    Step { name: "asan", work: Work::Skip("it needs Linux on x86-64") }
}

/// Damaged and made-up files for every reader of files from elsewhere. Only the project's own crates are compiled again
/// for it. The seed is fixed, so that a failure tells of a change and not of luck; `cargo xtask fuzz` looks further.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn fuzz() -> Step {
    let named = std::env::var_os(crate::fuzz::SECONDS).is_some_and(|seconds| !seconds.is_empty());
    step(
        "fuzz",
        [call(if named {
            "xtask fuzz --jobs 2 --seed 1"
        } else {
            "xtask fuzz --jobs 2 --seed 1 --seconds 2"
        })],
    )
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn fuzz() -> Step {
    Step { name: "fuzz", work: Work::Skip("it needs Linux on x86-64") }
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
