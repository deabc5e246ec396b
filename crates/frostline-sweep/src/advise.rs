//! `frostline advise`: what policies are predicted to lose and to save on a treebank, before anything is trained.
//!
//! Losses are predicted from the project's own records of other treebanks, times and memory for this machine.

use std::io::Write as _;
use std::path::Path;

use anyhow::anyhow;
use frostline_record::{Cell, CellFacts, Forecast, ForecastJob, Settings, SplitFacts, TaskFacts};
use frostline_report::{CONFIDENCE, ExpectedLoss, LeftOut, LossRecords, aligned, visible};
use serde::Serialize;

use crate::ending::Ending;
use crate::fault::{Blame as _, CommandResult};
use crate::output::{OutputKind, output_kind, print_output};
use crate::program::Program;
use crate::request::SweepRequest;
use crate::shell::shown_command;
use crate::study::PlannedStudy;
use crate::units::{format_bytes, group_thousands};
use crate::workers::shared_threads;

/// The policy that others are compared with.
const BASELINE: &str = "none";

/// The labels of all records.
const UPOS: &str = "upos";

/// Policies that need a learning rate of their own.
const OWN_RATE: [&str; 2] = ["none+lora", "head-only"];

/// The advice for one treebank.
#[derive(Debug, Serialize)]
struct TreebankAdvice {
    lang: String,
    encoder: String,
    /// The data, as the model would see it.
    train: SplitFacts,
    tags: usize,
    unknown_dev_words: f64,
    policies: Vec<PolicyAdvice>,
    /// The policy to take, if one is predicted to lose at most the margin.
    recommended: Option<String>,
    /// The command that confirms it, or that finds out.
    command: String,
    /// Why the records may not hold here.
    extrapolated: Vec<String>,
}

/// What a policy is predicted to lose and to save.
#[derive(Debug, Serialize)]
struct PolicyAdvice {
    policy: String,
    /// In points of dev accuracy against `none`; missing for `none`, and if no record has the policy.
    loss: Option<ExpectedLoss>,
    /// The share of the time of training and scoring that is saved.
    time_saved: Option<f64>,
    bytes: u64,
}

/// What is printed as JSON.
#[derive(Serialize)]
struct AllAdvice<'a> {
    margin: f64,
    confidence: f64,
    advice: &'a [TreebankAdvice],
    left_out: LeftOut,
}

/// Prints predictions and a recommendation for each treebank of the study.
///
/// # Errors
/// If the study has further axes, or its data or encoder cannot be loaded.
pub(crate) fn print_advice(
    study: &PlannedStudy,
    cells: &[Cell],
    program: &Program,
    request: &SweepRequest,
) -> CommandResult<Ending> {
    if let Some(axis) = study.plan.extra_axes().first() {
        return Err(anyhow!(
            "advice is for one setting, but the plan compares several values of `{axis}`; give one with --set {axis}=VALUE"
        ))
        .blame_plan();
    }
    let seed = cells.first().map(|cell| cell.settings.seed);
    let of_seed = |cell: &&Cell| Some(cell.settings.seed) == seed;
    let cells: Vec<Cell> = cells.iter().filter(of_seed).cloned().collect();
    say!("machine   timing training steps if this was not done here before");
    let facts = program.describe_data(&cells)?;
    let forecasts = program.forecast_cells(ForecastJob {
        cells: cells.clone(),
        threads: shared_threads(1, request.threads),
        calibrate: true,
        prefix_cache: study.plan.prefix_cache.enabled.is_on(),
    })?;
    let records = LossRecords::stored();
    let margin = study.plan.verdict.margin.points();
    let mut langs: Vec<&str> = cells.iter().map(|cell| cell.settings.lang.as_str()).collect();
    langs.dedup();
    let advice: Vec<TreebankAdvice> = langs
        .into_iter()
        .filter_map(|lang| advise_on(lang, &cells, &facts, &forecasts, &records, margin, request))
        .collect();
    let left_out = records.leave_out(margin);
    print_output(|out| {
        if output_kind() == OutputKind::Json {
            let all = AllAdvice { margin, confidence: CONFIDENCE, advice: &advice, left_out };
            return writeln!(out, "{}", serde_json::to_string_pretty(&all)?);
        }
        for one in &advice {
            write!(out, "\n{}", text_of_advice(one, margin))?;
        }
        write!(out, "\n{}", describe_evidence(&records, left_out, margin))
    })
}

fn advise_on(
    lang: &str,
    cells: &[Cell],
    facts: &[CellFacts],
    forecasts: &[Forecast],
    records: &LossRecords,
    margin: f64,
    request: &SweepRequest,
) -> Option<TreebankAdvice> {
    let own: Vec<(&Cell, &Forecast)> =
        cells.iter().zip(forecasts).filter(|(cell, _)| cell.settings.lang == *lang).collect();
    let facts = facts.iter().find(|facts| own.iter().any(|(cell, _)| cell.id == facts.cell))?;
    let (first, _) = own.first()?;
    let task = facts.tasks.get(first.settings.headline())?;
    let whole = own.iter().find(|(cell, _)| cell.settings.policy.as_str() == BASELINE)?.1;
    let saved = |forecast: &Forecast| Some(1.0 - forecast.seconds? / whole.seconds?);
    let policies: Vec<PolicyAdvice> = own
        .iter()
        .map(|(cell, forecast)| PolicyAdvice {
            policy: cell.settings.policy.to_string(),
            loss: records.predict(cell.settings.policy.as_str(), task.train.sentences),
            time_saved: saved(forecast),
            bytes: forecast.bytes,
        })
        .collect();
    let fits =
        policies.iter().filter(|policy| policy.loss.as_ref().is_some_and(|loss| loss.loses_at_most(margin)));
    let best = fits.max_by(|a, b| a.time_saved.unwrap_or(0.0).total_cmp(&b.time_saved.unwrap_or(0.0)));
    let recommended = best.map(|policy| policy.policy.clone());
    Some(TreebankAdvice {
        lang: lang.into(),
        encoder: first.settings.encoder.name.clone(),
        extrapolated: list_extrapolations(task, &first.settings, records),
        train: task.train.clone(),
        tags: task.tags.len(),
        unknown_dev_words: task.dev.forms.unknown_words as f64 / task.dev.forms.words.max(1) as f64,
        command: confirming_command(lang, recommended.as_deref(), &policies, request),
        policies,
        recommended,
    })
}

/// Why the records may not hold for a treebank and an encoder.
fn list_extrapolations(task: &TaskFacts, settings: &Settings, records: &LossRecords) -> Vec<String> {
    let mut why = Vec::new();
    let labels = settings.tasks.get(settings.headline()).map_or("", |task| task.labels.as_str());
    if labels != UPOS {
        why.push(format!(
            "every record is of universal part-of-speech tags, and this task is `{}`",
            visible(labels)
        ));
    }
    let encoder = settings.encoder.name.as_str();
    let name = Path::new(encoder).file_name().map_or(encoder.into(), |name| name.to_string_lossy());
    if !records.encoders().contains(&name.as_ref()) {
        why.push(format!(
            "no record has the encoder {}; they have {}",
            visible(&name),
            records.encoders().join(" and ")
        ));
    }
    if let Some([least, most]) = records.sizes(task.train.sentences)
        && !(least..=most).contains(&task.train.sentences)
    {
        let sizes = match least == most {
            true => group_thousands(least),
            false => format!("{} to {}", group_thousands(least), group_thousands(most)),
        };
        why.push(format!(
            "no record that counts here has {} train sentences; they have {sizes}",
            group_thousands(task.train.sentences)
        ));
    }
    why
}

/// The sweep that shows whether a recommendation holds; without one, the sweep that compares all policies.
fn confirming_command(
    lang: &str,
    recommended: Option<&str>,
    policies: &[PolicyAdvice],
    request: &SweepRequest,
) -> String {
    let compared: Vec<&str> = match recommended {
        Some(policy) => vec![policy],
        None => {
            policies.iter().map(|policy| policy.policy.as_str()).filter(|name| *name != BASELINE).collect()
        }
    };
    let mut words: Vec<String> = vec!["sweep".into(), "--decide".into()];
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    let shown = |path: &Path| path.display().to_string();
    if let Some(plan) = &request.plan {
        option("plan", shown(plan));
    }
    option("lang", lang.into());
    option("policies", [&[BASELINE], compared.as_slice()].concat().join(","));
    if let Some(encoder) = &request.changes.encoder {
        option("encoder", encoder.clone());
    }
    for (name, folder) in [("data", &request.inputs.data), ("models", &request.inputs.models)] {
        if let Some(folder) = folder {
            option(name, shown(folder));
        }
    }
    for assignment in &request.changes.assignments {
        option("set", assignment.clone());
    }
    if compared.iter().any(|policy| OWN_RATE.contains(policy)) {
        words.push("--find-lr".into());
    }
    shown_command("frostline", &words)
}

fn text_of_advice(advice: &TreebankAdvice, margin: f64) -> String {
    let TreebankAdvice { train, .. } = advice;
    let pieces = train.spelled.subwords as f64 / train.spelled.words.max(1) as f64;
    let mut text = format!(
        "{} with {}: {} sentences of train, {} words, {} tags, {pieces:.2} subwords in a word; {:.1} % of dev words are not in train\n\n",
        visible(&advice.lang),
        visible(&advice.encoder),
        group_thousands(train.sentences),
        group_thousands(train.words),
        advice.tags,
        100.0 * advice.unknown_dev_words
    );
    let mut rows: Vec<Vec<String>> = vec![
        ["policy", "lost, points", "90 % interval", "time saved", "memory", "languages"]
            .map(String::from)
            .to_vec(),
    ];
    rows.extend(advice.policies.iter().map(row_of_policy));
    text += &aligned(&rows);
    text += &match &advice.recommended {
        Some(policy) => format!(
            "\nadvice    {policy}: the policy that saves most among those predicted to lose at most {margin} points (the whole interval)\n"
        ),
        None => format!(
            "\nadvice    none: no policy is predicted to lose at most {margin} points, with the whole interval; only a comparison can \
             tell\n"
        ),
    };
    text += &format!("confirm   {}\n", visible(&advice.command));
    for why in &advice.extrapolated {
        text += &format!("caution   extrapolated: {why}\n");
    }
    text
}

fn row_of_policy(policy: &PolicyAdvice) -> Vec<String> {
    let signed = |value: f64| format!("{value:+.2}").replace('-', "−");
    let interval = |loss: &ExpectedLoss| {
        loss.points.interval.map(|[low, high]| format!("{} to {}", signed(low), signed(high)))
    };
    let missing = || "–".to_string();
    let loss = policy.loss.as_ref();
    vec![
        policy.policy.clone(),
        loss.map_or_else(missing, |loss| signed(loss.points.mean)),
        loss.and_then(interval).unwrap_or_else(missing),
        policy.time_saved.map_or_else(missing, |saved| format!("{:.0} %", 100.0 * saved).replace('-', "−")),
        format_bytes(policy.bytes),
        loss.map_or_else(missing, |loss| loss.langs.to_string()),
    ]
}

/// Where predictions come from, and how they did on languages that were left out.
fn describe_evidence(records: &LossRecords, left_out: LeftOut, margin: f64) -> String {
    let LeftOut { predicted, covered, advised, kept } = left_out;
    format!(
        "Losses are predicted from records of {} languages with {} (docs/study); LoRA and the head alone at a rate of their own. \
         Leaving out one language at a time, {covered} of {predicted} losses lay in their 90 % interval, and the advised policy lost at \
         most {margin} points on {kept} of {advised} treebanks. Time and memory are predicted for this machine.\n",
        records.langs(),
        records.encoders().join(" and "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(recommended: Option<&str>) -> TreebankAdvice {
        let records = LossRecords::stored();
        let policy = |name: &str, saved, bytes| PolicyAdvice {
            policy: name.into(),
            loss: records.predict(name, 1_000),
            time_saved: saved,
            bytes,
        };
        let policies =
            vec![policy("first-25%", Some(0.11), 700_000_000), policy("first-5", None, 650_000_000)];
        let mut request = SweepRequest { plan: Some("my plan.toml".into()), ..SweepRequest::default() };
        request.changes.assignments = vec!["data.first=500".into()];
        TreebankAdvice {
            lang: "cy".into(),
            encoder: "bert".into(),
            train: SplitFacts { sentences: 1_000, words: 12_000, ..SplitFacts::default() },
            tags: 17,
            unknown_dev_words: 0.125,
            command: confirming_command("cy", recommended, &policies, &request),
            policies,
            recommended: recommended.map(String::from),
            extrapolated: vec!["no record has the encoder bert".into()],
        }
    }

    #[test]
    fn advice_names_the_policy_the_command_and_what_is_unknown() {
        let text = text_of_advice(&advice(Some("first-25%")), 0.5);
        assert!(text.starts_with("cy with bert: 1,000 sentences of train, 12,000 words, 17 tags"), "{text}");
        assert!(text.contains("first-25%  "), "{text}");
        let row = text.lines().find(|line| line.starts_with("first-5 ")).expect("a row");
        assert!(row.split_whitespace().eq(["first-5", "–", "–", "–", "650.0", "MB", "–"]), "{row}");
        assert!(text.contains("\nadvice    first-25%: "), "{text}");
        let command = "frostline sweep --decide --plan 'my plan.toml' --lang cy --policies none,first-25% --set data.first=500\n";
        assert!(text.contains(command), "{text}");
        assert!(text.contains("\ncaution   extrapolated: no record has the encoder bert\n"), "{text}");
        let text = text_of_advice(&advice(None), 0.1);
        assert!(text.contains("no policy is predicted to lose at most 0.1 points"), "{text}");
        assert!(text.contains("--policies none,first-25%,first-5 "), "{text}");
    }

    #[test]
    fn the_records_say_how_they_did_on_languages_left_out() {
        let records = LossRecords::stored();
        let text = describe_evidence(&records, records.leave_out(0.5), 0.5);
        assert!(text.contains("languages with multilingual-e5-small and all-MiniLM-L6-v2"), "{text}");
    }
}
