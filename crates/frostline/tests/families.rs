//! Every encoder family through the program: the longest sentence, the tokenizer's subwords, and cells from weights
//! to a saved tagger or classifier of sentences. The models come from `../../frostline-model/tests/references`, made
//! and checked against `transformers` there.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use frostline_assets::{Places, Sources, read};
use frostline_cell::audit::Auditor;
use frostline_cell::inputs::check_length;
use frostline_cell::version::code;
use frostline_model::EncoderConfig;
use frostline_record::{Cell, HeadKind, Input, Settings, TaskSettings};
use frostline_tagger::ModelFolder;
use serde_json::Value;

use common::last_word;

/// Each family's reference model and its longest sentence.
const FAMILIES: [(&str, usize); 14] = [
    ("distilbert", 48),
    ("bert", 48),
    ("roberta", 64),
    ("xlm-roberta", 64),
    ("camembert", 64),
    ("electra", 48),
    ("modernbert", 200),
    ("deberta-v2", 200),
    ("eurobert", 200),
    ("xlm-roberta-xl", 64),
    ("nomic_bert", 48),
    ("gte", 66),
    ("albert", 66),
    ("albert-groups", 66),
];

fn references_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../frostline-model/tests/references")
}

fn run_frostline(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_frostline")).args(arguments).output().expect("the binary starts")
}

#[test]
fn the_longest_sentence_is_what_positions_leave() {
    let mut settings = Settings::default();
    for (name, longest) in FAMILIES {
        let text = fs::read_to_string(references_folder().join(name).join("config.json")).unwrap();
        let encoder = EncoderConfig::parse(&text, name).unwrap();
        settings.data.max_length = longest;
        check_length(&settings, &encoder).unwrap();
        settings.data.max_length = longest + 1;
        let message = check_length(&settings, &encoder).unwrap_err().to_string();
        assert!(message.contains(&format!("only {longest} positions")), "{message}");
    }
}

#[test]
fn logits_come_from_the_references_subwords_up_to_the_longest_sentence() {
    let folder = tempfile::tempdir().unwrap();
    for (name, longest) in FAMILIES {
        let own = references_folder().join(format!("sentences-{name}.json"));
        let own = if own.exists() { own } else { references_folder().join("sentences.json") };
        let sentences: Vec<Value> = serde_json::from_slice(&fs::read(own).unwrap()).unwrap();
        let words = |sentence: &Value| {
            let words = sentence["words"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            words.collect::<Vec<_>>().join(" ")
        };
        let mut lines: Vec<String> = sentences.iter().map(words).collect();
        lines.push(lines.join(" "));
        let input = folder.path().join("words.txt");
        fs::write(&input, lines.join("\n")).unwrap();
        let (model, input) = (references_folder().join(name), input.display().to_string());
        let model = model.display().to_string();
        let arguments = ["logits", "--model", &model, "--input", &input];

        let output = run_frostline(&arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{name}: {errors}");
        let printed: Vec<Value> = String::from_utf8(output.stdout).unwrap().lines().map(parse_line).collect();
        assert_eq!(printed.len(), sentences.len() + 1, "{name}");
        for (line, sentence) in printed.iter().zip(&sentences) {
            assert_eq!(line["ids"], sentence["ids"], "{name}");
        }
        let [ids, logits] = ["ids", "logits"].map(|key| printed.last().unwrap()[key].as_array().unwrap());
        assert_eq!((ids.len(), logits.len()), (longest, longest), "{name}: all sentences in one, cut off");
        assert!(errors.contains(&format!("words cut off at {longest} positions")), "{name}: {errors}");

        let more = (longest + 1).to_string();
        let output = run_frostline(&[&arguments[..], &["--max-length", &more]].concat());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(&format!("the encoder has {longest} positions")), "{name}: {errors}");
    }
}

fn parse_line(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

/// A cell that trains a family's reference model on a dataset of the demo and saves what it learned.
fn training_cell(name: &str, max_length: usize, dataset: &str, settings: Settings) -> Cell {
    let places = Places::default();
    let encoder = references_folder().join(name).display().to_string();
    let dataset = places.dataset(dataset).unwrap();
    // The blocks of these models are one set of weights, or one set for each four.
    let policy = match name {
        "albert" => "all",
        "albert-groups" => "first-4",
        _ => "first-2",
    };
    let mut settings = Settings { policy: policy.parse().unwrap(), ..settings };
    settings.encoder.name.clone_from(&encoder);
    (settings.train.epochs, settings.data.first, settings.save.model) = (1, 64, true);
    settings.data.max_length = max_length;
    let input = |sources: Sources| {
        sources.into_iter().map(|(role, source)| {
            (role, Input { path: source.path, sha256: source.sha256, bytes: source.bytes })
        })
    };
    let encoder = places.encoder(&encoder, true).unwrap();
    Cell::new(settings, input(dataset.sources).chain(input(encoder.sources)).collect(), "flex", code())
}

/// A cell of parts of speech.
fn tagging_cell(name: &str, max_length: usize) -> Cell {
    training_cell(name, max_length, "embedded:pcm", Settings::default())
}

/// A cell of labels of sentences.
fn sentence_cell(name: &str, max_length: usize, head: HeadKind) -> Cell {
    let mood = TaskSettings { labels: "label".into(), head, ..TaskSettings::default() };
    let tasks = [("mood".parse().expect("a name"), mood)].into();
    let settings = Settings { lang: "reviews".parse().expect("a name"), tasks, ..Settings::default() };
    training_cell(name, max_length, "embedded:reviews", settings)
}

#[test]
fn a_cell_trains_and_saves_each_family() {
    let classes: [&str; FAMILIES.len()] = [
        "DistilBertForTokenClassification",
        "BertForTokenClassification",
        "RobertaForTokenClassification",
        "XLMRobertaForTokenClassification",
        "CamembertForTokenClassification",
        "ElectraForTokenClassification",
        "ModernBertForTokenClassification",
        "DebertaV2ForTokenClassification",
        "EuroBertForTokenClassification",
        "XLMRobertaXLForTokenClassification",
        "NomicBertForTokenClassification",
        "GteForTokenClassification",
        "AlbertForTokenClassification",
        "AlbertForTokenClassification",
    ];
    let folder = tempfile::tempdir().unwrap();
    for ((name, longest), class) in FAMILIES.into_iter().zip(classes) {
        let here = folder.path().join(name);
        let last = last_word(tagging_cell(name, longest), &here);
        assert!(last.contains("\"done\""), "{name}: {last}");
        let model = here.join("model");
        ModelFolder::open(&model).unwrap().check().unwrap();
        let config = parse_line(&fs::read_to_string(model.join("config.json")).unwrap());
        assert_eq!(config["architectures"], serde_json::json!([class]), "{name}");

        let last = last_word(tagging_cell(name, longest + 1), &folder.path().join(format!("{name}-long")));
        assert!(last.contains("\"failed\""), "{name}: {last}");
        assert!(last.contains(&format!("only {longest} positions")), "{name}: {last}");
    }
}

#[test]
fn a_part_of_a_set_of_weights_cannot_be_frozen() {
    for (name, policy, unfreeze, part) in [
        ("albert", "first-2", 0, "blocks 0, 1, 2, 3, 4, 5 of this encoder are one set of weights"),
        ("albert", "none+adaptive", 0, "it freezes blocks one after the other"),
        ("albert-groups", "first-2", 0, "blocks 0, 2 of this encoder are one set of weights"),
        ("albert", "none", 1, "`unfreeze.every` is 1, so that blocks thaw one after the other"),
    ] {
        let mut cell = tagging_cell(name, 48);
        cell.settings.policy = policy.parse().unwrap();
        cell.settings.unfreeze.every = unfreeze;
        let error = format!("{:#}", frostline_cell::check::cells(&[cell]).unwrap_err());
        assert!(error.contains(part), "{name} {policy}: {error}");
    }
    for policy in ["none+lora", "none+bitfit", "none+norms", "head-only+mix", "lp-ft", "none+ia3", "all"] {
        let mut cell = tagging_cell("albert", 48);
        cell.settings.policy = policy.parse().unwrap();
        cell.settings.save.model = false;
        frostline_cell::check::cells(&[cell]).unwrap();
    }
}

/// The logits of every line's first position.
fn first_rows(model: &Path, input: &Path) -> Vec<Vec<f64>> {
    let [model, input] = [model, input].map(|path| path.display().to_string());
    let output = run_frostline(&["logits", "--model", &model, "--input", &input, "--lowercase"]);
    assert!(output.status.success(), "{model}: {}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_value(parse_line(line)["logits"][0].clone()).unwrap()).collect()
}

#[test]
fn a_head_for_sentences_is_exported_audited_and_computed_in_each_family() {
    // The families behind these have no head for sentences.
    let kinds =
        [HeadKind::Distilbert, HeadKind::Pooler, HeadKind::Pooler, HeadKind::Pooler, HeadKind::Pooler];
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("reviews.txt");
    let text = String::from_utf8(read("embedded:reviews/dev.tsv").unwrap().into_owned()).unwrap();
    let lines: Vec<&str> = text.lines().map(|line| line.split_once('\t').unwrap().0).collect();
    fs::write(&input, lines.join("\n")).unwrap();
    for ((name, longest), kind) in FAMILIES.into_iter().zip(kinds) {
        let here = folder.path().join(name);
        let last = last_word(sentence_cell(name, longest, kind), &here);
        assert!(last.contains("\"done\""), "{name}: {last}");
        let model = folder.path().join(format!("{name}-exported"));
        let [from, to] = [&here, &model].map(|path| path.display().to_string());
        let output = run_frostline(&["export", "--run", &from, "--out", &to]);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));

        // What the audit counts is what the run counted itself.
        let (record, found) = Auditor::default().cell(&here).unwrap();
        let freezing = &record.result.as_ref().unwrap().last().freezing;
        assert_eq!((found.frozen as u64, found.moved as u64), (freezing.frozen, freezing.moved), "{name}");
        assert!(found.changed.is_empty() && found.frozen > 0, "{name}: {found:?}");

        // The label of the highest logit is the one that the run gave to the sentence.
        let config = fs::read_to_string(model.join("config.json")).unwrap();
        let labels = parse_line(&config)["id2label"].clone();
        let logits = first_rows(&model, &input);
        let best = |row: &[f64]| (0..row.len()).rev().max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
        let given = logits.iter().map(|row| labels[best(row).to_string()].as_str().unwrap().to_string());
        let recorded = fs::read_to_string(here.join("dev.tsv")).unwrap();
        let recorded = recorded.lines().skip(1).map(|line| line.split('\t').nth(4).unwrap().to_string());
        assert_eq!(given.collect::<Vec<_>>(), recorded.collect::<Vec<_>>(), "{name}");

        // As a tagger of words the same weights pass the layer before the classifier by.
        let words = config.replace("ForSequenceClassification", "ForTokenClassification");
        fs::write(model.join("config.json"), words).unwrap();
        assert_ne!(first_rows(&model, &input), logits, "{name}");

        // Without a class name the presence of the layer decides; for BERT it may exist beside heads for words.
        let mut unnamed = parse_line(&config);
        unnamed.as_object_mut().unwrap().remove("architectures");
        fs::write(model.join("config.json"), unnamed.to_string()).unwrap();
        fs::remove_file(model.join("frostline.json")).unwrap();
        let output = run_frostline(&["tag", "--run", &to, "--input", &input.display().to_string()]);
        let errors = String::from_utf8_lossy(&output.stderr);
        if kind == HeadKind::Distilbert || name.contains("roberta") || name == "camembert" {
            assert!(errors.contains("its head labels whole sentences"), "{name}: {errors}");
        }
    }
}

#[test]
fn an_empty_line_without_special_tokens_has_no_position() {
    let folder = tempfile::tempdir().unwrap();
    let (model, input) = (folder.path().join("model"), folder.path().join("words.txt"));
    fs::create_dir(&model).unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::copy(references_folder().join("bert").join(file), model.join(file)).unwrap();
    }
    let tokenizer = model.join("tokenizer.json");
    let mut bare = parse_line(&fs::read_to_string(&tokenizer).unwrap());
    bare["post_processor"] = Value::Null;
    fs::write(&tokenizer, bare.to_string()).unwrap();
    let arguments = ["logits", "--model", model.to_str().unwrap(), "--input", input.to_str().unwrap()];
    let none = serde_json::json!({"ids": [], "logits": []});
    for (text, empty) in [("\nice melts\n\n", [0, 2]), ("\n\n", [0, 1])] {
        fs::write(&input, text).unwrap();
        let output = run_frostline(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines: Vec<Value> = String::from_utf8(output.stdout).unwrap().lines().map(parse_line).collect();
        assert_eq!(lines.len(), text.lines().count());
        for (at, line) in lines.iter().enumerate() {
            let [ids, logits] = ["ids", "logits"].map(|key| line[key].as_array().unwrap().len());
            assert_eq!(ids, logits, "{line}");
            assert_eq!(empty.contains(&at), *line == none, "{line}");
        }
    }
}
