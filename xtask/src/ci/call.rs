//! A call of cargo, as a step has it.

use std::process::Command;

use crate::workspace;

/// What cargo is called with, in the workspace's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub arguments: Vec<String>,
    pub variables: Vec<(&'static str, String)>,
}

/// A call with these words and no variables.
pub(super) fn call(words: &str) -> Call {
    Call { arguments: words.split_whitespace().map(String::from).collect(), variables: Vec::new() }
}

impl Call {
    /// The same with this environment variable.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// The command, started by the programs and arguments before it, if any.
    pub fn command(&self, before: &[&str]) -> Command {
        let mut command = workspace::cargo("");
        if let [program, rest @ ..] = before {
            let cargo = std::mem::replace(&mut command, Command::new(program));
            command.args(rest).arg(cargo.get_program()).current_dir(workspace::root());
        }
        command.args(&self.arguments).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What only builds what this call runs.
    pub fn build(&self) -> Self {
        let mut build = self.clone();
        if build.arguments.first().is_some_and(|word| word == "test") {
            let end = build.arguments.iter().position(|word| word == "--").unwrap_or(build.arguments.len());
            build.arguments.truncate(end);
            build.arguments.push("--no-run".into());
        }
        build
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_started_by_another_program_and_a_test_is_only_built() {
        let call = call("test -p a -- --skip b").with("NAME", "value");
        let command = call.command(&["nice", "-n", "19"]);
        assert_eq!(command.get_program(), "nice");
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words[..2], ["-n", "19"]);
        assert_eq!(words[3..], ["test", "-p", "a", "--", "--skip", "b"]);
        assert_eq!(call.build().arguments, ["test", "-p", "a", "--no-run"]);
        assert_eq!(super::call("build -p a").build().arguments, ["build", "-p", "a"]);
    }
}
