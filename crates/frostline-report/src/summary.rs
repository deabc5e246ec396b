//! `report.json`: every aggregated number, and tables of single cells.

use frostline_record::{Precision, PrefixUse, SCHEMA};
use serde::Serialize;

use crate::fields::JsonFields;
use crate::study::described;
use crate::study::words::SYNTHETIC;
use crate::study::{CellGroup, CellResult, CellView, Study};
use crate::topic::{TopicTable, Topics};

/// Returns everything as named values.
pub(crate) fn collect_fields(study: &Study, topics: &Topics) -> JsonFields {
    let plan = &study.sweep.plan;
    let group = |group: &CellGroup| {
        let own = JsonFields::default()
            .with("lang", &group.lang)
            .with("policy", &group.policy)
            .with("extras", &group.extras)
            .with("seeds_planned", &group.seeds_planned)
            .with("seeds_done", &group.seeds_done)
            .with("seeds_failed", &group.seeds_failed);
        topics.iter().fold(own, |fields, topic| fields.and(topic.group_facts(study, group)))
    };
    let whole = JsonFields::default()
        .with("schema", &SCHEMA)
        .with("name", &plan.name)
        .with("about", &described::describe_study(study))
        .with("synthetic", &plan.synthetic)
        .with("notice", &plan.synthetic.then_some(SYNTHETIC))
        .with(
            "units",
            "accuracies, shares, savings and gains in [0, 1]; std is over seeds; speed-ups are \
             times as fast as none; other units in names",
        )
        .with("axes", &study.axes())
        .with("sanity", &study.sanity)
        .with_objects("groups", &study.groups.iter().map(group).collect::<Vec<_>>())
        .with("cells", &study.cells.iter().map(CellLine::of).collect::<Vec<_>>());
    let whole = topics.iter().fold(whole, |fields, topic| fields.and(topic.facts(study)));
    let tables = topics.iter().flat_map(|topic| topic.tables(study)).filter_map(TopicTable::rows);
    whole.with_tables("tables", &tables.collect::<Vec<_>>())
}

/// A cell in `report.json`.
#[derive(Serialize)]
struct CellLine<'a> {
    id: &'a str,
    lang: &'a str,
    policy: &'a str,
    seed: u64,
    extras: &'a [String],
    /// What linear layers were computed in, which is not always what was asked for.
    computed_in: Option<Precision>,
    prefix: Option<PrefixUse>,
    status: &'a str,
    error: Option<&'a str>,
}

impl<'a> CellLine<'a> {
    fn of(view: &'a CellView) -> Self {
        let settings = &view.cell.settings;
        Self {
            id: &view.cell.id,
            lang: &settings.lang,
            policy: settings.policy.as_str(),
            seed: settings.seed,
            extras: &view.extras,
            computed_in: view.computed_in(),
            prefix: view.done().and_then(|done| Some(done.timing.as_ref()?.prefix)),
            status: view.state.name(),
            error: match &view.state {
                CellResult::Failed { error, .. } => Some(error),
                _ => None,
            },
        }
    }
}
