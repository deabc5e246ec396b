//! A call of cargo, as a step has it.

use std::process::Command;

use crate::workspace;

/// What cargo is called with, in the workspace's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CargoCall {
    pub arguments: Vec<String>,
    pub variables: Vec<(&'static str, String)>,
}

/// A call with these words and no variables.
pub(super) fn cargo_call(words: &str) -> CargoCall {
    CargoCall { arguments: words.split_whitespace().map(String::from).collect(), variables: Vec::new() }
}

impl CargoCall {
    /// The same with this environment variable.
    pub fn with_variable(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// The command, started by the programs and arguments before it, if any.
    pub fn to_command(&self, before: &[&str]) -> Command {
        let mut command = workspace::cargo_command("");
        if let [program, rest @ ..] = before {
            let cargo = std::mem::replace(&mut command, Command::new(program));
            command.args(rest).arg(cargo.get_program()).current_dir(workspace::workspace_root());
        }
        command.args(&self.arguments).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What only builds what this call runs.
    pub fn build_only(&self) -> Self {
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
        let call = cargo_call("test -p a -- --skip b").with_variable("NAME", "value");
        let command = call.to_command(&["nice", "-n", "19"]);
        assert_eq!(command.get_program(), "nice");
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words[..2], ["-n", "19"]);
        assert_eq!(words[3..], ["test", "-p", "a", "--", "--skip", "b"]);
        assert_eq!(call.build_only().arguments, ["test", "-p", "a", "--no-run"]);
        assert_eq!(super::cargo_call("build -p a").build_only().arguments, ["build", "-p", "a"]);
    }
}
