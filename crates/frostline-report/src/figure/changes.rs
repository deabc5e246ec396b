//! Owns the picture of how far each part of the encoder moved: policies by parts, shaded.
//!
//! Refuses a scale of its own for each panel: the same shade is the same change.

use crate::Report;
use crate::changes::{self, ChangeStats};
use crate::figure::heat::{Field, Heat, draw as draw_heat};
use crate::figure::sheet::panels;
use crate::figure::{COLOURS, Figure};
use crate::number::fixed;

/// What a panel shows of a part: its name, its shade's measure, and its words.
struct Kind {
    name: &'static str,
    measure: fn(&ChangeStats) -> f64,
    label: fn(&ChangeStats) -> String,
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "relative change of parameters, %",
        measure: |part| part.relative.mean,
        label: |part| fixed(part.relative.mean * 100.0, 2),
    },
    Kind {
        name: "CKA of outputs with the start",
        measure: |part| 1.0 - part.cka.mean,
        label: |part| fixed(part.cka.mean, 3),
    },
];

/// Policies, each with the parts of its encoder.
type Rows<'a> = Vec<(&'a str, Vec<ChangeStats>)>;

pub(super) fn draw(report: &Report, figure: &Figure) -> String {
    let maps: Vec<(String, Rows<'_>)> = panels(report)
        .into_iter()
        .map(|panel| {
            let rows = panel.groups.iter().map(|group| (group.policy.as_str(), changes::of(report, group)));
            (panel.title, rows.filter(|(_, parts)| !parts.is_empty()).collect())
        })
        .collect();
    let mut heats = Vec::new();
    for kind in &KINDS {
        let parts = maps.iter().flat_map(|(_, rows)| rows).flat_map(|(_, parts)| parts);
        let top = parts.map(kind.measure).fold(f64::MIN_POSITIVE, f64::max);
        // A root, so that small changes can be told from none.
        let shade = |part: &ChangeStats| 0.75 * ((kind.measure)(part) / top).clamp(0.0, 1.0).sqrt();
        let field = |part: &ChangeStats| Some(Field { label: (kind.label)(part), shade: shade(part) });
        for (title, rows) in maps.iter().filter(|(_, rows)| !rows.is_empty()) {
            heats.push(Heat {
                title: format!("{title}: {}", kind.name),
                columns: rows[0].1.iter().map(|part| vec![part.part.replace("embeddings", "emb.")]).collect(),
                rows: rows
                    .iter()
                    .map(|(policy, parts)| (*policy, parts.iter().map(field).collect()))
                    .collect(),
            });
        }
    }
    let note = "Mean over seeds. The darker a field, the further from the start.".to_string();
    draw_heat(report, figure, &heats, (COLOURS[0], report.langs().len()), &[note])
}
