//! How much faster the reader's scanner is than the grammar of a row in nom:
//! `cargo run --release -p frostline-conllu --example grammar FILE.conllu`.

use std::time::Instant;

use frostline_conllu::{grammar, read_strict};

/// Runs of each; the median counts.
const RUNS: usize = 7;

fn main() {
    let path = std::env::args().nth(1).expect("the path of a CoNLL-U file");
    let text = std::fs::read_to_string(&path).expect("a file in UTF-8");
    let rows = || text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let scanner =
        median_ms(|| read_strict(text.as_bytes(), Default::default()).filter(Result::is_ok).count());
    let by_grammar = median_ms(|| rows().filter(|line| grammar::row(line).is_some()).count());
    println!(
        "{} rows: strict reading {scanner:.0} ms, the grammar of rows alone {by_grammar:.0} ms, {:.1} times as long",
        rows().count(),
        by_grammar / scanner
    );
}

fn median_ms(mut run: impl FnMut() -> usize) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let started = Instant::now();
            std::hint::black_box(run());
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}
