//! What came out, in three sentences that are written from the numbers.

use crate::number::{fixed, listed, signed};
use crate::study::advice::SPLIT;
use crate::study::{BASELINE, CellGroup, Study, described, saved};
use crate::topic::{ReportPlace, Topics, items_for_place};

/// Returns three sentences, and further findings of topics. With verdicts: the question, what freezing costs, and what to do.
pub(super) fn of_study(study: &Study, topics: &Topics) -> (Vec<String>, Vec<String>) {
    let judged = study.verdicts.rows.iter().any(|row| row.split == SPLIT && row.judged().is_some());
    let first = if judged { Some(described::state_question(study)) } else { range_of_scores(study) };
    let mut sentences: Vec<String> = first.into_iter().collect();
    sentences.extend(items_for_place(topics, study, ReportPlace::Opening));
    // A recommendation has its own time; if there is none, the cheapest policy is no answer.
    if sentences.len() < 3 && !judged {
        sentences.extend(cheapest_policy(study));
    }
    let more = sentences.split_off(sentences.len().min(3));
    (sentences, more)
}

/// Which policy is predicted to save the most time, and what was measured of it.
fn cheapest_policy(study: &Study) -> Option<String> {
    let savings =
        study.groups.iter().filter_map(|group| Some((group, saved::predicted_share(study, group)?)));
    let (group, share) = savings.min_by(|a, b| b.1.total_cmp(&a.1))?;
    let at = if study.langs().len() > 1 { format!(", in {}", group.lang) } else { String::new() };
    let langs = std::slice::from_ref(&group.lang);
    let measured = saved::describe_saving(study, &group.policy, &group.extras, langs);
    Some(format!(
        "A training step is predicted to save the most time with **{}**{at}: {} % of the time of a step in which everything \
         learns{}.",
        group.policy,
        fixed(100.0 * share, 1),
        measured.map_or_else(String::new, |measured| format!("; measured in turns, {measured}"))
    ))
}

/// A policy's mean accuracy on dev, and its difference from the baseline if there is one.
struct ReachedScore<'a> {
    group: &'a CellGroup,
    accuracy: f64,
    gain: Option<f64>,
}

/// What is reached if everything learns, and by how much policies differ from that.
fn range_of_scores(study: &Study) -> Option<String> {
    let all = study.groups.iter().filter_map(|group| {
        let accuracy = group.dev.as_ref()?.score.mean;
        Some(ReachedScore { group, accuracy, gain: group.dev_gain.map(|gain| gain.mean) })
    });
    let all: Vec<ReachedScore<'_>> = all.collect();
    let at = |one: &ReachedScore<'_>| {
        let lang = if study.langs().len() > 1 { format!(" in {}", one.group.lang) } else { String::new() };
        let extras = crate::study::words::extras_name(study, &one.group.extras);
        let extras = if extras.is_empty() { extras } else { format!(", {extras}") };
        format!("**{}**{extras}{lang}", one.group.policy)
    };
    let (bases, others): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.group.policy == BASELINE);
    let gains = others.iter().filter_map(|one| Some((*one, one.gain?)));
    let best = gains.clone().max_by(|a, b| a.1.total_cmp(&b.1));
    let worst = gains.min_by(|a, b| a.1.total_cmp(&b.1));
    if let (Some(best), Some(worst)) = (best, worst) {
        let is_plain = bases.len() == study.langs().len();
        let reached: Vec<String> = bases
            .iter()
            .map(|one| format!("{} % in {}", fixed(100.0 * one.accuracy, 2), one.group.lang))
            .collect();
        let reached = match is_plain {
            true => {
                format!(
                    "If everything learns, dev {} is {}; freezing changes it",
                    study.metric(),
                    listed(&reached)
                )
            }
            false => format!("Freezing changes dev {}", study.metric()),
        };
        let by = |(one, gain): (&ReachedScore<'_>, f64)| {
            format!("{} points ({})", signed(100.0 * gain, 2), at(one))
        };
        let range = match std::ptr::eq(best.0, worst.0) {
            true => by(best),
            false => format!("{} to {}", by(best), by(worst)),
        };
        return Some(format!("{reached} by {range}, as a mean over seeds."));
    }
    let by = |a: &&ReachedScore<'_>, b: &&ReachedScore<'_>| a.accuracy.total_cmp(&b.accuracy);
    let (low, high) = (all.iter().min_by(by)?, all.iter().max_by(by)?);
    if std::ptr::eq(low.group, high.group) {
        return Some(format!(
            "Mean dev {} is {} % ({}).",
            study.metric(),
            fixed(100.0 * low.accuracy, 2),
            at(low)
        ));
    }
    Some(format!(
        "Mean dev {} runs from {} % ({}) to {} % ({}).",
        study.metric(),
        fixed(100.0 * low.accuracy, 2),
        at(low),
        fixed(100.0 * high.accuracy, 2),
        at(high)
    ))
}
