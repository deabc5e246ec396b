//! Tables of measurements, the same for the page and the terminal.

use clap::ValueEnum as _;

use crate::bench::compare::bar_of;
use crate::bench::grid::Grid;
use crate::bench::limits;
use crate::bench::measure::{Measure, Suite};
use crate::bench::spread::{Spread, figure};
use crate::bench::stored::{Measured, Row, Run, Side};
use crate::bench::trace;
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
        if rows.is_empty() {
            continue;
        }
        let compared = rows.iter().any(|row| !row.peer.rounds.is_empty());
        for measure in suite.measures() {
            let title = format!("{}, {}", measure.title(), measure.unit());
            let grid =
                if compared { ratios(measured, &rows, *measure) } else { alone(measured, &rows, *measure) };
            tables.push(Table { suite, title, grid });
        }
        let grid = shares_of_peak(measured, suite, &rows);
        if !grid.is_empty() {
            tables.push(Table { suite, title: "Share of the machine's GEMM peak".into(), grid });
        }
        let grid = shares_of_limit(measured, &rows);
        if !grid.is_empty() {
            tables.push(Table { suite, title: "Share of a step's limit".into(), grid });
        }
        let grid = parts_of_time(measured, &rows);
        if !grid.is_empty() {
            tables.push(Table { suite, title: "Where our time went, s".into(), grid });
        }
        for (key, title) in [("accuracy", "Dev accuracy, %"), ("test_accuracy", "Test accuracy, %")] {
            let scores = accuracies(measured, &rows, key);
            if !scores.is_empty() {
                tables.push(Table { suite, title: title.into(), grid: scores });
            }
        }
    }
    tables
}

/// Both sides' medians and their ratio, with its bar.
fn ratios(measured: &Measured, rows: &[&Row], measure: Measure) -> Grid {
    let heads =
        ["encoder", "frozen", "ours", "peer", "ours>", "peer>", "ratio (least to most)>", "bar, aim>"];
    let mut grid = Grid::new(heads.into_iter().chain(["", "machine", "run>"]));
    for row in rows {
        let ratio = Spread::of(row.ratios(measure));
        // Some bars are for two cores, the others for a GPU.
        let on_gpu = matches!(row.backend, Backend::Cuda | Backend::Wgpu);
        let isa = measured.runs.get(&row.run).map_or("", |run| run.processor().isa);
        let bar = bar_of(&row.comparison, measure, &row.policy, &row.encoder, isa)
            .filter(|_| on_gpu == (row.suite == Suite::Device));
        let own = Spread::of(row.ours.all(measure.key()));
        let medians = [own, ratio].map(|found| found.map(|spread| spread.median));
        let verdict = bar.map_or("", |bar| bar.verdict(medians[0], medians[1]));
        let notes = [&row.ours.note, &row.peer.note].into_iter().flatten();
        let remarks = (!verdict.is_empty()).then(|| verdict.to_string()).into_iter().chain(notes.cloned());
        grid.push(vec![
            encoder(row),
            policy(row),
            ours(row),
            row.peer.setting.clone(),
            median(&row.ours, measure.key()),
            median(&row.peer, measure.key()),
            ratio.map_or_else(dash, |ratio| ratio.times()),
            bar.map_or_else(String::new, |bar| bar.shown()),
            remarks.collect::<Vec<_>>().join("; "),
            machine(measured, row),
            number(measured, row),
        ]);
    }
    grid
}

/// Our own figures, if there is no peer.
fn alone(measured: &Measured, rows: &[&Row], measure: Measure) -> Grid {
    let mut grid = Grid::new(["encoder", "frozen", "ours", "median>", "least to most>", "", "machine"]);
    for row in unique(measured, rows) {
        let spread = Spread::of(row.ours.all(measure.key()));
        grid.push(vec![
            encoder(row),
            policy(row),
            ours(row),
            spread.map_or_else(dash, |spread| figure(spread.median)),
            spread.map_or_else(dash, |spread| format!("{} to {}", figure(spread.min), figure(spread.max))),
            row.ours.note.clone().unwrap_or_default(),
            machine(measured, row),
        ]);
    }
    grid
}

/// Rows without those whose side of ours is shown in an earlier row.
fn unique<'a>(measured: &Measured, rows: &[&'a Row]) -> Vec<&'a Row> {
    let key = |row: &Row| (encoder(row), row.policy.clone(), ours(row), place(measured, row));
    let mut seen = Vec::new();
    for row in rows {
        if !seen.iter().any(|known: &&Row| key(known) == key(row)) {
            seen.push(*row);
        }
    }
    seen
}

/// Our speed as a share of the machine's peak in matrix products of the same precision, where a suite counts its work.
fn shares_of_peak(measured: &Measured, suite: Suite, rows: &[&Row]) -> Grid {
    let (measure, work_key, heads) = match suite {
        Suite::Steps => (Measure::Step, "gflop_per_step", ["ms per step>", "Gflop per step>"]),
        Suite::Tagging => (Measure::Tag, "gflop_per_sentence", ["sentences/s>", "Gflop per sentence>"]),
        _ => return Grid::new([]),
    };
    let heads = ["encoder", "frozen", "ours"].into_iter().chain(heads);
    let mut grid =
        Grid::new(heads.chain(["Gflop/s>", "GEMM peak, Gflop/s>", "share of peak, %>", "machine"]));
    for row in unique(measured, rows) {
        let found = Spread::of(row.ours.all(measure.key()));
        let work = Spread::of(row.ours.all(work_key));
        let (Some(found), Some(work)) = (found, work) else {
            continue;
        };
        let per_second = if suite == Suite::Steps { 1e3 / found.median } else { found.median };
        let speed = work.median * per_second;
        let peak = measured.runs.get(&row.run).and_then(|run| peak(run, &row.ours.precision));
        grid.push(vec![
            encoder(row),
            policy(row),
            ours(row),
            figure(found.median),
            figure(work.median),
            figure(speed),
            peak.map_or_else(dash, figure),
            peak.map_or_else(dash, |peak| format!("{:.0}", 100.0 * speed / peak)),
            machine(measured, row),
        ]);
    }
    grid
}

/// Our steps beside what they would take at the machine's limits, where they were profiled.
fn shares_of_limit(measured: &Measured, rows: &[&Row]) -> Grid {
    let mut grid = limits::grid();
    for row in unique(measured, rows) {
        let name = [encoder(row), policy(row), ours(row)];
        limits::row(&row.ours, name, machine(measured, row)).into_iter().for_each(|row| grid.push(row));
    }
    grid
}

/// What the time of our sweeps was spent on, where their spans were kept.
fn parts_of_time(measured: &Measured, rows: &[&Row]) -> Grid {
    let heads = ["encoder", "frozen", "ours", "in all>"].into_iter();
    let heads = heads.chain(trace::PARTS.iter().map(|(head, ..)| *head)).chain(["machine"]);
    let mut grid = Grid::new(heads);
    for row in unique(measured, rows) {
        let keys = || [Measure::Wall.key()].into_iter().chain(trace::PARTS.iter().map(|(_, key, _)| *key));
        if keys().all(|key| row.ours.all(key).next().is_some()) {
            let names = [encoder(row), policy(row), ours(row)].into_iter();
            let all = names.chain(keys().map(|key| median(&row.ours, key))).chain([machine(measured, row)]);
            grid.push(all.collect());
        }
    }
    grid
}

/// Speed means nothing without it.
fn accuracies(measured: &Measured, rows: &[&Row], key: &str) -> Grid {
    let mut grid = Grid::new(["encoder", "frozen", "ours", "peer", "ours>", "peer>", "machine"]);
    for row in rows {
        let of = |side: &Side| Spread::of(side.all(key)).map(|found| 100.0 * found.median);
        let [own, others] = [of(&row.ours), of(&row.peer)];
        if own.is_none() && others.is_none() {
            continue;
        }
        let show = |accuracy: Option<f64>| accuracy.map_or_else(dash, |accuracy| format!("{accuracy:.2}"));
        let settings = [ours(row), row.peer.setting.clone()];
        let [left, right] = settings;
        grid.push(vec![
            encoder(row),
            policy(row),
            left,
            right,
            show(own),
            show(others),
            machine(measured, row),
        ]);
    }
    grid
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
