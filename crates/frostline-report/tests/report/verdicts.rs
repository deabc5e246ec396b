//! Verdicts on policies and what follows from them: in the report, on a terminal, in the claims and in `report.json`.

use frostline_record::{Cell, Entities, Load, PairedTimes, Record, SCHEMA, Sweep, TimedPolicy};
use frostline_report::{Merged, Report};
use serde_json::{Value, json};

use crate::stories::{Files, Place, Reached, records, sweep};
use crate::{keep, text};

const PLAN: &str = "schema = 4\nname = 'verdicts'\n[treebanks]\nen = 'UD_English-EWT'\npcm = 'UD_Naija-NSC'\n\
     [grid]\nlang = ['en', 'pcm']\npolicy = ['none', 'first-4', 'all', 'top-2']\n\
     [[claims]]\nsays = 'Freezing all costs accuracy.'\n\
     tests = [{ less = { a = ['all'], b = ['none'] } }]\n\
     [[claims]]\nsays = 'The first four blocks need not learn.'\n\
     tests = [{ equal-within = { a = ['first-4'], b = ['none'], margin = 0.5 } }]\n\
     [[claims]]\nsays = 'The last two blocks lose less than a point.'\n\
     tests = [{ loses-at-most = { a = ['top-2'], b = ['none'], margin = 1 } }]\n";

/// A number that looks random.
fn mixed(parts: [u64; 4]) -> u64 {
    parts.into_iter().fold(0x9E37_79B9_u64, |sum, part| {
        let mixed = (sum ^ part.wrapping_mul(0x00BF_5847_6D1C_E4E5)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 29)
    })
}

/// Sentences of ten words. Every policy errs on the same words; `all` errs on a tenth more, `first-4` hardly differs
/// from `none`, and `top-2` errs a little more, with some seeds more than with others.
pub fn lines(place: &Place<'_>) -> String {
    let (seed, lang) = (place.settings.seed, 10 * place.settings.lang.as_str().len() as u64);
    let wrong = |sentence: u64, word: u64| {
        let hard = |every: u64, salt: u64, seed: u64| {
            mixed([sentence, word, lang + salt, seed]).is_multiple_of(every)
        };
        let more = match place.settings.policy.as_str() {
            "first-4" => hard(900, 1, 0),
            "all" => hard(12, 2, 0) || hard(60, 3, seed),
            "top-2" => hard(200, 4, 0) || hard(60 + 90 * (seed % 3), 5, seed),
            _ => hard(900, 6, seed),
        };
        hard(25, 7, 0) || more
    };
    let words = (0..400_u64).flat_map(|sentence| (0..10_u64).map(move |word| (sentence, word)));
    let line = |(sentence, word): (u64, u64)| {
        let said = if wrong(sentence, word) { "V" } else { "N" };
        format!("s{sentence} {} w N {said} unambiguous\n", word + 1)
    };
    words.map(line).collect()
}

fn study(seeds: &str, change: &dyn Fn(&Place<'_>, String) -> String) -> (Sweep, Vec<Record>, Files) {
    study_of(PLAN, seeds, change)
}

fn study_of(
    plan: &str,
    seeds: &str,
    change: &dyn Fn(&Place<'_>, String) -> String,
) -> (Sweep, Vec<Record>, Files) {
    let sweep =
        sweep(&plan.replace(
            "[[claims]]\nsays = 'Freezing",
            &format!("seed = {seeds}\n[[claims]]\nsays = 'Freezing"),
        ));
    let (mut records, files) =
        records(&sweep, &|place| Some(Reached::Lines(change(place, lines(place)).leak())));
    for record in &mut records {
        let cost = &mut record.result.as_mut().expect("a result").cost;
        cost.predicted_speedup = match record.cell.settings.policy.as_str() {
            "first-4" => 1.5,
            "all" => 2.0,
            "top-2" => 1.8,
            _ => 1.0,
        };
    }
    (sweep, records, files)
}

pub fn report(sweep: &Sweep, records: &[Record], files: &Files) -> Report {
    Report::new(sweep, records, &[], Some(&mut |_, file| files.get(&file.sha256).cloned()))
}

pub fn json_of(report: &Report) -> Value {
    let files = report.files().expect("a report");
    serde_json::from_str(text(&files, "report.json")).expect("JSON")
}

fn verdicts(json: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("none").to_string();
    let groups = json["groups"].as_array().expect("groups").iter();
    groups
        .map(|group| (text(&group["lang"]), text(&group["policy"]), text(&group["dev_verdict"]["verdict"])))
        .collect()
}

#[test]
fn what_is_worse_is_never_called_undecided() {
    let seeds = "[42, 43, 44]";
    let (sweep, records, predictions) = study(seeds, &|_, lines| lines);
    let json = json_of(&report(&sweep, &records, &predictions));
    let lost =
        -100.0 * json["groups"][2]["dev_verdict"]["difference"]["value"].as_f64().expect("a difference");
    // The interval lies below 0 and has the margin in its middle.
    let plan = PLAN.replacen("[grid]", &format!("[verdict]\nmargin = {lost:.2}\n[grid]"), 1);
    let (sweep, records, predictions) = study_of(&plan, seeds, &|_, lines| lines);
    let files = report(&sweep, &records, &predictions).files().expect("a report");
    let page = text(&files, "report.md");
    assert!(page.contains(" worse, but whether by more than "), "{page}");
}

#[test]
fn policies_are_judged_and_the_cheapest_that_is_not_worse_is_named() {
    let (sweep, records, predictions) = study("[42, 43, 44]", &|_, lines| lines);
    let report = report(&sweep, &records, &predictions);
    let files = report.files().expect("a report");
    keep("verdicts", &files);
    let page = text(&files, "report.md");
    insta::assert_snapshot!("opening", page.split_once("## Result").expect("the result").0);
    let en = page.split_once("### Better or worse").expect("verdicts").1;
    insta::assert_snapshot!("table", en.split_once("\n### ").expect("what follows").0);
    insta::assert_snapshot!("terminal", report.terminal_table(120));
    insta::assert_snapshot!("csv", &crate::table(&files, "verdicts"));
    insta::assert_snapshot!("claims", text(&files, "claims.md"));

    let json = json_of(&report);
    let of_en: Vec<_> =
        verdicts(&json).into_iter().filter(|row| row.0 == "en").map(|row| (row.1, row.2)).collect();
    let expected = [("none", "none"), ("first-4", "equivalent"), ("all", "worse"), ("top-2", "undecided")];
    assert_eq!(of_en, expected.map(|(policy, verdict)| (policy.to_string(), verdict.to_string())));
    let advice = json["advice"].as_array().expect("advice");
    assert_eq!(advice.len(), 3, "two languages, and both together");
    assert_eq!(advice[2]["langs"], json!(["en", "pcm"]));
    assert_eq!(advice[2]["choice"]["policy"], "first-4");
    let lost = advice[2]["choice"]["differences"].as_array().expect("a difference in each language");
    assert!(lost.len() == 2 && lost.iter().all(|of| of[1].as_f64().expect("a low end") > -0.005), "{lost:?}");
}

#[test]
fn the_pareto_front_joins_what_no_policy_beats() {
    let (sweep, mut records, predictions) = study("[42, 43, 44]", &|_, lines| lines);
    // A policy that costs more than `none` and is no better.
    let dear = |policy: &str| policy == "first-4";
    let corners = |records: &[Record]| -> Vec<usize> {
        let files = report(&sweep, records, &predictions).files().expect("a report");
        let figure = text(&files, "figures/pareto.svg");
        assert!(figure.contains("Whisker: 95 % interval of the difference from none"), "all are judged");
        let svg = roxmltree::Document::parse(figure).expect("SVG");
        let lines = svg.descendants().filter(|node| node.has_tag_name("polyline"));
        lines.map(|line| line.attribute("points").expect("points").split(' ').count()).collect()
    };
    // Each policy of the front after the first adds two corners, and the line goes on to the right end. In Naija `none`
    // is on it too.
    assert_eq!(corners(&records), [2 + 2 * 2, 2 + 2 * 3]);
    for record in records.iter_mut().filter(|record| dear(record.cell.settings.policy.as_str())) {
        record.result.as_mut().expect("a result").cost.predicted_speedup = 0.9;
    }
    assert_eq!(corners(&records), [2 + 2 * 3, 2 + 2 * 2]);
}

#[test]
fn one_seed_never_gives_a_verdict_or_a_recommendation() {
    let (sweep, records, predictions) = study("[42]", &|_, lines| lines);
    let report = report(&sweep, &records, &predictions);
    let json = json_of(&report);
    assert!(
        verdicts(&json).iter().all(|row| row.2 == "none" || row.2 == "undecided"),
        "{:?}",
        verdicts(&json)
    );
    for advice in json["advice"].as_array().expect("advice") {
        assert!(advice["choice"].is_null());
    }
    let files = report.files().expect("a report");
    let page = text(&files, "report.md");
    assert!(page.contains("| undecided (one seed) | 3 seeds or more"), "{page}");
    assert!(page.contains("With one seed nothing can be concluded about a policy"));
    assert!(report.terminal_table(120).contains("With one seed nothing can be concluded about a policy"));
}

#[test]
fn five_seeds_have_a_stochastic_order() {
    let (sweep, records, predictions) = study("[1, 2, 3, 4, 5]", &|_, lines| lines);
    let json = json_of(&report(&sweep, &records, &predictions));
    let order =
        |at: usize| json["groups"][at]["dev_verdict"]["stochastic_order"]["bound"].as_f64().expect("a bound");
    assert!(order(2) > 0.9, "`all` is worse");
}

/// Every word is an entity of its own, so that the F1 of entities is the accuracy, and so are its verdicts.
#[test]
fn the_f1_of_entities_is_judged_and_is_the_first_tables_score() {
    let plain = study("[42, 43, 44]", &|_, lines| lines);
    let (sweep, mut records, predictions) =
        study("[42, 43, 44]", &|_, lines| lines.replace(" N", " B-N").replace(" V", " B-V"));
    let counted = |records: &mut [Record], less: u64| {
        for record in records {
            let stage = &mut record.result.as_mut().expect("a result").stages[0];
            for score in stage.tasks.values_mut().flat_map(|task| task.scores.values_mut()) {
                let (gold, predicted) = (score.words, score.words);
                score.entities = Some(Entities { gold, predicted, correct: score.correct - less });
            }
        }
    };
    counted(&mut records, 0);
    let found = report(&sweep, &records, &predictions);
    let by_entities = json_of(&found);
    assert_eq!(verdicts(&by_entities), verdicts(&json_of(&report(&plain.0, &plain.1, &plain.2))));
    assert_eq!(by_entities["advice"][2]["choice"]["policy"], "first-4");
    let files = found.files().expect("a report");
    let page = text(&files, "report.md");
    assert!(page.contains("| Dev entity F1 % |"), "{page}");
    assert!(&crate::table(&files, "verdicts").contains(",entity F1,dev,"));
    assert!(found.terminal_table(120).contains("dev F1 %"));
    // Records that count other entities than their files have are not judged.
    counted(&mut records, 1);
    let json = json_of(&report(&sweep, &records, &predictions));
    assert_eq!(
        json["groups"][1]["dev_verdict"]["unpaired"],
        "the stored predictions have other entities than the records"
    );
    assert!(json["advice"].is_null(), "nothing is recommended by it");
}

/// A rare tag that a policy never predicts costs little accuracy and much macro F1.
#[test]
fn the_macro_f1_of_tags_is_judged_too() {
    let rare = |place: &Place<'_>, lines: String| {
        let said = if place.settings.policy == "top-2" { "N" } else { "X" };
        let word = |(at, line): (usize, &str)| match at % 100 {
            99 => line.replace(" N ", " X ").replace(" X N", &format!(" X {said}")) + "\n",
            _ => line.to_string() + "\n",
        };
        lines.lines().enumerate().map(word).collect()
    };
    let (sweep, records, predictions) = study("[42, 43, 44]", &rare);
    let files = report(&sweep, &records, &predictions).files().expect("a report");
    let csv = &crate::table(&files, "verdicts");
    let row = |score: &str| {
        let start = format!("false,en,top-2,{score},dev,");
        csv.lines()
            .find(|line| line.starts_with(&start))
            .unwrap_or_else(|| panic!("{start}: {csv}"))
            .to_string()
    };
    let difference =
        |row: &str| row.split(',').nth(7).expect("a difference").parse::<f64>().expect("a number");
    assert!(difference(&row("macro F1")) < 4.0 * difference(&row("accuracy")), "{csv}");
    assert!(row("macro F1").contains(",worse,"), "{csv}");
}

#[test]
fn a_saving_that_is_not_measurable_is_said_where_a_language_was_not_timed() {
    let (sweep, records, predictions) = study("[42, 43, 44]", &|_, lines| lines);
    let policy =
        |cell: &Cell| TimedPolicy {
            cell: cell.id.clone(),
            step_ms: (0..40_u32)
                .map(|round| {
                    if cell.settings.policy == "none" { 50.0 } else { 20.0 + f64::from(round * 7 % 40) * 1.5 }
                })
                .collect(),
            cpu_ms: None,
            peak_rss_mib: None,
            peak_device_mib: None,
        };
    let english = sweep.timed_groups(|_| true).remove(0);
    let times = PairedTimes {
        schema: SCHEMA,
        policies: english.iter().map(policy).collect(),
        subwords: vec![350; 40],
        load: Load::default(),
        made_by: crate::common::maker(),
    };
    let report =
        Report::new(&sweep, &records, &[times], Some(&mut |_, file| predictions.get(&file.sha256).cloned()));
    let page = report.files().map(|files| text(&files, "report.md").to_string()).expect("a report");
    assert!(page.contains("measured in turns: what it saves is not measurable here"), "{page}");
    assert!(!page.contains("it saves ,"), "{page}");
}

#[test]
fn one_policy_beside_none_is_named_once() {
    let plan = PLAN.replace("'none', 'first-4', 'all', 'top-2'", "'none', 'all'");
    let plan = plan
        .split_once("[[claims]]\nsays = 'The first")
        .expect("the claims")
        .0
        .replace("lang = ['en', 'pcm']", "lang = ['en']");
    let (sweep, records, predictions) = study_of(&plan, "[42, 43, 44]", &|_, lines| lines);
    let files = report(&sweep, &records, &predictions).files().expect("a report");
    let page = text(&files, "report.md");
    let cost =
        page.lines().find(|line| line.contains("points of dev accuracy against `none`")).expect("the cost");
    assert!(cost.contains("freezing costs 9.27 points"), "{cost}");
    assert!(page.contains("it is shown to lose more"), "{page}");
}

/// Other sentences for every seed.
fn own_sentences(place: &Place<'_>, lines: String) -> String {
    lines.lines().map(|line| format!("{}.{line}\n", place.settings.seed)).collect()
}

#[test]
fn seeds_that_drew_their_sentences_are_compared_seed_by_seed() {
    let verdict = |cut: &str, change: &dyn Fn(&Place<'_>, String) -> String| {
        let plan = PLAN.replace("[grid]", &format!("[settings.data]\n{cut}\n[grid]"));
        let (sweep, records, predictions) = study_of(&plan, "[42, 43, 44]", change);
        json_of(&report(&sweep, &records, &predictions))["groups"][2]["dev_verdict"].clone()
    };
    let shared = verdict("", &|_, lines| lines);
    let own = verdict("cut_dev = 0.2", &own_sentences);
    assert!(own["unpaired"].is_null(), "{own}");
    assert_eq!(own["difference"]["by_seed"], shared["difference"]["by_seed"]);
    assert_eq!(own["difference"]["sentences"], shared["difference"]["sentences"], "of a seed");
    let variance =
        |verdict: &Value| verdict["difference"]["variance"]["sentences"].as_f64().expect("a number");
    assert!(variance(&own) < variance(&shared), "there are more of them");
    // Where no setting says that seeds draw their sentences, they should have been the same.
    let why = verdict("", &own_sentences)["unpaired"].clone();
    assert_eq!(why, "the cells were scored on different sentences");
}

#[test]
fn what_cannot_be_paired_says_why() {
    // Other sentences than the baseline's, in one language.
    let (sweep, records, mut predictions) = study("[42, 43, 44]", &|place, lines| match (
        place.settings.lang.as_str(),
        place.settings.policy.as_str(),
    ) {
        ("en", "all") => lines.replace("s7 ", "t7 "),
        _ => lines,
    });
    let found = report(&sweep, &records, &predictions);
    let why = json_of(&found)["groups"][2]["dev_verdict"]["unpaired"].clone();
    assert_eq!(why, "the cells were scored on different sentences");
    // One cell's file is lost: two seeds are left.
    let lost = records.iter().find(|record| record.cell.settings.policy == "top-2").expect("a cell");
    let file = &lost.result.as_ref().expect("a result").predictions()["dev"];
    predictions.remove(&file.sha256);
    let json = json_of(&report(&sweep, &records, &predictions));
    assert_eq!(json["groups"][3]["dev_verdict"]["seeds"], json!([43, 44]));
    // All are lost.
    let none = Report::new(&sweep, &records, &[], None);
    let files = none.files().expect("a report");
    let page = text(&files, "report.md");
    let said = "No policy can be judged against `none`: the stored predictions are missing.";
    assert_eq!(page.matches(said).count(), 3, "at the top, and for each language: {page}");
    assert!(!text(&files, "report.json").contains("\"verdicts\": {"));
}

#[test]
fn the_margin_is_the_plans() {
    let (mut sweep, records, predictions) = study("[42, 43, 44]", &|_, lines| lines);
    sweep.plan.verdict.margin = frostline_record::Margin::try_from(0.01).expect("a margin");
    let json = json_of(&report(&sweep, &records, &predictions));
    assert_eq!(json["groups"][1]["dev_verdict"]["verdict"], "undecided");
    assert_eq!(json["advice"][0]["margin"], 0.01);
}

/// Two sweeps are judged like two policies: on the same seeds and sentences, whether or not their cells have the same ids.
#[test]
fn sweeps_are_judged_beside_the_first_one() {
    let better = |_: &Place<'_>, lines: String| lines.replace(" V unambiguous", " N unambiguous");
    let (first, other) = (study("[42, 43, 44]", &|_, lines| lines), study("[42, 43, 45]", &better));
    let all = [&first, &other];
    let merged = Merged::new(
        [("small", first.0.clone(), first.1.clone()), ("large", other.0.clone(), other.1.clone())],
        Some(&mut |at, _, file| all[at].2.get(&file.sha256).cloned()),
    );
    let terminal = merged.terminal_table(160);
    assert!(
        terminal.contains(
            "large compared with small, on the same seeds and sentences of dev: all 8 rows are better."
        ),
        "{terminal}"
    );
    let files = merged.files().expect("a comparison");
    keep("merged", &files);
    let page = text(&files, "comparison.md");
    let section = page.split_once("### large against small on dev").expect("verdicts").1;
    let judged = |line: &&str| line.contains("| better") || line.contains("| undecided");
    let rows: Vec<&str> = section.lines().filter(judged).collect();
    assert!(
        rows.len() == 8 && rows.iter().all(|row| row.trim_end().ends_with("2 |")),
        "two seeds in common: {section}"
    );
    assert!(text(&files, "index.html").contains("large against small on dev"));
    assert!(text(&files, "tables.tex").contains("frostline@table@large-dev"));
    assert!(
        text(&files, "results.tex").contains("\\FrostlineDefine{en}{first-4}{large-dev-verdict}{better}")
    );
    assert!(text(&files, "figures/comparison.svg").contains("large"));
}

#[test]
fn sweeps_without_predictions_have_no_verdict() {
    let (first, other) = (study("[42, 43]", &|_, lines| lines), study("[42, 43]", &|_, lines| lines));
    let merged = Merged::new([("a", first.0, first.1), ("b", other.0, other.1)], None);
    let files = merged.files().expect("a comparison");
    let page = text(&files, "comparison.md");
    assert!(!page.contains("verdict |") && !page.contains("### b beside a"), "{page}");
}

/// A policy that scores less than the most frequent tag may be undecided with few seeds, but it is no answer.
#[test]
fn a_policy_below_the_most_frequent_tag_is_never_open() {
    let open = |share: f64| {
        let (sweep, mut records, predictions) = study("[42, 43, 44]", &|_, lines| lines);
        for record in &mut records {
            let result = record.result.as_mut().expect("a result");
            let score = result.stages[0].tasks["upos"].scores["dev"].clone();
            let correct = (score.words as f64 * share) as u64;
            let scores = [("dev".to_string(), frostline_record::Score { correct, ..score })].into();
            let baseline = frostline_record::Baseline { scores, fit: None };
            let all = [(frostline_record::MOST_FREQUENT.to_string(), baseline)].into();
            result.baselines = [("upos".to_string(), all)].into();
        }
        json_of(&report(&sweep, &records, &predictions))["advice"][0]["open"]["policy"].clone()
    };
    assert_eq!(open(0.5), "top-2");
    assert_eq!(open(0.95), Value::Null);
}
