//! Owns the list of what this sweep did otherwise than the study.
//!
//! Refuses silence about a setting: each that differs is named, with both values.

use frostline_record::{Init, Select, Settings};

use crate::Report;
use crate::published::Study;
use crate::summary::distinct;

/// What this sweep did otherwise than the study, from the settings of its cells.
pub(super) fn list(report: &Report, study: &Study, langs: &[&str], text: &mut String) {
    let mut found = Vec::new();
    for lang in langs {
        let place = report.sweep.plan.treebanks.get(*lang);
        let place = place.map_or("", String::as_str);
        let treebank = &study.lang[*lang].treebank;
        if !place.contains(treebank.as_str()) {
            found.push(format!("treebank of {lang}: study {treebank}, here {place}"));
        }
    }
    let cells = report.cells.iter().map(|view| &view.cell.settings);
    let cells: Vec<&Settings> = cells.filter(|s| langs.contains(&s.lang.as_str())).collect();
    let studys = Settings::default();
    type Fact = (&'static str, fn(&Settings) -> String);
    let facts: [Fact; 25] = [
        ("encoder", |s| s.encoder.name.clone()),
        ("encoder's start", |s| match s.encoder.init {
            Init::Pretrained => "pretrained".into(),
            Init::Random => "random".into(),
        }),
        ("forms lowercased", |s| s.data.lowercase.to_string()),
        ("longest sentence in subwords", |s| s.data.max_length.to_string()),
        ("train sentences", |s| match s.data.first {
            0 => "all".into(),
            first => format!("the first {first}"),
        }),
        ("share of train", |s| s.data.fraction.to_string()),
        ("genre left out of train", |s| or_none(&s.data.leave_out)),
        ("genre that is scored", |s| or_none(&s.data.scored_genre)),
        ("share of train cut off as test", |s| s.data.cut_test.to_string()),
        ("tag that no word has", |s| if s.data.padding_tag { "yes" } else { "no" }.into()),
        ("epochs", |s| s.train.epochs.to_string()),
        ("sentences per step", |s| s.train.batch.to_string()),
        ("precision of linear layers", |s| s.train.precision.name().into()),
        ("selected epoch", |s| match s.train.select {
            Select::Last => "last".into(),
            Select::Best => "best".into(),
        }),
        ("optimizer", |s| format!("{:?}", s.optimizer.kind).to_lowercase()),
        ("learning rate", |s| format!("{:e}", s.optimizer.lr)),
        ("learning rate per block", |s| s.optimizer.layer_decay.to_string()),
        ("weight decay", |s| s.optimizer.weight_decay.to_string()),
        ("gradient clipping", |s| s.optimizer.clip_norm.to_string()),
        ("schedule", |s| format!("{:?}", s.schedule.kind).to_lowercase()),
        ("warm-up", |s| s.schedule.warmup.to_string()),
        ("tasks", |s| s.tasks.keys().cloned().collect::<Vec<_>>().join(", ")),
        ("stages", |s| match s.stages.len() {
            0 => "one".into(),
            stages => stages.to_string(),
        }),
        ("gradual unfreezing", |s| match s.unfreeze.every {
            0 => "none".into(),
            every => format!("every {every} {:?}", s.unfreeze.unit).to_lowercase(),
        }),
        ("dropout", |s| {
            let d = &s.dropout;
            format!("head {}, encoder {:?}, frozen {:?}", d.head, d.encoder, d.frozen)
        }),
    ];
    for (name, get) in facts {
        let ours = distinct(cells.iter().map(|settings| get(settings)));
        let theirs = get(&studys);
        if ours != [theirs.clone()] {
            found.push(format!("{name}: study {theirs}, here {}", ours.join(" or ")));
        }
    }
    *text += "\n## What is different from the study\n\n";
    if found.is_empty() {
        *text += "No setting differs. What remains: seeds beyond 42, the machine, the libraries, \
                  and the order of random draws.\n";
        return;
    }
    *text += "**This sweep does not repeat the study.** These settings differ, so the numbers need \
              not agree:\n\n";
    for line in found {
        *text += &format!("- {line}\n");
    }
}

fn or_none(genre: &str) -> String {
    if genre.is_empty() { "none".into() } else { genre.into() }
}
