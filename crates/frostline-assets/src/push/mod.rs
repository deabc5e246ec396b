//! Uploads of a model to the Hugging Face hub, in one commit: either all files are there afterwards, or none.
//!
//! The hub first decides about each file whether it is large. Large files are uploaded to a storage that the hub names
//! (Git LFS); the commit contains their digests, and the other files as they are. An interrupted upload leaves no commit, and the
//! next one sends no large file again that the storage has.
//!
//! ```text
//! GET  /api/whoami-v2                             whose token it is, and whether it may write
//! GET  /api/models/ID                             whether the repository exists, and who can read it
//! POST /api/validate-yaml                         faults in the metadata of README.md
//! POST /api/repos/create                          a private repository, unless a public one is requested
//! POST /api/models/ID/preupload/BRANCH            which files are large
//! POST /ID.git/info/lfs/objects/batch             where they are uploaded
//! PUT  (an address of the storage)                their bytes
//! POST /api/models/ID/commit/BRANCH               the commit, as lines of JSON
//! ```

mod commit;
mod error;
mod files;
mod storage;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use ureq::http::Response;

use crate::fetch::hub_client::{HubClient, JsonBody, RequestSubject};
use crate::fetch::{FetchError, Hosts, HubToken, Progress};
use crate::is_hub_id;

pub use error::PushError;
pub use files::{ModelFiles, PushContent, PushFile, model_files};

/// The branch to which files are pushed.
const BRANCH: &str = "main";

/// Who can read a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The owner, and the accounts to which the owner gives access.
    Private,
    /// Everyone.
    Public,
}

/// The hub, an account and the name of a repository that may exist.
#[derive(Debug)]
pub struct Destination {
    client: HubClient,
    id: String,
    /// The account of the token.
    pub account: String,
    /// The names under which the account has repositories, as far as the hub reports them.
    owners: BTreeSet<String>,
    /// Who can read the repository; `None` if it does not exist.
    pub found: Option<Visibility>,
}

/// A finished push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// The repository's page.
    pub url: String,
    /// The new commit; `None` if the repository has all files already.
    pub commit: Option<String>,
    /// Large files that were uploaded; the storage had the others.
    pub uploaded: usize,
}

/// Asks the hub about a repository `OWNER/NAME`. Nothing is changed there.
///
/// # Errors
/// If the name is invalid, there is no token, the hub does not accept it or it may only read, or the hub does not answer.
pub fn look_up(id: &str, hosts: &Hosts, token: Option<HubToken>) -> Result<Destination, PushError> {
    if !is_hub_id(id) || !id.contains('/') {
        return Err(PushError::BadName { name: id.into() });
    }
    let token = token.ok_or_else(|| PushError::NoToken { hub: hosts.hub.clone() })?;
    let place = token.place().to_string();
    let client = HubClient::new(hosts, Some(token))?;
    let (account, owners) = check_account(&client, id, &place)?;
    let found = visibility_of(&client, id)?;
    Ok(Destination { client, id: id.into(), account, owners, found })
}

impl Destination {
    /// Returns the repository's page.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/{}", self.client.base(), self.id)
    }

    /// Creates the repository if it does not exist, with this visibility, and commits the files to it.
    ///
    /// # Errors
    /// If the hub refuses a request, makes a repository public that was to be private, finds a fault in the metadata of
    /// README.md, or the connection fails. Then there is no commit.
    pub fn push(
        &self,
        files: &[PushFile],
        wanted: Visibility,
        message: &str,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Pushed, PushError> {
        self.check_card(files)?;
        if self.found.is_none() {
            self.create(wanted)?;
        }
        let prepared = self.prepare(files)?;
        let url = self.url();
        if prepared.iter().all(|file| file.is_unchanged) {
            return Ok(Pushed { url, commit: None, uploaded: 0 });
        }
        let uploaded = storage::upload(self, &prepared, progress)?;
        let commit = commit::send(self, &prepared, message)?;
        Ok(Pushed { url, commit: Some(commit), uploaded })
    }

    /// Lets the hub check the metadata of the card, before anything is created.
    fn check_card(&self, files: &[PushFile]) -> Result<(), PushError> {
        let Some(card) = files.iter().find(|file| file.name == "README.md") else { return Ok(()) };
        let text = String::from_utf8_lossy(&card.read()?).into_owned();
        let url = format!("{}/api/validate-yaml", self.client.base());
        let body = json!({ "content": text, "repoType": "model" }).to_string();
        let response = self.client.post(&url, json_body(&body), &[])?;
        // Other servers than the hub may have no such check.
        if response.status().as_u16() == 404 {
            return Ok(());
        }
        let status = response.status().as_u16();
        let answer = self.client.read_json(&url, response).unwrap_or(Value::Null);
        let faults: Vec<String> = messages(&answer["errors"]);
        match (faults.is_empty(), status) {
            (true, 200..=299) => Ok(()),
            (true, _) => Err(FetchError::Status { url, status }.into()),
            (false, _) => Err(PushError::Card { faults }),
        }
    }

    /// Creates the repository, and checks that it is not more visible than requested.
    fn create(&self, wanted: Visibility) -> Result<(), PushError> {
        let (owner, name) = self.id.split_once('/').unwrap_or(("", &self.id));
        let visibility = if wanted == Visibility::Public { "public" } else { "private" };
        let body = json!({
            "name": name, "organization": owner, "type": "model", "visibility": visibility
        });
        let url = format!("{}/api/repos/create", self.client.base());
        let response = self.client.post(&url, json_body(&body.to_string()), &[])?;
        // Another process may have created it meanwhile.
        if response.status().as_u16() != 409 {
            self.accept(&url, response)?;
        }
        match (wanted, visibility_of(&self.client, &self.id)?) {
            (Visibility::Private, Some(Visibility::Public)) => {
                Err(PushError::BecamePublic { url: self.url() })
            }
            (_, None) => Err(PushError::NotCreated { url: self.url() }),
            _ => Ok(()),
        }
    }

    /// Asks the hub which files are large, and which it has already.
    fn prepare<'f>(&self, files: &'f [PushFile]) -> Result<Vec<PreparedFile<'f>>, PushError> {
        let described = files.iter().map(|file| {
            let sample = file.sample()?;
            Ok(json!({ "path": file.name, "sample": commit::base64(&sample), "size": file.bytes }))
        });
        let described = described.collect::<Result<Vec<_>, PushError>>()?;
        let url = format!("{}/api/models/{}/preupload/{BRANCH}", self.client.base(), self.id);
        let answer = self.post_json(&url, &json!({ "files": described }))?;
        let modes = answer["files"].as_array().map(Vec::as_slice).unwrap_or_default();
        let prepared = files.iter().map(|file| {
            let mode = modes.iter().find(|mode| mode["path"] == file.name.as_str());
            let mode = mode.ok_or_else(|| bad_answer(&url, format!("no mode for {}", file.name)))?;
            // The storage takes no empty files.
            let is_large = mode["uploadMode"] == "lfs" && file.bytes > 0;
            let digest = if is_large { file.sha256()? } else { file.git_blob_id()? };
            // A repository's .gitignore may leave a file out.
            let is_unchanged = mode["oid"].as_str() == Some(&digest) || mode["shouldIgnore"] == true;
            Ok(PreparedFile { file, is_large, digest, is_unchanged })
        });
        prepared.collect()
    }

    fn post_json(&self, url: &str, body: &Value) -> Result<Value, PushError> {
        let response = self.accept(url, self.client.post(url, json_body(&body.to_string()), &[])?)?;
        Ok(self.client.read_json(url, response)?)
    }

    /// Passes a successful answer on, and turns any other into an error.
    fn accept(&self, url: &str, response: Response<ureq::Body>) -> Result<Response<ureq::Body>, PushError> {
        if matches!(response.status().as_u16(), 401 | 403) {
            let owner = self.id.split('/').next().unwrap_or(&self.id).to_string();
            let owners = self.owners.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let (account, reason) = (self.account.clone(), error_text(response));
            return Err(PushError::NotAllowed { account, owner, reason, owners });
        }
        Ok(self.client.check_status(url, response, about(&self.id))?)
    }
}

/// A file with the hub's decision about it.
#[derive(Debug)]
struct PreparedFile<'f> {
    file: &'f PushFile,
    /// Whether it is uploaded to the storage for large files.
    is_large: bool,
    /// SHA-256 of a large file, the git blob id of another.
    digest: String,
    /// Whether the repository has the same file.
    is_unchanged: bool,
}

/// Checks that the token may write, as far as the hub reports that. Returns the account's name, and the names under which it has
/// repositories: the account's and its organisations' names. A token may be valid for some of them only, and may not list all.
fn check_account(client: &HubClient, id: &str, place: &str) -> Result<(String, BTreeSet<String>), PushError> {
    let url = format!("{}/api/whoami-v2", client.base());
    let (answer, _) = client.get_json(&url, about(id)).map_err(|error| match error {
        FetchError::NotFound { status: 401, .. } => {
            FetchError::BadToken { place: place.into(), hub: client.base().into() }
        }
        other => other,
    })?;
    let account = answer["name"].as_str().ok_or_else(|| bad_answer(&url, "no name".into()))?;
    if answer["auth"]["accessToken"]["role"] == "read" {
        return Err(PushError::ReadOnly { place: place.into(), hub: client.base().into() });
    }
    let organizations = answer["orgs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut owners: BTreeSet<String> =
        organizations.iter().filter_map(|one| one["name"].as_str().map(String::from)).collect();
    owners.insert(account.into());
    Ok((account.into(), owners))
}

/// Returns who can read a repository; `None` if it does not exist.
fn visibility_of(client: &HubClient, id: &str) -> Result<Option<Visibility>, PushError> {
    let url = format!("{}/api/models/{id}", client.base());
    match client.get_json(&url, about(id)) {
        Ok((answer, _)) => match answer["private"].as_bool() {
            Some(true) => Ok(Some(Visibility::Private)),
            Some(false) => Ok(Some(Visibility::Public)),
            None => Err(bad_answer(&url, "no `private`".into())),
        },
        Err(FetchError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn about(id: &str) -> RequestSubject<'_> {
    RequestSubject { id, revision: BRANCH }
}

fn json_body(text: &str) -> JsonBody<'_> {
    JsonBody { content_type: "application/json", bytes: text.as_bytes() }
}

fn bad_answer(url: &str, reason: String) -> PushError {
    PushError::Answer { url: url.into(), reason }
}

/// Returns the messages of a list of faults.
fn messages(list: &Value) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|one| one["message"].as_str().map_or_else(|| one.to_string(), String::from)).collect()
}

/// Returns the text of an answer that reports an error.
fn error_text(mut response: Response<ureq::Body>) -> String {
    let text = response.body_mut().with_config().limit(1 << 16).read_to_string().unwrap_or_default();
    let answer: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    answer["error"].as_str().unwrap_or("the hub gives no reason").to_string()
}
