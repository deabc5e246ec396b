//! `cargo xtask device`: what a GPU computes and how fast, in one command and a limited time. It needs no Rust where it is
//! given a program.
//!
//! Its parts are in [`Part::ALL`]. A part that fails does not keep the next from running: each says something of its own.

mod parity;

use std::process::Command;

use crate::args::DeviceArgs;
use crate::bench::{self, DeviceSteps, last_lines};
use crate::build;
use crate::limit::Limit;
use frostline_sweep::fault::Result;
use frostline_sweep::units::counted;
use frostline_sweep::{Ending, Program, note, say};

/// A part of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Every operation, every gradient and short runs against a processor.
    Conformance,
    /// The tags that the demo's cells predict, against the backend `flex`.
    Parity,
    /// The time of steps, beside PyTorch.
    Steps,
}

impl Part {
    /// In the order in which they run: no time means anything on a device that computes something else.
    const ALL: [Self; 3] = [Self::Conformance, Self::Parity, Self::Steps];

    const fn name(self) -> &'static str {
        match self {
            Self::Conformance => "conformance",
            Self::Parity => "parity",
            Self::Steps => "steps",
        }
    }
}

/// How a part ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    /// All of it ran.
    Done,
    /// It found a fault, or could not be run to its end.
    Failed(String),
    /// This did not run, for lack of time.
    Cut(String),
    /// Nothing of it could run here.
    Absent(String),
}

/// Runs all parts, and shows what did not run.
pub(crate) fn device(args: &DeviceArgs) -> Result<Ending> {
    let load = bench::load();
    let runner = build::prepare_beside_flex(args.backend, args.runner.as_deref())?;
    say!("device    {} on {}, {}", runner.backend, runner.about.device, runner.about.isa);
    let limit = Limit::from_now(args.limit);
    let mut device = Device { args, runner: &runner, limit, load, checks: Vec::new() };
    let ends = in_order(&limit, |part| device.run(part));
    for line in lines(&ends, &limit) {
        say!("{line}");
    }
    Ok(ending(&ends))
}

/// Runs the parts in order; those that the limit comes before are not begun.
fn in_order(limit: &Limit, mut run: impl FnMut(Part) -> End) -> Vec<(Part, End)> {
    let end = |part| if limit.is_reached() { End::Cut("all of it".into()) } else { run(part) };
    Part::ALL.into_iter().zip(Part::ALL.map(end)).collect()
}

/// What failed and what did not run, and how it ended in all.
fn lines(ends: &[(Part, End)], limit: &Limit) -> Vec<String> {
    let line = |(part, end): &(Part, End)| match end {
        End::Done => format!("done      {}", part.name()),
        End::Failed(why) => format!("FAILED    {}: {why}", part.name()),
        End::Cut(what) => {
            format!("not run   {}: {what}, since the limit of {} was reached", part.name(), limit.shown())
        }
        End::Absent(why) => format!("not run   {}: {why}", part.name()),
    };
    ends.iter().map(line).collect()
}

/// A device has passed only if its conformance was seen.
fn ending(ends: &[(Part, End)]) -> Ending {
    let passes = |(part, end): &(Part, End)| match end {
        End::Done => true,
        End::Failed(_) => false,
        End::Cut(_) | End::Absent(_) => *part != Part::Conformance,
    };
    if ends.iter().all(passes) { Ending::Done } else { Ending::Failed }
}

/// A device under test.
struct Device<'a> {
    args: &'a DeviceArgs,
    runner: &'a Program,
    limit: Limit,
    load: f64,
    /// What was found so far, for the page.
    checks: Vec<String>,
}

impl Device<'_> {
    fn run(&mut self, part: Part) -> End {
        match part {
            Part::Conformance => self.conformance(),
            Part::Parity => self.parity(),
            Part::Steps => self.steps(),
        }
    }

    fn conformance(&mut self) -> End {
        note!(
            "\nconformance: every operation and gradient, and short runs, against a processor; one or two minutes"
        );
        let mut doctor = Command::new(&self.runner.path);
        doctor.args(["doctor", "--conformance", "--backend", &self.runner.backend.to_string()]);
        let output = match self.limit.output(&mut doctor) {
            Ok(Some(output)) => output,
            Ok(None) => return End::Cut("it was not finished".into()),
            Err(error) => return End::Failed(format!("the program cannot be started: {error}")),
        };
        let table = String::from_utf8_lossy(&output.stdout);
        table.lines().for_each(|line| say!("{line}"));
        if !output.status.success() {
            return End::Failed(last_lines(&output.stderr));
        }
        let agreed = table.lines().rev().find(|line| line.ends_with(" agree")).unwrap_or("all agree");
        self.checks.push(format!("Conformance: {agreed} with a processor"));
        End::Done
    }

    fn parity(&mut self) -> End {
        note!("\nparity: three cells of the demo on {} and on flex", self.runner.backend);
        match parity::compare(self.runner, &self.limit) {
            Ok(Some(compared)) => {
                compared.iter().for_each(|one| say!("parity    {one}"));
                let all = parity::sum(&compared);
                self.checks.push(format!("Parity: in {}, {all}", counted(compared.len(), "cell")));
                End::Done
            }
            Ok(None) => End::Cut("it was not finished".into()),
            Err(error) => End::Failed(format!("{error:#}")),
        }
    }

    fn steps(&mut self) -> End {
        note!("\nsteps: 16 and 64 sentences, f32 and bf16, as many rounds as there is time for");
        let steps = DeviceSteps {
            runner: self.runner,
            data: self.args.data.as_ref(),
            models: self.args.models.as_ref(),
            python: self.args.python.as_deref(),
            limit: self.limit,
            load: self.load,
            command: command(self.args, self.runner),
            checks: self.checks.clone(),
            write: self.args.write,
        };
        match steps.measure() {
            Ok(end) if end.failed => End::Failed("a side failed, as said above".into()),
            Ok(end) if end.left.is_empty() => End::Done,
            Ok(end) => {
                end.left.iter().for_each(|left| say!("not run   {left}"));
                End::Cut("what is listed above".into())
            }
            Err(fault) => End::Absent(format!("{:#}", fault.error)),
        }
    }
}

/// The command that repeats this one, with placeholders for paths. It builds its program.
fn command(args: &DeviceArgs, runner: &Program) -> String {
    let backend = format!("--backend {}", runner.backend);
    let limit = format!("--limit {}", args.limit);
    let parts = [
        (true, "cargo xtask device"),
        (true, &backend),
        (args.data.is_some(), "--data DIR"),
        (args.models.is_some(), "--models DIR"),
        (args.python.is_some(), "--python PY"),
        (true, &limit),
        (args.write, "--write"),
    ];
    parts.into_iter().filter_map(|(given, part)| given.then_some(part)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command as Parsed};

    fn parsed(command: &str) -> DeviceArgs {
        let words = command.strip_prefix("cargo ").expect("a command of cargo").split(' ');
        match Arguments::try_parse_from(words).expect("arguments").command {
            Parsed::Device(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parts_run_in_their_order_and_one_that_fails_keeps_no_other_from_it() {
        let mut order = Vec::new();
        let ends = in_order(&Limit::default(), |part| {
            order.push(part);
            End::Failed("no".into())
        });
        assert_eq!(order, [Part::Conformance, Part::Parity, Part::Steps]);
        assert_eq!(ends.len(), 3);
    }

    #[test]
    fn at_the_limit_nothing_more_begins_and_it_is_said() {
        let limit = Limit::from_now(0.0);
        let ends = in_order(&limit, |part| panic!("{part:?} was begun"));
        assert_eq!(
            lines(&ends, &limit)[1],
            "not run   parity: all of it, since the limit of 0 minutes was reached"
        );
        assert_eq!(ending(&ends), Ending::Failed, "conformance was not seen");
    }

    #[test]
    fn what_conforms_passes_without_times() {
        let absent = End::Absent("there is no treebank".into());
        let ends = |first| [(Part::Conformance, first), (Part::Steps, absent.clone())];
        assert_eq!(ending(&ends(End::Done)), Ending::Done);
        assert_eq!(lines(&ends(End::Done), &Limit::default())[1], "not run   steps: there is no treebank");
        for first in [End::Failed("3 results deviate".into()), End::Cut("all of it".into()), absent.clone()] {
            assert_eq!(ending(&ends(first)), Ending::Failed);
        }
    }

    #[test]
    fn the_command_that_is_stored_can_be_run() {
        for given in [
            "cargo xtask device --backend cuda --limit 10",
            "cargo xtask device --backend wgpu --data DIR --models DIR --python PY --limit 2.5 --write",
        ] {
            let args = parsed(given);
            let about = r#"{"version": "1", "code": "c", "backends": [], "isa": "gpu", "device": "d"}"#;
            let about = serde_json::from_str(about).expect("a description");
            let runner = Program::described("frostline".into(), args.backend, about, String::new());
            assert_eq!(command(&args, &runner), given);
        }
    }
}
