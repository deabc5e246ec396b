//! The answers of the hub and of its storage.

use std::collections::BTreeMap;

use base64::Engine as _;
use serde_json::{Value, json};

use super::http::HubAnswer;
use super::{Asked, HubState, LARGE, READ_TOKEN, Repository, TOKEN, blob_id, sha256};

/// Where the account of [`TOKEN`] has repositories.
const OWNERS: [&str; 2] = ["me", "our-group"];

/// Answers a request to the hub.
pub(super) fn answer_hub(state: &mut HubState, asked: &Asked) -> HubAnswer {
    let path = asked.path.split('?').next().unwrap_or_default();
    let token = asked.headers.get("authorization").and_then(|value| value.strip_prefix("Bearer "));
    if token.is_some_and(|token| ![TOKEN, READ_TOKEN].contains(&token)) {
        return HubAnswer::status(401).with("X-Error-Message", "Invalid credentials in Authorization header");
    }
    match path {
        "/api/whoami-v2" => return who_am_i(token),
        "/api/validate-yaml" => return validate_card(&asked.body),
        "/api/repos/create" => return create(state, token, &asked.body),
        _ => {}
    }
    let parts: Vec<String> = path.trim_start_matches('/').split('/').map(unescape).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (asked.method.as_str(), parts.as_slice()) {
        ("GET", ["api", "models", rest @ ..]) => read_api(state, token, rest),
        ("POST", ["api", "models", owner, name, "preupload", _]) => {
            with_writer(state, token, &[owner, name], |state, id| preupload(state, id, &asked.body))
        }
        ("POST", ["api", "models", owner, name, "commit", branch]) => {
            with_writer(state, token, &[owner, name], |state, id| commit(state, id, branch, &asked.body))
        }
        ("POST", [owner, name, "info", "lfs", "objects", "batch"]) => {
            let name = name.trim_end_matches(".git");
            with_writer(state, token, &[owner, name], |state, _| batch(state, asked))
        }
        ("POST", ["verify"]) => verify(state, &asked.body),
        ("GET" | "HEAD", [id @ .., "resolve", revision, file]) => {
            resolve(state, token, &id.join("/"), revision, file, asked)
        }
        _ => HubAnswer::status(404),
    }
}

/// Answers a request to the storage: signed addresses, for which no token is needed.
pub(super) fn answer_storage(state: &mut HubState, asked: &Asked) -> HubAnswer {
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    if !query.contains("signature=") || asked.headers.contains_key("authorization") {
        return HubAnswer::status(403);
    }
    let place = path.trim_start_matches('/');
    match asked.method.as_str() {
        "GET" => match state.objects.get(place) {
            Some(bytes) => send_file(bytes, &sha256(bytes), asked),
            None => HubAnswer::status(404),
        },
        // S3 takes no body of unknown length.
        "PUT" if !asked.headers.contains_key("content-length") => HubAnswer::status(501),
        "PUT" if place.contains("/part/") => {
            state.parts.insert(place.into(), asked.body.clone());
            HubAnswer::status(200).with("ETag", format!("\"{}\"", sha256(&asked.body)))
        }
        "PUT" if sha256(&asked.body) == place => {
            state.objects.insert(place.into(), asked.body.clone());
            HubAnswer::status(200)
        }
        "POST" => complete_parts(state, place, &asked.body),
        _ => HubAnswer::status(400),
    }
}

fn who_am_i(token: Option<&str>) -> HubAnswer {
    let role = match token {
        Some(TOKEN) => "write",
        Some(_) => "read",
        None => return HubAnswer::status(401),
    };
    HubAnswer::json(&json!({
        "name": "me", "type": "user", "orgs": [{ "name": "our-group" }],
        "auth": { "accessToken": { "role": role } }
    }))
}

/// Accepts a card whose first line is `---` and that has a line `license:`.
fn validate_card(body: &[u8]) -> HubAnswer {
    let text: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let card = text["content"].as_str().unwrap_or_default();
    match card.starts_with("---\n") && card.contains("\nlicense: bad\n") {
        false => HubAnswer::json(&json!({ "errors": [], "warnings": [] })),
        true => {
            let errors =
                json!({ "errors": [{ "message": "\"license\" must be one of [...]" }], "warnings": [] });
            HubAnswer { status: 400, ..HubAnswer::json(&errors) }
        }
    }
}

fn create(state: &mut HubState, token: Option<&str>, body: &[u8]) -> HubAnswer {
    if token != Some(TOKEN) {
        return HubAnswer::status(if token.is_none() { 401 } else { 403 });
    }
    let Ok(asked) = serde_json::from_slice::<Value>(body) else { return HubAnswer::status(400) };
    if !OWNERS.contains(&asked["organization"].as_str().unwrap_or_default()) {
        let reason = json!({ "error": "You don't have the rights to create a model" });
        return HubAnswer { status: 403, ..HubAnswer::json(&reason) };
    }
    let id = format!(
        "{}/{}",
        asked["organization"].as_str().unwrap_or("me"),
        asked["name"].as_str().unwrap_or("")
    );
    if state.repositories.contains_key(&id) {
        return HubAnswer::status(409);
    }
    let private = asked["visibility"] == "private" && !state.makes_public;
    let mut repository = Repository { private, ..Repository::default() };
    let first = blob_id(id.as_bytes());
    repository.commits.insert(first.clone(), BTreeMap::from([(".gitattributes".into(), b"*.x\n".to_vec())]));
    repository.refs.insert("main".into(), first);
    state.repositories.insert(id.clone(), repository);
    HubAnswer::json(&json!({ "url": format!("{}/{id}", state.address), "id": id }))
}

/// Finds a repository, or the reason why this reader cannot have it.
fn find<'s>(state: &'s HubState, token: Option<&str>, id: &str) -> Result<&'s Repository, HubAnswer> {
    // Without a token, the hub does not reveal which private repositories there are.
    let missing = || match token {
        Some(_) => HubAnswer::status(404).with("X-Error-Code", "RepoNotFound"),
        None => HubAnswer::status(401).with("X-Error-Code", "RepoNotFound"),
    };
    state.repositories.get(id).filter(|found| !found.private || token.is_some()).ok_or_else(missing)
}

/// Returns the commit that a revision means.
fn commit_of<'r>(repository: &'r Repository, revision: &str) -> Result<&'r str, HubAnswer> {
    let by_name = repository.refs.get(revision).map(String::as_str);
    let by_id = || repository.commits.keys().map(String::as_str).find(|commit| *commit == revision);
    let missing = || HubAnswer::status(404).with("X-Error-Code", "RevisionNotFound");
    by_name.or_else(by_id).ok_or_else(missing)
}

/// Lists repositories and their files.
fn read_api(state: &HubState, token: Option<&str>, parts: &[&str]) -> HubAnswer {
    let (id, rest) = match parts {
        [name, rest @ ..] if matches!(rest.first(), Some(&("revision" | "tree"))) => {
            ((*name).to_string(), rest)
        }
        [owner, name, rest @ ..] => (format!("{owner}/{name}"), rest),
        [name] => ((*name).to_string(), &[][..]),
        [] => return HubAnswer::status(404),
    };
    let read = || {
        let repository = find(state, token, &id)?;
        let (kind, revision) = match rest {
            [] => ("revision", "main"),
            [kind, revision] => (*kind, *revision),
            _ => return Err(HubAnswer::status(404)),
        };
        let commit = commit_of(repository, revision)?;
        let files = &repository.commits[commit];
        Ok(HubAnswer::json(&match kind {
            "tree" => files.iter().map(|(name, bytes)| describe(name, bytes)).collect(),
            _ => json!({
                "id": id, "modelId": id, "_id": "1", "sha": commit, "private": repository.private, "gated": repository.gated,
                "tags": [], "downloads": 0, "likes": 0,
                "siblings": files.keys().map(|name| json!({ "rfilename": name })).collect::<Vec<_>>(),
            }),
        }))
    };
    read().unwrap_or_else(|refused| refused)
}

fn describe(name: &str, bytes: &[u8]) -> Value {
    let mut file = json!({ "type": "file", "path": name, "size": bytes.len(), "oid": blob_id(bytes) });
    if bytes.len() >= LARGE {
        file["lfs"] = json!({ "oid": sha256(bytes), "size": bytes.len(), "pointerSize": 130 });
    }
    file
}

/// Sends a file, or for a large one the signed address of the storage.
fn resolve(
    state: &mut HubState,
    token: Option<&str>,
    id: &str,
    revision: &str,
    file: &str,
    asked: &Asked,
) -> HubAnswer {
    let found = find(state, token, id).and_then(|repository| {
        let commit = commit_of(repository, revision)?.to_string();
        if repository.gated && token != Some(TOKEN) {
            let status = if token.is_none() { 401 } else { 403 };
            return Err(HubAnswer::status(status).with("X-Error-Code", "GatedRepo"));
        }
        let missing =
            || HubAnswer::status(404).with("X-Error-Code", "EntryNotFound").with("X-Repo-Commit", &commit);
        let bytes = repository.commits[&commit].get(file).cloned().ok_or_else(missing)?;
        Ok((commit, bytes))
    });
    let (commit, bytes) = match found {
        Ok(found) => found,
        Err(refused) => return refused,
    };
    if bytes.len() < LARGE {
        return send_file(&bytes, &blob_id(&bytes), asked).with("X-Repo-Commit", commit);
    }
    let (digest, size) = (sha256(&bytes), bytes.len());
    state.objects.insert(digest.clone(), bytes);
    HubAnswer::status(302)
        .with("Location", format!("{}/{digest}?signature=abc", state.storage))
        .with("X-Repo-Commit", commit)
        .with("X-Linked-Etag", format!("\"{digest}\""))
        .with("X-Linked-Size", size.to_string())
        .with("ETag", "\"a-pointer\"")
}

/// Sends a file from the byte on that the header `Range` asks for.
fn send_file(bytes: &[u8], etag: &str, asked: &Asked) -> HubAnswer {
    let from = asked.headers.get("range").and_then(|range| range.strip_prefix("bytes="));
    let from = from.and_then(|range| range.trim_end_matches('-').parse::<usize>().ok());
    let from = from.filter(|from| *from < bytes.len());
    let answer = HubAnswer { body: bytes[from.unwrap_or(0)..].to_vec(), ..HubAnswer::status(200) };
    let answer = answer.with("ETag", format!("\"{etag}\"")).with("Accept-Ranges", "bytes");
    match from {
        Some(from) => HubAnswer { status: 206, ..answer }
            .with("Content-Range", format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len())),
        None => answer,
    }
}

fn with_writer(
    state: &mut HubState,
    token: Option<&str>,
    id: &[&str; 2],
    write: impl FnOnce(&mut HubState, &str) -> HubAnswer,
) -> HubAnswer {
    let id = id.join("/");
    match find(state, token, &id) {
        Ok(_) if token == Some(TOKEN) && OWNERS.iter().any(|owner| id.starts_with(owner)) => {
            write(state, &id)
        }
        Ok(_) => HubAnswer::status(403),
        Err(refused) => refused,
    }
}

fn preupload(state: &HubState, id: &str, body: &[u8]) -> HubAnswer {
    let Ok(asked) = serde_json::from_slice::<Value>(body) else { return HubAnswer::status(400) };
    let repository = &state.repositories[id];
    let head = &repository.commits[&repository.refs["main"]];
    let files = asked["files"].as_array().cloned().unwrap_or_default();
    let modes = files.iter().map(|file| {
        let name = file["path"].as_str().unwrap_or_default();
        let is_large = file["size"].as_u64().unwrap_or(0) >= LARGE as u64 && !name.ends_with(".md");
        let digest = |bytes: &Vec<u8>| if is_large { sha256(bytes) } else { blob_id(bytes) };
        json!({
            "path": name, "uploadMode": if is_large { "lfs" } else { "regular" }, "shouldIgnore": false,
            "oid": head.get(name).map(digest),
        })
    });
    HubAnswer::json(&json!({ "files": modes.collect::<Vec<_>>() }))
}

fn batch(state: &HubState, asked: &Asked) -> HubAnswer {
    let is_lfs =
        |name: &str| asked.headers.get(name).is_some_and(|value| value == "application/vnd.git-lfs+json");
    if !is_lfs("accept") || !is_lfs("content-type") {
        return HubAnswer::status(415);
    }
    let Ok(message) = serde_json::from_slice::<Value>(&asked.body) else { return HubAnswer::status(400) };
    let objects = message["objects"].as_array().cloned().unwrap_or_default();
    let objects = objects.iter().map(|object| {
        let (digest, size) =
            (object["oid"].as_str().unwrap_or_default(), object["size"].as_u64().unwrap_or(0));
        if state.objects.contains_key(digest) {
            return json!({ "oid": digest, "size": size });
        }
        let address = |place: &str| format!("{}/{place}?signature=abc", state.storage);
        let mut header = json!({});
        if let Some(bytes) = state.part_bytes {
            header["chunk_size"] = json!(bytes.to_string());
            for part in 1..=size.div_ceil(bytes as u64) {
                header[format!("{part:05}")] = json!(address(&format!("{digest}/part/{part}")));
            }
        }
        json!({ "oid": digest, "size": size, "actions": {
            "upload": { "href": address(digest), "header": header },
            "verify": { "href": format!("{}/verify", state.address) },
        }})
    });
    HubAnswer::json(&json!({ "transfer": "basic", "objects": objects.collect::<Vec<_>>() }))
}

fn complete_parts(state: &mut HubState, digest: &str, body: &[u8]) -> HubAnswer {
    let Ok(asked) = serde_json::from_slice::<Value>(body) else { return HubAnswer::status(400) };
    let mut whole = Vec::new();
    for part in asked["parts"].as_array().cloned().unwrap_or_default() {
        let Some(bytes) = state.parts.get(&format!("{digest}/part/{}", part["partNumber"])) else {
            return HubAnswer::status(400);
        };
        if part["etag"] != format!("\"{}\"", sha256(bytes)) {
            return HubAnswer::status(400);
        }
        whole.extend(bytes);
    }
    if sha256(&whole) != digest {
        return HubAnswer::status(400);
    }
    state.objects.insert(digest.into(), whole);
    HubAnswer::status(200)
}

fn verify(state: &HubState, body: &[u8]) -> HubAnswer {
    let asked: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let found = state.objects.get(asked["oid"].as_str().unwrap_or_default());
    let is_same = found.is_some_and(|bytes| asked["size"] == bytes.len());
    HubAnswer::status(if is_same { 200 } else { 404 })
}

fn commit(state: &mut HubState, id: &str, branch: &str, body: &[u8]) -> HubAnswer {
    let text = String::from_utf8_lossy(body).into_owned();
    let mut files = state.repositories[id].commits[&state.repositories[id].refs["main"]].clone();
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { return HubAnswer::status(400) };
        let value = &line["value"];
        let name = value["path"].as_str().unwrap_or_default().to_string();
        let bytes = match line["key"].as_str() {
            Some("header") if value["summary"].is_string() => continue,
            Some("file") => {
                let content = value["content"].as_str().unwrap_or_default();
                base64::engine::general_purpose::STANDARD.decode(content).ok()
            }
            Some("lfsFile") => state.objects.get(value["oid"].as_str().unwrap_or_default()).cloned(),
            _ => None,
        };
        let Some(bytes) = bytes else { return HubAnswer::status(400) };
        files.insert(name, bytes);
    }
    let commit = blob_id(text.as_bytes());
    let repository = state.repositories.get_mut(id).expect("found before");
    repository.commits.insert(commit.clone(), files);
    repository.refs.insert(branch.into(), commit.clone());
    HubAnswer::json(&json!({
        "success": true, "commitOid": commit, "commitUrl": format!("{}/{id}/commit/{commit}", state.address), "hookOutput": ""
    }))
}

/// Returns a part of a path without escapes.
fn unescape(part: &str) -> String {
    let bytes = part.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let code = part.get(at + 1..at + 3).and_then(|code| u8::from_str_radix(code, 16).ok());
        let (byte, width) = match code.filter(|_| bytes[at] == b'%') {
            Some(code) => (code, 3),
            None => (bytes[at], 1),
        };
        out.push(byte);
        at += width;
    }
    String::from_utf8_lossy(&out).into_owned()
}
