//! Is a policy better or worse than `none`, and which is the cheapest that is not worse? One rule for all tables.

use crate::facts;
use crate::fields::JsonFields;
use crate::keys;
use crate::number::{capital, count, fixed, listed, plural, signed};
use crate::page::Page;
use crate::study::advice::{Advice, Choice, Open, SPLIT};
use crate::study::pair_verdicts::PairVerdict;
use crate::study::verdicts::{PolicyVerdict, show_points};
use crate::study::words::{SENTENCES, counted_units, extras_name};
use crate::study::{CellGroup, SPLITS, Study, distinct};
use crate::study::{described, saved};
use crate::table::{PaperTable, Quantity, TableColumns, TableValue};
use crate::topic::{ReportPlace, Topic, TopicTable};

use frostline_score::{Judged, Verdict};

/// Verdicts.
pub(crate) struct VerdictsTopic;

impl Topic for VerdictsTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        match place {
            ReportPlace::Opening => page.items({
                write_opening(study)
            }),
            ReportPlace::Reading => page.items({
                if !study.has_baseline() {
                    return;
                }
                vec![format!(
                    "**better**, **worse**: the interval of the difference from `none` lies above or below 0. **equivalent**: it lies \
                     within {margin} of 0; a difference may be both, such as \"worse, within the margin\". **undecided**: none of \
                     these, which does not mean equal. The intervals of a language hold together: with a probability of 95 %, all of \
                     them contain their true difference. Policies are compared with the same seed on the same sentences. \
                     {grown}docs/statistics.md explains the rule.",
                    margin = show_points(study.margin()),
                    grown = if study.levels().is_some() { GROWN } else { "" }
                )]
            }),
            ReportPlace::Language(lang) => {
                for split in SPLITS {
                    describe_verdicts(study, lang, split, page);
                }
                describe_pairs(study, lang, page);
            }
            _ => {}
        }
    }

    fn tables(&self, study: &Study) -> Vec<TopicTable> {
        let advised = (!study.advice.is_empty()).then(|| TopicTable::Paper(recommendation_table(study)));
        file_table(study).into_iter().chain(advised).collect()
    }

    fn facts(&self, study: &Study) -> JsonFields {
        JsonFields::default().with_some("advice", &study.advice).with_some("pairs", &study.pairs)
    }

    fn group_facts(&self, study: &Study, group: &CellGroup) -> JsonFields {
        let standing = study.standing(group);
        JsonFields::default()
            .with("step_cost", &standing.map(|standing| standing.step_cost))
            .with("on_pareto_front", &standing.and_then(|standing| standing.on_front))
            .with_known("dev_verdict", study.verdicts.get(group, "dev"))
            .with_known("test_verdict", study.verdicts.get(group, "test"))
    }
}

/// What came out, in a few sentences: how many policies differ, what to freeze, and what is missing.
pub(crate) fn write_opening(study: &Study) -> Vec<String> {
    let rows: Vec<&PolicyVerdict> = study.verdicts.rows.iter().filter(|row| row.split == SPLIT).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let judged = rows.iter().filter(|row| row.judged().is_some()).count();
    if judged == 0 {
        return vec![explain_missing(&rows)];
    }
    let mut sentences = vec![summarize_differences(study, &rows)];
    if rows.iter().all(|row| row.compared.seeds.len() < 2) {
        let seeds = distinct(study.cells.iter().map(|view| view.cell.settings.seed)).len();
        let next = match seeds {
            1 => "Run at least three seeds.",
            _ => "Only one can be compared yet; the same sweep command continues with the others.",
        };
        sentences.push(format!(
            "With one seed nothing can be concluded about a policy, only about two trained models: another seed may reverse any \
             difference. {next}"
        ));
        return sentences;
    }
    let several = study.langs().len() > 1;
    let whole = study.advice.iter().filter(|advice| several == (advice.langs.len() > 1));
    sentences.extend(whole.map(|advice| write_recommendation(study, advice)));
    sentences
}

/// What freezing costs: the range of differences from `none`, and how many of them are shown to be small or large.
fn summarize_differences(study: &Study, rows: &[&PolicyVerdict]) -> String {
    let found: Vec<&Judged> = rows.iter().filter_map(|row| row.judged()).collect();
    let values = found.iter().map(|found| 100.0 * found.difference.value);
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let margin = study.margin() / 100.0;
    let bad = found.iter().filter(|found| found.loses_more_than(margin)).count();
    let good = found.iter().filter(|found| found.loses_at_most(margin)).count();
    let range = match fixed(low, 2) == fixed(high, 2) {
        true => format!("{} points", signed(low, 2)),
        false => format!("{} to {} points", signed(low, 2), signed(high, 2)),
    };
    let metric = study.metric();
    // The sentence begins with the number of training sentences, if it is known.
    let beginning = |subject: &str| match described::train_sentences(study) {
        Some(sentences) => format!("With {sentences} training sentences, {subject}"),
        None => capital(subject),
    };
    if bad == found.len() {
        let every = beginning(if found.len() == 1 { "freezing" } else { "every policy" });
        let costs = match fixed(low, 2) == fixed(high, 2) {
            true => fixed(-low, 2),
            false => format!("{} to {}", fixed(-high, 2), fixed(-low, 2)),
        };
        let margin = show_points(study.margin());
        return format!(
            "{every} costs {costs} points of {SPLIT} {metric} against `none`, more than the margin of {margin}."
        );
    }
    let is_between = |found: &&&Judged| {
        found.verdict == Verdict::Worse && !found.loses_more_than(margin) && !found.loses_at_most(margin)
    };
    let worse = found.iter().filter(is_between).count();
    let freezing = beginning("freezing");
    let margin = show_points(study.margin());
    let kinds = [
        (bad, format!("shown to lose more than {margin}")),
        (worse, format!("worse, but whether by more than {margin} is not decided")),
        (good, format!("shown to lose at most {margin}")),
        (found.len() - good - bad - worse, "undecided".to_string()),
    ];
    let tally = match kinds.iter().find(|(count, _)| *count == found.len()) {
        Some((1, kind)) => format!("The one comparison is {kind}."),
        Some((all, kind)) => format!("All {all} comparisons are {kind}."),
        None => {
            let some = kinds.iter().filter(|(count, _)| *count > 0);
            let some: Vec<String> = some.map(|(count, kind)| format!("{count} {kind}")).collect();
            format!("Of {}: {}.", plural(found.len(), "comparison"), listed(&some))
        }
    };
    format!("{freezing} changes {SPLIT} {metric} by {range} against `none`. {tally}")
}

/// Why no row has a verdict.
fn explain_missing(rows: &[&PolicyVerdict]) -> String {
    let why = rows.first().and_then(|row| row.compared.why_unjudged()).unwrap_or_default();
    format!("No policy can be judged against `none`: {why}.")
}

/// A recommendation as a sentence or two.
pub(crate) fn write_recommendation(study: &Study, advice: &Advice) -> String {
    let extras = extras_name(study, &advice.extras);
    let within = if extras.is_empty() { String::new() } else { format!(" with {extras}") };
    let (place, each) = match advice.langs.as_slice() {
        [one] => (format!("In {one}{within}"), ""),
        all => (format!("Over {}{within}", listed(all)), " in each of them"),
    };
    let margin = show_points(advice.margin);
    let open = advice.open.as_ref().map(|open| still_open(study, advice, open)).unwrap_or_default();
    let Some(choice) = &advice.choice else {
        let losing = match (advice.losing, advice.policies) {
            (0, _) => String::new(),
            (1, 1) => "; it is shown to lose more".into(),
            (losing, all) if losing == all => format!("; all {all} are shown to lose more: train everything"),
            (1, all) => format!("; 1 of {all} is shown to lose more"),
            (losing, all) => format!("; {losing} of {all} are shown to lose more"),
        };
        return format!(
            "{place}, no cheaper policy is shown to lose at most {margin} against `none`{each}{losing}.{open}"
        );
    };
    let lost: Vec<String> = advice
        .langs
        .iter()
        .zip(&choice.differences)
        .map(|(lang, of)| {
            let [value, low, high] = of.map(|value| signed(100.0 * value, 2));
            let lang = if advice.langs.len() > 1 { format!("{lang} ") } else { String::new() };
            format!("{lang}{value}, {low} to {high}")
        })
        .collect();
    format!(
        "{place}, the cheapest policy that is shown to lose at most {margin} against `none`{each} is **{}** ({} points; {}).{open}",
        choice.policy,
        lost.join("; "),
        time_saved(study, advice, &choice.policy, choice.step_cost)
    )
}

/// The policy of which it is not known, with what would decide.
fn still_open(study: &Study, advice: &Advice, open: &Open) -> String {
    let needed = open.needed.as_ref().map_or_else(String::new, |needed| format!(": it would take {needed}"));
    format!(
        " It is not decided for the cheaper **{}** ({}){needed}.",
        open.policy,
        time_saved(study, advice, &open.policy, open.step_cost)
    )
}

/// The share of a step's time that a policy saves, measured or predicted.
fn time_saved(study: &Study, advice: &Advice, policy: &str, step_cost: f64) -> String {
    let step =
        if study.groups.iter().any(CellGroup::is_staged) { "a step of the last stage" } else { "a step" };
    match saved::describe_saving(study, policy, &advice.extras, &advice.langs) {
        Some(measured) => format!("time of {step}, measured in turns: {measured}"),
        None => format!("{step} is predicted to save {} % of the time", fixed(100.0 * (1.0 - step_cost), 0)),
    }
}

/// Recommendations for LaTeX.
fn recommendation_table(study: &Study) -> PaperTable {
    let of = |get: fn(&Choice) -> TableValue| {
        move |advice: &&Advice| advice.choice.as_ref().map_or(TableValue::Missing, get)
    };
    let saved = |advice: &&Advice| {
        let choice = advice.choice.as_ref()?;
        saved::describe_saving(study, &choice.policy, &advice.extras, &advice.langs)
    };
    let lang = |advice: &&Advice| match advice.langs.as_slice() {
        [one] => one.clone(),
        _ => "all".to_string(),
    };
    let columns = TableColumns::default()
        .column("Language", Quantity::Text, lang)
        .and(keys::axis_columns(study, |advice: &&Advice| &advice.extras))
        .column("Policy", Quantity::Text, |advice| {
            advice.choice.as_ref().map_or("none is shown".to_string(), |choice| choice.policy.clone())
        })
        .optional("Difference", Quantity::Text, |advice| {
            let choice = advice.choice.as_ref()?;
            let of = |one: &[f64; 3]| {
                let [value, low, high] = one.map(|value| signed(100.0 * value, 2));
                format!("{value} ({low} to {high})")
            };
            Some(choice.differences.iter().map(of).collect::<Vec<_>>().join(", "))
        })
        .optional("Time saved, predicted", Quantity::Percent(0), of(|choice| (1.0 - choice.step_cost).into()))
        .optional("Measured in turns", Quantity::Text, saved)
        .optional("Not decided for", Quantity::Text, |advice| {
            advice.open.as_ref().map(|open| open.policy.clone())
        });
    let name = |advice: &Advice| [lang(&advice), keys::path("recommendation", &advice.extras)];
    let names = study.advice.iter().map(name).collect();
    let caption = format!(
        "The cheapest policy that is shown to lose at most {} against none; a step's cost is predicted.",
        show_points(study.margin())
    );
    let table = PaperTable::new("recommendation", caption, columns.table(&study.advice));
    table.named(names, 1 + study.axes().len(), "")
}

/// The verdicts of a language on a split.
fn describe_verdicts(study: &Study, lang: &str, split: &'static str, page: &mut Page) {
    let rows: Vec<&PolicyVerdict> = study.verdicts.of_lang(lang, split).collect();
    if rows.iter().all(|row| row.judged().is_none()) {
        if split == SPLIT && !rows.is_empty() {
            page.paragraph(explain_missing(&rows));
        }
        return;
    }
    page.section(3, format!("Better or worse than none on {split}?"));
    page.table(facts::verdicts_table(study, lang, split));
    explain_columns(study, &rows, split, page);
    if split == SPLIT {
        page.paragraph(COSTS);
        if study.groups_of(lang).any(CellGroup::is_staged) {
            page.paragraph("In cells with stages, a step is one of the last stage.");
        }
        let here = study.advice.iter().filter(|advice| advice.langs == [lang]);
        here.for_each(|advice| page.item(write_recommendation(study, advice)));
    }
}

/// The pairs of policies that the plan's question names, in a language.
fn describe_pairs(study: &Study, lang: &str, page: &mut Page) {
    let rows: Vec<&PairVerdict> = study.pairs.iter().filter(|pair| pair.lang == lang).collect();
    if rows.is_empty() {
        return;
    }
    page.section(3, format!("Pairs of policies on {SPLIT}"));
    let interval = |pair: &&PairVerdict| {
        let [low, high] = pair.compared.judged()?.interval.map(|end| signed(100.0 * end, 2));
        Some(format!("{low} to {high}"))
    };
    let columns = TableColumns::default()
        .column("First", Quantity::Text, |pair: &&PairVerdict| pair.policies[0].clone())
        .column("Second", Quantity::Text, |pair| pair.policies[1].clone())
        .and(keys::axis_columns(study, |pair: &&PairVerdict| &pair.extras))
        .column("Seeds", Quantity::Count, |pair| pair.compared.seeds.len())
        .column("First minus second", Quantity::Change(2), |pair| {
            pair.compared.judged().map(|found| found.difference.value)
        })
        .optional("95 % interval", Quantity::Text, interval)
        .column("Verdict", Quantity::Text, |pair| pair.compared.words())
        .optional("What would decide", Quantity::Text, |pair| pair.compared.would_decide());
    page.table(columns.table(rows));
    page.paragraph(
        "The verdict is on the first policy of a pair. Cells are paired by seed, and the intervals of a language's pairs hold together.",
    );
}

/// What the table's columns mean, as far as this table needs it.
fn explain_columns(study: &Study, rows: &[&PolicyVerdict], split: &str, page: &mut Page) {
    let sentences = rows.iter().filter_map(|row| Some(row.judged()?.difference.sentences)).max().unwrap_or(0);
    let of = if counted_units(study) == SENTENCES {
        ""
    } else {
        ", since words of a sentence are not independent"
    };
    page.paragraph(format!(
        "Each cell is paired with the `none` cell of its seed, sentence by sentence ({} sentences of {split}). The \
         intervals are for other seeds and other sentences, and hold together: with a probability of 95 %, all of this table's \
         contain their true difference. The verdict depends on the interval: below 0 worse, above 0 better, within ± {} \
         equivalent. Whole sentences are resampled{of}; the scatter of seeds is estimated from all comparisons of the study. \
         **p** is 1 minus the confidence of the interval that ends at 0. \"What would decide\" assumes that the difference is what was \
         observed, and 80 % power.",
        count(sentences as u64),
        show_points(study.margin())
    ));
    if study.levels().is_some() {
        page.paragraph(format!(
            "{GROWN}p is multiplied by 0.05 over the level of the comparison's number of seeds, so that its limit is 0.05."
        ));
    }
    if rows.iter().any(|row| row.compared.seeds.len() == 1) {
        page.paragraph(
            "**One seed**: its interval and p are about two trained models on other sentences, not about the policy: \
             another seed may reverse the difference.",
        );
    }
    if rows.iter().any(|row| row.stochastic_order.is_some()) {
        page.paragraph(
            "**Stochastic order** is the upper bound of the violation ratio over seeds: below 0.5 the policy's \
             accuracies are almost stochastically larger than the accuracies of `none`; at most 0.2 is a strong result.",
        );
    }
}

/// How a sweep that stops when it knows is judged.
const GROWN: &str = "This sweep started with two seeds and gave more only to comparisons that its question needed; it was judged after each further \
     seed. Intervals of fewer seeds are wider for that, so that all looks together have the 5 %. ";

/// What the columns about cost mean.
const COSTS: &str = "**Time saved** is the share of the time of a step of `none` that a step is predicted to save. **Pareto front**: no other \
     policy is at least as cheap and shown to score more, by the intervals of both. Predictions are shown here, even if \
     steps were timed, since they do not depend on the machine's other work; what was measured is listed under \"What a step costs\".";

/// Differences with their verdicts, for programs.
fn file_table(study: &Study) -> Option<TopicTable> {
    let own = study.verdicts.rows.iter().map(|row| (study.metric(), row));
    let macro_f1 = study.verdicts.macro_f1.iter().map(|row| ("macro F1", row));
    let rows: Vec<(&'static str, &PolicyVerdict)> =
        own.chain(macro_f1).filter(|(_, row)| row.judged().is_some()).collect();
    if rows.is_empty() {
        return None;
    }
    let synthetic = study.synthetic();
    let columns = TableColumns::default()
        .column("synthetic", Quantity::Text, move |_| synthetic)
        .column("lang", Quantity::Text, |(_, row): &(&str, &PolicyVerdict)| row.lang.clone())
        .column("policy", Quantity::Text, |(_, row)| row.policy.clone())
        .and(keys::raw_axes(study, |(_, row): &(&'static str, &PolicyVerdict)| &row.extras))
        .column("score", Quantity::Text, |(score, _)| *score)
        .column("split", Quantity::Text, |(_, row)| row.split)
        .column("seeds", Quantity::Count, |(_, row)| row.compared.seeds.len())
        .column("sentences", Quantity::Count, |(_, row)| row.judged().map(|found| found.difference.sentences))
        .column("difference", Quantity::Change(2), |(_, row)| {
            row.judged().map(|found| found.difference.value)
        })
        .column("low", Quantity::Change(2), |(_, row)| row.judged().map(|found| found.interval[0]))
        .column("high", Quantity::Change(2), |(_, row)| row.judged().map(|found| found.interval[1]))
        .column("p", Quantity::Probability, |(_, row)| row.judged().map(|found| found.p))
        .column("verdict", Quantity::Text, |(_, row)| row.judged().map(|found| found.verdict.name()))
        .column("within_margin", Quantity::Text, |(_, row)| row.judged().map(|found| found.within_margin))
        .column("seeds_needed", Quantity::Count, |(_, row)| {
            row.judged().and_then(|found| found.needed?.seeds)
        })
        .column("sentences_needed", Quantity::Count, |(_, row)| {
            row.judged().and_then(|found| found.needed?.sentences)
        });
    Some(TopicTable::Rows("verdicts", columns.table(rows)))
}
