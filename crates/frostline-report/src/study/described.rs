//! What a run worked on, from its records: which encoder, and how many sentences. A plan's own text may be about another
//! encoder than the one that the command line chose.

use frostline_record::Init;

use crate::number::{count, listed, plural};
use crate::page::code;
use crate::study::cells::{CellView, Done, distinct};
use crate::study::whole::Study;
use crate::study::words;

/// The most languages that are named with their sizes.
const NAMED: usize = 4;

/// What the command line changes if it chooses another encoder.
const ENCODER: &str = "encoder.";

/// The encoders and the sizes of the data; then the plan's own text, unless the command line changed the encoder.
pub(crate) fn describe_study(study: &Study) -> String {
    let changed = study.sweep.overrides.iter().any(|change| change.trim_start().starts_with(ENCODER));
    let own = if changed { "" } else { study.sweep.plan.about.trim() };
    let parts = [Some(own.to_string()), Some(describe_encoders(study)), train_sizes(study)];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What was asked, of which encoder and how much data: one sentence that can be read alone.
pub(crate) fn state_question(study: &Study) -> String {
    let data =
        describe_sentences(study).map_or_else(String::new, |sizes| format!(" (training sentences: {sizes})"));
    let encoders = named_encoders(study);
    let it = if encoders.len() == 1 { "it learns" } else { "they learn" };
    format!(
        "The question was which parts of {} may stay frozen while {it} {}{data}.",
        listed(&encoders),
        words::what_is_learned(study)
    )
}

/// Returns the question, and of how many cells it is asked.
pub(crate) fn describe_question(study: &Study) -> String {
    let seeds = distinct(study.cells.iter().map(|view| view.cell.settings.seed)).len();
    let policies = study.policies().len();
    format!(
        "A pretrained encoder learns {}. Part of it is frozen: it does not learn. \
         This report shows what each way of freezing costs in accuracy and saves in time. \
         It covers {}, {} and {}. {}.",
        words::what_is_learned(study),
        plural(study.langs().len(), "language"),
        if policies == 1 { "1 policy".into() } else { format!("{policies} policies") },
        plural(seeds, "seed"),
        words::describe_progress(study),
    )
}

fn describe_encoders(study: &Study) -> String {
    let named = named_encoders(study);
    match named.len() {
        0 => String::new(),
        1 => format!("The encoder is {}.", named[0]),
        _ => format!("The encoders are {}.", listed(&named)),
    }
}

/// Encoders with family, depth and where their weights come from.
fn named_encoders(study: &Study) -> Vec<String> {
    let settings = study.cells.iter().map(|view| &view.cell.settings.encoder);
    let all = distinct(settings.map(|encoder| (encoder.name.as_str(), encoder.init)));
    all.iter()
        .map(|(name, init)| {
            let of_encoder = |view: &&CellView| {
                let encoder = &view.cell.settings.encoder;
                encoder.name == *name && encoder.init == *init
            };
            let done = study.cells.iter().filter(of_encoder).find_map(CellView::done);
            let mut facts: Vec<String> = done.map(encoder_shape).unwrap_or_default();
            facts.extend((*init == Init::Random).then(|| "its weights drawn at random".to_string()));
            let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
            format!("{}{facts}", code(name))
        })
        .collect()
}

/// Family and depth. Records of before they were noted have the depth in their accounts.
fn encoder_shape(done: &Done) -> Vec<String> {
    let result = &done.result;
    if let Some(encoder) = &result.encoder {
        return vec![encoder.family_name().into(), format!("{} blocks", encoder.blocks)];
    }
    let groups = result.accounts().groups.iter();
    let blocks = groups.filter(|row| row.group.starts_with("block ")).count();
    if blocks == 0 { Vec::new() } else { vec![format!("{blocks} blocks")] }
}

fn train_sizes(study: &Study) -> Option<String> {
    describe_sentences(study).map(|sizes| format!("Train sentences: {sizes}."))
}

/// `500`, or `500 to 600`.
fn count_range((low, high): (u64, u64)) -> String {
    if low == high { count(low) } else { format!("{} to {}", count(low), count(high)) }
}

/// Train sentences of each language: the fewest and the most of its cells.
fn sizes_by_language(study: &Study) -> Vec<(&str, (u64, u64))> {
    let of_lang = |lang: &str| -> Option<(u64, u64)> {
        let here = study.cells.iter().filter(|view| view.cell.settings.lang == lang);
        let sizes = || here.clone().filter_map(|view| Some(view.done()?.result.facts().train.sentences));
        Some((sizes().min()?, sizes().max()?))
    };
    study.langs().into_iter().filter_map(|lang| Some((lang, of_lang(lang)?))).collect()
}

/// Train sentences of all languages: `500 to 600`; nothing if no cell is done.
pub(crate) fn train_sentences(study: &Study) -> Option<String> {
    let all = sizes_by_language(study);
    let low = all.iter().map(|(_, (low, _))| *low).min()?;
    let high = all.iter().map(|(_, (_, high))| *high).max()?;
    Some(count_range((low, high)))
}

/// How many sentences cells learned from: `600 in en and 500 in pcm`.
fn describe_sentences(study: &Study) -> Option<String> {
    let all = sizes_by_language(study);
    if all.len() > NAMED {
        return Some(format!("{} in each of {} languages", train_sentences(study)?, all.len()));
    }
    let each: Vec<String> =
        all.iter().map(|(lang, sizes)| format!("{} in {lang}", count_range(*sizes))).collect();
    (!each.is_empty()).then(|| listed(&each))
}
