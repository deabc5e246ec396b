//! Is a policy better or worse than `none`, and which is the cheapest that is not worse? One rule for all tables.

use crate::fields::Fields;
use crate::keys;
use crate::number::{count, fixed, listed, plural};
use crate::page::Page;
use crate::study::advice::{Advice, Choice, SPLIT};
use crate::study::saved;
use crate::study::verdicts::{PolicyVerdict, points, tally};
use crate::study::words::{SENTENCES, extras_name, units};
use crate::study::{BASELINE, Group, SPLITS, Study, distinct};
use crate::table::{Columns, DataFile, PaperTable, Quantity, Value};
use crate::topic::{StudyRow, Topic};

/// Verdicts.
pub(crate) struct Verdicts;

impl Topic for Verdicts {
    fn opening(&self, study: &Study) -> Vec<String> {
        opening(study)
    }

    fn reading(&self, study: &Study) -> Vec<String> {
        if !study.has_baseline() {
            return Vec::new();
        }
        vec![format!(
            "**better**, **worse**: the difference from `none` is more than chance. **equivalent**: it is within ± {}. \
             **undecided**: neither is shown, which does not mean equal. Policies are compared with the same seed on the \
             same sentences. docs/statistics.md explains the rule.",
            points(study.margin())
        )]
    }

    fn study_columns<'a>(&self, study: &'a Study) -> Columns<'a, StudyRow<'a>> {
        let verdict = |row: &StudyRow<'a>| study.verdicts.get(row.group()?, SPLIT)?.judged();
        Columns::default()
            .optional("Verdict", Quantity::Text, move |row| verdict(row).map(|judged| judged.verdict.name()))
    }

    fn language(&self, study: &Study, lang: &str, page: &mut Page) {
        for split in SPLITS {
            table(study, lang, split, page);
        }
    }

    fn tables(&self, study: &Study) -> Vec<DataFile> {
        file(study).into_iter().collect()
    }

    fn paper_tables(&self, study: &Study) -> Vec<PaperTable> {
        if study.advice.is_empty() { Vec::new() } else { vec![advised(study)] }
    }

    fn group_fields(&self, study: &Study, group: &Group) -> Fields {
        let verdict = |fields: Fields, split: &str| match study.verdicts.get(group, split) {
            Some(row) => fields.with(&format!("{split}_verdict"), row),
            None => fields,
        };
        let standing = study.standing(group);
        let fields = Fields::default()
            .with("step_cost", &standing.map(|standing| standing.step_cost))
            .with("on_pareto_front", &standing.and_then(|standing| standing.on_front));
        SPLITS.into_iter().fold(fields, verdict)
    }

    fn fields(&self, study: &Study) -> Fields {
        Fields::default().with_some("advice", &study.advice)
    }
}

/// What came out, in a few sentences: how many policies differ, what to freeze, and what is missing.
pub(crate) fn opening(study: &Study) -> Vec<String> {
    let rows: Vec<&PolicyVerdict> = study.verdicts.rows.iter().filter(|row| row.split == SPLIT).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let judged = rows.iter().filter(|row| row.judged().is_some()).count();
    if judged == 0 {
        return vec![unpaired(&rows)];
    }
    let mut said = vec![format!(
        "Of {} with `none` on {SPLIT}: {} (margin {}).",
        plural(judged, "comparison"),
        listed(&tally(rows.iter().copied())),
        points(study.margin())
    )];
    if rows.iter().all(|row| row.compared.seeds.len() < 2) {
        let seeds = distinct(study.cells.iter().map(|view| view.cell.settings.seed)).len();
        let next = match seeds {
            1 => "Run at least three seeds.",
            _ => "Only one can be compared yet; the same sweep command goes on with the others.",
        };
        said.push(format!(
            "With one seed nothing can be said of a policy, only of two trained models: another seed may reverse any \
             difference. {next}"
        ));
        return said;
    }
    let several = study.langs().len() > 1;
    let whole = study.advice.iter().filter(|advice| several == (advice.langs.len() > 1));
    said.extend(whole.map(|advice| recommendation(study, advice)));
    said
}

/// Why no row has a verdict.
fn unpaired(rows: &[&PolicyVerdict]) -> String {
    let why = rows.first().and_then(|row| row.compared.why_unjudged()).unwrap_or_default();
    format!("No policy can be judged against `none`: {why}.")
}

/// A recommendation as a sentence.
pub(crate) fn recommendation(study: &Study, advice: &Advice) -> String {
    let extras = extras_name(study, &advice.extras);
    let within = if extras.is_empty() { String::new() } else { format!(" with {extras}") };
    let (place, each) = match advice.langs.as_slice() {
        [one] => (format!("In {one}{within}"), ""),
        all => (format!("Over {}{within}", listed(all)), " in each of them"),
    };
    let margin = points(advice.margin);
    let step = if study.groups.iter().any(Group::is_staged) { "a step of the last stage" } else { "a step" };
    let cost = |policy: &str, cost: f64| {
        let predicted = format!("{step} is predicted to take {} % of the time", fixed(100.0 * cost, 0));
        match saved::said(study, policy, &advice.extras, &advice.langs) {
            None => predicted,
            Some(measured) => format!("{predicted}; measured in turns, {measured}"),
        }
    };
    let mut text = match &advice.choice {
        Some(choice) => format!(
            "{place}, the cheapest policy that is shown to lose at most {margin} against `none`{each} is \
             **{}** \
             (confidence {}; {}).",
            choice.policy,
            confidence(choice.confidence),
            cost(&choice.policy, choice.step_cost)
        ),
        None => format!("{place}, no cheaper policy is shown to lose at most {margin} against `none`{each}."),
    };
    if let Some(open) = &advice.open {
        let corrected = match advice.policies {
            1 => String::new(),
            policies => format!(", once corrected for choosing among {policies} policies"),
        };
        let cost = cost(&open.policy, open.step_cost);
        text += &format!(" This is not decided{corrected}, for the cheaper **{}** ({cost})", open.policy);
        text +=
            &open.needed.as_ref().map_or_else(|| ".".into(), |needed| format!(": it would take {needed}."));
    }
    text
}

/// Recommendations for LaTeX.
fn advised(study: &Study) -> PaperTable {
    let of = |get: fn(&Choice) -> Value| {
        move |advice: &&Advice| advice.choice.as_ref().map_or(Value::Missing, get)
    };
    let saved = |advice: &&Advice| {
        let choice = advice.choice.as_ref()?;
        saved::said(study, &choice.policy, &advice.extras, &advice.langs)
    };
    let lang = |advice: &&Advice| match advice.langs.as_slice() {
        [one] => one.clone(),
        _ => "all".to_string(),
    };
    let columns = Columns::default()
        .column("Language", Quantity::Text, lang)
        .and(keys::axes(study, |advice: &&Advice| &advice.extras))
        .column("Policy", Quantity::Text, |advice| {
            advice.choice.as_ref().map_or("none is shown".to_string(), |choice| choice.policy.clone())
        })
        .optional("Confidence", Quantity::Text, of(|choice| confidence(choice.confidence).into()))
        .optional("Step cost", Quantity::Percent(0), of(|choice| choice.step_cost.into()))
        .optional("Measured in turns", Quantity::Text, saved)
        .optional("Not decided for", Quantity::Text, |advice| {
            advice.open.as_ref().map(|open| open.policy.clone())
        });
    let name = |advice: &Advice| {
        let extras = advice.extras.iter().map(String::as_str);
        [lang(&advice), ["recommendation"].into_iter().chain(extras).collect::<Vec<_>>().join("/")]
    };
    let names = study.advice.iter().map(name).collect();
    let caption = format!(
        "The cheapest policy that is shown to lose at most {} against none; a step's cost is predicted.",
        points(study.margin())
    );
    let table = PaperTable::new("recommendation", caption, columns.table(&study.advice));
    table.named(names, 1 + study.axes().len(), "")
}

/// A confidence in percent that is never rounded up to certainty.
fn confidence(value: f64) -> String {
    if value > 0.999 {
        "over 99.9 %".into()
    } else {
        format!("{} %", fixed((1000.0 * value).floor() / 10.0, 1))
    }
}

/// The verdicts of a language on a split.
fn table(study: &Study, lang: &str, split: &'static str, page: &mut Page) {
    let rows: Vec<&PolicyVerdict> = study.verdicts.of_lang(lang, split).collect();
    if rows.iter().all(|row| row.judged().is_none()) {
        if split == SPLIT && !rows.is_empty() {
            page.paragraph(unpaired(&rows));
        }
        return;
    }
    page.section(3, format!("Better or worse than none on {split}?"));
    let row = |group: &&Group| study.verdicts.get(group, split);
    let judged = move |group: &&Group| row(group).and_then(PolicyVerdict::judged);
    let columns = keys::of_group(study)
        .column("vs none", Quantity::Points(2), move |group| match group.policy.as_str() {
            BASELINE => Value::from("baseline"),
            _ => judged(group).map(|judged| judged.difference.value).into(),
        })
        .optional("95 % interval", Quantity::Change(2), move |group| {
            judged(group).map(|judged| judged.interval)
        })
        .optional("p, Holm", Quantity::Probability, move |group| judged(group).map(|judged| judged.holm_p))
        .optional("Verdict", Quantity::Text, move |group| row(group).map(|row| row.compared.words()))
        .optional("What would decide", Quantity::Text, move |group| {
            row(group).and_then(|row| row.compared.would_decide())
        })
        .optional("Stochastic order", Quantity::Number(2, ""), move |group| {
            Some(row(group)?.stochastic_order?.bound)
        })
        .column_if(split == SPLIT, "Step cost %", Quantity::Share(0), |group| {
            Some(study.standing(group)?.step_cost)
        })
        .column_if(split == SPLIT, "Pareto front", Quantity::Text, |group| study.standing(group)?.on_front)
        .optional("Seeds", Quantity::Count, move |group| row(group).map(|row| row.compared.seeds.len()));
    page.table(columns.table(study.groups_of(lang)));
    explain(study, &rows, split, page);
    if split == SPLIT {
        page.paragraph(COSTS);
        if study.groups_of(lang).any(Group::is_staged) {
            page.paragraph("In cells with stages, a step is one of the last stage.");
        }
        let here = study.advice.iter().filter(|advice| advice.langs == [lang]);
        here.for_each(|advice| page.item(recommendation(study, advice)));
    }
}

/// What the table's columns mean, as far as this table needs it.
fn explain(study: &Study, rows: &[&PolicyVerdict], split: &str, page: &mut Page) {
    let sentences = rows.iter().filter_map(|row| Some(row.judged()?.difference.sentences)).max().unwrap_or(0);
    let of = if units(study) == SENTENCES { "" } else { ", since words of a sentence are not independent" };
    page.paragraph(format!(
        "Each cell is paired with the `none` cell of its seed, sentence by sentence ({} sentences of {split}). The \
         interval is for other seeds and other sentences. It resamples whole sentences{of}. **p** is corrected for all rows of this table. \
         Equivalent means within ± {}, by two one-sided tests at 5 %. \"What would decide\" assumes that the difference \
         is what was observed, and 80 % power.",
        count(sentences as u64),
        points(study.margin())
    ));
    if rows.iter().any(|row| row.compared.seeds.len() == 1) {
        page.paragraph(
            "**One seed**: its interval and p are about two trained models on other sentences. They say nothing about \
             the policy, since another seed may reverse the difference.",
        );
    }
    if rows.iter().any(|row| row.stochastic_order.is_some()) {
        page.paragraph(
            "**Stochastic order** is the upper bound of the violation ratio over seeds: below 0.5 the policy's \
             accuracies are almost stochastically larger than those of `none`; at most 0.2 is a strong result.",
        );
    }
}

/// What the columns about cost mean.
const COSTS: &str = "**Step cost** is the predicted time of a step, in percent of that of `none`. **Pareto front**: no other \
                     policy is at least as accurate and as cheap; by mean accuracy, which may be chance. Costs are predicted here, \
                     also where steps were timed, since a prediction does not depend on the machine's other work; what \
                     was measured stands under \"What a step costs\".";

/// `verdicts.csv`.
fn file(study: &Study) -> Option<DataFile> {
    let rows: Vec<&PolicyVerdict> = study.verdicts.rows.iter().filter(|row| row.judged().is_some()).collect();
    if rows.is_empty() {
        return None;
    }
    let synthetic = study.synthetic();
    let columns = Columns::default()
        .column("synthetic", Quantity::Text, move |_| synthetic)
        .column("lang", Quantity::Text, |row: &&PolicyVerdict| row.lang.clone())
        .column("policy", Quantity::Text, |row| row.policy.clone())
        .and(keys::raw_axes(study, |row: &&PolicyVerdict| &row.extras))
        .column("split", Quantity::Text, |row| row.split)
        .column("seeds", Quantity::Count, |row| row.compared.seeds.len())
        .column("sentences", Quantity::Count, |row| row.judged().map(|found| found.difference.sentences))
        .column("difference", Quantity::Change(2), |row| row.judged().map(|found| found.difference.value))
        .column("low", Quantity::Change(2), |row| row.judged().map(|found| found.interval[0]))
        .column("high", Quantity::Change(2), |row| row.judged().map(|found| found.interval[1]))
        .column("p", Quantity::Probability, |row| row.judged().map(|found| found.p))
        .column("holm_p", Quantity::Probability, |row| row.judged().map(|found| found.holm_p))
        .column("equivalence_p", Quantity::Probability, |row| row.judged().map(|found| found.equivalence_p))
        .column("verdict", Quantity::Text, |row| row.judged().map(|found| found.verdict.name()))
        .column("seeds_needed", Quantity::Count, |row| row.judged().and_then(|found| found.needed?.seeds))
        .column("sentences_needed", Quantity::Count, |row| {
            row.judged().and_then(|found| found.needed?.sentences)
        });
    Some(DataFile {
        path: "verdicts.csv",
        about:
            "one row per policy and split: its difference from `none`, with interval, p-values and verdict."
                .into(),
        table: columns.table(rows),
    })
}
