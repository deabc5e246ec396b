//! Published figures compared with the end of cells with the same policy.

use frostline_record::{Counted, PublishedRun, Reference, ReferenceData};
use frostline_score::MeanStd;

use crate::keys;
use crate::number::capital;
use crate::page::Page;
use crate::study::epochs::EpochStats;
use crate::study::groups::GroupTimes;
use crate::study::turns::saving;
use crate::study::{BASELINE, CellGroup, Study};
use crate::table::{Quantity, TableColumns, TableValue};
use crate::topics::convergence::EpochFact;
use crate::topics::reference::differences;
use crate::topics::reference::whose::{
    epoch_tables, labels_the_same, no_match, write_definition, write_opening,
};

/// A group, and the published run that it is compared with.
type ComparedGroup<'a> = (&'a CellGroup, &'a PublishedRun);

/// The whole comparison.
pub(super) fn compare_cells(study: &Study, reference: &Reference, page: &mut Page) {
    let langs: Vec<&str> = study
        .langs()
        .into_iter()
        .filter(|lang| {
            reference.lang.get(*lang).is_some_and(|data| {
                labels_the_same(study, data, lang) && !matching_groups(study, data, lang).is_empty()
            })
        })
        .collect();
    if langs.is_empty() {
        return no_match(reference, "this sweep has a result for none of these", page);
    }
    write_opening(reference, page);
    differences::list_differences(study, reference, &langs, page);
    for lang in langs {
        describe_language(study, reference, lang, page);
    }
}

/// Groups with a result whose policy the reference has too.
fn matching_groups<'a>(study: &'a Study, data: &'a ReferenceData, lang: &'a str) -> Vec<ComparedGroup<'a>> {
    let found = study.groups_of(lang).filter_map(|group| {
        let run = group.all_names().find_map(|name| data.policy.get(name))?;
        group.dev.as_ref().map(|_| (group, run))
    });
    found.collect()
}

fn key_columns<'a>(study: &Study) -> TableColumns<'a, ComparedGroup<'a>> {
    keys::policy_columns(
        study,
        |row: &ComparedGroup<'a>| row.0.names(),
        |row: &ComparedGroup<'a>| &row.0.extras,
    )
}

fn describe_language(study: &Study, reference: &Reference, lang: &str, page: &mut Page) {
    let data = &reference.lang[lang];
    let rows = matching_groups(study, data, lang);
    page.section(2, study.lang_title(lang));
    page.table(accuracy_columns(study, reference).table(rows.iter().copied()));
    write_definition(reference, "dev_accuracy", page);
    page.table(cost_columns(study, reference, data).table(rows.iter().copied()));
    add_epochs(study, reference, &rows, page);
}

/// The accuracy of ours that counts what the reference counts.
fn ours_of(reference: &Reference, all: MeanStd, at_label_positions: MeanStd) -> MeanStd {
    match reference.counts {
        Counted::All => all,
        Counted::LabelPositions => at_label_positions,
    }
}

fn accuracy_columns<'a>(study: &Study, reference: &'a Reference) -> TableColumns<'a, ComparedGroup<'a>> {
    let ours = |group: &CellGroup| {
        group.dev.as_ref().map(|dev| ours_of(reference, dev.accuracy, dev.study_accuracy))
    };
    key_columns(study)
        .optional(capital(&reference.name), Quantity::Percent(2), |row| row.1.dev_accuracy.last().copied())
        .column("Ours", Quantity::Percent(2), move |row| ours(row.0))
        .column(format!("Ours − {}", reference.name), Quantity::Points(2), move |(group, run)| {
            Some(ours(group)?.mean - run.dev_accuracy.last()?)
        })
        .column("Our seeds", Quantity::Count, |row| row.0.seeds_done)
}

fn cost_columns<'a>(
    study: &'a Study,
    reference: &'a Reference,
    data: &'a ReferenceData,
) -> TableColumns<'a, ComparedGroup<'a>> {
    let study_name = capital(&reference.name);
    let theirs = |what: &str| format!("{study_name}: {what}");
    let base = data.policy.get(BASELINE).and_then(|base| base.train_s);
    let times = |group: &CellGroup, get: fn(&GroupTimes) -> f64| group.times.as_ref().map(get);
    let parameters = |group: &'a CellGroup| group.parameters.as_ref();
    key_columns(study)
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
fn add_epochs(study: &Study, reference: &Reference, pairs: &[ComparedGroup<'_>], page: &mut Page) {
    type EpochsOfPair<'a> = (ComparedGroup<'a>, bool);
    type EpochsRow<'a> = (EpochsOfPair<'a>, Vec<TableValue>);
    let columns = || {
        keys::of_rows(study).column("Whose", Quantity::Text, |row: &EpochsRow<'_>| {
            if row.0.1 { "ours" } else { reference.name.as_str() }
        })
    };
    let rows: Vec<EpochsOfPair<'_>> = pairs.iter().flat_map(|pair| [(*pair, false), (*pair, true)]).collect();
    let values = |fact: &EpochFact, ((group, run), is_ours): &EpochsOfPair<'_>| -> Vec<TableValue> {
        let ours = |row: &EpochStats| match reference.counts {
            Counted::LabelPositions if fact.is_accuracy() => Some(row.dev_study_accuracy),
            _ => (fact.ours)(row),
        };
        match is_ours {
            true => group.epochs.iter().map(|row| ours(row).into()).collect(),
            false => (fact.published)(run).iter().map(|value| (*value).into()).collect(),
        }
    };
    let published: Vec<&PublishedRun> = pairs.iter().map(|(_, run)| *run).collect();
    epoch_tables(study, reference, &published, &rows, columns, values, page);
}
