//! Lists of files on a host: names, sizes and digests, and the choice of files to download.
//!
//! Addresses in a list are ignored: a file's address is built from its name. Digests and commits must
//! be hexadecimal, since they become part of file names and addresses. Names are printed, so they have no control
//! characters; each is listed once, since a second file would replace the first.

use serde_json::Value;
use ureq::Agent;

use super::entry::{Digest, GIT_DIGITS, RemoteEntry, SHA256_DIGITS, hex_digits};
use super::error::FetchError;
use super::http;
use super::options::{FetchOptions, Hosts};
use crate::licence;

/// Returns the files to fetch of a treebank's release.
pub(super) fn list_treebank(
    agent: &Agent,
    hosts: &Hosts,
    name: &str,
    revision: &str,
) -> Result<Vec<RemoteEntry>, FetchError> {
    let repository = format!("UniversalDependencies/{name}");
    let url = format!("{}/repos/{repository}/contents?ref={revision}", hosts.treebank_lists);
    let hint = format!("check the treebank's name and the release ({revision})");
    let listed = plain_files(&url, &http::request_json(agent, &url, &hint)?, "name", "sha")?;
    let split = |split: &str| {
        let end = format!("-ud-{split}.conllu");
        move |name: &str| name.ends_with(&end)
    };
    let (train, dev, test) = (split("train"), split("dev"), split("test"));
    require_file(&listed, name, revision, &train, "file *-ud-train.conllu")?;
    require_file(&listed, name, revision, &dev, "file *-ud-dev.conllu")?;
    let chosen = listed.into_iter().filter(|file| {
        let name = file.name.as_str();
        train(name) || dev(name) || test(name) || licence::FILES.contains(&name)
    });
    let at = format!("{}/{repository}/{revision}", hosts.treebank_files);
    Ok(chosen.map(|file| file.entry_at(&at)).collect())
}

/// Returns the commit of an encoder's revision, and the files to fetch of it.
pub(super) fn list_encoder(
    agent: &Agent,
    options: &FetchOptions,
    id: &str,
    revision: &str,
) -> Result<(String, Vec<RemoteEntry>), FetchError> {
    let hub = &options.hosts.hub;
    let hint = format!("check the hub id and the revision ({revision}); private encoders cannot be fetched");
    let url = format!("{hub}/api/models/{id}/revision/{revision}");
    let facts = http::request_json(agent, &url, &hint)?;
    let commit = hex_digits(&facts["sha"], "the commit", GIT_DIGITS);
    let commit = commit.map_err(|reason| FetchError::Listing { url, reason })?;

    let url = format!("{hub}/api/models/{id}/tree/{commit}");
    let listed = plain_files(&url, &http::request_json(agent, &url, &hint)?, "path", "oid")?;
    let is = |wanted: &'static str| move |name: &str| name == wanted;
    let index = "model.safetensors.index.json";
    let sharded = listed.iter().any(|file| file.name == index)
        && !listed.iter().any(|file| file.name == "model.safetensors");
    let weights = |name: &str| match sharded {
        true => name == index || (name.starts_with("model-") && name.ends_with(".safetensors")),
        false => name == "model.safetensors",
    };
    let tokenizer = |name: &str| name == "tokenizer.json" || name == "vocab.txt";
    require_file(&listed, id, revision, &is("config.json"), "config.json")?;
    require_file(&listed, id, revision, &tokenizer, "tokenizer.json or vocab.txt")?;
    if options.weights {
        require_file(&listed, id, revision, &weights, "weights in safetensors format")?;
    }
    let others = ["config.json", "tokenizer_config.json", "special_tokens_map.json"];
    let chosen = listed.into_iter().filter(|file| {
        let name = file.name.as_str();
        let described = others.contains(&name) || licence::FILES.contains(&name);
        described || tokenizer(name) || (options.weights && weights(name))
    });
    let at = format!("{hub}/{id}/resolve/{commit}");
    Ok((commit.to_string(), chosen.map(|file| file.entry_at(&at)).collect()))
}

/// A file in a list.
struct ListedFile {
    name: String,
    bytes: u64,
    digest: Digest,
}

impl ListedFile {
    fn entry_at(self, folder_url: &str) -> RemoteEntry {
        RemoteEntry {
            url: format!("{folder_url}/{}", self.name),
            name: self.name,
            bytes: self.bytes,
            digest: self.digest,
        }
    }
}

/// Returns the plain files of a list, sorted by name.
fn plain_files(url: &str, list: &Value, name: &str, id: &str) -> Result<Vec<ListedFile>, FetchError> {
    let bad = |reason: &str| FetchError::Listing { url: url.into(), reason: reason.into() };
    let list = list.as_array().ok_or_else(|| bad("something else"))?;
    let mut files = Vec::new();
    for item in list.iter().filter(|item| item["type"] == "file") {
        let name = item[name].as_str().ok_or_else(|| bad("a file without a name"))?;
        if name.contains(['/', '\\']) || name.contains(char::is_control) {
            continue;
        }
        let what = format!("the digest of {name}");
        let digest = match &item["lfs"]["oid"] {
            Value::Null => hex_digits(&item[id], &what, GIT_DIGITS).map(|blob| Digest::GitBlob(blob.into())),
            large => hex_digits(large, &what, SHA256_DIGITS).map(|sha256| Digest::Sha256(sha256.into())),
        };
        let digest = digest.map_err(|error_reason| bad(&error_reason))?;
        let bytes = item["size"].as_u64().ok_or_else(|| bad("a file without a size"))?;
        files.push(ListedFile { name: name.into(), bytes, digest });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    match files.windows(2).find(|pair| pair[0].name == pair[1].name) {
        Some(pair) => Err(bad(&format!("two files {}", pair[0].name))),
        None => Ok(files),
    }
}

fn require_file(
    listed: &[ListedFile],
    name: &str,
    revision: &str,
    fits: &dyn Fn(&str) -> bool,
    missing: &'static str,
) -> Result<(), FetchError> {
    if listed.iter().any(|file| fits(&file.name)) {
        return Ok(());
    }
    Err(FetchError::MissingFile {
        name: name.into(),
        revision: revision.into(),
        missing,
        found: listed.iter().map(|file| file.name.clone()).collect(),
    })
}
