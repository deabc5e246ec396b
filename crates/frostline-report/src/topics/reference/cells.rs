//! Published figures beside the end of cells with the same policy.

use frostline_record::{Counted, PublishedRun, Reference, ReferenceData};
use frostline_score::MeanStd;

use crate::keys;
use crate::number::capital;
use crate::page::Page;
use crate::study::epochs::EpochStats;
use crate::study::groups::Times;
use crate::study::turns::saving;
use crate::study::words::dev_accuracy;
use crate::study::{BASELINE, Group, Study};
use crate::table::{Columns, Quantity, Value};
use crate::topics::reference::differences;
use crate::topics::reference::whose::{defined, labels_the_same, no_match, opening};

/// A group, and the published run that it is compared with.
type Compared<'a> = (&'a Group, &'a PublishedRun);

/// The whole comparison.
pub(super) fn compare(study: &Study, reference: &Reference, page: &mut Page) {
    let langs: Vec<&str> = study
        .langs()
        .into_iter()
        .filter(|lang| {
            reference.lang.get(*lang).is_some_and(|data| {
                labels_the_same(study, data, lang) && !matches(study, data, lang).is_empty()
            })
        })
        .collect();
    if langs.is_empty() {
        return no_match(reference, "this sweep has a result for none of these", page);
    }
    opening(reference, page);
    differences::list(study, reference, &langs, page);
    for lang in langs {
        language(study, reference, lang, page);
    }
}

/// Groups with a result whose policy the reference has too.
fn matches<'a>(study: &'a Study, data: &'a ReferenceData, lang: &'a str) -> Vec<Compared<'a>> {
    let found = study.groups_of(lang).filter_map(|group| {
        let run = group.all_names().find_map(|name| data.policy.get(name))?;
        group.dev.as_ref().map(|_| (group, run))
    });
    found.collect()
}

fn keyed<'a>(study: &Study) -> Columns<'a, Compared<'a>> {
    keys::frozen(study, |row: &Compared<'a>| row.0.names(), |row: &Compared<'a>| &row.0.extras)
}

fn language(study: &Study, reference: &Reference, lang: &str, page: &mut Page) {
    let data = &reference.lang[lang];
    let rows = matches(study, data, lang);
    page.section(2, study.lang_title(lang));
    page.table(accuracies(study, reference).table(rows.iter().copied()));
    defined(reference, "dev_accuracy", page);
    page.table(costs(study, reference, data).table(rows.iter().copied()));
    epochs(study, reference, &rows, page);
}

/// The accuracy of ours that counts what the reference counts.
fn ours_of(reference: &Reference, all: MeanStd, at_label_positions: MeanStd) -> MeanStd {
    match reference.counts {
        Counted::All => all,
        Counted::LabelPositions => at_label_positions,
    }
}

fn accuracies<'a>(study: &Study, reference: &'a Reference) -> Columns<'a, Compared<'a>> {
    let ours =
        |group: &Group| group.dev.as_ref().map(|dev| ours_of(reference, dev.accuracy, dev.study_accuracy));
    keyed(study)
        .optional(capital(&reference.name), Quantity::Percent(2), |row| row.1.dev_accuracy.last().copied())
        .column("Ours", Quantity::Percent(2), move |row| ours(row.0))
        .column(format!("Ours − {}", reference.name), Quantity::Points(2), move |(group, run)| {
            Some(ours(group)?.mean - run.dev_accuracy.last()?)
        })
        .column("Our seeds", Quantity::Count, |row| row.0.seeds_done)
}

fn costs<'a>(
    study: &'a Study,
    reference: &'a Reference,
    data: &'a ReferenceData,
) -> Columns<'a, Compared<'a>> {
    let study_name = capital(&reference.name);
    let theirs = |what: &str| format!("{study_name}: {what}");
    let base = data.policy.get(BASELINE).and_then(|base| base.train_s);
    let times = |group: &Group, get: fn(&Times) -> f64| group.times.as_ref().map(get);
    let parameters = |group: &'a Group| group.parameters.as_ref();
    keyed(study)
        .optional(theirs("steps"), Quantity::Count, |row| row.1.steps)
        .column("Ours: steps", Quantity::Count, |row| row.0.steps)
        .optional(theirs("trainable"), Quantity::Count, |row| row.1.trainable)
        .column("Ours: trainable", Quantity::Count, move |row| parameters(row.0).map(|p| p.trainable))
        .optional(theirs("trainable"), Quantity::Percent(1), |row| {
            Some(row.1.trainable? as f64 / reference.total_parameters? as f64)
        })
        .column("Ours: trainable", Quantity::Percent(1), move |row| {
            parameters(row.0).map(|p| p.trainable_share)
        })
        .optional(theirs("s"), Quantity::Number(0, ""), |row| row.1.train_s)
        .column("Ours: s", Quantity::Number(0, ""), move |row| times(row.0, |t| t.train_s.mean))
        .optional(theirs("time saved"), Quantity::Percent(1), move |row| Some(1.0 - row.1.train_s? / base?))
        .optional("Ours: time saved", Quantity::Percent(1), |row| saving(row.0, study.step_cost(row.0)))
        .optional(theirs("samples"), Quantity::Number(1, "/s"), |row| row.1.samples_per_s)
        .column("Ours: samples", Quantity::Number(1, "/s"), move |row| times(row.0, |t| t.samples_per_s.mean))
        .optional(theirs("steps"), Quantity::Number(2, "/s"), |row| row.1.steps_per_s)
        .column("Ours: steps", Quantity::Number(2, "/s"), move |row| times(row.0, |t| t.steps_per_s.mean))
}

/// Accuracy and losses per epoch, the reference's row above ours.
fn epochs(study: &Study, reference: &Reference, pairs: &[Compared<'_>], page: &mut Page) {
    type PublishedList = fn(&PublishedRun) -> &[f64];
    type OfEpoch<'a> = &'a dyn Fn(&EpochStats) -> MeanStd;
    type EpochsOfPair<'a> = (Compared<'a>, bool);
    let accuracy = |row: &EpochStats| ours_of(reference, row.dev_accuracy, row.dev_study_accuracy);
    let dev_loss = |row: &EpochStats| row.dev_loss_nats;
    let train_loss = |row: &EpochStats| row.train_loss_nats;
    let tables: [(&str, Quantity, PublishedList, OfEpoch<'_>); 3] = [
        (dev_accuracy!(" % after each epoch"), Quantity::Share(2), |run| &run.dev_accuracy, &accuracy),
        ("Dev loss after each epoch, nats", Quantity::Number(4, ""), |run| &run.dev_loss_nats, &dev_loss),
        ("Train loss of each epoch, nats", Quantity::Number(4, ""), |run| &run.train_loss_nats, &train_loss),
    ];
    for (title, unit, theirs, ours) in tables {
        if pairs.iter().all(|(_, run)| theirs(run).is_empty()) {
            continue;
        }
        page.section(3, title);
        let longest = pairs.iter().flat_map(|(group, run)| [group.epochs.len(), theirs(run).len()]).max();
        let columns = keys::frozen(
            study,
            |row: &EpochsOfPair<'_>| row.0.0.policy.clone(),
            |row: &EpochsOfPair<'_>| &row.0.0.extras,
        )
        .column("Whose", Quantity::Text, |row| if row.1 { "ours" } else { reference.name.as_str() })
        .each(
            0..longest.unwrap_or(0),
            |at| (at + 1).to_string(),
            unit,
            |((group, run), is_ours), at| {
                if *is_ours {
                    Value::from(group.epochs.get(*at).map(ours))
                } else {
                    theirs(run).get(*at).copied().into()
                }
            },
        );
        page.table(columns.table(pairs.iter().flat_map(|pair| [(*pair, false), (*pair, true)])));
        if title.starts_with("Train loss") {
            defined(reference, "train_loss_nats", page);
        }
    }
}
