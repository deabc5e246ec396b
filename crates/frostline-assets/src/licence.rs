//! The licence of a dataset or an encoder, as stated in the files next to it. Reports and lists show it; no
//! decision depends on it.

use std::io::Read as _;
use std::path::Path;

/// Files that state a licence; a download keeps the ones that the host has.
pub(crate) const FILES: [&str; 4] = ["LICENSE", "LICENSE.md", "LICENSE.txt", "README.md"];

/// The most that is read of a file.
///
/// # Units
/// Bytes.
const MOST_READ: u64 = 1 << 18;

/// The longest name that is given, in characters; a longer one is cut.
const LONGEST: usize = 80;

/// The licence of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Licence {
    /// The licence's name in the readme, such as `CC BY-SA 4.0` or `apache-2.0`, otherwise the first line of
    /// the licence's text. It has at most 80 characters and no control characters.
    pub name: String,
    /// The files that state it, by name.
    pub files: Vec<String>,
}

/// Returns the licence that the files in a folder state. The readme is asked first: `License:` among the
/// machine-readable lines of a treebank of Universal Dependencies, or `license:` in the metadata of a model of
/// the Hugging Face hub. `None` if no file names one.
#[must_use]
pub fn licence_of(folder: &Path) -> Option<Licence> {
    let texts: Vec<(&str, String)> =
        FILES.into_iter().filter_map(|name| Some((name, start_of(&folder.join(name))?))).collect();
    let is_readme = |name: &str| name == "README.md";
    let readme = texts.iter().find(|(name, _)| is_readme(name)).and_then(|(_, text)| named_in(text));
    let has_name = readme.is_some();
    let others = || texts.iter().filter(|(name, _)| !is_readme(name));
    let name = readme.or_else(|| others().find_map(|(_, text)| text.lines().find_map(printable_text)))?;
    let states = |file: &str| has_name || !is_readme(file);
    let files = texts.iter().filter(|(file, _)| states(file)).map(|(file, _)| (*file).into()).collect();
    Some(Licence { name, files })
}

/// Returns the start of a text file; `None` if it cannot be read. Invalid UTF-8 is replaced.
fn start_of(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    frostline_files::open(path).ok()?.take(MOST_READ).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the licence that a readme names.
fn named_in(readme: &str) -> Option<String> {
    let of_treebank = readme.lines().rev().find_map(|line| printable_text(line.strip_prefix("License:")?));
    of_treebank.or_else(|| of_model(readme))
}

/// Returns the licence in the metadata of a model's readme: lines between two lines `---`. `license` is a word
/// or a list of words; `license_name` explains `other`.
fn of_model(readme: &str) -> Option<String> {
    let mut lines = readme.lines();
    lines.next().filter(|line| line.trim_end() == "---")?;
    let metadata: Vec<&str> = lines.take_while(|line| line.trim_end() != "---").collect();
    let value = |key: &str| {
        let at = metadata.iter().position(|line| line.starts_with(key))?;
        let here = strip_quotes(&metadata[at][key.len()..]);
        if !here.is_empty() {
            return printable_text(here);
        }
        let items = metadata[at + 1..].iter().map_while(|line| line.trim_start().strip_prefix("- "));
        printable_text(&items.map(strip_quotes).collect::<Vec<_>>().join(", "))
    };
    match value("license:") {
        Some(name) if name == "other" => value("license_name:").or(Some(name)),
        found => found,
    }
}

fn strip_quotes(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

/// Returns a text that can be shown in a terminal; `None` if nothing is left of it.
fn printable_text(text: &str) -> Option<String> {
    let shown: String = text.trim().chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    let shown = shown.trim_end();
    (!shown.is_empty()).then(|| shown.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the licence of a folder with these files, as `name: files`.
    fn stated_licence(files: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        licence_of(folder.path()).map(|found| format!("{}: {}", found.name, found.files.join(" ")))
    }

    #[test]
    fn a_treebank_names_it_among_the_machine_readable_lines() {
        let readme =
            "# Summary\n\nThe License: see below.\n\nData available since: UD v1.0\nLicense: CC BY-SA 4.0\n";
        let text = "This work is licensed under a licence.\nIt has many lines.\n";
        let both = stated_licence(&[("README.md", readme), ("LICENSE.txt", text)]);
        assert_eq!(both.unwrap(), "CC BY-SA 4.0: LICENSE.txt README.md");
        let only = stated_licence(&[("README.md", "# Summary\n"), ("LICENSE.txt", text)]);
        assert_eq!(only.unwrap(), "This work is licensed under a licence.: LICENSE.txt");
        assert_eq!(stated_licence(&[("README.md", "# Summary\n")]), None);
        assert_eq!(stated_licence(&[]), None);
    }

    #[test]
    fn a_model_names_it_in_its_metadata() {
        for (metadata, name) in [
            ("license: apache-2.0", "apache-2.0"),
            ("language: en\nlicense: \"mit\"\ntags:\n- a", "mit"),
            ("license:\n- mit\n- cc-by-4.0\ntags:\n- a", "mit, cc-by-4.0"),
            ("license: other\nlicense_name: some-licence", "some-licence"),
            ("license: other", "other"),
        ] {
            let found = stated_licence(&[("README.md", &format!("---\n{metadata}\n---\n# A model\n"))]);
            assert_eq!(found.unwrap(), format!("{name}: README.md"), "{metadata}");
        }
        for readme in
            ["---\ntags:\n- a\n---\nlicense: mit\n", "# A model\nlicense: mit\n", "---\nlicense:\n---\n"]
        {
            assert_eq!(stated_licence(&[("README.md", readme)]), None, "{readme}");
        }
    }

    /// A readme comes from another machine, and its words are printed.
    #[test]
    fn what_a_file_says_cannot_control_the_terminal() {
        let found = stated_licence(&[("README.md", "License: \u{1b}[2J\u{7}mit\u{9b}0m\n")]).unwrap();
        assert_eq!(found, "[2Jmit0m: README.md");
        let long = stated_licence(&[("LICENSE", &"x".repeat(500_000))]).unwrap();
        assert_eq!(long, format!("{}: LICENSE", "x".repeat(LONGEST)));
        assert_eq!(stated_licence(&[("LICENSE", "\u{7}\n \n")]), None);
    }
}
