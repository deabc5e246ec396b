//! What a host says there is: names, sizes and digests.
//!
//! Owns the choice of files. Refuses addresses that a list contains: a file's address is made
//! from its name.

use serde_json::Value;
use ureq::Agent;

use super::{FetchError, Hosts, Options, download};

/// A file that will be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) bytes: u64,
    pub(super) digest: Digest,
}

/// What the host says of a file's contents, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Digest {
    /// The id of a git blob: SHA-1 over `blob SIZE\0` and the contents.
    GitBlob(String),
    /// SHA-256 of the contents, which hosts give for large files.
    Sha256(String),
}

impl Digest {
    pub(super) const fn algorithm(&self) -> &'static str {
        match self {
            Self::GitBlob(_) => "git blob id",
            Self::Sha256(_) => "SHA-256",
        }
    }

    pub(super) fn hex(&self) -> &str {
        match self {
            Self::GitBlob(hex) | Self::Sha256(hex) => hex,
        }
    }
}

/// The files to fetch of a treebank's release.
pub(super) fn treebank(
    agent: &Agent,
    hosts: &Hosts,
    name: &str,
    revision: &str,
) -> Result<Vec<Entry>, FetchError> {
    let repository = format!("UniversalDependencies/{name}");
    let url = format!("{}/repos/{repository}/contents?ref={revision}", hosts.treebank_lists);
    let hint = format!("check the treebank's name and the release ({revision})");
    let there = files(&url, &download::json(agent, &url, &hint)?, "name", "sha")?;
    let split = |split: &str| {
        let end = format!("-ud-{split}.conllu");
        move |name: &str| name.ends_with(&end)
    };
    let (train, dev, test) = (split("train"), split("dev"), split("test"));
    require(&there, name, revision, &train, "file *-ud-train.conllu")?;
    require(&there, name, revision, &dev, "file *-ud-dev.conllu")?;
    let chosen = there.into_iter().filter(|file| {
        let name = file.name.as_str();
        train(name) || dev(name) || test(name) || ["LICENSE.txt", "README.md"].contains(&name)
    });
    let at = format!("{}/{repository}/{revision}", hosts.treebank_files);
    Ok(chosen.map(|file| file.at(&at)).collect())
}

/// The commit of an encoder's revision, and the files to fetch of it.
pub(super) fn encoder(
    agent: &Agent,
    options: &Options,
    id: &str,
    revision: &str,
) -> Result<(String, Vec<Entry>), FetchError> {
    let hub = &options.hosts.hub;
    let hint = format!("check the hub id and the revision ({revision}); private encoders are not fetched");
    let url = format!("{hub}/api/models/{id}/revision/{revision}");
    let facts = download::json(agent, &url, &hint)?;
    let commit = facts["sha"].as_str().filter(|sha| sha.bytes().all(|b| b.is_ascii_hexdigit()));
    let commit = commit.ok_or_else(|| FetchError::Listing { url, reason: "no commit".into() })?;

    let url = format!("{hub}/api/models/{id}/tree/{commit}");
    let there = files(&url, &download::json(agent, &url, &hint)?, "path", "oid")?;
    let is = |wanted: &'static str| move |name: &str| name == wanted;
    let index = "model.safetensors.index.json";
    let sharded = there.iter().any(|file| file.name == index)
        && !there.iter().any(|file| file.name == "model.safetensors");
    let weights = |name: &str| match sharded {
        true => name == index || (name.starts_with("model-") && name.ends_with(".safetensors")),
        false => name == "model.safetensors",
    };
    let tokenizer = |name: &str| name == "tokenizer.json" || name == "vocab.txt";
    require(&there, id, revision, &is("config.json"), "config.json")?;
    require(&there, id, revision, &tokenizer, "tokenizer.json or vocab.txt")?;
    if options.weights {
        require(&there, id, revision, &weights, "weights in safetensors format")?;
    }
    let others = ["config.json", "tokenizer_config.json", "special_tokens_map.json"];
    let chosen = there.into_iter().filter(|file| {
        let name = file.name.as_str();
        others.contains(&name) || tokenizer(name) || (options.weights && weights(name))
    });
    let at = format!("{hub}/{id}/resolve/{commit}");
    Ok((commit.to_string(), chosen.map(|file| file.at(&at)).collect()))
}

/// A file in a list.
struct Listed {
    name: String,
    bytes: u64,
    digest: Digest,
}

impl Listed {
    fn at(self, folder_url: &str) -> Entry {
        Entry {
            url: format!("{folder_url}/{}", self.name),
            name: self.name,
            bytes: self.bytes,
            digest: self.digest,
        }
    }
}

/// The plain files of a list, sorted by name.
fn files(url: &str, list: &Value, name: &str, id: &str) -> Result<Vec<Listed>, FetchError> {
    let bad = |reason: &str| FetchError::Listing { url: url.into(), reason: reason.into() };
    let list = list.as_array().ok_or_else(|| bad("no list"))?;
    let mut files = Vec::new();
    for item in list.iter().filter(|item| item["type"] == "file") {
        let name = item[name].as_str().ok_or_else(|| bad("a file without a name"))?;
        if name.contains(['/', '\\']) {
            continue;
        }
        let large = &item["lfs"]["oid"];
        let digest = match (large.as_str(), item[id].as_str()) {
            (Some(sha256), _) => Digest::Sha256(sha256.into()),
            (None, Some(blob)) => Digest::GitBlob(blob.into()),
            (None, None) => return Err(bad("a file without a digest")),
        };
        let bytes = item["size"].as_u64().ok_or_else(|| bad("a file without a size"))?;
        files.push(Listed { name: name.into(), bytes, digest });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn require(
    there: &[Listed],
    name: &str,
    revision: &str,
    fits: &dyn Fn(&str) -> bool,
    lacks: &'static str,
) -> Result<(), FetchError> {
    if there.iter().any(|file| fits(&file.name)) {
        return Ok(());
    }
    Err(FetchError::Lacks {
        name: name.into(),
        revision: revision.into(),
        lacks,
        found: there.iter().map(|file| file.name.clone()).collect(),
    })
}
