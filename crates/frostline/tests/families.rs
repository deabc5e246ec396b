//! Every encoder family through the runner: how long a sentence may be, what the tokenizer makes of
//! words, and a cell from weights to a saved tagger. The models are those of
//! `../../frostline-model/tests/references`, made and checked against `transformers` there.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use frostline::inputs::check_length;
use frostline::model_folder::ModelFolder;
use frostline::version::code;
use frostline_assets::{Places, Sources};
use frostline_model::EncoderConfig;
use frostline_record::{Cell, Input, Settings};
use serde_json::Value;

use common::last_word;

/// Each family's reference model and its longest sentence.
const FAMILIES: [(&str, usize); 4] = [("distilbert", 48), ("bert", 48), ("roberta", 64), ("xlm-roberta", 64)];

fn references() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../frostline-model/tests/references")
}

fn frostline(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_frostline")).args(arguments).output().expect("the binary starts")
}

#[test]
fn the_longest_sentence_is_what_positions_leave() {
    let mut settings = Settings::default();
    for (name, longest) in FAMILIES {
        let text = fs::read_to_string(references().join(name).join("config.json")).unwrap();
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
        let own = references().join(format!("sentences-{name}.json"));
        let own = if own.exists() { own } else { references().join("sentences.json") };
        let sentences: Vec<Value> = serde_json::from_slice(&fs::read(own).unwrap()).unwrap();
        let words = |sentence: &Value| {
            let words = sentence["words"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            words.collect::<Vec<_>>().join(" ")
        };
        let mut lines: Vec<String> = sentences.iter().map(words).collect();
        lines.push(lines.join(" "));
        let input = folder.path().join("words.txt");
        fs::write(&input, lines.join("\n")).unwrap();
        let (model, input) = (references().join(name), input.display().to_string());
        let model = model.display().to_string();
        let arguments = ["logits", "--model", &model, "--input", &input];

        let output = frostline(&arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{name}: {errors}");
        let told: Vec<Value> = String::from_utf8(output.stdout).unwrap().lines().map(parse).collect();
        assert_eq!(told.len(), sentences.len() + 1, "{name}");
        for (line, sentence) in told.iter().zip(&sentences) {
            assert_eq!(line["ids"], sentence["ids"], "{name}");
        }
        let [ids, logits] = ["ids", "logits"].map(|key| told.last().unwrap()[key].as_array().unwrap());
        assert_eq!((ids.len(), logits.len()), (longest, longest), "{name}: all sentences in one, cut off");
        assert!(errors.contains(&format!("words cut off at {longest} positions")), "{name}: {errors}");

        let more = (longest + 1).to_string();
        let output = frostline(&[&arguments[..], &["--max-length", &more]].concat());
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(&format!("the encoder has {longest} positions")), "{name}: {errors}");
    }
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

/// A cell that trains a family's reference model on the demo and saves the tagger.
fn cell(name: &str, max_length: usize) -> Cell {
    let places = Places::default();
    let encoder = references().join(name).display().to_string();
    let treebank = places.treebank("embedded:pcm").unwrap();
    let mut settings = Settings { policy: "first-2".into(), ..Settings::default() };
    settings.encoder.name.clone_from(&encoder);
    (settings.train.epochs, settings.data.first, settings.save.model) = (1, 64, true);
    settings.data.max_length = max_length;
    let input = |sources: Sources| {
        sources.into_iter().map(|(role, source)| {
            (role, Input { path: source.path, sha256: source.sha256, bytes: source.bytes })
        })
    };
    let encoder = places.encoder(&encoder, true).unwrap();
    Cell::new(settings, input(treebank.sources).chain(input(encoder.sources)).collect(), "flex", code())
}

#[test]
fn a_cell_trains_and_saves_each_family() {
    let classes = [
        "DistilBertForTokenClassification",
        "BertForTokenClassification",
        "RobertaForTokenClassification",
        "XLMRobertaForTokenClassification",
    ];
    let folder = tempfile::tempdir().unwrap();
    for ((name, longest), class) in FAMILIES.into_iter().zip(classes) {
        let here = folder.path().join(name);
        let last = last_word(cell(name, longest), &here);
        assert!(last.contains("\"done\""), "{name}: {last}");
        let model = here.join("model");
        ModelFolder::open(&model).unwrap().check().unwrap();
        let config = parse(&fs::read_to_string(model.join("config.json")).unwrap());
        assert_eq!(config["architectures"], serde_json::json!([class]), "{name}");

        let last = last_word(cell(name, longest + 1), &folder.path().join(format!("{name}-long")));
        assert!(last.contains("\"failed\""), "{name}: {last}");
        assert!(last.contains(&format!("only {longest} positions")), "{name}: {last}");
    }
}
