//! `cargo xtask device`: what a GPU computes and how fast, in one command and a limited time. It needs no Rust when it is
//! given a program.
//!
//! The parts are listed in [`PARTS`]. After a part that fails, the next one still runs.

use std::path::Path;
use std::process::Command;

use crate::args::DeviceArgs;
use crate::pace::{Pace, all_cores};
use crate::process::last_lines;
use crate::run::{BenchCall, repeat_command};
use crate::time_limit::TimeLimit;
use crate::{machine, parity, steps};
use frostline_sweep::fault::CommandResult;
use frostline_sweep::units::count_noun;
use frostline_sweep::{Ending, Program, note, say};

/// A part of the command: its name, and what runs it.
type DevicePart = (&'static str, fn(&mut DeviceRun<'_>) -> PartEnd);

/// The parts in the order in which they run: no time means anything on a device that computes something else.
const PARTS: [DevicePart; 3] = [
    ("conformance", |it| it.run_conformance()),
    ("parity", |it| it.run_parity()),
    ("steps", |it| it.run_steps()),
];

/// How a part ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PartEnd {
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
pub fn device(
    args: &DeviceArgs,
    root: &Path,
    build: impl FnOnce() -> CommandResult<Program>,
) -> CommandResult<Ending> {
    let load = machine::system_load();
    let runner = build()?;
    say!("device    {} on {}, {}", runner.backend, runner.about.device, runner.about.isa);
    let limit = TimeLimit::from_now(args.limit);
    let mut device = DeviceRun { args, root, runner: &runner, limit, load, checks: Vec::new() };
    let ends = in_order(&limit, |(_, run)| run(&mut device));
    for line in summary_lines(&ends, &limit) {
        say!("{line}");
    }
    Ok(overall_ending(&ends))
}

/// Runs the parts in order; those that the limit comes before are not begun.
fn in_order(limit: &TimeLimit, mut run: impl FnMut(DevicePart) -> PartEnd) -> [(&'static str, PartEnd); 3] {
    PARTS.map(|part| (part.0, if limit.is_reached() { PartEnd::Cut("all of it".into()) } else { run(part) }))
}

/// Returns lines about what failed and what did not run, and about the overall result.
fn summary_lines(ends: &[(&str, PartEnd)], limit: &TimeLimit) -> Vec<String> {
    let line = |(name, end): &(&str, PartEnd)| match end {
        PartEnd::Done => format!("done      {name}"),
        PartEnd::Failed(why) => format!("FAILED    {name}: {why}"),
        PartEnd::Cut(what) => {
            format!("not run   {name}: {what}, since the limit of {} was reached", limit.format_limit())
        }
        PartEnd::Absent(why) => format!("not run   {name}: {why}"),
    };
    ends.iter().map(line).collect()
}

/// A device has passed only if its conformance was seen.
fn overall_ending(ends: &[(&str, PartEnd)]) -> Ending {
    let passes = |(name, end): &(&str, PartEnd)| match end {
        PartEnd::Done => true,
        PartEnd::Failed(_) => false,
        PartEnd::Cut(_) | PartEnd::Absent(_) => *name != PARTS[0].0,
    };
    if ends.iter().all(passes) { Ending::Done } else { Ending::Failed }
}

/// A device under test.
struct DeviceRun<'a> {
    args: &'a DeviceArgs,
    root: &'a Path,
    runner: &'a Program,
    limit: TimeLimit,
    load: f64,
    /// What was found so far, for the page.
    checks: Vec<String>,
}

impl DeviceRun<'_> {
    fn run_conformance(&mut self) -> PartEnd {
        note!(
            "\nconformance: every operation and gradient, and short runs, against a processor; one or two minutes"
        );
        let mut doctor = Command::new(&self.runner.path);
        doctor.args(["doctor", "--conformance", "--backend", &self.runner.backend.to_string()]);
        let output = match self.limit.run_process(&mut doctor) {
            Ok(Some(output)) => output,
            Ok(None) => return PartEnd::Cut("it was not finished".into()),
            Err(error) => return PartEnd::Failed(format!("the program cannot be started: {error}")),
        };
        let table = String::from_utf8_lossy(&output.stdout);
        table.lines().for_each(|line| say!("{line}"));
        if !output.status.success() {
            return PartEnd::Failed(last_lines(&output.stderr));
        }
        let agreed = table.lines().rev().find(|line| line.ends_with(" agree")).unwrap_or("all agree");
        self.checks.push(format!("Conformance: {agreed} with a processor"));
        PartEnd::Done
    }

    fn run_parity(&mut self) -> PartEnd {
        note!("\nparity: three cells of the demo on {} and on flex", self.runner.backend);
        match parity::compare_predictions(self.runner, &self.limit) {
            Ok(Some(compared)) => {
                compared.iter().for_each(|one| say!("parity    {one}"));
                let all = parity::summarise_cells(&compared);
                self.checks.push(format!("Parity: in {}, {all}", count_noun(compared.len(), "cell")));
                PartEnd::Done
            }
            Ok(None) => PartEnd::Cut("it was not finished".into()),
            Err(error) => PartEnd::Failed(format!("{error:#}")),
        }
    }

    fn run_steps(&mut self) -> PartEnd {
        note!("\nsteps: 16 and 64 sentences, f32 and bf16, as many rounds as there is time for");
        // The settings determine how many sentences a step has.
        let pace = Pace {
            root: self.root.into(),
            rounds: 3,
            steps: 50,
            warmup: 10,
            batch: 0,
            threads: all_cores(),
            isa: None,
            peer_seeds: usize::MAX,
            limit: self.limit,
        };
        let call = BenchCall {
            runner: self.runner,
            pace: &pace,
            command: repeat_command(std::env::args()),
            checks: self.checks.clone(),
            load: self.load,
            batch: 0,
            write: self.args.write,
        };
        match steps::measure_steps(self.args, &call) {
            Ok((false, _)) => PartEnd::Failed("a side failed, as said above".into()),
            Ok((true, left)) if left.is_empty() => PartEnd::Done,
            Ok((true, left)) => {
                left.iter().for_each(|left| say!("not run   {left}"));
                PartEnd::Cut("what is listed above".into())
            }
            Err(fault) => PartEnd::Absent(format!("{:#}", fault.error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_run_in_their_order_and_one_that_fails_keeps_no_other_from_it() {
        let mut order = Vec::new();
        let ends = in_order(&TimeLimit::default(), |(name, _)| {
            order.push(name);
            PartEnd::Failed("no".into())
        });
        assert_eq!(order, ["conformance", "parity", "steps"]);
        assert_eq!(ends.len(), 3);
    }

    #[test]
    fn at_the_limit_nothing_more_begins_and_it_is_said() {
        let limit = TimeLimit::from_now(0.0);
        let ends = in_order(&limit, |(name, _)| panic!("{name} was begun"));
        assert_eq!(
            summary_lines(&ends, &limit)[1],
            "not run   parity: all of it, since the limit of 0 minutes was reached"
        );
        assert_eq!(overall_ending(&ends), Ending::Failed, "conformance was not seen");
    }

    #[test]
    fn what_conforms_passes_without_times() {
        let absent = PartEnd::Absent("there is no treebank".into());
        let ends = |first| [("conformance", first), ("steps", absent.clone())];
        assert_eq!(overall_ending(&ends(PartEnd::Done)), Ending::Done);
        assert_eq!(
            summary_lines(&ends(PartEnd::Done), &TimeLimit::default())[1],
            "not run   steps: there is no treebank"
        );
        for first in
            [PartEnd::Failed("3 results deviate".into()), PartEnd::Cut("all of it".into()), absent.clone()]
        {
            assert_eq!(overall_ending(&ends(first)), Ending::Failed);
        }
    }
}
