//! Commands as text, for people and for scripts.

/// Returns a command as a person would type it.
pub(crate) fn shown_command(program: &str, arguments: &[String]) -> String {
    let words = [program].into_iter().chain(arguments.iter().map(String::as_str));
    words.map(quote_word).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a shell.
pub(crate) fn quote_word(word: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./=:,%@+".contains(sign);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_pass_through_a_shell() {
        let arguments = ["--array=0-3", "a b", "it's", ""].map(String::from);
        assert_eq!(shown_command("sbatch", &arguments), r"sbatch --array=0-3 'a b' 'it'\''s' ''");
    }
}
