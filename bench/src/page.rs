//! Renders `docs/benchmarks.md` from the stored measurements. The same measurements give the same page.

use std::fmt::Write as _;

use crate::compare::described_settings;
use crate::spread::format_figure;
use crate::stored::{BenchRun, ProcessorKind, StoredMeasurements};
use crate::suite::Suite;
use crate::tables::{best_gemm, processor_letter, render_tables};

/// Known advantages of either side.
const BIAS: &str = include_str!("bias.md");

/// Renders the whole page.
pub(crate) fn render_page(measured: &StoredMeasurements) -> String {
    let mut page = String::from(
        "# Benchmarks\n\n\
         Frostline and a peer, run in turns on the same data and machine. The peer is the study's protocol on\n\
         Hugging Face Trainer, and for reading the usual Python packages ([tests/peers](../tests/peers)).\n\
         `cargo xtask bench --write` writes this page and `benchmarks.json`, from which\n\
         `cargo xtask bench --render` renders it again.\n\n\
         A ratio above 1 is our gain: the peer's time or memory over ours, our speed over the peer's. *Bar, aim*\n\
         is what the project set out to reach; SHORT marks what falls below the bar.\n",
    );
    list_processors(&mut page, measured);
    let mut suite: Option<Suite> = None;
    for table in render_tables(measured) {
        if suite != Some(table.suite) {
            page.truncate(page.trim_end().len());
            let section = table.suite.suite_section();
            let _ = write!(page, "\n\n## {}\n\n{}\n", section.title, section.about);
            if table.suite.is_whole() {
                page.push_str(SPANS);
            }
            suite = Some(table.suite);
        }
        let _ = write!(page, "\n### {}\n\n{}", table.title, table.grid.render_markdown());
    }
    page.truncate(page.trim_end().len());
    page.push_str("\n\n## Settings\n\n");
    for setting in described_settings() {
        let flags = setting.flags.join(" ");
        let flags = if flags.is_empty() { String::new() } else { format!(" (`{flags}`)") };
        let _ = writeln!(page, "- `{}`{flags}: {}", setting.id, setting.means);
    }
    if !measured.runs.is_empty() {
        page.push_str("\n## How to repeat\n\n");
        for (number, (key, run)) in measured.runs.iter().enumerate() {
            describe_run(&mut page, number + 1, key, run);
        }
        page.truncate(page.trim_end().len());
        page.push('\n');
    }
    let _ = write!(page, "\n## Bias\n\n{}", BIAS.trim_end());
    page.push('\n');
    page
}

/// Lists the machines of the tables, each with its letter: times are compared on one of them.
fn list_processors(page: &mut String, measured: &StoredMeasurements) {
    if measured.runs.is_empty() {
        return;
    }
    page.push_str("\nCompare only rows of one machine. A row's run is described in *How to repeat*.\n\n");
    page.push_str("| machine | processor | cores | instructions | GEMM peak f32, Gflop/s | bf16 |\n|---|---|---:|---|---:|---:|\n");
    for (place, processor) in measured.run_processors().into_iter().enumerate() {
        let runs = || measured.runs.values().filter(|run| run.processor_kind() == processor);
        let best = |precision| {
            let peaks = runs().filter_map(|run| best_gemm(run, precision));
            peaks.reduce(f64::max).map_or_else(|| "–".to_string(), format_figure)
        };
        let ProcessorKind { cpu, cores, isa } = processor;
        let _ = writeln!(
            page,
            "| {} | {cpu} | {cores} | {isa} | {} | {} |",
            processor_letter(place),
            best("f32"),
            best("bf16")
        );
    }
}

/// The sources of the parts of a sweep's time.
const SPANS: &str = "\n*Where our time went* adds up the spans of `frostline sweep --trace`; *else* is what lies between them. Most\n\
     of an update is made during the next step ([why](protocol.md#training)), whose passes include it.\n";

/// Why CI does not run the commands of this page (`crate::marks`).
const NOT_RUN: &str = "<!-- not run: needs the peers, and takes minutes to hours -->";

/// A run: its command, its machine and what took part.
fn describe_run(page: &mut String, number: usize, key: &str, run: &BenchRun) {
    let words = |words: &std::collections::BTreeMap<String, String>| {
        let pairs: Vec<String> = words
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        if pairs.is_empty() { "none".into() } else { pairs.join(", ") }
    };
    let peaks: Vec<String> = run
        .gemm_gflops
        .keys()
        .filter_map(|precision| {
            Some(format!("{precision} {} Gflop/s", format_figure(best_gemm(run, precision)?)))
        })
        .collect();
    let machine = &run.machine;
    let _ = write!(
        page,
        "Run {number}, {key}:\n\n{NOT_RUN}\n```text\n{}\n```\n\n\
         - Machine: {}, {} cores, {} MiB of memory, {}; load before the start {:.2}\n\
         - {}; {} steps timed after {}; {} sentences per step; {} threads on each side\n\
         - Frostline: backend {}, {}\n\
         - Peer: {}\n\
         - GEMM peak: {}\n",
        run.command,
        machine.cpu,
        machine.cores,
        frostline_sweep::units::group_thousands(machine.memory_mib),
        machine.system,
        machine.load_before,
        frostline_sweep::units::count_noun(run.rounds as usize, "round"),
        run.steps,
        run.warmup,
        if run.batch == 0 { "16 or 64".into() } else { run.batch.to_string() },
        run.threads,
        run.backend,
        words(&run.runner),
        words(&run.peer),
        if peaks.is_empty() { "not measured".into() } else { peaks.join(", ") },
    );
    for check in &run.checks {
        let _ = writeln!(page, "- {check}");
    }
    page.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine_limits;
    use crate::stored::tests::{measured_on_test_machine, side_with_steps, steps_row};
    use crate::trace;
    use frostline_sweep::Backend;

    #[test]
    fn a_page_from_made_up_measurements() {
        let mut short = steps_row("2026-01-02T03-04-05Z", "all", &[100.0, 110.0], &[330.0, 330.0]);
        short.ours.rounds.pop();
        let mut alone = steps_row("2026-01-03T03-04-05Z", "first-4", &[60.0], &[]);
        alone.encoder = "distilbert-base-multilingual-cased".into();
        alone.random_init = true;
        for round in &mut alone.ours.rounds {
            round.extend(machine_limits::tests::profiled_step(137.5).named_figures());
        }
        let mut run = steps_row("2026-01-02T03-04-05Z", "none", &[], &[]);
        (run.suite, run.comparison) = (Suite::Runs, "run-f32-study".into());
        (run.ours, run.peer) = (side_with_steps("f32", &[1.0]), side_with_steps("study", &[1.0]));
        for (side, wall_s, accuracy) in [(&mut run.ours, 62.5, 0.9471), (&mut run.peer, 400.0, 0.9486)] {
            side.rounds[0].extend([("wall_s".to_string(), wall_s), ("accuracy".into(), accuracy)]);
        }
        run.ours.rounds[0].extend(trace::part_seconds(&[], 62.5));
        let mut all = measured_on_test_machine(
            "2026-01-02T03-04-05Z",
            vec![
                steps_row("2026-01-02T03-04-05Z", "none", &[90.0, 100.0, 104.0], &[800.0, 780.0, 850.0]),
                short,
            ],
        );
        all.merge_new(measured_on_test_machine("2026-01-03T03-04-05Z", vec![alone]));
        all.rows.push(run);
        insta::assert_snapshot!(render_page(&all));
    }

    #[test]
    fn a_device_has_its_checks_and_bars_of_its_own() {
        let page = |backend| {
            let mut steps = steps_row("2026-01-02T03-04-05Z", "none", &[10.0], &[12.0]);
            (steps.suite, steps.comparison, steps.backend) = (Suite::Device, "device-64-f32".into(), backend);
            let mut all = measured_on_test_machine("2026-01-02T03-04-05Z", vec![steps]);
            let run = all.runs.values_mut().next().expect("its run");
            (run.batch, run.backend) = (0, backend.to_string());
            run.checks = vec!["Conformance: 58 of 58 agree with a processor".into()];
            render_page(&all)
        };
        let on_gpu = page(Backend::Cuda);
        for part in ["; 16 or 64 sentences per step;", "\n- Conformance: 58 of 58 agree with a processor\n\n"]
        {
            assert!(on_gpu.contains(part), "{on_gpu}");
        }
        assert!(on_gpu.contains("| 1.20x (1.20 to 1.20) | 1.25x, 1.25x | SHORT |"), "{on_gpu}");
        assert!(!page(Backend::Flex).contains("1.25x"), "a processor has no bars of a GPU");
    }

    #[test]
    fn the_page_is_what_its_measurements_render_to() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let measured =
            StoredMeasurements::read_file(&docs.join("benchmarks.json")).expect("the measurements");
        let page = std::fs::read_to_string(docs.join("benchmarks.md")).expect("the page");
        assert!(render_page(&measured) == page, "run `cargo xtask bench --render`");
    }

    #[test]
    fn nothing_measured_is_a_page_too() {
        let page = render_page(&StoredMeasurements::default());
        assert!(page.contains("## Bias") && !page.contains("## Training steps"), "{page}");
    }
}
