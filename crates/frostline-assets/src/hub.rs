//! Names of encoders on the Hugging Face hub: ids, short names of built-in plans, and revisions.

/// Encoders of built-in plans that belong to an owner on the hub: the short name, and the whole one.
const SHORT: [(&str, &str); 2] = [
    ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
    ("multilingual-e5-small", "intfloat/multilingual-e5-small"),
];

/// Returns the id of an encoder on the Hugging Face hub: `intfloat/multilingual-e5-small` for
/// `multilingual-e5-small`. A name that is not short is its own id.
#[must_use]
pub fn hub_id(name: &str) -> &str {
    SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, whole)| whole)
}

/// Returns the other name of an encoder that has two: the folder of either is the same encoder.
pub(crate) fn other_name(name: &str) -> Option<&'static str> {
    SHORT.iter().find_map(|&(short, whole)| match name {
        _ if name == short => Some(whole),
        _ if name == whole => Some(short),
        _ => None,
    })
}

/// Splits `OWNER/NAME@REVISION` into the hub id and the revision: a branch, a tag or a commit.
#[must_use]
pub fn split_revision(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('@') {
        Some((id, revision)) if is_hub_id(id) && is_revision(revision) => (id, Some(revision)),
        _ => (name, None),
    }
}

/// Returns whether a name has the form of a hub id: `NAME` or `OWNER/NAME`. Such a name leads to no other folder.
#[must_use]
pub fn is_hub_id(name: &str) -> bool {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with(".part")
            && !part.contains("--")
            && part.chars().all(is_legal)
    };
    name.split('/').count() <= 2 && name.split('/').all(is_part)
}

/// Returns whether a text has the form of a branch, a tag or a commit. Such a text leads to no other folder.
pub(crate) fn is_revision(text: &str) -> bool {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.chars().all(is_legal);
    text.len() <= 200 && text.split('/').all(is_part)
}

/// Returns whether a text is a whole commit id.
pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_follows_the_id() {
        for (name, expected) in [
            ("some/encoder", ("some/encoder", None)),
            ("some/encoder@v1.0", ("some/encoder", Some("v1.0"))),
            ("bert@refs/pr/1", ("bert", Some("refs/pr/1"))),
            ("some/encoder@", ("some/encoder@", None)),
            ("some/encoder@../../x", ("some/encoder@../../x", None)),
            ("some/encoder@/etc", ("some/encoder@/etc", None)),
            ("/models/me@home", ("/models/me@home", None)),
        ] {
            assert_eq!(split_revision(name), expected, "{name}");
        }
    }

    #[test]
    fn only_whole_commits_are_commits() {
        assert!(is_commit("c0ffee0000c0ffee0000c0ffee0000c0ffee0000"));
        for other in ["c0ffee", "C0FFEE0000c0ffee0000c0ffee0000c0ffee0000", "main"] {
            assert!(!is_commit(other), "{other}");
        }
    }
}
