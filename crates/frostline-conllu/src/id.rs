//! The first column: word, range or empty node.
//!
//! Defines the grammar of one ID. `check` decides whether an ID is in the right place.

use std::fmt;

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::tag,
    character::complete::{digit1, one_of},
    combinator::{all_consuming, map, map_opt, recognize},
    multi::many0_count,
    sequence::{pair, separated_pair},
};

/// The ID in the first column of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// A syntactic word: `3`.
    Word(u32),
    /// A multiword token that spans these words, including both ends: `3-4`.
    Range(u32, u32),
    /// An empty node: `3.1`, and `0.1` before the first word.
    Empty(u32, u32),
}

impl Id {
    /// Reads an ID; `None` for anything else. Leading zeros are allowed only in the first number of an empty
    /// node, as in the UD validator.
    pub fn parse(text: &str) -> Option<Id> {
        if let Some(number) = parse_short_number(text.as_bytes()) {
            return Some(Id::Word(number));
        }
        all_consuming(id).parse(text).ok().map(|(_, id)| id)
    }

    /// Returns whether `text` would be an ID if its numbers were not beyond 32 bits.
    pub(crate) fn is_too_large(text: &str) -> bool {
        if Id::parse(text).is_some() {
            return false;
        }
        match text.find(['-', '.']) {
            None => is_positive(text),
            Some(at) => {
                let (first, second) = (&text[..at], &text[at + 1..]);
                let range = text.as_bytes()[at] == b'-';
                is_positive(second) && if range { is_positive(first) } else { is_digits(first) }
            }
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Word(n) => write!(f, "{n}"),
            Id::Range(first, last) => write!(f, "{first}-{last}"),
            Id::Empty(major, minor) => write!(f, "{major}.{minor}"),
        }
    }
}

/// Returns the common case without the grammar's overhead: one to nine digits, the first not zero.
#[inline]
fn parse_short_number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 9 || digits[0] == b'0' {
        return None;
    }
    let mut number = 0;
    for &digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        number = number * 10 + u32::from(value);
    }
    Some(number)
}

pub(crate) fn id(input: &str) -> IResult<&str, Id> {
    alt((
        map(separated_pair(positive_number, tag("-"), positive_number), |(a, b)| Id::Range(a, b)),
        map(separated_pair(parse_number, tag("."), positive_number), |(a, b)| Id::Empty(a, b)),
        map(positive_number, Id::Word),
    ))
    .parse(input)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether `text` is a number from 1 of any size, without leading zeros.
pub(crate) fn is_positive(text: &str) -> bool {
    is_digits(text) && !text.starts_with('0')
}

/// Returns a number of one or more digits that does not start with zero.
pub(crate) fn positive_number(input: &str) -> IResult<&str, u32> {
    let digits = recognize(pair(one_of("123456789"), many0_count(one_of("0123456789"))));
    map_opt(digits, |text: &str| text.parse().ok()).parse(input)
}

/// Any number of digits: the validator lets an empty node's word start with zeros.
fn parse_number(input: &str) -> IResult<&str, u32> {
    map_opt(digit1, |text: &str| text.parse().ok()).parse(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_three_shapes_and_nothing_else() {
        assert_eq!(Id::parse("1"), Some(Id::Word(1)));
        assert_eq!(Id::parse("4294967295"), Some(Id::Word(u32::MAX)));
        assert_eq!(Id::parse("10-12"), Some(Id::Range(10, 12)));
        assert_eq!(Id::parse("0.1"), Some(Id::Empty(0, 1)));
        assert_eq!(Id::parse("12.30"), Some(Id::Empty(12, 30)));
        assert_eq!(Id::parse("00.1"), Some(Id::Empty(0, 1)));
        for bad in [
            "",
            "0",
            "01",
            "1-",
            "-1",
            "1-02",
            "1.0",
            "1.01",
            "1.",
            ".1",
            "1_",
            "_",
            "1 ",
            " 1",
            "+1",
            "1-2-3",
            "1.2.3",
            "١",
            "4294967296",
            "1--2",
        ] {
            assert_eq!(Id::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn ids_beyond_32_bits_are_told_from_other_errors() {
        let huge = "9".repeat(5000);
        for large in [
            "4294967296",
            "18446744073709551616",
            &huge,
            "1-4294967296",
            "4294967296-1",
            "4294967296.1",
            "0.4294967296",
            "00004294967296.1",
        ] {
            assert_eq!(Id::parse(large), None);
            assert!(Id::is_too_large(large), "{large}");
        }
        for other in
            ["", "4294967295", "04294967296", "4294967296.0", "4294967296-", "x4294967296", "1-2-4294967296"]
        {
            assert!(!Id::is_too_large(other), "{other}");
        }
        assert_eq!(Id::parse("00000000000000000001.1"), Some(Id::Empty(1, 1)));
    }
}
