//! Tests of the examples in the help texts, in README.md and in `docs/`: every command line is one that the program accepts.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _, Parser as _};

use crate::cli::Cli;

/// The commands of a text: what follows `frostline` on each line, up to what is the shell's.
fn commands_in_text(text: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n", " ");
    joined.lines().flat_map(split_programs).filter(|words| words[0] == "frostline").collect()
}

/// The words of each program that a line starts, without redirections and comments.
fn split_programs(line: &str) -> Vec<Vec<String>> {
    let mut programs = vec![Vec::new()];
    let (mut word, mut quote, mut is_target) = (String::new(), None, false);
    for c in line.trim_start_matches("$ ").chars().chain([' ']) {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('#', None) if word.is_empty() => break,
            ('|' | ';', None) => programs.push(Vec::new()),
            ('<' | '>', None) => is_target = true,
            (' ', None) if word.is_empty() => {}
            (' ', None) if is_target => (word, is_target) = (String::new(), false),
            (' ', None) => programs.last_mut().expect("one").push(std::mem::take(&mut word)),
            (c, _) => word.push(c),
        }
    }
    programs.into_iter().map(without_variables).filter(|words| !words.is_empty()).collect()
}

/// Without `NAME=value` before the program.
fn without_variables(words: Vec<String>) -> Vec<String> {
    words.into_iter().skip_while(|word| word.contains('=')).collect()
}

fn check_parses(words: &[String]) -> Result<(), String> {
    Cli::try_parse_from(words).map(drop).map_err(|error| format!("{}\n{error}", words.join(" ")))
}

/// The examples of a command's help.
fn examples_of_command(command: &Command) -> String {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let examples = help.split_once("Examples:\n").map(|(_, examples)| examples).unwrap_or_default();
    examples
        .lines()
        .take_while(|line| line.starts_with("    "))
        .map(|line| format!("{}\n", &line[4..]))
        .collect()
}

#[test]
fn every_command_shows_examples_that_it_accepts() {
    fn visit(command: &Command, path: &str, faults: &mut Vec<String>) {
        let found = commands_in_text(&examples_of_command(command));
        if !found.iter().any(|words| words.join(" ").starts_with(path)) {
            faults.push(format!("`{path} --help` shows no example of it"));
        }
        faults.extend(found.iter().filter_map(|words| check_parses(words).err()));
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            visit(inner, &format!("{path} {}", inner.get_name()), faults);
        }
    }
    let mut faults = Vec::new();
    visit(&Cli::command(), "frostline", &mut faults);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_command_in_the_readme_and_the_docs_is_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    list_pages(&root.join("docs"), &mut pages);
    let (mut count, mut faults) = (0, Vec::new());
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page");
        let blocks = text.split("```").skip(1).step_by(2);
        for block in blocks.filter_map(|block| block.split_once('\n').map(|(_, lines)| lines)) {
            for words in commands_in_text(block) {
                count += 1;
                faults.extend(check_parses(&words).err().map(|error| format!("{}: {error}", page.display())));
            }
        }
    }
    assert!(count > 30, "only {count} commands were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn list_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("docs") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            list_pages(&path, pages);
        } else if path.extension().is_some_and(|kind| kind == "md") {
            pages.push(path);
        }
    }
}

#[test]
fn commands_are_found_as_a_shell_finds_them() {
    let words = |text: &str| commands_in_text(text).iter().map(|words| words.join("·")).collect::<Vec<_>>();
    assert_eq!(words("$ frostline tag --run A/* > b   # c\nfrozen 1\n"), ["frostline·tag·--run·A/*"]);
    assert_eq!(words("echo 'a | b' | A=1 frostline tag \\\n  --x 'y z' | less"), ["frostline·tag·--x·y z"]);
    assert_eq!(words("cargo xtask frostline\nfrostline-x\n"), Vec::<String>::new());
}
