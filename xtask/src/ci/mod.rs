//! `cargo xtask ci`: everything that must hold before a change lands, step by step.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, anyhow};

use crate::args::CiArgs;
use crate::fault::{Blame as _, Result};
use crate::units::clock;
use crate::{Ending, workspace};

/// One step: its name, cargo's arguments, and variables for it.
struct Step {
    name: &'static str,
    arguments: Vec<String>,
    variables: &'static [(&'static str, &'static str)],
    /// Exit codes that count as passed.
    passes: &'static [i32],
}

fn step(name: &'static str, arguments: &str) -> Step {
    let arguments = arguments.split_whitespace().map(String::from).collect();
    Step { name, arguments, variables: &[], passes: &[0] }
}

/// The steps in order, the quick ones first. `scratch` takes the sweeps.
fn steps(scratch: &Path) -> Vec<Step> {
    let sweep = |name, arguments: &str, out: &str| {
        let mut step = step(name, arguments);
        step.arguments.extend(["--out".into(), scratch.join(out).display().to_string()]);
        step
    };
    // What other processors run, as far as this one can show it.
    let lesser =
        |name, variables| Step { variables, ..step(name, "test --workspace --test parity --test laws") };
    let doc = step("doc", "doc --workspace --no-deps");
    // Without a GPU the runner must start, say so and end with the code for a lacking device.
    let cuda = step(
        "cuda",
        "run --profile quick -p frostline --no-default-features --features cuda -- version --backend cuda",
    );
    // The unsafe code of the kernels. Only nightly knows the flag, so the compiler is told that it may
    // be used; a target folder of its own keeps the other steps' builds as they are.
    let asan = step(
        "asan",
        "test -p frostline-kernels --tests --target x86_64-unknown-linux-gnu --target-dir target/asan",
    );
    let sanitized = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    let mut steps = vec![
        step("format", "fmt --all -- --check"),
        step("tidy", "xtask tidy"),
        step("clippy", "clippy --workspace --all-targets -- -D warnings"),
        step("clippy-fetch", "clippy -p xtask --all-targets --features fetch -- -D warnings"),
        step(
            "clippy-backends",
            "clippy -p frostline --all-targets --no-default-features --features ndarray -- -D warnings",
        ),
        Step { variables: &[("RUSTDOCFLAGS", "-Dwarnings")], ..doc },
        step("test", "test --workspace"),
        lesser("test-avx2", &[("FROSTLINE_ISA", "avx2")]),
        lesser("test-portable", &[("FROSTLINE_ISA", "portable")]),
        sweep("sweep-flex", "xtask sweep --lang en,pcm", "flex"),
        sweep("sweep-ndarray", "xtask sweep --lang en,pcm --seeds 42 --backend ndarray", "ndarray"),
        Step { passes: &[0, 3], ..cuda },
    ];
    if sanitized {
        let variables = &[("RUSTC_BOOTSTRAP", "1"), ("RUSTFLAGS", "-Zsanitizer=address")];
        steps.push(Step { variables, ..asan });
    }
    steps
}

/// Runs all steps, or those asked for, and shows how long each took.
pub(crate) fn ci(args: &CiArgs) -> Result<Ending> {
    let scratch = std::env::temp_dir().join(format!("frostline-ci-{}", std::process::id()));
    let all = steps(&scratch);
    if let Some(unknown) = args.only.iter().find(|name| !all.iter().any(|step| step.name == **name)) {
        let names: Vec<&str> = all.iter().map(|step| step.name).collect();
        return Err(anyhow!("there is no step `{unknown}`; there are: {}", names.join(", "))).plan();
    }
    let mut table = Vec::new();
    let mut ending = Ending::Done;
    for step in
        all.iter().filter(|step| args.only.is_empty() || args.only.iter().any(|name| name == step.name))
    {
        println!("\n== {}: cargo {}", step.name, step.arguments.join(" "));
        let started = Instant::now();
        let passed = run(step).environment()?;
        table.push((step.name, passed, started.elapsed().as_secs_f64()));
        if !passed {
            ending = Ending::Failed;
            break;
        }
    }
    let _ = std::fs::remove_dir_all(&scratch);
    println!();
    for (name, passed, seconds) in &table {
        println!("{name:<16} {:<6} {:>8}", if *passed { "passed" } else { "FAILED" }, clock(*seconds));
    }
    let seconds: f64 = table.iter().map(|row| row.2).sum();
    println!(
        "{:<16} {:<6} {:>8}",
        "all",
        if ending == Ending::Done { "passed" } else { "FAILED" },
        clock(seconds)
    );
    let tested = table.iter().any(|(name, ..)| name.starts_with("test"));
    if tested && ["FROSTLINE_SHARED", "CI"].iter().all(|name| std::env::var_os(name).is_none()) {
        println!("FROSTLINE_SHARED is not set: tests on real treebanks were skipped");
    }
    if let Some((name, false, _)) = table.last() {
        eprintln!("error: the step `{name}` failed; run it alone with `cargo xtask ci --only {name}`");
    }
    Ok(ending)
}

fn run(step: &Step) -> anyhow::Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(&step.arguments)
        .envs(step.variables.iter().copied())
        .current_dir(workspace::root())
        .status()
        .context("cargo cannot be started")?;
    Ok(status.code().is_some_and(|code| step.passes.contains(&code)))
}
