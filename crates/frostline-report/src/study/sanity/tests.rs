//! Findings about data, counted by hand, and the edge of rates.

use std::collections::BTreeMap;

use frostline_record::{Forms, Overlap, Settings, SplitFacts, TaskFacts, Unit};

use super::rates::best_at_edge;
use super::{
    Finding, FindingKind, FindingLine, PlaceNames, Severity, data, data_warnings, finding_lines,
    first_forbidding, summarise_findings,
};

/// A split of so many words in sentences of ten, with these tags.
fn split(tags: &[(&str, u64)]) -> SplitFacts {
    let words = tags.iter().map(|(_, count)| count).sum();
    SplitFacts {
        sentences: words / 10,
        words,
        forms: Forms { words, ..Forms::default() },
        tags: tags.iter().map(|(tag, count)| ((*tag).to_string(), *count)).collect(),
        longest: 40,
        ..SplitFacts::default()
    }
}

fn facts() -> TaskFacts {
    TaskFacts {
        unit: Unit::Words,
        tags: ["NOUN", "VERB"].map(String::from).to_vec(),
        train: split(&[("NOUN", 6_000), ("VERB", 4_000)]),
        dev: split(&[("NOUN", 1_000), ("VERB", 652)]),
        test: None,
    }
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.data.max_length = 32;
    settings
}

/// The findings about these facts.
fn found(settings: &Settings, facts: TaskFacts) -> Vec<Finding> {
    data::find_problems(settings, &BTreeMap::from([("upos".to_string(), facts)]), Some(512))
}

fn only(settings: &Settings, facts: TaskFacts) -> Finding {
    let mut all = found(settings, facts);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn whole_data_have_no_finding() {
    assert_eq!(found(&settings(), facts()), []);
}

#[test]
fn words_that_are_cut_off_are_counted_with_the_length_that_keeps_them() {
    let cut = |dev: u64, train: u64, longest: u64| {
        let mut facts = facts();
        (facts.dev.truncated, facts.train.truncated) = (dev, train);
        (facts.dev.longest, facts.train.longest) = (longest.min(60), longest);
        facts
    };
    let finding = only(&settings(), cut(143, 100, 118));
    assert_eq!((finding.kind, finding.severity), (FindingKind::CutOff, Severity::ForbidsRecommendation));
    insta::assert_snapshot!(finding.sentence, @"100 of 10,000 train words (1.0 %) and 143 of 1,652 dev words (8.7 %) are cut off and count as wrong: `data.max_length` allows 32 subwords in a sentence.");
    assert_eq!(finding.command.as_deref(), Some("--set data.max_length=118"));
    // One word in a hundred of one split, and fewer.
    assert_eq!(only(&settings(), cut(17, 0, 40)).severity, Severity::Caution);
    assert_eq!(found(&settings(), cut(16, 99, 40)), []);
    // An older record does not have the longest sentence, and no encoder takes more than it has positions for.
    assert_eq!(only(&settings(), cut(17, 0, 0)).command.as_deref(), Some("--set data.max_length=64"));
    assert_eq!(only(&settings(), cut(17, 0, 900)).command.as_deref(), Some("--set data.max_length=512"));
    let mut full = settings();
    full.data.max_length = 512;
    let finding = only(&full, cut(17, 0, 900));
    assert_eq!(finding.command, None);
    insta::assert_snapshot!(finding.advice, @"The longest sentence has 900 subwords. The encoder takes at most 512: split longer sentences.");
}

#[test]
fn labels_that_train_lacks_are_named_with_the_spelling_of_train() {
    let mut facts = facts();
    facts.dev = split(&[("NOUN", 1_000), ("Verb", 512), ("X", 140)]);
    facts.test = Some(split(&[("Verb", 20), ("NOUN", 80)]));
    let finding = only(&settings(), facts);
    assert_eq!(finding.severity, Severity::ForbidsRecommendation);
    insta::assert_snapshot!(finding.sentence, @"652 of 1,652 dev words (39.5 %) and 20 of 100 test words (20.0 %) have a tag that train lacks, and count as wrong: `Verb` (532; train has `VERB`) and `X` (140).");
    assert_eq!(finding.command.as_deref(), Some("--data-report"));
}

#[test]
fn few_labels_that_train_lacks_are_a_caution_with_more_sentences_as_advice() {
    let mut facts = facts();
    facts.dev.tags.insert("X".into(), 3);
    let mut settings = settings();
    settings.data.first = 1_000;
    let finding = only(&settings, facts.clone());
    assert_eq!(
        (finding.severity, finding.command.as_deref()),
        (Severity::Caution, Some("--set data.first=0"))
    );
    settings.data.first = 0;
    assert_eq!(only(&settings, facts).command, None);
}

#[test]
fn missing_labels_and_missing_text_forbid() {
    let mut unlabelled = facts();
    (unlabelled.train.unlabelled, unlabelled.dev.unlabelled) = (812, 80);
    let finding = only(&settings(), unlabelled.clone());
    assert_eq!(
        (finding.kind, finding.severity),
        (FindingKind::MissingLabels, Severity::ForbidsRecommendation)
    );
    assert!(
        finding.sentence.starts_with("812 of 1,000 train sentences (81.2 %) have no label"),
        "{finding:?}"
    );
    unlabelled.train.unlabelled = 500;
    assert_eq!(found(&settings(), unlabelled), [], "half of them have labels");

    let mut blank = facts();
    (blank.train.blank, blank.dev.blank) = (10_000, 1_652);
    let finding = only(&settings(), blank.clone());
    assert_eq!((finding.kind, finding.severity), (FindingKind::NoText, Severity::ForbidsRecommendation));
    (blank.train.blank, blank.dev.blank) = (600, 0);
    assert_eq!(only(&settings(), blank.clone()).severity, Severity::Caution);
    blank.train.blank = 499;
    assert_eq!(found(&settings(), blank), []);
}

#[test]
fn sentences_that_splits_share_are_named() {
    let mut leaked = facts();
    let words = leaked.dev.forms.words;
    leaked.dev.like_train = Some(Overlap { sentences: 100, words });
    let finding = only(&settings(), leaked.clone());
    assert_eq!((finding.kind, finding.severity), (FindingKind::Leakage, Severity::ForbidsRecommendation));
    insta::assert_snapshot!(finding.sentence, @"100 of 165 dev sentences (100.0 % of the words) are also in train, the same but for case and punctuation: the score shows what was memorised, not how well the model does on new text.");
    leaked.dev.like_train = Some(Overlap { sentences: 10, words: words / 10 });
    assert_eq!(only(&settings(), leaked.clone()).severity, Severity::Caution);
    // As many as released treebanks have.
    leaked.dev.like_train = Some(Overlap { sentences: 10, words: words / 25 });
    assert_eq!(found(&settings(), leaked.clone()), []);
    leaked.test =
        Some(SplitFacts { like_dev: Some(Overlap { sentences: 100, words }), ..leaked.dev.clone() });
    insta::assert_snapshot!(only(&settings(), leaked).sentence, @"100 of 165 test sentences (100.0 % of the words) are also in dev, the same but for case and punctuation: the test score repeats the dev score.");
}

#[test]
fn only_the_headline_forbids() {
    let mut other = facts();
    other.dev.truncated = 500;
    let tasks = BTreeMap::from([("ner".to_string(), other), ("upos".to_string(), facts())]);
    let settings: Settings =
        toml::from_str("eval.task = 'upos'\ntasks.upos.labels = 'upos'\ntasks.ner.labels = 'entity'")
            .expect("settings");
    let all = data::find_problems(&settings, &tasks, None);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].severity, Severity::Caution);
    assert!(all[0].sentence.contains("of the task `ner` are cut off"), "{all:?}");
}

#[test]
fn warnings_before_training_name_the_language_once() {
    let mut facts = facts();
    facts.dev.truncated = 143;
    let tasks = BTreeMap::from([("upos".to_string(), facts)]);
    let mut other = settings();
    other.lang = "pcm".parse().expect("a name");
    let warnings = data_warnings([(&settings(), &tasks), (&settings(), &tasks), (&other, &tasks)]);
    insta::assert_snapshot!(warnings.join("\n"), @r"
    en, no recommendation: 143 of 1,652 dev words (8.7 %) are cut off and count as wrong: data.max_length allows 32 subwords in a sentence.
      next: The longest sentence has 40 subwords. Run the same command with --set data.max_length=40.
    pcm, no recommendation: 143 of 1,652 dev words (8.7 %) are cut off and count as wrong: data.max_length allows 32 subwords in a sentence.
      next: The longest sentence has 40 subwords. Run the same command with --set data.max_length=40.
    ");
}

#[test]
fn a_best_rate_at_an_end_is_an_edge() {
    assert_eq!(best_at_edge(&[]), None);
    assert_eq!(best_at_edge(&[(1e-3, 0.9)]), None, "one rate has no edge");
    assert_eq!(best_at_edge(&[(1e-2, 0.5), (1e-4, 0.7), (1e-3, 0.9)]), None);
    let highest = best_at_edge(&[(1e-2, 0.95), (1e-4, 0.7), (1e-3, 0.9)]).expect("an edge");
    assert!(highest.is_highest && highest.rate == 1e-2 && (highest.gain - 0.05).abs() < 1e-12);
    let lowest = best_at_edge(&[(1e-2, 0.5), (1e-4, 0.7), (1e-3, 0.6)]).expect("an edge");
    assert!(!lowest.is_highest && lowest.rate == 1e-4);
}

#[test]
fn a_finding_forbids_where_it_holds() {
    let mut finding = only(&settings(), {
        let mut facts = facts();
        facts.dev.truncated = 143;
        facts
    });
    finding.langs = vec!["cy".into()];
    let extras = |values: &[&str]| values.iter().map(|value| (*value).to_string()).collect::<Vec<_>>();
    let all = [finding.clone()];
    assert!(first_forbidding(&all, &["en", "cy"], &extras(&["100"])).is_some());
    assert!(first_forbidding(&all, &["en"], &extras(&["100"])).is_none());
    let at = [Finding { extras: extras(&["100", "any"]), ..finding.clone() }];
    assert!(first_forbidding(&at, &["cy"], &extras(&["100", "1e-3"])).is_some());
    assert!(first_forbidding(&at, &["cy"], &extras(&["500", "1e-3"])).is_none());
    let caution = [Finding { severity: Severity::Caution, ..finding }];
    assert!(first_forbidding(&caution, &["cy"], &[]).is_none());
}

#[test]
fn of_many_places_three_are_shown_and_the_others_named() {
    let langs = ["cy", "de", "en", "ga", "it"];
    let finding = |lang: &str| {
        let mut facts = facts();
        facts.dev.truncated = 20;
        Finding { langs: vec![lang.into()], ..only(&settings(), facts) }
    };
    let all: Vec<Finding> = langs.iter().map(|lang| finding(lang)).collect();
    let text = |findings: &[Finding]| {
        let places = PlaceNames { langs: &langs, axes: &[] };
        let lines =
            finding_lines(findings, &places).iter().map(FindingLine::for_page).collect::<Vec<_>>().join("\n");
        format!("{}\n{lines}", summarise_findings(findings, &places).unwrap_or_default())
    };
    assert_eq!(text(&[]), "\n");
    assert_eq!(text(&all[..4]).lines().count(), 5, "four are shown rather than three and a rest of one");
    let found = text(&all);
    assert_eq!(found.lines().count(), 5);
    let last =
        "**ga and it**: the same was found in 2 more places. `sanity` in `report.json` lists all of it.";
    assert_eq!(found.lines().last(), Some(last));
    let bad = Finding { severity: Severity::ForbidsRecommendation, ..finding("de") };
    assert!(text(std::slice::from_ref(&bad)).starts_with("**Nothing is recommended for de**"));
    let everywhere = Finding { langs: langs.map(String::from).to_vec(), ..bad };
    assert!(text(&[everywhere]).starts_with("**Nothing is recommended**: "));
}
