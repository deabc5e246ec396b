//! Errors of plans and overrides.

use crate::SCHEMA;

/// The longest line of a message about a file in TOML.
///
/// # Units
/// Characters.
const MOST_WIDTH: usize = 200;

/// Errors of plans and overrides.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The TOML does not parse or has a key that does not exist; the reason shows line and column.
    #[error("{path}: {reason}")]
    Syntax {
        /// The plan's path as it was given.
        path: String,
        /// The parser's message with line, column and the expected value.
        reason: String,
    },
    /// The plan was written for another version of this crate.
    #[error(
        "{path}: this plan has schema {found}, but this Frostline reads schema {SCHEMA}; see configs/reference.toml for today's settings"
    )]
    Schema {
        /// The plan's path.
        path: String,
        /// The schema number found.
        found: u32,
    },
    /// A dotted path that names no setting.
    #[error(
        "there is no setting `{path}`{}; here there are: {known} (configs/reference.toml explains each)",
        meant.as_ref().map_or_else(String::new, |meant| format!(" (did you mean `{meant}`?)"))
    )]
    UnknownSetting {
        /// The dotted path.
        path: String,
        /// The names at the last known level.
        known: String,
        /// A similar setting.
        meant: Option<String>,
    },
    /// A value that does not fit its setting.
    #[error("`{value}` does not fit the setting `{path}`: {reason}")]
    BadValue {
        /// The dotted path.
        path: String,
        /// The value as written.
        value: String,
        /// What was expected.
        reason: String,
    },
    /// A number outside its range.
    #[error("`{path} = {value}` is out of range: it must be {range}")]
    OutOfRange {
        /// The dotted path.
        path: String,
        /// The value.
        value: f64,
        /// The range in words.
        range: String,
    },
    /// An axis without values.
    #[error("the axis `{axis}` of the grid has no values; give it at least one or remove it")]
    EmptyAxis {
        /// The dotted path of the axis.
        axis: String,
    },
    /// The same value twice on one axis: two cells would be one.
    #[error("the axis `{axis}` of the grid has the value {value} twice; remove one")]
    RepeatedValue {
        /// The dotted path of the axis.
        axis: String,
        /// The value as TOML.
        value: String,
    },
    /// A grid that is too large.
    #[error("the grid has more than {most} cells ({sizes}); split it into several plans")]
    TooManyCells {
        /// The most that a grid can have.
        most: usize,
        /// How many values each axis has.
        sizes: String,
    },
    /// Two files of a cell would have one name.
    #[error("`{first}` and `{second}` would both be written to {file}; rename one of them")]
    SameFile {
        /// A stage or task, or both.
        first: String,
        /// Another one.
        second: String,
        /// The file's name.
        file: String,
    },
    /// A language the plan has no treebank for.
    #[error("no treebank is named for the language `{lang}`; the plan's [treebanks] has: {known}")]
    UnknownLang {
        /// The language asked for.
        lang: String,
        /// The languages of the plan.
        known: String,
    },
    /// Settings that the policy rules out.
    #[error("the policy `{policy}` is invalid: {reason}")]
    Policy {
        /// The name of the policy.
        policy: String,
        /// Why.
        reason: String,
    },
    /// A task that cannot be.
    #[error("the task `{task}` is invalid: {reason}")]
    Task {
        /// The name of the task.
        task: String,
        /// Why.
        reason: String,
    },
    /// A stage that cannot be.
    #[error("the stage `{stage}` is invalid: {reason}")]
    Stage {
        /// The name of the stage.
        stage: String,
        /// Why.
        reason: String,
    },
    /// Stages should be saved although there are none.
    #[error(
        "`save.stages = true` saves a model after each stage but the last, and the plan has no `[[settings.stages]]`; leave it \
             out, or save the trained model with `save.model = true`"
    )]
    NoStages,
    /// A claim that no cell could decide.
    #[error("claim {number} (\"{says}\") cannot be tested: {reason}")]
    Claim {
        /// The claim's position in the plan, from 1.
        number: usize,
        /// The claim's sentence.
        says: String,
        /// Why.
        reason: String,
    },
    /// A setting that cannot be set for a policy or a language.
    #[error("the plan's `{place}`: {reason}")]
    OwnSetting {
        /// The table of a policy or a language.
        place: String,
        /// Why.
        reason: String,
    },
    /// A sweep that cannot answer its question.
    #[error(
        "a sweep that stops when it knows (--decide, or `[decide]` in the plan) is not possible: {reason}"
    )]
    Decide {
        /// The reason, and the next step.
        reason: String,
    },
    /// A search for learning rates that cannot be made.
    #[error("the search for learning rates (--find-lr, or `[search]` in the plan) is not possible: {reason}")]
    Search {
        /// The reason, and the next step.
        reason: String,
    },
    /// A setting that was asked for, but that no cell reads.
    #[error("`{path}` would change nothing: {reason}")]
    NoEffect {
        /// The dotted path.
        path: String,
        /// The overriding values, and the replacement.
        reason: String,
    },
    /// A stage that is not there.
    #[error("there is no stage `{name}` for the setting `{path}`; {known}")]
    UnknownStage {
        /// The dotted path.
        path: String,
        /// The stage's name as it was given.
        name: String,
        /// The names of the stages, and the form of their settings.
        known: String,
    },
    /// `--set` with several lines or control characters.
    #[error("the value of `{path}` has several lines or control characters; give each setting its own --set")]
    SeveralLines {
        /// The dotted path.
        path: String,
    },
    /// `--set` without an equals sign.
    #[error("`{text}` is not a setting: write it as `path=value`, for example `optimizer.lr=3e-5`")]
    NotAnAssignment {
        /// The text as given.
        text: String,
    },
}

/// Returns a message of several lines, each cut to a width that a terminal can show: the parser quotes the line
/// of the fault whole.
pub(crate) fn shorten_lines(message: &str) -> String {
    let cut = |line: &str| match line.char_indices().nth(MOST_WIDTH) {
        None => line.to_string(),
        Some((end, _)) => format!("{} …", &line[..end]),
    };
    message.lines().map(cut).collect::<Vec<_>>().join("\n")
}
