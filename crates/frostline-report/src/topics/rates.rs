//! Learning rates that a search found before the comparison: what was tried, what it scored, and what was chosen.

use frostline_record::{Edge, FoundRate, RateSearch, Rung, ScoredOn};
use frostline_score::MeanStd;

use crate::chart::{
    Chart, ChartLine, ChartNote, Figure, LineChart, LineKey, LinePanel, Spread, Theme, Tone, XAxis, YAxis,
};
use crate::fields::JsonFields;
use crate::number::count;
use crate::page::Page;
use crate::study::{Study, distinct};
use crate::table::{Quantity, TableColumns};
use crate::topic::{ReportPlace, Topic};

/// Learning rates that a search found.
pub(crate) struct RatesTopic;

impl Topic for RatesTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        match place {
            ReportPlace::Summary => {
                let Some(search) = rate_search(study) else { return };
                page.section(2, "Learning rates");
                page.table(rate_columns(study).table(&search.found));
                page.paragraph(how_found(search));
            }
            ReportPlace::Caveats => page.items({
                let caveat = "**Policies have different learning rates**: each has the one that a search found for it, in place of the \
                            plan's (see *Learning rates*), so that none is judged at another's.";
                rate_search(study).map(|_| caveat.to_string()).into_iter().collect::<Vec<String>>()
            }),
            _ => {}
        }
    }

    fn figures(&self, study: &Study) -> Vec<Figure> {
        let Some(search) = rate_search(study) else { return Vec::new() };
        vec![Figure {
            path: "figures/rates.svg",
            title: "Score by learning rate, in the search for rates",
            theme: Theme::Learning,
            about: "Each line is a policy's score at the rates that were tried, panel by panel on more train sentences. The \
                    last rung decides."
                .into(),
            chart: Chart::Lines(LineChart {
                panels: rung_panels(study, search),
                x_title: "learning rate",
                x: XAxis::Rates,
                y_title: "score, %",
                y: YAxis::Shares,
                spread: Spread::Nothing,
                key: LineKey::Both,
            }),
            notes: vec![
                ChartNote::XAxis,
                ChartNote::YAxis,
                "Rates at which training diverged have no point.".into(),
            ],
            across: search.found.iter().map(|found| found.rungs.len()).max().unwrap_or(1),
        }]
    }

    fn facts(&self, study: &Study) -> JsonFields {
        JsonFields::default().with_known("learning_rates", rate_search(study))
    }
}

fn rate_search(study: &Study) -> Option<&RateSearch> {
    study.sweep.rates.as_ref().filter(|search| !search.found.is_empty())
}

fn rate_columns(study: &Study) -> TableColumns<'_, &FoundRate> {
    let has_axes = !study.axes().is_empty();
    let share = |found: &&FoundRate| found.parameters[0] as f64 / found.parameters[1].max(1) as f64;
    TableColumns::default()
        .column("Frozen", Quantity::Text, |found: &&FoundRate| found.policy.to_string())
        .column("Languages", Quantity::Text, |found| joined_langs(found))
        .column_if(has_axes, "With", Quantity::Text, |found| joined_axes(found))
        .column("Trainable", Quantity::Percent(2), share)
        .column("Tried", Quantity::Text, |found| {
            let [lowest, highest] = found.tried();
            format!("{lowest:e} to {highest:e}")
        })
        .column("Rate", Quantity::Text, |found| format!("{:e}", found.lr))
        .column("Score there", Quantity::Percent(2), |found| found.score())
        .column("At an end of what was tried", Quantity::Text, |found| match found.edge {
            None => "no",
            Some(Edge::Lowest) => "the lowest",
            Some(Edge::Highest) => "the highest",
        })
}

fn how_found(search: &RateSearch) -> String {
    let most = |rung: fn(&FoundRate) -> Option<&Rung>| {
        search.found.iter().filter_map(rung).map(|rung| rung.sentences).max().unwrap_or(0)
    };
    let on_dev = search.found.iter().any(|found| found.scored_on == ScoredOn::Dev);
    let scored = match on_dev {
        false => "scored on a piece cut off the train sentences, so that no dev or test sentence took part",
        true => {
            "scored on dev if a dataset has no train file to cut a piece off; the choice has seen dev then"
        }
    };
    format!(
        "Rates were found by successive halving before the cells that are compared, with cells of seed {}, which none of them has: \
         rates half a decade apart, on {} train sentences at first and up to {} for the best ones, {scored}. The score is the \
         headline task's (F1 of entities, else accuracy), as a mean over the languages named.",
        search.seed,
        count(most(|found| found.rungs.first())),
        count(most(|found| found.rungs.last())),
    )
}

fn joined_langs(found: &FoundRate) -> String {
    found.langs.iter().map(|lang| lang.as_str()).collect::<Vec<_>>().join(", ")
}

fn joined_axes(found: &FoundRate) -> String {
    let each = found.axes.iter().map(|(path, value)| format!("{path} = {value}"));
    each.collect::<Vec<_>>().join(", ")
}

/// A panel for each rung, and if rates were found for several languages or axes, for each of these.
fn rung_panels(study: &Study, search: &RateSearch) -> Vec<LinePanel> {
    let place = |found: &FoundRate| (joined_langs(found), joined_axes(found));
    let mut panels = Vec::new();
    for of in distinct(search.found.iter().map(place)) {
        let here: Vec<&FoundRate> = search.found.iter().filter(|found| place(found) == of).collect();
        for rung in 0..here.iter().map(|found| found.rungs.len()).max().unwrap_or(0) {
            let sentences =
                here.iter().filter_map(|found| found.rungs.get(rung)).map(|rung| rung.sentences).max();
            let sentences = format!("{} sentences", count(sentences.unwrap_or(0)));
            let title = [of.0.clone(), of.1.clone(), sentences].into_iter().filter(|part| !part.is_empty());
            let lines = here.iter().filter_map(|found| trial_line(study, found, found.rungs.get(rung)?));
            panels.push(LinePanel { title: title.collect::<Vec<_>>().join(", "), lines: lines.collect() });
        }
    }
    panels
}

fn trial_line(study: &Study, found: &FoundRate, rung: &Rung) -> Option<ChartLine> {
    let points = rung.trials.iter().filter_map(|trial| Some((trial.lr, MeanStd::of(&[trial.score?])?)));
    let points: Vec<(f64, MeanStd)> = points.collect();
    let policy = found.policy.as_str();
    let tone = Tone::Policy(study.place_of(policy));
    (!points.is_empty()).then(|| ChartLine { name: Some(policy.into()), tone, points })
}
