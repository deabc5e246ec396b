//! Tables of measurements, the same for the page and the terminal.

use clap::ValueEnum as _;

use crate::compare::{self, bar_of};
use crate::grid::TextGrid;
use crate::machine_limits;
use crate::spread::{ValueSpread, format_figure};
use crate::stored::{BenchRun, StoredMeasurements, StoredRow, StoredSide};
use crate::suite::Suite;
use crate::trace;
use frostline_sweep::Backend;

/// One table with its heading.
#[derive(Debug)]
pub(crate) struct ResultTable {
    pub suite: Suite,
    pub title: String,
    pub grid: TextGrid,
}

/// All tables of the measurements, in order.
pub(crate) fn render_tables(measured: &StoredMeasurements) -> Vec<ResultTable> {
    let mut tables = Vec::new();
    for suite in Suite::value_variants().iter().copied() {
        let mut rows: Vec<&StoredRow> = measured.rows.iter().filter(|row| row.suite == suite).collect();
        rows.sort_by_key(|row| (&row.encoder, processor_index(measured, row)));
        let compared = rows.iter().any(|row| !row.peer.rounds.is_empty());
        let figures = suite.measure_keys().map(|key| {
            let measure = compare::measure_by_key(key);
            let grid = if compared {
                ratio_grid(measured, &rows, key)
            } else {
                own_figures_grid(measured, &rows, key)
            };
            (format!("{}, {}", measure.title, measure.unit), grid)
        });
        let others = [
            ("Share of the machine's GEMM peak", shares_of_peak(measured, suite, &rows)),
            ("Share of a step's limit", shares_of_limit(measured, &rows)),
            ("Where our time went, s", parts_of_time(measured, &rows)),
            ("Dev accuracy, %", accuracy_grid(measured, &rows, "accuracy")),
            ("Test accuracy, %", accuracy_grid(measured, &rows, "test_accuracy")),
        ];
        let all = figures.chain(others.map(|(title, grid)| (title.to_string(), grid)));
        let shown = all.filter(|(_, grid)| !grid.is_empty());
        tables.extend(shown.map(|(title, grid)| ResultTable { suite, title, grid }));
    }
    tables
}

/// A table of these rows: encoder, what is frozen, our setting, and then what `cells` gives; nothing for a row that it is not about.
fn rows_grid<'a>(
    rows: impl IntoIterator<Item = &'a StoredRow>,
    heads: &[&str],
    cells: impl Fn(&StoredRow) -> Option<Vec<String>>,
) -> TextGrid {
    let mut grid = TextGrid::new(["encoder", "frozen", "ours"].into_iter().chain(heads.iter().copied()));
    for row in rows {
        if let Some(cells) = cells(row) {
            grid.push_row(
                [encoder_cell(row), policy_cell(row), setting_cell(row)].into_iter().chain(cells).collect(),
            );
        }
    }
    grid
}

/// Both sides' medians and their ratio, with its bar.
fn ratio_grid(measured: &StoredMeasurements, rows: &[&StoredRow], key: &str) -> TextGrid {
    let heads = ["peer", "ours>", "peer>", "ratio (least to most)>", "bar, aim>", "", "machine", "run>"];
    rows_grid(rows.iter().copied(), &heads, |row| {
        let ratio = ValueSpread::of_values(row.round_ratios(key));
        // Some bars are for two cores, the others for a GPU.
        let on_gpu = matches!(row.backend, Backend::Cuda | Backend::Wgpu);
        let isa = measured.runs.get(&row.run).map_or("", |run| run.processor_kind().isa);
        let bar = bar_of(&row.comparison, key, &row.policy, &row.encoder, isa)
            .filter(|_| on_gpu == (row.suite == Suite::Device));
        let medians = [ValueSpread::of_values(row.ours.figure_in_rounds(key)), ratio]
            .map(|found| found.map(|spread| spread.median));
        let verdict = bar.map_or("", |bar| bar.bar_verdict(medians[0], medians[1]));
        let notes = [&row.ours.note, &row.peer.note].into_iter().flatten();
        let remarks = (!verdict.is_empty()).then(|| verdict.to_string()).into_iter().chain(notes.cloned());
        Some(vec![
            row.peer.setting.clone(),
            format_median(&row.ours, key),
            format_median(&row.peer, key),
            ratio.map_or_else(dash_cell, |ratio| ratio.format_times()),
            bar.map_or_else(String::new, |bar| bar.format_bar()),
            remarks.collect::<Vec<_>>().join("; "),
            processor_cell(measured, row),
            run_number_cell(measured, row),
        ])
    })
}

/// Our own figures, if there is no peer.
fn own_figures_grid(measured: &StoredMeasurements, rows: &[&StoredRow], key: &str) -> TextGrid {
    rows_grid(unique_rows(measured, rows), &["median>", "least to most>", "", "machine"], |row| {
        let spread = ValueSpread::of_values(row.ours.figure_in_rounds(key));
        Some(vec![
            spread.map_or_else(dash_cell, |spread| format_figure(spread.median)),
            spread.map_or_else(dash_cell, |spread| {
                format!("{} to {}", format_figure(spread.min), format_figure(spread.max))
            }),
            row.ours.note.clone().unwrap_or_default(),
            processor_cell(measured, row),
        ])
    })
}

/// Rows without those whose side of ours is shown in an earlier row.
fn unique_rows<'a>(measured: &StoredMeasurements, rows: &[&'a StoredRow]) -> Vec<&'a StoredRow> {
    let key = |row: &StoredRow| {
        (encoder_cell(row), row.policy.clone(), setting_cell(row), processor_index(measured, row))
    };
    let first = |at: &usize| !rows[..*at].iter().any(|known| key(known) == key(rows[*at]));
    (0..rows.len()).filter(first).map(|at| rows[at]).collect()
}

/// Our speed as a share of the machine's peak in matrix products of the same precision, if a suite counts its work.
fn shares_of_peak(measured: &StoredMeasurements, suite: Suite, rows: &[&StoredRow]) -> TextGrid {
    let (key, work_key, [speed, work]) = match suite {
        Suite::Steps => ("step_ms_mean", "gflop_per_step", ["ms per step>", "Gflop per step>"]),
        Suite::Tagging => {
            ("tag_sentences_per_s", "gflop_per_sentence", ["sentences/s>", "Gflop per sentence>"])
        }
        _ => return TextGrid::new([]),
    };
    let heads = [speed, work, "Gflop/s>", "GEMM peak, Gflop/s>", "share of peak, %>", "machine"];
    rows_grid(unique_rows(measured, rows), &heads, |row| {
        let found = ValueSpread::of_values(row.ours.figure_in_rounds(key))?.median;
        let work = ValueSpread::of_values(row.ours.figure_in_rounds(work_key))?.median;
        let speed = work * if suite == Suite::Steps { 1e3 / found } else { found };
        let peak = measured.runs.get(&row.run).and_then(|run| best_gemm(run, &row.ours.precision));
        let share = peak.map(|peak| format!("{:.0}", 100.0 * speed / peak));
        let mut cells = [found, work, speed].map(format_figure).to_vec();
        cells.extend([
            peak.map_or_else(dash_cell, format_figure),
            share.unwrap_or_else(dash_cell),
            processor_cell(measured, row),
        ]);
        Some(cells)
    })
}

/// Our steps and what they would take at the machine's limits, if they were profiled.
fn shares_of_limit(measured: &StoredMeasurements, rows: &[&StoredRow]) -> TextGrid {
    let heads: Vec<&str> = machine_limits::column_heads().chain(["machine"]).collect();
    rows_grid(unique_rows(measured, rows), &heads, |row| {
        Some(
            machine_limits::profiled_cells(&row.ours)?
                .into_iter()
                .chain([processor_cell(measured, row)])
                .collect(),
        )
    })
}

/// What the time of our sweeps was spent on, if their spans were kept.
fn parts_of_time(measured: &StoredMeasurements, rows: &[&StoredRow]) -> TextGrid {
    let parts =
        || [("in all>", "wall_s")].into_iter().chain(trace::PARTS.iter().map(|(head, key, _)| (*head, *key)));
    let heads: Vec<&str> = parts().map(|(head, _)| head).chain(["machine"]).collect();
    rows_grid(unique_rows(measured, rows), &heads, |row| {
        let is_there = |key: &str| row.ours.figure_in_rounds(key).next().is_some();
        let cells = parts().map(|(_, key)| is_there(key).then(|| format_median(&row.ours, key)));
        cells.chain([Some(processor_cell(measured, row))]).collect()
    })
}

/// Both sides' scores, without which speed means nothing.
fn accuracy_grid(measured: &StoredMeasurements, rows: &[&StoredRow], key: &str) -> TextGrid {
    rows_grid(rows.iter().copied(), &["peer", "ours>", "peer>", "machine"], |row| {
        let of = |side: &StoredSide| {
            ValueSpread::of_values(side.figure_in_rounds(key))
                .map(|found| format!("{:.2}", 100.0 * found.median))
        };
        let [own, others] = [of(&row.ours), of(&row.peer)];
        (own.is_some() || others.is_some()).then(|| {
            let [own, others] = [own, others].map(|accuracy| accuracy.unwrap_or_else(dash_cell));
            vec![row.peer.setting.clone(), own, others, processor_cell(measured, row)]
        })
    })
}

/// The best of the rounds: a peak is what the machine can do.
pub(crate) fn best_gemm(run: &BenchRun, precision: &str) -> Option<f64> {
    let rounds = run.gemm_gflops.get(precision)?;
    ValueSpread::of_values(rounds.iter().copied()).map(|spread| spread.max)
}

fn format_median(side: &StoredSide, key: &str) -> String {
    ValueSpread::of_values(side.figure_in_rounds(key))
        .map_or_else(dash_cell, |spread| format_figure(spread.median))
}

fn encoder_cell(row: &StoredRow) -> String {
    format!("{}{}", row.encoder, if row.random_init { " (random weights)" } else { "" })
}

/// Our setting, and the backend if it is not the default.
fn setting_cell(row: &StoredRow) -> String {
    match row.backend {
        Backend::Flex => row.ours.setting.clone(),
        backend => format!("{} on {backend}", row.ours.setting),
    }
}

fn policy_cell(row: &StoredRow) -> String {
    if row.policy.is_empty() { dash_cell() } else { row.policy.replace(',', ", ") }
}

/// The place of a row's processor in the page's list.
fn processor_index(measured: &StoredMeasurements, row: &StoredRow) -> Option<usize> {
    let processor = measured.runs.get(&row.run)?.processor_kind();
    measured.run_processors().iter().position(|other| *other == processor)
}

/// The letter of a processor in the page's list: A, B and so on.
pub(crate) fn processor_letter(place: usize) -> char {
    char::from(b'A' + (place % 26) as u8)
}

fn processor_cell(measured: &StoredMeasurements, row: &StoredRow) -> String {
    processor_index(measured, row).map_or_else(dash_cell, |place| processor_letter(place).to_string())
}

/// The number of a row's run in the page's list.
fn run_number_cell(measured: &StoredMeasurements, row: &StoredRow) -> String {
    measured.runs.keys().position(|key| *key == row.run).map_or_else(dash_cell, |at| (at + 1).to_string())
}

fn dash_cell() -> String {
    "–".into()
}
