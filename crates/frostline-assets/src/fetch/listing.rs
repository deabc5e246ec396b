//! What a host says there is: names, sizes and digests.
//!
//! Owns the choice of files. Refuses addresses that a list contains: a file's address is made
//! from its name. Refuses digests and commits that are none, since they become part of file names
//! and addresses.

use serde_json::Value;
use ureq::Agent;

use super::{FetchError, Hosts, Options, download};

/// The hexadecimal digits of a git blob or commit.
const GIT_DIGITS: usize = 40;

/// The hexadecimal digits of a SHA-256.
pub(super) const SHA256_DIGITS: usize = 64;

/// A file that will be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) bytes: u64,
    pub(super) digest: Digest,
}

/// What the host says of a file's contents, in as many hexadecimal digits as its kind has.
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
    let commit = digits(&facts["sha"], "the commit", GIT_DIGITS);
    let commit = commit.map_err(|reason| FetchError::Listing { url, reason })?;

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
        let what = format!("the digest of {name}");
        let digest = match &item["lfs"]["oid"] {
            Value::Null => digits(&item[id], &what, GIT_DIGITS).map(|blob| Digest::GitBlob(blob.into())),
            large => digits(large, &what, SHA256_DIGITS).map(|sha256| Digest::Sha256(sha256.into())),
        };
        let digest = digest.map_err(|reason| bad(&reason))?;
        let bytes = item["size"].as_u64().ok_or_else(|| bad("a file without a size"))?;
        files.push(Listed { name: name.into(), bytes, digest });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// Whether a text is so many hexadecimal digits.
pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// So many hexadecimal digits, or else what a host gave as `what` instead.
fn digits<'v>(value: &'v Value, what: &str, digits: usize) -> Result<&'v str, String> {
    value.as_str().filter(|text| is_hex(text, digits)).ok_or_else(|| {
        let found: String = value.to_string().chars().take(80).collect();
        format!("{found} as {what}, not {digits} hexadecimal digits")
    })
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
