//! Splits Rust source into the tokens that matter for imports: words and signs, without comments, literals and test
//! code.

/// The words and signs of a file. Comments, literals and items under `#[cfg(test)]` are left out.
pub(super) fn tokens(text: &str) -> Vec<String> {
    let all = split(text);
    let mut kept = Vec::new();
    let mut at = 0;
    while at < all.len() {
        if is_test(&all[at..]) {
            at = end_of_item(&all, at);
        } else {
            kept.push(all[at].clone());
            at += 1;
        }
    }
    kept
}

/// The names of files that a file declares as modules for tests only: `#[cfg(test)] mod NAME;`.
pub(super) fn test_modules(text: &str) -> Vec<String> {
    let all = split(text);
    let starts = (0..all.len()).filter(|&at| is_test(&all[at..]));
    let named = starts.filter_map(|at| {
        let item = &all[at..end_of_item(&all, at)];
        let name = item.iter().position(|token| token == "mod")? + 1;
        (item.last()? == ";").then(|| item[name].clone())
    });
    named.collect()
}

fn is_test(tokens: &[String]) -> bool {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    tokens.len() >= MARK.len() && tokens.iter().zip(MARK).all(|(token, mark)| token == mark)
}

/// The position after the item whose attributes start at `at`: after its `;`, or after its closing brace.
fn end_of_item(tokens: &[String], mut at: usize) -> usize {
    let mut depth = 0usize;
    let mut in_attribute = false;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "#" if depth == 0 => in_attribute = true,
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && tokens[at] == "}" {
                    return at + 1;
                }
                if depth == 0 && tokens[at] == "]" && in_attribute {
                    in_attribute = false;
                }
            }
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}

fn split(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        match rest {
            ['/', '/', ..] => at += rest.iter().position(|&c| c == '\n').unwrap_or(rest.len()),
            ['/', '*', ..] => at += block_comment(rest),
            ['"', ..] | ['b' | 'c', '"', ..] => at += quoted(rest),
            ['r', '"' | '#', ..] | ['b' | 'c', 'r', '"' | '#', ..] if raw(rest).is_some() => {
                at += raw(rest).expect("the guard found one");
            }
            ['\'', ..] => at += character(rest),
            [first, ..] if first.is_alphanumeric() || *first == '_' => {
                let word = rest.iter().take_while(|c| c.is_alphanumeric() || **c == '_');
                let word: String = word.collect();
                at += word.chars().count();
                tokens.push(word);
            }
            [':', ':', ..] => {
                tokens.push("::".into());
                at += 2;
            }
            [first, ..] => {
                if !first.is_whitespace() {
                    tokens.push(first.to_string());
                }
                at += 1;
            }
            [] => {}
        }
    }
    tokens
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(rest: &[char]) -> usize {
    let mut at = rest.iter().position(|&c| c == '"').expect("it starts so") + 1;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// The length of a raw string, if this is one and not a raw name such as `r#type`.
fn raw(rest: &[char]) -> Option<usize> {
    let start = rest.iter().position(|&c| c == 'r')? + 1;
    let marks = rest[start..].iter().take_while(|&&c| c == '#').count();
    (rest.get(start + marks) == Some(&'"')).then_some(())?;
    let open = start + marks + 1;
    let closes = |at: &usize| {
        rest[*at] == '"' && rest[at + 1..].iter().take(marks).filter(|&&c| c == '#').count() == marks
    };
    Some((open..rest.len()).find(closes).map_or(rest.len(), |at| at + 1 + marks))
}

/// The length of a character, or of a lifetime's mark.
fn character(rest: &[char]) -> usize {
    match rest {
        ['\'', '\\', _, ..] => rest[3..].iter().position(|&c| c == '\'').map_or(rest.len(), |at| at + 4),
        ['\'', _, '\'', ..] => 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_signs_without_what_is_no_code() {
        let text = "//! crate::a\nuse crate::b; /* crate::c /* x */ */ let s = \"crate::d\\\"\"; r#\"crate::e\"#; \
                    let c = ':'; fn f<'a>(x: &'a str) {} '\\''; b\"x\"; r#type";
        let found = tokens(text).join(" ");
        assert_eq!(
            found,
            "use crate :: b ; let s = ; ; let c = ; fn f < a > ( x : & a str ) { } ; ; r # type"
        );
    }

    #[test]
    fn items_for_tests_are_left_out() {
        let text = "fn a() {}\n#[cfg(test)]\n#[allow(dead_code)]\nmod tests { use super::*; fn b() { {} } }\n\
                    #[cfg(test)]\nmod cases;\n#[cfg(test)] use crate::x;\nfn c() {}";
        assert_eq!(tokens(text).join(" "), "fn a ( ) { } fn c ( ) { }");
        assert_eq!(test_modules(text), ["cases"]);
    }
}
