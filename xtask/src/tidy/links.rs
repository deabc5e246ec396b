//! Links in Markdown: each relative link leads to a file or folder of the project, and its `#anchor` to a heading there.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::markdown;

/// The faults of the Markdown files among these; `read` gives a file's text.
pub(super) fn check(tracked: &[String], read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let known: BTreeSet<&str> = tracked.iter().map(String::as_str).collect();
    let folders: BTreeSet<String> = tracked.iter().flat_map(|name| folders(name)).collect();
    let mut faults = Vec::new();
    for name in tracked.iter().filter(|name| name.ends_with(".md")) {
        let Some(text) = read(name) else { continue };
        for (line, target) in links(&text) {
            let (file, anchor) =
                target.split_once('#').map_or((target.as_str(), None), |(file, at)| (file, Some(at)));
            let place = if file.is_empty() { Some(name.clone()) } else { resolve(name, file) };
            let Some(place) = place.filter(|place| known.contains(place.as_str()) || folders.contains(place))
            else {
                faults.push(format!("{name}:{line}: the link {target} leads to no file of the project"));
                continue;
            };
            let Some(anchor) = anchor.filter(|_| place.ends_with(".md")) else { continue };
            if !read(&place).is_some_and(|text| anchors(&text).contains(anchor)) {
                faults.push(format!("{name}:{line}: {place} has no heading for #{anchor}"));
            }
        }
    }
    faults
}

/// The folders above a file.
fn folders(name: &str) -> impl Iterator<Item = String> {
    Path::new(name).ancestors().skip(1).map(|folder| folder.to_string_lossy().into_owned())
}

/// The relative links of a text, each with its line, without those in code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    markdown::with_links(text, |line, target| {
        found.push((line, target.to_string()));
        None
    });
    found
}

/// A link's target as a path from the root; nothing if it leads out of the project.
pub(crate) fn resolve(from: &str, link: &str) -> Option<String> {
    let mut path: PathBuf = Path::new(from).parent()?.to_path_buf();
    for part in Path::new(link).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    Some(path.to_string_lossy().replace('\\', "/"))
}

/// The anchors of a text's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (_, line) in markdown::prose(text) {
        let Some(title) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#')) else { continue };
        let Some(title) = title.strip_prefix(' ') else { continue };
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let slug: String =
            kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let again = (1..).map(|number| format!("{slug}-{number}"));
        let free = std::iter::once(slug.clone()).chain(again).find(|slug| !all.contains(slug));
        all.extend(free);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(readme: &str) -> Vec<String> {
        let tracked = ["README.md", "docs/a.md", "crates/x/src/lib.rs"].map(String::from);
        check(&tracked, |name| match name {
            "README.md" => Some(readme.into()),
            "docs/a.md" => {
                Some("# A page\n\n## `model/`\n## Two words, and more\n## Two words, and more\n".into())
            }
            _ => None,
        })
    }

    #[test]
    fn links_that_lead_somewhere_are_no_faults() {
        for link in [
            "docs/a.md",
            "./docs/a.md",
            "docs/",
            "crates/x",
            "docs/a.md#a-page",
            "docs/a.md#model",
            "docs/a.md#two-words-and-more-1",
            "#title",
            "https://example.org/x#y",
            "crates/x/src/lib.rs#L3",
        ] {
            assert_eq!(faults(&format!("# Title\n[a]({link}) and ")), Vec::<String>::new());
        }
        assert!(faults("`[a](nowhere)`\n\n```text\n[a](nowhere)\n```\n").is_empty());
    }

    #[test]
    fn links_that_lead_nowhere_are() {
        for link in
            ["docs/b.md", "a.md", "../README.md", "docs/a.md#b", "#other", "docs/a.md#two-words-and-more-2"]
        {
            assert_eq!(faults(&format!("# Title\n\n[a]({link})\n")).len(), 1, "{link}");
        }
    }
}
