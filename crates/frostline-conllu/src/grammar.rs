//! The grammar of one row in nom. The reader's hand-written scanner must agree with it on every line.
//!
//! The reader does not use it. It scans 64 bytes at a time and examines characters only in lines with
//! characters beyond printable ASCII (`scan`, `cursor`). The reason is speed: on the train split of UD English
//! EWT (207,228 rows), this grammar, without sentences, order or faults, takes 7.4 times as long as strict
//! reading (10 ms; measured by `cargo run --release -p frostline-conllu --example grammar FILE`).
//! `tests/grammar.rs` and the fuzz target `row` compare the two.

use nom::{
    IResult, Parser,
    bytes::complete::{tag, take_while1},
    character::complete::satisfy,
    combinator::{all_consuming, recognize, verify},
    multi::separated_list1,
};

use crate::{
    check::is_space,
    id::{Id, id},
};

/// Returns the ID and the ten columns of a line without its line feed, if it is a row of level 1 of the UD
/// validator; the order of rows is not checked, since it is a property of sentences.
///
/// ```
/// let (id, columns) = frostline_conllu::grammar::row("2\tice\tice\tNOUN\t_\t_\t1\tobj\t_\t_").unwrap();
/// assert_eq!((id.to_string().as_str(), columns[1]), ("2", "ice"));
/// assert!(frostline_conllu::grammar::row("2\tice cream \t_\tNOUN\t_\t_\t1\tobj\t_\t_").is_none());
/// ```
pub fn row(line: &str) -> Option<(Id, [&str; 10])> {
    // Other rules treat a carriage return as white space.
    if line.contains(['\r', '\n']) {
        return None;
    }
    all_consuming(parse_columns).parse(line).ok().map(|(_, row)| row)
}

/// ID, FORM and LEMMA, six values, MISC. The FORM and LEMMA of a range have no white space.
fn parse_columns(input: &str) -> IResult<&str, (Id, [&str; 10])> {
    let (rest, number) = id(input)?;
    let first = &input[..input.len() - rest.len()];
    let surface = if matches!(number, Id::Range(..)) { solid_value } else { parse_parts };
    let (rest, (form, lemma)) = (after_tab(surface), after_tab(surface)).parse(rest)?;
    let plain = || after_tab(solid_value);
    let (rest, (upos, xpos, feats, head, deprel, deps)) =
        (plain(), plain(), plain(), plain(), plain(), plain()).parse(rest)?;
    let (rest, misc) = after_tab(parse_parts).parse(rest)?;
    Ok((rest, (number, [first, form, lemma, upos, xpos, feats, head, deprel, deps, misc])))
}

/// Parses a tab and then with this parser.
fn after_tab<'a>(
    column: fn(&'a str) -> IResult<&'a str, &'a str>,
) -> impl Parser<&'a str, Output = &'a str, Error = nom::error::Error<&'a str>> {
    nom::sequence::preceded(tag("\t"), column)
}

/// Parses one or more characters without white space.
fn solid_value(input: &str) -> IResult<&str, &str> {
    verify(take_while1(|c: char| !c.is_whitespace()), has_clean_ends).parse(input)
}

/// Parses several such parts, separated by single white-space characters.
fn parse_parts(input: &str) -> IResult<&str, &str> {
    let part = take_while1(|c: char| !c.is_whitespace());
    let space = satisfy(|c| c != '\t' && c.is_whitespace());
    verify(recognize(separated_list1(space, part)), has_clean_ends).parse(input)
}

/// Returns the validator strips four control characters too, but only at the ends of a column.
fn has_clean_ends(text: &str) -> bool {
    !text.starts_with(is_space) && !text.ends_with(is_space)
}
