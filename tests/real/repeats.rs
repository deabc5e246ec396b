//! Same plan, same bits; frozen parameters in the saved files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use frostline_assets::read;
use frostline_cell::audit::{Audit, Auditor};
use frostline_record::{Record, SCHEMA, Sweep};

use crate::{RUNNER, SweepPlace, output_text, repeatable_part};

const SMALL: &str = "--lang en --set train.epochs=2 --set data.first=150 --set adaptive.every=4";

/// One cell of one epoch, or one for each of the policies that follow.
const TINY: &str =
    "--lang en --seeds 42 --set train.epochs=1 --set data.first=40 --set save.model=true --policies";

/// Two stages that thaw one block in all, and a second head that stays frozen.
const TWO_HEADS: &str = r#"
schema = 4
name = "audited"
synthetic = true
[treebanks]
en = "embedded:en"
names = "embedded:names"
[settings]
policy = "none+head.names"
[settings.encoder]
name = "embedded:demo-distilbert"
[settings.data]
first = 120
[settings.tasks.upos]
labels = "upos"
[settings.tasks.names]
data = "names"
labels = "entity"
[settings.eval]
task = "upos"
[settings.train]
batch = 8
[settings.optimizer]
lr = 1e-3
[settings.unfreeze]
every = 1
[settings.save]
model = true
[[settings.stages]]
name = "head and a block"
train.epochs = 2
[[settings.stages]]
name = "head"
train.epochs = 1
"#;

#[test]
fn results_are_the_same_bits_with_one_thread_and_with_two() {
    let policies = "none,first-4,none+lora,first-4+adapters+mix,none+adaptive";
    let run = |more: &str| {
        let place = SweepPlace::new();
        let records = place.run_sweep(&format!("{SMALL} --policies {policies} {more}"));
        records.iter().map(repeatable_part).collect::<Vec<_>>()
    };
    let first = run("--seeds 42 --threads 1");
    assert_eq!(first.len(), 5);
    assert_eq!(first, run("--seeds 42 --threads 1"), "the same command");
    assert_eq!(first, run("--seeds 42 --threads 2"), "two threads");
    assert_eq!(first, run("--seeds 42 --threads 1 --jobs 2"), "two workers");
    let other = run("--seeds 43 --threads 1");
    assert!(first.iter().zip(&other).all(|(a, b)| a != b), "another seed is another run");
}

fn audit_folder(folder: &Path) -> Audit {
    Auditor::default().cell(folder).expect("an audit").1
}

fn put_record(folder: &Path, record: &str) {
    fs::create_dir_all(folder).expect("a folder");
    fs::write(folder.join("record.json"), record).expect("the record");
}

fn record_json(record: &Record) -> String {
    serde_json::to_string(record).expect("plain data")
}

#[test]
fn saved_models_keep_every_frozen_bit_under_every_policy() {
    let policies = "none,all,first-2,last-2,alternating,blocks-0.3.5,head-only,first-4+embeddings,\
                    first-4+lora,first-4+bitfit,none+norms,none+lora+norms,none+adaptive";
    let place = SweepPlace::new();
    let records = place.run_sweep(&format!("{SMALL} --seeds 42 --policies {policies} --set save.model=true"));
    assert_eq!(records.len(), 13);
    for record in &records {
        let folder = Sweep::cell_folder(&place.out_folder(), &record.cell);
        let found = audit_folder(&folder);
        assert!(found.holds(), "{}: {found:?}", record.cell.title());
        let freezing = &record.result.as_ref().expect("a result").last().freezing;
        let settled = &record.result.as_ref().expect("a result").last().settled;
        assert_eq!(
            settled.is_empty(),
            !record.cell.settings.policy.as_str().contains("adaptive"),
            "{settled:?}"
        );
        // LoRA is merged into the layers that it was added to.
        if !record.cell.settings.policy.as_str().contains("lora") {
            assert_eq!((freezing.frozen, freezing.moved), (found.frozen as u64, found.moved as u64));
        }
        // A defect must be seen: the record of another policy does not fit this file.
        let mut other = record.clone();
        // Parts that were frozen during training had moved before, so adaptive runs look like `none`.
        let moves_all = ["none", "none+adaptive"].contains(&record.cell.settings.policy.as_str());
        other.cell.settings.policy = if moves_all { "all" } else { "none" }.parse().expect("a policy");
        put_record(&folder, &record_json(&other));
        let found = audit_folder(&folder);
        assert!(!found.holds(), "{}: the audit must see the wrong policy", record.cell.title());
    }
}

/// The demo's encoder has 102 tensors with its head: 4 in the embeddings, 16 in each of 6 blocks, 2 above.
#[test]
fn an_audit_uses_what_was_frozen_at_the_selected_step() {
    // Steps this small change no prediction: all epochs are equal, and the first is selected.
    let first = "--set train.select=best --set train.select_by=accuracy --set optimizer.lr=1e-9";
    let cases = [
        ("--set train.epochs=3 --set unfreeze.every=1".to_string(), (68, 34)),
        ("--set train.epochs=0".to_string(), (102, 0)),
        (format!("--set train.epochs=3 --set unfreeze.every=1 {first}"), (100, 2)),
    ];
    for (words, counts) in cases {
        let place = SweepPlace::new();
        let one = "--lang en --seeds 42 --policies none --set data.first=150 --set save.model=true";
        let records = place.run_sweep(&format!("{one} {words}"));
        let found = audit_folder(&Sweep::cell_folder(&place.out_folder(), &records[0].cell));
        assert!(found.holds(), "{words}: {found:?}");
        assert_eq!((found.frozen, found.moved), counts, "{words}");
        let freezing = &records[0].result.as_ref().expect("a result").last().freezing;
        assert_eq!((freezing.frozen, freezing.moved), (found.frozen as u64, found.moved as u64), "{words}");
    }
}

/// With one tag every gradient is 0. Weights decay; parameters without decay stay unchanged.
#[test]
fn an_audit_tells_idle_tensors_from_violations() {
    let place = SweepPlace::new();
    let records = place.run_sweep(
        "--lang en --seeds 42 --policies none --set data.first=1 --set train.epochs=1 --set schedule.warmup=0.5 --set save.model=true",
    );
    let result = records[0].result.as_ref().expect("a result");
    let idle = result.last().freezing.unmoved.len();
    let found = audit_folder(&Sweep::cell_folder(&place.out_folder(), &records[0].cell));
    assert!(idle > 0 && found.holds(), "{idle}: {found:?}");
    assert_eq!((found.idle, found.moved), (idle, 102 - idle));
}

#[test]
fn an_audit_reads_every_stage_and_every_head() {
    let place = SweepPlace::new();
    let plan = place.path_inside("plan.toml");
    fs::write(&plan, TWO_HEADS).expect("the plan");
    let records = place.run_sweep(&format!("--plan {} --threads 1", plan.display()));
    let folder = Sweep::cell_folder(&place.out_folder(), &records[0].cell);
    let found = audit_folder(&folder);
    assert!(found.holds(), "{found:?}");
    // Block 5 and the tagger's head moved; the rest and the head for names stayed.
    assert_eq!((found.frozen, found.moved), (86, 18));

    let mut other = records[0].clone();
    other.cell.settings.policy = "none".parse().expect("a policy");
    put_record(&folder, &record_json(&other));
    let same = ["weight", "bias"].map(|part| format!("model-names/heads.0.classifier.{part}"));
    assert_eq!(audit_folder(&folder).unmoved, same);
    // A task that is only scored gets no gradient.
    other.cell.settings.tasks.get_mut("names").expect("the task").weight = 0.0;
    put_record(&folder, &record_json(&other));
    assert!(audit_folder(&folder).holds());

    fs::remove_dir_all(folder.join("model-names")).expect("the other model");
    let error = Auditor::default().cell(&folder).expect_err("half of what was saved");
    assert!(
        format!("{error:#}").contains("model-names/config.json is missing, although the cell saved it"),
        "{error:#}"
    );
}

#[test]
fn an_audit_names_weights_that_have_changed() {
    let place = SweepPlace::new();
    let models = place.path_inside("models");
    fs::create_dir_all(models.join("tiny")).expect("a folder");
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let bytes = read(&format!("embedded:demo-distilbert/{file}")).expect("the file");
        fs::write(models.join("tiny").join(file), bytes).expect("the file");
    }
    let words = format!("{TINY} head-only --models {} --encoder tiny", models.display());
    let records = place.run_sweep(&words);
    let folder = Sweep::cell_folder(&place.out_folder(), &records[0].cell);
    assert!(audit_folder(&folder).holds());
    let weights = models.join("tiny/model.safetensors");
    let mut bytes = fs::read(&weights).expect("the weights");
    *bytes.last_mut().expect("a number") ^= 1;
    fs::write(&weights, bytes).expect("the weights");
    let error = format!("{:#}", Auditor::default().cell(&folder).expect_err("other weights"));
    assert!(error.starts_with(&folder.display().to_string()), "{error}");
    assert!(error.contains("model.safetensors has changed since the sweep began"), "{error}");
}

#[test]
fn a_cell_that_cannot_be_audited_does_not_stop_the_audit() {
    let place = SweepPlace::new();
    let records = place.run_sweep(&format!("{TINY} head-only,all"));
    let cell = |number: usize| Sweep::cell_folder(&place.out_folder(), &records[number].cell);
    let (good, bad) = (cell(0), cell(1));
    let [failed, old, unsaved, nowhere] =
        ["failed", "old", "unsaved", "nowhere"].map(|name| place.path_inside(name));
    let error = Some("out of memory".to_string());
    put_record(&failed, &record_json(&Record { result: None, timing: None, error, ..records[0].clone() }));
    let record = record_json(&records[0]);
    put_record(&old, &record.replacen(&format!("\"schema\":{SCHEMA}"), "\"schema\":1", 1));
    put_record(&unsaved, &record);
    let mut other = records[1].clone();
    other.cell.settings.policy = "none".parse().expect("a policy");
    put_record(&bad, &record_json(&other));

    let audit = |folders: &[&PathBuf]| {
        let output = Command::new(RUNNER).arg("audit").args(folders).output().expect("the runner starts");
        (output.status.code(), output_text(&output))
    };
    let (code, said) = audit(&[&failed, &old, &unsaved, &nowhere, &good]);
    assert_eq!(code, Some(3), "{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("not audited: ")).count(), 4, "{said}");
    for part in [
        "the cell failed (out of memory); fix that and run the sweep again",
        "a record of schema 1, but",
        "model/config.json is missing, although the cell saved it; remove the cell's record.json",
        "it holds no record.json; give the folder",
        ": holds\n",
        "4 of 5 cells could not be audited",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let (code, said) = audit(&[&failed, &bad, &good]);
    assert_eq!(code, Some(1), "{said}");
    let sum = "1 of 3 cells violate their policy, 1 could not be audited";
    for part in [": VIOLATED\n", "trainable, but the same: encoder.blocks.0", ": holds\n", sum] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn each_stage_but_the_last_leaves_a_model_if_asked() {
    let place = SweepPlace::new();
    let words = "--plan demo-sst2 --seeds 42 --set data.first=16 --set stages.head.train.epochs=1 \
                 --set stages.full.train.epochs=1 --set save.stages=true --set save.model=true";
    let record = place.run_sweep(words).remove(0);
    let cells = std::fs::read_dir(place.out_folder().join("cells")).expect("cells");
    let cell = cells.map(|entry| entry.expect("an entry").path()).find(|path| path.is_dir()).expect("a cell");
    let outcome = record.result.expect("a result");
    outcome.files.check(&cell, Some("stage-head")).expect("listed in the record");
    let weights = |folder: &str| std::fs::read(cell.join(folder).join("model.safetensors")).expect(folder);
    assert_ne!(weights("stage-head"), weights("model"), "the second stage trains what the first left alone");
    assert!(cell.join("stage-head/tokenizer.json").is_file(), "a model folder that can be opened");
    let refused = place.sweep_command("--lang en --set save.stages=true").output().expect("it runs");
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(error.contains("has no `[[settings.stages]]`"), "{error}");
}
