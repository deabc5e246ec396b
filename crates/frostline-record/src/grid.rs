//! The grid of a plan: every combination of its axes' values, without all of them in memory at once.

use std::collections::BTreeSet;

use frostline_freeze::Policy;

use crate::own_settings::OwnSettings;
use crate::plan_limits::MOST_CELLS;
use crate::{FileName, FoundRate, Plan, PlanError, Settings};

/// The settings of a plan's cells, in the order in which they run: seeds outermost and policies innermost, so
/// that compared cells run close together in time.
///
/// A grid has at most [`MOST_CELLS`] cells. It keeps the axes' values, so that a large grid takes little memory.
#[derive(Clone, Debug)]
pub struct Grid {
    seeds: Vec<u64>,
    langs: Vec<FileName>,
    policies: Vec<Policy>,
    /// The settings shared by all cells.
    base: Settings,
    /// The other axes with their values, the fastest last.
    others: Vec<(String, Vec<toml::Value>)>,
    /// The settings of single policies and languages.
    own: OwnSettings,
    /// Learning rates that a search has found.
    rates: Vec<FoundRate>,
    /// Which cells are left out of each seed's, by their place in that order, since others are the same experiment.
    twins: BTreeSet<usize>,
}

/// Every combination of the other axes' values.
struct Others<'a> {
    grid: &'a Grid,
    /// The place of each axis's value.
    at: Vec<usize>,
    /// The settings with the values of no axis, of the first, of the first two and so on; empty at the end.
    set: Vec<Settings>,
}

impl Iterator for Others<'_> {
    type Item = Result<Settings, PlanError>;

    fn next(&mut self) -> Option<Self::Item> {
        let axes = &self.grid.others;
        while self.set.len() <= axes.len() {
            let mut settings = self.set.last()?.clone();
            let axis = self.set.len() - 1;
            let (path, values) = &axes[axis];
            if let Err(error) = settings.set(path, values[self.at[axis]].clone()) {
                self.set.clear();
                return Some(Err(error));
            }
            self.set.push(settings);
        }
        let next = self.set.pop();
        // Finished axes start again, and the axis above them advances.
        while let Some(axis) = self.set.len().checked_sub(1) {
            self.at[axis] += 1;
            if self.at[axis] < axes[axis].1.len() {
                break;
            }
            self.at[axis] = 0;
            self.set.pop();
        }
        next.map(Ok)
    }
}

impl Grid {
    /// Returns the number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        self.seeds.len() * (self.langs.len() * self.of_each_lang() - self.twins.len())
    }

    /// Returns the number of cells of a seed and a language, twins included.
    fn of_each_lang(&self) -> usize {
        self.others.iter().map(|(_, values)| values.len()).product::<usize>() * self.policies.len()
    }

    /// Returns whether there is no cell. A plan's grid always has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns each cell's settings, in order.
    pub fn iter(&self) -> impl Iterator<Item = Settings> + '_ {
        self.seeds
            .iter()
            .flat_map(move |seed| self.langs.iter().map(move |lang| (*seed, lang)))
            .flat_map(move |(seed, lang)| self.without_twins(seed, lang))
    }

    /// Returns each cell's settings of the first seed, twins included.
    pub fn with_twins(&self) -> impl Iterator<Item = Settings> + '_ {
        self.langs.iter().flat_map(move |lang| self.for_seed_and_language(self.seeds[0], lang))
    }

    /// Returns the grid without the cells at these positions of [`Grid::with_twins`].
    #[must_use]
    pub fn without(&self, twins: BTreeSet<usize>) -> Self {
        Self { twins, ..self.clone() }
    }

    /// Returns each combination of values once, with the first seed and the first language, for checks that are
    /// needed only once.
    pub fn variants(&self) -> impl Iterator<Item = Settings> + '_ {
        self.for_seed_and_language(self.seeds[0], &self.langs[0])
    }

    /// Returns each combination of values once, with the first seed and the first policy; they decide which
    /// files are read.
    pub fn of_langs(&self) -> impl Iterator<Item = Settings> + '_ {
        let (seed, policy) = (self.seeds[0], &self.policies[0]);
        self.langs.iter().flat_map(move |lang| {
            self.other_settings().map(move |other| {
                let (lang, policy) = (lang.clone(), policy.clone());
                self.finish(Settings { seed, lang, policy, ..other })
            })
        })
    }

    /// Returns each combination of values once in a language, with the first seed.
    pub fn of_lang<'a>(&'a self, lang: &'a FileName) -> impl Iterator<Item = Settings> + 'a {
        self.without_twins(self.seeds[0], lang)
    }

    fn without_twins<'a>(&'a self, seed: u64, lang: &'a FileName) -> impl Iterator<Item = Settings> + 'a {
        let before = self.langs.iter().position(|other| other == lang).unwrap_or(0) * self.of_each_lang();
        let all = self.for_seed_and_language(seed, lang).enumerate();
        all.filter(move |(at, _)| !self.twins.contains(&(before + at))).map(|(_, settings)| settings)
    }

    /// Returns the number of seeds.
    #[must_use]
    pub fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// Returns the languages.
    #[must_use]
    pub fn langs(&self) -> &[FileName] {
        &self.langs
    }

    /// Returns every combination of the other axes' values, checked already.
    fn other_settings(&self) -> impl Iterator<Item = Settings> + '_ {
        self.combine_axes().map(|settings| settings.expect("values that were set before"))
    }

    fn combine_axes(&self) -> Others<'_> {
        Others { grid: self, at: vec![0; self.others.len()], set: vec![self.base.clone()] }
    }

    fn for_seed_and_language<'a>(
        &'a self,
        seed: u64,
        lang: &'a FileName,
    ) -> impl Iterator<Item = Settings> + 'a {
        self.other_settings().flat_map(move |other| {
            let other = other.clone();
            self.policies.iter().map(move |policy| {
                let (lang, policy) = (lang.clone(), policy.clone());
                self.finish(Settings { seed, lang, policy, ..other.clone() })
            })
        })
    }

    /// Returns settings with the values of their policy and language, and with the rate found for them.
    fn finish(&self, settings: Settings) -> Settings {
        let mut settings = self.own.put_into(settings);
        if let Some(found) = self.rates.iter().find(|found| found.is_of(&settings)) {
            settings.optimizer.lr = found.lr;
        }
        settings
    }

    /// Returns the grid with the learning rates found by a search.
    #[must_use]
    pub fn with_rates(&self, rates: &[FoundRate]) -> Self {
        Self { rates: rates.to_vec(), ..self.clone() }
    }

    /// Returns the settings of single policies and languages.
    pub(crate) fn own_settings(&self) -> &OwnSettings {
        &self.own
    }

    /// Returns the policies.
    #[must_use]
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }
}

impl Plan {
    /// Returns the grid of this plan.
    ///
    /// # Errors
    /// An axis that is empty, repeats a value, names no setting or has a value that does not fit; a language without
    /// a treebank; a setting out of range; more cells than [`MOST_CELLS`].
    pub fn cells(&self) -> Result<Grid, PlanError> {
        self.check_limits()?;
        self.check_axes()?;
        let others = self.extra_axes().into_iter().map(|axis| (axis.to_string(), self.grid[axis].clone()));
        let grid = Grid {
            seeds: self.axis_values("seed", |value| u64::try_from(value.as_integer()?).ok(), |s| s.seed)?,
            langs: self.axis_values("lang", |value| value.as_str()?.parse().ok(), |s| s.lang.clone())?,
            policies: self.axis_values(
                "policy",
                |value| value.as_str()?.parse().ok(),
                |s| s.policy.clone(),
            )?,
            base: self.settings.clone(),
            others: others.collect(),
            own: self.checked_own()?,
            rates: Vec::new(),
            twins: BTreeSet::new(),
        };
        self.check_search(&grid.seeds, &grid.policies)?;
        self.check_decide(&grid.seeds, &grid.policies)?;
        for settings in grid.combine_axes() {
            settings?.check_files()?;
        }
        for settings in grid.of_langs() {
            self.check_data(&settings, &grid.langs)?;
        }
        for settings in grid.of_langs().chain(grid.variants()) {
            settings.in_stages().map_err(|error| grid.own.blame_own_settings(&settings, error))?;
        }
        Ok(grid)
    }

    /// Returns all cells' settings in order, see [`Grid`].
    ///
    /// # Errors
    /// See [`Plan::cells`].
    pub fn expand(&self) -> Result<Vec<Settings>, PlanError> {
        Ok(self.cells()?.iter().collect())
    }

    /// Returns the values of an axis that has a setting's own type, or the setting's value if there is no such
    /// axis.
    fn axis_values<T>(
        &self,
        axis: &str,
        read: impl Fn(&toml::Value) -> Option<T>,
        get: impl Fn(&Settings) -> T,
    ) -> Result<Vec<T>, PlanError> {
        let Some(values) = self.grid.get(axis) else { return Ok(vec![get(&self.settings)]) };
        let value = |value: &toml::Value| match read(value) {
            Some(value) => Ok(value),
            // The check returns the error.
            None => {
                let mut settings = self.settings.clone();
                settings.set(axis, value.clone()).map(|()| get(&settings))
            }
        };
        values.iter().map(value).collect()
    }

    /// Checks that no axis is empty or repeats a value, and that there are not too many cells.
    fn check_axes(&self) -> Result<(), PlanError> {
        let mut cells = 1_u64;
        for axis in self.axes() {
            let values = &self.grid[axis];
            if values.is_empty() {
                return Err(PlanError::EmptyAxis { axis: axis.into() });
            }
            cells = cells.saturating_mul(values.len() as u64);
            if cells > MOST_CELLS as u64 {
                let sizes = self.axes().into_iter().map(|axis| format!("{} {axis}", self.grid[axis].len()));
                let sizes = sizes.collect::<Vec<_>>().join(" x ");
                return Err(PlanError::TooManyCells { most: MOST_CELLS, sizes });
            }
            let mut texts: Vec<String> = values.iter().map(value_key).collect();
            texts.sort_unstable();
            if let Some(twice) = texts.windows(2).find(|two| two[0] == two[1]) {
                return Err(PlanError::RepeatedValue { axis: axis.into(), value: twice[0].clone() });
            }
        }
        Ok(())
    }

    /// Checks that the data which these settings name is there, in every language.
    fn check_data(&self, settings: &Settings, langs: &[FileName]) -> Result<(), PlanError> {
        if settings.data.draw > 0 && settings.data.sample == 0 && !self.grid.contains_key("data.sample") {
            return Err(PlanError::OutOfRange {
                path: "data.draw".into(),
                value: settings.data.draw as f64,
                range: "0 if no `data.sample` is drawn".into(),
            });
        }
        let of_tasks = settings.tasks.values().map(|task| task.data.as_str()).filter(|data| !data.is_empty());
        let mut named = langs.iter().map(FileName::as_str).chain(of_tasks);
        if let Some(lang) = named.find(|lang| !self.treebanks.contains_key(*lang)) {
            let known: Vec<&str> = self.treebanks.keys().map(FileName::as_str).collect();
            return Err(PlanError::UnknownLang { lang: lang.into(), known: known.join(", ") });
        }
        Ok(())
    }

    /// Returns the axes from the slowest to the fastest: seed, language, all others by name, policy.
    #[must_use]
    pub fn axes(&self) -> Vec<&str> {
        let rank = |axis: &str| match axis {
            "seed" => 0,
            "lang" => 1,
            "policy" => 3,
            _ => 2,
        };
        let mut axes: Vec<&str> = self.grid.keys().map(String::as_str).collect();
        axes.sort_by_key(|axis| rank(axis));
        axes
    }

    /// Returns the axes other than seed, language and policy, which a report must distinguish too.
    #[must_use]
    pub fn extra_axes(&self) -> Vec<&str> {
        let usual = ["seed", "lang", "policy"];
        self.axes().into_iter().filter(|axis| !usual.contains(axis)).collect()
    }
}

/// Returns a value as text, the same for 1 and 1.0 and for 0.0 and -0.0: cells with either are the same.
fn value_key(value: &toml::Value) -> String {
    // Whole numbers below this are exact as floats.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value.as_float() {
        Some(float) if float.fract() == 0.0 && float.abs() < EXACT => (float as i64).to_string(),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_plan(grid: &str) -> Plan {
        let text = format!("schema = 4\nname = 'x'\n[treebanks]\nen = 'EN'\npcm = 'PCM'\n[grid]\n{grid}");
        Plan::parse(&text, "x.toml").expect("a plan")
    }

    #[test]
    fn a_value_is_repeated_whatever_its_sign_or_type() {
        let keys = |text: &str| {
            let table: toml::Table = toml::from_str(&format!("x = {text}")).expect("TOML");
            table["x"].as_array().expect("a list").iter().map(value_key).collect::<Vec<_>>()
        };
        for text in ["[0.0, -0.0]", "[1, 1.0]", "[1e-5, 0.00001]", "[0, -0]"] {
            let found = keys(text);
            assert_eq!(found[0], found[1], "{text}");
        }
        for text in ["[1, \"1.5\"]", "[1e-5, 2e-5]", "[9007199254740993, 9007199254740992]", "[true, false]"]
        {
            let found = keys(text);
            assert_ne!(found[0], found[1], "{text}");
        }
    }

    #[test]
    fn seeds_are_outermost_and_policies_innermost() {
        let plan = parse_plan(
            "policy=['none', 'all']\nlang=['en', 'pcm']\nseed=[1, 2]\n'optimizer.lr'=[1e-5, 2e-5]",
        );
        let cells = plan.expand().expect("cells");
        let shown = |s: &Settings| format!("{} {} {:e} {}", s.seed, s.lang, s.optimizer.lr, s.policy);
        let shown: Vec<String> = cells.iter().map(shown).collect();
        assert_eq!(shown.len(), 16);
        assert_eq!(shown[..3], ["1 en 1e-5 none", "1 en 1e-5 all", "1 en 2e-5 none"]);
        assert_eq!(shown[4], "1 pcm 1e-5 none");
        assert_eq!(shown[8], "2 en 1e-5 none");
        let variants: Vec<String> =
            plan.cells().expect("cells").variants().map(|s| format!("{} {}", s.seed, s.lang)).collect();
        assert_eq!(variants, ["1 en"; 4]);
    }

    #[test]
    fn a_grid_has_a_limit_that_is_checked_before_it_is_built() {
        let seeds = |count: usize| format!("seed={:?}", (0..count).collect::<Vec<_>>());
        let lrs: Vec<String> = (1..=1001).map(|n| format!("{n}e-9")).collect();
        let lrs = format!("'optimizer.lr'=[{}]", lrs.join(","));
        assert_eq!(parse_plan(&seeds(MOST_CELLS)).cells().expect("cells").len(), MOST_CELLS);
        let errors = [
            parse_plan(&seeds(MOST_CELLS + 1)).cells(),
            parse_plan(&format!("{}\n{lrs}", seeds(100))).cells(),
            parse_plan(&format!("{}\n{lrs}\n{}", seeds(1000), lrs.replace("lr", "eps"))).cells(),
        ];
        let errors = errors.map(|grid| grid.expect_err("too many").to_string());
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn faults_of_axes_are_named() {
        let errors =
            ["seed=[]", "seed=[1, 2, 1]", "seed=[-1]", "seed=['x']", "lang=['../en']", "lang=['de']"]
                .map(|grid| parse_plan(grid).cells().expect_err(grid).to_string());
        insta::assert_snapshot!(errors.join("\n"));
    }
}
