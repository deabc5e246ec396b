//! Tables of measurements, the same for the page and the terminal.

use clap::ValueEnum as _;

use crate::compare::{self, bar_of};
use crate::grid::Grid;
use crate::limits;
use crate::spread::{Spread, figure};
use crate::stored::{Measured, Row, Run, Side};
use crate::suite::Suite;
use crate::trace;
use frostline_sweep::Backend;

/// One table with its heading.
#[derive(Debug)]
pub(crate) struct Table {
    pub suite: Suite,
    pub title: String,
    pub grid: Grid,
}

/// All tables of the measurements, in order.
pub(crate) fn tables(measured: &Measured) -> Vec<Table> {
    let mut tables = Vec::new();
    for suite in Suite::value_variants().iter().copied() {
        let mut rows: Vec<&Row> = measured.rows.iter().filter(|row| row.suite == suite).collect();
        rows.sort_by_key(|row| (&row.encoder, place(measured, row)));
        let compared = rows.iter().any(|row| !row.peer.rounds.is_empty());
        let figures = suite.measures().map(|key| {
            let measure = compare::measure(key);
            let grid = if compared { ratios(measured, &rows, key) } else { alone(measured, &rows, key) };
            (format!("{}, {}", measure.title, measure.unit), grid)
        });
        let others = [
            ("Share of the machine's GEMM peak", shares_of_peak(measured, suite, &rows)),
            ("Share of a step's limit", shares_of_limit(measured, &rows)),
            ("Where our time went, s", parts_of_time(measured, &rows)),
            ("Dev accuracy, %", accuracies(measured, &rows, "accuracy")),
            ("Test accuracy, %", accuracies(measured, &rows, "test_accuracy")),
        ];
        let all = figures.chain(others.map(|(title, grid)| (title.to_string(), grid)));
        let shown = all.filter(|(_, grid)| !grid.is_empty());
        tables.extend(shown.map(|(title, grid)| Table { suite, title, grid }));
    }
    tables
}

/// A table of these rows: encoder, what is frozen, our setting, and then what `cells` gives; nothing for a row that it is not about.
fn grid<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    heads: &[&str],
    cells: impl Fn(&Row) -> Option<Vec<String>>,
) -> Grid {
    let mut grid = Grid::new(["encoder", "frozen", "ours"].into_iter().chain(heads.iter().copied()));
    for row in rows {
        if let Some(cells) = cells(row) {
            grid.push([encoder(row), policy(row), ours(row)].into_iter().chain(cells).collect());
        }
    }
    grid
}

/// Both sides' medians and their ratio, with its bar.
fn ratios(measured: &Measured, rows: &[&Row], key: &str) -> Grid {
    let heads = ["peer", "ours>", "peer>", "ratio (least to most)>", "bar, aim>", "", "machine", "run>"];
    grid(rows.iter().copied(), &heads, |row| {
        let ratio = Spread::of(row.ratios(key));
        // Some bars are for two cores, the others for a GPU.
        let on_gpu = matches!(row.backend, Backend::Cuda | Backend::Wgpu);
        let isa = measured.runs.get(&row.run).map_or("", |run| run.processor().isa);
        let bar = bar_of(&row.comparison, key, &row.policy, &row.encoder, isa)
            .filter(|_| on_gpu == (row.suite == Suite::Device));
        let medians = [Spread::of(row.ours.all(key)), ratio].map(|found| found.map(|spread| spread.median));
        let verdict = bar.map_or("", |bar| bar.verdict(medians[0], medians[1]));
        let notes = [&row.ours.note, &row.peer.note].into_iter().flatten();
        let remarks = (!verdict.is_empty()).then(|| verdict.to_string()).into_iter().chain(notes.cloned());
        Some(vec![
            row.peer.setting.clone(),
            median(&row.ours, key),
            median(&row.peer, key),
            ratio.map_or_else(dash, |ratio| ratio.times()),
            bar.map_or_else(String::new, |bar| bar.shown()),
            remarks.collect::<Vec<_>>().join("; "),
            machine(measured, row),
            number(measured, row),
        ])
    })
}

/// Our own figures, if there is no peer.
fn alone(measured: &Measured, rows: &[&Row], key: &str) -> Grid {
    grid(unique(measured, rows), &["median>", "least to most>", "", "machine"], |row| {
        let spread = Spread::of(row.ours.all(key));
        Some(vec![
            spread.map_or_else(dash, |spread| figure(spread.median)),
            spread.map_or_else(dash, |spread| format!("{} to {}", figure(spread.min), figure(spread.max))),
            row.ours.note.clone().unwrap_or_default(),
            machine(measured, row),
        ])
    })
}

/// Rows without those whose side of ours is shown in an earlier row.
fn unique<'a>(measured: &Measured, rows: &[&'a Row]) -> Vec<&'a Row> {
    let key = |row: &Row| (encoder(row), row.policy.clone(), ours(row), place(measured, row));
    let first = |at: &usize| !rows[..*at].iter().any(|known| key(known) == key(rows[*at]));
    (0..rows.len()).filter(first).map(|at| rows[at]).collect()
}

/// Our speed as a share of the machine's peak in matrix products of the same precision, where a suite counts its work.
fn shares_of_peak(measured: &Measured, suite: Suite, rows: &[&Row]) -> Grid {
    let (key, work_key, [speed, work]) = match suite {
        Suite::Steps => ("step_ms_mean", "gflop_per_step", ["ms per step>", "Gflop per step>"]),
        Suite::Tagging => {
            ("tag_sentences_per_s", "gflop_per_sentence", ["sentences/s>", "Gflop per sentence>"])
        }
        _ => return Grid::new([]),
    };
    let heads = [speed, work, "Gflop/s>", "GEMM peak, Gflop/s>", "share of peak, %>", "machine"];
    grid(unique(measured, rows), &heads, |row| {
        let found = Spread::of(row.ours.all(key))?.median;
        let work = Spread::of(row.ours.all(work_key))?.median;
        let speed = work * if suite == Suite::Steps { 1e3 / found } else { found };
        let peak = measured.runs.get(&row.run).and_then(|run| peak(run, &row.ours.precision));
        let share = peak.map(|peak| format!("{:.0}", 100.0 * speed / peak));
        let mut cells = [found, work, speed].map(figure).to_vec();
        cells.extend([peak.map_or_else(dash, figure), share.unwrap_or_else(dash), machine(measured, row)]);
        Some(cells)
    })
}

/// Our steps and what they would take at the machine's limits, where they were profiled.
fn shares_of_limit(measured: &Measured, rows: &[&Row]) -> Grid {
    let heads: Vec<&str> = limits::heads().chain(["machine"]).collect();
    grid(unique(measured, rows), &heads, |row| {
        Some(limits::cells(&row.ours)?.into_iter().chain([machine(measured, row)]).collect())
    })
}

/// What the time of our sweeps was spent on, where their spans were kept.
fn parts_of_time(measured: &Measured, rows: &[&Row]) -> Grid {
    let parts =
        || [("in all>", "wall_s")].into_iter().chain(trace::PARTS.iter().map(|(head, key, _)| (*head, *key)));
    let heads: Vec<&str> = parts().map(|(head, _)| head).chain(["machine"]).collect();
    grid(unique(measured, rows), &heads, |row| {
        let is_there = |key: &str| row.ours.all(key).next().is_some();
        let cells = parts().map(|(_, key)| is_there(key).then(|| median(&row.ours, key)));
        cells.chain([Some(machine(measured, row))]).collect()
    })
}

/// Both sides' scores, without which speed means nothing.
fn accuracies(measured: &Measured, rows: &[&Row], key: &str) -> Grid {
    grid(rows.iter().copied(), &["peer", "ours>", "peer>", "machine"], |row| {
        let of = |side: &Side| Spread::of(side.all(key)).map(|found| format!("{:.2}", 100.0 * found.median));
        let [own, others] = [of(&row.ours), of(&row.peer)];
        (own.is_some() || others.is_some()).then(|| {
            let [own, others] = [own, others].map(|accuracy| accuracy.unwrap_or_else(dash));
            vec![row.peer.setting.clone(), own, others, machine(measured, row)]
        })
    })
}

/// The best of the rounds: a peak is what the machine can do.
pub(crate) fn peak(run: &Run, precision: &str) -> Option<f64> {
    let rounds = run.gemm_gflops.get(precision)?;
    Spread::of(rounds.iter().copied()).map(|spread| spread.max)
}

fn median(side: &Side, key: &str) -> String {
    Spread::of(side.all(key)).map_or_else(dash, |spread| figure(spread.median))
}

fn encoder(row: &Row) -> String {
    format!("{}{}", row.encoder, if row.random_init { " (random weights)" } else { "" })
}

/// Our setting, and the backend if it is not the default.
fn ours(row: &Row) -> String {
    match row.backend {
        Backend::Flex => row.ours.setting.clone(),
        backend => format!("{} on {backend}", row.ours.setting),
    }
}

fn policy(row: &Row) -> String {
    if row.policy.is_empty() { dash() } else { row.policy.replace(',', ", ") }
}

/// The place of a row's processor in the page's list.
fn place(measured: &Measured, row: &Row) -> Option<usize> {
    let processor = measured.runs.get(&row.run)?.processor();
    measured.processors().iter().position(|other| *other == processor)
}

/// The letter of a processor in the page's list: A, B and so on.
pub(crate) fn letter(place: usize) -> char {
    char::from(b'A' + (place % 26) as u8)
}

fn machine(measured: &Measured, row: &Row) -> String {
    place(measured, row).map_or_else(dash, |place| letter(place).to_string())
}

/// The number of a row's run in the page's list.
fn number(measured: &Measured, row: &Row) -> String {
    measured.runs.keys().position(|key| *key == row.run).map_or_else(dash, |at| (at + 1).to_string())
}

fn dash() -> String {
    "–".into()
}
