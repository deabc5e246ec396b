//! How well losses of policies are predicted for a language that the records lack:
//! `cargo run --release -p frostline-report --example advice`.
//!
//! The first table leaves out one language at a time. The second asks whether a pilot on few sentences would add something: it
//! predicts the loss on all sentences from the other languages' mean, and from a line through their losses on few sentences.

use frostline_report::{ADVISED, LossRecords, PolicyLoss};

/// Numbers of sentences from which on a treebank counts as a whole one.
const MANY: u64 = 200;

fn main() {
    let records = LossRecords::stored();
    let losses = records.losses();
    println!(
        "| margin | losses | in their 90 % interval | treebanks with advice | lost at most the margin |"
    );
    println!("|---|---|---|---|---|");
    for margin in [0.25, 0.5, 1.0, 2.0] {
        let found = records.leave_out(margin);
        println!(
            "| {margin} | {} | {} ({:.0} %) | {} | {} |",
            found.predicted,
            found.covered,
            100.0 * found.covered as f64 / found.predicted.max(1) as f64,
            found.advised,
            found.kept
        );
    }
    println!("\n| policy | languages | error from the others' mean | error with the loss on few sentences |");
    println!("|---|---|---|---|");
    for policy in ADVISED {
        let pairs = pilots(losses, policy);
        let [mean, line] = [false, true].map(|pilot| root_mean_square(&errors(&pairs, pilot)));
        println!("| `{policy}` | {} | {mean:.2} | {line:.2} |", pairs.len());
    }
}

/// The losses of each language on few and on all sentences, with the same encoder.
fn pilots(losses: &[PolicyLoss], policy: &str) -> Vec<[f64; 2]> {
    let of_policy = || losses.iter().filter(|loss| loss.policy == policy);
    let few = of_policy().filter(|loss| loss.sentences < MANY);
    few.filter_map(|few| {
        let same = |loss: &&PolicyLoss| (&loss.lang, &loss.encoder) == (&few.lang, &few.encoder);
        let most = of_policy().filter(same).max_by_key(|loss| loss.sentences)?;
        (most.sentences >= MANY).then_some([few.points, most.points])
    })
    .collect()
}

/// What each language's loss on all sentences differs by from what the other languages predict.
fn errors(pairs: &[[f64; 2]], by_pilot: bool) -> Vec<f64> {
    let error = |at: usize| {
        let others: Vec<[f64; 2]> =
            pairs.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, pair)| *pair).collect();
        let mean = |side: usize| others.iter().map(|pair| pair[side]).sum::<f64>() / others.len() as f64;
        let [x, y] = [mean(0), mean(1)];
        let slope = others.iter().map(|pair| (pair[0] - x) * (pair[1] - y)).sum::<f64>()
            / others.iter().map(|pair| (pair[0] - x).powi(2)).sum::<f64>();
        pairs[at][1] - y - if by_pilot { slope * (pairs[at][0] - x) } else { 0.0 }
    };
    (0..pairs.len()).map(error).collect()
}

fn root_mean_square(errors: &[f64]) -> f64 {
    (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt()
}
