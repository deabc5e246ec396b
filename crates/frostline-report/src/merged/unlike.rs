//! How a sweep differs from another one, and what may therefore not be compared.

use std::collections::{BTreeMap, BTreeSet};

use super::NamedSweep;
use crate::number::listed;
use crate::page::code;
use crate::study::cells::{CellView, show_value};

/// How a sweep differs from the first one.
pub(super) struct Unlike {
    /// The names of both.
    pair: String,
    /// Languages whose accuracies may not be compared, each with the reason.
    langs: BTreeMap<String, String>,
    /// What may lead to other accuracies: one such thing is what is compared.
    causes: Vec<String>,
    /// Why times may not be compared.
    machines: Option<String>,
    /// Further remarks.
    remarks: Vec<String>,
}

/// Inputs of the encoder; all others are data.
fn is_of_encoder(role: &str) -> bool {
    ["config", "tokenizer", "tokenizer-config", "vocabulary"].contains(&role) || role.starts_with("weights")
}

/// Inputs whose sentences are scored.
fn is_scored(role: &str) -> bool {
    ["dev", "test"].into_iter().any(|split| role == split || role.ends_with(&format!("/{split}")))
}

impl Unlike {
    pub fn of(first: &NamedSweep, other: &NamedSweep) -> Self {
        let mut found = Self {
            pair: format!("**{}** and **{}**", first.name, other.name),
            langs: scored_data(first, other),
            causes: Vec::new(),
            machines: None,
            remarks: Vec::new(),
        };
        if differs_anywhere(first, other, |view| input_hashes(view, is_of_encoder)) {
            let [ours, theirs] = compare_encoders(first, other);
            found.causes.push(format!("the encoder ({ours} and {theirs})"));
        }
        if differs_anywhere(first, other, |view| {
            input_hashes(view, |role| !is_of_encoder(role) && !is_scored(role))
        }) {
            found.causes.push("the training data".into());
        }
        found.causes.extend(compare_settings(first, other));
        let codes =
            [&first, &other].map(|one| made_by(one, |view| view.cell.code.chars().take(12).collect()));
        if codes[0] != codes[1] {
            found.causes.push(format!(
                "the code (`{}` and `{}`)",
                join_values(&codes[0]),
                join_values(&codes[1])
            ));
        }
        let ran =
            [first, other].iter().all(|one| one.study.cells.iter().any(|view| view.made_by().is_some()));
        let computed = |view: &CellView| match view.computed_in().filter(|_| ran) {
            Some(precision) => format!("{} in {}", view.cell.backend, precision.name()),
            None => view.cell.backend.clone(),
        };
        let backends = [&first, &other].map(|one| made_by(one, computed));
        if backends[0] != backends[1] {
            found.causes.push(format!(
                "the backend ({} and {})",
                join_values(&backends[0]),
                join_values(&backends[1])
            ));
        }
        found.machines = compare_machines(first, other);
        found.remarks.extend(compare_seeds(first, other));
        found
    }

    /// Whether accuracies of a language may be compared.
    pub fn allows(&self, lang: &str) -> bool {
        !self.langs.contains_key(lang)
    }

    /// Items of a list.
    pub fn lines(&self) -> Vec<String> {
        let pair = &self.pair;
        let mut lines: Vec<String> = self
            .langs
            .iter()
            .map(|(lang, why)| format!("{pair}: accuracies of {lang} may not be compared, since {why}."))
            .collect();
        // What is scored differs already if accuracies may not be compared.
        let besides = if self.langs.is_empty() { "" } else { "else " };
        lines.push(match self.causes.as_slice() {
            [] => format!("{pair} differ in nothing {besides}that accuracies depend on."),
            [one] if self.langs.is_empty() => {
                format!("{pair} differ in one thing that accuracies depend on, which is what is compared: {one}.")
            }
            [one] => format!("{pair} differ in one thing else that accuracies depend on: {one}."),
            several => format!(
                "{pair} differ in {} things {besides}that accuracies depend on: {}. No difference can be put down to one of them.",
                several.len(),
                listed(several)
            ),
        });
        if let Some(why) = &self.machines {
            lines.push(format!("{pair}: times may not be compared, since {why}."));
        }
        lines.extend(self.remarks.iter().map(|remark| format!("{pair}: {remark}.")));
        lines
    }
}

/// The SHA-256 of a cell's inputs of some roles.
fn input_hashes(view: &CellView, is: impl Fn(&str) -> bool) -> BTreeMap<&str, &str> {
    let inputs = view.cell.inputs.iter().filter(|(role, _)| is(role));
    inputs.map(|(role, input)| (role.as_str(), input.sha256.as_str())).collect()
}

/// Whether something is not the same in the cells of any language that both have.
fn differs_anywhere<'a, T: Ord>(
    first: &'a NamedSweep,
    other: &'a NamedSweep,
    get: impl Fn(&'a CellView) -> T,
) -> bool {
    let by_lang = |one: &'a NamedSweep| {
        let mut found: BTreeMap<&str, BTreeSet<T>> = BTreeMap::new();
        for view in &one.study.cells {
            found.entry(view.cell.settings.lang.as_str()).or_default().insert(get(view));
        }
        found
    };
    let (ours, theirs) = (by_lang(first), by_lang(other));
    ours.iter().any(|(lang, found)| theirs.get(lang).is_some_and(|other| other != found))
}

/// Languages of which not the same is scored, each with the reason.
fn scored_data(first: &NamedSweep, other: &NamedSweep) -> BTreeMap<String, String> {
    let scored = |one: &NamedSweep, lang: &str| {
        let cells = one.study.cells.iter().filter(|view| *view.cell.settings.lang == *lang);
        let files: BTreeSet<(String, String)> = cells
            .clone()
            .flat_map(|view| input_hashes(view, is_scored))
            .map(|(role, sha256)| (role.to_string(), sha256.to_string()))
            .collect();
        let mut words: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for view in cells.clone() {
            let scored = view.done().and_then(|done| done.score("dev"));
            words.entry(view.cell.settings.seed).or_default().extend(scored.map(|score| score.words));
        }
        // A seed without results is ignored.
        words.retain(|_, found| !found.is_empty());
        let done: Vec<_> = cells.filter_map(|view| view.done()).collect();
        let tasks: BTreeSet<(String, Vec<String>)> = done
            .iter()
            .map(|done| (done.result.headline.clone(), done.result.facts().tags.clone()))
            .collect();
        (files, words, tasks)
    };
    let mut found = BTreeMap::new();
    for lang in first.study.langs().into_iter().filter(|lang| other.study.langs().contains(lang)) {
        let ((files, words, tasks), theirs) = (scored(first, lang), scored(other, lang));
        let both = |ours: usize, theirs: usize| ours > 0 && theirs > 0;
        let reason = if files != theirs.0 {
            let roles: BTreeSet<&str> =
                files.symmetric_difference(&theirs.0).map(|(role, _)| role.as_str()).collect();
            format!(
                "their files of {} are not the same",
                listed(&roles.into_iter().map(String::from).collect::<Vec<_>>())
            )
        } else if both(tasks.len(), theirs.2.len()) && tasks != theirs.2 {
            "their tasks or labels are not the same".into()
        } else if words.iter().any(|(seed, own)| theirs.1.get(seed).is_some_and(|other| other != own)) {
            "not the same words of dev are scored".into()
        } else {
            continue;
        };
        found.insert(lang.to_string(), reason);
    }
    found
}

/// Settings that differ, without the encoder's and those that distinguish rows or seeds.
fn compare_settings(first: &NamedSweep, other: &NamedSweep) -> Vec<String> {
    let axes: Vec<&str> = [first, other].into_iter().flat_map(|one| one.study.axes()).collect();
    let of_rows = |path: &str| {
        ["lang", "policy", "seed"].contains(&path) || path.starts_with("encoder.") || axes.contains(&path)
    };
    let values = |one: &NamedSweep| {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (path, value) in one.study.cells.iter().flat_map(|view| view.cell.settings.by_path()) {
            if !of_rows(&path) {
                let value =
                    serde_json::to_value(value).map_or_else(|_| "?".into(), |value| show_value(&value));
                found.entry(path).or_default().insert(value);
            }
        }
        found
    };
    let (ours, theirs) = (values(first), values(other));
    let paths: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let different = paths.into_iter().filter(|path| ours.get(*path) != theirs.get(*path));
    let side = |values: Option<&BTreeSet<String>>| values.map_or_else(|| "not set".into(), join_values);
    different
        .map(|path| format!("{} ({} and {})", code(path), side(ours.get(path)), side(theirs.get(path))))
        .collect()
}

/// Why times may not be compared.
fn compare_machines(first: &NamedSweep, other: &NamedSweep) -> Option<String> {
    let machine = |view: &CellView| {
        let maker = view.made_by();
        maker.map_or_else(String::new, |by| {
            let at = if by.node.is_empty() { String::new() } else { format!(" of {}", by.node) };
            format!("{}{at} with {} threads ({})", by.device, by.threads, by.isa)
        })
    };
    let all = [&first, &other].map(|one| made_by(one, machine));
    if all.iter().any(BTreeSet::is_empty) {
        return None;
    }
    if all[0] != all[1] || all[0].len() > 1 {
        return Some(format!("they ran on {} and on {}", join_values(&all[0]), join_values(&all[1])));
    }
    let jobs = [&first, &other].map(|one| one.study.sweep.plan.jobs);
    match jobs {
        [one, other] if one != other => Some(format!("{one} and {other} cells ran at once")),
        [one, _] if one > 1 => Some(format!("{one} cells ran at once in both")),
        _ => None,
    }
}

/// What the seeds of only one of them mean.
fn compare_seeds(first: &NamedSweep, other: &NamedSweep) -> Option<String> {
    let of = |one: &NamedSweep| made_by(one, |view| view.cell.settings.seed.to_string());
    let (ours, theirs) = (of(first), of(other));
    (ours != theirs).then(|| {
        format!(
            "means are over other seeds ({} and {}); differences are over the seeds of both",
            join_values(&ours),
            join_values(&theirs)
        )
    })
}

/// The names of both sweeps' encoders. If these are the same, the first digits of the hash of the file that differs tell them
/// apart.
fn compare_encoders(first: &NamedSweep, other: &NamedSweep) -> [String; 2] {
    let names = [first, other]
        .map(|one| join_values(&made_by(one, |view| view.cell.settings.encoder.name.to_string())));
    if names[0] != names[1] {
        return names;
    }
    // In the order of the roles' names, the weights come last, and first here.
    let cells = first.study.cells.iter().chain(&other.study.cells);
    let roles: BTreeSet<&str> =
        cells.flat_map(|view| input_hashes(view, is_of_encoder).into_keys()).collect();
    let digits = |one: &NamedSweep, role: &str| {
        let hash =
            |view: &CellView| view.cell.inputs.get(role).map_or_else(String::new, |file| file.sha256.clone());
        let found = made_by(one, hash).into_iter();
        join_values(&found.map(|sha256| format!("`{}`", sha256.get(..8).unwrap_or(&sha256))).collect())
    };
    let differing = roles.iter().rev().find(|role| digits(first, role) != digits(other, role));
    match differing {
        None => names,
        Some(role) => [(first, &names[0]), (other, &names[1])].map(|(one, name)| match digits(one, role) {
            none if none.is_empty() => format!("{name} without a file for {role}"),
            digits => format!("{name} with the {role} {digits}"),
        }),
    }
}

/// The values of all cells with a record, or of all planned ones if there is none.
fn made_by(one: &NamedSweep, get: impl Fn(&CellView) -> String) -> BTreeSet<String> {
    let cells = &one.study.cells;
    let none_is_done = cells.iter().all(|view| view.made_by().is_none());
    let told = cells.iter().filter(|view| none_is_done || view.made_by().is_some());
    told.map(get).filter(|value| !value.is_empty()).collect()
}

fn join_values(values: &BTreeSet<String>) -> String {
    listed(&values.iter().cloned().collect::<Vec<_>>())
}
