//! Markdown as far as the project's checks need it: links and code blocks.

/// A fenced code block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// The line of the opening fence, counted from 1.
    pub line: usize,
    /// The text behind the opening fence: the language.
    pub info: String,
    /// The lines between the fences.
    pub lines: Vec<String>,
    /// The HTML comment on the lines just above, without its marks.
    pub comment: Option<String>,
}

/// Returns the fenced code blocks of a text.
pub(crate) fn fenced_blocks(text: &str) -> Vec<Fence> {
    let mut found: Vec<Fence> = Vec::new();
    let mut open = false;
    let mut above: Vec<&str> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            if !open {
                let comment = comment_above(&above);
                let info = info.trim().to_string();
                found.push(Fence { line: at + 1, info, lines: Vec::new(), comment });
            }
            open = !open;
            above.clear();
        } else if let Some(fence) = found.last_mut().filter(|_| open) {
            fence.lines.push(line.to_string());
        } else {
            above.push(line);
        }
    }
    found
}

/// The comment that ends these lines; it may be longer than one line.
fn comment_above(above: &[&str]) -> Option<String> {
    let end = above.last()?.trim_end().strip_suffix("-->")?;
    let mut lines = vec![end];
    lines.extend(above.iter().rev().skip(1).copied());
    let start = lines.iter().position(|line| line.trim_start().starts_with("<!--"))?;
    let words = lines[..=start].iter().rev().flat_map(|line| line.split_whitespace());
    let text = words.collect::<Vec<_>>().join(" ");
    Some(text.strip_prefix("<!--")?.trim().to_string())
}

/// Returns the text with the targets of its relative links replaced if `change` has another; code stays as it is.
pub(crate) fn with_links(text: &str, mut change: impl FnMut(usize, &str) -> Option<String>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut in_code = false;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        if in_code || is_fence {
            result.push_str(line);
            continue;
        }
        for (number, part) in line.split('`').enumerate() {
            if number > 0 {
                result.push('`');
            }
            if number % 2 == 1 {
                result.push_str(part);
            } else {
                replace_links_in_part(part, &mut result, |target| change(at + 1, target));
            }
        }
    }
    result
}

/// Adds a piece of a line that has no code, with its links changed.
fn replace_links_in_part(part: &str, result: &mut String, mut change: impl FnMut(&str) -> Option<String>) {
    let mut left = part;
    while let Some(at) = left.find("](") {
        let (before, rest) = left.split_at(at + 2);
        let target = rest.split([')', ' ', '\n']).next().unwrap_or_default();
        let is_address = target.contains("://") || target.starts_with("mailto:");
        let new = if target.is_empty() || is_address { None } else { change(target) };
        result.push_str(before);
        result.push_str(new.as_deref().unwrap_or(target));
        left = &rest[target.len()..];
    }
    result.push_str(left);
}

/// The cells of the rows of the tables below a heading, their heads included.
pub(crate) fn table_rows_below<'a>(text: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let section = text.lines().skip_while(|line| *line != heading).skip(1);
    let inside = |line: &'a str| line.trim().strip_prefix('|')?.strip_suffix('|');
    let lines = section.take_while(|line| !line.starts_with("## ")).filter_map(inside);
    lines.map(|line| line.split('|').map(str::trim).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_with_the_comment_above() {
        let text = "a\n<!-- run: exits\n     3 -->\n```text\nb\n```\n\n```sh\n```\n";
        let found = fenced_blocks(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].comment.as_deref(), Some("run: exits 3"));
        assert_eq!((found[0].line, found[0].info.as_str()), (4, "text"));
        assert_eq!(found[0].lines, ["b"]);
        assert_eq!((found[1].comment.as_deref(), found[1].line), (None, 8));
    }

    #[test]
    fn a_comment_further_up_is_of_something_else() {
        assert_eq!(fenced_blocks("<!-- a -->\n\n```text\n```\n")[0].comment, None);
    }

    #[test]
    fn links_are_changed_and_code_is_not() {
        let text = "[a](b) `[a](b)` [`x`](b#c) [d](https://e) ![f](b)\n```text\n[a](b)\n```\n";
        let changed =
            with_links(text, |_, target| target.strip_prefix('b').map(|anchor| format!("B{anchor}")));
        assert_eq!(changed, "[a](B) `[a](b)` [`x`](B#c) [d](https://e) ![f](B)\n```text\n[a](b)\n```\n");
    }
}
