//! Offline mode, mirrors, redirects, licences, and treebanks whose files are known without asking a host.

use std::fs;
use std::path::Path;

use frostline_assets::fetch::{self, FetchError, FetchOptions, Hosts};
use frostline_assets::licence_of;

mod server;

use server::{Server, TRAIN, blob_id, list_of, quiet, treebank, treebank_named};

const EWT: &str = "UD_English-EWT";
const EWT_TRAIN: &str = "en_ewt-ud-train.conllu";

/// Returns the content of the cache's folder of treebanks.
fn treebanks_in(cache: &Path) -> Vec<String> {
    let Ok(found) = fs::read_dir(cache.join("treebanks")) else { return Vec::new() };
    found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Returns a server that lists the correct blob ids of English EWT, with any file contents.
fn with_ids_of_the_release() -> Server {
    let (server, files) = treebank_named(EWT, "en_ewt", &[("README.md", "# EWT")]);
    server.change(&list_of(EWT), |page| {
        let mut text = String::from_utf8(page.body.clone()).unwrap();
        for (file, blob) in fetch::known_blobs(EWT, "r2.16") {
            text = text.replace(&blob_id(&files[file]), blob);
        }
        page.body = text.into_bytes();
    });
    server
}

/// Adds a file to the end of a treebank's list.
fn add_to_list(server: &Server, treebank: &str, name: &str) {
    server.change(&list_of(treebank), |page| {
        let mut text = String::from_utf8(page.body.clone()).unwrap();
        let name = serde_json::Value::from(name);
        let file = format!(r#",{{"name":{name},"type":"file","size":3,"sha":"{}"}}]"#, blob_id(b"abc"));
        text.replace_range(text.len() - 1.., &file);
        page.body = text.into_bytes();
    });
}

#[test]
fn a_file_that_is_listed_twice_is_an_error() {
    let (server, _) = treebank();
    add_to_list(&server, "UD_Toy-T", "xx_t-ud-train.conllu");
    let cache = tempfile::tempdir().unwrap();
    let error = fetch::treebank("UD_Toy-T", &server.options(cache.path()), &mut quiet).unwrap_err();
    assert!(error.to_string().contains("found two files xx_t-ud-train.conllu"), "{error}");
    assert_eq!(server.requests(), 1);
}

/// Names of files are printed.
#[test]
fn names_with_control_characters_are_ignored() {
    let (server, _) = treebank();
    add_to_list(&server, "UD_Toy-T", "\u{1b}[2J-ud-train.conllu");
    let cache = tempfile::tempdir().unwrap();
    let fetched = fetch::treebank("UD_Toy-T", &server.options(cache.path()), &mut quiet).unwrap();
    assert_eq!(fetched.files.len(), 4);
}

#[test]
fn offline_mode_opens_no_connection() {
    let (server, _) = treebank();
    let cache = tempfile::tempdir().unwrap();
    let online = server.options(cache.path());
    let offline = FetchOptions { offline: true, ..online.clone() };
    for error in [
        fetch::treebank("UD_Toy-T", &offline, &mut quiet).unwrap_err(),
        fetch::encoder("some/encoder", &offline, &mut quiet).unwrap_err(),
    ] {
        assert!(matches!(error, FetchError::Offline { .. }), "{error}");
    }
    assert_eq!(server.requests(), 0);
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0, "nothing is written either");

    let fetched = fetch::treebank("UD_Toy-T", &online, &mut quiet).unwrap();
    let requests = server.requests();
    assert!(!fetch::treebank("UD_Toy-T", &offline, &mut quiet).unwrap().downloaded);
    fs::write(fetched.folder.join("xx_t-ud-dev.conllu"), "1\tfire\n").unwrap();
    let error = fetch::treebank("UD_Toy-T", &offline, &mut quiet).unwrap_err();
    assert!(matches!(error, FetchError::Damaged { .. }), "the cache is checked: {error}");
    assert_eq!(server.requests(), requests);
}

#[test]
fn a_mirror_serves_lists_and_files_at_one_address() {
    let (server, files) = treebank();
    let pages = server.pages.lock().unwrap().clone();
    for (path, page) in pages {
        let at_one = path.replacen("/lists/", "/ud/", 1).replacen("/files/", "/ud/", 1);
        server.pages.lock().unwrap().insert(at_one, page);
    }
    let cache = tempfile::tempdir().unwrap();
    let hosts = Hosts::default().with_treebanks_at(&format!("{}/ud/", server.address));
    let options = FetchOptions { hosts, ..FetchOptions::new(cache.path()) };
    let fetched = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap();
    assert_eq!(fs::read(fetched.folder.join("README.md")).unwrap(), files["README.md"]);
    assert!(server.asked.lock().unwrap().iter().all(|(path, _)| path.starts_with("/ud/")));
}

#[test]
fn an_unencrypted_host_is_an_error_before_any_request() {
    let cache = tempfile::tempdir().unwrap();
    let mirror = "http://mirror.example";
    let mut options = FetchOptions::new(cache.path());
    options.hosts = Hosts::default().with_treebanks_at(mirror).with_hub_at(mirror);
    for error in [
        fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err(),
        fetch::encoder("some/encoder", &options, &mut quiet).unwrap_err(),
    ] {
        assert_eq!(
            error.to_string(),
            "`http://mirror.example` cannot be a host to download from: a connection to another machine must be encrypted; expected https://HOST/PATH, or http:// for a server on this machine"
        );
    }
    options.hosts = Hosts { treebank_files: mirror.into(), ..Hosts::default() };
    let error = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap_err();
    assert!(matches!(error, FetchError::BadEndpoint { .. }), "either host of treebanks: {error}");
}

/// A server on this machine must not send a request to another one.
#[test]
fn an_unencrypted_redirect_is_not_followed() {
    let (server, _) = treebank();
    let (other, _) = treebank();
    server.change(TRAIN, |page| {
        page.status = 302;
        page.location = Some(format!("{}{TRAIN}", other.address));
    });
    let cache = tempfile::tempdir().unwrap();
    let error = fetch::treebank("UD_Toy-T", &server.options(cache.path()), &mut quiet).unwrap_err();
    assert!(matches!(error, FetchError::Status { status: 302, .. }), "{error}");
    assert_eq!(other.requests(), 0);
}

#[test]
fn a_licence_is_kept_beside_the_data() {
    let readme = "# Toy\nLicense: CC BY-SA 4.0\n";
    let text = "A licence.\n";
    let (server, _) = treebank_named("UD_Toy-L", "xx_l", &[("README.md", readme), ("LICENSE.txt", text)]);
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    let fetched = fetch::treebank("UD_Toy-L", &options, &mut quiet).unwrap();
    let licence = fetched.licence.unwrap();
    assert_eq!(licence.name, "CC BY-SA 4.0");
    assert_eq!(licence.files, ["LICENSE.txt", "README.md"]);
    assert_eq!(fs::read_to_string(fetched.folder.join("LICENSE.txt")).unwrap(), text);
    let again = fetch::treebank("UD_Toy-L", &options, &mut quiet).unwrap();
    assert_eq!(again.licence, Some(licence.clone()), "from the cache too");
    assert_eq!(licence_of(&fetched.folder), Some(licence), "and without a fetch");
}

#[test]
fn a_list_with_other_blob_ids_than_the_release_is_an_error() {
    let (server, files) = treebank_named(EWT, "en_ewt", &[]);
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    let error = fetch::treebank(EWT, &options, &mut quiet).unwrap_err();
    let found = blob_id(&files[EWT_TRAIN]);
    assert_eq!(
        error.to_string(),
        format!(
            "{EWT_TRAIN} is not a file of release r2.16: expected git blob id 34731d23bafeeff233fdcee18ffc0254b1aa0e28, found git blob id {found} in the host's list; nothing was kept of a download: check the host, or delete the folder in the cache and fetch it again"
        )
    );
    assert_eq!(server.requests(), 1, "the list only");
    assert_eq!(treebanks_in(cache.path()), [""; 0]);

    // A SHA-256 in the list would be checked instead of the blob id, and does not prove the release.
    let server = with_ids_of_the_release();
    let blob = fetch::known_blobs(EWT, "r2.16")[0].1;
    server.change(&list_of(EWT), |page| {
        let text = String::from_utf8(page.body.clone()).unwrap();
        let sha256 = frostline_assets::sha256(&files[EWT_TRAIN]);
        let large = format!(r#""{blob}","lfs":{{"oid":"{sha256}"}}"#);
        page.body = text.replace(&format!(r#""{blob}""#), &large).into_bytes();
    });
    let error = fetch::treebank(EWT, &server.options(cache.path()), &mut quiet).unwrap_err();
    assert!(error.to_string().contains("found SHA-256"), "{error}");

    // If names differ in case only, the second file would replace the first.
    let server = with_ids_of_the_release();
    add_to_list(&server, EWT, "EN_EWT-ud-train.conllu");
    let error = fetch::treebank(EWT, &server.options(cache.path()), &mut quiet).unwrap_err();
    assert!(error.to_string().starts_with("EN_EWT-ud-train.conllu is not a file of release"), "{error}");

    let server = with_ids_of_the_release();
    server.change(&list_of(EWT), |page| {
        let text = String::from_utf8(page.body.clone()).unwrap();
        page.body = text.replace("en_ewt-ud-test.conllu", "en_ewt-ud-tests.conllu").into_bytes();
    });
    let error = fetch::treebank(EWT, &server.options(cache.path()), &mut quiet).unwrap_err();
    assert!(error.to_string().contains("no such file in the host's list"), "{error}");
    assert_eq!(treebanks_in(cache.path()), [""; 0]);
}

#[test]
fn nothing_is_kept_of_a_release_with_other_contents() {
    let server = with_ids_of_the_release();
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    let error = fetch::treebank(EWT, &options, &mut quiet).unwrap_err();
    assert!(error.to_string().contains("the git blob id does not match: expected a994b6990643"), "{error}");
    assert_eq!(treebanks_in(cache.path()), [""; 0]);
    // Another release is not known, so the host's list decides.
    let pages = server.pages.lock().unwrap().clone();
    let (_, files) = treebank_named(EWT, "en_ewt", &[]);
    for (path, mut page) in pages {
        let mut text = String::from_utf8(page.body).unwrap();
        for (file, blob) in fetch::known_blobs(EWT, "r2.16") {
            text = text.replace(blob, &blob_id(&files[file]));
        }
        page.body = text.into_bytes();
        server.pages.lock().unwrap().insert(path.replace("r2.16", "r2.15"), page);
    }
    let older = FetchOptions { revision: Some("r2.15".into()), ..options };
    assert!(fetch::treebank(EWT, &older, &mut quiet).unwrap().downloaded);
}

/// A cache of an earlier version may have another file under the release's name.
#[test]
fn a_cached_release_with_other_contents_is_an_error() {
    let (server, _) = treebank_named("UD_Toy-T", "en_ewt", &[]);
    let cache = tempfile::tempdir().unwrap();
    let mut options = server.options(cache.path());
    let fetched = fetch::treebank("UD_Toy-T", &options, &mut quiet).unwrap();
    fs::rename(&fetched.folder, cache.path().join("treebanks").join(EWT)).unwrap();
    options.offline = true;
    let error = fetch::treebank(EWT, &options, &mut quiet).unwrap_err();
    assert!(matches!(error, FetchError::OtherFile { .. }), "{error}");
}

/// The treebanks that tests of other crates read belong to the release. Naija's train split is excluded: the
/// folder's file joins the treebank's recordings in the order of their names, which differs from the release.
#[test]
fn the_shared_treebanks_are_those_of_the_release() {
    let Some(shared) = frostline_testing::shared() else { return };
    let mut checked = 0;
    for treebank in [EWT, "UD_Naija-NSC"] {
        for (file, blob) in fetch::known_blobs(treebank, "r2.16") {
            if file != "pcm_nsc-ud-train.conllu" {
                let path = shared.join("data/ud").join(treebank).join(file);
                assert_eq!(fetch::git_blob_id(&path).unwrap(), blob, "{file}");
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 5);
}

#[test]
fn the_release_itself_is_fetched_with_its_licence() {
    let Some(shared) = frostline_testing::shared() else { return };
    let server = Server::start();
    let mut list = Vec::new();
    let splits = fetch::known_blobs(EWT, "r2.16").into_iter().map(|(file, _)| file);
    for name in splits.chain(["LICENSE.txt", "README.md"]) {
        let body = fs::read(shared.join("data/ud").join(EWT).join(name)).unwrap();
        let (bytes, id) = (body.len(), blob_id(&body));
        list.push(format!(r#"{{"name":"{name}","type":"file","size":{bytes},"sha":"{id}"}}"#));
        server.page(&format!("/files/UniversalDependencies/{EWT}/r2.16/{name}"), body);
    }
    server.page(&list_of(EWT), format!("[{}]", list.join(",")));
    let cache = tempfile::tempdir().unwrap();
    let fetched = fetch::treebank(EWT, &server.options(cache.path()), &mut quiet).unwrap();
    assert_eq!(fetched.files.len(), 5);
    assert_eq!(fetched.licence.unwrap().name, "CC BY-SA 4.0");
    let offline = FetchOptions { offline: true, ..FetchOptions::new(cache.path()) };
    assert!(!fetch::treebank(EWT, &offline, &mut quiet).unwrap().downloaded);
}
