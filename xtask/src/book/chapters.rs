//! The chapters that are made of files outside of `docs/`, and the links to them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::markdown;
use crate::workspace;

/// The folder of the book's pages, from the workspace's root.
const DOCS: &str = "docs/";

/// The folder of other files' chapters, from the book's root.
const OTHERS: &str = "repository/";

/// Adds a chapter for each file that is linked to, directly or by another such file, and changes the links.
pub(super) fn add_linked_chapters(book: &mut Value) -> anyhow::Result<()> {
    let mut linked = Linked::default();
    let items = book.get_mut("items").and_then(Value::as_array_mut);
    let items = items.context("mdBook's book has no `items`; Frostline's docs need mdBook 0.5")?;
    for item in items.iter_mut() {
        visit(item, &mut linked)?;
    }
    let mut chapters = BTreeMap::new();
    while let Some(place) = linked.next(&chapters) {
        let chapter = linked.file_chapter(&place)?;
        chapters.insert(place, chapter);
    }
    let sub_items: Vec<Value> = chapters.into_values().collect();
    items.push(json!("Separator"));
    items.push(chapter("The repository", INTRODUCTION.into(), &format!("{OTHERS}index.md"), sub_items));
    Ok(())
}

/// The text of the page above those chapters.
const INTRODUCTION: &str = "\
# The repository

The pages below are files of the repository that other pages link to: plans, the crates' READMEs, and pages for
contributors.
";

/// Changes the links of a chapter of `docs/` and of those below it.
fn visit(item: &mut Value, linked: &mut Linked) -> anyhow::Result<()> {
    let Some(chapter) = item.get_mut("Chapter") else { return Ok(()) };
    if let Some(source) = chapter["source_path"].as_str() {
        let place = format!("{DOCS}{source}");
        let text = chapter["content"].as_str().context("a chapter has no `content`")?;
        chapter["content"] = linked.rewrite_links(&place, text)?.into();
    }
    for item in chapter["sub_items"].as_array_mut().into_iter().flatten() {
        visit(item, linked)?;
    }
    Ok(())
}

/// Files outside of `docs/` to which there are links.
#[derive(Default)]
struct Linked {
    places: Vec<String>,
}

impl Linked {
    /// One that has no chapter yet.
    fn next(&self, chapters: &BTreeMap<String, Value>) -> Option<String> {
        self.places.iter().find(|place| !chapters.contains_key(*place)).cloned()
    }

    /// The text of a file with links that lead to the book's chapters.
    fn rewrite_links(&mut self, from: &str, text: &str) -> anyhow::Result<String> {
        let page = book_page(from);
        let mut lost = None;
        let changed = markdown::with_links(text, |line, target| {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            if file.is_empty() {
                return None;
            }
            let Some(place) = resolve_link(from, file).map(readme_of_folder) else {
                lost = Some(format!("{from}:{line}: the link {target} leads out of the project"));
                return None;
            };
            if !place.starts_with(DOCS) && !self.places.contains(&place) {
                self.places.push(place.clone());
            }
            // A line of a source file has no anchor in its chapter.
            let anchor =
                if anchor.is_empty() || !place.ends_with(".md") { "" } else { &format!("#{anchor}") };
            Some(format!("{}{anchor}", relative_link(&page, &self::book_page(&place))))
        });
        lost.map_or(Ok(changed), |lost| bail!(lost))
    }

    /// The chapter of one file, or of a folder without a README.
    fn file_chapter(&mut self, place: &str) -> anyhow::Result<Value> {
        let path = workspace::workspace_root().join(place);
        let text = if path.is_dir() {
            list_folder(place, &path)?
        } else {
            let text = std::fs::read_to_string(&path).with_context(|| place.to_string())?;
            if place.ends_with(".md") {
                self.rewrite_links(place, &text)?
            } else {
                let kind = path.extension().unwrap_or_default().to_string_lossy();
                format!("# `{place}`\n\n~~~~{kind}\n{}\n~~~~\n", text.trim_end())
            }
        };
        // A crate is called by its folder.
        let name = place.strip_suffix("/README.md").unwrap_or(place);
        Ok(chapter(name, text, &book_page(place), Vec::new()))
    }
}

fn chapter(name: &str, content: String, path: &str, sub_items: Vec<Value>) -> Value {
    json!({ "Chapter": {
        "name": name, "content": content, "number": null, "sub_items": sub_items,
        "path": path, "source_path": null, "parent_names": [],
    } })
}

/// The README of a folder that has one, instead of the folder.
fn readme_of_folder(place: String) -> String {
    let readme = if place.is_empty() { "README.md".into() } else { format!("{place}/README.md") };
    if workspace::workspace_root().join(&readme).is_file() { readme } else { place }
}

/// Lists the names in a folder.
fn list_folder(place: &str, path: &Path) -> anyhow::Result<String> {
    let entries = std::fs::read_dir(path).with_context(|| place.to_string())?;
    let mut names: Vec<String> = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<anyhow::Result<_>>()?;
    names.sort();
    let lines: Vec<String> = names.iter().map(|name| format!("- `{name}`")).collect();
    Ok(format!("# `{place}`\n\nA folder with these files:\n\n{}\n", lines.join("\n")))
}

/// Returns the place of one of the project's files in the book. mdBook makes `index.html` of a README.
fn book_page(place: &str) -> String {
    if let Some(inside) = place.strip_prefix(DOCS) {
        return match inside.strip_suffix("README.md") {
            Some(folder) => format!("{folder}index.md"),
            None => inside.to_string(),
        };
    }
    match place.strip_suffix("/README.md").or(place.strip_suffix(".md")) {
        Some(name) => format!("{OTHERS}{name}.md"),
        None => format!("{OTHERS}{place}.md"),
    }
}

/// A link's target as a path from the root; nothing if it leads out of the project.
fn resolve_link(from: &str, link: &str) -> Option<String> {
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

/// Returns the link from one page to another.
fn relative_link(from: &str, to: &str) -> String {
    let folder: Vec<&str> = from.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect();
    let parts: Vec<&str> = to.split('/').collect();
    let same = folder.iter().zip(&parts[..parts.len() - 1]).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", folder.len() - same);
    up.chain(parts[same..].iter().copied()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_project_has_one_page() {
        for (place, there) in [
            ("docs/guide.md", "guide.md"),
            ("docs/study/README.md", "study/index.md"),
            ("docs/benchmarks.json", "benchmarks.json"),
            ("README.md", "repository/README.md"),
            ("ARCHITECTURE.md", "repository/ARCHITECTURE.md"),
            ("crates/frostline/README.md", "repository/crates/frostline.md"),
            ("configs/demo.toml", "repository/configs/demo.toml.md"),
        ] {
            assert_eq!(book_page(place), there, "{place}");
        }
    }

    #[test]
    fn a_link_goes_up_as_far_as_it_must() {
        assert_eq!(relative_link("guide.md", "policies.md"), "policies.md");
        assert_eq!(relative_link("study/index.md", "guide.md"), "../guide.md");
        assert_eq!(relative_link("study/a/report.md", "study/a/data.md"), "data.md");
        assert_eq!(
            relative_link("repository/crates/x.md", "repository/configs/d.toml.md"),
            "../configs/d.toml.md"
        );
    }

    #[test]
    fn what_pages_link_to_becomes_a_chapter_with_links_of_its_own() {
        let page = json!({ "Chapter": {
            "name": "A", "content": "[d](../configs/demo.toml) [x](../xtask/nowhere.md) [s](study) [i](#here)",
            "path": "a.md", "source_path": "a.md", "sub_items": [],
        } });
        let mut book = json!({ "items": [page] });
        let error = add_linked_chapters(&mut book).expect_err("no such file").to_string();
        assert!(error.contains("xtask/nowhere.md"), "{error}");
        book["items"][0]["Chapter"]["content"] = "[d](../configs/demo.toml#L3) [s](study) [i](#here)".into();
        book["items"].as_array_mut().expect("items").truncate(1);
        add_linked_chapters(&mut book).expect("a book");
        let text = &book["items"][0]["Chapter"]["content"];
        assert_eq!(text, "[d](repository/configs/demo.toml.md) [s](study/index.md) [i](#here)");
        let added = &book["items"][2]["Chapter"]["sub_items"];
        assert_eq!(added.as_array().expect("chapters").len(), 1);
        assert_eq!(added[0]["Chapter"]["path"], "repository/configs/demo.toml.md");
        assert!(added[0]["Chapter"]["content"].as_str().is_some_and(|text| text.contains("[grid]")));
    }
}
