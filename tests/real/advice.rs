//! `frostline advise`: predictions for a treebank without training.

use std::process::{Command, Output};

use serde_json::Value;

use crate::{RUNNER, SweepPlace, output_text};

fn advise(place: &SweepPlace, words: &str) -> Output {
    let mut command = Command::new(RUNNER);
    command.arg("advise").args(words.split_whitespace()).current_dir(place.path_inside(""));
    command.env("XDG_CACHE_HOME", place.path_inside("cache"));
    command.output().expect("it starts")
}

#[test]
fn advice_predicts_losses_times_and_memory_and_trains_nothing() {
    let place = SweepPlace::new();
    let output = advise(&place, "--lang en,pcm --json --margin 2");
    assert!(output.status.success(), "{}", output_text(&output));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let [en, pcm] = found["advice"].as_array().expect("advice").as_slice() else { panic!("{found}") };
    assert_eq!((&en["lang"], &pcm["lang"]), (&"en".into(), &"pcm".into()));
    let policies = en["policies"].as_array().expect("policies");
    assert_eq!(policies.len(), 7);
    assert_eq!((&policies[0]["policy"], &policies[0]["loss"]), (&"none".into(), &Value::Null));
    for policy in &policies[1..] {
        let [low, high] = [0, 1].map(|end| policy["loss"]["points"]["interval"][end].as_f64());
        assert!(low < policy["loss"]["points"]["mean"].as_f64() && low < high, "{policy}");
        assert!(policy["time_saved"].as_f64().is_some_and(|saved| saved < 1.0), "{policy}");
        assert!(policy["bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{policy}");
    }
    let saved = |name: &str| {
        let policy = policies.iter().find(|policy| policy["policy"] == name).expect("the policy");
        policy["time_saved"].as_f64().expect("a share")
    };
    assert!(saved("first-75%") > saved("first-25%"), "{en}");
    // The demo's encoder is not among the records.
    assert!(
        en["extrapolated"][0].as_str().is_some_and(|why| why.contains("no record has the encoder")),
        "{en}"
    );
    assert!(
        en["command"]
            .as_str()
            .is_some_and(|text| text.starts_with("frostline sweep --decide --lang en --policies none,"))
    );
    assert_eq!(found["left_out"]["predicted"], 114);
    assert!(!place.path_inside("sweeps").exists(), "nothing is written");

    let other = advise(
        &place,
        "--lang en --json --policies alternating --set tasks.upos.labels=xpos --set data.first=250",
    );
    let found: Value = serde_json::from_slice(&other.stdout).expect("JSON");
    let why = found["advice"][0]["extrapolated"].to_string();
    for part in ["this task is `xpos`", "has 250 train sentences; they have 100\""] {
        assert!(why.contains(part), "{why}");
    }

    let text = advise(&place, "--lang en --policies alternating,top-2");
    let shown = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.status.success() && shown.contains("\ncaution   extrapolated: "), "{}", output_text(&text));
    let row = shown.lines().find(|line| line.starts_with("top-2 ")).expect("a row");
    assert!(row.contains("–  ") && row.ends_with('–'), "no record has this policy: {row}");
}

#[test]
fn advice_is_for_one_setting() {
    let place = SweepPlace::new();
    for (words, message) in [
        (
            "--set optimizer.lr=[1e-3,1e-4]",
            "several values of `optimizer.lr`; give one with --set optimizer.lr=VALUE",
        ),
        ("--margin 0", "verdict.margin"),
        ("--policies first-99", "first-99"),
    ] {
        let output = advise(&place, &format!("--lang en {words}"));
        assert_eq!(output.status.code(), Some(2), "{}", output_text(&output));
        assert!(output_text(&output).contains(message), "{}", output_text(&output));
    }
}
