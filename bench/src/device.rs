//! `cargo xtask device`: what a GPU computes and how fast, in one command and a limited time. It needs no Rust where it is
//! given a program.
//!
//! Its parts are in [`PARTS`]. A part that fails does not keep the next from running.

use std::path::Path;
use std::process::Command;

use crate::args::DeviceArgs;
use crate::limit::Limit;
use crate::pace::{Pace, cores};
use crate::process::last_lines;
use crate::run::{Call, command};
use crate::{machine, parity, steps};
use frostline_sweep::fault::Result;
use frostline_sweep::units::counted;
use frostline_sweep::{Ending, Program, note, say};

/// A part of the command: its name, and what runs it.
type Part = (&'static str, fn(&mut Device<'_>) -> End);

/// The parts in the order in which they run: no time means anything on a device that computes something else.
const PARTS: [Part; 3] =
    [("conformance", |it| it.conformance()), ("parity", |it| it.parity()), ("steps", |it| it.steps())];

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

/// Runs all parts, and shows what did not run. `root` is the checkout, `build` gives a program with the device's backend and flex.
///
/// # Errors
/// If there is no such program.
pub fn device(args: &DeviceArgs, root: &Path, build: impl FnOnce() -> Result<Program>) -> Result<Ending> {
    let load = machine::load();
    let runner = build()?;
    say!("device    {} on {}, {}", runner.backend, runner.about.device, runner.about.isa);
    let limit = Limit::from_now(args.limit);
    let mut device = Device { args, root, runner: &runner, limit, load, checks: Vec::new() };
    let ends = in_order(&limit, |(_, run)| run(&mut device));
    for line in lines(&ends, &limit) {
        say!("{line}");
    }
    Ok(ending(&ends))
}

/// Runs the parts in order; those that the limit comes before are not begun.
fn in_order(limit: &Limit, mut run: impl FnMut(Part) -> End) -> [(&'static str, End); 3] {
    PARTS.map(|part| (part.0, if limit.is_reached() { End::Cut("all of it".into()) } else { run(part) }))
}

/// What failed and what did not run, and how it ended in all.
fn lines(ends: &[(&str, End)], limit: &Limit) -> Vec<String> {
    let line = |(name, end): &(&str, End)| match end {
        End::Done => format!("done      {name}"),
        End::Failed(why) => format!("FAILED    {name}: {why}"),
        End::Cut(what) => {
            format!("not run   {name}: {what}, since the limit of {} was reached", limit.shown())
        }
        End::Absent(why) => format!("not run   {name}: {why}"),
    };
    ends.iter().map(line).collect()
}

/// A device has passed only if its conformance was seen.
fn ending(ends: &[(&str, End)]) -> Ending {
    let passes = |(name, end): &(&str, End)| match end {
        End::Done => true,
        End::Failed(_) => false,
        End::Cut(_) | End::Absent(_) => *name != PARTS[0].0,
    };
    if ends.iter().all(passes) { Ending::Done } else { Ending::Failed }
}

/// A device under test.
struct Device<'a> {
    args: &'a DeviceArgs,
    root: &'a Path,
    runner: &'a Program,
    limit: Limit,
    load: f64,
    /// What was found so far, for the page.
    checks: Vec<String>,
}

impl Device<'_> {
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
        // The settings say how many sentences a step has.
        let pace = Pace {
            root: self.root.into(),
            rounds: 3,
            steps: 50,
            warmup: 10,
            batch: 0,
            threads: cores(),
            isa: None,
            peer_seeds: usize::MAX,
            limit: self.limit,
        };
        let call = Call {
            runner: self.runner,
            pace: &pace,
            command: command(std::env::args()),
            checks: self.checks.clone(),
            load: self.load,
            batch: 0,
            write: self.args.write,
        };
        match steps::measure(self.args, &call) {
            Ok((false, _)) => End::Failed("a side failed, as said above".into()),
            Ok((true, left)) if left.is_empty() => End::Done,
            Ok((true, left)) => {
                left.iter().for_each(|left| say!("not run   {left}"));
                End::Cut("what is listed above".into())
            }
            Err(fault) => End::Absent(format!("{:#}", fault.error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_run_in_their_order_and_one_that_fails_keeps_no_other_from_it() {
        let mut order = Vec::new();
        let ends = in_order(&Limit::default(), |(name, _)| {
            order.push(name);
            End::Failed("no".into())
        });
        assert_eq!(order, ["conformance", "parity", "steps"]);
        assert_eq!(ends.len(), 3);
    }

    #[test]
    fn at_the_limit_nothing_more_begins_and_it_is_said() {
        let limit = Limit::from_now(0.0);
        let ends = in_order(&limit, |(name, _)| panic!("{name} was begun"));
        assert_eq!(
            lines(&ends, &limit)[1],
            "not run   parity: all of it, since the limit of 0 minutes was reached"
        );
        assert_eq!(ending(&ends), Ending::Failed, "conformance was not seen");
    }

    #[test]
    fn what_conforms_passes_without_times() {
        let absent = End::Absent("there is no treebank".into());
        let ends = |first| [("conformance", first), ("steps", absent.clone())];
        assert_eq!(ending(&ends(End::Done)), Ending::Done);
        assert_eq!(lines(&ends(End::Done), &Limit::default())[1], "not run   steps: there is no treebank");
        for first in [End::Failed("3 results deviate".into()), End::Cut("all of it".into()), absent.clone()] {
            assert_eq!(ending(&ends(first)), Ending::Failed);
        }
    }
}
