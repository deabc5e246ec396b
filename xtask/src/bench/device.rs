//! The steps that `cargo xtask device` times: rounds of the suite `device`, as many as there is time for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::bench::agenda::{Agenda, Only};
use crate::bench::ours::Ours;
use crate::bench::peer::Peer;
use crate::bench::rounds::Rounds;
use crate::bench::stored::{Measured, Row, SCHEMA};
use crate::bench::suite::Suite;
use crate::bench::{Pace, about, cores, keep_raw, machine, places, publish, raw, show, stored};
use crate::limit::Limit;
use frostline_sweep::fault::{Blame as _, Result};
use frostline_sweep::{Program, say};

/// What is measured of a device, and how.
#[derive(Debug)]
pub(crate) struct DeviceSteps<'a> {
    pub runner: &'a Program,
    pub data: Option<&'a PathBuf>,
    pub models: Option<&'a PathBuf>,
    pub python: Option<&'a Path>,
    pub limit: Limit,
    /// The system's load before anything was started.
    pub load: f64,
    /// The command that repeats it, for the page.
    pub command: String,
    /// What was found of the device before, for the page.
    pub checks: Vec<String>,
    /// Whether the results are to be stored.
    pub write: bool,
}

/// How it went.
#[derive(Debug, Default)]
pub(crate) struct StepsEnd {
    /// Whether a side failed.
    pub failed: bool,
    /// What there was no time for.
    pub left: Vec<String>,
}

impl DeviceSteps<'_> {
    /// Times steps of both sides in turns, shows the results, and stores them where they are asked for.
    ///
    /// # Errors
    /// If there is no encoder or treebank, or the results cannot be written.
    pub(crate) fn measure(self) -> Result<StepsEnd> {
        let suites = [Suite::Device];
        let pace = self.pace();
        let encoders = places::encoders(&[], self.models)?;
        let treebanks = places::treebanks(self.data, &suites)?;
        let agenda = Agenda::new(&suites, &encoders, Only::default())?;
        let peer = self.peer(&pace);
        let ours = Ours::new(self.runner, &pace, &suites)?;

        let (started, machine) = (machine::now(), machine::describe(&self.runner.about.device, self.load));
        let mut rounds = Rounds::new(&agenda, &encoders, &treebanks, &ours, peer.as_ref());
        let mut measured = Measured::default();
        for number in 1..=pace.rounds {
            rounds.run(number, pace.rounds);
            let run = stored::Run {
                command: self.command.clone(),
                rounds: number,
                steps: pace.steps,
                warmup: pace.warmup,
                batch: pace.batch,
                threads: pace.threads,
                backend: self.runner.backend.to_string(),
                machine: machine.clone(),
                runner: about(self.runner),
                peer: rounds.versions(),
                gemm_gflops: rounds.gemm(),
                checks: self.checks.clone(),
            };
            let rows = rounds.rows(&started).into_iter().filter(is_measured).collect();
            measured = Measured { schema: SCHEMA, runs: BTreeMap::from([(started.clone(), run)]), rows };
            keep_raw(&measured, &started).environment()?;
            if pace.limit.is_reached() {
                break;
            }
        }
        let end = StepsEnd { failed: measured.rows.iter().any(has_failed), left: rounds.unmeasured() };
        show(&measured);
        if measured.rows.is_empty() {
            return Ok(end);
        }
        say!("raw       {}", frostline_sweep::shown(&raw(&started)));
        if self.write {
            publish(measured).environment()?;
        }
        Ok(end)
    }

    fn pace(&self) -> Pace {
        // The settings say how many sentences a step has.
        let batch = 0;
        let (threads, limit) = (cores(), self.limit);
        Pace { rounds: 3, steps: 50, warmup: 10, batch, threads, isa: None, peer_seeds: usize::MAX, limit }
    }

    /// PyTorch on the same device; without one it is said, and our side is measured alone.
    fn peer<'p>(&self, pace: &'p Pace) -> Option<Peer<'p>> {
        let Some(python) = self.python else {
            say!("peer      none, since no --python was given: Frostline is timed alone");
            return None;
        };
        match Peer::new(python, pace).and_then(|peer| peer.beside(self.runner.backend)) {
            Ok(peer) => Some(peer),
            Err(fault) => {
                say!("peer      none, so Frostline is timed alone: {:#}", fault.error);
                None
            }
        }
    }
}

/// Whether there is something to show: there was time for our side, or a side failed.
fn is_measured(row: &Row) -> bool {
    !row.ours.rounds.is_empty() || has_failed(row)
}

fn has_failed(row: &Row) -> bool {
    row.ours.failed || row.peer.failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::places::tests::encoder;
    use crate::bench::stored::tests::row;

    #[test]
    fn a_device_is_compared_in_two_precisions_and_two_sizes_of_steps() {
        let encoders = [encoder("all-MiniLM-L6-v2", false), encoder("tiny", true)];
        let agenda = Agenda::new(&[Suite::Device], &encoders, Only::default()).expect("an agenda");
        let shown = |line: &crate::bench::agenda::Line| {
            let batch = agenda.tasks[line.ours].scale.batch;
            (line.encoder, line.policies.join(","), line.comparison.id.as_str(), batch)
        };
        let rows: Vec<_> = agenda.lines.iter().map(shown).collect();
        let mut expected = Vec::new();
        for policy in ["none", "first-4", "head-only"] {
            for encoder in 0..2 {
                for (id, batch) in [
                    ("device-16-f32", 16),
                    ("device-16-bf16", 16),
                    ("device-64-f32", 64),
                    ("device-64-bf16", 64),
                ] {
                    expected.push((encoder, policy.to_string(), id, batch));
                }
            }
        }
        assert_eq!(rows, expected);
        // No measurement counts for two rows: the tables tell settings apart by their names.
        assert_eq!(agenda.tasks.len(), 2 * rows.len());
    }

    #[test]
    fn what_there_was_no_time_for_is_no_row() {
        assert!(is_measured(&row("a", "none", &[10.0], &[])));
        assert!(!is_measured(&row("a", "none", &[], &[])));
        let mut failed = row("a", "none", &[], &[]);
        failed.ours.failed = true;
        assert!(is_measured(&failed));
    }
}
