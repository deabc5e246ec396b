//! Owns what the page says about how far each block moved, and about what froze on the way.
//!
//! Refuses to call a change large or small: it sets policies side by side.

use crate::Report;
use crate::changes::{self, ChangeStats};
use crate::number::{fixed, plus_minus};
use crate::page::{key, keyed, paragraph, section};
use crate::summary::CellView;
use frostline_score::MeanStd;

/// Relative change and CKA of every part of the encoder, a table each.
pub(super) fn table(report: &Report, lang: &str, text: &mut String) {
    let rows: Vec<_> = report
        .groups_of(lang)
        .map(|group| (group, changes::of(report, group)))
        .filter(|(_, parts)| !parts.is_empty())
        .collect();
    let Some((_, first)) = rows.first() else { return };
    section(text, 3, "How far each block moved");
    type Show = fn(&ChangeStats) -> String;
    let kinds: [(&str, Show); 2] = [
        (
            "Relative change in percent: the norm of the difference of a part's parameters from its start, over \
             their norm at the start. LoRA counts as merged; what else was added is left out.",
            |part| plus_minus(part.relative.times(100.0), 2),
        ),
        (
            "Linear CKA between a part's outputs before and after, over the words of dev. 1 means that nothing \
             changed but direction and scale; what comes in from below counts too.",
            |part| plus_minus(part.cka, 3),
        ),
    ];
    for (about, show) in kinds {
        let mut table = keyed(report);
        for part in first {
            table = table.right(&part.part, 0);
        }
        for (group, parts) in &rows {
            let mut row = key(group);
            row.extend(parts.iter().map(show));
            table.row(row);
        }
        paragraph(text, about);
        paragraph(text, table.markdown().trim_end());
    }
}

/// What froze on the way, and when.
pub(super) fn settled(report: &Report, lang: &str, text: &mut String) {
    let mut lines = String::new();
    for group in report.groups_of(lang) {
        let cells = || report.members(group).filter_map(CellView::done);
        let stages = || cells().flat_map(|done| done.result.stages.iter());
        let parts = crate::summary::distinct(
            stages().flat_map(|stage| &stage.settled).map(|settled| settled.group.as_str()),
        );
        let told: Vec<String> = parts
            .into_iter()
            .filter_map(|part| {
                let of_part = stages().flat_map(|stage| {
                    let found = stage.settled.iter().filter(|settled| settled.group == part);
                    found.map(|settled| settled.step as f64 / stage.steps.max(1) as f64)
                });
                let shares: Vec<f64> = of_part.collect();
                let share = MeanStd::of(&shares)?.times(100.0);
                let seeds = cells().count();
                let all = if shares.len() == seeds {
                    String::new()
                } else {
                    format!(" in {} of {seeds} cells", shares.len())
                };
                Some(format!("{part} after {} % of the steps{all}", fixed(share.mean, 0)))
            })
            .collect();
        if !told.is_empty() {
            lines += &format!("- **{}**: {}\n", key(group).join(", "), told.join(", "));
        }
    }
    if !lines.is_empty() {
        section(text, 3, "What froze on the way");
        paragraph(text, lines.trim_end());
        paragraph(
            text,
            "Means over seeds. What is not named learned to the end. Where nothing is dropped in what is frozen, \
             its output is read from memory from then on, as far as that holds it.",
        );
    }
}
