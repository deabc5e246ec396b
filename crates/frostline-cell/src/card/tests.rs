//! The text of cards, and their metadata as a reader of YAML finds them.

use std::collections::BTreeMap;

use frostline_record::{
    Accounts, Cell, Cost, Entities, EpochRow, FreezeCheck, Input, Inputs, MadeBy, Outcome, Record, SCHEMA,
    SavedFiles, Score, Settings, SplitFacts, StageOutcome, TaskFacts, TaskOutcome, Unit,
};
use serde_yaml_ng::Value;

use super::*;

fn input(path: &str) -> Input {
    Input { path: path.into(), sha256: "ab".repeat(32), bytes: 1 }
}

/// Returns a record of one stage on these data. The inputs and their licences are in `folder`.
fn record(settings: Settings, data: &str, config: &str) -> Record {
    let inputs: Inputs = [("train", format!("{data}train.conllu")), ("config", config.into())]
        .map(|(role, path)| (role.to_string(), input(&path)))
        .into();
    let policy = settings.policy.to_string();
    let mut cell = Cell::new(settings, inputs, "flex", "0123456789abcdef");
    cell.id = "b430fed312345678".into();
    let score = |correct| Score { sentences: 100, words: 2500, correct, ..Score::default() };
    let scores = BTreeMap::from([("dev".to_string(), score(2400)), ("test".into(), score(2350))]);
    let outcome = |scores| TaskOutcome { scores, ..TaskOutcome::default() };
    let facts = TaskFacts {
        unit: Unit::Words,
        tags: ["ADJ", "NOUN", "a|b`c"].map(String::from).to_vec(),
        train: SplitFacts { sentences: 1000, words: 25_000, ..SplitFacts::default() },
        dev: SplitFacts::default(),
        test: None,
    };
    let tasks = |facts: &TaskFacts| {
        cell.settings.tasks.keys().map(|name| (name.to_string(), facts.clone())).collect()
    };
    let stage = StageOutcome {
        name: "train".into(),
        policy,
        accounts: Accounts { total: 1_000_000, trainable: 400_000, groups: Vec::new() },
        steps: 10,
        selected_epoch: 1,
        tasks: cell.settings.tasks.keys().map(|name| (name.to_string(), outcome(scores.clone()))).collect(),
        freezing: FreezeCheck { frozen: 36, moved: 68, unmoved: Vec::new() },
        settled: Vec::new(),
        stopped_early: None,
    };
    let epoch = EpochRow {
        epoch: 1,
        stage: 1,
        step: 10,
        trainable: 400_000,
        train_loss_nats: 0.5,
        dev: score(2400),
        dev_f1: [("ADJ".to_string(), 0.5), ("NOUN".into(), 1.0)].into(),
        others: BTreeMap::new(),
    };
    let cost = Cost {
        gflop_per_step: 1.0,
        predicted_speedup: 1.0,
        predicted_speedup_cached: 1.0,
        subwords_per_step: 1.0,
        context_subwords: 1.0,
        speaking_per_step: 1.0,
        word_rows: 1,
        memory: None,
    };
    let result = Outcome {
        headline: cell.settings.tasks.keys().next().expect("a task").to_string(),
        tasks: tasks(&facts),
        encoder: None,
        cost,
        steps: 10,
        epochs: vec![epoch],
        train_loss: Vec::new(),
        dev_points: Vec::new(),
        baselines: BTreeMap::new(),
        stages: vec![stage],
        changes: Vec::new(),
        files: SavedFiles::default(),
    };
    let made_by = MadeBy {
        version: "0.1.0".into(),
        code: "0123456789abcdef".into(),
        revision: "1a2b3c4+".into(),
        backend: "flex".into(),
        device: "a processor".into(),
        isa: "avx512+bf16".into(),
        bits: Default::default(),
        threads: 2,
        node: String::new(),
    };
    Record { schema: SCHEMA, cell, result: Some(result), timing: None, made_by, error: None }
}

fn settings(encoder: &str) -> Settings {
    let mut settings = Settings { policy: "first-4".parse().expect("a policy"), ..Settings::default() };
    settings.encoder.name = encoder.into();
    settings
}

fn text(record: &Record, task: &str) -> String {
    Card::of(record, task).and_then(|card| card.text()).expect("a card")
}

/// Returns the metadata as a reader of YAML finds them.
fn metadata(card: &str) -> Value {
    let rest = card.strip_prefix("---\n").expect("begins with metadata");
    let (yaml, _) = rest.split_once("---\n\n").expect("metadata end");
    serde_yaml_ng::from_str(yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

#[test]
fn a_card_of_a_treebank() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str, readme: &str| {
        let place = folder.path().join(name);
        frostline_files::create_own_folder(&place).expect("a folder");
        frostline_files::write(&place.join("README.md"), readme.as_bytes()).expect("written");
        place.display().to_string()
    };
    let data = place("UD_English-EWT", "# Summary\n\nLicense: CC BY-SA 4.0\n") + "/en_ewt-ud-";
    let encoder =
        place("distilbert-base-multilingual-cased", "---\nlicense: apache-2.0\n---\n") + "/config.json";
    let record = record(settings("distilbert-base-multilingual-cased"), &data, &encoder);
    let card = text(&record, "upos");
    let found = metadata(&card);
    assert_eq!(found["model-index"][0]["results"][0]["metrics"][0]["value"].as_f64(), Some(0.94));
    assert_eq!(found["model-index"][0]["results"][1]["dataset"]["split"].as_str(), Some("validation"));
    insta::assert_snapshot!(card);
    // A second card is equal: it depends only on the record and the licences.
    assert_eq!(card, text(&record, "upos"));
}

#[test]
fn a_card_for_onnx_has_the_same_scores_and_code_for_its_library() {
    let mut settings = settings("minilm");
    settings.data.lowercase = true;
    let record = record(settings, "/data/mine-", "/models/minilm/config.json");
    let plain = metadata(&text(&record, "upos"));
    let cases = [
        (ModelForm::Onnx, "transformers", "onnxruntime.InferenceSession", "[word.lower() for word in words]"),
        (ModelForm::TransformersJs, "transformers.js", "@huggingface/transformers", "Words are lowercased"),
    ];
    for (form, library, code, lowercase) in cases {
        let card = text_in_form(&record, form).expect("a card");
        let found = metadata(&card);
        assert_eq!(found["library_name"].as_str(), Some(library));
        assert_eq!(found["model-index"], plain["model-index"]);
        assert!(found["tags"].as_sequence().expect("tags").iter().any(|tag| tag.as_str() == Some("onnx")));
        assert!(card.contains(code) && card.contains(lowercase) && !card.contains("import torch"), "{card}");
    }
}

/// The tutorial's folder and files are named like a treebank's.
#[test]
fn own_data_are_not_said_to_be_of_universal_dependencies() {
    let folder = tempfile::tempdir().expect("a folder");
    let card = |name: &str, files: &str, licence: Option<&str>| {
        let place = folder.path().join(name);
        let _ = frostline_files::create_own_folder(&place);
        let readme = licence.map_or(String::new(), |licence| format!("License: {licence}\n"));
        frostline_files::write(&place.join("README.md"), readme.as_bytes()).expect("written");
        let data = place.join(files).display().to_string();
        text(&record(settings("minilm"), &data, "/models/minilm/config.json"), "upos")
    };
    let claims = |card: &str| card.to_lowercase().contains("universal dependencies");
    let own = card("UD_Mine-Words", "mine-ud-", None);
    assert!(!claims(&own) && !own.contains("universal-dependencies"), "{own}");
    assert_eq!(metadata(&own)["datasets"][0].as_str(), Some("UD_Mine-Words"));
    assert!(!claims(&card("UD_English-Own", "en_own-ud-", None)), "no licence file in the folder");
    assert!(!claims(&card("mine", "en_own-ud-", Some("mit"))), "in a folder of another name");
    assert!(claims(&card("UD_English-EWT", "en_ewt-ud-", Some("CC BY-SA 4.0"))));
}

#[test]
fn synthetic_data_are_marked_and_need_no_base_model() {
    let record =
        record(settings("embedded:demo-distilbert"), "embedded:en/", "embedded:demo-distilbert/config.json");
    let card = text(&record, "upos");
    let found = metadata(&card);
    assert_eq!(found["license"].as_str(), Some("apache-2.0"));
    assert!(found.get("base_model").is_none(), "{card}");
    assert!(
        found["tags"].as_sequence().is_some_and(|tags| tags.contains(&"synthetic-data".into())),
        "{card}"
    );
    assert_eq!(card.matches("SYNTHETIC DATA").count(), 1, "{card}");
}

#[test]
fn one_licence_only_where_all_agree() {
    let cases = [
        (["apache-2.0", "apache-2.0"], Some("apache-2.0"), None),
        (["mit", "CC BY 4.0"], Some("other"), Some("mit-and-cc-by-4.0")),
        (["Some licence", "Some licence"], Some("other"), Some("some-licence")),
        (["mit", ""], Some("other"), None),
        (["", ""], Some("other"), None),
    ];
    for (stated, licence, name) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        let [encoder, data] = ["encoder", "data"].map(|name| folder.path().join(name));
        for (place, licence) in [&encoder, &data].into_iter().zip(stated) {
            frostline_files::create_own_folder(place).expect("a folder");
            if !licence.is_empty() {
                frostline_files::write(&place.join("README.md"), format!("License: {licence}\n").as_bytes())
                    .expect("written");
            }
        }
        let [encoder, data] =
            [encoder.join("config.json"), data.join("x")].map(|path| path.display().to_string());
        let found = metadata(&text(&record(settings("minilm"), &data, &encoder), "upos"));
        assert_eq!(found["license"].as_str(), licence, "{stated:?}");
        assert_eq!(found.get("license_name").and_then(Value::as_str), name, "{stated:?}");
    }
}

#[test]
fn nasty_names_stay_what_they_are() {
    let mut settings = settings("C:\\models\\my: \"model\" #1");
    settings.lang = "no".parse().expect("a name");
    let record = record(settings, "/data/- it's {a}: `set`|\n#/", "/data/encoder/config.json");
    let card = text(&record, "upos");
    let found = metadata(&card);
    assert_eq!(found["language"][0].as_str(), Some("no"));
    assert_eq!(found["datasets"][0].as_str(), Some("- it's {a}: `set`|\n#"));
    assert!(found.get("base_model").is_none(), "{card}");
    assert_eq!(found["model-index"][0]["name"].as_str(), Some("no-first-4-s42-b430fed3"));
}

#[test]
fn entities_have_their_f1_and_other_tasks_their_own_card() {
    let mut settings = settings("minilm");
    settings.tasks.insert(
        "entities".parse().expect("a name"),
        TaskSettings { labels: "entity".into(), ..TaskSettings::default() },
    );
    let mut record = record(settings, "/data/UNER/x-", "/models/minilm/config.json");
    let result = record.result.as_mut().expect("a result");
    let entities = result.stages[0].tasks.get_mut("entities").expect("a task");
    for score in entities.scores.values_mut() {
        score.entities = Some(Entities { gold: 10, predicted: 10, correct: 7 });
    }
    assert_eq!(
        list_models(&record),
        [("model", "entities"), ("model-upos", "upos")].map(|(a, b)| (a.into(), b.into()))
    );
    let found = metadata(&text(&record, "entities"));
    let metrics = &found["model-index"][0]["results"][0]["metrics"];
    assert_eq!(metrics[1]["value"].as_f64(), Some(0.7));
    assert!(
        found["tags"].as_sequence().is_some_and(|tags| tags.contains(&"named-entity-recognition".into()))
    );
    // The other task's dev F1 is not in the record.
    let other = metadata(&text(&record, "upos"));
    assert_eq!(other["metrics"].as_sequence().map(Vec::len), Some(1));
    assert!(Card::of(&record, "absent").is_err());
}

#[test]
fn cards_are_written_where_models_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let record =
        record(settings("embedded:demo-distilbert"), "embedded:en/", "embedded:demo-distilbert/config.json");
    write_all(folder.path(), &record).expect("nothing to write");
    assert!(!folder.path().join("model").exists());
    frostline_files::create_own_folder(&folder.path().join("model")).expect("a folder");
    write_all(folder.path(), &record).expect("written");
    let written = std::fs::read_to_string(folder.path().join("model").join(FILE)).expect("a card");
    assert_eq!(written, text(&record, "upos"));
    let failed = Record { result: None, ..record };
    assert!(write(folder.path(), &failed).is_err());
}
