//! Reports of cells that have stages, several tasks, sentences or gradual unfreezing, and of plans that
//! claim something.

use frostline_record::{ClaimTest, Load, PairedTimes, Record, SCHEMA, Sweep, TimedPolicy};
use frostline_report::{Report, ReportFile};

use crate::common::{Lang, paper, reference};
use crate::stories::{Files, Place, Reached, records, sweep};
use crate::{keep, text, without_plan};

fn report(sweep: &Sweep, records: &[Record], predictions: &Files) -> Report {
    Report::new(sweep, records, &[], Some(&mut |_, file| predictions.get(&file.sha256).cloned()))
}

fn files(scenario: &str, sweep: &Sweep, records: &[Record], predictions: &Files) -> Vec<ReportFile> {
    let files = report(sweep, records, predictions).files().expect("a report");
    keep(scenario, &files);
    files
}

/// The part of a page between two headings, the first included.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let start = page.find(from).unwrap_or_else(|| panic!("no {from:?}"));
    let rest = &page[start..];
    let end = rest[from.len()..].find(to).unwrap_or_else(|| panic!("no {to:?} after {from:?}"));
    rest[..from.len() + end].trim_end()
}

/// Sentiment: the head alone, then everything, in one cell; test cut from train.
pub fn sentiment() -> (Sweep, Vec<Record>, Files) {
    let mut sweep = sweep(
        "schema = 4\nname = 'sst2'\n[treebanks]\nsst2 = 'SST-2'\n[grid]\nseed = [42, 43, 44]\n\
         [settings]\nlang = 'sst2'\n[settings.encoder]\nname = 'distilbert-base-uncased'\n\
         [settings.tasks.label]\nlabels = 'label'\nhead = 'distilbert'\n[settings.train]\nepochs = 2\n\
         [settings.eval]\ntest = true\n\
         [settings.data]\ncut_test = 0.1\n\
         [[settings.stages]]\nname = 'head'\npolicy = 'head-only'\n\
         [[settings.stages]]\nname = 'all of it'\noptimizer.lr = 2e-5\n\
         [[claims]]\nsays = 'Everything gains 6.4 points over the head alone.'\n\
         tests = [{ more-of = { axis = 'stage', from = 'head', to = 'all of it', gain = 6.4, margin = 2 } }]\n\
         [[claims]]\nsays = 'The head alone is better, or faster by half.'\nneeds = 'any'\n\
         tests = [\n{ more-of = { axis = 'stage', from = 'all of it', to = 'head' } },\n\
         { more-of = { axis = 'stage', from = 'head', to = 'all of it', measure = 'train-time', margin = 50 } },\n]",
    );
    sweep.reference = reference("sst2-sentiment");
    let reach = |place: &Place<'_>| {
        let seed = place.settings.seed - 42;
        let counts = match (place.stage, place.split) {
            (0, "dev") => [[350 + seed, 78 - seed], [62, 382]],
            (0, _) => [[790, 122 - seed], [130, 779 + seed]],
            (_, "dev") => [[384, 44], [40 - seed, 404 + seed]],
            (_, _) => [[846 + 2 * seed, 66 - 2 * seed], [58, 851]],
        };
        Some(Reached::Labels(vec!["0", "1"], counts.iter().map(|row| row.to_vec()).collect()))
    };
    let (records, files) = records(&sweep, &reach);
    (sweep, records, files)
}

/// English, then Naija: what becomes of English.
pub fn forgetting() -> (Sweep, Vec<Record>, Files) {
    let mut sweep = sweep(
        "schema = 4\nname = 'forgetting'\n[treebanks]\nen = 'UD_English-EWT'\npcm = 'UD_Naija-NSC'\n\
         [grid]\npolicy = ['none', 'first-4', 'all+embeddings']\nseed = [42, 43, 44, 45, 46]\n\
         [settings.tasks.en]\ndata = 'en'\n[settings.tasks.pcm]\ndata = 'pcm'\n\
         [settings.tasks.ner]\ndata = 'en'\nlabels = 'entity'\nweight = 0.5\n\
         [settings.eval]\ntask = 'en'\n[settings.train]\nepochs = 2\n\
         [[settings.stages]]\nname = 'source'\ntasks.pcm.weight = 0\n\
         [[settings.stages]]\nname = 'target'\ntasks.en.weight = 0\ntasks.ner.weight = 0\n\
         [[claims]]\nsays = 'Freezing keeps a source language from being forgotten.'\n\
         tests = [{ drift = { task = 'en', stage = 'target', a = ['first-4', 'all+embeddings'], b = ['none'] } }]\n\
         [[claims]]\nsays = 'All of the encoder must be frozen for that.'\nneeds = 'any'\n\
         tests = [\n{ drift = { task = 'en', a = ['first-4'], b = ['all+embeddings'], margin = 0.5 } },\n\
         { drift = { task = 'pcm', a = ['first-4'], b = ['none'] } },\n]",
    );
    // A task that no cell was scored on: plans of today cannot name it.
    if let frostline_record::ClaimTest::Drift(test) = &mut sweep.plan.claims[1].tests[1] {
        test.task = "fr".into();
    }
    let reach = |place: &Place<'_>| {
        let seed = place.settings.seed - 42;
        let lost = match (place.settings.policy.as_str(), place.stage) {
            (_, 0) | ("all+embeddings", _) => 0,
            ("first-4", _) => 70 + 9 * seed,
            _ => 240 + 22 * seed,
        };
        let reached = match (place.task, place.stage) {
            ("ner", _) => Reached::Entities(20_000, 19_400 - lost, [1_000, 980, 820 - lost / 2]),
            ("en", _) => Reached::Words(20_000, 19_200 + 7 * seed - lost),
            (_, 0) => Reached::Words(10_000, 6_100 + 31 * seed),
            _ => Reached::Words(10_000, 9_700 - 3 * seed),
        };
        Some(reached)
    };
    let (records, files) = records(&sweep, &reach);
    (sweep, records, files)
}

/// One block more every other epoch, beside a policy that thaws nothing.
fn thawing() -> (Sweep, Vec<Record>, Files) {
    let sweep = sweep(
        "schema = 4\nname = 'thawing'\n[treebanks]\nen = 'UD_English-EWT'\n\
         [grid]\npolicy = ['none', 'first-4', 'head-only']\n\
         [settings.train]\nepochs = 7\n[settings.unfreeze]\nevery = 2",
    );
    let (records, files) = records(&sweep, &|_| Some(Reached::Words(1_000, 950)));
    (sweep, records, files)
}

/// What sources say about freezing, with five seeds: the last blocks and the first, alternating.
fn claiming() -> (Sweep, Vec<Record>) {
    let grid = "\"train.epochs\" = [5, 15]\n\
        [[claims]]\nsays = 'Freezing the last blocks costs more than freezing the first.'\n\
        only.'train.epochs' = 5\n\
        tests = [{ less = { a = ['last-2', 'last-4'], b = ['first-2', 'first-4'] } }]\n\
        [[claims]]\nsays = 'Alternating beats the first four at similar cost.'\nonly.'train.epochs' = 5\n\
        tests = [{ less = { a = ['first-4'], b = ['alternating'] } },\n\
        { equal-within = { a = ['alternating'], b = ['first-4'], measure = 'train-time', margin = 10 } }]\n\
        [[claims]]\nsays = 'Most policies converge by epoch 4.'\n\
        tests = [{ converged = { epoch = 4, within = 0.1 } }]\n\
        [[claims]]\nsays = '`all` is undertrained rather than limited.'\nneeds = 'any'\n\
        tests = [{ more-of = { axis = 'train.epochs', from = 5, to = 15, policies = ['all'] } },\n\
        { more-of = { axis = 'optimizer.lr', from = 5e-5, to = 5e-4, policies = ['all'] } }]\n\
        [[claims]]\nsays = 'On another genre, freezing helps.'\n\
        tests = [{ less = { a = ['none'], b = ['first-4'], measure = 'test' } }]";
    let langs = || -> Vec<Lang> {
        let mut langs = paper();
        for (lang, last) in langs.iter_mut().zip([[0.9601, 0.9533], [0.9789, 0.9752]]) {
            for (name, accuracy) in ["last-2", "last-4"].into_iter().zip(last) {
                lang.reach.push((name, (accuracy, 110_000_000, 390.0)));
            }
        }
        langs
    };
    let sweep = crate::common::sweep("claims", &langs(), 5, false, grid);
    let mut records = crate::common::records(&sweep, &langs());
    // Three times the epochs are worth half a point where little learns, and cost their time.
    for record in &mut records {
        let settings = &record.cell.settings;
        let (result, timing) = (record.result.as_mut().expect("done"), record.timing.as_mut().expect("done"));
        if settings.train.epochs == 15 {
            timing.train_ms *= 3.0;
            if settings.policy == "all" {
                let scores = &mut result.stages[0].tasks.get_mut("upos").expect("the task").scores;
                let dev = scores.get_mut("dev").expect("dev");
                dev.correct += dev.words / 200 + settings.seed % 3;
            }
        }
    }
    (sweep, records)
}

#[test]
fn stages_of_a_sentence_task() {
    let (sweep, records, predictions) = sentiment();
    let files = files("sentiment", &sweep, &records, &predictions);
    insta::assert_snapshot!("sentiment_report", without_plan(text(&files, "report.md"), &sweep));
    insta::assert_snapshot!("sentiment_published", text(&files, "published.md"));
    insta::assert_snapshot!("sentiment_tasks_csv", &crate::table(&files, "tasks"));
    insta::assert_snapshot!("sentiment_stages_svg", text(&files, "figures/stages.svg"));
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let found = json["sentence_tasks"].as_array().expect("tasks");
    assert_eq!(found.len(), 4);
    // Three seeds of 872 sentences.
    assert_eq!(found[0]["confusion"]["counts"][0][0], 350 + 351 + 352);
    assert_eq!(found[0]["cells"], 3);
    let page = text(&files, "report.md");
    assert!(!page.contains(" words"), "this sweep labels sentences: {page}");
}

#[test]
fn a_terminal_has_each_stage_with_its_verdict() {
    let (sweep, records, predictions) = sentiment();
    insta::assert_snapshot!("sentiment_terminal", report(&sweep, &records, &predictions).terminal_table(160));
    let (sweep, records, predictions) = forgetting();
    insta::assert_snapshot!(
        "forgetting_terminal",
        report(&sweep, &records, &predictions).terminal_table(160)
    );
}

#[test]
fn stages_decide_claims() {
    let (mut sweep, records, predictions) = sentiment();
    let files = files("sentiment", &sweep, &records, &predictions);
    insta::assert_snapshot!("sentiment_claims", text(&files, "claims.md"));
    let verdicts = |sweep: &Sweep| {
        let files = report(sweep, &records, &predictions).files().expect("a report");
        let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
        json["claims"].as_array().expect("claims").iter().map(|c| c["verdict"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&sweep), ["supported", "contradicted"]);
    // The interval is about 3.3 points wide.
    let ClaimTest::MoreOf(test) = &mut sweep.plan.claims[0].tests[0] else { panic!("not of stages") };
    test.margin = 1.0;
    assert_eq!(verdicts(&sweep)[0], "not_decided");
    let ClaimTest::MoreOf(test) = &mut sweep.plan.claims[0].tests[0] else { panic!("not of stages") };
    test.gain = Some(12.0);
    assert_eq!(verdicts(&sweep)[0], "contradicted");
}

#[test]
fn a_setting_of_a_stage_decides_claims() {
    let sweep = sweep(
        "schema = 4\nname = 'warm'\n[treebanks]\nen = 'UD_English-EWT'\n\
         [grid]\nseed = [42, 43, 44]\n'stages.head.train.epochs' = [1, 2]\n\
         [[settings.stages]]\nname = 'head'\npolicy = 'head-only'\n[[settings.stages]]\nname = 'full'\n\
         [[claims]]\nsays = 'The head should be trained longer first.'\n\
         tests = [{ more-of = { axis = 'stages.head.train.epochs', from = 1, to = 2 } }]\n\
         [[claims]]\nsays = 'Then the second stage gains something.'\nonly.'stages.head.train.epochs' = 2\n\
         tests = [{ more-of = { axis = 'stage', from = 'head', to = 'full' } }]",
    );
    let reach = |place: &Place<'_>| {
        let longer = place.settings.get("stages.head.train.epochs") == Some(2.into());
        let right = 900 + 30 * u64::from(longer) + 20 * place.stage as u64 + place.settings.seed % 3;
        Some(Reached::Words(1_000, right))
    };
    let (records, predictions) = records(&sweep, &reach);
    let files = report(&sweep, &records, &predictions).files().expect("a report");
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    for claim in json["claims"].as_array().expect("claims") {
        let found = &claim["tests"][0]["found"]["differences"]["rows"];
        assert_eq!(found[0]["seeds"], serde_json::json!([42, 43, 44]), "{claim}");
    }
}

#[test]
fn a_stage_is_judged_as_a_policy_would_be() {
    let (sweep, records, predictions) = sentiment();
    let verdict = |sweep: &Sweep, predictions: &Files| {
        let files = report(sweep, &records, predictions).files().expect("a report");
        let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
        json["groups"][0]["stages"][1]["tasks"][0]["dev"]["change"]["verdict"].clone()
    };
    let found = verdict(&sweep, &predictions);
    assert_eq!((&found["verdict"], &found["seeds"]), (&"better".into(), &serde_json::json!([42, 43, 44])));
    // 56 of 872 sentences more are right, with every seed.
    let gain = found["difference"]["value"].as_f64().expect("a difference");
    assert!((gain - 56.0 / 872.0).abs() < 1e-12, "{gain}");
    let [low, high] = [0, 1].map(|end| found["interval"][end].as_f64().expect("an end"));
    assert!(low > 0.0 && low < gain - 0.005 && high > gain + 0.005, "sentences are a sample: {found}");

    // One seed decides nothing; without predictions nothing is compared.
    let cells = sweep.cells.iter().filter(|cell| cell.settings.seed == 42).cloned().collect();
    assert_eq!(verdict(&Sweep { cells, ..sweep.clone() }, &predictions)["verdict"], "undecided");
    assert_eq!(verdict(&sweep, &Files::new())["unpaired"], "the stored predictions are missing");
}

#[test]
fn predictions_that_are_missing_or_changed_are_told() {
    let (sweep, records, mut predictions) = sentiment();
    let plain = Report::new(&sweep, &records, &[], None).files().expect("a report");
    assert!(text(&plain, "report.md").contains("No stored predictions were read for this task"));
    let shown = between(text(&plain, "report.md"), "### Sentences: label", "\n### ");
    assert!(!shown.contains("Macro F1 % |") && shown.contains("95 % interval"), "{shown}");

    let first = records[0].result.as_ref().expect("done").stages[0].tasks["label"].predictions["dev"].clone();
    predictions.insert(first.sha256.clone(), "other bytes".into());
    let second =
        records[1].result.as_ref().expect("done").stages[0].tasks["label"].predictions["dev"].clone();
    predictions.remove(&second.sha256);
    let files = files("torn", &sweep, &records, &predictions);
    let page = text(&files, "report.md");
    assert!(page.contains("**2 files of predictions could not be used**"), "{page}");
    assert!(page.contains("head-label-dev.tsv: its bytes are not those that the record names."), "{page}");
}

#[test]
fn tasks_drift_while_others_are_learned() {
    let (sweep, records, predictions) = forgetting();
    let files = files("forgetting", &sweep, &records, &predictions);
    let page = text(&files, "report.md");
    insta::assert_snapshot!("forgetting_section", between(page, "### Stages", "### Where the time goes"));
    insta::assert_snapshot!("forgetting_claims", text(&files, "claims.md"));
    insta::assert_snapshot!("forgetting_stages_svg", text(&files, "figures/stages.svg"));
    let tasks = &crate::table(&files, "tasks");
    assert_eq!(tasks.lines().count(), 1 + 15 * 2 * 3);
    assert!(tasks.contains(",target,en,words,false,dev,accuracy,"), "{tasks}");
    assert!(tasks.contains(",source,ner,words,true,dev,entity_f1,"), "{tasks}");
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let frozen = json["groups"].as_array().expect("groups").iter().find(|g| g["policy"] == "all+embeddings");
    let english = &frozen.expect("the group")["stages"][1]["tasks"][0];
    assert_eq!(english["task"], "en");
    assert_eq!(english["dev"]["change"]["identical"], 5);
    assert_eq!(english["dev"]["change"]["points"]["interval"], serde_json::json!([0.0, 0.0]));
}

#[test]
fn what_thaws_is_shown_epoch_by_epoch() {
    let (sweep, records, predictions) = thawing();
    let files = files("thawing", &sweep, &records, &predictions);
    let page = text(&files, "report.md");
    insta::assert_snapshot!(
        "thawing_section",
        between(page, "### Trainable parameters in each", "### Where")
    );
    assert!(text(&files, "results.csv").contains(",201000,"));
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    assert!(json["tables"].get("tasks").is_none());
}

#[test]
fn claims_are_judged_by_paired_differences() {
    let (sweep, records) = claiming();
    let files = files("claims", &sweep, &records, &Files::new());
    insta::assert_snapshot!("claims_list", between(text(&files, "report.md"), "## Claims", "\n## "));
    insta::assert_snapshot!("claims_page", text(&files, "claims.md"));
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let verdicts: Vec<_> = json["claims"].as_array().expect("claims").iter().map(|c| &c["verdict"]).collect();
    assert_eq!(verdicts, ["supported", "not_decided", "contradicted", "supported", "not_tested"]);
    // One seed decides nothing.
    let cells: Vec<_> = sweep.cells.iter().filter(|cell| cell.settings.seed == 42).cloned().collect();
    let one = Sweep { cells, ..sweep };
    let files = Report::new(&one, &records, &[], None).files().expect("a report");
    let page = text(&files, "claims.md");
    assert!(!page.contains("**Supported") && page.contains("**Not decided.**"), "{page}");
}

#[test]
fn an_axis_may_have_the_empty_value() {
    let sweep = sweep(
        "schema = 4\nname = 'genres'\n[treebanks]\nen = 'UD_English-EWT'\n\
         [grid]\npolicy = ['none', 'first-4']\nseed = [42, 43]\n'data.leave_out' = ['', 'reviews']\n\
         [[claims]]\nsays = 'A genre that was not learned from is tagged worse.'\n\
         [[claims.tests]]\nmore-of.axis = 'data.leave_out'\nmore-of.from = 'reviews'\nmore-of.to = ''\n\
         [[claims]]\nsays = 'On it, freezing is as good.'\nonly.'data.leave_out' = 'reviews'\n\
         [[claims.tests]]\nequal-within.a = ['first-4']\nequal-within.b = ['none']\nequal-within.margin = 5",
    );
    let reach = |place: &Place<'_>| {
        let lost = if place.settings.data.leave_out.is_empty() { 0 } else { 30 + place.settings.seed % 2 };
        Some(Reached::Words(1_000, 950 - lost - u64::from(place.settings.policy != "none")))
    };
    let (records, predictions) = records(&sweep, &reach);
    let files = files("genres", &sweep, &records, &predictions);
    insta::assert_snapshot!("genres_claims", text(&files, "claims.md"));
    assert!(text(&files, "report.md").contains("| none    | \"\""), "{}", text(&files, "report.md"));
    assert_eq!(crate::cells(&files)[0]["setting_data_leave_out"], "");
    let published = text(&files, "published.md");
    assert!(published.contains("genre left out of train: study none, here none or reviews"), "{published}");
}

#[test]
fn the_study_is_not_compared_with_another_task() {
    let (mut sweep, records, predictions) = sentiment();
    sweep.plan.name = "other".parse().expect("a name");
    sweep.reference = reference("partial-freezing");
    let compared = files("other", &sweep, &records, &predictions);
    assert!(
        text(&compared, "published.md").contains("There is no comparison here: the study published `en` and")
    );
    sweep.reference = None;
    let alone = files("without-reference", &sweep, &records, &predictions);
    assert!(text(&alone, "published.md").contains("the plan names no published figures"));
}

/// Four comparisons that lose 0.35 points on average, one of them 1.4.
fn uneven(comparisons: &str, policies: &str) -> (Sweep, Vec<Record>, Files) {
    let sweep = sweep(&format!(
        "schema = 4\nname = 'uneven'\n[treebanks]\nen = 'UD_English-EWT'\npcm = 'UD_Naija-NSC'\n\
         [grid]\nlang = ['en', 'pcm']\npolicy = {policies}\nseed = [42, 43, 44, 45, 46]\n\
         [[claims]]\nsays = 'Freezing early blocks loses less than 0.6 points.'\n{comparisons}\n\
         tests = [{{ loses-at-most = {{ a = ['first-2', 'first-4'], b = ['none'], margin = 0.6 }} }}]"
    ));
    let reach = |place: &Place<'_>| {
        let settings = place.settings;
        let lost = match (settings.lang.as_str(), settings.policy.as_str()) {
            (_, "none") => 0,
            ("pcm", "first-4") => 140 + settings.seed % 3,
            _ => settings.seed % 2,
        };
        Some(Reached::Words(10_000, 9_700 + 7 * (settings.seed % 4) - lost))
    };
    let (records, files) = records(&sweep, &reach);
    (sweep, records, files)
}

#[test]
fn each_comparison_of_a_claim_must_hold_and_the_others_are_named() {
    let all = "['none', 'first-2', 'first-4']";
    let (sweep, records, predictions) = uneven("", all);
    let report_of_each = report(&sweep, &records, &predictions);
    let files = report_of_each.files().expect("a report");
    let page = text(&files, "report.md");
    assert!(page.contains("- **contradicted**: Freezing early blocks"), "{page}");
    let found =
        page.lines().find(|line| line.contains("(A: first-2 and first-4; B: none)")).expect("the test");
    let expected = "3 of 4 comparisons supported; contradicted: pcm, first-4 against none; least favourable: \
                    pcm, first-4 against none, A − B is −1.41 points";
    assert!(found.contains(expected), "{found}");
    assert!(text(&files, "claims.md").contains("and 1 contradicted (pcm, first-4 against none)."));
    let terminal = report_of_each.terminal_table(200);
    assert!(terminal.contains("less than 0.6 points. (pcm, first-4 against none)"), "{terminal}");

    // The mean holds, and decides only where the plan asks for it.
    let (sweep, records, predictions) = uneven("comparisons = 'mean'", all);
    let files = report(&sweep, &records, &predictions).files().expect("a report");
    assert!(text(&files, "report.md").contains("- **supported**: Freezing early blocks"));
    assert!(text(&files, "claims.md").contains("The mean of a test's comparisons decides."));
}

#[test]
fn a_comparison_that_the_sweep_lacks_leaves_a_claim_open() {
    let (mut sweep, records, predictions) = uneven("", "['none', 'first-2', 'first-4']");
    sweep.cells.retain(|cell| cell.settings.policy != "first-4");
    let verdict = |records: &[Record]| {
        let files = report(&sweep, records, &predictions).files().expect("a report");
        let page = text(&files, "report.md").to_string();
        page.lines()
            .skip_while(|line| !line.contains(": Freezing early"))
            .take(2)
            .collect::<Vec<_>>()
            .join("")
    };
    let line = verdict(&records);
    assert!(line.contains("**not decided**") && line.contains("2 of 3 comparisons supported"), "{line}");
    assert!(line.ends_with("; not compared: first-4 against none"), "{line}");
    // A language whose cells are not done yet.
    let english: Vec<Record> =
        records.iter().filter(|record| record.cell.settings.lang == "en").cloned().collect();
    let line = verdict(&english);
    assert!(line.ends_with("; not compared: pcm, first-2 against none, first-4 against none"), "{line}");
}

#[test]
fn gradual_unfreezing_is_an_axis_over_which_tasks_drift() {
    let sweep = sweep(
        "schema = 4\nname = 'gradual'\n[treebanks]\nen = 'UD_English-EWT'\npcm = 'UD_Naija-NSC'\n\
         [grid]\npolicy = ['none', 'first-4']\nseed = [42, 43, 44, 45, 46]\n'unfreeze.every' = [0, 1]\n\
         [settings.tasks.en]\ndata = 'en'\n[settings.tasks.pcm]\ndata = 'pcm'\n\
         [settings.eval]\ntask = 'pcm'\n[settings.train]\nepochs = 2\n\
         [[settings.stages]]\nname = 'source'\nunfreeze.every = 0\ntasks.pcm.weight = 0\n\
         [[settings.stages]]\nname = 'target'\ntasks.en.weight = 0\n\
         [[claims]]\nsays = 'Gradual unfreezing prevents forgetting.'\n\
         tests = [{ drift = { task = 'en', along = { axis = 'unfreeze.every', from = 0, to = 1 } } }]\n\
         [[claims]]\nsays = 'It does so where everything learns.'\n\
         tests = [{ drift = { task = 'en', along = { axis = 'unfreeze.every', from = 0, to = 1, policies = ['none'] } } }]\n\
         [[claims]]\nsays = 'It keeps what pretraining learned.'\nuntestable = 'the head is not there.'",
    );
    let reach = |place: &Place<'_>| {
        let settings = place.settings;
        let lost = match (place.task, place.stage, settings.policy.as_str(), settings.unfreeze.every) {
            ("en", 1, "none", 0) => 300 + 9 * (settings.seed % 3),
            ("en", 1, "none", _) => 100 + 9 * (settings.seed % 2),
            // Where blocks stay frozen, thawing the others slowly loses more.
            ("en", 1, _, 0) => 100,
            ("en", 1, _, _) => 140 + settings.seed % 4,
            _ => 0,
        };
        Some(Reached::Words(10_000, 9_600 - lost))
    };
    let (records, predictions) = records(&sweep, &reach);
    let files = report(&sweep, &records, &predictions).files().expect("a report");
    let page = text(&files, "report.md");
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    let verdicts: Vec<_> = json["claims"].as_array().expect("claims").iter().map(|c| &c["verdict"]).collect();
    assert_eq!(verdicts, ["contradicted", "supported", "not_tested"]);
    let line = |start: &str| page.lines().find(|line| line.contains(start)).unwrap_or_default();
    let both = line("over the last stage");
    assert!(both.contains("(A: unfreeze.every = 1; B: unfreeze.every = 0)"), "{both}");
    let named = "contradicted: en, first-4, unfreeze.every = 1 against unfreeze.every = 0";
    assert!(both.contains(named) && both.contains("1 of 2 comparisons supported"), "{both}");
    assert_eq!(line("nothing here can decide it"), "  - nothing here can decide it: the head is not there");
}

#[test]
fn everything_frozen_saves_all_and_learns_nothing() {
    let sweep = sweep(
        "schema = 4\nname = 'frozen'\n[treebanks]\nen = 'UD_English-EWT'\n\
         [grid]\npolicy = ['none', 'head-only', 'head-only+heads']\nseed = [42, 43]\n\
         [settings.tasks.upos]\n[settings.tasks.genre]\nlabels = 'genre'\n",
    );
    let (records, predictions) = records(&sweep, &|_| Some(Reached::Words(1_000, 950)));
    let timed = |cell: &frostline_record::Cell| {
        let step_ms = if cell.settings.policy == "none" { 50.0 } else { 15.0 };
        TimedPolicy {
            cell: cell.id.clone(),
            step_ms: vec![step_ms; 40],
            cpu_ms: None,
            peak_rss_mib: None,
            peak_device_mib: None,
        }
    };
    let times: Vec<PairedTimes> = sweep
        .timed_groups(|_| true)
        .into_iter()
        .map(|cells| PairedTimes {
            schema: SCHEMA,
            policies: cells.iter().map(timed).collect(),
            subwords: vec![350; 40],
            load: Load::default(),
            made_by: records[0].made_by.clone(),
        })
        .collect();
    let files =
        Report::new(&sweep, &records, &times, Some(&mut |_, file| predictions.get(&file.sha256).cloned()))
            .files()
            .expect("a report");
    let costs = between(text(&files, "report.md"), "### What a step costs", "\n## ");
    let of =
        |policy: &str| costs.lines().find(|line| line.starts_with(&format!("| {policy} "))).expect("a row");
    assert!(of("head-only").contains("70.0"), "{costs}");
    assert!(of("head-only+heads").contains("| 100, nothing learned |"), "{costs}");
    // Cell, status, language, policy, seed, number, stage, task, unit, learned.
    let tasks = &crate::table(&files, "tasks");
    let learned = |policy: &str| {
        let rows = tasks.lines().filter(|line| line.contains(&format!(",{policy},")));
        rows.map(|row| row.contains("s,true,dev,")).collect::<Vec<_>>()
    };
    assert_eq!(
        (learned("head-only"), learned("head-only+heads")),
        (vec![true; 4], vec![false; 4]),
        "{tasks}"
    );
}
