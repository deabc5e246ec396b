//! Lists of files on a host: names, sizes and digests, and the choice of files to download.
//!
//! Addresses in a list are ignored: a file's address is built from its name. Digests and commits must
//! be hexadecimal, since they become part of file names and addresses. Names are printed, so they have no control
//! characters; each is listed once, since a second file would replace the first.

use serde_json::Value;
use ureq::Agent;

use super::endpoint::escape;
use super::entry::{Digest, GIT_DIGITS, RemoteEntry, SHA256_DIGITS, hex_digits};
use super::error::FetchError;
use super::http;
use super::hub_client::{HubClient, RequestSubject};
use super::options::Hosts;
use crate::licence;

/// The most pages of a list that are read.
const MOST_PAGES: usize = 100;

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

/// Returns the commit of an encoder's revision, and the files in its folder.
pub(super) fn list_encoder(
    client: &HubClient,
    about: RequestSubject<'_>,
) -> Result<(String, Vec<ListedFile>), FetchError> {
    let api = format!("{}/api/models/{}", client.base(), about.id);
    let url = format!("{api}/revision/{}", escape(about.revision));
    let (facts, _) = client.get_json(&url, about)?;
    let commit = hex_digits(&facts["sha"], "the commit", GIT_DIGITS);
    let commit = commit.map_err(|reason| FetchError::Listing { url, reason })?.to_ascii_lowercase();
    let mut url = format!("{api}/tree/{commit}");
    let mut listed = Vec::new();
    for _ in 0..MOST_PAGES {
        let (list, next) = client.get_json(&url, about)?;
        listed.extend(plain_files(&url, &list, "path", "oid")?);
        match next {
            Some(next) => url = next,
            None => return Ok((commit, listed)),
        }
    }
    Err(FetchError::Listing { url, reason: format!("more than {MOST_PAGES} pages") })
}

/// Returns the files of an encoder that are downloaded.
///
/// # Errors
/// If one is missing without which the encoder cannot be used.
pub(super) fn choose_encoder_files(
    listed: Vec<ListedFile>,
    about: RequestSubject<'_>,
    need_weights: bool,
) -> Result<Vec<ListedFile>, FetchError> {
    let names: Vec<String> = listed.iter().map(|file| file.name.clone()).collect();
    let weights = weight_files(&names);
    let tokenizer = |name: &str| name == "tokenizer.json" || name == "vocab.txt";
    let require =
        |fits: &dyn Fn(&str) -> bool, missing| require_file(&listed, about.id, about.revision, fits, missing);
    require(&|name| name == "config.json", "config.json")?;
    require(
        &tokenizer,
        "tokenizer.json or vocab.txt (in Python, `AutoTokenizer.from_pretrained(ID).save_pretrained(FOLDER)` makes the first)",
    )?;
    if need_weights {
        require(
            &|name| weights.iter().any(|file| file == name),
            "weights as safetensors or pytorch_model.bin",
        )?;
    }
    let is_chosen =
        |name: &str| is_described(name) || (need_weights && weights.iter().any(|file| file == name));
    Ok(listed.into_iter().filter(|file| is_chosen(&file.name)).collect())
}

/// Returns whether a file of an encoder is fetched with or without its weights.
pub(super) fn is_described(name: &str) -> bool {
    const NAMES: [&str; 5] =
        ["config.json", "tokenizer.json", "vocab.txt", "tokenizer_config.json", "special_tokens_map.json"];
    NAMES.contains(&name) || licence::FILES.contains(&name)
}

/// Returns the files of weights in the first form that an encoder has: whole, or the index and all shards.
pub(super) fn weight_files(names: &[String]) -> Vec<String> {
    for (whole, stem) in [("model.safetensors", "model-"), ("pytorch_model.bin", "pytorch_model-")] {
        if names.iter().any(|name| name == whole) {
            return vec![whole.into()];
        }
        let index = format!("{whole}.index.json");
        if names.contains(&index) {
            let end = &whole[whole.rfind('.').unwrap_or(whole.len())..];
            let shards = names.iter().filter(|name| name.starts_with(stem) && name.ends_with(end));
            return std::iter::once(&index).chain(shards).cloned().collect();
        }
    }
    Vec::new()
}

/// A file in a list.
#[derive(Debug)]
pub(super) struct ListedFile {
    pub(super) name: String,
    bytes: u64,
    digest: Digest,
}

impl ListedFile {
    pub(super) fn entry_at(self, folder_url: &str) -> RemoteEntry {
        RemoteEntry {
            url: format!("{folder_url}/{}", escape(&self.name)),
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
