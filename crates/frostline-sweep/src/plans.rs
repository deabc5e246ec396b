//! Built-in plans: the plans in `configs/`, compiled into the program and found by name.
//!
//! # To add a built-in plan
//!
//! A file in `configs/` and its name in `crates/frostline-sweep/src/plans.rs`; a test compares the two.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use frostline_record::{Plan, PlanError, Reference, ReferenceError};

use crate::fault::{Blame as _, CommandResult};
use crate::place::{Place, shown_path};
use crate::request::{InputFolders, SweepRequest};

/// A plan that is compiled into the program.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// The name for `--plan`.
    pub name: &'static str,
    /// Its TOML text.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn { name: $name, text: include_str!(concat!(env!("FROSTLINE_CONFIGS"), "/", $name, ".toml")) }),*]
    };
}

/// All plans of `configs/`, by name. A test compares the list with the folder.
pub const BUILT_IN: &[BuiltIn] = built_in![
    "adaptive",
    "atlas",
    "blocks",
    "claims",
    "claims-forgetting",
    "claims-genres",
    "claims-training",
    "curve",
    "decay",
    "demo",
    "demo-curve",
    "demo-multitask",
    "demo-sst2",
    "demo-subsets",
    "demo-transfer",
    "distil",
    "first-3",
    "gradual",
    "light",
    "multitask",
    "paper",
    "reference",
    "sentiment-entities",
    "sst2",
    "subsets",
    "table-all",
    "table-e5",
    "table-minilm",
    "transfer",
];

/// The reference files that built-in plans name, by the path they give.
const REFERENCES: &[(&str, &str)] = &[
    (
        "references/partial-freezing.toml",
        include_str!(concat!(env!("FROSTLINE_CONFIGS"), "/references/partial-freezing.toml")),
    ),
    (
        "references/sst2-sentiment.toml",
        include_str!(concat!(env!("FROSTLINE_CONFIGS"), "/references/sst2-sentiment.toml")),
    ),
];

impl BuiltIn {
    /// The plan with this name, if there is one.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        BUILT_IN.iter().find(|plan| plan.name == name)
    }

    /// Returns the plan's `about` line; if it is empty, the first sentence of the file's first comment.
    #[must_use]
    pub fn about(&self) -> &'static str {
        let value = self.text.lines().find_map(|line| line.strip_prefix("about = \"")?.strip_suffix('"'));
        value.filter(|about| !about.is_empty()).unwrap_or_else(|| self.first_sentence())
    }

    fn first_sentence(&self) -> &'static str {
        let line = self.text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
        line.find(". ").map_or(line, |end| &line[..=end])
    }
}

/// The largest plan that is read.
///
/// # Units
/// Bytes.
const MOST_PLAN: u64 = 16 << 20;

/// The text of a plan and the place from which it was read.
#[derive(Clone, Debug)]
pub(crate) struct PlanText {
    /// The plan's name in messages.
    pub shown: String,
    /// Its TOML text.
    pub text: String,
    /// The plan's file; `None` for a built-in plan.
    path: Option<PathBuf>,
}

impl PlanText {
    /// The published figures that the plan names, if it names any.
    ///
    /// # Errors
    /// If the reference cannot be read or is invalid.
    pub(crate) fn read_reference(
        &self,
        plan: &Plan,
    ) -> std::result::Result<Option<Reference>, ReferenceError> {
        let built_in = REFERENCES.iter().find(|(path, _)| *path == plan.reference);
        let folder = |path: &PathBuf| path.parent().map(|folder| folder.join(&plan.reference));
        let is_beside = self.path.as_ref().and_then(folder).is_some_and(|path| path.is_file());
        match built_in {
            // A built-in plan that was printed into a file has no reference next to it.
            Some((path, text)) if !is_beside => Reference::parse(text, path).map(Some),
            _ => Reference::of_plan(plan, self.path.as_deref().unwrap_or(Path::new(""))),
        }
    }

    /// An error in the settings, with the plan's name before it if they are so in the plan. What a command has changed is not.
    pub(crate) fn plan_error(&self, error: PlanError) -> anyhow::Error {
        let written = Plan::parse(&self.text, &self.shown);
        let own = written.and_then(|plan| plan.check_effect(plan.grid.keys().map(String::as_str)));
        if own.is_err_and(|own| own.to_string() == error.to_string()) {
            return anyhow!("{}: {error}", self.shown);
        }
        error.into()
    }
}

/// Reads the plan that `--plan` names: the name of a built-in plan, or a path.
///
/// # Errors
/// If it is neither the name of a built-in plan nor a readable file.
pub(crate) fn read_plan(wanted: &Path, place: &Place) -> CommandResult<PlanText> {
    let built_in = wanted.to_str().and_then(BuiltIn::find).filter(|_| !wanted.is_file());
    let path = match (built_in, &place.plans) {
        (Some(plan), None) => {
            let shown = format!("built-in plan `{}`", plan.name);
            return Ok(PlanText { shown, text: plan.text.into(), path: None });
        }
        (Some(plan), Some(folder)) => folder.join(plan.name).with_extension("toml"),
        (None, _) => wanted.to_path_buf(),
    };
    let shown = shown_path(&path);
    match frostline_files::read_text(&path, MOST_PLAN) {
        Ok(text) => Ok(PlanText { shown, text, path: Some(path) }),
        Err(error) => Err(unreadable_plan(wanted, &shown, &error.reason)).blame_plan(),
    }
}

fn unreadable_plan(wanted: &Path, shown: &str, error: &std::io::Error) -> anyhow::Error {
    let bare = wanted.extension().is_none() && wanted.components().count() == 1;
    if bare && !wanted.exists() {
        let names: Vec<&str> = BUILT_IN.iter().map(|plan| plan.name).collect();
        return anyhow!(
            "{shown}: there is no built-in plan and no file of this name; built in are {}; write a file's name with its \
             extension",
            names.join(", ")
        );
    }
    anyhow!("{shown}: the plan cannot be read ({error}); `frostline plans` lists the built-in plans")
}

/// The plan of a sweep, and the option that chose it if `--plan` does not: the study where data, models or an
/// encoder of one's own are named, since the demo reads only what is embedded; else the demo.
pub(crate) fn of_sweep(request: &SweepRequest) -> (PathBuf, Option<&'static str>) {
    let own_encoder = request
        .changes
        .encoder
        .as_ref()
        .is_some_and(|name| !name.starts_with(frostline_assets::embedded::PREFIX));
    let InputFolders { data, models } = &request.inputs;
    let own = [("--data", data.is_some()), ("--models", models.is_some()), ("--encoder", own_encoder)];
    match (&request.plan, own.into_iter().find(|(_, given)| *given)) {
        (Some(plan), _) => (plan.clone(), None),
        (None, Some((option, _))) => (default_study(), Some(option)),
        (None, None) => ("demo".into(), None),
    }
}

/// The default plan of `fetch`, and of a sweep on data of one's own: the study on real treebanks.
pub(crate) fn default_study() -> PathBuf {
    "paper".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_of_the_folder_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
        let mut names: Vec<String> =
            files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
        names.sort();
        let mut built_in: Vec<&str> = BUILT_IN.iter().map(|plan| plan.name).collect();
        built_in.sort_unstable();
        assert_eq!(names, built_in);
    }

    #[test]
    fn every_built_in_plan_says_what_it_is_about() {
        assert!(BUILT_IN.iter().all(|plan| plan.about().ends_with('.')), "{BUILT_IN:?}");
        assert_eq!(BuiltIn::find("reference").unwrap().about(), "Every setting with its default.");
    }

    #[test]
    fn every_built_in_plan_has_its_reference() {
        for built_in in BUILT_IN {
            let source = read_plan(Path::new(built_in.name), &Place::current_folder()).unwrap();
            let plan = Plan::parse(&source.text, &source.shown).unwrap();
            let found = source.read_reference(&plan).unwrap();
            assert_eq!(found.is_some(), !plan.reference.is_empty());
            let copy = PlanText { path: Some("elsewhere/mine.toml".into()), ..source };
            assert_eq!(copy.read_reference(&plan).unwrap(), found);
        }
    }

    #[test]
    fn a_plan_is_found_by_name_and_by_path() {
        let here = Place::current_folder();
        assert_eq!(read_plan(Path::new("demo"), &here).unwrap().shown, "built-in plan `demo`");
        let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let there = Place { plans: Some(configs.clone()), ..Place::current_folder() };
        let by_name = read_plan(Path::new("demo"), &there).unwrap();
        let by_path = read_plan(&configs.join("demo.toml"), &here).unwrap();
        assert_eq!((by_name.text, by_name.shown), (by_path.text, by_path.shown));
    }

    #[test]
    fn an_unknown_name_lists_the_plans() {
        let error = read_plan(Path::new("papper"), &Place::current_folder()).unwrap_err().error.to_string();
        assert!(error.contains("paper") && error.contains("papper"), "{error}");
    }

    #[test]
    fn a_sweep_on_data_of_ones_own_is_never_the_demo() {
        let request = |words: &str| {
            let mut request = SweepRequest::default();
            let mut words = words.split_whitespace();
            while let (Some(option), Some(value)) = (words.next(), words.next()) {
                match option {
                    "--plan" => request.plan = Some(value.into()),
                    "--data" => request.inputs.data = Some(value.into()),
                    "--models" => request.inputs.models = Some(value.into()),
                    "--encoder" => request.changes.encoder = Some(value.into()),
                    _ => request.changes.langs = vec![value.into()],
                }
            }
            request
        };
        let chosen = |words: &str| {
            let (plan, option) = of_sweep(&request(words));
            (plan.display().to_string(), option)
        };
        for (words, plan, option) in [
            ("", "demo", None),
            ("--lang en", "demo", None),
            ("--encoder embedded:demo-distilbert", "demo", None),
            ("--data D", "paper", Some("--data")),
            ("--models M --lang en", "paper", Some("--models")),
            ("--encoder all-MiniLM-L6-v2", "paper", Some("--encoder")),
            ("--encoder embedded:demo-distilbert --data D", "paper", Some("--data")),
            ("--plan demo --encoder mine --models M", "demo", None),
        ] {
            assert_eq!(chosen(words), (plan.into(), option), "{words}");
        }
    }
}
