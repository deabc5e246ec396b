//! The plan of one run: the rows of the tables, and the tasks to measure, in order.
//!
//! A task that is needed by two rows is run once per round.

use std::ffi::OsString;
use std::path::Path;

use anyhow::anyhow;

use crate::compare::{BenchComparison, BenchSetting, DEFINITIONS, FigureScale};
use crate::pace::Pace;
use crate::places::BenchEncoder;
use crate::suite::Suite;
use frostline_sweep::fault::{Blame as _, CommandResult};

/// The side that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeasuredSide {
    Ours,
    Peer,
}

/// One measurement, repeated in every round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BenchTask {
    pub who: MeasuredSide,
    pub suite: Suite,
    /// An index into the list of encoders.
    pub encoder: usize,
    pub setting: &'static BenchSetting,
    pub policies: &'static [String],
    pub scale: &'static FigureScale,
}

/// One row: a comparison for an encoder and policies, and the tasks of both sides.
#[derive(Debug)]
pub(crate) struct AgendaLine {
    pub comparison: &'static BenchComparison,
    pub encoder: usize,
    pub policies: &'static [String],
    /// Indices into [`Agenda::tasks`].
    pub ours: usize,
    pub peer: usize,
}

/// All rows, and the tasks in the order of one round.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    pub lines: Vec<AgendaLine>,
    pub tasks: Vec<BenchTask>,
}

impl BenchTask {
    fn measures_same(&self, other: &Self) -> bool {
        self.who == other.who
            && self.suite == other.suite
            && self.encoder == other.encoder
            && self.setting.id == other.setting.id
            && self.policies == other.policies
            && self.scale == other.scale
    }

    /// The treebank of a measurement that reads one.
    pub(crate) fn treebank_name(&self) -> &'static str {
        self.scale.treebanks.values().next().expect("a scale has a treebank")
    }

    /// The words that replace `{name}` in a command, if both sides have it.
    pub(crate) fn placeholder_words(
        &self,
        name: &str,
        encoder: &BenchEncoder,
        treebank: &Path,
        pace: &Pace,
    ) -> Option<Vec<OsString>> {
        let tagger = || encoder.tagger.as_ref().expect("taggers are trained before the rounds");
        let number = match name {
            "models" => return Some(vec![encoder.folder.parent().unwrap_or(Path::new(".")).into()]),
            "encoder" => return Some(vec![encoder.folder.file_name().unwrap_or_default().into()]),
            "model" => return Some(vec![encoder.folder.clone().into()]),
            "treebank" => return Some(vec![treebank.into()]),
            "tagger" => return Some(vec![tagger().into()]),
            "tagger-model" => return Some(vec![tagger().join("model").into()]),
            "flags" => return Some(self.setting.flags.iter().map(OsString::from).collect()),
            "random-init" => {
                return Some(encoder.random_init.then(|| "--random-init".into()).into_iter().collect());
            }
            "batch" => {
                if self.scale.batch == 0 {
                    pace.batch
                } else {
                    self.scale.batch
                }
            }
            "first" => self.scale.first as u32,
            "epochs" => self.scale.epochs,
            "steps" => pace.steps,
            "warmup" => pace.warmup,
            "threads" => pace.threads,
            _ => return None,
        };
        Some(vec![number.to_string().into()])
    }
}

/// The parts of the suites that are measured; an empty list means all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Only<'a> {
    /// Policies by name.
    pub policies: &'a [String],
    /// Comparisons by [`BenchComparison::id`].
    pub comparisons: &'a [String],
}

impl Only<'_> {
    /// Checks that each name in these lists occurs in a comparison of the suites.
    fn check_names(&self, suites: &[Suite]) -> CommandResult<()> {
        let all = || DEFINITIONS.comparisons.iter().filter(|comparison| suites.contains(&comparison.suite));
        let policies = all().flat_map(|comparison| comparison.policies.iter().flatten());
        check_known("policy", self.policies, policies.map(String::as_str).collect())?;
        check_known("id", self.comparisons, all().map(|comparison| comparison.id.as_str()).collect())
    }

    fn includes(&self, comparison: &BenchComparison) -> bool {
        self.comparisons.is_empty() || self.comparisons.contains(&comparison.id)
    }

    fn takes_row(&self, policies: &[String]) -> bool {
        let named = |name: &String| policies.contains(name);
        self.policies.is_empty() || policies.is_empty() || self.policies.iter().any(named)
    }
}

/// Checks that each name exists.
fn check_known(what: &str, names: &[String], there: Vec<&str>) -> CommandResult<()> {
    let Some(unknown) = names.iter().find(|name| !there.contains(&name.as_str())) else { return Ok(()) };
    let first = (0..there.len()).filter(|&at| !there[..at].contains(&there[at]));
    let there = first.map(|at| there[at]).collect::<Vec<_>>().join(", ");
    Err(anyhow!("no requested comparison has the {what} `{unknown}`; there are: {there}")).blame_plan()
}

impl Agenda {
    /// The comparisons of these suites for these encoders.
    ///
    /// # Errors
    /// If `only` contains a name that occurs in none of them.
    pub(crate) fn new(suites: &[Suite], encoders: &[BenchEncoder], only: Only<'_>) -> CommandResult<Self> {
        only.check_names(suites)?;
        let mut agenda = Self::default();
        for suite in suites {
            // A device's time is limited: all encoders with nothing frozen come before what freezing saves.
            let device = DEFINITIONS.comparisons.iter().find(|comparison| comparison.suite == Suite::Device);
            let rows =
                device.filter(|_| *suite == Suite::Device).map(|comparison| comparison.policies.as_slice());
            for row in rows.unwrap_or(&[Vec::new()]).iter().filter(|row| only.takes_row(row)) {
                let only = if row.is_empty() { only } else { Only { policies: row, ..only } };
                for (place, encoder) in encoders.iter().enumerate() {
                    agenda.add_rows(*suite, place, encoder, only);
                }
            }
        }
        if agenda.lines.is_empty() {
            return Err(anyhow!(
                "no comparison is left of these suites, comparisons, policies and encoders together; ask for \
                 fewer things at once"
            ))
            .blame_plan();
        }
        Ok(agenda)
    }

    /// Adds the rows of one suite and encoder; the rows of one policy follow one another.
    fn add_rows(&mut self, suite: Suite, place: usize, encoder: &BenchEncoder, only: Only<'_>) {
        let fits = |comparison: &&BenchComparison| {
            let asks = comparison.encoders.is_empty() || comparison.encoders.contains(&encoder.name);
            // A run from random weights learns too little for its accuracy to be meaningful.
            let able = !(suite.is_whole() && encoder.random_init);
            comparison.suite == suite && asks && only.includes(comparison) && able
        };
        let all = || DEFINITIONS.comparisons.iter().filter(fits);
        let mut seen: Vec<&[String]> = Vec::new();
        for policies in all().flat_map(|comparison| &comparison.policies) {
            if seen.contains(&policies.as_slice()) || !only.takes_row(policies) {
                continue;
            }
            seen.push(policies);
            let of_it = |comparison: &&BenchComparison| comparison.policies.contains(policies);
            for comparison in all().filter(of_it) {
                let task = |who, setting| BenchTask {
                    who,
                    suite,
                    encoder: place,
                    setting,
                    policies,
                    scale: comparison.measure_scale(),
                };
                let ours = self.task_index(task(MeasuredSide::Ours, comparison.our_setting()));
                let peer = self.task_index(task(MeasuredSide::Peer, comparison.peer_setting()));
                self.lines.push(AgendaLine { comparison, encoder: place, policies, ours, peer });
            }
        }
    }

    /// The index of a task, which is added if it is new.
    fn task_index(&mut self, task: BenchTask) -> usize {
        self.tasks.iter().position(|known| known.measures_same(&task)).unwrap_or_else(|| {
            self.tasks.push(task);
            self.tasks.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;
    use crate::compare;
    use crate::places::tests::encoder;

    fn describe_rows(agenda: &Agenda) -> Vec<String> {
        let show = |task: &BenchTask| {
            let who = if task.who == MeasuredSide::Ours { "A" } else { "B" };
            format!("{who} {} {} {}", task.encoder, task.policies.join(","), task.setting.id)
        };
        agenda.tasks.iter().map(show).collect()
    }

    #[test]
    fn sides_take_turns_and_nothing_runs_twice_in_a_round() {
        let policies = ["none".to_string(), "first-4".into()];
        let only = Only { policies: &policies, ..Only::default() };
        let agenda = Agenda::new(&[Suite::Steps], &[encoder("tiny", true)], only).expect("an agenda");
        assert_eq!(
            describe_rows(&agenda),
            [
                "A 0 none f32",
                "B 0 none study",
                "B 0 none bf16, grouped",
                "A 0 none bf16",
                "A 0 first-4 f32",
                "B 0 first-4 study",
            ]
        );
        assert_eq!(agenda.lines.len(), 4);
        assert_eq!((agenda.lines[1].ours, agenda.lines[1].peer), (0, 2));
    }

    #[test]
    fn commands_are_filled_from_their_task() {
        let encoders = [BenchEncoder { tagger: Some("cell".into()), ..encoder("all-MiniLM-L6-v2", false) }];
        let pace = Pace::of_a_test();
        let shown = |suite, who| {
            let agenda = Agenda::new(&[suite], &encoders, Only::default()).expect("an agenda");
            let task = agenda.tasks.iter().rfind(|task| task.who == who).expect("a task");
            let value = |name: &str| match name {
                "policy" | "seed" | "device" | "backend" => Some(vec![name.to_uppercase().into()]),
                name => task.placeholder_words(name, &encoders[0], Path::new("DATA"), &pace),
            };
            let section = suite.suite_section();
            let command = if who == MeasuredSide::Ours {
                section.ours.as_deref().unwrap_or_default()
            } else {
                &section.peer
            };
            let words = compare::command_words(command, &value);
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            shown(Suite::Device, MeasuredSide::Ours),
            "bench step --models  --encoder all-MiniLM-L6-v2 --treebank DATA --policy POLICY --steps 2 --warmup 1 --batch 64 \
             --threads 1 --backend BACKEND --first 0 --precision bf16"
        );
        assert_eq!(
            shown(Suite::Runs, MeasuredSide::Peer),
            "hf_trainer.py --model all-MiniLM-L6-v2 --treebank DATA --policy POLICY --seed SEED --device DEVICE --batch 16 \
             --threads 1 --first 2500 --epochs 5"
        );
        for suite in Suite::value_variants() {
            assert!(shown(*suite, MeasuredSide::Peer).contains(".py --"), "{suite:?}");
            shown(*suite, MeasuredSide::Ours);
        }
    }

    #[test]
    fn whole_runs_need_weights() {
        let encoders = [encoder("tiny", true), encoder("all-MiniLM-L6-v2", false)];
        let agenda =
            Agenda::new(&[Suite::Runs, Suite::Sweeps], &encoders, Only::default()).expect("an agenda");
        assert!(agenda.lines.iter().all(|line| line.encoder == 1));
        assert_eq!(agenda.lines.iter().filter(|line| line.comparison.suite == Suite::Sweeps).count(), 4);
    }

    #[test]
    fn one_comparison_can_be_asked_for() {
        let ids = ["sweep-cached-bf16-study".to_string()];
        let only = Only { comparisons: &ids, ..Only::default() };
        let encoders = [encoder("all-MiniLM-L6-v2", false)];
        let agenda = Agenda::new(&[Suite::Sweeps], &encoders, only).expect("an agenda");
        assert_eq!(agenda.lines.len(), 1);
        assert_eq!(agenda.lines[0].comparison.id, ids[0]);
        assert_eq!(agenda.tasks.len(), 2);
    }

    #[test]
    fn what_nobody_compares_is_refused() {
        let suites = [Suite::Steps, Suite::Runs];
        let refused = |only| Agenda::new(&suites, &[], only).expect_err("a fault");
        let (policies, ids) = (["last-9".to_string()], ["sweep-f32-study".to_string()]);
        let fault = refused(Only { policies: &policies, ..Only::default() });
        assert_eq!(fault.code, frostline_sweep::fault::PLAN);
        insta::assert_snapshot!(fault.error.to_string(), @"no requested comparison has the policy `last-9`; there are: none, all, first-2, first-4, alternating, first-4+embeddings, head-only");
        let fault = refused(Only { comparisons: &ids, ..Only::default() });
        insta::assert_snapshot!(fault.error.to_string());
    }
}
