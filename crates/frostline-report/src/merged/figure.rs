//! The figure of a comparison: for each policy a bar per sweep.

use super::NamedSweep;
use super::key::RowKey;
use super::table;
use crate::chart::{Bar, BarPanel, BarRow, Bars, Chart, Figure, Lengths, Theme, Tone};
use crate::study::distinct;
use crate::study::words::{DEV_AXIS, dev_accuracy};

/// The figure's path in the report.
pub(super) const PATH: &str = "figures/comparison.svg";

/// Accuracy on dev of all sweeps. `policies` are the policies of all sweeps.
pub(super) fn build_figure(sweeps: &[NamedSweep], axes: &[&str], policies: &[&str]) -> Figure {
    let rows = table::row_keys(sweeps, axes);
    let titles = distinct(rows.iter().map(|row| (row.lang.clone(), row.values.clone())));
    let freezing =
        |policy: &str| policies.iter().filter(|name| **name != "none").position(|name| *name == policy);
    let panels = titles.iter().map(|(lang, values)| {
        let of_panel = rows.iter().filter(|row| (&row.lang, &row.values) == (lang, values));
        let bars = |row: &RowKey| {
            let bar = |one: &NamedSweep| {
                Some(Bar::of_share(one.name.clone(), table::dev_accuracy(one, axes, row)?, None))
            };
            sweeps.iter().filter_map(bar).collect()
        };
        let rows = of_panel.map(|row| BarRow {
            name: row.policy.clone(),
            tone: Tone::Policy(freezing(&row.policy)),
            bars: bars(row),
        });
        let title = [lang.clone()].into_iter().chain(values.iter().cloned()).collect::<Vec<_>>();
        BarPanel::new(title.join(", "), DEV_AXIS, rows.collect())
    });
    Figure {
        path: PATH,
        title: dev_accuracy!(" of each sweep"),
        theme: Theme::Accuracy,
        about: "The mean accuracy of each policy on dev, a mark per sweep.".into(),
        chart: Chart::Bars(Bars {
            lengths: Lengths::Groups,
            panels: panels.collect(),
            interval: "",
            diamond: "",
        }),
        notes: vec!["Mark and number: mean accuracy on dev over seeds. Thick line: one standard deviation. The tables show which sweeps differ.".into()],
        across: 2,
    }
}
