//! Where the numbers come from: settings, inputs with their hashes, and who made the records.

use std::collections::BTreeMap;

use frostline_record::{Input, Inputs, MadeBy, Plan, Settings};
use serde::Serialize;

use crate::fields::Fields;
use crate::number::{listed, plural};
use crate::page::Page;
use crate::study::cells::shown;
use crate::study::hardware::Hardware;
use crate::study::{Study, distinct};
use crate::table::{Columns, Quantity};
use crate::topic::{Place, Topic};

/// Provenance.
pub(crate) struct Provenance;

impl Topic for Provenance {
    fn prose(&self, study: &Study, place: Place<'_>, page: &mut Page) {
        match place {
            Place::Caveats => page.items({
                let said = |caveat: &&String| {
                    study.cells.iter().any(|view| view.cell.repeats_weights_caveat(caveat))
                };
                let caveats = study.sweep.plan.caveats.iter();
                let mut points: Vec<String> = caveats.filter(|caveat| !said(caveat)).cloned().collect();
                points.extend(own_settings(study));
                points.extend(different_makers(study));
                if study.strays > 0 {
                    points.push(format!(
                        "{} in the folder belong to no cell of this sweep and are left out.",
                        plural(study.strays, "record")
                    ));
                }
                if study.sweep.plan.jobs > 1 {
                    points.push(format!(
                        "Up to {} cells ran at a time. They share one machine, so their times are longer and \
                         noisier than those of one cell alone.",
                        study.sweep.plan.jobs
                    ));
                }
                points.push(
                    "Times hold for this machine and this day only. Savings carry over better than seconds."
                        .into(),
                );
                points
            }),
            Place::Appendix => {
                describe_settings(study, page);
                describe_inputs(study, page);
                made_by(study, page);
            }
            _ => {}
        }
    }

    fn facts(&self, study: &Study) -> Fields {
        let makers = study.makers().into_iter().map(|(made_by, records)| Maker { records, made_by });
        Fields::default()
            .with("made_by", &makers.collect::<Vec<_>>())
            .with("inputs", &inputs_of(study))
            .with("stray_records", &study.strays)
            .with("plan", &study.sweep.plan)
            .with("overrides", &study.sweep.overrides)
    }
}

/// What matters of the differences between those who made the records.
fn different_makers(study: &Study) -> Vec<String> {
    let makers = study.makers();
    let kinds = |get: fn(&MadeBy) -> String| distinct(makers.iter().map(|(maker, _)| get(maker)));
    let mut points = Vec::new();
    let codes = kinds(|maker| maker.code.chars().take(12).collect());
    if codes.len() > 1 {
        points.push(format!(
            "**The records come from {} versions of the code** ({}). Accuracies may differ for that reason alone.",
            codes.len(),
            listed(&codes.iter().map(|code| format!("`{code}`")).collect::<Vec<_>>())
        ));
    }
    let computed = kinds(|maker| format!("{} on {}", maker.backend, maker.isa));
    if computed.len() > 1 {
        points.push(format!(
            "**The records were computed in {} ways** ({}), which round differently. The same cell would not give the same \
             bits.",
            computed.len(),
            listed(&computed)
        ));
    }
    if study.machines.len() > 1 {
        let machines = study.machines.iter().map(Hardware::words);
        points.push(format!(
            "**Times come from {} machines** ({}). They are not averaged, and no time of one is compared with that of \
             another: where the cells of a row ran on several, its training time is a dash here and stands machine by machine \
             under \"Where the time goes\".",
            study.machines.len(),
            machines.collect::<Vec<_>>().join(" and ")
        ));
    }
    points
}

/// The policies or languages of the cells that have settings of their own, with these.
fn with_own<T: Clone + PartialEq>(
    study: &Study,
    of: impl Fn(&Settings) -> T,
    own: impl Fn(&Plan, &T) -> Vec<(String, toml::Value)>,
) -> Vec<(T, Vec<String>)> {
    let all = distinct(study.cells.iter().map(|view| of(&view.cell.settings)));
    let shown = |value: &toml::Value| {
        value.as_float().map_or_else(|| value.to_string(), |number| shown(&serde_json::json!(number)))
    };
    let with = all.into_iter().map(|one| {
        let own = own(&study.sweep.plan, &one);
        (one, own.iter().map(|(path, value)| format!("`{path}` {}", shown(value))).collect())
    });
    with.collect()
}

fn policies_with_own(study: &Study) -> Vec<(String, Vec<String>)> {
    let of = with_own(study, |settings| settings.policy.clone(), Plan::own_of_policy);
    of.into_iter().map(|(policy, own)| (policy.to_string(), own)).collect()
}

/// Warns that policies are not compared at the same settings.
fn own_settings(study: &Study) -> Option<String> {
    let policies = policies_with_own(study);
    let differ = policies.windows(2).any(|two| two[0].1 != two[1].1);
    let with = policies.iter().filter(|(_, own)| !own.is_empty());
    let each: Vec<String> = with.map(|(name, own)| format!("`{name}` ({})", own.join(", "))).collect();
    differ.then(|| {
        format!(
            "**Policies were trained with different settings**: the plan gives their own to {}. Differences between these and \
             other policies are not due to freezing alone.",
            listed(&each)
        )
    })
}

/// The maker of a number of records.
#[derive(Serialize)]
struct Maker<'a> {
    records: usize,
    #[serde(flatten)]
    made_by: &'a MadeBy,
}

/// The plan's settings.
fn describe_settings(study: &Study, page: &mut Page) {
    page.section(2, "Settings");
    page.paragraph("The plan above has the settings that all cells share. Others:");
    let plan = &study.sweep.plan;
    for axis in plan.axes() {
        let values: Vec<String> = plan.grid[axis].iter().map(ToString::to_string).collect();
        page.item(format!("`{axis}` takes {}", values.join(", ")));
    }
    let langs = with_own(study, |settings| settings.lang.clone(), Plan::own_of_lang);
    let langs = langs.into_iter().map(|(lang, own)| (lang.to_string(), own));
    let own: Vec<_> =
        policies_with_own(study).into_iter().chain(langs).filter(|(_, own)| !own.is_empty()).collect();
    for (name, own) in &own {
        page.item(format!("`{name}` has settings of its own: {}", own.join(", ")));
    }
    if !study.sweep.overrides.is_empty() {
        let overrides: Vec<String> = study.sweep.overrides.iter().map(|set| format!("`{set}`")).collect();
        page.paragraph(format!("Set on the command line: {}.", listed(&overrides)));
    }
}

/// The distinct inputs of each language's cells.
fn inputs_of(study: &Study) -> BTreeMap<&str, Vec<&Inputs>> {
    let mut inputs: BTreeMap<&str, Vec<&Inputs>> = BTreeMap::new();
    for view in &study.cells {
        let known = inputs.entry(&view.cell.settings.lang).or_default();
        if !known.contains(&&view.cell.inputs) {
            known.push(&view.cell.inputs);
        }
    }
    inputs
}

/// A file that was read, with the languages of which it was.
type InputRow<'a> = (Vec<&'a str>, &'a String, &'a Input);

/// Every file that was read, with its hash.
fn describe_inputs(study: &Study, page: &mut Page) {
    page.section(2, "Inputs");
    let inputs = inputs_of(study);
    let all = || inputs.values().flatten().flat_map(|files| files.iter());
    let files = distinct(all().map(|(role, file)| (role, &file.sha256)));
    let rows = files.into_iter().filter_map(|(role, sha256)| {
        let is_it = |(other, file): &(&'_ String, &'_ Input)| *other == role && file.sha256 == *sha256;
        let holds = |lang: &&str| {
            inputs.get(*lang).is_some_and(|sets| sets.iter().any(|files| files.iter().any(|one| is_it(&one))))
        };
        let (_, file) = all().find(|one| is_it(one))?;
        Some((study.langs().into_iter().filter(holds).collect(), role, file))
    });
    let columns = Columns::default()
        .column("Languages", Quantity::Text, |row: &InputRow<'_>| row.0.join(", "))
        .column("Role", Quantity::Text, |row| row.1.clone())
        .column("File", Quantity::Text, |row| format!("`{}`", short_path(&row.2.path)))
        .column("Bytes", Quantity::Count, |row| row.2.bytes)
        .column("SHA-256", Quantity::Text, |row| format!("`{}`", row.2.sha256));
    page.table(columns.table(rows));
}

/// The last two parts of a path: enough to know the file, nothing about the machine.
fn short_path(path: &str) -> String {
    let parts: Vec<&str> = path.rsplitn(3, ['/', '\\']).take(2).collect();
    match parts.as_slice() {
        [file, folder] => format!("{folder}/{file}"),
        _ => path.into(),
    }
}

/// Versions and machines.
fn made_by(study: &Study, page: &mut Page) {
    page.section(2, "Who made the records");
    let makers = study.makers();
    if makers.is_empty() {
        page.paragraph("There is no record yet.");
        return;
    }
    let said = |text: &str| (!text.is_empty()).then(|| text.to_string());
    let columns = Columns::default()
        .column("Records", Quantity::Count, |row: &(&MadeBy, usize)| row.1.to_string())
        .column("Frostline", Quantity::Text, |row| row.0.version.clone())
        .column("Revision", Quantity::Text, move |row| said(&row.0.revision))
        .column("Code", Quantity::Text, move |row| said(&row.0.code))
        .column("Backend", Quantity::Text, |row| row.0.backend.clone())
        .column("Device", Quantity::Text, |row| row.0.device.clone())
        .column("Instructions", Quantity::Text, |row| row.0.isa.clone())
        .column("Threads", Quantity::Count, |row| row.0.threads.to_string())
        .optional("Node", Quantity::Text, move |row| said(&row.0.node))
        .optional("Machine", Quantity::Count, |row| study.machine(&Hardware::of(row.0)));
    page.table(columns.table(makers));
}
