//! What one panel of a figure shows, and which of very many policies carry a name.

use crate::study::cells::BASELINE;
use crate::study::groups::CellGroup;
use crate::study::whole::Study;
use crate::study::words;

/// What one panel shows: a language under one combination of further axes.
pub(crate) struct Panel<'a> {
    pub title: String,
    pub groups: Vec<&'a CellGroup>,
}

/// The panels of a report: languages side by side, further axes below each other.
pub(crate) fn panels(study: &Study) -> Vec<Panel<'_>> {
    let mut panels = Vec::new();
    for extras in study.extras() {
        for lang in study.langs() {
            let groups: Vec<&CellGroup> =
                study.groups_of(lang).filter(|group| group.extras == extras).collect();
            let extras = words::extras_name(study, extras);
            let title = if extras.is_empty() { study.lang_title(lang) } else { format!("{lang}, {extras}") };
            if !groups.is_empty() {
                panels.push(Panel { title, groups });
            }
        }
    }
    panels
}

/// The most names that one plot of lines or points carries.
pub(crate) const NAMED: usize = 24;

/// Which of these rows carry a name and colour: all of them, or if there are too many the
/// baseline, then the highest and lowest.
pub(crate) fn choose_named(rows: &[(&str, f64)]) -> Vec<bool> {
    let mut named = vec![rows.len() <= NAMED; rows.len()];
    if rows.len() <= NAMED {
        return named;
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| rows[b].1.total_cmp(&rows[a].1).then(a.cmp(&b)));
    let (high, low) = (&order[..NAMED / 2], &order[rows.len() - NAMED / 3..]);
    for &i in high.iter().chain(low) {
        named[i] = true;
    }
    for (i, (name, _)) in rows.iter().enumerate() {
        named[i] |= *name == BASELINE;
    }
    named
}

/// The note of a figure in which [`choose_named`] leaves out names.
pub(crate) fn unnamed_note(panels: &[Panel<'_>]) -> Option<String> {
    let with_result = |panel: &Panel<'_>| panel.groups.iter().filter(|group| group.dev.is_some()).count();
    let most = panels.iter().map(with_result).max()?;
    let has_baseline = panels.iter().flat_map(|panel| &panel.groups).any(|group| group.policy == BASELINE);
    (most > NAMED).then(|| {
        let (high, low) = (NAMED / 2, NAMED / 3);
        let named = match has_baseline {
            true => format!("the highest {high}, the lowest {low} and the baseline"),
            false => format!("the highest {high} and the lowest {low}"),
        };
        format!("Of {most} policies, {named} are named; the others are grey. The tables have them all.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crowds_name_their_ends_and_the_baseline() {
        let names: Vec<String> = (0..64).map(|i| format!("p{i}")).collect();
        let mut rows: Vec<(&str, f64)> =
            names.iter().zip(0..).map(|(n, i)| (n.as_str(), f64::from(i))).collect();
        assert!(choose_named(&rows[..NAMED]).iter().all(|&named| named));
        rows[30].0 = BASELINE;
        let named = choose_named(&rows);
        assert_eq!(named.iter().filter(|&&named| named).count(), NAMED / 2 + NAMED / 3 + 1);
        assert!(named[0] && named[63] && named[30] && !named[31]);
    }
}
