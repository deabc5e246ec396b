//! Measures the rule of `frostline_score::verdict` in simulated studies and prints Markdown tables:
//! `cargo run --release -p frostline-score --example coverage [STUDIES]`.

#[path = "../tests/common/growing.rs"]
mod growing;
#[path = "../tests/common/patterns.rs"]
mod patterns;
#[path = "../tests/common/simulation.rs"]
mod simulation;

use frostline_score::question::Question;
use frostline_score::sequential::Spending;
use growing::{Effects, Growth, GrowthRates, all_lose_the_margin, ladder, no_effects};
use patterns::{Pattern, TableRates, made_up, recorded};
use simulation::{Setting, simulate};

/// Number of resamples, fewer than in a report: the error from this number is small compared with the error
/// from few seeds.
const RESAMPLES: u32 = 400;

/// Titles of the first table.
const TITLES: &str = "| seeds | languages | patterns | false verdict: mean | worst | false \"equivalent\": mean | worst | \
                      false recommendation: mean | worst | power at 4 deviations | each row alone |";

fn main() {
    let studies = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2_000);
    of_growing(studies);
    println!();
    of_patterns(studies);
    println!();
    of_words(studies);
}

/// Whole tables whose seeds scatter in a known pattern.
fn of_patterns(studies: u32) {
    println!("{TITLES}");
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let made_up: Vec<Pattern> = [4, 8].into_iter().flat_map(made_up).collect();
    let studied = [("1", 1, 1.0), ("2, alike", 2, 1.0), ("4, the others calmer", 4, 10.0)];
    for seeds in [2, 3, 5, 10] {
        for (name, patterns) in [("our records", recorded()), ("made up", made_up.clone())] {
            for (languages, count, calmer) in studied {
                let simulate =
                    |pattern: &Pattern| pattern.among_languages(count, calmer).simulate(seeds, studies);
                let rates: Vec<TableRates> = patterns.iter().map(simulate).collect();
                let mean = |get: fn(&TableRates) -> f64| {
                    100.0 * rates.iter().map(get).sum::<f64>() / rates.len() as f64
                };
                let both = |get: fn(&TableRates) -> f64| {
                    let worst = rates.iter().map(get).fold(0.0, f64::max);
                    format!("{:.1} % | {:.1} %", mean(get), 100.0 * worst)
                };
                println!(
                    "| {seeds} | {languages} | {} {name} | {} | {} | {} | {:.0} % | {:.0} % |",
                    patterns.len(),
                    both(|rates| rates.false_verdicts),
                    both(|rates| rates.false_equivalents),
                    both(|rates| rates.false_recommendations),
                    mean(|rates| rates.power),
                    mean(|rates| rates.power_alone)
                );
            }
        }
    }
}

/// Words, sentences and seeds, from which the rule has to find out everything.
fn of_words(studies: u32) {
    println!(
        "| seeds | sentences | setting | seeds' variance over sentences' | all intervals cover | false verdict | false \"equivalent\" |"
    );
    println!("|---|---|---|---|---|---|---|");
    for setting in simulated_settings() {
        let rates = simulate(&setting, studies, RESAMPLES);
        println!(
            "| {} | {} | {} | {:.2} | {:.1} % | {:.1} % | {:.1} % |",
            setting.seeds,
            setting.sentences,
            setting.name.split_once(": ").map_or(setting.name, |(_, name)| name),
            rates.seed_ratio.max(0.0),
            100.0 * rates.coverage,
            100.0 * rates.false_positives,
            100.0 * rates.false_equivalents
        );
    }
}

fn simulated_settings() -> Vec<Setting> {
    let of = |name, seeds, sentences, seed_effect| Setting {
        name,
        seeds,
        sentences,
        seed_effect,
        ..Setting::default()
    };
    vec![
        of("2a: seeds do not matter", 2, 300, 0.0),
        of("2b: seeds matter less than sentences", 2, 300, 0.08),
        of("2c: seeds matter as much as sentences", 2, 300, 0.15),
        of("2d: seeds matter most", 2, 300, 0.35),
        of("3a: seeds do not matter", 3, 300, 0.0),
        of("3b: seeds matter less than sentences", 3, 300, 0.1),
        of("3c: seeds matter as much as sentences", 3, 300, 0.2),
        of("3d: seeds matter most", 3, 300, 0.35),
        of("3e: few sentences", 3, 100, 0.15),
        of("3f: many sentences", 3, 1_000, 0.1),
        Setting { errors: 0.003, ..of("3m: few errors; seeds matter most", 3, 1_000, 0.5) },
        Setting { lengths: 1.2, ..of("3g: very unequal lengths", 3, 300, 0.2) },
        Setting { errors: 0.002, ..of("3h: policies that hardly differ", 3, 300, 0.1) },
        Setting { lengths: 0.0, errors: 0.05, ..of("3i: labels of sentences", 3, 872, 0.1) },
        Setting { policies: 4, ..of("3j: table of four policies", 3, 300, 0.15) },
        Setting {
            policies: 8,
            errors: 0.003,
            ..of("3n: table of eight; few errors, seeds matter most", 3, 1_000, 0.5)
        },
        Setting { drawn: 0.1, ..of("3k: every seed draws a tenth", 3, 100, 0.15) },
        Setting { drawn: 0.2, ..of("3l: every seed draws a fifth; seeds do not matter", 3, 100, 0.0) },
        of("5a: seeds do not matter", 5, 300, 0.0),
        of("5b: seeds matter less than sentences", 5, 300, 0.12),
        of("5c: seeds matter as much as sentences", 5, 300, 0.22),
        of("5d: seeds matter most", 5, 300, 0.35),
        of("5e: few sentences", 5, 100, 0.2),
        of("5f: many sentences", 5, 1_000, 0.12),
        Setting { errors: 0.003, ..of("5h: few errors; seeds matter most", 5, 1_000, 0.5) },
        Setting { drawn: 0.2, ..of("5g: every seed draws a fifth", 5, 100, 0.2) },
        of("10a: seeds do not matter", 10, 300, 0.0),
        of("10b: seeds matter less than sentences", 10, 300, 0.14),
        of("10c: seeds matter as much as sentences", 10, 300, 0.25),
        of("10d: seeds matter most", 10, 300, 0.35),
        Setting { errors: 0.003, ..of("10f: few errors; seeds matter most", 10, 1_000, 0.3) },
        Setting { drawn: 0.2, ..of("10e: every seed draws a fifth; seeds do not matter", 10, 100, 0.0) },
    ]
}

/// Studies that grow until their question is answered.
fn of_growing(studies: u32) {
    println!(
        "| question | boundaries | patterns | wrong without an effect: mean | worst | cells on the ladder | answered | by the fixed \
         grid | the same answer |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let sets =
        [("our records", recorded()), ("made up, 4 rows", made_up(4)), ("made up, 8 rows", made_up(8))];
    for question in [Question::Recommendation, Question::Verdicts] {
        let null: Effects = match question {
            Question::Recommendation => all_lose_the_margin,
            Question::Verdicts => no_effects,
        };
        for spending in [Spending::Pocock, Spending::Quadratic, Spending::OBrienFleming] {
            for (name, patterns) in &sets {
                let growth = Growth { question, spending, most: 5 };
                let simulate = |effects: Effects| -> Vec<GrowthRates> {
                    patterns.iter().map(|pattern| growth.simulate(pattern, effects, studies)).collect()
                };
                let mean = |rates: &[GrowthRates], get: fn(&GrowthRates) -> f64| {
                    100.0 * rates.iter().map(get).sum::<f64>() / rates.len() as f64
                };
                let (of_null, of_ladder) = (simulate(null), simulate(ladder));
                let worst = of_null.iter().map(|rates| rates.wrong).fold(0.0, f64::max);
                println!(
                    "| {question:?} | {spending:?} | {} {name} | {:.1} % | {:.1} % | {:.0} % | {:.0} % | {:.0} % | {:.0} % |",
                    patterns.len(),
                    mean(&of_null, |rates| rates.wrong),
                    100.0 * worst,
                    mean(&of_ladder, |rates| rates.cells),
                    mean(&of_ladder, |rates| rates.answered),
                    mean(&of_ladder, |rates| rates.answered_fixed),
                    mean(&of_ladder, |rates| rates.same)
                );
            }
        }
    }
}
