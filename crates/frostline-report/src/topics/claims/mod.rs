//! The claims of a plan: their list on the report's first page, and `claims.md` with what decided each, seed by seed.

mod convergence;
mod differences;
mod gauge;
mod intervals;
mod judge;
mod memory;
mod pairs;
mod paper;
mod rows;
mod step_twins;
mod steps;
mod verdict;

use frostline_record::{Comparisons, Needs};

use crate::fields::JsonFields;
use crate::number::{capital, fixed, listed, plural, signed};
use crate::page::{Page, PageFile};
use crate::study::Study;
use crate::study::words::write_banner;
use crate::table::{Quantity, TableColumns, TableValue};
use crate::topic::{ReportPlace, Topic, TopicTable};

use convergence::{IntervalKind, Near, NearEnd};
use judge::{JudgedClaim, TestResult, Tested, judge_claims};
use rows::{Differences, Over, PairedComparison};
use verdict::ClaimVerdict;

/// Claims with their verdicts.
pub(crate) struct ClaimsTopic {
    judged: Vec<JudgedClaim>,
}

impl ClaimsTopic {
    /// Judges the claims of a study's plan.
    pub fn of(study: &Study) -> Self {
        Self { judged: judge_claims(study) }
    }
}

impl Topic for ClaimsTopic {
    fn prose(&self, _: &Study, place: ReportPlace<'_>, page: &mut Page) {
        match place {
            ReportPlace::Closing => {
                if self.judged.is_empty() {
                    return;
                }
                let says =
                    |claim: &JudgedClaim| claim.says.lines().map(str::trim).collect::<Vec<_>>().join(" ");
                let line = |claim: &JudgedClaim| {
                    format!("{:<12}  {}{}", claim.verdict.name(), says(claim), by_which(claim))
                };
                page.section(2, "Claims");
                page.items(self.judged.iter().map(line));
            }
            ReportPlace::Summary => {
                if self.judged.is_empty() {
                    return;
                }
                page.section(2, "Claims");
                for claim in &self.judged {
                    let tests = claim
                        .tests
                        .iter()
                        .map(|test| format!("{}: {}", test_sentence(claim, test), summarize_test(test)));
                    page.item_with(format!("**{}**: {}", claim.verdict.name(), claim.says), tests.collect());
                }
                page.paragraph(
                    "`claims.md` has the tables, seed by seed, and explains how a verdict is reached.",
                );
            }
            _ => {}
        }
    }

    fn pages(&self, study: &Study) -> Vec<PageFile<'_>> {
        if self.judged.is_empty() {
            return Vec::new();
        }
        let mut page = Page::default();
        page.section(1, format!("Claims: {}", study.sweep.plan.name));
        write_banner(study, &mut page);
        page.paragraph(
            "The plan contains each claim with the tests that decide it. Cells are compared in pairs that \
             differ in nothing but what the test names; both have the same seed. A mean difference of an \
             accuracy has a 95 % interval over seeds and sentences, by the rule of the report's verdicts; a \
             difference of anything else, or without stored predictions, has Student's over seeds. Training times are \
             compared by steps that policies took in turns, if all of them did, and by their processor time if the \
             machine was busy: the interval is of the median ratio over rounds, on each side of which an \
             eighth of the savings is added for processor time, and seeds have no part in it. Memory is measured once for \
             each policy, of the GPU if steps are computed on one; on a processor a peak may be off by 3 %. A test is \
             **supported** if the whole interval is inside the range that the test asks for, **contradicted** if the whole \
             interval is outside, and **not decided** \
             otherwise, always so with a single seed, or if all seeds differ by the very same amount other \
             than 0. Shares of cells are taken within each seed and treated alike; if all seeds have the \
             same share, Wilson's interval over all cells takes the place of Student's. \
             A test with several comparisons is supported if each of them is, and contradicted if one is. Only where \
             the plan asks for the mean of comparisons does the row `together` decide: they are averaged within each \
             seed first, over the seeds that have all of them.",
        );
        if !study.sweep.plan.policies.is_empty() {
            page.paragraph("Policies to which the plan gives settings of their own differ in these, too.");
        }
        for (number, claim) in self.judged.iter().enumerate() {
            describe_claim(&mut page, number + 1, claim);
        }
        vec![PageFile {
            path: "claims.md",
            about: "every claim of the plan with the differences that decide it.".into(),
            page,
            browser: None,
        }]
    }

    fn tables(&self, _: &Study) -> Vec<TopicTable> {
        let table = (!self.judged.is_empty()).then(|| TopicTable::Paper(paper::table(&self.judged)));
        table.into_iter().collect()
    }

    fn facts(&self, _: &Study) -> JsonFields {
        JsonFields::default().with_some("claims", &self.judged)
    }
}

/// The test, with its own verdict if a claim has several.
fn test_sentence(claim: &JudgedClaim, test: &Tested) -> String {
    if claim.tests.len() == 1 {
        return test.asks.clone();
    }
    format!("*{}*, {}", test.verdict.name(), test.asks)
}

/// What a test found, in a line.
fn summarize_test(test: &Tested) -> String {
    match &test.found {
        TestResult::Nothing(why) => why.clone(),
        TestResult::Convergence(found) => format!(
            "{} cells ({} %), {}",
            found.all.count(),
            found.all.percent(),
            plural(found.share.mean.n, "seed")
        ),
        TestResult::Differences(found) if found.comparisons == Comparisons::Each && found.rows.len() > 1 => {
            of_each(found)
        }
        TestResult::Differences(found) => {
            let measured = found.deciding().map(|row| difference_words(found, row));
            measured.unwrap_or_else(|| found.why_apart().into()) + &not_compared(found)
        }
    }
}

/// `A − B is −0.91 points, 95 % interval −1.11 to −0.70, 3 seeds`.
fn difference_words(found: &Differences, row: &PairedComparison) -> String {
    let mean = signed(row.mean.mean, 2);
    format!("A − B is {mean} {}{}, {}", found.unit, interval_words(row), row.count())
}

/// How many comparisons hold, which are contradicted, and the one that is furthest from what the test asks.
fn of_each(found: &Differences) -> String {
    let supported = found.with(ClaimVerdict::Supported).len();
    let of = plural(found.rows.len() + found.missing.len(), "comparison");
    let mut parts = vec![format!("{supported} of {of} supported")];
    for verdict in [ClaimVerdict::Contradicted, ClaimVerdict::NotDecided] {
        let rows = found.with(verdict);
        if !rows.is_empty() {
            let names: Vec<String> = rows.iter().map(|row| row.name()).collect();
            parts.push(format!("{}: {}", verdict.name(), names.join(", ")));
        }
    }
    if let Some(row) = found.deciding() {
        parts.push(format!("least favourable: {}, {}", row.name(), difference_words(found, row)));
    }
    parts.join("; ") + &not_compared(found)
}

/// `; not compared: en, first-2 against none`.
fn not_compared(found: &Differences) -> String {
    if found.missing.is_empty() {
        String::new()
    } else {
        format!("; not compared: {}", found.missing.join(", "))
    }
}

/// The comparisons that contradict a claim, for a line on a terminal: ` (pcm, first-8 against none)`.
fn by_which(claim: &JudgedClaim) -> String {
    let rows = claim.tests.iter().filter_map(|test| match &test.found {
        TestResult::Differences(found) if claim.comparisons == Comparisons::Each && found.rows.len() > 1 => {
            Some(found.with(ClaimVerdict::Contradicted))
        }
        _ => None,
    });
    let names: Vec<String> = rows.flatten().map(PairedComparison::name).collect();
    let contradicted = claim.verdict == ClaimVerdict::Contradicted && !names.is_empty();
    if contradicted { format!(" ({})", names.join("; ")) } else { String::new() }
}

/// `, 95 % interval -1.00 to +1.00`; nothing if there is none.
fn interval_words(row: &PairedComparison) -> String {
    row.mean.interval.map_or_else(String::new, |[low, high]| {
        format!(", 95 % interval {} to {}", signed(low, 2), signed(high, 2))
    })
}

fn describe_claim(page: &mut Page, number: usize, claim: &JudgedClaim) {
    page.section(2, format!("{number}. {}", claim.says));
    let needed = match (claim.tests.len(), claim.needs) {
        (1, _) => "",
        (_, Needs::All) => " All tests must hold.",
        (_, Needs::Any) => " One test that holds is enough.",
    };
    let several = claim.tests.iter().any(Tested::compares_several);
    let decided_by = match claim.comparisons {
        Comparisons::Each if several => " Each comparison of a test must hold.",
        Comparisons::Mean if several => " The mean of a test's comparisons decides.",
        _ => "",
    };
    page.paragraph(format!("**{}.**{needed}{decided_by}", capital(claim.verdict.name())));
    for test in &claim.tests {
        let own = if claim.tests.len() == 1 {
            String::new()
        } else {
            format!(" **{}.**", capital(test.verdict.name()))
        };
        page.paragraph(format!("Test: {}.{own}", test.asks));
        match &test.found {
            TestResult::Nothing(why) => page.paragraph(format!("Not tested: {why}.")),
            TestResult::Differences(found) => describe_differences(page, found),
            TestResult::Convergence(found) => describe_convergence(page, found),
        }
    }
}

fn describe_differences(page: &mut Page, found: &Differences) {
    let name = |row: &&PairedComparison, at: usize| match &row.names {
        Some(names) => names[at].clone(),
        None => ["together", ""][at].into(),
    };
    let columns = TableColumns::default()
        .column("Cells", Quantity::Text, |row: &&PairedComparison| row.cells.clone())
        .column("A", Quantity::Text, move |row| name(row, 0))
        .column("B", Quantity::Text, move |row| name(row, 1))
        .column(format!("A: {}", found.measured), Quantity::Number(2, ""), |row| row.means[0])
        .column("B", Quantity::Number(2, ""), |row| row.means[1])
        .optional(format!("A − B by seed, {}", found.unit), Quantity::Text, |row| {
            if row.differences.is_empty() {
                return TableValue::Missing;
            }
            let by_seed = row.seeds.iter().zip(&row.differences);
            let by_seed = by_seed.map(|(seed, value)| format!("{seed}: {}", signed(*value, 2)));
            by_seed.collect::<Vec<_>>().join(", ").into()
        })
        .column("Mean", Quantity::Signed(2), |row| row.mean.mean)
        .column("95 % interval", Quantity::Signed(2), |row| row.mean.interval)
        .column("Of", Quantity::Text, |row| row.count())
        .column("Interval over", Quantity::Text, |row| match row.over {
            Over::SeedsAndSentences => "seeds and sentences",
            Over::Seeds => "seeds",
            Over::Rounds => "rounds",
            Over::Measurement => "one measurement each",
        })
        .column("Verdict", Quantity::Text, |row| row.verdict.name());
    page.table(columns.table(found.rows.iter().chain(&found.together)));
    let single = found.rows.iter().filter(|row| row.names.is_some()).count();
    if single > 1 {
        let kinds = [ClaimVerdict::Supported, ClaimVerdict::Contradicted, ClaimVerdict::NotDecided];
        let counts = kinds.into_iter().filter_map(|kind| {
            let rows = found.with(kind);
            let names: Vec<String> = rows.iter().map(|row| row.name()).collect();
            let named = if kind == ClaimVerdict::Contradicted {
                format!(" ({})", names.join("; "))
            } else {
                String::new()
            };
            (!rows.is_empty()).then(|| format!("{} {}{named}", rows.len(), kind.name()))
        });
        let counts = listed(&counts.collect::<Vec<_>>());
        page.paragraph(format!("Of {}: {counts}.", plural(single, "single comparison")));
    }
    if !found.missing.is_empty() {
        let names = found.missing.join("; ");
        page.paragraph(format!(
            "Not compared, since the sweep lacks these cells or they are not done: {names}."
        ));
    }
    let apart = found.comparisons == Comparisons::Mean && found.rows.len() > 1 && found.together.is_none();
    if apart {
        page.paragraph(format!("{}, so they have no common mean.", capital(found.why_apart())));
    }
}

fn describe_convergence(page: &mut Page, found: &NearEnd) {
    let columns =
        TableColumns::default()
            .column("Cells", Quantity::Text, |row: &&Near| {
                if row.cells.is_empty() { "all".into() } else { row.cells.clone() }
            })
            .column("Frozen", Quantity::Text, |row| row.policy.clone())
            .column("Near their end", Quantity::Count, |row| row.count())
            .column("%", Quantity::Count, |row| row.percent())
            .column("Still to gain, points", Quantity::Number(2, ""), |row| TableValue::from(row.gap));
    page.table(columns.table(found.rows.iter().chain([&found.all])));
    let share = &found.share.mean;
    let seeds = plural(share.n, "seed");
    let kind = match found.share.interval {
        IntervalKind::Student => "95 % interval",
        IntervalKind::Wilson => "Wilson's 95 % interval over all cells",
    };
    let interval = share.interval.map(|[low, high]| {
        let [low, high] = [low.max(0.0), high.min(1.0)].map(|end| fixed(100.0 * end, 0));
        format!(", {kind} {low} to {high} %")
    });
    page.paragraph(format!(
        "Of the cells of a seed, {} % are near their end: the mean over {seeds}{}.",
        fixed(100.0 * share.mean, 0),
        interval.unwrap_or_default()
    ));
    let shares = found.shares.iter().enumerate();
    let shares: Vec<String> =
        shares.map(|(at, share)| format!("{} % after epoch {}", fixed(100.0 * share, 0), at + 1)).collect();
    page.paragraph(format!("Near their end, of the cells that continue: {}.", listed(&shares)));
    if found.too_short > 0 {
        let cells = plural(found.too_short, "cell");
        page.paragraph(format!("Left out: {cells} that end there, and so are near their end in any case."));
    }
}
