//! The marks above code blocks of README.md and `docs/`, which decide what happens to a block in CI.
//!
//! A mark is an HTML comment on the line above the block, so that no page shows it:
//!
//! - `<!-- run -->`: the block's commands run and succeed; what the block shows of their output is what they print;
//! - `<!-- run: exits 1 -->`: the same, but the last command ends with this code;
//! - `<!-- printed -->`: the block is what the last command above it prints;
//! - `<!-- file: NAME -->`: the block is written to a file of this name;
//! - `<!-- not run: REASON -->`: the block has commands, which do not run in CI for this reason.
//!
//! # To add a page of the documentation
//!
//! A file in `docs/` and its line in `docs/SUMMARY.md`. Commands on it get a mark that decides whether CI runs them
//! (`docs/development.md`): `xtask/src/marks.rs` reads marks, `xtask/src/ci/docs.rs` runs the commands
//! and builds the book, `xtask/src/book/` gives mdBook the files that pages link to outside of `docs/`.

use anyhow::{Context as _, bail};

use crate::markdown::Fence;

/// What becomes of a block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The block's commands run; the last one ends with this code.
    Run(i32),
    /// It is what the last command printed.
    Printed,
    /// It is a file with this name.
    File(String),
    /// The block's commands do not run.
    NotRun,
    /// It has no mark.
    None,
}

/// A command, and the lines that are shown below it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MarkedCommand {
    pub text: String,
    pub shown: Vec<String>,
}

/// The languages of blocks that may have commands.
const LANGUAGES: [&str; 5] = ["", "text", "sh", "bash", "console"];

/// Programs with which a line of commands begins.
const PROGRAMS: &str = "apt-get cargo cat cd cp cut echo export frostline git grep head ls mdbook mkdir mlflow pip python3 sbatch ssh \
                        tensorboard wandb";

/// Returns the mark of a block.
///
/// # Errors
/// If there is a mark with an unknown meaning.
pub(crate) fn mark_of_block(block: &Fence) -> anyhow::Result<Mark> {
    let Some(comment) = block.comment.as_deref() else { return Ok(Mark::None) };
    let (word, rest) = comment.split_once(':').unwrap_or((comment, ""));
    Ok(match (word.trim(), rest.trim()) {
        ("run", "") => Mark::Run(0),
        ("run", rest) => {
            let code = rest.strip_prefix("exits ").and_then(|code| code.parse().ok());
            Mark::Run(code.with_context(|| format!("`{comment}`: expected `run` or such as `run: exits 1`"))?)
        }
        ("printed", "") => Mark::Printed,
        ("file", name) if is_plain(name) => Mark::File(name.into()),
        ("file", name) => bail!("`{name}` is not the name of a file in the page's own folder"),
        ("not run", "") => bail!("`{comment}`: say why, as in `not run: needs a GPU`"),
        ("not run", _) => Mark::NotRun,
        _ => Mark::None,
    })
}

/// A path inside of a folder.
fn is_plain(name: &str) -> bool {
    let letters = |part: &str| part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    !name.is_empty()
        && name.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && letters(part))
}

/// Whether a block has a line that a shell would run.
pub(crate) fn has_commands(block: &Fence) -> bool {
    LANGUAGES.contains(&block.info.as_str())
        && block.lines.iter().any(|line| {
            let words = line.strip_prefix("$ ").unwrap_or(line).split(' ');
            let first = words.map(str::trim).find(|word| !is_variable(word)).unwrap_or_default();
            PROGRAMS.split_whitespace().any(|program| program == first)
        })
}

/// `NAME=value` before a program.
fn is_variable(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name).unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// The commands of a block: the lines after `$ `, each with the lines below it as its output; without any `$ `, each line.
/// A command continues in the next line after a backslash and inside quotes.
pub(crate) fn commands_of_block(block: &Fence) -> Vec<MarkedCommand> {
    let has_output = block.lines.iter().any(|line| line.starts_with("$ "));
    let mut commands: Vec<MarkedCommand> = Vec::new();
    for line in &block.lines {
        let starts = line.strip_prefix("$ ").or((!has_output).then_some(line.as_str()));
        match (starts, commands.last_mut()) {
            (_, Some(last)) if last.shown.is_empty() && goes_on(&last.text) => {
                last.text = format!("{}\n{line}", last.text);
            }
            _ if line.trim().is_empty() => {}
            (Some(text), _) => commands.push(MarkedCommand { text: text.into(), shown: Vec::new() }),
            (None, Some(last)) => last.shown.push(line.clone()),
            (None, None) => {}
        }
    }
    commands
}

/// Whether a shell would read one more line.
fn goes_on(text: &str) -> bool {
    let (mut open, mut before) = (None, ' ');
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        match (c, open) {
            ('\\', None) if letters.next().is_none() => return true,
            ('\'' | '"', None) => open = Some(c),
            (c, Some(quote)) if c == quote => open = None,
            ('#', None) if before.is_whitespace() => {
                letters.by_ref().find(|c| *c == '\n');
            }
            _ => {}
        }
        before = c;
    }
    open.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::fenced_blocks;

    fn test_block(text: &str) -> Fence {
        fenced_blocks(text).remove(0)
    }

    #[test]
    fn marks_say_what_becomes_of_a_block() {
        let mark = |comment: &str| mark_of_block(&test_block(&format!("<!-- {comment} -->\n```text\n```\n")));
        assert_eq!(mark("run").expect("a mark"), Mark::Run(0));
        assert_eq!(mark("run: exits 3").expect("a mark"), Mark::Run(3));
        assert_eq!(
            mark("file: data/UD_X/train.conllu").expect("a mark"),
            Mark::File("data/UD_X/train.conllu".into())
        );
        assert_eq!(mark("not run: needs a GPU").expect("a mark"), Mark::NotRun);
        assert_eq!(mark("printed").expect("a mark"), Mark::Printed);
        assert_eq!(mark("something else").expect("no mark"), Mark::None);
        for wrong in ["run: fails", "not run", "file: ../x", "file: a/.b", "file:"] {
            assert!(mark(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lines_that_a_shell_would_run_are_known() {
        let has = |text: &str| has_commands(&test_block(&format!("```{text}\n```\n")));
        for text in [
            "text\nfrostline doctor",
            "sh\n$ cargo test",
            "\nA_B=1 C=2 frostline tag",
            "text\na\npip install x",
        ] {
            assert!(has(text), "{text}");
        }
        for text in ["toml\nfrostline = 1", "text\nfrozen  12", "text\nsweeps/demo/"] {
            assert!(!has(text), "{text}");
        }
    }

    #[test]
    fn output_stands_below_its_command() {
        let with_output = commands_of_block(&test_block("```text\n$ a \\\n  b\nc\n$ d\n```\n"));
        let command = |text: &str, shown: &[&str]| MarkedCommand {
            text: text.into(),
            shown: shown.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(with_output, [command("a \\\n  b", &["c"]), command("d", &[])]);
        assert_eq!(
            commands_of_block(&test_block("```sh\na \\\n  b\n\nc\n```\n")),
            [command("a \\\n  b", &[]), command("c", &[])]
        );
        let quoted = commands_of_block(&test_block("```sh\na 'b\n\nc\\'   # it's\nd\n```\n"));
        assert_eq!(quoted, [command("a 'b\n\nc\\'   # it's", &[]), command("d", &[])]);
    }
}
