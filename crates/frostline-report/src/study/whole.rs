//! A sweep with its records, grouped.

use frostline_record::{MadeBy, PairedTimes, Record, Sweep};
use frostline_score::SeedLevels;

use crate::study::advice::{self, Advice, Standing};
use crate::study::baselines::{self, BaselineStats};
use crate::study::cells::{self, BASELINE, CellView, distinct};
use crate::study::comparison::Judging;
use crate::study::epochs::is_steady;
use crate::study::groups::{self, CellGroup};
use crate::study::hardware::{self, Hardware};
use crate::study::outcomes::Outcomes;
use crate::study::pair_verdicts::{self, PairVerdict};
use crate::study::place::Placed;
use crate::study::sanity::{self, Examined, Finding, FindingKind, FindingLine, PlaceNames};
use crate::study::stage_verdicts;
use crate::study::stages::ScoredBy;
use crate::study::stored::StoredPredictions;
use crate::study::turns::{StepCost, StepCosts};
use crate::study::twins;
use crate::study::verdicts::Verdicts;

/// A sweep's records, grouped.
#[derive(Clone, Debug)]
pub(crate) struct Study {
    pub sweep: Sweep,
    /// In the plan's order.
    pub cells: Vec<CellView>,
    /// By language, then in the plan's order.
    pub groups: Vec<CellGroup>,
    /// What makes the rest worthless, or limits it; it comes before any comparison.
    pub sanity: Vec<Finding>,
    /// What each cell has right, sentence by sentence, as far as predictions were read.
    pub outcomes: Outcomes,
    pub verdicts: Verdicts,
    /// The pairs that the plan's question names.
    pub pairs: Vec<PairVerdict>,
    pub advice: Vec<Advice>,
    /// Costs of steps in turns, as far as they were timed.
    pub step_costs: StepCosts,
    /// What times depend on, in the cells' order.
    pub machines: Vec<Hardware>,
    /// In the order of groups.
    standings: Vec<Option<Standing>>,
    /// Records that belong to no cell of the sweep.
    pub strays: usize,
}

impl Study {
    /// Records may be missing, failed or in any order.
    pub fn new(sweep: &Sweep, records: &[Record]) -> Self {
        let strays = twins::count_strays(sweep, records);
        let sweep = twins::merge_twins(sweep, records);
        let cells = cells::cells(&sweep, records);
        let mut groups = groups::groups(&cells);
        twins::name_policies(&mut groups, &sweep);
        let examined =
            Examined { plan: &sweep.plan, cells: &cells, groups: &groups, rates: sweep.rates.as_ref() };
        let study = Self {
            sanity: sanity::find_problems(&examined),
            machines: hardware::find_machines(&cells),
            standings: Vec::new(),
            cells,
            groups,
            outcomes: Outcomes::default(),
            verdicts: Verdicts::default(),
            pairs: Vec::new(),
            advice: Vec::new(),
            step_costs: StepCosts::default(),
            strays,
            sweep,
        };
        study.judged(Outcomes::default())
    }

    /// The same with what predictions add: verdicts and what follows from them.
    pub fn with(self, stored: &StoredPredictions<'_>) -> Self {
        let outcomes = Outcomes::of(&self.cells, stored);
        self.judged(outcomes)
    }

    /// The same with the times of steps in turns.
    pub fn with_times(mut self, times: &[PairedTimes]) -> Self {
        self.step_costs = StepCosts::of(&self.cells, times);
        self
    }

    /// What a step of a group costs.
    pub fn step_cost(&self, group: &CellGroup) -> Option<&StepCost> {
        self.step_costs.find(self.members(group).next()?)
    }

    fn judged(mut self, outcomes: Outcomes) -> Self {
        let margin = self.margin();
        self.verdicts = Verdicts::of(&self.cells, &self.groups, &outcomes, margin, self.levels().as_ref());
        let levels = self.levels();
        let judging =
            Judging { levels: levels.as_ref(), ..Judging::new(outcomes.both(), advice::SPLIT, margin) };
        let pairs = &self.sweep.plan.decide.pairs;
        self.pairs = pair_verdicts::judge_pairs(&self.cells, &self.groups, pairs, &judging);
        stage_verdicts::judge_stages(&mut self.groups, &self.cells, &outcomes, margin);
        self.outcomes = outcomes;
        self.standings = advice::rank_groups(&self.cells, &self.groups, &self.verdicts);
        let baselines = self.all_baselines();
        self.advice =
            advice::recommend_policies(&self.groups, &self.standings, &self.verdicts, &baselines, margin);
        // If comparisons are worthless, nothing is recommended; advice itself looks at seeds.
        let sanity = &self.sanity;
        let forbids = |one: &Advice| sanity::first_forbidding(sanity, &one.langs, &one.extras);
        self.advice.retain(|one| forbids(one).is_none_or(|finding| finding.kind == FindingKind::FewSeeds));
        self
    }

    /// What the findings mean for the rest, and a line for each; nothing without a finding.
    pub fn sanity_lines(&self) -> Option<(String, Vec<FindingLine>)> {
        let (langs, axes) = (self.langs(), self.axes());
        let places = PlaceNames { langs: &langs, axes: &axes };
        Some((
            sanity::summarise_findings(&self.sanity, &places)?,
            sanity::finding_lines(&self.sanity, &places),
        ))
    }

    /// What a group costs, compared with others.
    pub fn standing(&self, group: &CellGroup) -> Option<Standing> {
        self.standings[self.groups.iter().position(|other| other.place() == group.place())?]
    }

    /// Differences of accuracies below this do not matter, in points.
    pub const fn margin(&self) -> f64 {
        self.sweep.plan.verdict.margin.points()
    }

    /// The levels of verdicts in a study that grows until it knows, which is judged after each seed.
    pub fn levels(&self) -> Option<SeedLevels> {
        let seeds = self.sweep.plan.grid.get("seed").map_or(1, Vec::len);
        self.sweep.plan.decide.is_on().then(|| SeedLevels::planned(seeds))
    }

    /// What the headline task is scored by: `accuracy` or `entity F1`.
    pub fn metric(&self) -> &'static str {
        let scores = self.cells.iter().filter_map(|view| view.done()?.score("dev"));
        scores.map(|score| ScoredBy::of(score).name()).next().unwrap_or(ScoredBy::Accuracy.name())
    }

    /// Languages in the order of the plan.
    pub fn langs(&self) -> Vec<&str> {
        distinct(self.groups.iter().map(|group| group.lang.as_str()))
    }

    /// Policies in the order of the plan.
    pub fn policies(&self) -> Vec<&str> {
        distinct(self.groups.iter().map(|group| group.policy.as_str()))
    }

    /// Dotted paths of the further axes.
    pub fn axes(&self) -> Vec<&str> {
        self.sweep.plan.extra_axes()
    }

    /// The combinations of further axes, in the order of the plan; one empty one without such.
    pub fn extras(&self) -> Vec<&[String]> {
        distinct(self.groups.iter().map(|group| group.extras.as_slice()))
    }

    /// The groups of a language.
    pub fn groups_of<'a, 'b>(&'a self, lang: &'b str) -> impl Iterator<Item = &'a CellGroup> + use<'a, 'b> {
        self.groups.iter().filter(move |group| group.lang == lang)
    }

    /// The baselines of the headline of a language's cells, for all further axes together if they make no difference.
    pub fn baselines(&self, lang: &str) -> Vec<BaselineStats> {
        baselines::of_cells(&self.cells, lang, None)
    }

    /// The same of a task.
    pub fn task_baselines(&self, lang: &str, task: &str) -> Vec<BaselineStats> {
        baselines::of_cells(&self.cells, lang, Some(task))
    }

    /// The baselines of all languages.
    pub fn all_baselines(&self) -> Vec<BaselineStats> {
        self.langs().into_iter().flat_map(|lang| self.baselines(lang)).collect()
    }

    /// The names and dev scores of the baselines of a figure's panel, given one of its groups.
    pub fn references(&self, group: &CellGroup) -> Vec<(String, f64)> {
        let all = self.baselines(&group.lang).into_iter().filter(|one| one.is_at(&group.extras));
        all.filter_map(|one| Some((one.title().to_string(), one.dev.as_ref()?.score.mean))).collect()
    }

    /// The cells of a group.
    pub fn members<'a>(&'a self, group: &'a CellGroup) -> impl Iterator<Item = &'a CellView> {
        self.cells.iter().filter(move |view| group.holds(view))
    }

    /// The group of the same language and further axes that freezes nothing.
    pub fn none_of(&self, group: &CellGroup) -> Option<&CellGroup> {
        self.groups_of(&group.lang).find(|other| other.policy == BASELINE && other.extras == group.extras)
    }

    /// Whether the same learns in every step of a group's cells.
    pub fn has_steady_steps(&self, group: &CellGroup) -> bool {
        self.members(group).filter_map(CellView::done).all(is_steady)
    }

    /// Whether cells have several stages.
    pub fn is_staged(&self) -> bool {
        self.groups.iter().any(CellGroup::is_staged)
    }

    /// Whether any seed is one of several.
    pub fn has_several_seeds(&self) -> bool {
        self.groups.iter().any(|group| group.seeds_done > 1)
    }

    /// Whether the data is made up.
    pub fn synthetic(&self) -> bool {
        self.sweep.plan.synthetic
    }

    /// Whether the plan has cells in which everything learns.
    pub fn has_baseline(&self) -> bool {
        self.policies().contains(&BASELINE)
    }

    /// Returns the makers of records, each with the number of its records, in the cells' order.
    pub fn makers(&self) -> Vec<(&MadeBy, usize)> {
        let all: Vec<&MadeBy> = self.cells.iter().filter_map(CellView::made_by).collect();
        let count = |maker: &MadeBy| all.iter().filter(|&&other| other == maker).count();
        distinct(all.iter().copied()).into_iter().map(|maker| (maker, count(maker))).collect()
    }

    /// The number of a machine, from 1, if times were taken on several.
    pub fn machine(&self, hardware: &Hardware) -> Option<usize> {
        let at = self.machines.iter().position(|other| other == hardware)?;
        (self.machines.len() > 1).then_some(at + 1)
    }

    /// A language with the treebank's name, if that is a folder: `en (UD_English-EWT)`.
    pub fn lang_title(&self, lang: &str) -> String {
        let place = self.sweep.plan.treebanks.get(lang).map_or("", |p| p.trim());
        let name = place.trim_end_matches('/').rsplit('/').next().unwrap_or("");
        let names =
            [lang].into_iter().chain(twins::other_langs(&self.sweep, lang)).collect::<Vec<_>>().join(" = ");
        if place.starts_with("embedded:") || name.is_empty() || name == lang {
            names
        } else {
            format!("{names} ({name})")
        }
    }

    /// A policy's place among those that freeze something; none for the one that freezes nothing.
    pub fn place_of(&self, policy: &str) -> Option<usize> {
        self.policies().into_iter().filter(|&other| other != BASELINE).position(|other| other == policy)
    }
}
