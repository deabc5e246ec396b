//! Scores of an encoder's blocks before training, as a table for a terminal and as a figure.

use frostline_record::{BlockScores, rank_blocks};

use crate::chart::{Chart, Figure, Heat, HeatColour, HeatField, HeatPanel, Theme};
use crate::number::fixed;
use crate::render::svg::{Frame, draw_figures};

/// What each score is, by name.
const MEANINGS: [(&str, &str); 5] = [
    ("fisher", "Fisher information: mean squared derivative of a sentence's loss (Lodha et al., 2023)"),
    (
        "rgn",
        "relative gradient norm: of a batch's gradient, by the norm of the parameters (Lee et al., 2023)",
    ),
    (
        "snr",
        "signal-to-noise ratio of a derivative over sentences: squared mean by variance (Lee et al., 2023)",
    ),
    ("probe", "points of accuracy that a logistic regression gains over the output of the layer below"),
    ("drift", "change of the parameters in a short run that trains everything, in % of their norm"),
];

/// The scores of the blocks of one encoder on one treebank: a row for each block with its place in each order, then the orders
/// with the policy that trains only the best third.
#[must_use]
pub fn block_score_table(scores: &BlockScores) -> String {
    let named = scores.named_scores();
    let depth = scores.fisher.len();
    let ranks: Vec<Vec<usize>> = named.iter().map(|(_, values)| rank_blocks(values)).collect();
    let mut rows =
        vec![std::iter::once("block").chain(named.iter().map(|(name, _)| *name)).map(String::from).collect()];
    for block in 0..depth {
        let place = |ranked: &[usize]| 1 + ranked.iter().position(|other| *other == block).unwrap_or(0);
        let fields = named.iter().zip(&ranks).map(|((name, values), ranked)| {
            format!("{} ({})", score_text(name, values[block]), place(ranked))
        });
        rows.push(std::iter::once(block.to_string()).chain(fields).collect::<Vec<String>>());
    }
    let mut text = aligned(&rows);
    let trained = (depth / 3).max(1);
    text += &format!(
        "\nIn parentheses: the block's place by this score. All places, and the policy that trains only the first {trained}:\n"
    );
    let orders = named.iter().zip(&ranks).map(|((name, _), ranked)| {
        let order = ranked.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        vec![format!("  {name}"), order, policy_training(&ranked[..trained], depth)]
    });
    text += &aligned(&orders.collect::<Vec<_>>());
    let shown = MEANINGS.iter().filter(|(name, _)| named.iter().any(|(other, _)| other == name));
    text += "\n";
    text += &aligned(
        &shown.map(|(name, meaning)| vec![format!("  {name}"), (*meaning).into()]).collect::<Vec<_>>(),
    );
    text
}

/// The name of the policy that freezes all blocks but these.
fn policy_training(trained: &[usize], depth: usize) -> String {
    let frozen: Vec<String> =
        (0..depth).filter(|block| !trained.contains(block)).map(|block| block.to_string()).collect();
    if frozen.is_empty() { "none".into() } else { format!("blocks-{}", frozen.join(".")) }
}

/// Returns lines with columns as wide as their widest field.
///
/// # Panics
/// If the rows have different lengths.
#[must_use]
pub fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(width).collect();
    let line = |row: &Vec<String>| {
        let fields = row.iter().zip(&widths).map(|(field, width)| format!("{field:<width$}"));
        format!("{}\n", fields.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// A score as tables and the figure show it.
fn score_text(name: &str, value: f64) -> String {
    match name {
        "probe" => format!("{:+.1}", value * 100.0).replace('-', "−"),
        "drift" => fixed(value * 100.0, 2),
        _ => format!("{value:.2e}"),
    }
}

/// A figure as SVG: a row for each score and a column for each block, darker where the score is higher among the blocks. Each pair
/// is a title and scores.
#[must_use]
pub fn block_score_figure(all: &[(String, &BlockScores)], plan: &str, is_synthetic: bool) -> String {
    let panel = |(title, scores): &(String, &BlockScores)| {
        let row = |(name, values): (&str, Vec<f64>)| {
            let top = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            let field = |value: &f64| {
                Some(HeatField {
                    label: score_text(name, *value),
                    shade: 0.75 * (value / top).clamp(0.0, 1.0),
                })
            };
            (name.to_string(), values.iter().map(field).collect())
        };
        HeatPanel {
            title: title.clone(),
            columns: (0..scores.fisher.len()).map(|block| vec![block.to_string()]).collect(),
            rows: scores.named_scores().into_iter().map(row).collect(),
        }
    };
    let figure = Figure {
        path: "block_scores.svg",
        title: "Scores of blocks before training",
        theme: Theme::Parts,
        about: "Each row is a score, each column a block from the input to the output.".into(),
        chart: Chart::Heat(Heat { panels: all.iter().map(panel).collect(), colour: HeatColour::Much }),
        notes: vec![
            "Columns: blocks from the input to the output. A darker field is a higher score in its row. probe in points, drift in %."
                .into(),
        ],
        across: 1,
    };
    let frame = Frame { name: plan, is_synthetic, policies: &[] };
    draw_figures(frame, [figure]).iter().map(|(_, drawing)| drawing.file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores() -> BlockScores {
        BlockScores {
            cell: "cell".into(),
            sentences: vec![3, 1],
            batch: 2,
            fisher: vec![2e-6, 4.5e-6, 1e-6],
            relative_gradient: vec![0.01, 0.02, 0.03],
            signal_to_noise: vec![0.004, 0.003, 0.002],
            probed: vec![3, 1, 2],
            probe_accuracy: vec![0.80, 0.91, 0.93, 0.92],
            drift: vec![0.002, 0.001, 0.0035],
            drift_steps: 1,
            seconds: 0.5,
        }
    }

    #[test]
    fn a_table_shows_values_places_and_policies() {
        insta::assert_snapshot!(block_score_table(&scores()), @r"
        block  fisher       rgn          snr          probe      drift
        0      2.00e-6 (2)  1.00e-2 (3)  4.00e-3 (1)  +11.0 (1)  0.20 (2)
        1      4.50e-6 (1)  2.00e-2 (2)  3.00e-3 (2)  +2.0 (2)   0.10 (3)
        2      1.00e-6 (3)  3.00e-2 (1)  2.00e-3 (3)  −1.0 (3)   0.35 (1)

        In parentheses: the block's place by this score. All places, and the policy that trains only the first 1:
          fisher  1 0 2  blocks-0.2
          rgn     2 1 0  blocks-0.1
          snr     0 1 2  blocks-1.2
          probe   0 1 2  blocks-1.2
          drift   2 0 1  blocks-0.1

          fisher  Fisher information: mean squared derivative of a sentence's loss (Lodha et al., 2023)
          rgn     relative gradient norm: of a batch's gradient, by the norm of the parameters (Lee et al., 2023)
          snr     signal-to-noise ratio of a derivative over sentences: squared mean by variance (Lee et al., 2023)
          probe   points of accuracy that a logistic regression gains over the output of the layer below
          drift   change of the parameters in a short run that trains everything, in % of their norm
        ");
        let without = BlockScores { probe_accuracy: Vec::new(), ..scores() };
        assert!(!block_score_table(&without).contains("probe"));
    }

    #[test]
    fn a_figure_has_a_row_for_each_score() {
        let scores = scores();
        let figure = block_score_figure(&[("en".into(), &scores)], "plan", true);
        assert!(figure.starts_with("<svg ") && figure.ends_with("</svg>\n"));
        for text in ["fisher", "4.50e-6", "+11.0", "−1.0", "0.35"] {
            assert!(figure.contains(&format!(">{text}<")), "{text}\n{figure}");
        }
    }
}
