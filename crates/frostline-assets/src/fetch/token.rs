//! The token for the Hugging Face hub: where it is found, and how it is kept out of every message.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::hub_cache::hub_home_from;

/// The largest token file that is read.
///
/// # Units
/// Bytes.
const MOST_BYTES: u64 = 1 << 16;

/// A token of the Hugging Face hub. It is sent to the hub alone; no message, log or file contains it.
#[derive(Clone, PartialEq, Eq)]
pub struct HubToken {
    secret: String,
    place: String,
}

impl HubToken {
    /// Returns a token; `place` is the name that messages have for it, such as `HF_TOKEN`. `None` if it is blank, or has a
    /// character that no token has.
    #[must_use]
    pub fn new(secret: &str, place: &str) -> Option<Self> {
        let secret = secret.trim();
        let is_token = !secret.is_empty() && secret.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| Self { secret: secret.into(), place: place.into() })
    }

    /// Finds the token as `huggingface_hub` does: in `HF_TOKEN`, otherwise in the file `HF_TOKEN_PATH`, otherwise in the file
    /// `token` in `HF_HOME`. The last two, which `hf auth login` writes, are left out with
    /// `HF_HUB_DISABLE_IMPLICIT_TOKEN=1`.
    #[must_use]
    pub fn find() -> Option<Self> {
        Self::find_in(&|name| std::env::var_os(name))
    }

    /// [`HubToken::find`] in a given environment.
    fn find_in(var: &dyn Fn(&str) -> Option<OsString>) -> Option<Self> {
        let text = |name: &str| var(name)?.into_string().ok().filter(|value| !value.is_empty());
        for name in ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"] {
            if let Some(token) = text(name).and_then(|secret| Self::new(&secret, name)) {
                return Some(token);
            }
        }
        let is_on = |value: String| ["1", "ON", "YES", "TRUE"].contains(&value.to_uppercase().as_str());
        if text("HF_HUB_DISABLE_IMPLICIT_TOKEN").is_some_and(is_on) {
            return None;
        }
        let file = text("HF_TOKEN_PATH").map(PathBuf::from);
        Self::in_file(&file.or_else(|| Some(hub_home_from(var)?.join("token")))?)
    }

    fn in_file(file: &Path) -> Option<Self> {
        let text = frostline_files::read_text(file, MOST_BYTES).ok()?;
        Self::new(&text, &file.display().to_string())
    }

    /// Returns where the token was found, for messages.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns the value of the header `Authorization`.
    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.secret)
    }
}

impl fmt::Debug for HubToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HubToken(from {})", self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_in(vars: &[(&str, &str)]) -> Option<HubToken> {
        HubToken::find_in(&|name| vars.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).into()))
    }

    #[test]
    fn a_token_is_found_where_huggingface_hub_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        assert_eq!(find_in(&[("HF_HOME", home)]), None);
        std::fs::write(folder.path().join("token"), "hf_file\n").unwrap();
        let found = find_in(&[("HF_HOME", home)]).unwrap();
        assert_eq!(found.header(), "Bearer hf_file");
        assert_eq!(found.place(), folder.path().join("token").to_str().unwrap());
        assert_eq!(find_in(&[("HF_HOME", home), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]), None);
        let found = find_in(&[("HF_HOME", home), ("HF_TOKEN", " hf_variable ")]).unwrap();
        assert_eq!((found.header().as_str(), found.place()), ("Bearer hf_variable", "HF_TOKEN"));
        let other = folder.path().join("other");
        std::fs::write(&other, "hf_other").unwrap();
        let found = find_in(&[("HF_HOME", home), ("HF_TOKEN_PATH", other.to_str().unwrap())]).unwrap();
        assert_eq!(found.header(), "Bearer hf_other");
        assert_eq!(find_in(&[("HF_TOKEN", "two\r\nHeader: lines")]), None, "no second header");
    }

    #[test]
    fn no_message_contains_a_token() {
        let token = HubToken::new("hf_secret", "HF_TOKEN").unwrap();
        assert_eq!(
            format!("{token:?} {:?}", Some(&token)),
            "HubToken(from HF_TOKEN) Some(HubToken(from HF_TOKEN))"
        );
    }
}
