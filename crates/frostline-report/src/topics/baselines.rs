//! Baselines: what needs no training of the encoder, and which policies stay below it.

use frostline_record::{Baseline, Score};

use crate::fields::JsonFields;
use crate::keys;
use crate::number::{count, fixed, listed};
use crate::page::Page;
use crate::study::baselines::{ANY, BaselineStats, first_of_seeds};
use crate::study::words::{SENTENCES, counted_units, extras_name};
use crate::study::{CellGroup, CellView, Study, distinct};
use crate::table::{Quantity, TableColumns};
use crate::topic::{ReportPlace, Topic, TopicTable};

/// The backends that compute on a GPU.
const GPU_BACKENDS: [&str; 2] = ["cuda", "wgpu"];

/// Baselines of all languages.
pub(crate) struct BaselinesTopic {
    all: Vec<BaselineStats>,
}

impl BaselinesTopic {
    /// Collects the baselines of a study.
    pub fn of(study: &Study) -> Self {
        Self { all: study.all_baselines() }
    }
}

impl Topic for BaselinesTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        match place {
            ReportPlace::Remarks => page.items({
                let below = study.langs().into_iter().flat_map(|lang| policies_below(study, lang));
                let unsettled = self.all.iter().filter(|one| one.converged == Some(false)).map(|one| {
                    format!(
                        "**{}**: the logistic probe did not converge in {} iterations; it may be a little better than \
                         shown.",
                        one.lang,
                        count(one.fit.as_ref().map_or(0, |fit| fit.iterations))
                    )
                });
                below.chain(unsettled).chain(on_gpu(study, &self.all)).collect::<Vec<String>>()
            }),
            ReportPlace::Reading => page.items({
                if self.all.is_empty() {
                    return;
                }
                let frequent = match counted_units(study) {
                    SENTENCES => {
                        "The *most frequent label* gives every sentence the label that train has most often."
                    }
                    _ => {
                        "The *most frequent tag* gives each word the tag that it has most often in train; a word that does not \
                         occur there gets the most frequent tag of all."
                    }
                };
                let drawn = self.all.iter().filter_map(|one| one.fit.as_ref()).find(|fit| fit.fitted < fit.of);
                let drawn = drawn.map_or_else(String::new, |fit| {
                    format!(" It was fitted to a drawn {} of {} in train.", count(fit.fitted), count(fit.of))
                });
                vec![format!(
                    "**Baselines**, in italics, need no training of the encoder. {frequent} The *logistic probe* is a \
                     logistic regression on the pretrained encoder's output, fitted until it converges.{drawn} \
                     A policy below it learned less than a head alone could."
                )]
            }),
            _ => {}
        }
    }

    fn tables(&self, study: &Study) -> Vec<TopicTable> {
        if first_of_seeds(&study.cells).next().is_none() {
            return Vec::new();
        }
        vec![TopicTable::Rows(
            "baselines",
            file_columns(study).table(first_of_seeds(&study.cells).flat_map(file_rows)),
        )]
    }

    fn facts(&self, _: &Study) -> JsonFields {
        JsonFields::default().with_some("baselines", &self.all)
    }
}

/// What the probe's score is worth if a GPU computed what it is fitted to.
fn on_gpu(study: &Study, all: &[BaselineStats]) -> Option<String> {
    let made = study.cells.iter().filter_map(CellView::made_by);
    let used = distinct(made.map(|by| by.backend.as_str()).filter(|name| GPU_BACKENDS.contains(name)));
    let fitted = all.iter().any(|one| one.fit.is_some());
    let named = || listed(&used.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>());
    (fitted && !used.is_empty()).then(|| {
        format!(
            "The logistic probe was fitted to what {} computed. Its score can differ from that on `flex` by about 0.1 points: \
             hidden states differ in rounding, and the probe is fitted until it converges.",
            named()
        )
    })
}

/// A baseline on a split.
struct BaselineSplit<'a> {
    view: &'a CellView,
    task: &'a str,
    name: &'a str,
    split: &'a str,
    baseline: &'a Baseline,
    score: &'a Score,
}

fn file_rows(view: &CellView) -> Vec<BaselineSplit<'_>> {
    let mut rows = Vec::new();
    for (task, all) in view.done().into_iter().flat_map(|done| &done.result.baselines) {
        for (name, baseline) in all {
            let scores = baseline.scores.iter();
            rows.extend(scores.map(|(split, score)| BaselineSplit {
                view,
                task,
                name,
                split,
                baseline,
                score,
            }));
        }
    }
    rows
}

fn file_columns(study: &Study) -> TableColumns<'_, BaselineSplit<'_>> {
    let synthetic = study.synthetic();
    TableColumns::default()
        .column("synthetic", Quantity::Text, move |_| synthetic)
        .column("lang", Quantity::Text, |row: &BaselineSplit<'_>| row.view.cell.settings.lang.to_string())
        .column("seed", Quantity::Count, |row| row.view.cell.settings.seed)
        .and(keys::raw_axes(study, |row: &BaselineSplit<'_>| &row.view.extras))
        .column("task", Quantity::Text, |row| row.task)
        .column("baseline", Quantity::Text, |row| row.name)
        .column("split", Quantity::Text, |row| row.split)
        .column("accuracy", Quantity::Share(2), |row| row.score.accuracy())
        .column("study_accuracy", Quantity::Share(2), |row| row.score.study_accuracy())
        // Without probabilities there is no loss.
        .column("loss_nats", Quantity::Number(4, "nats"), |row| {
            row.baseline.fit.as_ref().map(|_| row.score.loss_nats)
        })
        .column("units", Quantity::Count, |row| row.score.words)
        .column("correct", Quantity::Count, |row| row.score.correct)
        .column("gold_entities", Quantity::Count, |row| row.score.entities.map(|e| e.gold))
        .column("predicted_entities", Quantity::Count, |row| row.score.entities.map(|e| e.predicted))
        .column("correct_entities", Quantity::Count, |row| row.score.entities.map(|e| e.correct))
        .column("fitted", Quantity::Count, |row| row.baseline.fit.as_ref().map(|fit| fit.fitted))
        .column("fitted_of", Quantity::Count, |row| row.baseline.fit.as_ref().map(|fit| fit.of))
        .column("iterations", Quantity::Count, |row| row.baseline.fit.as_ref().map(|fit| fit.iterations))
        .column("converged", Quantity::Text, |row| row.baseline.fit.as_ref().map(|fit| fit.converged))
}

/// Lists the policies below each baseline on dev; places with the same answer share a sentence.
fn policies_below(study: &Study, lang: &str) -> Vec<String> {
    type BaselineKey = (&'static str, Vec<String>);
    let mut found: Vec<(BaselineKey, Vec<(String, f64)>)> = Vec::new();
    for one in study.baselines(lang) {
        let Some(dev) = &one.dev else { continue };
        let is_below =
            |group: &&CellGroup| group.dev.as_ref().is_some_and(|own| own.accuracy.mean < dev.accuracy.mean);
        let here = || study.groups_of(lang).filter(|group| one.is_at(&group.extras));
        let named = |policy: &str| {
            let of_policy = || here().filter(|group| group.policy == policy);
            let places = || of_policy().filter(is_below).map(|group| extras_name(study, &group.extras));
            match (places().count(), of_policy().count()) {
                (0, _) => None,
                (below, all) if below == all => Some(format!("`{policy}`")),
                _ => Some(format!("`{policy}` with {}", places().collect::<Vec<_>>().join(" or "))),
            }
        };
        let policies: Vec<String> =
            distinct(here().map(|group| group.policy.as_str())).into_iter().filter_map(named).collect();
        if policies.is_empty() {
            continue;
        }
        let anywhere = one.extras.iter().all(|value| value == ANY);
        let place = if anywhere { String::new() } else { extras_name(study, &one.extras) };
        let (key, at) = ((one.title(), policies), (place, dev.accuracy.mean));
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, places)) => places.push(at),
            None => found.push((key, vec![at])),
        }
    }
    found
        .iter()
        .map(|((title, policies), places)| policies_below_sentence(lang, title, policies, places))
        .collect()
}

fn policies_below_sentence(lang: &str, title: &str, policies: &[String], places: &[(String, f64)]) -> String {
    let verb = if policies.len() == 1 { "lies" } else { "lie" };
    let at = match places {
        [(place, _)] if place.is_empty() => String::new(),
        places => {
            format!(" at {}", places.iter().map(|(place, _)| place.as_str()).collect::<Vec<_>>().join("; "))
        }
    };
    let value = match places {
        [(_, value)] => format!(" ({} %)", fixed(value * 100.0, 2)),
        _ => String::new(),
    };
    format!("**{lang}**{at}: {} {verb} below the {title}{value}.", listed(policies))
}
