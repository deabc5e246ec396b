//! Plans by name: those of `configs/`, carried inside the program.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use frostline_record::{Plan, Reference};

use crate::fault::{Blame as _, Result};
use crate::place::{Place, shown};

/// A plan that the program carries.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// The name by which `--plan` finds it.
    pub name: &'static str,
    /// Its TOML text.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(BuiltIn { name: $name, text: include_str!(concat!("../../../configs/", $name, ".toml")) }),*]
    };
}

/// All plans of `configs/`, by name. A test compares the list with the folder.
pub const BUILT_IN: &[BuiltIn] = built_in![
    "adaptive",
    "claims",
    "claims-forgetting",
    "claims-genres",
    "claims-training",
    "curve",
    "demo",
    "demo-curve",
    "demo-multitask",
    "demo-sst2",
    "demo-subsets",
    "demo-transfer",
    "first-3",
    "light",
    "multitask",
    "paper",
    "reference",
    "sst2",
    "subsets",
    "transfer",
];

macro_rules! references {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../configs/", $name)))),*]
    };
}

/// The references of `configs/`, by the path with which its plans name them. A test compares the list with the folder.
const REFERENCES: &[(&str, &str)] =
    references!["references/partial-freezing.toml", "references/sst2-sentiment.toml"];

impl BuiltIn {
    /// The plan of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        BUILT_IN.iter().find(|plan| plan.name == name)
    }

    /// What the plan says that it is about; empty where it does not.
    #[must_use]
    pub fn about(&self) -> &'static str {
        let value = self.text.lines().find_map(|line| line.strip_prefix("about = \""));
        value.and_then(|value| value.strip_suffix('"')).unwrap_or_default()
    }
}

/// The text of a plan and where it was read.
#[derive(Clone, Debug)]
pub(crate) struct PlanText {
    /// What messages call it.
    pub shown: String,
    /// The TOML.
    pub text: String,
    /// Its file; none where it is built in.
    pub path: Option<PathBuf>,
}

/// Reads the plan that `--plan` asks for: a built-in name, or a path.
///
/// # Errors
/// Where it is neither a built-in name nor a file that can be read.
pub(crate) fn read(wanted: &Path, place: &Place) -> Result<PlanText> {
    let built_in = wanted.to_str().and_then(BuiltIn::find).filter(|_| !wanted.is_file());
    let path = match (built_in, &place.plans) {
        (Some(plan), None) => {
            let shown = format!("built-in plan `{}`", plan.name);
            return Ok(PlanText { shown, text: plan.text.into(), path: None });
        }
        (Some(plan), Some(folder)) => folder.join(plan.name).with_extension("toml"),
        (None, _) => wanted.to_path_buf(),
    };
    let shown = shown(&path);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(PlanText { shown, text, path: Some(path) }),
        Err(error) => Err(unreadable(wanted, &shown, &error)).plan(),
    }
}

/// The published figures that a plan names: a file beside the plan's own, or where there is none a built-in one.
///
/// # Errors
/// Where the plan names a reference that is not there or cannot be read.
pub(crate) fn reference(plan: &Plan, path: Option<&Path>) -> Result<Option<Reference>> {
    let is_beside = |path: &Path| path.parent().is_some_and(|folder| folder.join(&plan.reference).is_file());
    let built_in = REFERENCES.iter().find(|(name, _)| *name == plan.reference);
    match (built_in, path) {
        (Some((name, text)), path) if !path.is_some_and(is_beside) => {
            Reference::parse(text, &format!("built-in {name}")).map(Some).plan()
        }
        (_, Some(path)) => Reference::of_plan(plan, path).plan(),
        (_, None) => Ok(None),
    }
}

fn unreadable(wanted: &Path, shown: &str, error: &std::io::Error) -> anyhow::Error {
    let bare = wanted.extension().is_none() && wanted.components().count() == 1;
    if bare && !wanted.exists() {
        let names: Vec<&str> = BUILT_IN.iter().map(|plan| plan.name).collect();
        return anyhow!(
            "{shown}: there is no built-in plan and no file of this name; built in are {}; a file is named with its \
             extension",
            names.join(", ")
        );
    }
    anyhow!("{shown}: the plan cannot be read ({error}); `frostline plans` lists those that are built in")
}

/// The default plan of a sweep.
pub(crate) fn demo() -> PathBuf {
    "demo".into()
}

/// The default plan of `fetch`: the study on real treebanks.
pub(crate) fn paper() -> PathBuf {
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
    fn every_plan_finds_its_reference_built_in_and_beside_it() {
        let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let held = std::fs::read_dir(configs.join("references")).unwrap().count();
        assert_eq!(held, REFERENCES.len());
        for built_in in BUILT_IN {
            let plan = Plan::parse(built_in.text, built_in.name).unwrap();
            let path = configs.join(built_in.name).with_extension("toml");
            let found = reference(&plan, None).unwrap();
            assert_eq!(found, reference(&plan, Some(&path)).unwrap(), "{}", built_in.name);
            assert_eq!(found, reference(&plan, Some(Path::new("elsewhere/mine.toml"))).unwrap());
            assert_eq!(found.is_some(), !plan.reference.is_empty());
        }
        let missing = Plan { reference: "none.toml".into(), ..Plan::parse(BUILT_IN[0].text, "").unwrap() };
        let error = reference(&missing, Some(Path::new("mine.toml"))).unwrap_err().error.to_string();
        assert!(error.contains("none.toml") && error.contains("relative to the plan's file"), "{error}");
    }

    #[test]
    fn a_plan_is_found_by_name_and_by_path() {
        let here = Place::here();
        assert_eq!(read(Path::new("demo"), &here).unwrap().shown, "built-in plan `demo`");
        let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let there = Place { plans: Some(configs.clone()), ..Place::here() };
        let by_name = read(Path::new("demo"), &there).unwrap();
        let by_path = read(&configs.join("demo.toml"), &here).unwrap();
        assert_eq!((by_name.text, by_name.shown), (by_path.text, by_path.shown));
    }

    #[test]
    fn an_unknown_name_lists_the_plans() {
        let error = read(Path::new("papper"), &Place::here()).unwrap_err().error.to_string();
        assert!(error.contains("paper") && error.contains("papper"), "{error}");
    }
}
