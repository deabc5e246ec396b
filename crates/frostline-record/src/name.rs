//! Names that become parts of paths: of plans, treebanks, tasks and stages.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A name that can be a part of a path on every system: it is no path itself, and names no device.
///
/// It has at most [`FileName::LONGEST`] characters, which are ASCII letters, digits, spaces and any of `-_.+'`. It
/// begins with a letter or digit and does not end with a space or dot.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(Arc<str>);

/// Why a text cannot be a [`FileName`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{}\" cannot be a name, since {reason}; a name becomes part of a path: use up to {} letters (a-z), digits, \
     spaces and -_.+' and begin with a letter or digit",
    shorten_name(text),
    FileName::LONGEST
)]
pub struct NameError {
    text: String,
    reason: String,
}

/// Names that Windows keeps for devices, also with an extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

impl FileName {
    /// The most characters of a name.
    pub const LONGEST: usize = 64;

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name without spaces, for file names.
    #[must_use]
    pub fn in_path(&self) -> String {
        self.0.replace(' ', "-")
    }

    fn name_fault(text: &str) -> Option<String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || " -_.+'".contains(c);
        if text.is_empty() {
            return Some("it is empty".into());
        }
        if let Some(c) = text.chars().find(|c| !allowed(*c)) {
            return Some(format!("it contains {}", show_character(c)));
        }
        if text.len() > Self::LONGEST {
            return Some(format!("it has {} characters", text.len()));
        }
        if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Some(format!("it begins with `{}`", &text[..1]));
        }
        if text.ends_with([' ', '.']) {
            return Some(format!("it ends with `{}`", &text[text.len() - 1..]));
        }
        let stem = text.split('.').next().unwrap_or_default().to_ascii_lowercase();
        let port = |kind| stem.strip_prefix(kind).is_some_and(|rest| rest.len() == 1 && rest != "0");
        let numbered = (port("com") || port("lpt")) && stem.ends_with(|c: char| c.is_ascii_digit());
        (numbered || DEVICES.contains(&stem.as_str())).then(|| format!("`{stem}` is a device on Windows"))
    }
}

/// Returns a character as it can be shown in a message.
fn show_character(c: char) -> String {
    if c.is_ascii_graphic() { format!("`{c}`") } else { format!("U+{:04X}", u32::from(c)) }
}

/// Returns at most the length of a name, without control characters.
fn shorten_name(text: &str) -> String {
    let mut short: String = text.chars().take(FileName::LONGEST).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short.escape_debug().collect()
}

impl FromStr for FileName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match Self::name_fault(text) {
            None => Ok(Self(text.into())),
            Some(reason) => Err(NameError { text: text.into(), reason }),
        }
    }
}

impl Deref for FileName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for FileName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for FileName {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for FileName {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl From<FileName> for String {
    fn from(name: FileName) -> Self {
        name.0.as_ref().into()
    }
}

impl Serialize for FileName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for FileName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_plans_in_use_are_names() {
        for text in ["en", "UD_English-EWT", "tagger's head frozen", "stage 2", "v1.2+x", "7", "com10", "lpt"]
        {
            assert_eq!(text.parse::<FileName>().map(String::from).as_deref(), Ok(text));
        }
        assert_eq!("a b c".parse::<FileName>().expect("a name").in_path(), "a-b-c");
    }

    #[test]
    fn what_could_leave_a_folder_or_a_terminal_is_no_name() {
        let long = "n".repeat(65);
        let bad = [
            "",
            "..",
            ".",
            ".hidden",
            "a/b",
            "../up",
            "/etc/passwd",
            "a\\b",
            "C:x",
            "a\0b",
            "a\nb",
            "a\tb",
            "\u{1b}[31mred",
            "a\u{202e}b",
            "e\u{301}",
            "naïve",
            "a|b",
            "a*b",
            "<b>",
            "-rf",
            " a",
            "a ",
            "a.",
            "NUL",
            "nul.txt",
            "com1",
            "LPT9.x",
            "~root",
            "$HOME",
            &long,
        ];
        let errors = bad.map(|text| {
            let error = text.parse::<FileName>().expect_err(text).to_string();
            error.split("; a name becomes").next().expect("one part").to_string()
        });
        insta::assert_snapshot!(errors.join("\n"));
    }
}
