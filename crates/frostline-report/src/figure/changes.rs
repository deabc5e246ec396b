//! Owns the picture of how far each part of the encoder moved: policies by parts, shaded.
//!
//! Refuses colour as the only sign: every field says its number.

use crate::Report;
use crate::changes::{self, ChangeStats};
use crate::figure::sheet::{LABEL, Sheet, TICK, panels, widest};
use crate::figure::svg::Anchor;
use crate::figure::{COLOURS, Figure, INK};
use crate::number::fixed;

const FIELD: (f64, f64) = (58.0, 26.0);

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

pub(super) fn draw(report: &Report, figure: &Figure) -> String {
    let panels = panels(report);
    let rows: Vec<Vec<(&str, Vec<ChangeStats>)>> = panels
        .iter()
        .map(|panel| {
            let rows = panel.groups.iter().map(|group| (group.policy.as_str(), changes::of(report, group)));
            rows.filter(|(_, parts)| !parts.is_empty()).collect()
        })
        .collect();
    let titles: Vec<String> = KINDS
        .iter()
        .flat_map(|kind| panels.iter().map(move |panel| format!("{}: {}", panel.title, kind.name)))
        .collect();
    let names = widest(report.policies().into_iter());
    let parts = rows.iter().flatten().map(|(_, parts)| parts.len()).max().unwrap_or(1);
    let most = rows.iter().map(Vec::len).max().unwrap_or(1);
    let size = (names + 16.0 + FIELD.0 * parts as f64, 60.0 + FIELD.1 * most as f64);
    let mut sheet = Sheet::titled(report, figure, &titles, size, report.langs().len());
    for (number, kind) in KINDS.iter().enumerate() {
        let all = rows.iter().flatten().flat_map(|(_, parts)| parts);
        let top = all.map(|part| (kind.measure)(part)).fold(f64::MIN_POSITIVE, f64::max);
        for (panel, rows) in rows.iter().enumerate() {
            let area = sheet.area(number * panels.len() + panel).inside(22.0, 0.0, 0.0, names + 12.0);
            for (row, (policy, parts)) in rows.iter().enumerate() {
                let y = area.y + row as f64 * FIELD.1;
                sheet.svg.text(area.x - 8.0, y + 17.0, policy, LABEL.anchor(Anchor::End));
                for (column, part) in parts.iter().enumerate() {
                    let x = area.x + column as f64 * FIELD.0;
                    let share = ((kind.measure)(part) / top).clamp(0.0, 1.0);
                    // A root, so that small changes can be told from none.
                    let opacity = 0.75 * share.sqrt();
                    sheet.svg.rect((x, y), (FIELD.0 - 2.0, FIELD.1 - 2.0), COLOURS[0], opacity);
                    let middle = (x + FIELD.0 / 2.0 - 1.0, y + 16.5);
                    sheet.svg.text(
                        middle.0,
                        middle.1,
                        &(kind.label)(part),
                        TICK.anchor(Anchor::Middle).colour(INK),
                    );
                }
                if row == 0 {
                    for (column, part) in parts.iter().enumerate() {
                        let x = area.x + (column as f64 + 0.5) * FIELD.0 - 1.0;
                        let short = part.part.replace("embeddings", "emb.");
                        sheet.svg.text(x, area.y - 6.0, &short, TICK.anchor(Anchor::Middle));
                    }
                }
            }
        }
    }
    sheet.finish(&["Mean over seeds. The darker a field, the further from the start.".into()])
}
