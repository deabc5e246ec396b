//! A server on this machine that speaks the API of the Hugging Face hub, as far as downloads and uploads of models need it.
//!
//! Files of 64 bytes and more are large: their digest is a SHA-256, and a request for one is answered by a redirect to the
//! storage, another server with another port. Every request is kept with its headers, so that a test sees what was sent to whom.

mod http;
mod routes;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard};

use sha1::Digest as _;

use http::AnswerRequest;

/// Files of this size and more are large.
///
/// # Units
/// Bytes.
pub const LARGE: usize = 64;

/// The commit of a repository that a test adds.
pub const COMMIT: &str = "c0ffee0000c0ffee0000c0ffee0000c0ffee0000";

/// A token that may write, of the account `me`.
pub const TOKEN: &str = "hf_a_token_that_may_write";

/// A token of the same account that may only read.
pub const READ_TOKEN: &str = "hf_a_token_that_may_read";

/// A running hub, with its storage for large files. Both end with the test program.
#[derive(Clone, Debug)]
pub struct HubServer {
    /// The hub's address, without a slash at the end.
    pub address: String,
    /// The storage's address.
    pub storage: String,
    state: Arc<Mutex<HubState>>,
}

/// What the hub has and what it was asked.
#[derive(Debug, Default)]
pub struct HubState {
    /// Repositories by id.
    pub repositories: BTreeMap<String, Repository>,
    /// Objects of the storage by SHA-256.
    pub objects: BTreeMap<String, Vec<u8>>,
    /// All requests, oldest first.
    pub requests: Vec<Asked>,
    /// Faults by the path of the request; a fault happens once.
    pub faults: BTreeMap<String, Fault>,
    /// If set, large files are uploaded in parts of this size.
    pub part_bytes: Option<usize>,
    /// Parts that were uploaded, by their path.
    pub parts: BTreeMap<String, Vec<u8>>,
    /// Whether new repositories are public whatever is requested.
    pub makes_public: bool,
    /// The hub's address.
    pub(crate) address: String,
    /// The storage's address.
    pub(crate) storage: String,
}

/// A repository of a model.
#[derive(Clone, Debug, Default)]
pub struct Repository {
    /// Whether only its owner can read it.
    pub private: bool,
    /// Whether a reader has to accept terms; [`TOKEN`] has.
    pub gated: bool,
    /// Files by name, for each commit.
    pub commits: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    /// The commit of each branch and tag.
    pub refs: BTreeMap<String, String>,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `hub` or `storage`.
    pub server: &'static str,
    /// `GET` or another.
    pub method: String,
    /// The path, with the query.
    pub path: String,
    /// The headers by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The bytes that were sent with it.
    pub body: Vec<u8>,
}

/// What goes wrong with one answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The connection ends after this many bytes of the body.
    Cut(usize),
    /// The answer is this status, without a body; nothing is done.
    Status(u16),
    /// Every byte of the body has another value.
    Damage,
    /// The answer leads to this address; nothing is done.
    Redirect(String),
    /// The answer stops after this many bytes, and the connection stays open.
    Stall(usize),
}

impl HubServer {
    /// Starts a hub without repositories.
    ///
    /// # Panics
    /// If no port can be opened.
    #[must_use]
    pub fn start() -> Self {
        let [hub, storage] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let address = |listener: &TcpListener| format!("http://{}", listener.local_addr().expect("bound"));
        let (address, storage_address) = (address(&hub), address(&storage));
        let state =
            HubState { address: address.clone(), storage: storage_address.clone(), ..HubState::default() };
        let state = Arc::new(Mutex::new(state));
        let servers: [(TcpListener, &'static str, AnswerRequest); 2] =
            [(hub, "hub", routes::answer_hub), (storage, "storage", routes::answer_storage)];
        for (listener, name, exchange) in servers {
            let state = state.clone();
            std::thread::spawn(move || http::serve(&listener, name, &state, exchange));
        }
        Self { address, storage: storage_address, state }
    }

    /// Returns the state, to read or to change it.
    ///
    /// # Panics
    /// If the server failed while it had the state.
    pub fn state(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().expect("the server did not fail")
    }

    /// Adds a repository with these files at [`COMMIT`], the head of `main`.
    pub fn add(&self, id: &str, files: &[(&str, &[u8])]) {
        let files = files.iter().map(|(name, bytes)| ((*name).to_string(), bytes.to_vec())).collect();
        let mut repository = Repository::default();
        repository.commits.insert(COMMIT.into(), files);
        repository.refs.insert("main".into(), COMMIT.into());
        self.state().repositories.insert(id.into(), repository);
    }

    /// Adds a commit with the files of `main` and these in place of those with the same name, as the head of a branch or tag.
    ///
    /// # Panics
    /// If there is no such repository.
    pub fn add_revision(&self, id: &str, name: &str, commit: &str, files: &[(&str, &[u8])]) {
        let mut state = self.state();
        let repository = state.repositories.get_mut(id).expect("a repository");
        let mut all = repository.commits[&repository.refs["main"]].clone();
        all.extend(files.iter().map(|(name, bytes)| ((*name).to_string(), bytes.to_vec())));
        repository.commits.insert(commit.into(), all);
        repository.refs.insert(name.into(), commit.into());
    }

    /// Changes a repository.
    ///
    /// # Panics
    /// If there is none.
    pub fn change(&self, id: &str, change: impl FnOnce(&mut Repository)) {
        change(self.state().repositories.get_mut(id).expect("a repository"));
    }

    /// Lets one answer go wrong: the next to a request whose path without the query is this.
    pub fn fail(&self, path: &str, fault: Fault) {
        self.state().faults.insert(path.into(), fault);
    }

    /// Returns the files of a branch.
    #[must_use]
    pub fn files(&self, id: &str, branch: &str) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        let found = state.repositories.get(id).and_then(|found| found.commits.get(found.refs.get(branch)?));
        found.cloned().unwrap_or_default()
    }

    /// Returns method and path of all requests, as `GET /path`.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        self.state().requests.iter().map(|asked| format!("{} {}", asked.method, asked.path)).collect()
    }

    /// Returns whether a text occurs anywhere in the requests to a server, `hub` or `storage`.
    #[must_use]
    pub fn was_sent(&self, server: &str, text: &str) -> bool {
        let state = self.state();
        let mut requests = state.requests.iter().filter(|asked| asked.server == server);
        requests.any(|asked| {
            let body = String::from_utf8_lossy(&asked.body);
            asked.path.contains(text)
                || body.contains(text)
                || asked.headers.values().any(|value| value.contains(text))
        })
    }
}

/// Returns the id of a git blob with these bytes.
#[must_use]
pub fn blob_id(bytes: &[u8]) -> String {
    let mut hasher = sha1::Sha1::new();
    hasher.update(format!("blob {}\0", bytes.len()));
    hasher.update(bytes);
    hex(&hasher.finalize())
}

/// Returns SHA-256 in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&sha2::Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
