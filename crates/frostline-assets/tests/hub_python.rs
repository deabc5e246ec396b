//! The shared cache and the requests of a push, compared with `huggingface_hub`. Needs FROSTLINE_PYTHON.

use std::fs;
use std::path::Path;
use std::process::Command;

use frostline_assets::Places;
use frostline_assets::fetch::{self, FetchOptions, Hosts, HubToken};
use frostline_assets::push::{self, Visibility, model_files};
use frostline_testing::hub::{Asked, HubServer, TOKEN};
use serde_json::{Value, json};

const ID: &str = "some/encoder";

fn files() -> [(&'static str, Vec<u8>); 4] {
    [
        ("config.json", br#"{"model_type": "bert"}"#.to_vec()),
        ("tokenizer.json", b"{}".to_vec()),
        ("model.safetensors", (0..50_000_u32).flat_map(u32::to_le_bytes).collect()),
        ("README.md", b"---\nlicense: mit\n---\n# Some encoder\n".to_vec()),
    ]
}

fn hub_with_encoder() -> HubServer {
    let server = HubServer::start();
    let files = files();
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    server.add(ID, &files);
    server
}

fn options(server: &HubServer, cache: &Path) -> FetchOptions {
    let hosts = Hosts::default().with_hub_at(&server.address);
    FetchOptions { hosts, hub_cache: cache.join("hub"), ..FetchOptions::new(cache.join("own")) }
}

/// Runs a script and returns what it prints as JSON. Nothing of the user's own cache and token is read.
fn run_python(server: &HubServer, cache: &Path, script: &str, variables: &[(&str, &str)]) -> Option<Value> {
    let mut command = Command::new(frostline_testing::python()?);
    command.args(["-c", script]).env("HF_HOME", cache).env("HF_ENDPOINT", &server.address);
    command.env("HF_HUB_DISABLE_XET", "1").env("HF_HUB_DISABLE_TELEMETRY", "1");
    for name in [
        "HF_TOKEN",
        "HF_HUB_CACHE",
        "HF_HUB_OFFLINE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
    ] {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().expect("Python starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let last = String::from_utf8(output.stdout).expect("UTF-8");
    Some(serde_json::from_str(last.lines().last().unwrap_or_default()).expect("JSON"))
}

const READ: &str = r#"
import hashlib, json, os
from huggingface_hub import hf_hub_download, scan_cache_dir, snapshot_download, try_to_load_from_cache
names = ["config.json", "tokenizer.json", "model.safetensors", "README.md"]
paths = [hf_hub_download("some/encoder", name, local_files_only=True) for name in names]
found = scan_cache_dir()
repo = list(found.repos)[0]
print(json.dumps({
    "hashes": {name: hashlib.sha256(open(path, "rb").read()).hexdigest() for name, path in zip(names, paths)},
    "snapshot": snapshot_download("some/encoder", local_files_only=True) == os.path.dirname(paths[0]),
    "by_commit": hf_hub_download("some/encoder", "config.json", revision="c0ffee0000c0ffee0000c0ffee0000c0ffee0000") == paths[0],
    "cached": try_to_load_from_cache("some/encoder", "config.json") == paths[0],
    "warnings": [str(warning) for warning in found.warnings],
    "repo": [repo.repo_id, repo.repo_type, sorted(list(repo.revisions)[0].refs), repo.nb_files],
}))
"#;

#[test]
fn python_reads_what_was_fetched_without_a_connection() {
    let server = hub_with_encoder();
    let cache = tempfile::tempdir().unwrap();
    let fetched = fetch::encoder(ID, &options(&server, cache.path()), &mut |_| {}).unwrap();
    let asked = server.asked().len();
    let Some(found) = run_python(&server, cache.path(), READ, &[("HF_HUB_OFFLINE", "1")]) else { return };
    for (name, source) in &fetched.files {
        assert_eq!(found["hashes"][name], source.sha256.as_str(), "{name}");
    }
    assert_eq!([&found["snapshot"], &found["by_commit"], &found["cached"]], [true; 3]);
    assert_eq!(found["warnings"], json!([]));
    assert_eq!(found["repo"], json!([ID, "model", ["main"], 4]));
    assert_eq!(server.asked().len(), asked);
}

#[test]
fn what_python_fetched_is_used_without_a_connection() {
    let server = hub_with_encoder();
    server.change(ID, |repository| repository.gated = true);
    let cache = tempfile::tempdir().unwrap();
    let script = r#"
import json
from huggingface_hub import snapshot_download
print(json.dumps(snapshot_download("some/encoder")))
"#;
    let Some(folder) = run_python(&server, cache.path(), script, &[("HF_TOKEN", TOKEN)]) else { return };
    let asked = server.asked().len();
    let options = options(&server, cache.path());
    let found = fetch::encoder(ID, &FetchOptions { offline: true, ..options.clone() }, &mut |_| {}).unwrap();
    assert!(!found.downloaded);
    assert_eq!(Some(found.folder.to_str().unwrap()), folder.as_str());
    assert_eq!(found.files.len(), 4);
    let places = Places { hub: Some(options.hub_cache.clone()), ..Places::default() };
    assert_eq!(
        places.encoder(ID, true).unwrap().sources["weights"].sha256,
        found.files["model.safetensors"].sha256
    );
    // What Python did not need is added, and its files are not fetched again.
    let weights = found.folder.join("model.safetensors");
    let blob = fs::canonicalize(&weights).unwrap();
    fs::remove_file(&weights).unwrap();
    fs::remove_file(blob).unwrap();
    let with_token = FetchOptions { token: HubToken::new(TOKEN, "HF_TOKEN"), ..options };
    assert!(fetch::encoder(ID, &with_token, &mut |_| {}).unwrap().downloaded);
    let again: Vec<String> = server.asked().split_off(asked);
    let files: Vec<&String> = again.iter().filter(|asked| asked.contains("/resolve/")).collect();
    assert_eq!(files.len(), 1, "{again:?}");
}

/// Returns method, path and the JSON of each request that changes something. The tokenizer's bytes are a constant, and so are all
/// others, so equal requests have equal bodies.
fn changes(requests: &[Asked]) -> Vec<(String, Vec<Value>)> {
    let is_change = |asked: &&Asked| asked.method != "GET" && asked.method != "HEAD";
    let mut found: Vec<(String, Vec<Value>)> = requests
        .iter()
        .filter(is_change)
        .map(|asked| {
            let path = asked.path.split('?').next().unwrap_or_default();
            let text = String::from_utf8_lossy(&asked.body);
            let mut lines: Vec<Value> =
                text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            for line in &mut lines {
                sort_lists(line);
            }
            lines.sort_by_key(Value::to_string);
            (format!("{} {path}", asked.method), lines)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    // Python lets the card be checked twice.
    found.dedup();
    found
}

/// The order of files is free.
fn sort_lists(value: &mut Value) {
    if let Some(object) = value.as_object_mut() {
        for (_, value) in object.iter_mut() {
            sort_lists(value);
        }
    } else if let Some(list) = value.as_array_mut() {
        list.sort_by_key(Value::to_string);
    }
}

#[test]
fn a_push_sends_what_huggingface_hub_sends() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files() {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let ours = HubServer::start();
    let hosts = Hosts::default().with_hub_at(&ours.address);
    let destination = push::look_up("me/tagger", &hosts, HubToken::new(TOKEN, "HF_TOKEN")).unwrap();
    let files = model_files(folder.path()).unwrap().files;
    destination.push(&files, Visibility::Private, "A message", &mut |_| {}).unwrap();

    let theirs = HubServer::start();
    let cache = tempfile::tempdir().unwrap();
    let script = r#"
import json, os
from huggingface_hub import HfApi
api = HfApi()
api.create_repo("me/tagger", private=True, repo_type="model")
info = api.upload_folder(repo_id="me/tagger", folder_path=os.environ["FOLDER"], commit_message="A message")
print(json.dumps(info.oid))
"#;
    let variables = [("HF_TOKEN", TOKEN), ("FOLDER", folder.path().to_str().unwrap())];
    if run_python(&theirs, cache.path(), script, &variables).is_none() {
        return;
    }
    let found = [&ours, &theirs].map(|server| changes(&server.state().requests));
    assert_eq!(found[0], found[1]);
    assert_eq!(ours.files("me/tagger", "main"), theirs.files("me/tagger", "main"));
}

#[test]
fn python_opens_what_was_pushed() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files() {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let server = HubServer::start();
    let hosts = Hosts::default().with_hub_at(&server.address);
    let destination = push::look_up("me/tagger", &hosts, HubToken::new(TOKEN, "HF_TOKEN")).unwrap();
    destination
        .push(&model_files(folder.path()).unwrap().files, Visibility::Private, "A message", &mut |_| {})
        .unwrap();
    let cache = tempfile::tempdir().unwrap();
    let script = r#"
import hashlib, json, os
from huggingface_hub import HfApi, ModelCard, snapshot_download
path = snapshot_download("me/tagger")
names = ["config.json", "tokenizer.json", "model.safetensors", "README.md"]
print(json.dumps({
    "private": HfApi().model_info("me/tagger").private,
    "same": all(open(os.path.join(path, name), "rb").read() == open(os.path.join(os.environ["FOLDER"], name), "rb").read() for name in names),
    "licence": ModelCard.load("me/tagger").data.license,
}))
"#;
    let variables = [("HF_TOKEN", TOKEN), ("FOLDER", folder.path().to_str().unwrap())];
    let Some(found) = run_python(&server, cache.path(), script, &variables) else { return };
    assert_eq!(found, json!({ "private": true, "same": true, "licence": "mit" }));
}
