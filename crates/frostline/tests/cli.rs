//! The commands from the shell: help, errors with their exit codes, and their output compared with
//! their input. Cases with treebanks need FROSTLINE_SHARED.

mod common;
#[path = "cli/exported.rs"]
mod exported;
#[path = "cli/foreign.rs"]
mod foreign;
#[path = "cli/onnx.rs"]
mod onnx;
#[path = "cli/params.rs"]
mod params;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use frostline_assets::{Places, Sources, sha256};
use frostline_cell::version::code;
use frostline_record::{Answer, Cell, Event, ForecastJob, Input, Request, Settings, Switch};
use serde_json::Value;
use tempfile::TempDir;

fn run_frostline(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command.args(arguments).current_dir(folder).env_remove("COLUMNS").env_remove("RUST_LOG");
    command.env("FROSTLINE_CACHE", folder.join("cache")).env_remove("HF_HOME").env_remove("HF_HUB_CACHE");
    command.output().expect("the binary starts")
}

/// What a command that must succeed prints.
fn run_and_print(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = run_frostline(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    output.stdout
}

/// A file of the repository.
fn repository_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The oracle's six splits: name and path.
fn oracle_splits(shared: &Path) -> impl Iterator<Item = (String, String)> {
    let banks = [("en_ewt-ud", "UD_English-EWT"), ("pcm_nsc-ud", "UD_Naija-NSC")];
    let name = |(stem, bank): (&str, &str), split: &str| {
        let name = format!("{stem}-{split}");
        let path = shared.join(format!("data/ud/{bank}/{name}.conllu"));
        (name, path.to_str().expect("a Unicode path").to_string())
    };
    banks.into_iter().flat_map(move |bank| ["train", "dev", "test"].map(|split| name(bank, split)))
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

const GOOD: &str = "# sent_id = s1\n# text = The ice melts\n1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n\
    2\tice\tice\tNOUN\t_\tNumber=Sing\t3\tnsubj\t_\t_\n3\tmelts\tmelt\tVERB\t_\t_\t0\troot\t_\t_\n\n\
    # sent_id = s2\n# text = Don't\n0.1\tyou\t_\tPRON\t_\t_\t_\t_\t0:root\t_\n\
    1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_\n\
    1\tDo\tdo\tAUX\t_\t_\t0\troot\t_\t_\n2\tn't\tnot\tPART\t_\t_\t1\tadvmod\t_\t_\n\n";

/// A folder with small inputs, good and bad, and the demo's encoder.
fn make_workplace() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("good.conllu", GOOD);
    write("tagged.conllu", &GOOD.replace("NOUN", "VERB"));
    write("order.conllu", &GOOD.replace("\n3\tmelts", "\n4\tmelts").replace("\t2\tdet\t_\t_", "\t2\tdet\t_"));
    write("typed.conllu", &GOOD.replace("NOUN", "NOUNS").replace("\tice\tice\t", "\tice\u{301}\tice\t"));
    write("other.conllu", &GOOD.replace("ice", "snow"));
    write("none.conllu", "");
    write("words.txt", "the frog sees a stone\n\nthe frog\n");
    copy_folder(
        &repository_file("crates/frostline-assets/demo/demo-distilbert"),
        &folder.path().join("demo"),
    );
    fs::create_dir(folder.path().join("empty")).unwrap();
    folder
}

#[test]
fn an_unknown_instruction_set_is_an_error() {
    let version = |isa: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
        command.args(["version", "--json"]).env("FROSTLINE_ISA", isa).output().expect("the binary starts")
    };
    let output = version("avx3");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("FROSTLINE_ISA is `avx3`") && said.contains("`portable`"), "{said}");
    let about: Value = serde_json::from_slice(&version("portable").stdout).expect("JSON");
    assert_eq!(about["isa"].as_str().map(|isa| isa.trim_end_matches("+bf16")), Some("portable"));
}

#[test]
fn every_command_explains_itself() {
    let folder = make_workplace();
    let commands = [
        "",
        "plan",
        "begin",
        "status",
        "cancel",
        "worker",
        "check",
        "audit",
        "export",
        "push",
        "params",
        "pretrain",
        "tag",
        "logits",
        "align",
        "score",
        "conllu",
        "conllu check",
        "conllu roundtrip",
        "conllu stats",
        "bench",
        "bench step",
        "bench gemm",
        "bench read",
        "bench tag",
        "version",
    ];
    for command in commands {
        let mut arguments: Vec<&str> = command.split_whitespace().collect();
        arguments.push("--help");
        let help = String::from_utf8(run_and_print(folder.path(), &arguments)).unwrap();
        insta::assert_snapshot!(format!("help {command}").trim().replace(' ', "_"), help);
    }
}

#[test]
fn errors_name_the_file_and_the_next_step() {
    let folder = make_workplace();
    let cases = [
        (1, "conllu check good.conllu order.conllu"),
        (1, "conllu check --typed --nfc typed.conllu"),
        (0, "conllu check typed.conllu"),
        (2, "conllu check"),
        (3, "conllu check nowhere.conllu"),
        (3, "conllu stats --json empty"),
        (1, "conllu roundtrip order.conllu"),
        (3, "align --tokenizer empty good.conllu"),
        (2, "align --tokenizer demo --max-length 2 good.conllu"),
        (1, "align --tokenizer demo typed.conllu"),
        (1, "align --tokenizer demo order.conllu"),
        (1, "score good.conllu other.conllu"),
        (1, "score good.conllu order.conllu"),
        (3, "score good.conllu nowhere.conllu"),
        (2, "score good.conllu"),
        (1, "score none.conllu none.conllu"),
        (2, "logits --model demo --input words.txt"),
        (2, "logits --model demo --input words.txt --hidden --max-length 129"),
        (3, "logits --model empty --input words.txt"),
        (3, "export --run empty --out new"),
        (2, "params --encoder embedded:demo-distilbert --policy first-2,first-9"),
        (2, "params --encoder embedded:demo-distilbert --batch 0"),
        (2, "params --encoder embedded:demo-distilbert --policy none+head.ner"),
        (2, "params --encoder embedded:demo-distilbert --policy none+head.ner --task upos=17"),
        (2, "params --encoder embedded:demo-distilbert --task upos=17 --task upos=3"),
        (2, "params --encoder embedded:demo-distilbert --task upos=many"),
        (2, "pretrain --folder demo --text words.txt"),
        (2, "pretrain --folder demo --text words.txt --force --epochs 0"),
        (2, "bench step --encoder embedded:demo-distilbert --treebank embedded:en --steps 0"),
        (2, "bench step --encoder embedded:demo-distilbert --treebank embedded:en --batch 0"),
        (2, "bench step --encoder embedded:demo-distilbert --treebank embedded:en --length 0"),
        (2, "bench step --encoder embedded:demo-distilbert --treebank embedded:en --length 129"),
        (2, "bench step --encoder embedded:demo-distilbert --treebank embedded:en --policy head-only+heads"),
        (
            2,
            "bench step --encoder embedded:demo-distilbert --treebank embedded:en --profile --backend ndarray",
        ),
    ];
    let mut shown = String::new();
    for (code, line) in cases {
        let output = run_frostline(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(code), "{line}");
        shown += &format!("$ frostline {line}\n[{code}]\n");
        shown += &String::from_utf8(output.stdout).unwrap();
        shown += &String::from_utf8(output.stderr).unwrap();
        shown += "\n";
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn weights_are_replaced_only_by_force_and_whole() {
    let folder = make_workplace();
    let text = "the frog sees a stone\n".repeat(64);
    fs::write(folder.path().join("frogs.txt"), text).unwrap();
    let weights = folder.path().join("demo/model.safetensors");
    let before = fs::read(&weights).unwrap();
    let arguments = ["pretrain", "--folder", "demo", "--text", "frogs.txt", "--epochs", "1"];
    assert_eq!(run_frostline(folder.path(), &arguments).status.code(), Some(2));
    assert!(fs::read(&weights).unwrap() == before);
    run_and_print(folder.path(), &[&arguments[..], &["--force"]].concat());
    let after = fs::read(&weights).unwrap();
    assert!(after != before && !after.is_empty());
    let other: Vec<_> = folder.path().join("demo").read_dir().unwrap().map(|it| it.unwrap().path()).collect();
    assert!(!other.iter().any(|path| path.extension().is_some_and(|it| it == "part")), "{other:?}");
    // A folder without weights needs no `--force`.
    fs::remove_file(&weights).unwrap();
    run_and_print(folder.path(), &arguments);
    assert!(weights.exists());
}

#[test]
fn counts_are_one_json_object() {
    let folder = make_workplace();
    let out = run_and_print(folder.path(), &["conllu", "stats", "--json", "good.conllu", "order.conllu"]);
    let found: Value = serde_json::from_slice(&out).unwrap();
    let file = |name, faults| {
        let [sentences, words, ranges, empty] = [2, 5, 1, 1];
        serde_json::json!({"file": name, "sentences": sentences, "words": words, "ranges": ranges,
            "empty_nodes": empty, "faults": faults})
    };
    let expected = serde_json::json!({"sentences": 4, "words": 10, "ranges": 2, "empty_nodes": 2, "faults": 2,
        "files": [file("good.conllu", 0), file("order.conllu", 2)]});
    assert_eq!(found, expected);
}

#[test]
fn params_count_what_learns_and_predict_what_it_saves() {
    let folder = make_workplace();
    let params = ["params", "--encoder", "embedded:demo-distilbert", "--labels", "15"];
    let run = |more: &[&str]| {
        String::from_utf8(run_and_print(folder.path(), &[&params[..], more].concat())).expect("text")
    };
    let policies = ["--policy", "none,all,first-4,last-4,first-4+embeddings,head-only"];
    let large = ["--batch", "32", "--subwords", "60"];
    let mut shown = String::new();
    for more in [&["--policy", "first-4"][..], &policies, &[&policies[..], &large].concat()] {
        shown += &format!("$ frostline {} {}\n{}\n", params.join(" "), more.join(" "), run(more));
    }
    insta::assert_snapshot!(shown);

    let one: Value = serde_json::from_str(&run(&["--json", "--policy", "first-4"])).expect("JSON");
    let all: Value = serde_json::from_str(&run(&[&["--json"], &policies[..]].concat())).expect("JSON");
    let cached = run(&[&["--json", "--cached-prefix"], &policies[..]].concat());
    let cached: Value = serde_json::from_str(&cached).expect("JSON");
    assert_eq!(one, all[2]);
    let speedup = |row: &Value| row["cost"]["predicted_speedup"].as_f64().expect("a speed-up");
    assert_eq!(speedup(&all[0]), 1.0);
    for (row, constant) in [false, false, false, false, true, true].into_iter().enumerate() {
        let (found, without) = (speedup(&cached[row]), speedup(&all[row]));
        assert!(if constant { found > without } else { found == without }, "{}", cached[row]);
    }
}

/// The parts of a step are all of it, and their products match the cost model; the first of four does not count.
#[test]
fn a_step_is_shown_in_parts() {
    let folder = make_workplace();
    let run = |more: &str| {
        let step =
            "bench step --encoder embedded:demo-distilbert --treebank embedded:en --backend flex --steps 4";
        let words: Vec<&str> = step.split_whitespace().chain(more.split_whitespace()).collect();
        String::from_utf8(run_and_print(folder.path(), &words)).expect("text")
    };
    let found: Value = serde_json::from_str(&run("--warmup 0 --length 20 --profile --json")).expect("JSON");
    let parts = found["profile"]["parts"].as_array().expect("parts");
    assert_eq!((&found["steps"], parts.len()), (&3.into(), 13), "{found}");
    let sum = |key: &str| parts.iter().filter_map(|part| part[key].as_f64()).sum::<f64>();
    assert!((sum("percent") - 100.0).abs() < 1e-6, "{found}");
    assert!((sum("step_ms") - found["profile"]["step_ms"].as_f64().expect("a time")).abs() < 1e-6, "{found}");
    let gflop = parts.iter().filter_map(|part| part["work"]["arithmetic"]["gflop"].as_f64()).sum::<f64>();
    let predicted = found["gflop_per_step"].as_f64().expect("GFLOP");
    assert!((gflop - predicted).abs() < 0.01 * predicted, "{gflop} GFLOP of {predicted}");

    let shown = run("--profile --precision bf16 --policy head-only");
    for part in ["products forward", "AdamW", "everything else", "step without timers", "GFLOP/s", "GB/s"] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    assert!(!shown.contains("gradients of inputs"), "{shown}");
}

#[test]
fn what_is_read_comes_out_again() {
    let folder = make_workplace();
    assert_eq!(run_and_print(folder.path(), &["conllu", "roundtrip", "good.conllu"]), GOOD.as_bytes());
    let mut files = 0;
    for entry in repository_file("crates/frostline-conllu/tests/bad").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let out = run_and_print(folder.path(), &["conllu", "roundtrip", "--lenient", path.to_str().unwrap()]);
        assert_eq!(out, fs::read(&path).unwrap(), "{}", path.display());
        files += 1;
    }
    assert!(files > 0, "no bad files found");
}

#[cfg(target_os = "linux")]
#[test]
fn faults_that_cannot_be_printed_are_an_error() {
    let folder = make_workplace();
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command.current_dir(folder.path()).args(["conllu", "check", "order.conllu"]).stdout(full());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.starts_with("error: standard output cannot be written, check where it goes: "), "{said}");
    assert_eq!(command.stderr(full()).output().unwrap().status.code(), Some(3));

    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command.current_dir(folder.path()).args(["conllu", "roundtrip", "--lenient", "order.conllu"]);
    assert_eq!(command.stderr(full()).output().unwrap().status.code(), Some(3));
}

#[test]
fn treebanks_come_out_as_they_went_in() {
    let Some(shared) = frostline_testing::shared() else { return };
    for (name, path) in oracle_splits(&shared) {
        let text = fs::read(&path).unwrap();
        for arguments in [&["conllu", "roundtrip", &path][..], &["conllu", "roundtrip", "--lenient", &path]] {
            assert!(run_and_print(&shared, arguments) == text, "{name}: other bytes");
        }
        let check = ["conllu", "check", "--typed", "--metadata", "--nfc", &path];
        assert!(run_and_print(&shared, &check).is_empty(), "{name}");
    }
}

#[test]
fn alignments_have_the_digests_of_hugging_face() {
    let Some(shared) = frostline_testing::shared() else { return };
    let oracle = fs::read(shared.join("reference/align/oracle.json")).unwrap();
    let oracle: Value = serde_json::from_slice(&oracle).unwrap();
    let tokenizer = "models/distilbert-base-multilingual-cased";
    for (name, path) in oracle_splits(&shared) {
        let arguments = ["align", "--tokenizer", tokenizer, "--max-length", "128", "--lowercase", &path];
        let digest = sha256(&run_and_print(&shared, &arguments));
        assert_eq!(oracle["splits"][&name]["sha256"], digest, "{name}");
    }
}

#[test]
fn scores_count_what_differs() {
    let folder = make_workplace();
    let arguments = ["score", "good.conllu", "tagged.conllu", "--json", "--train", "tagged.conllu"];
    let arguments = [&arguments[..], &["--versus", "good.conllu", "--resamples", "100"]].concat();
    let found: Value = serde_json::from_slice(&run_and_print(folder.path(), &arguments)).unwrap();
    assert_eq!(found["accuracy"]["words"], 5);
    assert_eq!(found["accuracy"]["correct"], 4);
    assert_eq!(found["conll18"]["UPOS"]["f1"], 0.8);
    assert_eq!(found["conll18"]["Tokens"]["gold"], 4);
    assert_eq!(found["by_familiarity"]["known"]["words"], 5);
    assert_eq!(found["comparison"]["mcnemar"]["only_b"], 1);
    let text =
        String::from_utf8(run_and_print(folder.path(), &["score", "good.conllu", "tagged.conllu"])).unwrap();
    assert!(text.starts_with("UPOS accuracy over all 5 words: 80.00 %"), "{text}");
    assert!(text.contains("NOUN tagged as VERB: 1"), "{text}");
}

/// The JSON lines that a command prints.
fn json_lines(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let out = String::from_utf8(run_and_print(folder, arguments)).unwrap();
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn number_rows(value: &Value) -> Vec<Vec<f64>> {
    serde_json::from_value(value.clone()).expect("rows of numbers")
}

#[test]
fn hidden_states_are_of_every_position_and_of_the_sentence_alone() {
    let folder = make_workplace();
    let hidden =
        |file| json_lines(folder.path(), &["logits", "--model", "demo", "--input", file, "--hidden"]);
    let all = hidden("words.txt");
    assert_eq!(all.len(), 3);
    // An empty line is a sentence of special tokens only.
    assert_eq!(all[1]["ids"].as_array().unwrap().len(), 2);
    for line in &all {
        let states = number_rows(&line["hidden"]);
        assert_eq!(states.len(), line["ids"].as_array().unwrap().len());
        assert!(states.iter().all(|row| row.len() == 64));
        assert!(line.get("logits").is_none());
    }
    fs::write(folder.path().join("one.txt"), "the frog\n").unwrap();
    let alone = hidden("one.txt");
    assert_eq!(alone[0]["ids"], all[2]["ids"]);
    for (a, b) in
        number_rows(&alone[0]["hidden"]).iter().flatten().zip(number_rows(&all[2]["hidden"]).iter().flatten())
    {
        assert!((a - b).abs() < 1e-5, "{a} alone, {b} beside others");
    }
}

/// A cell of the demo that saves its model.
fn demo_cell(save: bool) -> Cell {
    let places = Places::default();
    let (treebank, encoder) =
        (places.treebank("embedded:en").unwrap(), places.encoder("embedded:demo-distilbert", true).unwrap());
    let mut settings = Settings { policy: "first-4".parse().unwrap(), ..Settings::default() };
    settings.encoder.name = "embedded:demo-distilbert".into();
    (settings.train.epochs, settings.data.first, settings.save.model) = (1, 64, save);
    (settings.optimizer.lr, settings.dropout.encoder) = (5e-3, Switch::Off);
    let input = |sources: Sources| {
        sources.into_iter().map(|(role, source)| {
            (role, Input { path: source.path, sha256: source.sha256, bytes: source.bytes })
        })
    };
    let inputs = input(treebank.sources).chain(input(encoder.sources)).collect();
    Cell::new(settings, inputs, "flex", code())
}

/// What a worker answers to requests, one after the other.
fn worker_answers(requests: &[Request]) -> Vec<Event> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_frostline"))
        .arg("worker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for request in requests {
        writeln!(input, "{}", serde_json::to_string(request).unwrap()).unwrap();
    }
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap).skip(1);
    let events = lines.take(requests.len()).map(|line| serde_json::from_str(&line).unwrap()).collect();
    // A worker ends when its input is closed.
    drop(input);
    assert!(child.wait().unwrap().success());
    events
}

/// One worker answers all questions of a sweep, and a request that it refuses is not its end.
#[test]
fn a_worker_answers_one_request_after_the_other() {
    let cells = vec![demo_cell(false)];
    let mut missing = demo_cell(false);
    missing.inputs.remove("config");
    let requests = [
        Request::Version,
        Request::Check(vec![missing]),
        Request::Check(cells.clone()),
        Request::Data(cells.clone()),
        Request::Forecast(ForecastJob { cells, threads: 2, calibrate: false, prefix_cache: true }),
    ];
    let found = worker_answers(&requests);
    let Event::Answer(Answer::Version(about)) = &found[0] else { panic!("{found:?}") };
    assert_eq!((about.code.as_str(), about.backend.as_str()), (code(), "flex"));
    let Event::Refused { error } = &found[1] else { panic!("{found:?}") };
    assert_eq!(error, "the cell names no input `config`");
    let (Event::Answer(Answer::Facts(checked)), Event::Answer(Answer::Facts(described))) =
        (&found[2], &found[3])
    else {
        panic!("{found:?}")
    };
    assert_eq!(checked, described);
    assert!(matches!(&found[4], Event::Answer(Answer::Forecasts(all)) if all.len() == 1), "{found:?}");
}

#[test]
fn a_forecast_says_what_a_step_keeps_in_more_parts() {
    let in_parts_of = |accumulate| {
        let mut cell = demo_cell(false);
        (cell.settings.train.batch, cell.settings.train.accumulate) = (8, accumulate);
        cell
    };
    let cells = vec![in_parts_of(1), in_parts_of(4), in_parts_of(8)];
    let job = ForecastJob { cells, threads: 1, calibrate: false, prefix_cache: true };
    let answer = worker_answers(&[Request::Forecast(job)]).remove(0);
    let Event::Answer(Answer::Forecasts(forecasts)) = answer else { panic!("{answer:?}") };
    let bytes = |at: usize| forecasts[at].bytes;
    // 16 parts of 8 sentences are none.
    let parts: Vec<u64> = forecasts[0].in_parts.iter().map(|parts| parts.accumulate).collect();
    assert_eq!(parts, [2, 4, 8]);
    assert_eq!([bytes(1), bytes(2)], [forecasts[0].in_parts[1].bytes, forecasts[0].in_parts[2].bytes]);
    assert_eq!(forecasts[1].in_parts, forecasts[0].in_parts[2..]);
    assert_eq!(forecasts[2].in_parts, []);
    // Half of the activations go, and no parameter, gradient or moment.
    assert!(bytes(0) > forecasts[0].in_parts[0].bytes && 2 * forecasts[0].in_parts[0].bytes > bytes(0));
}

/// Runs a cell in a folder to its end.
fn run_cell(cell: Cell, folder: &Path) {
    let last = common::last_word(cell, folder);
    assert!(last.contains("\"done\""), "{last}");
}

#[test]
fn an_exported_model_gives_the_predictions_of_its_cell() {
    let folder = make_workplace();
    let here = folder.path();
    run_cell(demo_cell(true), &here.join("cell"));
    exported::check_exported_files(here);
    let dev = repository_file("crates/frostline-assets/demo/en/dev.conllu");
    exported::check_refused_models(here, dev.to_str().unwrap());
    exported::check_logits(here, dev.to_str().unwrap());
    exported::check_facts(here);
    let shown = exported::refused_exports(here);
    insta::assert_snapshot!(shown);
}
