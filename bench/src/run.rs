//! `cargo xtask bench`: measures frostline and its peers in turns on the same data. The steps are in [`bench`].
//!
//! It times only whole processes itself; each side reports the times of its steps. A side that did not run is
//! not shown.

use std::collections::BTreeMap;
use std::path::Path;

use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::{Ending, Program, say};

use crate::agenda::{Agenda, Only};
use crate::args::BenchArgs;
use crate::frostline_side::FrostlineSide;
use crate::pace::{Pace, all_cores};
use crate::peer::Peer;
use crate::rounds::BenchRounds;
use crate::stored::{BenchRun, SCHEMA, StoredMeasurements, StoredRow};
use crate::suite::Suite;
use crate::time_limit::TimeLimit;
use crate::{machine, output, places};

/// Measures, and shows and stores the results. `root` is the checkout, `build` gives the program to measure.
///
/// # Errors
/// If an input or a program is missing, or the results cannot be written.
pub fn bench(
    args: &BenchArgs,
    root: &Path,
    build: impl FnOnce() -> CommandResult<Program>,
) -> CommandResult<Ending> {
    if args.render {
        return output::render_again(root);
    }
    // Before the build and the training of taggers, which add to the load.
    let load = machine::system_load();
    let suites = requested_suites(args);
    let pace = requested_pace(args, root);
    let mut encoders = places::find_encoders(&args.encoder, args.models.as_ref())?;
    let treebanks = places::find_treebanks(args.data.as_ref(), &suites)?;
    let agenda =
        Agenda::new(&suites, &encoders, Only { policies: &args.policies, comparisons: &args.comparisons })?;
    let peer = args.python.as_ref().map(|python| Peer::new(python, &pace)).transpose()?;
    let runner = build()?;
    let peer = peer.map(|peer| peer.on_same_device(runner.backend)).transpose()?;
    let ours = FrostlineSide::new(&runner, &pace);
    // Kept until the end, since it contains the taggers.
    let _taggers = ours.train_taggers(&agenda, &mut encoders, &treebanks)?;

    let mut rounds = BenchRounds::new(&agenda, &encoders, &treebanks, &ours, peer.as_ref());
    let command = repeat_command(std::env::args());
    let batch = if args.only == [Suite::Device] { 0 } else { pace.batch };
    let call = BenchCall {
        runner: &runner,
        pace: &pace,
        command,
        checks: Vec::new(),
        load,
        batch,
        write: args.write,
    };
    Ok(if call.measure_rounds(&mut rounds)? { Ending::Done } else { Ending::Failed })
}

/// What all rounds of one call of a command have in common.
pub(crate) struct BenchCall<'a> {
    pub runner: &'a Program,
    pub pace: &'a Pace,
    /// The command, with placeholders for paths.
    pub command: String,
    /// What was found of the device before.
    pub checks: Vec<String>,
    /// The system's load before anything was started.
    pub load: f64,
    /// Sentences per step; 0 if the settings determine the number.
    pub batch: u32,
    /// Whether the results are to be stored.
    pub write: bool,
}

impl BenchCall<'_> {
    /// Measures round by round, as many as there is time for, and shows, keeps and stores the results; returns whether no side
    /// failed.
    ///
    /// # Errors
    /// If the results cannot be written.
    pub(crate) fn measure_rounds(&self, rounds: &mut BenchRounds<'_>) -> CommandResult<bool> {
        let (started, pace) = (machine::utc_timestamp(), self.pace);
        let machine = machine::describe_machine(&self.runner.about.device, self.load);
        let (mut measured, mut raw) = (StoredMeasurements::default(), None);
        for number in 1..=pace.rounds {
            rounds.run_round(number, pace.rounds);
            let run = BenchRun {
                command: self.command.clone(),
                rounds: number,
                steps: pace.steps,
                warmup: pace.warmup,
                batch: self.batch,
                threads: pace.threads,
                backend: self.runner.backend.to_string(),
                machine: machine.clone(),
                runner: describe_program(self.runner),
                peer: rounds.peer_versions(),
                gemm_gflops: rounds.gemm_speeds(),
                checks: self.checks.clone(),
            };
            let time_over = pace.limit.is_reached();
            let rows = rounds
                .table_rows(&started)
                .into_iter()
                .filter(|row| !time_over || is_measured(row))
                .collect();
            measured =
                StoredMeasurements { schema: SCHEMA, runs: BTreeMap::from([(started.clone(), run)]), rows };
            // After every round, since the user may not wait for the last one.
            raw = Some(output::keep_raw(&pace.root, &measured, &started).blame_environment()?);
            if time_over {
                break;
            }
        }
        let passed = !measured.rows.iter().any(has_failed);
        output::print_tables(&measured);
        raw.iter().for_each(|raw| say!("raw       {}", frostline_sweep::shown_path(raw)));
        if self.write && !measured.rows.is_empty() {
            output::publish_results(&pace.root, measured).blame_environment()?;
        }
        Ok(passed)
    }
}

/// Whether there is something to show: there was time for our side, or a side failed.
fn is_measured(row: &StoredRow) -> bool {
    !row.ours.rounds.is_empty() || has_failed(row)
}

fn has_failed(row: &StoredRow) -> bool {
    row.ours.failed || row.peer.failed
}

/// Returns the requested suites, each once and in order; sweeps, tagging, starts and GPUs only if they are named.
fn requested_suites(args: &BenchArgs) -> Vec<Suite> {
    let mut suites = args.only.clone();
    if suites.is_empty() {
        suites = vec![Suite::Steps, Suite::Reading, Suite::Runs];
    }
    suites.sort();
    suites.dedup();
    suites
}

fn requested_pace(args: &BenchArgs, root: &Path) -> Pace {
    Pace {
        root: root.into(),
        rounds: args.rounds,
        steps: args.steps,
        warmup: args.warmup,
        batch: args.batch,
        threads: args.threads.unwrap_or_else(all_cores),
        isa: std::env::var("FROSTLINE_ISA").ok().filter(|isa| !isa.is_empty()),
        peer_seeds: args.peer_seeds.map_or(usize::MAX, |seeds| seeds as usize),
        limit: TimeLimit::default(),
    }
}

/// The command that repeats this one, from the arguments of this process: with placeholders for paths, and with a program that it
/// builds.
pub(crate) fn repeat_command(arguments: impl Iterator<Item = String>) -> String {
    let isa = std::env::var("FROSTLINE_ISA").ok().filter(|isa| !isa.is_empty());
    let mut words: Vec<String> = isa.into_iter().map(|isa| format!("FROSTLINE_ISA={isa}")).collect();
    words.push("cargo xtask".into());
    let mut arguments = arguments.skip(1);
    while let Some(argument) = arguments.next() {
        let (name, value) = argument
            .split_once('=')
            .map_or((argument.as_str(), None), |(name, value)| (name, Some(value.to_string())));
        if !["--data", "--models", "--python", "--runner", "--encoder"].contains(&name) {
            words.push(argument);
            continue;
        }
        let value = value.or_else(|| arguments.next()).unwrap_or_default();
        let last = |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_string();
        match name {
            "--runner" => {}
            "--python" => words.push("--python PY".into()),
            "--encoder" => {
                words.push(format!("--encoder {}", value.split(',').map(last).collect::<Vec<_>>().join(",")));
            }
            name => words.push(format!("{name} DIR")),
        }
    }
    words.join(" ")
}

fn describe_program(runner: &Program) -> BTreeMap<String, String> {
    let about = &runner.about;
    [("version", &about.version), ("code", &about.code), ("isa", &about.isa), ("revision", &runner.revision)]
        .map(|(name, value)| (name.to_string(), value.clone()))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::tests::steps_row;

    #[test]
    fn the_command_that_is_stored_names_no_path() {
        let given = "xtask bench --data /a/b --python=/c --runner d --encoder hub/e/,/f/g --only steps,runs --rounds 5 --write";
        assert_eq!(
            repeat_command(given.split(' ').map(String::from)),
            "cargo xtask bench --data DIR --python PY --encoder e,g --only steps,runs --rounds 5 --write"
        );
    }

    #[test]
    fn what_there_was_no_time_for_is_no_row() {
        assert!(is_measured(&steps_row("a", "none", &[10.0], &[])));
        assert!(!is_measured(&steps_row("a", "none", &[], &[])));
        let mut failed = steps_row("a", "none", &[], &[]);
        failed.ours.failed = true;
        assert!(is_measured(&failed));
    }
}
