//! The search for learning rates before a comparison: cells of its own, whose records decide which rates are tried next
//! and, at the end, which rates the comparison's cells have.
//!
//! Its cells lie in the sweep's folder and run as all others do. They have a seed that the comparison does not have, and
//! are scored on a piece that is cut off the train sentences, so that what a rate is chosen by is not what it is judged by.

mod halving;

use std::collections::{BTreeMap, HashSet};

use anyhow::anyhow;
use frostline_record::{
    Cell, EvalSettings, FileName, FindLr, ForecastJob, FoundRate, Policy, RateSearch, RateTrial, Record,
    Rung, SaveSettings, ScoredOn, SearchSettings, Settings, Switch,
};

use crate::fault::{Blame as _, CommandResult};
use crate::inputs::StudyInputs;
use crate::program::Program;
use crate::study::PlannedStudy;
use crate::units::{count_noun, group_thousands};
use halving::{Halving, NextStep, RatePlace, RateScore};

/// The least batches of a rung: fewer steps show nothing about a rate.
const LEAST_BATCHES: usize = 4;

/// A search for the rates of all of a study's policies.
#[derive(Debug)]
pub(crate) struct RateFinder {
    plan: SearchSettings,
    searches: Vec<GroupSearch>,
    /// Ids of the cells that a round asked for.
    asked: HashSet<String>,
}

/// A search for one rate.
#[derive(Debug)]
struct GroupSearch {
    policy: Policy,
    axes: BTreeMap<String, toml::Value>,
    /// For each language, the settings of its cells but for the rate and the sentences.
    cells: Vec<Settings>,
    /// The most sentences of each rung, for each language.
    sizes: Vec<Vec<usize>>,
    parameters: [u64; 2],
    scored_on: ScoredOn,
    halving: Halving,
    found: Option<(RatePlace, Option<frostline_record::Edge>)>,
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum SearchRound {
    /// These cells of the search, those that are done among them.
    Cells(Vec<Cell>),
    /// The comparison: all rates are found.
    Found,
}

impl RateFinder {
    /// Returns the search that the study's plan asks for, if it does.
    pub(crate) fn for_study(
        study: &PlannedStudy,
        sources: &StudyInputs,
        program: &Program,
    ) -> CommandResult<Option<Self>> {
        let plan = study.plan.search.clone();
        if !plan.is_on() {
            return Ok(None);
        }
        let mut searches = Vec::new();
        for group in group_cells(study, plan.lr) {
            searches.push(GroupSearch::for_group(sources, &plan, group));
        }
        place_first_rates(&mut searches, study, sources, program)?;
        // If nothing learns, no rate matters.
        searches.retain(|search| search.parameters[0] > 0);
        Ok(Some(Self { plan, searches, asked: HashSet::new() }))
    }

    /// Continues as far as there are records, and returns what comes next.
    ///
    /// # Errors
    /// If no rate of a policy has a score.
    pub(crate) fn next_round(
        &mut self,
        study: &PlannedStudy,
        sources: &StudyInputs,
        program: &Program,
        record: impl Fn(&Cell) -> Option<Record>,
    ) -> CommandResult<SearchRound> {
        let cell = |settings: Settings| sources.make_cell(study, program, settings);
        let (mut cells, mut waits) = (Vec::new(), false);
        for search in &mut self.searches {
            let was_found = search.found.is_some();
            search.advance_group(&cell, &record)?;
            waits |= search.found.is_none();
            if search.found.is_some() && !was_found {
                search.announce_rung(&cell, &record);
            }
            // A loss that was no number would be no number again.
            let diverged = |cell: &Cell| record(cell).is_some_and(|record| record.diverged());
            cells.extend(search.all_cells(&cell).filter(|cell| !diverged(cell)));
        }
        if !waits {
            return Ok(SearchRound::Found);
        }
        let mut known = HashSet::new();
        cells.retain(|cell| known.insert(cell.id.clone()));
        self.check_progress(&cells, &record)?;
        Ok(SearchRound::Cells(cells))
    }

    /// Checks that not the same cells are asked for again although they were run.
    fn check_progress(
        &mut self,
        cells: &[Cell],
        record: impl Fn(&Cell) -> Option<Record>,
    ) -> CommandResult<()> {
        let failed = |cell: &&Cell| record(cell).is_none_or(|record| record.error.is_some());
        match cells.iter().filter(failed).find(|cell| self.asked.contains(&cell.id)) {
            Some(cell) => Err(anyhow!(
                "the search for learning rates ended without the result of {} at {:e}; its record has the error, and the same \
                 command again runs it once more",
                cell.title(),
                cell.settings.optimizer.lr
            ))
            .blame_environment(),
            None => {
                self.asked.extend(cells.iter().map(|cell| cell.id.clone()));
                Ok(())
            }
        }
    }

    /// Prints what is tried now.
    pub(crate) fn announce_round(&self) {
        let open: Vec<&GroupSearch> = self.searches.iter().filter(|search| search.found.is_none()).collect();
        let rung = open.iter().map(|search| search.halving.rungs.len()).max().unwrap_or(0);
        let sentences = open.iter().map(|search| search.most_sentences()).max().unwrap_or(0);
        say!(
            "find-lr   rung {rung} of {}, on at most {} train sentences, seed {}: {} of {} found so far",
            self.plan.rungs,
            group_thousands(sentences as u64),
            self.plan.seed,
            self.searches.len() - open.len(),
            count_noun(self.searches.len(), "rate")
        );
    }

    /// Returns what was tried and found so far, for `sweep.json`.
    pub(crate) fn stored_search(
        &self,
        study: &PlannedStudy,
        sources: &StudyInputs,
        program: &Program,
        record: impl Fn(&Cell) -> Option<Record>,
    ) -> RateSearch {
        let cell = |settings: Settings| sources.make_cell(study, program, settings);
        let found = self.searches.iter().filter_map(|search| search.stored_rate(&cell, &record));
        let running = self.searches.iter().any(|search| search.found.is_none());
        RateSearch { running, seed: self.plan.seed, found: found.collect() }
    }
}

/// The cells of the comparison that share a rate: one for each language.
struct RateGroup {
    policy: Policy,
    axes: BTreeMap<String, toml::Value>,
    cells: Vec<Settings>,
}

/// Returns the groups of a study's cells, in the order of its grid.
fn group_cells(study: &PlannedStudy, find: FindLr) -> Vec<RateGroup> {
    let axes = study.plan.extra_axes();
    let mut groups: Vec<RateGroup> = Vec::new();
    for lang in study.grid.langs() {
        for settings in study.grid.of_lang(lang) {
            let values = axes.iter().filter_map(|axis| Some(((*axis).to_string(), settings.get(axis)?)));
            let values: BTreeMap<String, toml::Value> = values.collect();
            let same = |group: &&mut RateGroup| {
                find == FindLr::Policy && group.policy == settings.policy && group.axes == values
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.cells.push(settings),
                None => {
                    let policy = settings.policy.clone();
                    groups.push(RateGroup { policy, axes: values, cells: vec![settings] });
                }
            }
        }
    }
    groups
}

/// Places the first rates of every search, from how much of the model learns.
fn place_first_rates(
    searches: &mut [GroupSearch],
    study: &PlannedStudy,
    sources: &StudyInputs,
    program: &Program,
) -> CommandResult<()> {
    let cells: Vec<Cell> =
        searches.iter().map(|search| sources.make_cell(study, program, search.cells[0].clone())).collect();
    let job = ForecastJob { cells: cells.clone(), threads: 1, calibrate: false, prefix_cache: false };
    let forecasts = program.forecast_cells(job)?;
    for (search, cell) in searches.iter_mut().zip(&cells) {
        let found = forecasts.iter().find(|forecast| forecast.cell == cell.id);
        search.parameters = found.map_or([1, 1], |forecast| forecast.parameters);
        let own = study.plan.own_of_policy(&search.policy);
        let is_own = own.iter().any(|(path, _)| path == "optimizer.lr");
        let middle = halving::middle_place(search.cells[0].optimizer.lr, is_own, search.parameters);
        let rungs = search.sizes.first().map_or(1, Vec::len);
        search.halving = Halving::new(middle, study.plan.search.rates, rungs, study.plan.search.more);
    }
    Ok(())
}

impl GroupSearch {
    fn for_group(sources: &StudyInputs, plan: &SearchSettings, group: RateGroup) -> Self {
        let RateGroup { policy, axes, cells } = group;
        let mut searched = Vec::new();
        for settings in cells {
            let task = &settings.tasks[settings.headline()];
            let headline = sources.train_sentences(settings.dataset_of(task));
            let mut of_tasks = settings.tasks.values().map(|task| settings.dataset_of(task));
            let can_cut = of_tasks.all(|dataset| sources.train_sentences(dataset).is_some());
            searched.push(searched_settings(&settings, plan, headline.filter(|_| can_cut)));
        }
        let on_train = searched.iter().all(|(settings, _)| settings.data.cut_dev > 0.0);
        let (cells, mut sizes): (Vec<Settings>, Vec<Vec<usize>>) = searched.into_iter().unzip();
        // A small language has fewer rungs of its own: its largest ones belong to all.
        let rungs = sizes.iter().map(Vec::len).max().unwrap_or(1);
        for sizes in &mut sizes {
            let first = sizes[0];
            sizes.splice(0..0, std::iter::repeat_n(first, rungs - sizes.len()));
        }
        Self {
            policy,
            axes,
            cells,
            sizes,
            parameters: [1, 1],
            scored_on: if on_train { ScoredOn::Train } else { ScoredOn::Dev },
            halving: Halving::new(0, 2, 1, 0),
            found: None,
        }
    }

    fn advance_group(
        &mut self,
        cell: &impl Fn(Settings) -> Cell,
        record: &impl Fn(&Cell) -> Option<Record>,
    ) -> CommandResult<()> {
        let mut halving = self.halving.clone();
        let next = halving.advance_search(|rung, place| self.known_score(rung, place, cell, record));
        self.halving = halving;
        match next {
            NextStep::Scores => Ok(()),
            NextStep::Found(place, edge) => {
                self.found = Some((place, edge));
                Ok(())
            }
            NextStep::NoScore => Err(anyhow!(
                "no learning rate from {:e} on has a result for {}: every loss was infinite or no number; set a lower \
                 optimizer.lr in the plan, around which rates are tried",
                halving::place_rate(*self.halving.rungs.last().and_then(|rung| rung.first()).unwrap_or(&0)),
                self.group_title()
            ))
            .blame_environment(),
        }
    }

    /// The cells of a rate in a rung, one for each language.
    fn cells_of<'a>(
        &'a self,
        rung: usize,
        place: RatePlace,
        cell: &'a impl Fn(Settings) -> Cell,
    ) -> impl Iterator<Item = Cell> + 'a {
        self.cells.iter().zip(&self.sizes).map(move |(settings, sizes)| {
            let mut settings = settings.clone();
            settings.optimizer.lr = halving::place_rate(place);
            settings.data.sample = sizes[rung];
            cell(settings)
        })
    }

    fn all_cells<'a>(&'a self, cell: &'a impl Fn(Settings) -> Cell) -> impl Iterator<Item = Cell> + 'a {
        let rungs = self.halving.rungs.iter().enumerate();
        rungs.flat_map(move |(rung, places)| {
            places.iter().flat_map(move |place| self.cells_of(rung, *place, cell))
        })
    }

    fn known_score(
        &self,
        rung: usize,
        place: RatePlace,
        cell: &impl Fn(Settings) -> Cell,
        record: &impl Fn(&Cell) -> Option<Record>,
    ) -> RateScore {
        let (mut score, mut loss) = (0.0, 0.0);
        for cell in self.cells_of(rung, place, cell) {
            let Some(record) = record(&cell) else { return RateScore::Missing };
            match score_of(&record) {
                Some(found) => (score, loss) = (score + found[0], loss + found[1]),
                None if record.diverged() => return RateScore::Diverged,
                None => return RateScore::Missing,
            }
        }
        let langs = self.cells.len() as f64;
        RateScore::Scored(score / langs, loss / langs)
    }

    /// Returns the most sentences of the running rung.
    fn most_sentences(&self) -> usize {
        let rung = self.halving.rungs.len() - 1;
        self.sizes.iter().map(|sizes| sizes[rung]).max().unwrap_or(0)
    }

    /// Returns what the search is for.
    fn group_title(&self) -> String {
        let langs: Vec<&str> = self.cells.iter().map(|settings| settings.lang.as_str()).collect();
        let axes = self.axes.iter().map(|(path, value)| format!(" {path}={value}"));
        format!("{} {}{}", langs.join("+"), self.policy, axes.collect::<String>())
    }

    fn announce_rung(&self, cell: &impl Fn(Settings) -> Cell, record: &impl Fn(&Cell) -> Option<Record>) {
        let Some(found) = self.stored_rate(cell, record) else { return };
        let [lowest, highest] = found.tried();
        let edge = match found.edge {
            None => "",
            Some(_) => ", at an end of them: a better one may lie beyond",
        };
        say!(
            "find-lr   {}: {:e}, {:.2} % on {} (tried {lowest:e} to {highest:e}{edge})",
            self.group_title(),
            found.lr,
            100.0 * found.score().unwrap_or(f64::NAN),
            match found.scored_on {
                ScoredOn::Train => "a piece of train",
                ScoredOn::Dev => "dev",
            }
        );
    }

    /// Returns the search as it is stored, once it has found its rate.
    fn stored_rate(
        &self,
        cell: &impl Fn(Settings) -> Cell,
        record: &impl Fn(&Cell) -> Option<Record>,
    ) -> Option<FoundRate> {
        let (place, edge) = self.found?;
        let trial = |rung: usize, place: RatePlace| RateTrial {
            lr: halving::place_rate(place),
            score: match self.known_score(rung, place, cell, record) {
                RateScore::Scored(score, _) => Some(score),
                RateScore::Missing | RateScore::Diverged => None,
            },
            cells: self.cells_of(rung, place, cell).map(|cell| cell.id).collect(),
        };
        let rungs = self.halving.rungs.iter().enumerate().map(|(rung, places)| Rung {
            sentences: self.sizes.iter().map(|sizes| sizes[rung] as u64).max().unwrap_or(0),
            trials: places.iter().map(|place| trial(rung, *place)).collect(),
        });
        let langs: Vec<FileName> = self.cells.iter().map(|settings| settings.lang.clone()).collect();
        Some(FoundRate {
            policy: self.policy.clone(),
            langs,
            axes: self.axes.clone(),
            parameters: self.parameters,
            scored_on: self.scored_on,
            rungs: rungs.collect(),
            lr: halving::place_rate(place),
            edge,
        })
    }
}

/// The settings of a search's cells for a cell of the comparison, and the sentences of each rung. `train` is how many train
/// sentences there are, where a piece can be cut off them.
fn searched_settings(base: &Settings, plan: &SearchSettings, train: Option<usize>) -> (Settings, Vec<usize>) {
    let mut settings = base.clone();
    settings.seed = plan.seed;
    let data = &mut settings.data;
    let all = train.unwrap_or(usize::MAX);
    let compared = match (data.sample, data.first) {
        (0, 0) => (all as f64 * data.fraction) as usize,
        (0, first) => first,
        (sample, _) => sample,
    };
    let most = if plan.sentences == 0 { compared } else { plan.sentences.min(compared) };
    data.cut_dev = train.map_or(0.0, |all| scored_share(plan, all));
    let left = (all as f64 * (1.0 - data.cut_dev)) as usize;
    (data.first, data.fraction, data.sample, data.draw) = (0, 1.0, 0, 0);
    settings.eval = EvalSettings { test: false, every_steps: 0, baselines: Switch::Off, ..settings.eval };
    settings.save =
        SaveSettings { predictions: false, model: false, stages: false, features: false, changes: false };
    let sizes = rung_sizes(most.min(left).max(1), plan.rungs, LEAST_BATCHES * settings.train.batch);
    (settings, sizes)
}

/// The share of so many train sentences that rates are scored on.
fn scored_share(plan: &SearchSettings, train: usize) -> f64 {
    let most = if plan.sentences == 0 { train } else { plan.sentences.div_ceil(2) };
    plan.cut.min(most as f64 / train.max(1) as f64)
}

/// The sentences of each rung, of which the last has `most`; fewer rungs if these would have too few.
fn rung_sizes(most: usize, rungs: usize, least: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> =
        (0..rungs).rev().map(|halved| (most >> halved).max(least.min(most))).collect();
    sizes.dedup();
    sizes
}

/// The score and loss of the headline task at the end of a search's cell.
fn score_of(record: &Record) -> Option<[f64; 2]> {
    let dev = record.result.as_ref()?.scores().get("dev")?;
    let score = dev.entities.map_or_else(|| dev.accuracy(), |entities| entities.f1());
    Some([score, dev.loss_nats])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search_settings() -> SearchSettings {
        SearchSettings { lr: FindLr::Policy, ..SearchSettings::default() }
    }

    #[test]
    fn rungs_double_up_to_what_there_is() {
        assert_eq!(rung_sizes(1000, 3, 32), [250, 500, 1000]);
        assert_eq!(rung_sizes(100, 3, 64), [64, 100]);
        assert_eq!(rung_sizes(20, 4, 64), [20]);
    }

    #[test]
    fn a_search_learns_from_train_without_the_piece_it_scores_and_keeps_nothing_else() {
        let mut base = Settings { seed: 42, ..Settings::default() };
        (base.eval.test, base.eval.every_steps, base.save.model) = (true, 10, true);
        base.data.fraction = 0.5;
        let (settings, sizes) = searched_settings(&base, &search_settings(), Some(1600));
        assert_eq!((settings.seed, settings.data.cut_dev, settings.data.fraction), (9001, 0.2, 1.0));
        assert_eq!(sizes, [200, 400, 800], "no more than the comparison learns from");
        assert!(!settings.eval.test && !settings.save.model && !settings.save.predictions);
        assert_eq!((settings.eval.every_steps, settings.eval.baselines), (0, Switch::Off));
        // In a large treebank, at most half as much is scored as is learned from.
        let (settings, sizes) = searched_settings(&Settings::default(), &search_settings(), Some(10_000));
        assert_eq!((settings.data.cut_dev, sizes), (0.05, vec![250, 500, 1000]));
        // Without a train file, dev decides.
        let (settings, _) = searched_settings(&Settings::default(), &search_settings(), None);
        assert_eq!(settings.data.cut_dev, 0.0);
        settings.check().expect("settings that can be");
    }

    #[test]
    fn all_sentences_are_all_that_are_left() {
        let plan = SearchSettings { sentences: 0, rungs: 1, ..search_settings() };
        let (settings, sizes) = searched_settings(&Settings::default(), &plan, Some(1000));
        assert_eq!((settings.data.cut_dev, sizes), (0.2, vec![800]));
        let mut small = Settings::default();
        small.data.first = 64;
        assert_eq!(searched_settings(&small, &plan, Some(1000)).1, [64]);
    }
}
