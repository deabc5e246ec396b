//! The steps that `cargo xtask device` times: rounds of the suite `device`, as many as there is time for.

use frostline_sweep::fault::CommandResult;
use frostline_sweep::{Program, say};

use crate::agenda::{Agenda, Only};
use crate::args::DeviceArgs;
use crate::frostline_side::FrostlineSide;
use crate::pace::Pace;
use crate::peer::Peer;
use crate::places;
use crate::rounds::BenchRounds;
use crate::run::BenchCall;
use crate::suite::Suite;

/// Times steps of both sides in turns; returns whether no side failed, and what there was no time for.
///
/// # Errors
/// If there is no encoder or treebank, or the results cannot be written.
pub(crate) fn measure_steps(args: &DeviceArgs, call: &BenchCall<'_>) -> CommandResult<(bool, Vec<String>)> {
    let suites = [Suite::Device];
    let encoders = places::find_encoders(&[], args.models.as_ref())?;
    let treebanks = places::find_treebanks(args.data.as_ref(), &suites)?;
    let agenda = Agenda::new(&suites, &encoders, Only::default())?;
    let peer = find_peer(args, call.runner, call.pace);
    let ours = FrostlineSide::new(call.runner, call.pace);
    let mut rounds = BenchRounds::new(&agenda, &encoders, &treebanks, &ours, peer.as_ref());
    let passed = call.measure_rounds(&mut rounds)?;
    Ok((passed, rounds.unmeasured_titles()))
}

/// Returns PyTorch on the same device. If there is none, prints so, and our side is measured alone.
fn find_peer<'p>(args: &DeviceArgs, runner: &Program, pace: &'p Pace) -> Option<Peer<'p>> {
    let Some(python) = &args.python else {
        say!("peer      none, since no --python was given: Frostline is timed alone");
        return None;
    };
    match Peer::new(python, pace).and_then(|peer| peer.on_same_device(runner.backend)) {
        Ok(peer) => Some(peer),
        Err(fault) => {
            say!("peer      none, so Frostline is timed alone: {:#}", fault.error);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::tests::encoder;

    #[test]
    fn a_device_is_compared_in_two_precisions_and_two_sizes_of_steps() {
        let encoders = [encoder("all-MiniLM-L6-v2", false), encoder("tiny", true)];
        let agenda = Agenda::new(&[Suite::Device], &encoders, Only::default()).expect("an agenda");
        let shown = |line: &crate::agenda::AgendaLine| {
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
}
