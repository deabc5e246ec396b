//! The book: what mdBook asks the project for while it makes a site of `docs/`.
//!
//! Pages in `docs/` link to files outside of it, as they must on a page of the repository. mdBook reads only `docs/`. So it
//! calls `cargo xtask book-chapters` (`docs/book.toml`), which adds each such file as a chapter and lets links lead there.

mod chapters;

use std::io::{Read as _, Write as _};

use anyhow::Context as _;
use serde_json::Value;

use crate::args::BookArgs;
use frostline_sweep::Ending;
use frostline_sweep::fault::{Blame as _, CommandResult};

/// Answers mdBook: whether it supports a renderer, or with the book that it gets on standard input, changed.
pub(crate) fn answer_mdbook(args: &BookArgs) -> CommandResult<Ending> {
    if args.question.first().is_some_and(|word| word == "supports") {
        let known = args.question.get(1).is_some_and(|renderer| renderer == "html");
        return Ok(if known { Ending::Done } else { Ending::Failed });
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("mdBook's book cannot be read").blame_environment()?;
    let read = serde_json::from_str::<(Value, Value)>(&text);
    let (_, mut book) =
        read.context("standard input is not what mdBook gives to a preprocessor").blame_plan()?;
    chapters::add_linked_chapters(&mut book).blame_environment()?;
    writeln!(std::io::stdout(), "{book}").context("mdBook does not read the book").blame_environment()?;
    Ok(Ending::Done)
}
