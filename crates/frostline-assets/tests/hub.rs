//! Encoders from a hub that speaks its API on this machine: the shared cache, revisions, gated and private encoders, tokens,
//! redirects, interrupted downloads and refusals before the download.

use std::fs;
use std::path::Path;

use frostline_assets::fetch::{self, FetchError, FetchOptions, Fetched, Hosts, HubToken, Progress};
use frostline_assets::{HubCache, Places, sha256};
use frostline_testing::hub::{self, COMMIT, Fault, HubServer, READ_TOKEN, TOKEN};

const ID: &str = "some/encoder";

/// Longer than one buffer, and large for the hub.
fn weights() -> Vec<u8> {
    (0..300_000_u32).flat_map(u32::to_le_bytes).collect()
}

/// Returns a hub with one encoder.
fn hub_with_encoder() -> (HubServer, Vec<u8>) {
    let (server, weights) = (HubServer::start(), weights());
    server.add(
        ID,
        &[
            ("config.json", br#"{"model_type": "bert"}"#),
            ("tokenizer.json", b"{}"),
            ("model.safetensors", &weights),
            ("README.md", b"---\nlicense: mit\n---\n"),
            ("pytorch_model.bin", b"other weights"),
        ],
    );
    (server, weights)
}

fn options(server: &HubServer, cache: &Path) -> FetchOptions {
    let hosts = Hosts::default().with_hub_at(&server.address);
    FetchOptions { hosts, hub_cache: cache.join("hub"), ..FetchOptions::new(cache.join("own")) }
}

fn with_token(options: FetchOptions, token: &str) -> FetchOptions {
    FetchOptions { token: HubToken::new(token, "HF_TOKEN"), ..options }
}

fn get(name: &str, options: &FetchOptions) -> Result<Fetched, FetchError> {
    fetch::encoder(name, options, &mut |_: Progress<'_>| {})
}

/// The path of a file of [`ID`] on the hub.
fn path_of(file: &str) -> String {
    format!("/{ID}/resolve/{COMMIT}/{file}")
}

/// Returns all names under a folder, sorted, without locks and marks.
fn names_under(folder: &Path) -> Vec<String> {
    fn visit(folder: &Path, above: &str, names: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{above}{}", entry.file_name().to_str().unwrap());
            match fs::symlink_metadata(entry.path()).unwrap().is_dir() {
                true => visit(&entry.path(), &format!("{name}/"), names),
                false => names.push(name),
            }
        }
    }
    let mut names = Vec::new();
    visit(folder, "", &mut names);
    names.retain(|name| !name.starts_with(".locks/") && name != "CACHEDIR.TAG");
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn a_fetched_encoder_has_the_layout_of_huggingface_hub() {
    let (server, weights) = hub_with_encoder();
    let cache = tempfile::tempdir().unwrap();
    let options = options(&server, cache.path());
    let fetched = get(ID, &options).unwrap();
    assert!(fetched.downloaded);
    assert_eq!((fetched.revision.as_str(), fetched.licence.unwrap().name.as_str()), (COMMIT, "mit"));
    let model = options.hub_cache.join("models--some--encoder");
    assert_eq!(fetched.folder, model.join("snapshots").join(COMMIT));
    let large = hub::sha256(&weights);
    assert_eq!(fetched.files["model.safetensors"].sha256, large);
    assert_eq!(fetched.files["config.json"].sha256, sha256(br#"{"model_type": "bert"}"#));
    let names = ["README.md", "config.json", "model.safetensors", "tokenizer.json"];
    let mut expected: Vec<String> = names.iter().map(|name| format!("snapshots/{COMMIT}/{name}")).collect();
    expected.push("refs/main".into());
    for name in names {
        let bytes = fs::read(fetched.folder.join(name)).unwrap();
        let digest = if name == "model.safetensors" { large.clone() } else { hub::blob_id(&bytes) };
        let link = fs::read_link(fetched.folder.join(name)).unwrap();
        assert_eq!(link, Path::new("../../blobs").join(&digest));
        expected.push(format!("blobs/{digest}"));
    }
    expected.sort();
    assert_eq!(names_under(&model), expected);
    assert_eq!(fs::read_to_string(model.join("refs/main")).unwrap(), COMMIT);
    let lock = format!(".locks/models--some--encoder/{large}.lock");
    assert!(options.hub_cache.join(lock).exists());
    assert!(
        fs::read_to_string(options.hub_cache.join("CACHEDIR.TAG")).unwrap().starts_with("Signature: 8a477f")
    );

    let asked = server.asked().len();
    let again = get(ID, &options).unwrap();
    assert!(!again.downloaded && again.files == fetched.files);
    assert_eq!(server.asked().len(), asked, "checked without a connection");
}

#[test]
fn places_find_an_encoder_of_the_shared_cache_by_id_and_revision() {
    let (server, _) = hub_with_encoder();
    let second = "2222222222222222222222222222222222222222";
    server.add_revision(ID, "v2", second, &[("config.json", br#"{"model_type": "electra"}"#)]);
    let cache = tempfile::tempdir().unwrap();
    let options = options(&server, cache.path());
    get("some/encoder@v2", &options).unwrap();
    let places = Places { hub: Some(options.hub_cache.clone()), ..Places::default() };
    let config = |name: &str| {
        let found = places.encoder(name, true)?;
        assert!(found.sources.contains_key("weights"));
        Ok::<String, frostline_assets::AssetError>(fs::read_to_string(&found.sources["config"].path).unwrap())
    };
    assert!(config(ID).unwrap().contains("electra"), "the only snapshot");
    get(ID, &options).unwrap();
    assert!(config(ID).unwrap().contains("bert"), "main");
    assert!(config("some/encoder@v2").unwrap().contains("electra"));
    assert!(config(&format!("some/encoder@{second}")).unwrap().contains("electra"));
    for missing in ["some/encoder@v3", "other/encoder", "some/encoder@../main"] {
        let error = config(missing).unwrap_err().to_string();
        assert!(error.contains("(cache of huggingface_hub): some/encoder"), "{error}");
    }
    assert_eq!(places.hub_models(), [ID]);
    assert_eq!(HubCache::at(&options.hub_cache).models(), [ID]);
    // The bytes that both have are there once.
    let blobs = fs::read_dir(options.hub_cache.join("models--some--encoder/blobs")).unwrap().count();
    assert_eq!(blobs, 5);
}

#[test]
fn an_interrupted_download_resumes_with_the_right_bytes() {
    let (server, weights) = hub_with_encoder();
    let digest = hub::sha256(&weights);
    server.fail(&format!("/{digest}"), Fault::Cut(100_000));
    let cache = tempfile::tempdir().unwrap();
    let options = options(&server, cache.path());
    let error = get(ID, &options).unwrap_err();
    assert!(matches!(error, FetchError::Connection { .. }), "{error}");
    assert!(!error.to_string().contains("signature"), "{error}");
    let blobs = options.hub_cache.join("models--some--encoder/blobs");
    let part = blobs.join(format!("{digest}.incomplete"));
    assert_eq!(fs::metadata(&part).unwrap().len(), 100_000);
    assert!(!options.hub_cache.join("models--some--encoder/refs").exists(), "not complete");
    assert!(Places { hub: Some(options.hub_cache.clone()), ..Places::default() }.encoder(ID, true).is_err());

    let fetched = get(ID, &options).unwrap();
    assert_eq!(fs::read(fetched.folder.join("model.safetensors")).unwrap(), weights);
    let state = server.state();
    let ranges: Vec<_> =
        state.requests.iter().filter(|asked| asked.path.starts_with(&format!("/{digest}"))).collect();
    assert_eq!(ranges.len(), 2);
    assert_eq!(ranges[1].headers["range"], "bytes=100000-");
    assert!(!part.exists());
}

#[test]
fn damaged_bytes_never_get_a_name() {
    let (server, weights) = hub_with_encoder();
    server.fail(&format!("/{}", hub::sha256(&weights)), Fault::Damage);
    let cache = tempfile::tempdir().unwrap();
    let options = options(&server, cache.path());
    let error = get(ID, &options).unwrap_err().to_string();
    assert!(error.contains("model.safetensors: the SHA-256 does not match"), "{error}");
    let names = names_under(&options.hub_cache.join("models--some--encoder"));
    let digest = hub::sha256(&weights);
    assert!(!names.iter().any(|name| name.contains(&digest)), "{names:?}");
    get(ID, &options).unwrap();
}

#[cfg(unix)]
#[test]
fn a_file_that_changed_in_the_cache_is_an_error() {
    let (server, weights) = hub_with_encoder();
    let cache = tempfile::tempdir().unwrap();
    let mut options = options(&server, cache.path());
    let fetched = get(ID, &options).unwrap();
    options.offline = true;
    let blob = options.hub_cache.join("models--some--encoder/blobs").join(hub::sha256(&weights));
    fs::write(blob, &weights[1..]).unwrap();
    let error = get(ID, &options).unwrap_err();
    assert!(matches!(error, FetchError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(fetched.folder.to_str().unwrap()), "{error}");
}

#[test]
fn a_gated_encoder_needs_a_token_of_an_account_with_access() {
    let (server, _) = hub_with_encoder();
    server.change(ID, |repository| repository.gated = true);
    let cache = tempfile::tempdir().unwrap();
    let options = options(&server, cache.path());
    let page = format!("{}/{ID}", server.address);
    let error = get(ID, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{ID} is gated: its owner asks you to accept terms; accept them on {page}, then set HF_TOKEN to a token of that account, or run `hf auth login`"
        )
    );
    let error = get(ID, &with_token(options.clone(), READ_TOKEN)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{ID} is gated: its owner asks you to accept terms; accept them on {page} with the account of the token in HF_TOKEN"
        )
    );
    assert!(get(ID, &with_token(options.clone(), TOKEN)).unwrap().downloaded);
    assert!(server.was_sent("hub", TOKEN));
    assert!(!server.was_sent("storage", TOKEN), "the host to which the hub leads gets no token");
}

#[test]
fn a_private_encoder_looks_like_a_missing_one_without_a_token() {
    let (server, _) = hub_with_encoder();
    server.change(ID, |repository| repository.private = true);
    let cache = tempfile::tempdir().unwrap();
    let options = options(&server, cache.path());
    let error = get(ID, &options).unwrap_err().to_string();
    assert!(error.contains("status 401") && error.contains("set HF_TOKEN or run `hf auth login`"), "{error}");
    let error = get("no/such", &with_token(options.clone(), TOKEN)).unwrap_err().to_string();
    assert!(
        error.contains("status 404") && error.contains("whether the token in HF_TOKEN may read it"),
        "{error}"
    );
    get(ID, &with_token(options, TOKEN)).unwrap();
}

#[test]
fn an_invalid_token_is_named_by_its_place_alone() {
    let (server, _) = hub_with_encoder();
    let cache = tempfile::tempdir().unwrap();
    let options = with_token(options(&server, cache.path()), "hf_of_no_account");
    let error = get(ID, &options).unwrap_err();
    assert!(matches!(error, FetchError::BadToken { .. }), "{error}");
    let shown = format!("{error} {error:?} {options:?}");
    assert!(shown.contains("HF_TOKEN") && !shown.contains("hf_of_no_account"), "{shown}");
}

#[test]
fn a_redirect_to_another_host_keeps_the_token_at_home() {
    let (server, _) = hub_with_encoder();
    let other = HubServer::start();
    other.add(ID, &[("config.json", br#"{"model_type": "bert"}"#)]);
    server.fail(
        &path_of("config.json"),
        Fault::Redirect(format!("{}{}", other.address, path_of("config.json"))),
    );
    let cache = tempfile::tempdir().unwrap();
    let options = with_token(options(&server, cache.path()), TOKEN);
    get(ID, &options).unwrap();
    assert_eq!(other.asked(), [format!("GET {}", path_of("config.json"))]);
    assert!(!other.was_sent("hub", TOKEN));
    let state = other.state();
    assert!(!state.requests[0].headers.contains_key("authorization"), "{:?}", state.requests[0]);
}

#[test]
fn a_redirect_on_the_same_host_keeps_the_token() {
    let (server, _) = hub_with_encoder();
    server.change(ID, |repository| repository.private = true);
    // The hub leads from an old name to the new one.
    server.fail(
        "/api/models/encoder/revision/main",
        Fault::Redirect(format!("/api/models/{ID}/revision/main")),
    );
    server.fail(
        &format!("/api/models/encoder/tree/{COMMIT}"),
        Fault::Redirect(format!("/api/models/{ID}/tree/{COMMIT}")),
    );
    for file in ["README.md", "config.json", "model.safetensors", "tokenizer.json"] {
        server.fail(&format!("/encoder/resolve/{COMMIT}/{file}"), Fault::Redirect(path_of(file)));
    }
    let cache = tempfile::tempdir().unwrap();
    let options = with_token(options(&server, cache.path()), TOKEN);
    let fetched = get("encoder", &options).unwrap();
    assert!(
        fetched.folder.starts_with(options.hub_cache.join("models--encoder")),
        "under the requested name"
    );
}

#[test]
fn redirects_to_unencrypted_hosts_and_in_circles_are_errors() {
    let (server, _) = hub_with_encoder();
    let cache = tempfile::tempdir().unwrap();
    let options = options(&server, cache.path());
    for to in ["http://mirror.example/config.json", "file:///etc/passwd", "http://me:secret@127.0.0.1/x"] {
        server.fail(&path_of("config.json"), Fault::Redirect(to.into()));
        let error = get(ID, &options).unwrap_err();
        assert!(matches!(error, FetchError::Redirect { .. }), "{to}: {error}");
    }
    let again = format!("/api/models/{ID}/revision/main");
    server.fail(&again, Fault::Redirect(again.clone()));
    get(ID, &options).expect("a fault happens once, so the second request is answered");
}

#[test]
fn a_missing_revision_and_a_broken_host_are_named() {
    let (server, _) = hub_with_encoder();
    let cache = tempfile::tempdir().unwrap();
    let mut options = options(&server, cache.path());
    let error = get("some/encoder@v9", &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{ID} has no revision `v9`; expected a branch, a tag or a commit of {}/{ID}/commits/main",
            server.address
        )
    );
    for status in [500, 502, 503, 429] {
        server.fail(&path_of("tokenizer.json"), Fault::Status(status));
        let error = get(ID, &options).unwrap_err();
        assert!(matches!(error, FetchError::Status { status: found, .. } if found == status), "{error}");
        assert!(error.to_string().contains("try again later"), "{error}");
    }
    options.revision = Some("refs/pr/1".into());
    server.add_revision(ID, "refs/pr/1", "3333333333333333333333333333333333333333", &[]);
    let fetched = get(ID, &options).unwrap();
    assert!(fetched.revision.starts_with("3333"));
    assert!(options.hub_cache.join("models--some--encoder/refs/refs/pr/1").is_file());
    assert!(server.asked().contains(&format!("GET /api/models/{ID}/revision/refs%2Fpr%2F1")));
}

fn refuse(config: &str) -> Result<(), String> {
    if config.contains("bert") { Err("no bears here".into()) } else { Ok(()) }
}

#[test]
fn an_encoder_of_an_unknown_family_is_refused_before_the_download() {
    let (server, _) = hub_with_encoder();
    let cache = tempfile::tempdir().unwrap();
    let refusing = FetchOptions { check_config: Some(refuse), ..options(&server, cache.path()) };
    let error = get(ID, &refusing).unwrap_err();
    assert_eq!(error.to_string(), format!("{ID} was not downloaded: no bears here"));
    let files: Vec<String> = server.asked().into_iter().filter(|asked| asked.contains("/resolve/")).collect();
    assert_eq!(files, [format!("GET {}", path_of("config.json"))]);
    assert!(!refusing.hub_cache.exists(), "nothing is written");
}

#[test]
fn offline_the_cache_is_used_and_no_connection_is_opened() {
    let (server, _) = hub_with_encoder();
    let cache = tempfile::tempdir().unwrap();
    let online = options(&server, cache.path());
    let offline = [
        FetchOptions { offline: true, ..online.clone() },
        FetchOptions { hub_offline: true, ..online.clone() },
    ];
    for options in &offline {
        let error = get(ID, options).unwrap_err();
        let FetchError::Offline { folder, .. } = error else { panic!("{error}") };
        assert_eq!(folder, online.hub_cache.join("models--some--encoder"));
    }
    assert!(server.asked().is_empty());
    get(ID, &FetchOptions { weights: false, ..online.clone() }).unwrap();
    for options in &offline {
        assert!(
            matches!(get(ID, options), Err(FetchError::Offline { .. })),
            "without weights it is not complete"
        );
    }
    get(ID, &online).unwrap();
    let asked = server.asked().len();
    for options in &offline {
        assert!(!get(ID, options).unwrap().downloaded);
        assert!(matches!(get("some/encoder@v2", options), Err(FetchError::Offline { .. })));
    }
    assert_eq!(server.asked().len(), asked);
}

#[test]
fn a_file_that_another_process_downloads_is_not_written_twice() {
    let (server, weights) = hub_with_encoder();
    let cache = tempfile::tempdir().unwrap();
    let options = options(&server, cache.path());
    let locks = options.hub_cache.join(".locks/models--some--encoder");
    fs::create_dir_all(&locks).unwrap();
    let lock = fs::File::create(locks.join(format!("{}.lock", hub::sha256(&weights)))).unwrap();
    lock.lock().unwrap();
    assert!(matches!(get(ID, &options), Err(FetchError::Busy { .. })));
    drop(lock);
    get(ID, &options).unwrap();
}

#[test]
fn a_pin_that_does_not_match_keeps_the_file_out_of_the_snapshot() {
    let (server, weights) = hub_with_encoder();
    let cache = tempfile::tempdir().unwrap();
    let mut options = options(&server, cache.path());
    options.pins.insert("model.safetensors".into(), sha256(b"other"));
    assert!(matches!(get(ID, &options), Err(FetchError::Pin { .. })));
    let names = names_under(&options.hub_cache.join("models--some--encoder"));
    assert!(
        !names.iter().any(|name| name.contains(&hub::sha256(&weights)) || name.starts_with("snapshots")),
        "{names:?}"
    );
    options.pins.insert("model.safetensors".into(), sha256(&weights));
    get(ID, &options).unwrap();
    options.pins.insert("model.safetensors".into(), sha256(b"other"));
    let error = get(ID, &options).unwrap_err().to_string();
    assert!(error.contains("check the pin, or delete"), "{error}");
}

#[test]
fn sharded_weights_come_with_all_shards() {
    let server = HubServer::start();
    let index = br#"{"weight_map": {"a": "model-1-of-2.safetensors", "b": "model-2-of-2.safetensors"}}"#;
    server.add(
        ID,
        &[
            ("config.json", b"{}"),
            ("vocab.txt", b"[PAD]\n"),
            ("model.safetensors.index.json", index),
            ("model-1-of-2.safetensors", b"one"),
            ("model-2-of-2.safetensors", b"two"),
            ("pytorch_model.bin", b"other"),
        ],
    );
    let cache = tempfile::tempdir().unwrap();
    let options = options(&server, cache.path());
    let fetched = get(ID, &options).unwrap();
    assert_eq!(fetched.files.len(), 5);
    assert!(!get(ID, &options).unwrap().downloaded);
    fs::remove_file(fetched.folder.join("model-2-of-2.safetensors")).unwrap();
    let again = get(ID, &options).unwrap();
    assert_eq!(again.files.len(), 5, "the missing link is made again");
}
