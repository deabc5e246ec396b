//! What a report rests on: settings, inputs with their hashes, the makers of the records, weights and precision.

use std::collections::BTreeMap;

use frostline_record::{Input, Inputs, MadeBy, Plan, Precision, Settings};
use serde::Serialize;

use crate::fields::JsonFields;
use crate::number::{listed, plural};
use crate::page::Page;
use crate::study::cells::show_value;
use crate::study::hardware::Hardware;
use crate::study::{CellView, Study, distinct};
use crate::table::{Quantity, TableColumns};
use crate::topic::{ReportPlace, Topic};

/// Provenance.
pub(crate) struct ProvenanceTopic;

impl Topic for ProvenanceTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        match place {
            ReportPlace::Caveats => page.items({
                let is_listed = |caveat: &&String| {
                    study.cells.iter().any(|view| view.cell.repeats_weights_caveat(caveat))
                };
                let caveats = study.sweep.plan.caveats.iter();
                let mut points = weights_caveats(study);
                points.extend(caveats.filter(|caveat| !is_listed(caveat)).cloned());
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
            ReportPlace::Appendix => {
                describe_settings(study, page);
                describe_inputs(study, page);
                made_by(study, page);
                describe_precision(study, page);
            }
            _ => {}
        }
    }

    fn facts(&self, study: &Study) -> JsonFields {
        let makers = study.makers().into_iter().map(|(made_by, records)| Maker { records, made_by });
        JsonFields::default()
            .with_some("weights_caveats", &caveats_of_study(study))
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
            "**Times come from {} machines** ({}). They are not averaged, and no time of one is compared with a time of \
             another: if the cells of a row ran on several, its training time is a dash here and is listed machine by machine \
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
        value.as_float().map_or_else(|| value.to_string(), |number| show_value(&serde_json::json!(number)))
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

/// Settings of single policies and languages, and of the command line; the plan has the others.
fn describe_settings(study: &Study, page: &mut Page) {
    let langs = with_own(study, |settings| settings.lang.clone(), Plan::own_of_lang);
    let langs = langs.into_iter().map(|(lang, own)| (lang.to_string(), own));
    let own: Vec<_> =
        policies_with_own(study).into_iter().chain(langs).filter(|(_, own)| !own.is_empty()).collect();
    if own.is_empty() && study.sweep.overrides.is_empty() {
        return;
    }
    page.section(2, "Settings that not all cells share");
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
    let columns = TableColumns::default()
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
    let known = |text: &str| (!text.is_empty()).then(|| text.to_string());
    let columns = TableColumns::default()
        .column("Records", Quantity::Count, |row: &(&MadeBy, usize)| row.1.to_string())
        .column("Frostline", Quantity::Text, |row| row.0.version.clone())
        .column("Revision", Quantity::Text, move |row| known(&row.0.revision))
        .column("Code", Quantity::Text, move |row| known(&row.0.code))
        .column("Backend", Quantity::Text, |row| row.0.backend.clone())
        .column("Device", Quantity::Text, |row| row.0.device.clone())
        .column("Instructions", Quantity::Text, |row| row.0.isa.clone())
        .column("Threads", Quantity::Count, |row| row.0.threads.to_string())
        .optional("Node", Quantity::Text, move |row| known(&row.0.node))
        .optional("Machine", Quantity::Count, |row| study.machine(&Hardware::of(row.0)));
    page.table(columns.table(makers));
}

/// What the operands of linear layers were rounded to, unless that is f32 throughout. It depends on the machine, not on the
/// setting alone.
fn describe_precision(study: &Study, page: &mut Page) {
    let asked = |view: &CellView| view.cell.settings.train.precision;
    if study.cells.iter().all(|view| asked(view) == Precision::F32) {
        return;
    }
    page.section(2, "Precision");
    page.paragraph(
        "What the operands of linear layers were rounded to; sums and all else are f32. Cells that \
             differ in it differ by rounding.",
    );
    let kind = |view: &CellView| (asked(view), view.made_by().map(|by| (by.isa.clone(), view.computed_in())));
    for (asked, made) in distinct(study.cells.iter().map(kind)) {
        let cells = study.cells.iter().filter(|view| kind(view) == (asked, made.clone())).count();
        let (cells, asked) = (plural(cells, "cell"), asked.name());
        page.item(match made {
            None => format!("{cells} with `{asked}`: no record yet."),
            Some((isa, Some(used))) if used.name() == asked => {
                format!("{cells} with `{asked}`: computed in {asked} (instructions `{isa}`).")
            }
            Some((isa, _)) => format!(
                "**{cells} with `{asked}`: computed in f32**, because the instructions `{isa}` have no \
                     native {asked}."
            ),
        });
    }
}

/// What to keep in mind about weights.
fn weights_caveats(study: &Study) -> Vec<String> {
    let in_all = study.cells.iter().all(|view| caveat_of_cell(view).is_some());
    let place = if in_all { "" } else { ", in some of the cells" };
    let found = caveats_of_study(study).into_iter();
    found.map(|WeightsCaveat { encoder, caveat }| format!("**{encoder}**{place}: {caveat}")).collect()
}

/// An encoder of the study with what to keep in mind about its weights.
#[derive(PartialEq, Serialize)]
struct WeightsCaveat<'a> {
    encoder: &'a str,
    caveat: &'static str,
}

fn caveats_of_study(study: &Study) -> Vec<WeightsCaveat<'_>> {
    let of_cell = |view| {
        caveat_of_cell(view).map(|caveat| WeightsCaveat { encoder: &view.cell.settings.encoder.name, caveat })
    };
    distinct(study.cells.iter().filter_map(of_cell))
}

/// What to keep in mind about the weights that a cell starts from.
fn caveat_of_cell(view: &CellView) -> Option<&'static str> {
    view.cell.weights_caveat()
}
