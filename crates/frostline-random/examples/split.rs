//! Splits the lines of a file into ten parts, for a cross-validation that gives the same parts everywhere:
//! `cargo run -p frostline-random --example split -- FILE SEED`. Without arguments it splits twenty numbers.

use frostline_random::Stream;

/// Parts of a cross-validation.
const PARTS: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let text = match arguments.next() {
        Some(path) => std::fs::read_to_string(path)?,
        None => (1..=20).map(|number| format!("{number}\n")).collect(),
    };
    let seed = arguments.next().map_or(Ok(42), |seed| seed.parse())?;
    let lines: Vec<&str> = text.lines().collect();
    for (line, part) in lines.iter().zip(parts(lines.len(), seed)) {
        println!("{part}\t{line}");
    }
    Ok(())
}

/// Returns the part of each line. It depends only on the seed, the stream's name and the number of lines,
/// neither on earlier draws nor on threads.
fn parts(lines: usize, seed: u64) -> Vec<usize> {
    let order = Stream::new(seed, "cross-validation").permutation(lines);
    let mut parts = vec![0; lines];
    for (place, line) in order.into_iter().enumerate() {
        parts[line] = place % PARTS;
    }
    parts
}

#[test]
fn parts_are_equally_large_and_repeat() {
    let found = parts(200, 7);
    assert!((0..PARTS).all(|part| found.iter().filter(|one| **one == part).count() == 20));
    assert_eq!(found, parts(200, 7));
    assert_ne!(found, parts(200, 8));
}
