//! Accuracy against the predicted cost of a step, with the policies that no other beats in both.

use crate::chart::{Across, Chart, Figure, Note, Scatter, ScatterPanel, ScatterPoint, Theme, Tone};
use crate::study::advice::SPLIT;
use crate::study::{BASELINE, Group, Panel, Study, named, panels, unnamed_note};
use crate::topic::Topic;

/// The Pareto front.
pub(crate) struct Pareto;

impl Topic for Pareto {
    fn figures(&self, study: &Study) -> Vec<Figure> {
        figure(study).into_iter().collect()
    }
}

/// A policy with its cost, in percent of `none`, and its mean accuracy on dev.
struct Place<'a> {
    group: &'a Group,
    cost: f64,
    accuracy: f64,
    on_line: bool,
}

fn places<'a>(study: &Study, panel: &Panel<'a>) -> Vec<Place<'a>> {
    let place = |group: &&'a Group| {
        let standing = study.standing(group)?;
        let accuracy = group.dev.as_ref()?.score.mean;
        Some(Place { group, cost: 100.0 * standing.step_cost, accuracy, on_line: standing.on_line })
    };
    panel.groups.iter().filter_map(place).collect()
}

/// Nothing for one policy, or where the stages of a cell have steps of different costs.
fn figure(study: &Study) -> Option<Figure> {
    let panels = panels(study);
    let several = panels.iter().any(|panel| places(study, panel).len() > 1);
    if study.is_staged() || !several {
        return None;
    }
    let judged = panels.iter().all(|panel| places(study, panel).iter().all(|place| is_judged(study, place)));
    let whisker = match judged {
        true => {
            "Whisker: 95 % interval of the difference from none, for other seeds and other sentences. A whisker not \
             larger than its point is omitted."
        }
        false => {
            "Whisker: 95 % Wilson interval at the size of dev; differences between policies are known better. A whisker \
             not larger than its point is omitted."
        }
    };
    let mut notes: Vec<Note> = vec![
        "Line: the Pareto front, the best mean accuracy at this cost or less. It may be chance which policies are on it."
            .into(),
        whisker.into(),
        Note::YAxis,
        Note::XAxis,
    ];
    let measured = match study.step_costs.is_empty() {
        true => "",
        false => " What steps in turns saved stands in the first table.",
    };
    notes.extend(unnamed_note(&panels).map(Note::Text));
    Some(Figure {
        path: "figures/pareto.svg",
        title: "Dev accuracy against the predicted cost of a step",
        theme: Theme::Accuracy,
        about: "Each point is a policy. Further left means that a training step is predicted to take less time; higher \
                means better. The line joins the policies that no other beats in both."
            .to_string()
            + measured,
        chart: Chart::Scatter(Scatter {
            panels: panels.iter().map(|panel| points(study, panel, judged)).collect(),
            across: Across::Percent,
            x_title: "predicted cost of a step, % of none",
            y_title: "dev accuracy, %",
        }),
        notes,
        across: study.langs().len(),
    })
}

/// Whether a policy has an interval against `none`, or is `none`.
fn is_judged(study: &Study, place: &Place<'_>) -> bool {
    place.group.policy == BASELINE
        || study.verdicts.get(place.group, SPLIT).is_some_and(|row| row.judged().is_some())
}

fn points(study: &Study, panel: &Panel<'_>, judged: bool) -> ScatterPanel {
    let places = places(study, panel);
    let ends: Vec<(&str, f64)> =
        places.iter().map(|place| (place.group.policy.as_str(), place.accuracy)).collect();
    let points = places.iter().zip(named(&ends)).map(|(place, named)| ScatterPoint {
        name: named.then(|| place.group.policy.clone()),
        tone: Tone::of(study.place_of(&place.group.policy), named),
        x: place.cost,
        y: place.accuracy,
        interval: interval(study, place, judged),
    });
    let points = points.collect();
    let mut front: Vec<(f64, f64)> =
        places.iter().filter(|place| place.on_line).map(|place| (place.cost, place.accuracy)).collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0));
    ScatterPanel { title: panel.title.clone(), points, front }
}

/// The interval of the difference from `none`, around the policy's own accuracy; Wilson's where not all are judged.
fn interval(study: &Study, place: &Place<'_>, judged: bool) -> Option<[f64; 2]> {
    if !judged {
        let ends = place.group.dev.as_ref()?.accuracy_interval?;
        return Some([ends.low, ends.high]);
    }
    let found = study.verdicts.get(place.group, SPLIT)?.judged()?;
    Some(found.interval.map(|end| place.accuracy + end - found.difference.value))
}
