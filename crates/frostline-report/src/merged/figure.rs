//! The figure of a comparison: for each policy a bar per sweep.

use super::Named;
use super::key::Key;
use super::table;
use crate::chart::{Bar, BarPanel, BarRow, Bars, Chart, Figure, Lengths, Theme, Tone};
use crate::study::distinct;
use crate::study::words::{DEV_AXIS, dev_accuracy};

/// Where the figure lies.
pub(super) const PATH: &str = "figures/comparison.svg";

/// Accuracy on dev of all sweeps. `policies` are those of all of them.
pub(super) fn of(sweeps: &[Named], axes: &[&str], policies: &[&str]) -> Figure {
    let rows = table::rows(sweeps, axes);
    let titles = distinct(rows.iter().map(|row| (row.lang.clone(), row.values.clone())));
    let freezing =
        |policy: &str| policies.iter().filter(|name| **name != "none").position(|name| *name == policy);
    let panels = titles.iter().map(|(lang, values)| {
        let of_panel = rows.iter().filter(|row| (&row.lang, &row.values) == (lang, values));
        let bars = |row: &Key| {
            let bar = |one: &Named| Some(Bar::new(one.name.clone(), table::dev(one, axes, row)?, None));
            sweeps.iter().filter_map(bar).collect()
        };
        let rows = of_panel.map(|row| BarRow {
            name: row.policy.clone(),
            tone: Tone::Policy(freezing(&row.policy)),
            bars: bars(row),
        });
        BarPanel {
            title: [lang.clone()].into_iter().chain(values.iter().cloned()).collect::<Vec<_>>().join(", "),
            axis: DEV_AXIS.into(),
            kind: String::new(),
            rows: rows.collect(),
            references: Vec::new(),
        }
    });
    Figure {
        path: PATH,
        title: dev_accuracy!(" of each sweep"),
        theme: Theme::Accuracy,
        about: "Each mark is the mean accuracy on dev of a policy in one sweep. The thick line at its end is one standard \
                deviation over seeds; the tables say which sweeps differ."
            .into(),
        chart: Chart::Bars(Bars {
            lengths: Lengths::Groups,
            panels: panels.collect(),
            names: policies.iter().map(ToString::to_string).collect(),
            interval: "",
            diamond: "",
        }),
        notes: vec!["Mark and number: mean accuracy on dev over seeds. The tables say which sweeps differ.".into()],
        across: 2,
    }
}
