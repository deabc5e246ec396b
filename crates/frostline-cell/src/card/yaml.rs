//! The little YAML that a model card needs: nested keys and lists of strings and numbers.

/// Words that YAML 1.1 or 1.2 reads as something other than text.
const NOT_TEXT: [&str; 10] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan"];

/// A value.
pub(super) enum Yaml {
    /// Text, quoted if necessary.
    Text(String),
    /// A number, as it is written.
    Number(String),
    /// Values, one per line.
    List(Vec<Yaml>),
    /// Keys in their order, each with the lines of a comment above it.
    Map(Vec<YamlEntry>),
}

/// A key with its value.
pub(super) struct YamlEntry {
    pub key: &'static str,
    pub value: Yaml,
    /// Each becomes a line `# ...` above the key.
    pub comments: Vec<String>,
}

impl YamlEntry {
    pub fn new(key: &'static str, value: Yaml) -> Self {
        Self { key, value, comments: Vec::new() }
    }

    pub fn text(key: &'static str, value: impl Into<String>) -> Self {
        Self::new(key, Yaml::Text(value.into()))
    }

    pub fn texts<T: Into<String>>(key: &'static str, values: impl IntoIterator<Item = T>) -> Self {
        Self::new(key, Yaml::List(values.into_iter().map(|value| Yaml::Text(value.into())).collect()))
    }

    pub fn with_comment(mut self, comment: impl Into<String>) -> Self {
        self.comments.push(comment.into());
        self
    }
}

/// Returns the lines of a map.
pub(super) fn map_lines(map: &[YamlEntry]) -> String {
    let mut out = String::new();
    write_map(map, "", "", &mut out);
    out
}

fn write_map(map: &[YamlEntry], first: &str, indent: &str, out: &mut String) {
    for (at, YamlEntry { key, value, comments }) in map.iter().enumerate() {
        for comment in comments {
            let comment: String = comment.chars().map(|c| if is_plain(c) { c } else { ' ' }).collect();
            out.push_str(&format!("{indent}# {comment}\n"));
        }
        out.push_str(if at == 0 { first } else { indent });
        out.push_str(&format!("{key}:"));
        write(value, indent, out);
    }
}

/// Writes the value after a key.
fn write(value: &Yaml, indent: &str, out: &mut String) {
    match value {
        Yaml::Text(text) => out.push_str(&format!(" {}\n", quote_text(text))),
        Yaml::Number(number) => out.push_str(&format!(" {number}\n")),
        Yaml::Map(map) => {
            let deeper = format!("{indent}  ");
            out.push('\n');
            write_map(map, &deeper, &deeper, out);
        }
        Yaml::List(values) => {
            out.push('\n');
            for value in values {
                match value {
                    Yaml::Map(map) => write_map(map, &format!("{indent}- "), &format!("{indent}  "), out),
                    other => {
                        out.push_str(&format!("{indent}-"));
                        write(other, &format!("{indent}  "), out);
                    }
                }
            }
        }
    }
}

/// Returns a text unchanged if YAML reads it as text, otherwise in double quotes.
fn quote_text(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_text = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(plain)
        && !NOT_TEXT.contains(&text.to_ascii_lowercase().as_str());
    if is_text {
        return text.into();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_plain(c) => out.push(c),
            c => out.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// Returns whether a quoted text can contain this character unescaped: it is neither a control character nor a
/// line end.
fn is_plain(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_read_as_that_text() {
        let texts = [
            "en",
            "no",
            "ON",
            "null",
            "1.5",
            "1e5",
            "0x1F",
            "12:30",
            "~",
            "",
            " ",
            "-",
            "- a",
            "a: b",
            "a #b",
            "'",
            "\"",
            "\\",
            "C:\\new",
            "two\nlines",
            "tab\there",
            "\u{7f}\u{85}\u{2028}\u{0}",
            "é 日本語 🦀",
            "@a",
            "`a`",
            "%a",
            "!a",
            "&a",
            "*a",
            "{a}",
            "[a]",
            "2024-01-01",
            "a/b-c_d.e",
            "---",
            "...",
            "<<",
            "=",
            ".inf",
            "nan",
            "\u{FEFF}x",
        ];
        let map = map_lines(&[
            YamlEntry::texts("all", texts).with_comment("a\ncomment: \u{7}"),
            YamlEntry::text("last", "x: y"),
        ]);
        let read: serde_yaml_ng::Value =
            serde_yaml_ng::from_str(&map).unwrap_or_else(|error| panic!("{error}\n{map}"));
        let found: Vec<&str> =
            read["all"].as_sequence().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
        assert_eq!(found, texts, "{map}");
        assert_eq!(read["last"].as_str(), Some("x: y"));
    }

    #[test]
    fn lists_and_maps_nest() {
        let inner =
            || Yaml::Map(vec![YamlEntry::text("a", "x"), YamlEntry::new("b", Yaml::Number("0.5".into()))]);
        let list = Yaml::List(vec![inner(), inner()]);
        let text = map_lines(&[YamlEntry::new("list", list), YamlEntry::new("map", inner())]);
        assert_eq!(text, "list:\n- a: x\n  b: 0.5\n- a: x\n  b: 0.5\nmap:\n  a: x\n  b: 0.5\n");
    }
}
