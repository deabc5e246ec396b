//! What must hold of the model that is exported from a cell.

use std::fs;
use std::path::Path;

use frostline_record::{Answer, Event, Request};
use serde_json::Value;

use crate::{demo_cell, json_lines, number_rows, run_and_print, run_cell, run_frostline, worker_answers};

/// Exports the model of `cell` as `model` and `again`.
pub fn check_exported_files(here: &Path) {
    // What was added later does not go along.
    for name in ["pytorch_model.bin", "modeling.py"] {
        fs::write(here.join("cell/model").join(name), "import os").unwrap();
    }
    let output =
        String::from_utf8(run_and_print(here, &["export", "--run", "cell", "--out", "model"])).unwrap();
    assert_eq!(fs::read_dir(here.join("model")).unwrap().count(), 6);
    assert!(
        output.contains(
            "README.md, config.json, frostline.json, model.safetensors, tokenizer.json, tokenizer_config.json"
        ),
        "{output}"
    );
    let card = fs::read_to_string(here.join("model/README.md")).unwrap();
    assert!(card.starts_with("---\nlanguage:\n- en\nlicense: apache-2.0\n"), "{card}");
    assert!(card.contains("SYNTHETIC DATA"), "{card}");
    // A cell that is older than cards gets one when it is exported.
    fs::remove_file(here.join("cell/model/README.md")).unwrap();
    run_and_print(here, &["export", "--run", "cell", "--out", "again"]);
    assert_eq!(fs::read_to_string(here.join("again/README.md")).unwrap(), card);
    let again = run_frostline(here, &["export", "--run", "cell", "--out", "model"]);
    assert_eq!(again.status.code(), Some(2));
}

/// Outputs without names are refused with their cause, and an adapter alone with its own.
pub fn check_refused_models(here: &Path, dev: &str) {
    let config = fs::read_to_string(here.join("model/config.json")).unwrap();
    let mut unnamed: Value = serde_json::from_str(&config).unwrap();
    unnamed.as_object_mut().unwrap().remove("id2label");
    let refused = || {
        let output = run_frostline(here, &["tag", "--run", "again", "--input", dev]);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    fs::write(here.join("again/config.json"), unnamed.to_string()).unwrap();
    assert!(refused().contains("no `id2label`, so the classifier's labels have no names"));
    fs::write(here.join("again/config.json"), "version https://git-lfs.github.com/spec/v1\noid sha256:1\n")
        .unwrap();
    assert!(refused().contains("a pointer of Git LFS"));
    fs::write(here.join("again/config.json"), &config).unwrap();
    fs::remove_file(here.join("again/model.safetensors")).unwrap();
    fs::write(here.join("again/adapter_config.json"), "{}").unwrap();
    assert!(refused().contains("it has a PEFT adapter alone"));
}

/// The tags that the model gives to the words of dev, by way of `align` and `logits`, are the predictions of the cell.
pub fn check_logits(here: &Path, dev: &str) {
    let config: Value = serde_json::from_slice(&fs::read(here.join("model/config.json")).unwrap()).unwrap();
    write_words(dev, &here.join("dev.txt"));
    let aligned = json_lines(here, &["align", "--tokenizer", "model", "--lowercase", dev]);
    let arguments = ["logits", "--model", "model", "--input", "dev.txt", "--lowercase"];
    let logits = json_lines(here, &arguments);
    assert_eq!(aligned.len(), logits.len());
    let mut given = Vec::new();
    for (aligned, line) in aligned.iter().zip(&logits) {
        assert_eq!(aligned["ids"], line["ids"]);
        let labels: Vec<i64> = serde_json::from_value(aligned["labels"].clone()).unwrap();
        for (row, _) in number_rows(&line["logits"]).iter().zip(labels).filter(|(_, label)| *label != -100) {
            let best = (0..row.len()).rev().max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
            given.push(config["id2label"][best.to_string()].as_str().unwrap().to_string());
        }
    }
    let lines = fs::read_to_string(here.join("cell/dev.tsv")).unwrap();
    let recorded: Vec<&str> = lines.lines().skip(1).filter_map(|line| line.split('\t').nth(4)).collect();
    assert!(recorded.len() > 100);
    assert_eq!(given, recorded);
}

/// Writes a treebank's sentences as lines of words.
fn write_words(treebank: &str, to: &Path) {
    let text = fs::read_to_string(treebank).unwrap();
    let mut input = String::new();
    for sentence in frostline_conllu::parse(&text) {
        let sentence = sentence.unwrap();
        let words: Vec<&str> = sentence.words().map(|word| word.form()).collect();
        assert!(words.iter().all(|word| !word.contains(' ')));
        input += &(words.join(" ") + "\n");
    }
    fs::write(to, input).unwrap();
}

/// The record's facts are the same as in `data`, and agree with each word's last column.
pub fn check_facts(here: &Path) {
    let lines = fs::read_to_string(here.join("cell/dev.tsv")).unwrap();
    let record: Value = serde_json::from_slice(&fs::read(here.join("cell/record.json")).unwrap()).unwrap();
    let facts = &record["result"]["tasks"]["upos"];
    let answer = worker_answers(&[Request::Data(vec![demo_cell(true), demo_cell(false)])]).remove(0);
    let Event::Answer(Answer::Facts(shown)) = answer else { panic!("{answer:?}") };
    assert_eq!(shown.len(), 1, "both learn from the same");
    assert_eq!(serde_json::to_value(&shown[0].tasks["upos"]).unwrap(), *facts);
    assert_eq!(facts["train"]["sentences"], 64);
    let of_kind = |kind: &str| lines.lines().filter(|line| line.split('\t').nth(5) == Some(kind)).count();
    assert!(lines.starts_with("sent_id\tid\tform\tgold\tpredicted\ttrain\tsentence\n"), "{lines}");
    assert_eq!(facts["dev"]["forms"]["unknown_words"], of_kind("unknown"));
    assert_eq!(facts["dev"]["forms"]["ambiguous_words"], of_kind("ambiguous"));
    assert!(of_kind("unknown") > 0 && of_kind("ambiguous") > 0);
}

/// Returns the errors of exports without `save.model`, and with weights that do not open: each says what to do.
pub fn refused_exports(here: &Path) -> String {
    run_cell(demo_cell(false), &here.join("unsaved"));
    fs::write(here.join("cell/model/model.safetensors"), "nonsense").unwrap();
    let mut shown = String::new();
    for cell in ["unsaved", "cell"] {
        let output = run_frostline(here, &["export", "--run", cell, "--out", "other"]);
        assert_eq!(output.status.code(), Some(3));
        shown += &String::from_utf8(output.stderr).unwrap();
    }
    assert!(!here.join("other").exists());
    shown
}
