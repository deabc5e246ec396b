//! Savings in time and memory from steps that policies took in turns.

use frostline_record::{
    Baseline, Load, MOST_FREQUENT, PROBE, PairedTimes, SCHEMA, Score, Sweep, TimedPolicy,
};
use frostline_report::Report;

use crate::common::maker;
use crate::{keep, text, whole};

/// Rounds in which the machine is slow at times, for all policies alike. `first-2` has noise of its own.
fn times(sweep: &Sweep) -> Vec<PairedTimes> {
    let rounds = 0..40_u32;
    let slow = |round: u32| if round % 7 < 2 { 3.0 } else { 1.0 };
    let timed = |cell: &frostline_record::Cell| {
        let (share, noise, mib) = match cell.settings.policy.as_str() {
            "none" => (1.0, 0.0, 900.0),
            "all" => (0.4, 0.01, 520.0),
            "first-2" => (1.03, 0.6, 810.0),
            "first-4" => (0.7, 0.02, 700.0),
            _ => (0.8, 0.02, 800.0),
        };
        let own = move |round: u32| share * (1.0 + noise * (f64::from(round * 5 % 11) / 5.0 - 1.0));
        let step_ms = rounds.clone().map(|round| 50.0 * slow(round) * own(round)).collect();
        TimedPolicy {
            cell: cell.id.clone(),
            step_ms,
            cpu_ms: None,
            peak_rss_mib: Some(mib),
            peak_device_mib: None,
        }
    };
    let of_group = |cells: Vec<frostline_record::Cell>| PairedTimes {
        schema: SCHEMA,
        policies: cells.iter().map(timed).collect(),
        subwords: vec![350; 40],
        load: Load { before: Some(3.4), stolen: Some(0.08), ..Load::default() },
        made_by: maker(),
    };
    sweep.timed_groups(|_| true).into_iter().map(of_group).collect()
}

#[test]
fn savings_come_from_turns_and_say_where_they_cannot_be_measured() {
    let (sweep, records) = whole();
    let report = Report::new(&sweep, &records, &times(&sweep), None);
    let files = report.files().expect("a report");
    keep("turns", &files);
    let page = text(&files, "report.md");
    let shown = |start: &str, end: &str| {
        let from = page.find(start).unwrap_or_else(|| panic!("no {start}"));
        let to = page[from + 1..].find(end).map_or(page.len(), |at| from + 1 + at);
        page[from..to].trim_end().to_string()
    };
    let parts = [
        shown("## Result", "\n## "),
        shown("### What a step costs", "\n### "),
        page.lines().filter(|line| line.contains("The machine was busy")).collect(),
        report.terminal_table(160),
    ];
    insta::assert_snapshot!("turns", parts.join("\n\n"));
    let results = text(&files, "results.tex");
    for line in [
        "{en}{first-4}{time-saved-mean}{\\ensuremath{30.0}}",
        "{en}{first-4}{time-saved-low}{\\ensuremath{29.4}}",
        "{en}{first-2}{time-saved}{not measurable here}",
        "{pcm}{all}{memory-saved}{\\ensuremath{380}}",
    ] {
        assert!(results.contains(line), "{line}");
    }
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let steps = |policy: &str| {
        let groups = json["groups"].as_array().expect("groups");
        let group = groups.iter().find(|group| group["policy"] == policy).expect(policy);
        group["measured_step"].clone()
    };
    assert!((steps("first-4")["ratio"]["value"].as_f64().expect("a ratio") - 0.7).abs() < 0.01);
    assert_eq!(steps("all")["saved_mib"], 380.0);
}

/// Steps of a few milliseconds that wait for a processor seem to differ less than they do: on a busy machine their processor
/// time is compared.
#[test]
fn savings_on_a_busy_machine_are_of_processor_time() {
    let (sweep, records) = whole();
    // Per language its load, and whether processor time was measured.
    let told = |langs: [(Load, bool); 2]| {
        let mut all = times(&sweep);
        for (times, (load, cpu)) in all.iter_mut().zip(langs) {
            times.load = load;
            for policy in &mut times.policies {
                policy.cpu_ms = cpu.then(|| policy.step_ms.clone());
                policy.step_ms.iter_mut().for_each(|ms| *ms += 500.0);
            }
        }
        let files = Report::new(&sweep, &records, &all, None).files().expect("a report");
        let saved = ["en", "pcm"].map(|lang| {
            let start = format!("{{{lang}}}{{first-4}}{{time-saved-mean}}{{\\ensuremath{{");
            let line = text(&files, "results.tex").lines().find_map(|line| line.split_once(&start));
            line.and_then(|(_, rest)| rest.split_once('}')).expect("a saving").0.to_string()
        });
        let page = text(&files, "report.md");
        let busy = page.lines().filter(|line| line.contains("The machine was busy:")).collect::<String>();
        let processor = [
            page.matches("| Processor time ms |").count(),
            text(&files, "tables.tex").matches("Processor time").count(),
            text(&files, "report.json").matches("\"cpu_ms\"").count(),
        ];
        (saved.join(" "), processor, busy)
    };
    let busy = Load { others: Some(0.75), stolen: Some(0.007), ..Load::default() };
    let quiet = Load { others: Some(0.02), ..Load::default() };
    let words = |savings: &str| {
        format!(
            "- The machine was busy: other programs took 75 % of the processors' time. {savings}. Training times and other \
             times of whole cells are facts of that day only."
        )
    };
    let by_cpu_time =
        "are of the processor time of steps in turns, which waiting for a processor hardly changes";
    let by_time = "are of the time of steps in turns; other work hardly changes their ratios unless a step takes only a \
                   few milliseconds";
    let all = |words: &str| format!("Savings {words}");
    assert_eq!(told([(busy, true); 2]), ("30.0 30.0".into(), [3, 1, 10], words(&all(by_cpu_time))));
    assert_eq!(told([(busy, false); 2]), ("2.8 2.8".into(), [0, 0, 0], words(&all(by_time))));
    assert_eq!(told([(quiet, true); 2]), ("2.8 2.8".into(), [0, 0, 0], String::new()));
    // Each language has its own.
    let one = words(&format!("Savings in en {by_cpu_time}"));
    assert_eq!(told([(busy, true), (quiet, true)]), ("30.0 2.8".into(), [2, 1, 5], one));
    let both = words(&format!("Savings in en {by_cpu_time}. Savings in pcm {by_time}"));
    assert_eq!(told([(busy, true), (busy, false)]), ("30.0 2.8".into(), [2, 1, 5], both));
}

/// It is not quite time, so an eighth of the saving is added to each side of its interval.
#[test]
fn savings_of_processor_time_are_less_sure() {
    let (sweep, records) = whole();
    let ends = |cpu: bool| {
        let mut all = times(&sweep);
        for times in &mut all {
            times.load = Load { others: Some(0.75), ..Load::default() };
            times.policies.iter_mut().for_each(|one| one.cpu_ms = cpu.then(|| one.step_ms.clone()));
        }
        let files = Report::new(&sweep, &records, &all, None).files().expect("a report");
        let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
        let groups = json["groups"].as_array().expect("groups");
        let group = groups.iter().find(|group| group["policy"] == "first-4").expect("a group");
        ["value", "low", "high"].map(|end| group["measured_step"]["ratio"][end].as_f64().expect("a number"))
    };
    let ([value, low, high], [same, lower, higher]) = (ends(false), ends(true));
    let doubt = 0.125 * (1.0 - value);
    assert_eq!(value, same);
    assert!((low - lower - doubt).abs() < 1e-9 && (higher - high - doubt).abs() < 1e-9, "{low} {lower}");
}

/// Training times of cells hold whatever else the machine did: no ratio of them is a saving, in no file.
#[test]
fn training_times_of_cells_are_no_savings() {
    let (sweep, mut records) = whole();
    let told = |records: &[frostline_record::Record], times: &[PairedTimes]| {
        let report = Report::new(&sweep, records, times, None);
        (report.files().expect("a report"), report.terminal_table(200))
    };
    let (plain, terminal) = told(&records, &[]);
    for file in &plain {
        let text = String::from_utf8_lossy(&file.bytes).to_lowercase();
        for name in [
            "| time saved %",
            "\"time saved\"",
            "train_time_saving",
            "measured_speedup",
            "measured speed-up |",
        ] {
            assert!(!text.contains(name), "{} has {name}", file.path);
        }
    }
    assert!(!terminal.contains("time saved"), "{terminal}");
    assert!(text(&plain, "report.md").contains("**Time saved is not measured here**"));
    // A machine that was busy for one policy alone moves its times, and nothing that is said of savings.
    for record in records.iter_mut().filter(|record| record.cell.settings.policy == "first-4") {
        record.timing.as_mut().expect("a time").train_ms *= 17.0;
    }
    let savings = |files: &[frostline_report::ReportFile]| -> Vec<String> {
        let page = text(files, "report.md");
        let (_, section) = page.split_once("### What a step costs").expect("the section");
        let table = section
            .lines()
            .skip_while(|line| !line.starts_with('|'))
            .take_while(|line| line.starts_with('|'));
        table.map(String::from).collect()
    };
    let timed = told(&whole().1, &times(&sweep)).0;
    assert_eq!(savings(&timed), savings(&told(&records, &times(&sweep)).0));
}

/// A policy whose steps were not timed has a dash, and the page says why.
#[test]
fn a_policy_whose_steps_were_not_timed_has_no_saving() {
    let (sweep, records) = whole();
    let mut some = times(&sweep);
    for times in &mut some {
        let of = |id: &str| sweep.cells.iter().find(|cell| cell.id == id).expect("a cell");
        times.policies.retain(|timed| of(&timed.cell).settings.policy != "alternating");
    }
    let report = Report::new(&sweep, &records, &some, None);
    let files = report.files().expect("a report");
    let page = text(&files, "report.md");
    let result =
        page.split("## Result").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("the table");
    let rows: Vec<&str> = result.lines().filter(|line| line.contains("| alternating")).collect();
    assert_eq!(rows.len(), 2, "{result}");
    assert!(
        rows.iter().all(|row| row.trim_end().ends_with("–  |     3 |") || row.contains(" – |")),
        "{rows:?}"
    );
    assert!(page.contains("A dash: its steps were not taken in turns"));
    let terminal = report.terminal_table(200);
    assert!(terminal.contains("time saved"), "{terminal}");
}

#[test]
fn claims_on_training_time_are_decided_by_steps_in_turns() {
    let (mut sweep, records) = whole();
    let saves = |policy: &str, percent: f64| {
        let test = format!(
            "less = {{ a = ['{policy}'], b = ['none'], measure = 'train-time', margin = {percent} }}"
        );
        format!(
            "[[claims]]\nsays = '{policy} saves {percent} % of the training time'\n[[claims.tests]]\n{test}\n"
        )
    };
    let claims = [("first-4", 24.8), ("first-4", 42.5), ("first-2", 0.0)]
        .map(|(policy, percent)| saves(policy, percent));
    sweep.plan.claims = toml::from_str::<Claims>(&claims.concat()).expect("claims").claims;
    let shown = |times: &[PairedTimes]| {
        let files = Report::new(&sweep, &records, times, None).files().expect("a report");
        let lines = text(&files, "claims.md").lines();
        lines.filter(|line| line.starts_with(['#', '|', '*'])).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!("claims_in_turns", shown(&times(&sweep)));
    // Where the steps of a comparison were not timed nothing is decided: training times of cells do not tell.
    let mut some = times(&sweep);
    some.truncate(1);
    let untimed = shown(&some);
    assert_eq!(untimed.matches("**Not tested.**").count(), 3, "{untimed}");
}

/// Policies of one measurement took the same rounds, which are counted once.
#[test]
fn policies_that_took_turns_are_averaged_within_rounds() {
    let (mut sweep, records) = whole();
    let claim = "[[claims]]\nsays = 'Both save time'\nonly.lang = 'en'\ncomparisons = 'mean'\n[[claims.tests]]\n\
                 less = { a = ['first-4', 'all'], b = ['none'], measure = 'train-time' }\n";
    sweep.plan.claims = toml::from_str::<Claims>(claim).expect("claims").claims;
    let files = Report::new(&sweep, &records, &times(&sweep), None).files().expect("a report");
    let page = text(&files, "report.md");
    // 30 % less and 60 % less.
    let found = page.lines().find(|line| line.contains("(A: first-4 and all; B: none)")).expect("the test");
    assert!(found.contains("A − B is −45.0") && found.ends_with(" 40 rounds"), "{found}");
}

#[derive(serde::Deserialize)]
struct Claims {
    claims: Vec<frostline_record::Claim>,
}

#[test]
fn memory_is_predicted_beside_the_measured_peak_where_records_have_it() {
    let (sweep, mut records) = whole();
    let page = |records: &[frostline_record::Record]| {
        let files = Report::new(&sweep, records, &times(&sweep), None).files().expect("a report");
        text(&files, "report.md").to_string()
    };
    assert!(
        page(&records)
            .contains("| Memory saved MiB | Predicted step memory MiB | Memory saved, predicted MiB |")
    );
    for record in &mut records {
        record.result.as_mut().expect("a result").cost.memory = None;
    }
    let page = page(&records);
    assert!(
        page.contains("| Memory saved MiB | Rounds |") && !page.contains("Predicted step memory"),
        "{page}"
    );
}

#[test]
fn times_of_other_cells_are_left_out() {
    let (sweep, records) = whole();
    let plain = Report::new(&sweep, &records, &[], None).files().expect("a report");
    let mut foreign = times(&sweep);
    for one in foreign.iter_mut().flat_map(|times| &mut times.policies) {
        one.cell = "0123456789abcdef".into();
    }
    assert_eq!(Report::new(&sweep, &records, &foreign, None).files().expect("a report"), plain);
}

/// The first figure of the page has measured times where there are some, with the baselines, and its title says which.
#[test]
fn the_first_figure_is_accuracy_against_measured_time() {
    let (sweep, mut records) = whole();
    let baseline = |accuracy: f64| Baseline {
        scores: [(
            "dev".to_string(),
            Score { words: 1_000, correct: (1e3 * accuracy) as u64, ..Score::default() },
        )]
        .into(),
        fit: None,
    };
    for record in &mut records {
        let result = record.result.as_mut().expect("a result");
        let all =
            [(MOST_FREQUENT, 0.3), (PROBE, 0.94)].map(|(name, share)| (name.to_string(), baseline(share)));
        result.baselines = [("upos".to_string(), all.into())].into();
    }
    let figure = |times: &[PairedTimes]| {
        let files = Report::new(&sweep, &records, times, None).files().expect("a report");
        let page = text(&files, "report.md");
        let first = page.lines().find(|line| line.starts_with("![")).expect("a figure").to_string();
        let result = page.find("## Result").expect("the result");
        assert!(
            page.find("![").expect("a figure")
                < page[result..].find("## How").expect("what follows") + result
        );
        assert_eq!(page.matches("figures/pareto.svg)").count(), 1);
        keep("first-figure", &files);
        let html = text(&files, "index.html");
        let figure = html.split_once("<figcaption><strong>").expect("a figure").1;
        assert!(figure.starts_with("Dev accuracy against the time saved"), "{}", &figure[..80]);
        (first, text(&files, "figures/pareto.svg").to_string())
    };
    let (first, svg) = figure(&times(&sweep));
    assert_eq!(first, "![Dev accuracy against the time saved, measured](figures/pareto.svg)");
    for shown in [
        ">time saved, % of a step of none<",
        ">most frequent tag: 30.00, below the axis<",
        ">logistic probe: 94.00<",
        "Level whisker: 95 % interval of the time saved, from steps in turns.",
    ] {
        assert!(svg.contains(shown), "{shown}: {svg}");
    }
    // `all` took 40 % of the time of `none`, and was predicted to take 79 %: it is the point furthest right.
    let place = |svg: &str, name: &str| -> f64 {
        let svg = roxmltree::Document::parse(svg).expect("SVG");
        let names = svg.descendants().filter(|node| node.has_tag_name("text") && node.text() == Some(name));
        let node = names.into_iter().next().expect("the name");
        node.attribute("x").expect("a place").parse().expect("a number")
    };
    let (none, all) = (place(&svg, "none"), place(&svg, "all"));
    assert!(all > none + 150.0, "{none} {all}");
    let (first, svg) = figure(&[]);
    assert_eq!(first, "![Dev accuracy against the time saved, predicted](figures/pareto.svg)");
    assert!(svg.contains(">time saved, predicted, % of a step of none<") && !svg.contains("Level whisker"));
    // With the times of one language alone, all panels have predicted times.
    let (first, _) = figure(&times(&sweep)[..1]);
    assert!(first.contains("predicted"), "{first}");
    // A policy without timed steps is named.
    let mut some = times(&sweep);
    let of = |id: &str| sweep.cells.iter().find(|cell| cell.id == id).expect("a cell");
    for times in &mut some {
        times.policies.retain(|timed| of(&timed.cell).settings.policy != "alternating");
    }
    let (first, svg) = figure(&some);
    assert!(first.contains("measured"), "{first}");
    assert!(svg.contains("Policies whose steps were not timed are not shown: alternating."), "{svg}");
}

/// The memory of a process says nothing about the GPU that computes for it.
#[test]
fn claims_on_memory_are_decided_where_steps_are_computed() {
    let (mut sweep, records) = whole();
    let claim = "[[claims]]\nsays = 'Freezing saves memory'\n[[claims.tests]]\n\
                 less = { a = ['first-4', 'all'], b = ['none'], measure = 'memory' }\n";
    sweep.plan.claims = toml::from_str::<Claims>(claim).expect("claims").claims;
    let pages = |times: &[PairedTimes]| {
        let files = Report::new(&sweep, &records, times, None).files().expect("a report");
        ["report.md", "claims.md"].map(|path| text(&files, path).to_string())
    };
    let on_processor = times(&sweep);
    let [page, claims] = pages(&on_processor);
    assert!(page.contains("| Peak memory MiB | Memory saved MiB |"), "{page}");
    // 700 and 520 of 900 MiB; each peak may be off by 3 %.
    assert!(claims.contains("**Supported.**") && claims.contains("A: peak memory, MiB"), "{claims}");
    assert!(claims.contains("−22.22 | −26.75 to −17.41"), "{claims}");

    // Files of a GPU from before its memory was measured.
    let mut on_gpu = on_processor;
    on_gpu.iter_mut().for_each(|times| times.made_by.isa = "gpu+f16".into());
    let [page, claims] = pages(&on_gpu);
    assert!(!page.contains("Peak memory MiB") && !page.contains("Memory saved MiB"), "{page}");
    assert!(page.contains("The GPU's memory was not measured here"), "{page}");
    assert!(claims.contains("**Not tested.**") && claims.contains("is not the GPU's"), "{claims}");

    for (policy, of_gpu) in on_gpu.iter_mut().flat_map(|times| &mut times.policies).zip(1..) {
        policy.peak_device_mib = Some(4_000.0 - 100.0 * f64::from(of_gpu % 5));
    }
    let [page, claims] = pages(&on_gpu);
    assert!(page.contains("| Peak GPU memory MiB | Memory saved MiB |"), "{page}");
    assert!(
        claims.contains("A: peak GPU memory, MiB") && claims.contains("one measurement each"),
        "{claims}"
    );
}
