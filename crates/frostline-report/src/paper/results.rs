//! `results.tex`: every number of the main table under a name of three parts, such as `en`, `first-4`, `dev-accuracy`.

use super::main_table::MainTable;
use super::{MADE, SAME, UNICODE};
use crate::render::escape::line;
use crate::render::latex::{key, value};
use crate::study::Study;
use crate::table::{Quantity, Value};

/// `results.tex`, with these definitions.
pub(super) fn file(study: &Study, definitions: &str, digest: &str) -> String {
    let synthetic =
        if study.synthetic() { "% Synthetic data: its sentences are made up by a program.\n" } else { "" };
    format!(
        "% Numbers of the sweep {}. {MADE}\n{synthetic}{ABOUT}\\def\\FrostlineResultsDigest{{{digest}}}\n{SAME}{UNICODE}{COMMAND}{definitions}",
        line(&study.sweep.plan.name)
    )
}

/// A line for each number.
pub(super) fn definitions(main: &MainTable) -> String {
    let mut out = String::new();
    for (row, [lang, policy]) in main.table.rows.iter().zip(&main.names) {
        for (found, head) in row.iter().zip(&main.table.heads).skip(main.keys) {
            for (part, text) in parts(found, head.unit) {
                let (lang, policy, name) = (key(lang), key(policy), kebab(&head.name) + part);
                out += &format!("\\FrostlineDefine{{{lang}}}{{{policy}}}{{{name}}}{{{text}}}\n");
            }
        }
    }
    out
}

/// A value as its table shows it, and where it has parts each of them, with the end of its name.
fn parts(found: &Value, unit: Quantity) -> Vec<(&'static str, String)> {
    let number = |number: f64| value(&Value::Number(number), unit);
    let whole = ("", value(found, unit));
    match found {
        Value::Missing => Vec::new(),
        Value::Spread(stat) => {
            // A deviation has no sign, also where the mean has one.
            let deviation = |std| ("-std", number(std).replace('+', ""));
            [whole, ("-mean", number(stat.mean))].into_iter().chain(stat.std.map(deviation)).collect()
        }
        Value::Range([low, high]) => vec![whole, ("-low", number(*low)), ("-high", number(*high))],
        _ => vec![whole],
    }
}

/// A column's name as a part of a key: `Dev accuracy` is `dev-accuracy`.
fn kebab(name: &str) -> String {
    name.to_lowercase().replace(' ', "-")
}

/// How to use the file.
const ABOUT: &str = r"%
% In the preamble, with \usepackage[T1]{fontenc}:
%     \input{report/results}
% In the text, for example:
%     Freezing four blocks reaches \FrostlineResult{en}{first-4}{dev-accuracy}\,\%.
% The three parts are language, policy and column, as in the lines of \FrostlineDefine below; values of further axes
% follow the policy after a slash. A number with parts has them too: dev-accuracy-mean and -std, interval-low and -high.
% In names `%' is `pct', and a sign that cannot be typed is `u' and its code point. A name that is not here is an error.
";

/// The commands.
const COMMAND: &str = r"\def\FrostlineDefine#1#2#3#4{\expandafter\def\csname frostline@#1@#2@#3\endcsname{#4}}
\def\FrostlineResult#1#2#3{\ifcsname frostline@#1@#2@#3\endcsname\csname frostline@#1@#2@#3\endcsname\else
  \PackageError{frostline}{There is no result `#3' of `#2' in `#1'}{The lines of results.tex that begin with
    \string\FrostlineDefine\space list all names.}\fi}
";
