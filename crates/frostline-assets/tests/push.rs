//! Pushes to a hub that speaks its API on this machine: what is created, what is sent to whom, and every refusal.

use std::fs;
use std::path::Path;

use frostline_assets::fetch::{self, FetchError, FetchOptions, Hosts, HubToken};
use frostline_assets::push::{self, PushError, PushFile, Visibility, model_files};
use frostline_testing::hub::{self, Fault, HubServer, READ_TOKEN, TOKEN};
use serde_json::Value;

const ID: &str = "me/tagger";

/// Returns a folder with a model.
fn model_folder() -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let weights: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("README.md", b"---\nlicense: mit\n---\n# A tagger\n");
    write("config.json", b"{}");
    write("tokenizer.json", b"{\"long\": \"a tokenizer that is large enough for the storage of this hub\"}");
    write("model.safetensors", &weights);
    write("optimizer.pt", b"pickle");
    write(".hidden", b"mine");
    (folder, weights)
}

fn look_up(server: &HubServer, id: &str, token: Option<&str>) -> Result<push::Destination, PushError> {
    let token = token.and_then(|token| HubToken::new(token, "HF_TOKEN"));
    push::look_up(id, &Hosts::default().with_hub_at(&server.address), token)
}

fn push_files(server: &HubServer, files: &[PushFile], wanted: Visibility) -> Result<push::Pushed, PushError> {
    look_up(server, ID, Some(TOKEN))?.push(files, wanted, "Upload a tagger", &mut |_| {})
}

fn push_folder(server: &HubServer, folder: &Path) -> Result<push::Pushed, PushError> {
    push_files(server, &model_files(folder)?.files, Visibility::Private)
}

#[test]
fn a_model_is_pushed_in_one_commit_and_fetched_again() {
    let server = HubServer::start();
    let (folder, weights) = model_folder();
    let files = model_files(folder.path()).unwrap();
    assert_eq!(files.left_out, [".hidden", "optimizer.pt"]);
    let destination = look_up(&server, ID, Some(TOKEN)).unwrap();
    assert_eq!((destination.account.as_str(), destination.found), ("me", None));
    let mut sizes = Vec::new();
    let pushed = destination
        .push(&files.files, Visibility::Private, "Upload a tagger", &mut |progress| {
            sizes.push((progress.file.to_string(), progress.bytes));
        })
        .unwrap();
    assert_eq!(pushed.url, format!("{}/{ID}", server.address));
    assert_eq!(pushed.uploaded, 2);
    assert!(sizes.contains(&("model.safetensors".into(), weights.len() as u64)), "{:?}", sizes.last());
    assert!(server.state().repositories[ID].private, "private without a word about it");
    let there = server.files(ID, "main");
    assert_eq!(there["model.safetensors"], weights);
    assert_eq!(there["README.md"], fs::read(folder.path().join("README.md")).unwrap());
    assert!(!there.contains_key("optimizer.pt"));

    let asked: Vec<String> = server.asked().into_iter().filter(|asked| !asked.starts_with("GET")).collect();
    let large = |name: &str| hub::sha256(&fs::read(folder.path().join(name)).unwrap());
    let put = |name: &str| format!("PUT /{}?signature=abc", large(name));
    assert_eq!(
        asked,
        [
            "POST /api/validate-yaml".to_string(),
            "POST /api/repos/create".into(),
            format!("POST /api/models/{ID}/preupload/main"),
            format!("POST /{ID}.git/info/lfs/objects/batch"),
            put("model.safetensors"),
            "POST /verify".into(),
            put("tokenizer.json"),
            "POST /verify".into(),
            format!("POST /api/models/{ID}/commit/main"),
        ]
    );
    assert!(!server.was_sent("storage", TOKEN) && server.was_sent("hub", TOKEN));
    let state = server.state();
    let create: Value = serde_json::from_slice(
        &state.requests.iter().find(|asked| asked.path == "/api/repos/create").unwrap().body,
    )
    .unwrap();
    assert_eq!(create["visibility"], "private");
    let commit = &state.requests.last().unwrap();
    assert_eq!(commit.headers["content-type"], "application/x-ndjson");
    let keys: Vec<Value> = String::from_utf8_lossy(&commit.body)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["key"].clone())
        .collect();
    assert_eq!(keys, ["header", "file", "file", "lfsFile", "lfsFile"]);
    drop(state);

    let cache = tempfile::tempdir().unwrap();
    let hosts = Hosts::default().with_hub_at(&server.address);
    let options =
        FetchOptions { hosts, token: HubToken::new(TOKEN, "HF_TOKEN"), ..FetchOptions::new(cache.path()) };
    let fetched = fetch::encoder(ID, &options, &mut |_| {}).unwrap();
    assert_eq!(Some(fetched.revision), pushed.commit);
    assert_eq!(fs::read(fetched.folder.join("model.safetensors")).unwrap(), weights);
}

#[test]
fn a_second_push_sends_what_changed() {
    let server = HubServer::start();
    let (folder, _) = model_folder();
    push_folder(&server, folder.path()).unwrap();
    let again = push_folder(&server, folder.path()).unwrap();
    assert_eq!((again.commit, again.uploaded), (None, 0), "nothing changed");
    fs::write(folder.path().join("config.json"), "{\"a\": 1}").unwrap();
    let third = push_folder(&server, folder.path()).unwrap();
    assert_eq!(third.uploaded, 0);
    let state = server.state();
    let commit = String::from_utf8_lossy(&state.requests.last().unwrap().body).into_owned();
    assert_eq!(commit.lines().count(), 2, "the message and one file: {commit}");
    drop(state);
    assert_eq!(server.files(ID, "main")["config.json"], b"{\"a\": 1}");
}

#[test]
fn large_files_are_sent_in_parts_if_the_hub_asks_for_them() {
    let server = HubServer::start();
    server.state().part_bytes = Some(150_000);
    let (folder, weights) = model_folder();
    push_folder(&server, folder.path()).unwrap();
    assert_eq!(server.files(ID, "main")["model.safetensors"], weights);
    let state = server.state();
    let sizes: Vec<usize> = state
        .requests
        .iter()
        .filter(|asked| asked.method == "PUT" && asked.path.contains(&hub::sha256(&weights)))
        .map(|asked| asked.body.len())
        .collect();
    assert_eq!(sizes, [150_000, 150_000, 100_000]);
}

#[test]
fn an_interrupted_upload_leaves_no_commit_and_sends_nothing_twice() {
    let server = HubServer::start();
    let (folder, weights) = model_folder();
    let tokenizer = hub::sha256(&fs::read(folder.path().join("tokenizer.json")).unwrap());
    server.fail(&format!("/{tokenizer}"), Fault::Status(503));
    let error = push_folder(&server, folder.path()).unwrap_err();
    assert!(
        matches!(&error, PushError::Upload { file, status: 503, .. } if file == "tokenizer.json"),
        "{error}"
    );
    assert!(
        !error.to_string().contains("signature"),
        "an address of the storage is as good as a password: {error}"
    );
    assert_eq!(server.files(ID, "main").len(), 1, "no commit");
    let puts = |server: &HubServer| {
        server.asked().iter().filter(|asked| asked.contains(&hub::sha256(&weights))).count()
    };
    assert_eq!(puts(&server), 1);
    push_folder(&server, folder.path()).unwrap();
    assert_eq!(puts(&server), 1);
    assert_eq!(server.files(ID, "main")["model.safetensors"], weights);
}

#[test]
fn a_public_repository_is_only_made_if_requested() {
    let server = HubServer::start();
    let (folder, _) = model_folder();
    let files = model_files(folder.path()).unwrap().files;
    server.state().makes_public = true;
    let error = push_files(&server, &files, Visibility::Private).unwrap_err();
    assert!(matches!(error, PushError::BecamePublic { .. }), "{error}");
    assert_eq!(server.files(ID, "main").len(), 1, "nothing was uploaded");
    assert!(!server.asked().iter().any(|asked| asked.contains("preupload")));
    assert_eq!(look_up(&server, ID, Some(TOKEN)).unwrap().found, Some(Visibility::Public));

    let server = HubServer::start();
    push_files(&server, &files, Visibility::Public).unwrap();
    assert!(!server.state().repositories[ID].private);
}

#[test]
fn who_may_not_push_is_told_before_anything_is_sent() {
    let server = HubServer::start();
    server.add("other/tagger", &[]);
    let cases: [(&str, Option<&str>, &str); 5] = [
        ("tagger", Some(TOKEN), "`tagger` is not a repository's name; expected OWNER/NAME"),
        ("../x/y", Some(TOKEN), "is not a repository's name"),
        (ID, None, "needs a token to push"),
        (ID, Some(READ_TOKEN), "the token in HF_TOKEN can only read"),
        (ID, Some("hf_of_no_account"), "does not accept the token in HF_TOKEN"),
    ];
    for (id, token, expected) in cases {
        let error = look_up(&server, id, token).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("hf_of"), "{error}");
    }
    assert!(look_up(&server, "our-group/tagger", Some(TOKEN)).is_ok());
    assert!(server.asked().iter().all(|asked| asked.starts_with("GET /api/")), "{:?}", server.asked());
    let (folder, _) = model_folder();
    let files = model_files(folder.path()).unwrap().files;
    for (id, reason) in [
        ("other/tagger", "the hub gives no reason"),
        ("other/new", "You don't have the rights to create a model"),
    ] {
        let destination = look_up(&server, id, Some(TOKEN)).unwrap();
        let error = destination.push(&files, Visibility::Private, "A message", &mut |_| {}).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the account me cannot push to other: {reason}; give a name of me, our-group, or set HF_TOKEN to a token that may write there"
            )
        );
    }
}

#[test]
fn a_card_that_the_hub_refuses_creates_nothing() {
    let server = HubServer::start();
    let (folder, _) = model_folder();
    fs::write(folder.path().join("README.md"), "---\nlicense: bad\n---\n").unwrap();
    let error = push_folder(&server, folder.path()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "README.md: the hub does not accept its metadata: \"license\" must be one of [...]; correct the lines between the two `---`"
    );
    assert!(server.state().repositories.is_empty());
}

#[test]
fn a_refused_request_is_named() {
    let (folder, _) = model_folder();
    for (path, status) in [
        ("/api/validate-yaml".to_string(), 503),
        ("/api/repos/create".into(), 500),
        (format!("/api/models/{ID}/preupload/main"), 502),
        (format!("/{ID}.git/info/lfs/objects/batch"), 503),
        (format!("/api/models/{ID}/commit/main"), 500),
    ] {
        let server = HubServer::start();
        server.fail(&path, Fault::Status(status));
        let error = push_folder(&server, folder.path()).unwrap_err();
        assert!(
            matches!(&error, PushError::Hub(FetchError::Status { status: found, .. }) if *found == status),
            "{path}: {error}"
        );
        assert!(server.files(ID, "main").len() <= 1, "no commit");
    }
}

#[test]
fn a_folder_of_an_onnx_model_is_a_model() {
    let (folder, weights) = model_folder();
    fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    fs::create_dir(folder.path().join("onnx")).unwrap();
    fs::write(folder.path().join("onnx/model.onnx"), &weights).unwrap();
    let server = HubServer::start();
    push_folder(&server, folder.path()).unwrap();
    assert_eq!(server.files(ID, "main")["onnx/model.onnx"], weights);
}

#[test]
fn a_folder_that_is_no_model_is_refused() {
    let (folder, _) = model_folder();
    for (file, missing) in [
        ("tokenizer.json", "tokenizer.json or vocab.txt"),
        ("model.safetensors", "weights as safetensors or an ONNX model"),
        ("config.json", "config.json"),
    ] {
        fs::remove_file(folder.path().join(file)).unwrap();
        let error = model_files(folder.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("no {missing}; make the folder with `frostline export")), "{error}");
    }
}
