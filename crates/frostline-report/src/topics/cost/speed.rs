//! The figure of what was predicted of a step beside what was measured in turns.

use frostline_score::MeanStd;

use crate::chart::{Bar, BarPanel, BarRow, Bars, Chart, Figure, Lengths, Theme, Tone};
use crate::study::{BASELINE, Group, Panel, Study, panels};
use crate::table::Quantity;

use super::turns::Predicted;

/// Nothing where no steps were taken in turns.
pub(super) fn figure(study: &Study, predicted: &dyn Fn(&Group) -> Predicted) -> Option<Figure> {
    let panels: Vec<BarPanel> = panels(study).iter().map(|panel| bars(study, panel, predicted)).collect();
    if panels.iter().all(|panel| panel.rows.is_empty()) {
        return None;
    }
    let whole = match study.step_costs.compare_cpu_time() {
        true => "a step of none, or of its processor time where the machine was busy",
        false => "a step of none",
    };
    Some(Figure {
        path: "figures/speedup.svg",
        title: "Time saved, measured and predicted",
        theme: Theme::Time,
        about: "Each bar is the share of the time of a step of none that a step of the policy saves, measured in turns. The \
                thin line is its 95 % interval. The diamond is what the cost model predicted."
            .into(),
        chart: Chart::Bars(Bars {
            lengths: Lengths::Differences(Quantity::SignedPercent(2)),
            names: study.policies().into_iter().map(String::from).collect(),
            panels,
            interval: "95 % interval",
            diamond: "predicted",
        }),
        notes: vec![
            format!(
                "Bar and number: 1 minus the median ratio of steps in turns, in percent of {whole}. An interval that is \
                 wide and includes 0 says nothing."
            )
            .into(),
            "Diamond: predicted for Frostline's own kernels on two processor cores.".into(),
        ],
        across: 2,
    })
}

fn bars(study: &Study, panel: &Panel<'_>, predicted: &dyn Fn(&Group) -> Predicted) -> BarPanel {
    let row = |group: &&Group| {
        let saving = study.step_cost(group)?.saving()?;
        let ends = [saving.low, saving.high];
        let interval = ends.iter().all(|end| end.is_finite()).then_some(ends);
        let bar = Bar::new("", MeanStd::of(&[saving.value])?, interval);
        let diamond = predicted(group).saved;
        Some(BarRow {
            name: group.policy.clone(),
            tone: Tone::Policy(study.place_of(&group.policy)),
            bars: vec![Bar { diamond, ..bar }],
        })
    };
    let others = panel.groups.iter().filter(|group| group.policy != BASELINE);
    BarPanel {
        title: panel.title.clone(),
        axis: "time saved, % of a step of none".into(),
        kind: String::new(),
        rows: others.filter_map(row).collect(),
        references: Vec::new(),
    }
}
