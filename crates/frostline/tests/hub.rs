//! `fetch` and `push` from the shell, against a server on this machine that speaks the API of the Hugging Face hub.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use frostline_testing::hub::{self, Fault, HubServer, TOKEN};
use serde_json::{Value, json};
use tempfile::TempDir;

const ID: &str = "some/encoder";

/// Returns the command, which reads no cache, token or setting of the user's.
fn frostline(folder: &Path, server: &HubServer, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    for name in [
        "COLUMNS",
        "RUST_LOG",
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "HF_TOKEN_PATH",
        "HF_HUB_CACHE",
        "HF_HUB_OFFLINE",
        "TRANSFORMERS_OFFLINE",
        "FROSTLINE_OFFLINE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
    ] {
        command.env_remove(name);
    }
    command.env("FROSTLINE_CACHE", folder.join("cache")).env("HF_HOME", folder.join("hf"));
    command.env("HF_ENDPOINT", &server.address);
    command
}

/// Returns exit code and all output.
fn run(mut command: Command) -> (i32, String) {
    shown(&command.output().expect("the binary starts"))
}

fn shown(output: &Output) -> (i32, String) {
    let text =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    (output.status.code().unwrap_or(-1), text)
}

fn bert_config() -> Value {
    json!({
        "model_type": "bert", "vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 16, "max_position_embeddings": 32, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
        "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "pad_token_id": 0
    })
}

fn hub_with(config: &Value) -> (HubServer, Vec<u8>) {
    let weights: Vec<u8> = (0..500_000_u32).flat_map(u32::to_le_bytes).collect();
    let server = HubServer::start();
    let config = config.to_string();
    server.add(
        ID,
        &[
            ("config.json", config.as_bytes()),
            ("vocab.txt", b"[PAD]\n[UNK]\n"),
            ("model.safetensors", &weights),
        ],
    );
    (server, weights)
}

#[test]
fn an_encoder_of_a_known_family_goes_into_the_shared_cache() {
    let folder = TempDir::new().unwrap();
    let (server, weights) = hub_with(&bert_config());
    let (code, text) = run(frostline(folder.path(), &server, &["fetch", ID]));
    assert_eq!(code, 0, "{text}");
    let snapshot = folder.path().join(format!("hf/hub/models--some--encoder/snapshots/{}", hub::COMMIT));
    assert!(text.contains(&format!("{ID} {} fetched: hf/hub/", hub::COMMIT)), "{text}");
    assert_eq!(fs::read(snapshot.join("model.safetensors")).unwrap(), weights);
    let (code, text) =
        run(frostline(folder.path(), &server, &["params", "--encoder", ID, "--policy", "first-1"]));
    assert_eq!(code, 0, "found by its id: {text}");
    let mut offline = frostline(folder.path(), &server, &["fetch", ID]);
    offline.env("HF_HUB_OFFLINE", "1");
    let (code, text) = run(offline);
    assert!(code == 0 && text.contains("already there, checked"), "{text}");
    let mut offline = frostline(folder.path(), &server, &["fetch", "other/encoder"]);
    offline.env("HF_HUB_OFFLINE", "1");
    let (code, text) = run(offline);
    assert!(code == 3 && text.contains("with a connection, run `frostline fetch other/encoder`"), "{text}");
}

#[test]
fn an_unknown_family_is_refused_before_the_download() {
    let folder = TempDir::new().unwrap();
    let mut config = bert_config();
    config["model_type"] = "mpnet".into();
    config["relative_attention_num_buckets"] = 32.into();
    let (server, _) = hub_with(&config);
    let (code, text) = run(frostline(folder.path(), &server, &["fetch", ID]));
    assert_eq!(code, 2, "{text}");
    assert!(text.contains(&format!("{ID} was not downloaded: config.json: model_type is `mpnet`")), "{text}");
    assert!(
        text.contains("the nearest is `bert`") && text.contains("`relative_attention_num_buckets`"),
        "{text}"
    );
    assert!(!server.asked().iter().any(|asked| asked.contains("model.safetensors")), "{:?}", server.asked());
    assert!(!folder.path().join("hf/hub").exists());
}

/// Even the most talkative log does not contain the token.
#[test]
fn no_output_contains_the_token() {
    let folder = TempDir::new().unwrap();
    let (server, _) = hub_with(&bert_config());
    server.change(ID, |repository| repository.gated = true);
    let (code, text) = run(frostline(folder.path(), &server, &["fetch", ID]));
    assert!(code == 3 && text.contains("is gated") && text.contains("set HF_TOKEN"), "{text}");
    for (token, expected) in [("hf_of_no_account", 3), (TOKEN, 0)] {
        let mut command = frostline(folder.path(), &server, &["fetch", ID]);
        command.env("HF_TOKEN", token).env("RUST_LOG", "trace");
        let (code, text) = run(command);
        assert_eq!(code, expected, "{text}");
        assert!(!text.contains(token), "{text}");
        assert!(server.was_sent("hub", token) && !server.was_sent("storage", token));
    }
    let stored = folder.path().join("hf");
    for place in [stored.as_path(), &folder.path().join("cache")] {
        assert!(!contains_text(place, TOKEN), "{}", place.display());
    }
}

fn contains_text(folder: &Path, text: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| match entry.path().is_dir() {
        true => contains_text(&entry.path(), text),
        false => fs::read(entry.path()).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text)),
    })
}

#[cfg(unix)]
#[test]
fn after_ctrl_c_a_download_continues_with_the_right_bytes() {
    let folder = TempDir::new().unwrap();
    let (server, weights) = hub_with(&bert_config());
    let digest = hub::sha256(&weights);
    server.fail(&format!("/{digest}"), Fault::Stall(600_000));
    let mut command = frostline(folder.path(), &server, &["fetch", ID]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let part = folder.path().join(format!("hf/hub/models--some--encoder/blobs/{digest}.incomplete"));
    let begun = Instant::now();
    while fs::metadata(&part).map_or(0, |found| found.len()) < 600_000 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the download does not begin");
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
    let (code, text) = run(frostline(folder.path(), &server, &["fetch", ID]));
    assert_eq!(code, 0, "{text}");
    let snapshot = folder.path().join(format!("hf/hub/models--some--encoder/snapshots/{}", hub::COMMIT));
    assert_eq!(fs::read(snapshot.join("model.safetensors")).unwrap(), weights);
    let state = server.state();
    let range = state.requests.iter().rfind(|asked| asked.path.contains(&digest)).unwrap();
    assert_eq!(range.headers["range"], "bytes=600000-");
}

/// Trains a cell on the demo and returns its folder.
fn train_cell(folder: &Path, server: &HubServer) -> PathBuf {
    let settings = ["--set", "train.epochs=1", "--set", "data.first=40", "--set", "save.model=true"];
    let arguments = [
        &["sweep", "--lang", "en", "--policies", "first-4", "--seeds", "42", "--out", "study"][..],
        &settings,
    ];
    let (code, text) = run(frostline(folder, server, &arguments.concat()));
    assert_eq!(code, 0, "{text}");
    let cells = folder.join("study/cells");
    fs::read_dir(cells).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_cell_is_pushed_with_its_card_and_audit() {
    let folder = TempDir::new().unwrap();
    let server = HubServer::start();
    let cell = train_cell(folder.path(), &server);
    let cell = cell.to_str().unwrap();
    let push = |arguments: &[&str], token: &str| {
        let mut command =
            frostline(folder.path(), &server, &[&["push", cell, "me/tagger"][..], arguments].concat());
        command.env("HF_TOKEN", token);
        run(command)
    };
    let (code, text) = push(&["--dry-run"], "");
    assert!(code == 0 && text.contains("audit.json") && text.contains("nothing is uploaded"), "{text}");
    let (code, text) = push(&[], "");
    assert!(code == 3 && text.contains("needs a token to push"), "{text}");
    let (code, text) = push(&["--public"], TOKEN);
    assert!(code == 2 && text.contains("Nothing was uploaded: without a terminal"), "{text}");
    assert!(server.state().repositories.is_empty());

    let (code, text) = push(&[], TOKEN);
    assert!(code == 0 && text.contains("me/tagger (private): commit "), "{text}");
    assert!(!text.contains(TOKEN));
    let files = server.files("me/tagger", "main");
    for name in ["README.md", "audit.json", "config.json", "model.safetensors", "tokenizer.json"] {
        assert!(files.contains_key(name), "{name}: {:?}", files.keys());
    }
    assert_eq!(files["model.safetensors"], fs::read(format!("{cell}/model/model.safetensors")).unwrap());
    let card = String::from_utf8(files["README.md"].clone()).unwrap();
    assert!(card.contains("\nmodel-index:\n") && card.contains("95 % interval"), "{card}");
    let audit: Value = serde_json::from_slice(&files["audit.json"]).unwrap();
    assert_eq!((&audit["holds"], &audit["policies"]), (&json!(true), &json!(["first-4"])));
    let frozen = audit["frozen_bit_identical"].as_u64().unwrap();
    assert!(frozen > 0 && card.contains(&format!("{frozen} frozen tensors are bit-identical")), "{card}");

    let (code, text) = push(&[], TOKEN);
    assert!(code == 0 && text.contains("nothing changed"), "{text}");
    server.change("me/tagger", |repository| repository.private = false);
    let (code, text) = push(&["--yes"], TOKEN);
    assert!(code == 2 && text.contains("is public: everyone can read"), "--public is needed too: {text}");
    let (code, text) = push(&["--public", "--yes"], TOKEN);
    assert!(code == 0 && text.contains("(public)"), "{text}");
    check_card_in_python(&card);
    the_pushed_model_is_fetched_and_tags(folder.path(), &server);
    a_changed_frozen_tensor_is_not_pushed(cell, &push);
}

/// Fetches the pushed model by its id, and tags a sentence with it.
fn the_pushed_model_is_fetched_and_tags(folder: &Path, server: &HubServer) {
    let (code, text) = run(frostline(folder, server, &["fetch", "me/tagger"]));
    assert_eq!(code, 0, "{text}");
    let snapshots = folder.join("hf/hub/models--me--tagger/snapshots");
    let snapshot = fs::read_dir(snapshots).unwrap().next().unwrap().unwrap().path();
    fs::write(folder.join("words.txt"), "the frog sees a stone\n").unwrap();
    let arguments = ["tag", "--run", snapshot.to_str().unwrap(), "--input", "words.txt", "--output", "tsv"];
    let (code, text) = run(frostline(folder, server, &arguments));
    assert!(code == 0 && text.lines().count() >= 5, "{text}");
}

/// Pushes with options and a token, and returns the exit code and the text.
type RunPush<'a> = dyn Fn(&[&str], &str) -> (i32, String) + 'a;

fn a_changed_frozen_tensor_is_not_pushed(cell: &str, push: &RunPush<'_>) {
    let path = format!("{cell}/model/model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    // A number of the first tensors in the file: with first-4 most of them are frozen blocks.
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let table: Value = serde_json::from_slice(&bytes[8..8 + header]).unwrap();
    let name =
        table.as_object().unwrap().keys().find(|name| name.contains("layer.0.") && name.ends_with("weight"));
    let at = table[name.unwrap()]["data_offsets"][0].as_u64().unwrap() as usize;
    bytes[8 + header + at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let (code, text) = push(&["--public", "--yes"], TOKEN);
    assert!(code != 0 && !text.contains("commit "), "{text}");
}

/// `huggingface_hub` reads the card's `model-index`. Needs FROSTLINE_PYTHON.
fn check_card_in_python(card: &str) {
    let Some(python) = frostline_testing::python() else { return };
    let script = "
import json, sys
from huggingface_hub import ModelCard
data = ModelCard(sys.argv[1]).data
print(json.dumps([data.model_name is not None, [[r.dataset_name, r.dataset_split, r.metric_type] for r in data.eval_results]]))
";
    let output = Command::new(python).args(["-c", script, card]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found[0], true);
    let results = found[1].as_array().unwrap();
    assert!(results.iter().all(|result| result[0] == "embedded:en" || result[0] == "en"), "{found}");
    assert!(results.iter().any(|result| result[2] == "accuracy"), "{found}");
}
