//! Warns about text in a language that is written without spaces between words.

use std::path::Path;

use frostline_conllu::{TextPart, WordSplit};
use frostline_sweep::note;

/// Scripts whose languages put no spaces between words, with their blocks of Unicode.
const SCRIPTS: &[(&str, u32, u32)] = &[
    ("Thai", 0x0e00, 0x0e7f),
    ("Lao", 0x0e80, 0x0eff),
    ("Tibetan", 0x0f00, 0x0fff),
    ("Burmese", 0x1000, 0x109f),
    ("Khmer", 0x1780, 0x17ff),
    ("Tai Le", 0x1950, 0x197f),
    ("New Tai Lue", 0x1980, 0x19df),
    ("Khmer", 0x19e0, 0x19ff),
    ("Tai Tham", 0x1a20, 0x1aaf),
    ("Balinese", 0x1b00, 0x1b7f),
    ("Japanese", 0x3040, 0x30ff),
    ("Japanese", 0x31f0, 0x31ff),
    ("Chinese or Japanese", 0x3400, 0x4dbf),
    ("Chinese or Japanese", 0x4e00, 0x9fff),
    ("Javanese", 0xa980, 0xa9df),
    ("Burmese", 0xa9e0, 0xa9ff),
    ("Burmese", 0xaa60, 0xaa7f),
    ("Tai Viet", 0xaa80, 0xaadf),
    ("Chinese or Japanese", 0xf900, 0xfaff),
    ("Japanese", 0xff66, 0xff9f),
    ("Chinese or Japanese", 0x2_0000, 0x3_ffff),
];

/// Looks for the first sentence of such a language.
pub(super) struct Unspaced {
    /// Whether no warning is due: it has been printed, or the text is split at spaces.
    is_settled: bool,
}

impl Unspaced {
    pub(super) fn new(words: WordSplit) -> Self {
        Self { is_settled: words == WordSplit::Spaces }
    }

    /// Prints the warning for the first sentence that is written without spaces.
    pub(super) fn warn_once(&mut self, path: &Path, part: &TextPart) {
        if self.is_settled {
            return;
        }
        if let Some(script) = unspaced_script(part.words()) {
            self.is_settled = true;
            note!("{}:{}: {}", path.display(), part.line(), unspaced_warning(script));
        }
    }
}

fn unspaced_warning(script: &str) -> String {
    format!(
        "{script} is written without spaces between words, so the rules of Unicode cut it into characters or \
         syllables, and tags of these mean little; segment the text with a tool for the language first, and give \
         CoNLL-U (--format conllu), or words with spaces between them and --words spaces"
    )
}

/// The script of at least half of the words, if it is one without spaces.
fn unspaced_script<'a>(words: impl ExactSizeIterator<Item = &'a str>) -> Option<&'static str> {
    let all = words.len();
    let found: Vec<&str> = words.filter_map(script_of).collect();
    found.first().copied().filter(|_| 2 * found.len() >= all)
}

fn script_of(word: &str) -> Option<&'static str> {
    let first = u32::from(word.chars().next()?);
    SCRIPTS.iter().find(|(_, from, to)| (*from..=*to).contains(&first)).map(|(script, ..)| *script)
}

#[cfg(test)]
mod tests {
    use frostline_conllu::{SentenceSplit, TextLine, TextSplit};

    use super::*;

    fn find_script(line: &str) -> Option<&'static str> {
        let (sentences, words) = (SentenceSplit::Lines, WordSplit::Unicode);
        let split = TextSplit { sentences, words, part: 100, context: 0 };
        unspaced_script(TextLine::new(line.to_owned(), 1, split).next().expect("a sentence").words())
    }

    #[test]
    fn languages_without_spaces_are_recognised() {
        for (line, script) in [
            ("สวัสดีชาวโลก", Some("Thai")),
            ("ສະບາຍດີຊາວໂລກ", Some("Lao")),
            ("བོད་ཀྱི་སྐད་ཡིག", Some("Tibetan")),
            ("မြန်မာဘာသာစကား", Some("Burmese")),
            ("ភាសាខ្មែរ", Some("Khmer")),
            ("我喜欢冰雪。", Some("Chinese or Japanese")),
            ("これはペンです。", Some("Japanese")),
            ("ｺﾝﾆﾁﾊ 世界", Some("Japanese")),
            ("한국어는 띄어 씁니다.", None),
            ("The character 氷 means ice.", None),
            ("Ice melts.", None),
            ("हिन्दी में रिक्त स्थान होते हैं।", None),
            ("!", None),
        ] {
            assert_eq!(find_script(line), script, "{line}");
        }
    }

    #[test]
    fn the_warning_names_the_remedies() {
        let warning = unspaced_warning("Thai");
        assert!(warning.contains("--format conllu") && warning.contains("--words spaces"), "{warning}");
    }
}
