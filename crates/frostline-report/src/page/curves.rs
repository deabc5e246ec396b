//! Owns what the page says about learning curves.
//!
//! Refuses to join sizes that few cells have: a place without a cell stays empty.

use crate::Report;
use crate::curves::{self, Curve, Curves};
use crate::number::{count, or_dash, plus_minus};
use crate::page::{paragraph, section};
use crate::table::Table;

/// Accuracy by the number of train sentences in a language.
pub(super) fn table(report: &Report, lang: &str, text: &mut String) {
    let all: Vec<Curves> = curves::of(report).into_iter().filter(|curves| curves.lang == lang).collect();
    if all.is_empty() {
        return;
    }
    section(text, 3, "Dev accuracy % by train sentences");
    for curves in &all {
        if !curves.others.is_empty() {
            paragraph(text, &format!("With {}:", curves.others.join(", ")));
        }
        let sizes = curves.sizes();
        let mut table = Table::default().left("Frozen", 0);
        for &size in &sizes {
            table = table.right(count(size), 0);
        }
        let row = |name: String, curve: &Curve| {
            let mut row = vec![name];
            row.extend(sizes.iter().map(|&size| {
                let point = curve.points.iter().find(|point| point.sentences == size);
                or_dash(point, |point| plus_minus(point.dev.times(100.0), 2))
            }));
            row
        };
        for curve in &curves.policies {
            table.row(row(curve.name.clone(), curve));
        }
        for curve in &curves.baselines {
            table.row(row(format!("*{}*", curve.name), curve));
        }
        paragraph(text, table.markdown().trim_end());
    }
    paragraph(
        text,
        "Numbers of sentences are those that cells learned from. ± is over seeds, and over draws where \
         `data.draw` is an axis and leaves sentences out; where each seed draws its own sentences it covers \
         both.",
    );
}
