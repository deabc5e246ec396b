//! Commands in README.md and `docs/`: each block of them either runs in CI or gives the reason why it does not.

use crate::markdown;
use crate::marks::{self, Mark};

/// The pages whose commands run in `cargo xtask ci --only docs`.
pub(crate) fn is_page(name: &str) -> bool {
    name == "README.md" || name.starts_with("docs/") && name.ends_with(".md")
}

/// The faults of the pages among these files, and of the book's table of contents.
pub(super) fn check_pages(tracked: &[String], read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let summary = read(SUMMARY).unwrap_or_default();
    for name in tracked.iter().filter(|name| is_page(name)) {
        let page = name.strip_prefix("docs/").filter(|_| name != SUMMARY);
        if page.is_some_and(|page| !summary.contains(&format!("({page})"))) {
            faults.push(format!("{name}: it is not in {SUMMARY}, so the book lacks it"));
        }
        for block in markdown::fenced_blocks(&read(name).unwrap_or_default()) {
            let place = format!("{name}:{}", block.line);
            match marks::mark_of_block(&block) {
                Ok(Mark::None) if marks::has_commands(&block) => faults.push(format!(
                    "{place}: commands; write `<!-- run -->` above the block, or why CI does not run them, as in \
                     `<!-- not run: needs a GPU -->`"
                )),
                Ok(_) => {}
                Err(error) => faults.push(format!("{place}: {error}")),
            }
        }
    }
    faults
}

/// The book's table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

#[cfg(test)]
mod tests {
    use super::*;

    fn page_faults(page: &str) -> Vec<String> {
        let tracked = ["README.md", "CONTRIBUTING.md", "docs/a.md", "docs/SUMMARY.md"].map(String::from);
        check_pages(&tracked, |name| match name {
            "docs/SUMMARY.md" => Some("- [A](a.md)\n".into()),
            "docs/a.md" => Some(page.into()),
            _ => Some("```text\ncargo test\n```\n".into()).filter(|_| name == "CONTRIBUTING.md"),
        })
    }

    #[test]
    fn commands_are_accounted_for() {
        for mark in ["run", "not run: needs a GPU", "run: exits 2"] {
            assert!(
                page_faults(&format!("<!-- {mark} -->\n```text\nfrostline x\n```\n")).is_empty(),
                "{mark}"
            );
        }
        assert!(page_faults("```text\nno command\n```\n").is_empty());
        for mark in ["", "<!-- not run -->\n", "<!-- a comment -->\n", "<!-- run: maybe -->\n"] {
            assert_eq!(page_faults(&format!("{mark}```text\nfrostline x\n```\n")).len(), 1, "{mark}");
        }
    }

    #[test]
    fn every_page_is_in_the_book() {
        let tracked = ["docs/a.md", "docs/b.md"].map(String::from);
        let faults = check_pages(&tracked, |name| (name == SUMMARY).then(|| "- [A](a.md)\n".into()));
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("docs/b.md"), "{faults:?}");
    }
}
