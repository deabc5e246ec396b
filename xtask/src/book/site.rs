//! The links of a built site: each leads to a file of the site and, where it has an anchor, to an element there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;

/// One page: the targets of its links, and the names of its elements.
struct Page {
    links: BTreeSet<String>,
    names: BTreeSet<String>,
}

/// The number of internal links of a site, and those that lead nowhere.
pub(crate) fn check(folder: &Path) -> anyhow::Result<(usize, Vec<String>)> {
    let mut files = BTreeSet::new();
    list(folder, "", &mut files)?;
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| file.ends_with(".html")) {
        let text = std::fs::read_to_string(folder.join(file)).with_context(|| file.clone())?;
        pages.insert(file.clone(), page(&text));
    }
    Ok(faults(&files, &pages))
}

/// Adds the files below a folder, with slashes.
fn list(folder: &Path, below: &str, files: &mut BTreeSet<String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.insert(name);
        }
    }
    Ok(())
}

/// The page for a missing address is shown at any address, so its links start at the site's root.
const MISSING: &str = "404.html";

fn faults(files: &BTreeSet<String>, pages: &BTreeMap<String, Page>) -> (usize, Vec<String>) {
    let (mut count, mut faults) = (0, Vec::new());
    for (name, page) in pages.iter().filter(|(name, _)| *name != MISSING) {
        for link in page.links.iter().filter(|link| is_internal(link)) {
            count += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let file = file.split('?').next().unwrap_or_default();
            let place = if file.is_empty() { Some(name.clone()) } else { joined(name, file) };
            let place = place.map(|place| {
                let folder = place.is_empty() || place.ends_with('/');
                if folder { format!("{place}index.html") } else { place }
            });
            let Some(place) = place.filter(|place| files.contains(place)) else {
                faults.push(format!("{name}: the link {link} leads to no file of the site"));
                continue;
            };
            let Some(target) = pages.get(&place).filter(|_| !anchor.is_empty()) else { continue };
            if !target.names.contains(anchor) {
                faults.push(format!("{name}: {place} has nothing called #{anchor}"));
            }
        }
    }
    (count, faults)
}

fn is_internal(link: &str) -> bool {
    let scheme = link.split(['/', '#', '?']).next().unwrap_or_default();
    !scheme.contains(':') && !link.starts_with("//") && !link.is_empty() && link != "#"
}

/// A link from a page as a path of the site; nothing if it leads out of it.
fn joined(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    let pieces: Vec<&str> = link.split('/').collect();
    for (at, piece) in pieces.iter().enumerate() {
        match *piece {
            "" if at == 0 => return None,
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            piece => parts.push(piece),
        }
    }
    let end = if link.ends_with('/') && !parts.is_empty() { "/" } else { "" };
    Some(format!("{}{end}", parts.join("/")))
}

/// What links and names there are in the tags of a page.
fn page(text: &str) -> Page {
    let mut page = Page { links: BTreeSet::new(), names: BTreeSet::new() };
    for tag in tags(text) {
        page.links.extend(["href", "src"].iter().filter_map(|key| value(tag, key)));
        page.names.extend(value(tag, "id"));
    }
    page
}

/// The texts of a page's tags, without those in scripts.
fn tags(text: &str) -> impl Iterator<Item = &str> {
    let mut left = text;
    std::iter::from_fn(move || {
        let start = left.find('<')?;
        let rest = &left[start + 1..];
        let tag = rest.split('>').next().unwrap_or_default();
        let is_script = tag.starts_with("script");
        left = &rest[tag.len()..];
        if is_script {
            left = left.find("</script").map_or("", |end| &left[end..]);
        }
        Some(tag)
    })
}

/// The value of an attribute in a tag.
fn value(tag: &str, key: &str) -> Option<String> {
    let start = tag.find(&format!(" {key}=\""))? + key.len() + 3;
    let text = tag[start..].split('"').next()?;
    let plain = [("&amp;", "&"), ("&#x27;", "'"), ("&quot;", "\""), ("%20", " ")];
    Some(plain.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(body: &str) -> Vec<String> {
        let files: BTreeSet<String> =
            ["index.html", "a/b.html", "a/index.html", "a/f.svg"].map(String::from).into();
        let mut pages = BTreeMap::new();
        pages.insert("index.html".to_string(), page("<h1 id=\"top\">x</h1>"));
        pages.insert("a/b.html".to_string(), page(&format!("<p id=\"here\">{body}")));
        pages.insert("a/index.html".to_string(), page("<p>"));
        faults(&files, &pages).1
    }

    #[test]
    fn links_that_lead_somewhere_are_no_faults() {
        for link in
            ["../index.html#top", "#here", "f.svg", "./", "../", "../a/b.html?x#here", "https://e.org/#x"]
        {
            assert_eq!(
                faults_of(&format!("<a class=\"x\" href=\"{link}\">")),
                Vec::<String>::new(),
                "{link}"
            );
        }
        assert!(faults_of("<script>let a = '<a href=\"no\">';</script>").is_empty());
    }

    #[test]
    fn links_that_lead_nowhere_are() {
        for link in ["b.md", "../../x.html", "#there", "../index.html#here", "c/", "/index.html"] {
            assert_eq!(faults_of(&format!("<a href=\"{link}\">")).len(), 1, "{link}");
        }
        assert_eq!(faults_of("<img src=\"g.svg\">").len(), 1);
    }
}
