//! The differences between this sweep and the study that it is compared with: each setting that
//! differs is named, with both values.

use std::collections::BTreeMap;

use frostline_record::{Init, Mixing, Reference, Select, Settings, TaskSettings, Unlisted};
use serde_json::Value;

use crate::number::{count, listed};
use crate::page::Page;
use crate::study::cells::show_value;
use crate::study::{CellView, Study, distinct};

/// What this sweep did otherwise, from the settings of the cells that are compared.
pub(super) fn list_differences(study: &Study, reference: &Reference, langs: &[&str], page: &mut Page) {
    let name = &reference.name;
    let mut found = different_treebanks(study, reference, langs);
    let cells = study.cells.iter().map(|view| &view.cell.settings);
    let cells: Vec<&Settings> = cells.filter(|s| langs.contains(&s.lang.as_str())).collect();
    if reference.unlisted == Unlisted::Defaults {
        let stages = distinct(cells.iter().map(|settings| settings.stages.len().max(1)));
        if stages != [1] {
            let stages: Vec<String> = stages.iter().map(usize::to_string).collect();
            found.push(format!("stages: {name} 1, here {}", stages.join(" or ")));
        }
    }
    found.extend(different_settings(reference, &cells));
    found.extend(different_sizes(study, reference, langs));
    page.section(2, format!("What is different from the {name}"));
    if !found.is_empty() {
        page.paragraph("These are set differently here, so the numbers are not expected to agree:");
        found.into_iter().for_each(|line| page.item(line));
    } else if reference.unlisted == Unlisted::Defaults {
        page.paragraph(format!(
            "No setting differs. What remains: seeds{}, the machine, the libraries, and the order of random draws.",
            beyond_seeds(&reference.seeds)
        ));
    } else {
        page.paragraph(format!("As far as the {name} states its settings, they are the same here."));
    }
    let remarks = reference.remarks.trim();
    if !remarks.is_empty() {
        page.paragraph(remarks);
    }
    if !reference.text_differs.is_empty() {
        page.section(2, format!("Where the {name}'s text and figures differ"));
        page.paragraph("The tables here show its figures.");
        reference.text_differs.iter().for_each(|place| page.item(place.trim()));
    }
}

/// ` beyond 42`; nothing if the reference names no seeds.
fn beyond_seeds(seeds: &[u64]) -> String {
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    if seeds.is_empty() { String::new() } else { format!(" beyond {}", listed(&seeds)) }
}

/// Datasets that lie elsewhere than under the reference's name.
fn different_treebanks(study: &Study, reference: &Reference, langs: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for lang in langs {
        let place = study.sweep.plan.treebanks.get(*lang).map_or("", String::as_str);
        let Some(treebank) = &reference.lang[*lang].treebank else { continue };
        if !place.contains(treebank.as_str()) {
            found.push(format!("treebank of {lang}: {} {treebank}, here {place}", reference.name));
        }
    }
    found
}

/// Settings, each stage's as it is used.
fn different_settings(reference: &Reference, cells: &[&Settings]) -> Vec<String> {
    let in_stages = |settings: &&Settings| settings.in_stages().unwrap_or_default();
    let cells: Vec<Settings> = cells.iter().flat_map(in_stages).map(|(_, settings)| settings).collect();
    let theirs = reference.as_settings().unwrap_or_default();
    let listed = reference.listed();
    let is_said = |path: &str| {
        reference.unlisted == Unlisted::Defaults || listed.iter().any(|other| is_within(other, path))
    };
    let mut known: Vec<&str> = APART.to_vec();
    let mut found = Vec::new();
    let mut compare = |name: String, ours: Vec<String>, theirs: String| {
        if !ours.is_empty() && ours != [theirs.clone()] {
            found.push(format!("{name}: {} {theirs}, here {}", reference.name, ours.join(" or ")));
        }
    };
    for (path, name, get) in FACTS {
        known.push(path);
        if is_said(path) {
            compare((*name).into(), distinct(cells.iter().map(get)), get(&theirs));
        }
    }
    let all: Vec<BTreeMap<String, String>> = cells.iter().map(settings_by_path).collect();
    for (path, theirs) in settings_by_path(&theirs) {
        if is_said(&path) && !known.iter().any(|known| is_within(&path, known)) {
            compare(format!("`{path}`"), distinct(all.iter().map(|paths| paths[&path].clone())), theirs);
        }
    }
    found
}

/// How many sentences were learned from and scored on test, if the reference has these numbers.
fn different_sizes(study: &Study, reference: &Reference, langs: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for lang in langs {
        let data = &reference.lang[*lang];
        let done = || {
            let of_lang = study.cells.iter().filter(|view| view.cell.settings.lang == *lang);
            of_lang.filter_map(CellView::done)
        };
        let train = distinct(done().map(|done| done.result.facts().train.sentences));
        let test = distinct(done().filter_map(|done| Some(done.score("test")?.sentences)));
        for (split, theirs, ours) in
            [("train", data.train_sentences, train), ("test", data.test_sentences, test)]
        {
            let Some(theirs) = theirs.filter(|theirs| !ours.is_empty() && ours != [*theirs]) else {
                continue;
            };
            let ours: Vec<String> = ours.into_iter().map(count).collect();
            let (name, theirs) = (&reference.name, count(theirs));
            found.push(format!("{split} sentences: {name} {theirs}, here {}", ours.join(" or ")));
        }
    }
    found
}

/// A setting or a table of settings, its name in words, and how its value reads.
type NamedSetting = (&'static str, &'static str, fn(&Settings) -> String);

/// The settings that people know by name; [`settings`] compares the others too.
const FACTS: &[NamedSetting] = &[
    ("encoder.name", "encoder", |s| s.encoder.name.clone()),
    ("encoder.init", "encoder's start", |s| match s.encoder.init {
        Init::Pretrained => "pretrained".into(),
        Init::Random => "random".into(),
    }),
    ("data.lowercase", "forms lowercased", |s| s.data.lowercase.to_string()),
    ("data.max_length", "longest sentence in subwords", |s| s.data.max_length.to_string()),
    ("data.first", "train sentences", |s| match s.data.first {
        0 => "all".into(),
        first => format!("the first {first}"),
    }),
    ("data.fraction", "share of train", |s| s.data.fraction.to_string()),
    ("data.dev_fraction", "share of dev", |s| s.data.dev_fraction.to_string()),
    ("data.test_fraction", "share of test", |s| s.data.test_fraction.to_string()),
    ("data.label_all_tokens", "labelled subwords", |s| {
        if s.data.label_all_tokens { "all" } else { "first of each word" }.into()
    }),
    ("data.leave_out", "genre left out of train", |s| or_none(&s.data.leave_out)),
    ("data.scored_genre", "genre that is scored", |s| or_none(&s.data.scored_genre)),
    ("data.cut_test", "share of train cut off as test", |s| s.data.cut_test.to_string()),
    ("data.cut_dev", "share of train cut off as dev", |s| s.data.cut_dev.to_string()),
    ("data.padding_tag", "tag that no word has", |s| if s.data.padding_tag { "yes" } else { "no" }.into()),
    ("train.epochs", "epochs", |s| s.train.epochs.to_string()),
    ("train.batch", "sentences per step", |s| s.train.batch.to_string()),
    ("train.precision", "precision of linear layers", |s| s.train.precision.name().into()),
    ("train.select", "selected epoch", |s| match s.train.select {
        Select::Last => "last".into(),
        Select::Best => format!("best by {:?}", s.train.select_by).to_lowercase(),
    }),
    ("optimizer.kind", "optimizer", |s| format!("{:?}", s.optimizer.kind).to_lowercase()),
    ("optimizer.lr", "learning rate", |s| format!("{:e}", s.optimizer.lr)),
    ("optimizer.layer_decay", "learning rate per block", |s| s.optimizer.layer_decay.to_string()),
    ("optimizer.head_factor", "head's learning rate, relative", |s| s.optimizer.head_factor.to_string()),
    ("optimizer.weight_decay", "weight decay", |s| s.optimizer.weight_decay.to_string()),
    ("optimizer.clip_norm", "gradient clipping", |s| s.optimizer.clip_norm.to_string()),
    ("schedule.kind", "schedule", |s| format!("{:?}", s.schedule.kind).to_lowercase()),
    ("schedule.warmup", "warm-up", |s| s.schedule.warmup.to_string()),
    ("tasks", "tasks", |s| {
        s.tasks.iter().map(|(name, of)| describe_task(s, name, of)).collect::<Vec<_>>().join(", ")
    }),
    ("train.mixing", "mixing of tasks", |s| match (s.tasks.len(), s.train.mixing) {
        (1, _) => "none".into(),
        (_, Mixing::Temperature) => format!("temperature {}", s.train.temperature),
        (_, mixing) => format!("{mixing:?}").to_lowercase(),
    }),
    ("unfreeze", "gradual unfreezing", |s| match s.unfreeze.every {
        0 => "none".into(),
        every => format!("every {every} {:?}", s.unfreeze.unit).to_lowercase(),
    }),
    ("dropout", "dropout", |s| {
        let d = &s.dropout;
        format!("head {}, encoder {:?}, frozen {:?}", d.head, d.encoder, d.frozen)
    }),
];

/// Settings that are irrelevant to how a published cell was trained: settings that distinguish the page's rows, settings of
/// what is evaluated, refused and saved, settings that only some policies read, and settings listed in a line above
/// with another.
const APART: &[&str] = &[
    "lang",
    "policy",
    "seed",
    "eval",
    "save",
    "data.strict_tags",
    "train.log_every",
    "train.accumulate",
    "lora",
    "adapters",
    "adaptive",
    "stages",
    "train.select_by",
    "train.temperature",
];

/// Whether a setting is this one, or one of this table.
fn is_within(path: &str, known: &str) -> bool {
    path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Each setting by its dotted path.
fn settings_by_path(settings: &Settings) -> BTreeMap<String, String> {
    fn add(path: &str, value: &Value, all: &mut BTreeMap<String, String>) {
        match value {
            Value::Object(table) => {
                for (key, value) in table {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    add(&path, value, all);
                }
            }
            value => {
                all.insert(path.into(), value.to_string());
            }
        }
    }
    let mut all = BTreeMap::new();
    add("", &serde_json::to_value(settings).expect("plain data always serialises"), &mut all);
    all
}

/// A task's name, with what makes it another than the study's.
fn describe_task(settings: &Settings, name: &str, task: &TaskSettings) -> String {
    let own = settings.lang == settings.dataset_of(task);
    let task = if own { TaskSettings { data: String::new(), ..task.clone() } } else { task.clone() };
    let [ours, studys] = [task, TaskSettings::default()].map(|task| {
        let Ok(Value::Object(table)) = serde_json::to_value(task) else { return BTreeMap::new() };
        table.into_iter().map(|(key, value)| (key, show_value(&value))).collect::<BTreeMap<_, _>>()
    });
    let other = ours.iter().filter(|(key, value)| studys.get(*key) != Some(value));
    let other: Vec<String> = other.map(|(key, value)| format!("{key} {value}")).collect();
    if other.is_empty() { name.into() } else { format!("{name} ({})", other.join(", ")) }
}

fn or_none(genre: &str) -> String {
    if genre.is_empty() { "none".into() } else { genre.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_path() {
        let all = settings_by_path(&Settings::default());
        assert_eq!(all["optimizer.beta2"], "0.999");
        assert_eq!(all["data.sample"], "0");
        assert!(is_within("optimizer.beta2", "optimizer") && !is_within("evaluation", "eval"));
    }

    #[test]
    fn a_task_is_named_with_what_is_not_the_studys() {
        let mut settings = Settings { lang: "pcm".parse().expect("a name"), ..Settings::default() };
        let told = |settings: &Settings, of: TaskSettings| describe_task(settings, "x", &of);
        let of = |data: &str, shares: &str| TaskSettings {
            data: data.into(),
            shares: shares.into(),
            ..TaskSettings::default()
        };
        assert_eq!(told(&settings, of("pcm", "")), "x");
        assert_eq!(told(&settings, of("en", "y")), "x (data en, shares y)");
        settings.lang = "en".parse().expect("a name");
        let half = TaskSettings { weight: 0.5, head: frostline_record::HeadKind::Pooler, ..of("en", "") };
        assert_eq!(told(&settings, half), "x (head pooler, weight 0.5)");
    }
}
