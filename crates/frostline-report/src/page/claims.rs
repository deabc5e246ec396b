//! Owns the claims of a plan: their list on the page, and `claims.md` with what decided each.
//!
//! Refuses a verdict without its numbers: differences stand seed by seed.

use crate::Report;
use crate::claims::{Convergence, Differences, Found, Interval, Judged, Row, Tested, Verdict, judge};
use crate::number::{fixed, listed, or_dash, plural, plus_minus, signed};
use crate::page::{banner, paragraph, section};
use crate::table::Table;

/// The list on the page.
pub(super) fn list(report: &Report, text: &mut String) {
    let claims = judge(report);
    if claims.is_empty() {
        return;
    }
    section(text, 2, "Claims");
    for claim in &claims {
        *text += &format!("- **{}**: {}\n", claim.verdict.name(), claim.says);
        for test in &claim.tests {
            *text += &format!("  - {}: {}\n", sentence(&test.asks, claim, test), gist(test));
        }
    }
    text.push('\n');
    paragraph(text, "`claims.md` has the tables, seed by seed, and says how a verdict is reached.");
}

/// The test, with its own verdict where a claim has several.
fn sentence(asks: &str, claim: &Judged, test: &Tested) -> String {
    if claim.tests.len() == 1 { asks.into() } else { format!("*{}*, {asks}", test.verdict.name()) }
}

/// What a test found, in a line.
fn gist(test: &Tested) -> String {
    match &test.found {
        Found::Nothing(why) => why.clone(),
        Found::Convergence(found) => format!(
            "{} cells ({} %), {}",
            found.all.count(),
            found.all.percent(),
            plural(found.share.mean.n, "seed")
        ),
        Found::Differences(found) => match found.deciding() {
            None => "no seed has all comparisons".into(),
            Some(row) => format!(
                "A − B is {} {}{}, {}",
                signed(row.mean.mean, 2),
                found.unit,
                or_dash_interval(row, ", 95 % interval "),
                plural(row.seeds.len(), "seed")
            ),
        },
    }
}

fn or_dash_interval(row: &Row, before: &str) -> String {
    row.mean.interval.map_or_else(String::new, |ends| format!("{before}{}", interval(ends)))
}

fn interval([low, high]: [f64; 2]) -> String {
    format!("{} to {}", signed(low, 2), signed(high, 2))
}

/// `claims.md`; nothing where the plan claims nothing.
pub(crate) fn claims_page(report: &Report) -> Option<String> {
    let claims = judge(report);
    if claims.is_empty() {
        return None;
    }
    let mut text = format!("# Claims: {}\n\n", report.sweep.plan.name);
    text += &banner(report);
    paragraph(
        &mut text,
        "Each claim stands in the plan with the tests that decide it. Cells are compared in pairs that \
         differ in nothing but what the test names; both have the same seed. A mean difference has \
         Student's 95 % interval over seeds. A test is **supported** where the whole interval is where \
         the test wants it, **contradicted** where the whole interval is elsewhere, and **not decided** \
         otherwise, always so with a single seed, or where all seeds differ by the very same amount other \
         than 0. Shares of cells are taken within each seed and treated alike; where all seeds have the \
         same share, Wilson's interval over all cells takes the place of Student's. \
         Several comparisons are averaged within each seed \
         first (`together`), over the seeds that have all of them; this row decides. The verdicts of \
         single rows are not corrected for their number.",
    );
    for (number, claim) in claims.iter().enumerate() {
        one(&mut text, number + 1, claim);
    }
    Some(text.trim_end().to_string() + "\n")
}

fn one(text: &mut String, number: usize, claim: &Judged) {
    section(text, 2, &format!("{number}. {}", claim.says));
    let needed = match (claim.tests.len(), claim.needs) {
        (1, _) => "",
        (_, frostline_record::Needs::All) => " All tests must hold.",
        (_, frostline_record::Needs::Any) => " One test that holds is enough.",
    };
    paragraph(text, &format!("**{}.**{needed}", capital(claim.verdict.name())));
    for test in &claim.tests {
        let own = if claim.tests.len() == 1 {
            String::new()
        } else {
            format!(" **{}.**", capital(test.verdict.name()))
        };
        paragraph(text, &format!("Test: {}.{own}", test.asks));
        match &test.found {
            Found::Nothing(why) => paragraph(text, &format!("Not tested: {why}.")),
            Found::Differences(found) => differences(text, found),
            Found::Convergence(found) => convergence(text, found),
        }
    }
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn differences(text: &mut String, found: &Differences) {
    let mut table = Table::default()
        .left("Cells", 0)
        .left("A", 0)
        .left("B", 0)
        .right(format!("A: {}", found.measured), 0)
        .right("B", 0)
        .left(format!("A − B by seed, {}", found.unit), 0)
        .right("Mean", 0)
        .right("95 % interval", 0)
        .right("Seeds", 0)
        .left("Verdict", 0);
    for row in found.rows.iter().chain(&found.together) {
        let by_seed = row.seeds.iter().zip(&row.differences);
        let by_seed: Vec<String> =
            by_seed.map(|(seed, value)| format!("{seed}: {}", signed(*value, 2))).collect();
        let [a, b] = row.names.clone().unwrap_or_else(|| ["together".into(), String::new()]);
        table.row([
            row.cells.clone(),
            a,
            b,
            fixed(row.means[0], 2),
            fixed(row.means[1], 2),
            by_seed.join(", "),
            signed(row.mean.mean, 2),
            or_dash(row.mean.interval, interval),
            row.seeds.len().to_string(),
            row.verdict.name().into(),
        ]);
    }
    paragraph(text, table.markdown().trim_end());
    let single: Vec<&Row> = found.rows.iter().filter(|row| row.names.is_some()).collect();
    if single.len() > 1 {
        let kinds = [Verdict::Supported, Verdict::Contradicted, Verdict::NotDecided];
        let counts = kinds.into_iter().filter_map(|kind| {
            let count = single.iter().filter(|row| row.verdict == kind).count();
            (count > 0).then(|| format!("{count} {}", kind.name()))
        });
        let counts = listed(&counts.collect::<Vec<_>>());
        paragraph(text, &format!("Of {}: {counts}.", plural(single.len(), "single comparison")));
    }
    if found.rows.len() > 1 && found.together.is_none() {
        paragraph(text, "No seed has all of these comparisons, so nothing is said of them together.");
    }
}

fn convergence(text: &mut String, found: &Convergence) {
    let mut table = Table::default()
        .left("Cells", 0)
        .left("Frozen", 0)
        .right("Near their end", 0)
        .right("%", 0)
        .right("Still to gain, points", 0);
    for row in found.rows.iter().chain([&found.all]) {
        let all = row.cells.is_empty();
        table.row([
            if all { "all".into() } else { row.cells.clone() },
            row.policy.clone(),
            row.count(),
            row.percent(),
            plus_minus(row.gap, 2),
        ]);
    }
    paragraph(text, table.markdown().trim_end());
    let share = &found.share.mean;
    let seeds = plural(share.n, "seed");
    let whose = match found.share.interval {
        Interval::Student => "95 % interval",
        Interval::Wilson => "Wilson's 95 % interval over all cells",
    };
    let interval = share.interval.map(|[low, high]| {
        let [low, high] = [low.max(0.0), high.min(1.0)].map(|end| fixed(100.0 * end, 0));
        format!(", {whose} {low} to {high} %")
    });
    paragraph(
        text,
        &format!(
            "Of the cells of a seed, {} % are near their end: the mean over {seeds}{}.",
            fixed(100.0 * share.mean, 0),
            interval.unwrap_or_default()
        ),
    );
    let shares: Vec<String> = found
        .shares
        .iter()
        .enumerate()
        .map(|(at, share)| format!("{} % after epoch {}", fixed(100.0 * share, 0), at + 1))
        .collect();
    paragraph(text, &format!("Near their end, of the cells that go on: {}.", listed(&shares)));
    if found.too_short > 0 {
        let cells = plural(found.too_short, "cell");
        paragraph(text, &format!("Left out: {cells} that end there, and so are near their end in any case."));
    }
}
