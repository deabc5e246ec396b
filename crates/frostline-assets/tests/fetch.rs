//! Downloads from a server that the test starts on 127.0.0.1: complete, interrupted, damaged,
//! missing, pinned, and concurrent with another process.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;

use frostline_assets::fetch::{self, FetchError, FetchOptions};
use frostline_assets::sha256;

mod server;

use server::{COMMIT, LIST, TRAIN, blob_id, cached, encoder, encoder_named, quiet, treebank};

#[test]
fn a_fetched_treebank_is_found_by_name_and_not_fetched_twice() {
    let (server, files) = treebank();
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    let mut last = BTreeMap::new();
    let fetched = fetch::treebank("UD_Toy-T", &options, &mut |progress| {
        last.insert(progress.file.to_string(), (progress.bytes, progress.bytes_total));
    })
    .unwrap();
    assert!(fetched.downloaded);
    assert_eq!(fetched.revision, "r2.16");
    for (name, body) in &files {
        assert_eq!(&fs::read(fetched.folder.join(name)).unwrap(), body);
        assert_eq!(fetched.files[name].sha256, sha256(body));
        assert_eq!(last[name], (body.len() as u64, body.len() as u64));
    }
    let mut names: Vec<_> = fs::read_dir(&fetched.folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected =
        ["README.md", "fetched.json", "xx_t-ud-dev.conllu", "xx_t-ud-test.conllu", "xx_t-ud-train.conllu"];
    assert_eq!(names, expected);

    let treebank = cached(cache.path()).dataset("UD_Toy-T").unwrap();
    assert_eq!(treebank.origin, frostline_assets::Origin::Cache);
    assert_eq!(treebank.sources["train"].sha256, sha256(&files["xx_t-ud-train.conllu"]));

    let requests = server.requests();
    let again = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap();
    assert!(!again.downloaded);
    assert_eq!(again.files, fetched.files);
    assert_eq!(server.requests(), requests, "checked without a connection");
}

#[test]
fn an_archive_is_fetched_once_and_unpacked() {
    let (server, _) = treebank();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for file in ["train.tsv", "dev.tsv"] {
        zip.start_file(format!("reviews/{file}"), zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut zip, b"sentence\tlabel\na\t1\n").unwrap();
    }
    let body = zip.finish().unwrap().into_inner();
    server.page("/hub/own/data.zip", body.clone());
    server.page("/hub/own/page.zip", "<html>log in</html>");
    let cache = tempfile::tempdir().unwrap();
    let mut options = server.options(cache.path());
    let url = |file: &str| format!("{}/own/{file}", options.hosts.hub);
    let (good, page, missing) = (url("data.zip"), url("page.zip"), url("none.zip"));

    let fetched = fetch::archive(&good, &options, &mut quiet).unwrap();
    assert!(fetched.downloaded);
    let places = frostline_assets::Places::new(Some(fetched.folder), None);
    assert_eq!(places.dataset("reviews").unwrap().sources.len(), 2);
    options.offline = true;
    assert!(!fetch::archive(&good, &options, &mut quiet).unwrap().downloaded, "kept");
    options.pins.insert("data.zip".into(), sha256(&body));
    fetch::archive(&good, &options, &mut quiet).unwrap();
    options.pins.insert("data.zip".into(), sha256(b"other"));
    assert!(matches!(fetch::archive(&good, &options, &mut quiet), Err(FetchError::Pin { .. })));
    assert!(matches!(fetch::archive(&page, &options, &mut quiet), Err(FetchError::Offline { .. })));
    options.offline = false;
    let error = fetch::archive(&page, &options, &mut quiet).unwrap_err().to_string();
    assert!(error.contains("not a ZIP archive"), "{error}");
    server.page("/hub/own/page.zip", body);
    options.pins.clear();
    fetch::archive(&page, &options, &mut quiet).expect("what was no archive is not kept");
    assert!(matches!(fetch::archive(&missing, &options, &mut quiet), Err(FetchError::NotFound { .. })));
    let open = fetch::archive("http://other.example/a.zip", &options, &mut quiet);
    assert!(matches!(open, Err(FetchError::BadEndpoint { .. })));
}

#[test]
fn an_interrupted_transfer_resumes_where_it_stopped() {
    let (server, files) = treebank();
    server.change(TRAIN, |page| page.cut = Some(100_000));
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    assert!(matches!(error, FetchError::Connection { .. }), "{error}");
    assert!(error.to_string().contains("resumes where it stopped"));
    assert!(cached(cache.path()).dataset("UD_Toy-T").is_err(), "half a treebank is none");

    let fetched = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap();
    assert_eq!(fetched.files["xx_t-ud-train.conllu"].sha256, sha256(&files["xx_t-ud-train.conllu"]));
    let asked = server.asked.lock().unwrap();
    let ranges: Vec<_> = asked.iter().filter(|(path, _)| path == TRAIN).map(|(_, r)| r).collect();
    assert_eq!(ranges, [&None, &Some("bytes=100000-".to_string())]);
}

#[test]
fn without_range_support_the_whole_file_is_requested() {
    let (server, files) = treebank();
    server.change(TRAIN, |page| (page.cut, page.ranges) = (Some(70_000), false));
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    let fetched = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap();
    assert_eq!(fetched.files["xx_t-ud-train.conllu"].sha256, sha256(&files["xx_t-ud-train.conllu"]));
}

#[test]
fn damaged_bytes_are_an_error_and_deleted() {
    let (server, _) = treebank();
    server.change(TRAIN, |page| page.body[5] ^= 1);
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    assert!(error.to_string().contains("the git blob id does not match"), "{error}");
    let left = fs::read_dir(cache.path().join("treebanks/UD_Toy-T.part")).unwrap();
    let left: Vec<_> = left.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.contains("train")), "{left:?}");
    server.change(TRAIN, |page| page.body.push(b'\n'));
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    assert!(error.to_string().contains("the size in bytes does not match"), "{error}");
}

#[test]
fn pins_are_checked_on_download_and_afterwards() {
    let (server, files) = treebank();
    let cache = tempfile::tempdir().unwrap();
    let mut options = server.options(cache.path());
    options.pins.insert("xx_t-ud-dev.conllu".into(), sha256(b"other"));
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("pinned SHA-256 does not match") && text.contains("check the pin"), "{text}");
    let right = sha256(&files["xx_t-ud-dev.conllu"]);
    options.pins.insert("xx_t-ud-dev.conllu".into(), right.clone());
    let fetched = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap();
    let wrong = sha256(b"other");
    options.pins.insert("xx_t-ud-dev.conllu".into(), wrong.clone());
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    let folder = fetched.folder.display();
    assert_eq!(
        error.to_string(),
        format!(
            "xx_t-ud-dev.conllu: the pinned SHA-256 does not match: expected {wrong}, found {right}; check the pin, or delete {folder} and fetch it again"
        )
    );
    options.pins.insert("xx_t-ud-dev.conllu".into(), "abc".into());
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    assert!(matches!(error, FetchError::BadPin { .. }), "{error}");
}

#[test]
fn a_pin_that_names_no_file_is_an_error() {
    let (server, files) = treebank();
    let cache = tempfile::tempdir().unwrap();
    let mut options = server.options(cache.path());
    let dev = sha256(&files["xx_t-ud-dev.conllu"]);
    options.pins.insert("xx_t-ud-dev.conllu".into(), dev.clone());
    let fetched = [fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap()];
    fetch::check_pins(&options, &fetched).unwrap();
    options.pins.insert("xx_t-ud-dev.conlu".into(), dev);
    let error = fetch::check_pins(&options, &fetched).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the pin for `xx_t-ud-dev.conlu` names no fetched file; expected one of: README.md, xx_t-ud-dev.conllu, xx_t-ud-test.conllu, xx_t-ud-train.conllu; correct the name"
    );
}

#[test]
fn a_cached_treebank_of_another_release_is_an_error() {
    let (server, _) = treebank();
    let pages = server.pages.lock().unwrap().clone();
    let pages = pages.into_iter().map(|(path, page)| (path.replace("r2.16", "r2.15"), page));
    server.pages.lock().unwrap().extend(pages);
    let cache = tempfile::tempdir().unwrap();
    let usual = server.options(cache.path());
    let older = FetchOptions { revision: Some("r2.15".into()), ..usual.clone() };
    let fetched = fetch::treebank("UD_Toy-T", &older, &mut quiet).unwrap();
    assert_eq!(fetched.revision, "r2.15");
    let error = fetch::treebank("UD_Toy-T", &usual, &mut quiet).unwrap_err();
    let folder = fetched.folder.display();
    assert_eq!(
        error.to_string(),
        format!(
            "{folder} contains revision r2.15, expected r2.16; delete the folder to fetch r2.16, or keep it and fetch with --revision r2.15"
        )
    );
    assert!(!fetch::treebank("UD_Toy-T", &older, &mut quiet).unwrap().downloaded);
}

#[test]
fn a_file_that_changed_in_the_cache_is_an_error() {
    let (server, _) = treebank();
    let cache = tempfile::tempdir().unwrap();
    let mut options = server.options(cache.path());
    let fetched = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap();
    options.revision = Some("r2.15".into());
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    assert!(matches!(error, FetchError::OtherRevision { .. }), "{error}");
    options.revision = None;
    fs::write(fetched.folder.join("xx_t-ud-dev.conllu"), "1\tfire\n").unwrap();
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    assert!(error.to_string().contains("not the file that was fetched"), "{error}");
}

#[test]
fn invalid_names_and_responses_are_errors() {
    let (server, _) = treebank();
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    for name in ["English", "UD_../x", "UD_a/b", ""] {
        let error = fetch::treebank(name, &options, &mut quiet).unwrap_err();
        assert!(matches!(error, FetchError::NoName { .. }), "{error}");
    }
    for id in ["a/b/c", "../x", "a/", "", ".hidden", "x.part"] {
        let error = fetch::encoder(id, &options, &mut quiet).unwrap_err();
        assert!(matches!(error, FetchError::NoName { .. }), "{error}");
    }
    assert_eq!(server.requests(), 0);
    let error = fetch::treebank("UD_None-None", &options, &mut quiet).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("status 404") && text.contains("check the treebank's name"), "{text}");
    server.change(LIST, |page| page.status = 503);
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    assert!(matches!(error, FetchError::Status { status: 503, .. }), "{error}");
    server.change(LIST, |page| (page.status, page.body) = (200, b"<html>".to_vec()));
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    assert!(matches!(error, FetchError::Listing { .. }), "{error}");
    server.page(LIST, "[]");
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    assert!(error.to_string().contains("has no file *-ud-train.conllu"), "{error}");
    assert!(!cache.path().join("treebanks/UD_Toy-T").exists());
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut options = options;
    options.hosts.treebank_lists = format!("http://{closed}");
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    assert!(matches!(error, FetchError::Connection { .. }), "{error}");
}

#[test]
fn two_processes_do_not_write_one_folder() {
    let (server, _) = treebank();
    let cache = tempfile::tempdir().unwrap();
    let part = cache.path().join("treebanks/UD_Toy-T.part");
    fs::create_dir_all(&part).unwrap();
    let lock = fs::File::create(part.join(".lock")).unwrap();
    lock.lock().unwrap();
    let options = server.options(cache.path());
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    assert!(matches!(error, FetchError::Busy { .. }), "{error}");
    drop(lock);
    fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap();
}

#[test]
fn a_fetch_that_another_process_finished_uses_its_result() {
    let (server, _) = treebank();
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    let faster = options.clone();
    server.meanwhile(LIST, move || {
        assert!(fetch::treebank("UD_Toy-T", &faster, &mut quiet).unwrap().downloaded);
    });
    let fetched = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap();
    assert!(!fetched.downloaded);
    let left = fs::read_dir(cache.path().join("treebanks")).unwrap();
    let left: Vec<_> = left.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(left, ["UD_Toy-T"]);
}

#[test]
fn an_encoder_comes_with_its_weights_and_nothing_else() {
    let readme = b"---\nlicense: apache-2.0\n---\n";
    let files: [(&str, &[u8]); 6] = [
        ("model.safetensors", b"weights"),
        ("README.md", readme),
        ("config.json", b"{}"),
        ("tokenizer.json", b"{}"),
        ("pytorch_model.bin", b"pickle"),
        ("evil/../../x", b"x"),
    ];
    let server = encoder(&files);
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    let fetched = fetch::encoder("some/encoder", &options, &mut quiet).unwrap();
    assert_eq!(fetched.revision, COMMIT);
    let names: Vec<_> = fetched.files.keys().collect();
    assert_eq!(names, ["README.md", "config.json", "model.safetensors", "tokenizer.json"]);
    assert_eq!(fetched.licence.unwrap().name, "apache-2.0");
    let found = cached(cache.path()).encoder("some/encoder", true).unwrap();
    assert_eq!(found.sources["weights"].sha256, sha256(b"weights"));
    let elsewhere = cached(cache.path()).encoder("other", true).unwrap_err().to_string();
    assert!(elsewhere.contains("some/encoder"), "{elsewhere}");
}

/// Built-in plans use short names, which the hub does not have.
#[test]
fn a_short_name_is_fetched_by_its_hub_id_and_found_by_both() {
    let files: [(&str, &[u8]); 3] =
        [("model.safetensors", b"weights"), ("config.json", b"{}"), ("tokenizer.json", b"{}")];
    let server = encoder_named("intfloat/multilingual-e5-small", &files);
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    let fetched = fetch::encoder("multilingual-e5-small", &options, &mut quiet).unwrap();
    assert!(fetched.downloaded);
    for name in ["multilingual-e5-small", "intfloat/multilingual-e5-small"] {
        assert!(!fetch::encoder(name, &options, &mut quiet).unwrap().downloaded, "{name}");
        let found = cached(cache.path()).encoder(name, true).unwrap();
        assert_eq!((found.name.as_str(), &found.sources["weights"].sha256), (name, &sha256(b"weights")));
    }
    assert!(cached(cache.path()).encoder("other/multilingual-e5-small", true).is_err());
}

#[test]
fn damaged_weights_fail_their_sha256() {
    let server =
        encoder(&[("model.safetensors", b"weights"), ("config.json", b"{}"), ("vocab.txt", b"[PAD]\n")]);
    server.change(&format!("/hub/some/encoder/resolve/{COMMIT}/model.safetensors"), |page| {
        page.body = b"WEIGHTS".to_vec();
    });
    let cache = tempfile::tempdir().unwrap();
    let mut options = server.options(cache.path());
    let error = fetch::encoder("some/encoder", &options, &mut quiet).unwrap_err();
    assert!(error.to_string().contains("model.safetensors: the SHA-256 does not match"), "{error}");
    options.weights = false;
    let fetched = fetch::encoder("some/encoder", &options, &mut quiet).unwrap();
    assert!(!fetched.files.contains_key("model.safetensors"));
    options.weights = true;
    fetch::encoder("some/encoder", &options, &mut quiet).unwrap_err();
    server.page(&format!("/hub/some/encoder/resolve/{COMMIT}/model.safetensors"), "weights");
    let fetched = fetch::encoder("some/encoder", &options, &mut quiet).unwrap();
    assert!(
        fetched.downloaded && fetched.files.contains_key("model.safetensors"),
        "only the weights were missing"
    );
}

#[test]
fn invalid_digests_and_commits_are_errors() {
    let files: [(&str, &[u8]); 3] =
        [("model.safetensors", b"weights"), ("config.json", b"{}"), ("vocab.txt", b"[PAD]\n")];
    let revision = "/hub/api/models/some/encoder/revision/main";
    let tree = format!("/hub/api/models/some/encoder/tree/{COMMIT}");
    let (blob, large) = (blob_id(b"{}"), sha256(b"weights"));
    let cases: [(&str, &str, &str, &str); 4] = [
        (&tree, &blob, "xéééééé", "the digest of config.json, not 40"),
        (&tree, &blob, "../../../../../../../../../../../../xxxx", "the digest of config.json, not 40"),
        (&tree, &large, &blob, "the digest of model.safetensors, not 64"),
        (revision, COMMIT, "c0ffee", "the commit, not 40"),
    ];
    for (page, right, wrong, what) in cases {
        let server = encoder(&files);
        server.change(page, |page| {
            let text = String::from_utf8(page.body.clone()).unwrap();
            page.body = text.replace(right, wrong).into_bytes();
        });
        let cache = tempfile::tempdir().unwrap();
        let error = fetch::encoder("some/encoder", &server.options(cache.path()), &mut quiet).unwrap_err();
        assert!(matches!(error, FetchError::Listing { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("found \"{wrong}\" as {what} hexadecimal digits")), "{text}");
    }
}

#[test]
fn weights_of_torch_are_fetched_if_there_are_no_others() {
    let server =
        encoder(&[("pytorch_model.bin", b"pickle"), ("config.json", b"{}"), ("vocab.txt", b"[PAD]\n")]);
    let cache = tempfile::tempdir().unwrap();
    let fetched = fetch::encoder("some/encoder", &server.options(cache.path()), &mut quiet).unwrap();
    assert!(fetched.files.contains_key("pytorch_model.bin"));
    assert!(cached(cache.path()).encoder("some/encoder", true).unwrap().sources.contains_key("weights"));
}

#[test]
fn an_encoder_without_weights_lists_what_it_has() {
    let server = encoder(&[("tf_model.h5", b"other"), ("config.json", b"{}"), ("vocab.txt", b"[PAD]\n")]);
    let cache = tempfile::tempdir().unwrap();
    let error = fetch::encoder("some/encoder", &server.options(cache.path()), &mut quiet).unwrap_err();
    assert_eq!(
        error.to_string(),
        "some/encoder at main has no weights as safetensors or pytorch_model.bin; its files: config.json, tf_model.h5, vocab.txt"
    );
}
