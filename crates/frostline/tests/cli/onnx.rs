//! `export --onnx`: the files of both layouts, and what it refuses. `tests/onnx/check.py` runs the models.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{copy_folder, make_workplace, repository_file, run_and_print, run_frostline};

/// Returns the files below a folder.
fn list_files(folder: &Path, before: &str) -> Vec<String> {
    let mut names = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let entry = entry.unwrap();
        let name = format!("{before}{}", entry.file_name().to_str().unwrap());
        match entry.path().is_dir() {
            true => names.extend(list_files(&entry.path(), &format!("{name}/"))),
            false => names.push(name),
        }
    }
    names.sort();
    names
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn each_layout_has_the_files_that_its_loaders_open() {
    let folder = make_workplace();
    let here = folder.path();
    copy_folder(&repository_file("crates/frostline-model/tests/references/bert"), &here.join("model"));
    // Code and pickles do not go along.
    fs::write(here.join("model/modeling.py"), "import os").unwrap();
    run_and_print(here, &["export", "--model", "model", "--onnx", "--out", "plain"]);
    let plain = ["config.json", "model.onnx", "tokenizer.json", "tokenizer_config.json"];
    assert_eq!(list_files(&here.join("plain"), ""), plain);
    let web = ["--onnx", "--layout", "transformers.js", "--quantize", "--out", "web"];
    let output = run_and_print(here, &[&["export", "--model", "model"][..], &web].concat());
    let output = String::from_utf8(output).unwrap();
    assert!(output.contains("onnx/model_quantized.onnx ("), "{output}");
    assert!(output.contains("int8 changes single tags"), "{output}");
    let names = ["config.json", "onnx/model.onnx", "onnx/model_quantized.onnx", plain[2], plain[3]];
    assert_eq!(list_files(&here.join("web"), ""), names);
    assert_eq!(
        fs::read(here.join("web/onnx/model.onnx")).unwrap(),
        fs::read(here.join("plain/model.onnx")).unwrap()
    );
    let config = read_json(&here.join("web/config.json"));
    assert_eq!(config["architectures"], json!(["BertForTokenClassification"]));
    assert_eq!(config["id2label"]["0"], "ADJ");
}

#[test]
fn a_model_that_labels_sentences_is_a_sentence_classifier() {
    let folder = make_workplace();
    let here = folder.path();
    copy_folder(&repository_file("crates/frostline-model/tests/references/modernbert"), &here.join("model"));
    let notes = json!({"schema": 1, "tasks": {"mood": "label"}, "unit": "sentences", "lowercase": true,
        "max_length": 40, "precision": "bf16"});
    fs::write(here.join("model/frostline.json"), notes.to_string()).unwrap();
    let output = run_and_print(here, &["export", "--model", "model", "--onnx", "--out", "new"]);
    let output = String::from_utf8(output).unwrap();
    assert!(output.contains("lowercase its input too") && output.contains("not trained in f32"), "{output}");
    let config = read_json(&here.join("new/config.json"));
    assert_eq!(config["architectures"], json!(["ModernBertForSequenceClassification"]));
    assert_eq!(read_json(&here.join("new/frostline.json")), notes);
}

#[test]
fn what_cannot_be_exported_is_an_error_with_the_next_step() {
    let folder = make_workplace();
    let here = folder.path();
    copy_folder(&repository_file("crates/frostline-model/tests/references/bert"), &here.join("model"));
    copy_folder(&here.join("model"), &here.join("words"));
    for name in ["tokenizer.json", "tokenizer_config.json"] {
        fs::remove_file(here.join("words").join(name)).unwrap();
    }
    fs::write(here.join("words/vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n").unwrap();
    fs::write(here.join("used"), "").unwrap();
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--model", "demo", "--onnx", "--out", "new"], 2, "hold no classifier"),
        (
            &["--model", "words", "--onnx", "--layout", "transformers.js", "--out", "new"],
            3,
            "no tokenizer.json",
        ),
        (&["--model", "model", "--onnx", "--out", "used"], 2, "choose another --out"),
        (&["--model", "model", "--out", "new"], 2, "--onnx"),
        (&["--model", "model", "--run", "cell", "--onnx", "--out", "new"], 2, "cannot be used with"),
        (&["--onnx", "--out", "new"], 2, "--run <CELL_FOLDER>"),
    ];
    for (arguments, code, part) in cases {
        let output = run_frostline(here, &[&["export"], arguments].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && error.contains(part), "{arguments:?}: {error}");
        assert!(!here.join("new").exists(), "{arguments:?}");
    }
}
