//! A study: the plan with the command line's changes, and the settings of its cells.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::bail;
use frostline_record::{
    Cell, CellScores, Checkpoints, DecideSettings, FindLr, Grid, Init, Plan, Policy, PrefixCache, RateSearch,
    Record, Reference, Rounds, SCHEMA, Settings, Sweep, Switch, TimingSettings, TrackSettings, Twin,
    VerdictRule, sha256,
};

use crate::backend::Backend;
use crate::block_orders::OrderTable;
use crate::block_sets::{self, SetSearch};
use crate::fault::{Blame as _, CommandResult};
use crate::place::Place;
use crate::plans;
use crate::request::{SettingChanges, SweepRequest};
use crate::track;

/// A plan, the changes that the command line makes to it, and the settings of its cells in order.
#[derive(Debug)]
pub(crate) struct PlannedStudy {
    /// The plan with the changes applied.
    pub plan: Plan,
    /// The place from which it was read, for messages.
    pub origin: String,
    /// The option that chose the plan if `--plan` did not.
    pub chosen_by: Option<&'static str>,
    /// The changes, as assignments.
    pub overrides: Vec<String>,
    /// The settings of its cells.
    pub grid: Grid,
    /// Cells of the plan that the grid leaves out, since others are the same experiment.
    pub twins: Vec<Twin>,
    /// The backend that tensors run on.
    pub backend: Backend,
    /// The order of blocks by scores, for policies that choose by them.
    pub block_orders: OrderTable,
    /// Whether the plan's policies include `subsets` or `greedy`.
    pub covers_sets: bool,
    /// In such a study, the scores of blocks before training.
    pub block_scores: Vec<CellScores>,
    /// The greedy search over sets of blocks, if the grid has one.
    pub search: Option<SetSearch>,
    /// In a sweep that grows until its question is answered, what its rounds have decided and what they have not reached.
    pub rounds: Option<Rounds>,
    /// The learning rates that a search has tried and found.
    pub rates: Option<RateSearch>,
    /// The published figures that the plan names.
    pub reference: Option<Reference>,
}

impl PlannedStudy {
    /// Reads the plan and applies the command line's changes.
    pub(crate) fn read_study(request: &SweepRequest, place: &Place) -> CommandResult<Self> {
        let (wanted, chosen_by) = plans::of_sweep(request);
        let source = plans::read_plan(&wanted, place)?;
        let mut plan = Plan::parse(&source.text, &source.shown).blame_plan()?;
        let changes = &request.changes;
        let overrides = changes_as_assignments(changes);
        for assignment in &overrides {
            plan.assign(assignment).blame_plan()?;
        }
        check_assigned_once(&overrides).blame_plan()?;
        check_rate_is_free(&plan, &overrides).blame_plan()?;
        let named = assigned_settings(&overrides).chain(plan.grid.keys().map(String::as_str));
        plan.check_effect(named).map_err(|error| source.plan_error(error)).blame_plan()?;
        if changes.no_prefix_cache {
            plan.prefix_cache.enabled = Switch::Off;
        }
        if changes.no_timing {
            plan.timing.paired = Switch::Off;
        }
        if !changes.track.is_empty() {
            plan.track.switch_on(&changes.track).map_err(anyhow::Error::msg).blame_plan()?;
        }
        track::check_trackers(&plan.track)?;
        plan.jobs = request.jobs.map_or(plan.jobs, |jobs| jobs as usize);
        let grid = plan.cells().blame_plan()?;
        let reference = source.read_reference(&plan).blame_plan()?;
        Ok(Self {
            plan,
            origin: source.shown,
            chosen_by,
            overrides,
            grid,
            twins: Vec::new(),
            backend: request.backend.unwrap_or_default(),
            block_orders: OrderTable::default(),
            covers_sets: false,
            block_scores: Vec::new(),
            search: None,
            rounds: None,
            rates: None,
            reference,
        })
    }

    /// Replaces the policies `subsets` and `greedy` by sets of blocks. `depths` are the numbers of blocks of the
    /// study's encoders.
    pub(crate) fn expand_block_sets(&mut self, depths: &BTreeSet<usize>) -> CommandResult<()> {
        self.covers_sets = block_sets::asks_for_sets(&self.plan);
        self.search = block_sets::expand_sets(&mut self.plan, depths)?;
        self.grid = self.plan.cells().blame_plan()?;
        Ok(())
    }

    /// Continues a greedy search with the results of its cells. Returns whether there is another round, whose settings were
    /// added.
    pub(crate) fn next_search_round(
        &mut self,
        cells: &[Cell],
        record: impl Fn(&Cell) -> Option<Record>,
    ) -> CommandResult<bool> {
        let Some(search) = &mut self.search else { return Ok(false) };
        // A cell has the results of every name of its policy.
        let mut named: Vec<(&Policy, &Cell)> = Vec::new();
        for cell in cells {
            let twins = self.twins.iter().filter(|twin| twin.same_as.is_of(&cell.settings));
            let own = std::iter::once(&cell.settings.policy);
            let names: BTreeSet<&Policy> = own.chain(twins.map(|twin| &twin.place.policy)).collect();
            named.extend(names.into_iter().map(|policy| (policy, cell)));
        }
        let more = search.next_round(&mut self.plan, &named, record);
        self.grid = self.plan.cells().blame_plan()?;
        Ok(more)
    }

    /// The sweep's folder. By default its name contains a hash of the plan without languages, policies and seeds, so
    /// that a command with more of these continues in the same folder.
    pub(crate) fn sweep_folder(&self, out: Option<&Path>, place: &Place) -> PathBuf {
        if let Some(out) = out {
            return out.into();
        }
        let mut plan = self.plan.clone();
        for axis in ["lang", "policy", "seed"] {
            plan.grid.remove(axis);
        }
        let default = Settings::default();
        plan.settings.lang = default.lang;
        plan.settings.policy = default.policy;
        plan.settings.seed = default.seed;
        (plan.jobs, plan.about, plan.prefix_cache) = (1, String::new(), PrefixCache::default());
        (plan.checkpoints, plan.claims) = (Checkpoints::default(), Vec::new());
        (plan.timing, plan.caveats) = (TimingSettings::default(), Vec::new());
        plan.track = TrackSettings::default();
        // A cell's id holds its settings, wherever they come from.
        (plan.policies, plan.langs) = Default::default();
        (plan.verdict, plan.reference) = (VerdictRule::default(), String::new());
        plan.decide = DecideSettings::default();
        let text =
            serde_json::to_string(&(plan, self.backend.to_string())).expect("plain data always serialises");
        let hash = &sha256(text.as_bytes())[..6];
        place.folder.join("sweeps").join(format!("{}-{hash}", self.plan.name))
    }

    /// Takes over what a search for learning rates has tried and found. Once it has ended, cells have its rates.
    pub(crate) fn take_rates(&mut self, rates: RateSearch) {
        if !rates.running {
            self.grid = self.grid.with_rates(&rates.found);
        }
        self.rates = Some(rates);
    }

    /// Whether the cells belong to a search for learning rates.
    pub(crate) fn is_searching(&self) -> bool {
        self.rates.as_ref().is_some_and(|rates| rates.running)
    }

    /// Whether a round of a search follows the current one.
    pub(crate) fn search_continues(&self) -> bool {
        self.is_searching() || self.search.as_ref().is_some_and(SetSearch::has_next_round)
    }

    /// Returns the contents of `sweep.json`. With `stays`, this command stays to make further rounds of a search; the rounds of
    /// a sweep that grows are added by any process.
    pub(crate) fn sweep_file(&self, cells: Vec<Cell>, stays: bool) -> Sweep {
        let (plan, overrides, reference) =
            (self.plan.clone(), self.overrides.clone(), self.reference.clone());
        let search_continues = (stays && self.search_continues()) || self.rounds.is_some();
        let (twins, rates, rounds) = (self.twins.clone(), self.rates.clone(), self.rounds.clone());
        let block_scores = self.block_scores.clone();
        Sweep {
            schema: SCHEMA,
            plan,
            overrides,
            cells,
            twins,
            reference,
            rates,
            block_scores,
            rounds,
            search_continues,
        }
    }
}

/// Returns the settings that assignments name.
fn assigned_settings(assignments: &[String]) -> impl Iterator<Item = &str> {
    assignments.iter().filter_map(|text| text.split_once('=').map(|(path, _)| path.trim()))
}

/// Checks that no assignment replaces another one.
fn check_assigned_once(assignments: &[String]) -> anyhow::Result<()> {
    let paths: Vec<&str> = assigned_settings(assignments).collect();
    for (at, path) in paths.iter().enumerate() {
        if let Some(before) = paths[..at].iter().position(|before| before == path) {
            bail!(
                "`{path}` is given twice: {} and {}; give one (a list makes it an axis)",
                assignments[before],
                assignments[at]
            );
        }
    }
    Ok(())
}

/// Checks that no assignment fixes a rate that a search is to find.
fn check_rate_is_free(plan: &Plan, assignments: &[String]) -> anyhow::Result<()> {
    let fixes = |path: &&str| *path == "optimizer.lr" || path.ends_with(".optimizer.lr");
    match assigned_settings(assignments).find(fixes).filter(|_| plan.search.is_on()) {
        None => Ok(()),
        Some(path) => bail!(
            "`{path}` fixes a learning rate, and --find-lr is to find it; leave one of them out (a plan that searches by itself \
             does not with `--set search.lr=off`)"
        ),
    }
}

/// Returns changes to settings as assignments, so that all of them are checked in the same way.
fn changes_as_assignments(changes: &SettingChanges) -> Vec<String> {
    let list = |axis: &str, values: &[String]| {
        let quoted = values.iter().map(|value| toml::Value::from(value.trim()).to_string());
        (!values.is_empty()).then(|| format!("{axis}=[{}]", quoted.collect::<Vec<_>>().join(", ")))
    };
    let seeds: Vec<String> = changes.seeds.iter().map(ToString::to_string).collect();
    let name = changes.encoder.as_ref().map(|name| toml::Value::from(name.as_str()));
    let init = changes.encoder_init.map(|init| match init {
        Init::Pretrained => "pretrained",
        Init::Random => "random",
    });
    let find_lr = changes.find_lr.map(|what| match what {
        FindLr::Off => "off",
        FindLr::Policy => "policy",
        FindLr::Lang => "lang",
    });
    [
        list("lang", &changes.langs),
        list("policy", &changes.policies),
        (!seeds.is_empty()).then(|| format!("seed=[{}]", seeds.join(", "))),
        name.map(|name| format!("encoder.name={name}")),
        init.map(|init| format!("encoder.init={init}")),
        find_lr.map(|what| format!("search.lr={what}")),
        changes.decide.map(|question| format!("decide.question={}", question.name())),
    ]
    .into_iter()
    .flatten()
    .chain(changes.assignments.iter().cloned())
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_assignment_replaces_another_one() {
        let assigned =
            |texts: &[&str]| check_assigned_once(&texts.iter().map(|&text| text.into()).collect::<Vec<_>>());
        assert!(assigned(&["train.epochs=1", "train.batch=1", "stages.head.train.epochs=2"]).is_ok());
        let error = assigned(&["policy=[\"none\"]", "seed=[1]", "policy = all"]).unwrap_err();
        insta::assert_snapshot!(error.to_string(), @r#"`policy` is given twice: policy=["none"] and policy = all; give one (a list makes it an axis)"#);
    }
}
