//! Accuracy against the time that a step saves: the figure that a report shows first. It uses measured times if steps
//! were timed in turns, and predicted ones otherwise.

use crate::chart::{Chart, ChartNote, Figure, Scatter, ScatterPanel, ScatterPoint, Theme, Tone};
use crate::number::listed;
use crate::study::advice::SPLIT;
use crate::study::words::{DEV_AXIS, dev_accuracy};
use crate::study::{BASELINE, CellGroup, Panel, Study, choose_named, distinct, panels, saved, unnamed_note};
use crate::topic::Topic;

/// Accuracy against time, with the Pareto front.
pub(crate) struct ParetoTopic;

impl Topic for ParetoTopic {
    fn figures(&self, study: &Study) -> Vec<Figure> {
        accuracy_figure(study).into_iter().collect()
    }
}

/// The source of a figure's times; all its panels have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeSource {
    Measured,
    Predicted,
}

/// Time saved and accuracy of a policy.
struct PolicyPoint<'a> {
    group: &'a CellGroup,
    /// Share of a step of `none`.
    saved: f64,
    /// Interval of `saved`; prediction has none.
    saved_interval: Option<[f64; 2]>,
    accuracy: f64,
    /// Whether the policy is marked as part of the Pareto front.
    is_marked: bool,
}

impl TimeSource {
    /// Measured, if each panel that compares policies has measured times of at least two.
    fn of(study: &Study, panels: &[Panel<'_>]) -> Self {
        let compared = |panel: &&Panel<'_>| Self::Predicted.places(study, panel).len() > 1;
        let is_measured = |panel: &Panel<'_>| Self::Measured.places(study, panel).len() > 1;
        match panels.iter().filter(compared).all(is_measured) {
            true => Self::Measured,
            false => Self::Predicted,
        }
    }

    fn places<'a>(self, study: &Study, panel: &Panel<'a>) -> Vec<PolicyPoint<'a>> {
        let place = |group: &&'a CellGroup| {
            let accuracy = group.dev.as_ref()?.score.mean;
            let is_marked = study.standing(group)?.on_front?;
            let (saved, saved_interval) = self.saved(study, group)?;
            Some(PolicyPoint { group, saved, saved_interval, accuracy, is_marked })
        };
        panel.groups.iter().filter_map(place).collect()
    }

    fn saved(self, study: &Study, group: &CellGroup) -> Option<(f64, Option<[f64; 2]>)> {
        if self == Self::Predicted {
            let saved = if group.policy == BASELINE { 0.0 } else { saved::predicted_share(study, group)? };
            return Some((saved, None));
        }
        let found = study.step_cost(group)?.saving()?;
        let ends = [found.low, found.high];
        let is_known = group.policy != BASELINE && ends.iter().all(|end| end.is_finite());
        Some((found.value, is_known.then_some(ends)))
    }
}

/// Nothing for one policy, or if the stages of a cell have steps of different costs.
fn accuracy_figure(study: &Study) -> Option<Figure> {
    let panels = panels(study);
    let several = panels.iter().any(|panel| TimeSource::Predicted.places(study, panel).len() > 1);
    if study.is_staged() || !several {
        return None;
    }
    let source = TimeSource::of(study, &panels);
    let all = || panels.iter().flat_map(|panel| source.places(study, panel));
    let is_judged = all().all(|place| is_judged(study, &place));
    let panels_drawn: Vec<ScatterPanel> =
        panels.iter().map(|panel| panel_points(study, source, panel, is_judged)).collect();
    let has_references = panels_drawn.iter().any(|panel| !panel.references.is_empty());
    let (title, x_title, step) = match source {
        TimeSource::Measured => (
            dev_accuracy!(" against the time saved, measured"),
            "time saved, % of a step of none",
            "A policy further right took less time for a training step, measured in turns with `none`; its horizontal line \
             is the 95 % interval.",
        ),
        TimeSource::Predicted => (
            dev_accuracy!(" against the time saved, predicted"),
            "time saved, predicted, % of a step of none",
            "A policy further right is predicted to take less time for a training step. No steps were timed.",
        ),
    };
    let about = format!(
        "Each point is a policy. {step} Higher is better. The step line joins the policies of the Pareto front.{}",
        if has_references {
            " Dashed lines across are baselines, which need no training of the encoder."
        } else {
            ""
        }
    );
    Some(Figure {
        path: "figures/pareto.svg",
        title,
        theme: Theme::First,
        about,
        chart: Chart::Scatter(Scatter { panels: panels_drawn, x_title, y_title: DEV_AXIS }),
        notes: figure_notes(study, source, &panels, is_judged),
        across: study.langs().len(),
    })
}

fn figure_notes(study: &Study, source: TimeSource, panels: &[Panel<'_>], is_judged: bool) -> Vec<ChartNote> {
    let whisker = match is_judged {
        true => {
            "Whisker: 95 % interval of the difference from none, for other seeds and other sentences. A whisker not \
             larger than its point is omitted."
        }
        false => {
            "Whisker: 95 % Wilson interval at the size of dev; differences between policies are known better. A whisker \
             not larger than its point is omitted."
        }
    };
    let mut notes: Vec<ChartNote> = vec![
        "Step line: joins the policies of the Pareto front, which is computed from predicted times. It may be chance which \
         policies are on it."
            .into(),
        whisker.into(),
    ];
    if source == TimeSource::Measured {
        let saved = match study.step_costs.compare_cpu_time() {
            true => "processor time saved, from steps in turns: the machine was busy.",
            false => "time saved, from steps in turns.",
        };
        notes.push(format!("Level whisker: 95 % interval of the {saved}").into());
        notes.extend(untimed_note(study, panels).map(ChartNote::Text));
    }
    notes.extend([ChartNote::YAxis, ChartNote::XAxis]);
    notes.extend(unnamed_note(panels).map(ChartNote::Text));
    notes
}

/// Policies with an accuracy whose steps were not timed.
fn untimed_note(study: &Study, panels: &[Panel<'_>]) -> Option<String> {
    let groups = panels.iter().flat_map(|panel| &panel.groups);
    let is_untimed =
        |group: &&&CellGroup| group.dev.is_some() && TimeSource::Measured.saved(study, group).is_none();
    let names = distinct(groups.filter(is_untimed).map(|group| group.policy.clone()));
    (!names.is_empty())
        .then(|| format!("Policies whose steps were not timed are not shown: {}.", listed(&names)))
}

/// Whether a policy has an interval against `none`, or is `none`.
fn is_judged(study: &Study, place: &PolicyPoint<'_>) -> bool {
    place.group.policy == BASELINE
        || study.verdicts.get(place.group, SPLIT).is_some_and(|row| row.judged().is_some())
}

fn panel_points(study: &Study, source: TimeSource, panel: &Panel<'_>, judged: bool) -> ScatterPanel {
    let places = source.places(study, panel);
    let ends: Vec<(&str, f64)> =
        places.iter().map(|place| (place.group.policy.as_str(), place.accuracy)).collect();
    let percent = |share: f64| 100.0 * share;
    let points = places.iter().zip(choose_named(&ends)).map(|(place, named)| ScatterPoint {
        name: named.then(|| place.group.policy.clone()),
        tone: Tone::of(study.place_of(&place.group.policy), named),
        x: percent(place.saved),
        x_interval: place.saved_interval.map(|ends| ends.map(percent)),
        y: place.accuracy,
        interval: score_interval(study, place, judged),
    });
    ScatterPanel {
        title: panel.title.clone(),
        points: points.collect(),
        front: front_line(&places).into_iter().map(|(saved, accuracy)| (percent(saved), accuracy)).collect(),
        references: panel.groups.first().map_or_else(Vec::new, |group| study.references(group)),
    }
}

/// The marked policies as a falling step line, from left to right. Marks are made from predicted times: a marked policy that
/// another one beats in measured time as well as accuracy is left out of the line.
fn front_line(places: &[PolicyPoint<'_>]) -> Vec<(f64, f64)> {
    let mut marked: Vec<(f64, f64)> =
        places.iter().filter(|place| place.is_marked).map(|place| (place.saved, place.accuracy)).collect();
    marked.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for place in marked {
        if kept.last().is_none_or(|best| place.1 > best.1) {
            kept.push(place);
        }
    }
    kept.reverse();
    kept
}

/// The interval of the difference from `none`, around the policy's own accuracy; Wilson's if not all are judged.
fn score_interval(study: &Study, place: &PolicyPoint<'_>, judged: bool) -> Option<[f64; 2]> {
    if !judged {
        let ends = place.group.dev.as_ref()?.accuracy_interval?;
        return Some([ends.low, ends.high]);
    }
    let found = study.verdicts.get(place.group, SPLIT)?.judged()?;
    Some(found.interval.map(|end| place.accuracy + end - found.difference.value))
}
