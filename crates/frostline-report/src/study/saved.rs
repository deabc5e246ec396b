//! Time that steps save: predicted as a number, and measured in turns in words.

use frostline_score::Estimate;

use crate::number::{fixed, listed};
use crate::study::cells::BASELINE;
use crate::study::groups::CellGroup;
use crate::study::place::{Placed, PolicyPlace};
use crate::study::whole::Study;
use crate::table::TableValue;

/// More languages than this are summarised by the least and the most.
const MOST_NAMED: usize = 3;

/// The share of the time of a step of `none` that a policy is predicted to save; nothing for `none`, and if stages
/// have steps of different costs.
pub(crate) fn predicted_share(study: &Study, group: &CellGroup) -> Option<f64> {
    let is_one = group.policy != BASELINE && !group.is_staged();
    Some(1.0 - study.standing(group).filter(|_| is_one)?.step_cost)
}

/// The same as a table shows it.
pub(crate) fn predicted_shown(study: &Study, group: &CellGroup) -> TableValue {
    match group.policy == BASELINE && !group.is_staged() && study.standing(group).is_some() {
        true => "baseline".into(),
        false => predicted_share(study, group).into(),
    }
}

/// What a policy's steps saved in these languages: `it saves 12.4 % (10.1 to 14.0)`. Nothing if no steps were taken in
/// turns.
pub(crate) fn describe_saving(
    study: &Study,
    policy: &str,
    extras: &[String],
    langs: &[String],
) -> Option<String> {
    let mut timed: Vec<(&str, Option<Estimate>)> = Vec::new();
    for lang in langs {
        let place = PolicyPlace { lang, policy, extras };
        let group = study.groups.iter().find(|group| group.place() == place);
        if group.is_some_and(CellGroup::learns_nothing) {
            return Some("it learns nothing, so that all of the training time is saved".into());
        }
        let cost = group.and_then(|group| study.step_cost(group));
        if let Some(cost) = cost.filter(|cost| cost.ratio.is_some()) {
            timed.push((lang, cost.measured_saving()));
        }
    }
    if timed.is_empty() {
        return None;
    }
    let mut found: Vec<(&str, Estimate)> =
        timed.iter().filter_map(|(lang, saving)| Some((*lang, (*saving)?))).collect();
    let at = |lang: &str| if langs.len() > 1 { format!(" in {lang}") } else { String::new() };
    let percent = |value: f64| fixed(100.0 * value, 1);
    if found.is_empty() {
        return Some("what it saves is not measurable here".into());
    }
    let open = match timed.len() - found.len() {
        0 => String::new(),
        open => format!(", not measurable in {open} of {} languages", langs.len()),
    };
    if found.len() <= MOST_NAMED {
        let each = found.iter().map(|(lang, found)| {
            let [low, high] = [found.low, found.high].map(percent);
            format!("{} % ({low} to {high}){}", percent(found.value), at(lang))
        });
        return Some(format!("it saves {}{open}", listed(&each.collect::<Vec<_>>())));
    }
    found.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let (least, most) = (found.first()?, found.last()?);
    let [low, high] = [least, most].map(|(lang, found)| format!("{} % ({lang})", percent(found.value)));
    Some(format!("it saves {low} to {high}{open}"))
}
