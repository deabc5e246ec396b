//! The inline marks of a page's text as HTML: code, strong, emphasis, links. `assets/dom.js` reads the same marks in the
//! cells of tables.

use crate::render::escape::xml;

/// A text as HTML. `chapter` gives the chapter that holds what another file of the report does.
pub(super) fn inline_html(text: &str, chapter: &dyn Fn(&str) -> Option<String>) -> String {
    let signs: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut plain = String::new();
    let mut at = 0;
    while at < signs.len() {
        let (found, next) = match signs[at] {
            '\\' if signs.get(at + 1).is_some_and(char::is_ascii_punctuation) => {
                plain.push(signs[at + 1]);
                at += 2;
                continue;
            }
            '`' => parse_code(&signs, at),
            '*' => strong_or_emphasis(&signs, at, chapter),
            '[' => parse_link(&signs, at, chapter),
            _ => None,
        }
        .map_or((None, at + 1), |(found, next)| (Some(found), next));
        match found {
            Some(found) => {
                out += &xml(&plain);
                plain.clear();
                out += &found;
            }
            // A percent sign does not begin a line.
            None if signs[at..].starts_with(&[' ', '%']) => plain.push('\u{a0}'),
            None => plain.push(signs[at]),
        }
        at = next;
    }
    out + &xml(&plain)
}

/// A text without its marks.
pub(super) fn plain_text(text: &str) -> String {
    let marked = inline_html(text, &|_| None);
    let mut out = String::new();
    let mut inside = false;
    for sign in marked.chars() {
        match sign {
            '<' => inside = true,
            '>' => inside = false,
            '\u{a0}' if !inside => out.push(' '),
            _ if !inside => out.push(sign),
            _ => {}
        }
    }
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    named.into_iter().fold(out, |out, (name, sign)| out.replace(name, sign))
}

/// How often a sign is repeated from here on.
fn run(signs: &[char], at: usize) -> usize {
    signs[at..].iter().take_while(|&&sign| sign == signs[at]).count()
}

fn parse_code(signs: &[char], at: usize) -> Option<(String, usize)> {
    let marks = run(signs, at);
    let mut end = at + marks;
    while end < signs.len() {
        if signs[end] == '`' {
            let found = run(signs, end);
            if found == marks {
                let inside: String = signs[at + marks..end].iter().collect();
                let spaced = inside.len() > 2 && inside.starts_with(' ') && inside.ends_with(' ');
                let inside = if spaced { &inside[1..inside.len() - 1] } else { &inside };
                return Some((format!("<code>{}</code>", xml(inside)), end + marks));
            }
            end += found;
        } else {
            end += 1;
        }
    }
    None
}

fn strong_or_emphasis(
    signs: &[char],
    at: usize,
    chapter: &dyn Fn(&str) -> Option<String>,
) -> Option<(String, usize)> {
    let marks = run(signs, at).min(2);
    let start = at + marks;
    if signs.get(start).is_none_or(|sign| sign.is_whitespace()) {
        return None;
    }
    let closes = |end: &usize| {
        signs[*end] == '*'
            && signs[*end - 1] != '\\'
            && !signs[*end - 1].is_whitespace()
            && run(signs, *end).min(2) == marks
    };
    let end = (start + 1..signs.len()).find(closes)?;
    let inside: String = signs[start..end].iter().collect();
    let name = if marks == 2 { "strong" } else { "em" };
    Some((format!("<{name}>{}</{name}>", inline_html(&inside, chapter)), end + marks))
}

fn parse_link(
    signs: &[char],
    at: usize,
    chapter: &dyn Fn(&str) -> Option<String>,
) -> Option<(String, usize)> {
    let close = (at + 1..signs.len()).find(|&end| signs[end] == ']')?;
    if signs.get(close + 1) != Some(&'(') {
        return None;
    }
    let end = (close + 2..signs.len()).find(|&end| signs[end] == ')')?;
    let words: String = signs[at + 1..close].iter().collect();
    let target: String = signs[close + 2..end].iter().collect();
    let words = inline_html(&words, chapter);
    Some(
        match chapter(&target).map(|id| format!("#{id}")).or_else(|| is_safe(&target).then(|| target.clone()))
        {
            Some(target) => (format!("<a href=\"{}\">{words}</a>", xml(&target)), end + 1),
            None => (words, end + 1),
        },
    )
}

/// Whether a link leads to a page, not to a script.
fn is_safe(target: &str) -> bool {
    let scheme = target.split(['/', '#', '?']).next().unwrap_or("");
    target.starts_with("https://") || target.starts_with("http://") || !scheme.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        inline_html(text, &|target| target.strip_suffix(".md").map(String::from))
    }

    #[test]
    fn marks_become_elements() {
        assert_eq!(shown("a **b** *c* `d<`"), "a <strong>b</strong> <em>c</em> <code>d&lt;</code>");
        assert_eq!(shown("`` a`b ``"), "<code>a`b</code>");
        assert_eq!(shown("[`errors.md`](errors.md)"), "<a href=\"#errors\"><code>errors.md</code></a>");
        assert_eq!(shown("2 * 3 \\* 4 [x]"), "2 * 3 * 4 [x]");
        assert_eq!(shown("74 % of `5 %`"), "74\u{a0}% of <code>5 %</code>");
        assert_eq!(plain_text("74 %"), "74 %");
        assert_eq!(shown("**all, `x`**"), "<strong>all, <code>x</code></strong>");
    }

    #[test]
    fn text_cannot_become_an_element_or_a_script() {
        assert_eq!(shown("<b>&\"'"), "&lt;b&gt;&amp;&quot;&apos;");
        assert_eq!(shown("[x](javascript:alert)"), "x");
        assert_eq!(shown("[x](\" onload=\")"), "<a href=\"&quot; onload=&quot;\">x</a>");
        assert_eq!(shown("`</code><script>`"), "<code>&lt;/code&gt;&lt;script&gt;</code>");
        assert_eq!(plain_text("*a* `b<c>` & **d**"), "a b<c> & d");
    }
}
