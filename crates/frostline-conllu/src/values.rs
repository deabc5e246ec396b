//! The values of UPOS, FEATS, HEAD, DEPS and MISC, parsed on demand.
//!
//! Defines the grammars within a column. Each value is parsed on its own; `typed` checks values
//! against the rest of the sentence, such as whether a head exists.

use std::{fmt, str::FromStr};

use nom::{
    IResult, Parser,
    branch::alt,
    bytes::complete::{tag, take_while, take_while1},
    character::complete::{char, satisfy},
    combinator::{all_consuming, map, opt, recognize},
    multi::separated_list1,
    sequence::{delimited, pair, separated_pair},
};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::{
    fault::FaultKind,
    id::{Id, is_positive, positive_number},
    quote::Quote,
    row::{Column, TokenRow},
};

macro_rules! upos {
    ($($tag:ident $name:literal $meaning:literal,)*) => {
        /// The seventeen universal parts of speech.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Upos { $(#[doc = $meaning] $tag,)* }

        impl Upos {
            /// All tags, in alphabetical order.
            pub const ALL: [Upos; 17] = [$(Upos::$tag),*];

            /// Returns the tag as it is written in a file, such as `NOUN`.
            pub fn name(self) -> &'static str {
                match self { $(Upos::$tag => $name,)* }
            }
        }

        impl FromStr for Upos {
            type Err = FaultKind;

            fn from_str(text: &str) -> Result<Self, FaultKind> {
                match text {
                    $($name => Ok(Upos::$tag),)*
                    _ => Err(FaultKind::Upos { found: Quote::new(text) }),
                }
            }
        }
    };
}

upos! {
    Adj "ADJ" "Adjective.",
    Adp "ADP" "Adposition.",
    Adv "ADV" "Adverb.",
    Aux "AUX" "Auxiliary.",
    Cconj "CCONJ" "Coordinating conjunction.",
    Det "DET" "Determiner.",
    Intj "INTJ" "Interjection.",
    Noun "NOUN" "Noun.",
    Num "NUM" "Numeral.",
    Part "PART" "Particle.",
    Pron "PRON" "Pronoun.",
    Propn "PROPN" "Proper noun.",
    Punct "PUNCT" "Punctuation.",
    Sconj "SCONJ" "Subordinating conjunction.",
    Sym "SYM" "Symbol.",
    Verb "VERB" "Verb.",
    X "X" "Other.",
}

impl fmt::Display for Upos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One feature: `Number[psor]=Plur,Sing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature<'a> {
    /// The feature's name with its layer: `Number[psor]`.
    pub name: &'a str,
    /// The feature's values, comma-separated: `Plur,Sing`.
    pub value: &'a str,
}

impl<'a> Feature<'a> {
    /// Returns the layer in the name's brackets: `psor`.
    pub fn layer(&self) -> Option<&'a str> {
        self.name.strip_suffix(']')?.split_once('[').map(|(_, layer)| layer)
    }

    /// Returns the values one by one.
    pub fn values(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.value.split(',')
    }
}

/// One enhanced dependency: `5:nsubj`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency<'a> {
    /// A word, an empty node, or [`Id::Word`]`(0)` for the root.
    pub head: Id,
    /// The relation to it.
    pub relation: &'a str,
}

/// One item of MISC: `SpaceAfter=No`, or a key alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotation<'a> {
    /// The text before the first `=`, or all of it.
    pub key: &'a str,
    /// The text after the first `=`.
    pub value: Option<&'a str>,
}

impl<'a> TokenRow<'a> {
    /// UPOS as a tag; `None` if it is `_`.
    ///
    /// # Errors
    /// If the tag is not one of the seventeen.
    pub fn upos_tag(&self) -> Result<Option<Upos>, FaultKind> {
        if self.upos() == "_" { Ok(None) } else { self.upos().parse().map(Some) }
    }

    /// FEATS one by one; none if it is `_`.
    ///
    /// # Errors
    /// An item is a fault if it is not `Name=Value`, `Name[layer]=Value` or `Name=Value,Value`.
    pub fn features(&self) -> impl Iterator<Item = Result<Feature<'a>, FaultKind>> + use<'a> {
        split_items(self.feats()).map(|(_, item)| feature(item))
    }

    /// Returns the value of the feature with this name, including its layer.
    pub fn feature(&self, name: &str) -> Option<&'a str> {
        self.features().flatten().find(|feature| feature.name == name).map(|feature| feature.value)
    }

    /// HEAD as the number of a word, 0 for the root; `None` if it is `_`.
    ///
    /// # Errors
    /// If HEAD is anything else.
    pub fn governor(&self) -> Result<Option<u32>, FaultKind> {
        if self.head() == "_" { Ok(None) } else { parse_head(self.head()).map(Some) }
    }

    /// DEPS one by one; none if it is `_`.
    ///
    /// # Errors
    /// An item is a fault if it is not `head:relation`.
    pub fn dependencies(&self) -> impl Iterator<Item = Result<Dependency<'a>, FaultKind>> + use<'a> {
        split_items(self.deps()).map(|(_, item)| parse_dependency(item))
    }

    /// MISC one by one; none if it is `_`.
    pub fn annotations(&self) -> impl Iterator<Item = Annotation<'a>> + use<'a> {
        split_items(self.misc()).map(|(_, item)| parse_annotation(item))
    }

    /// Returns whether a space follows in the running text: MISC has no `SpaceAfter=No`.
    pub fn space_after(&self) -> bool {
        !self.annotations().any(|it| it.key == "SpaceAfter" && it.value == Some("No"))
    }
}

/// MISC with one item set: the first item with this key gets the value, or a new one is appended.
///
/// ```
/// use frostline_conllu::with_annotation;
///
/// assert_eq!(with_annotation("_", "Prob", "0.9"), "Prob=0.9");
/// assert_eq!(with_annotation("Prob=0.1|SpaceAfter=No", "Prob", "0.9"), "Prob=0.9|SpaceAfter=No");
/// ```
pub fn with_annotation(misc: &str, key: &str, value: &str) -> String {
    let mut set = false;
    let mut parts: Vec<String> = Vec::new();
    for (_, item) in split_items(misc) {
        let replaced = !set && parse_annotation(item).key == key;
        set |= replaced;
        parts.push(if replaced { format!("{key}={value}") } else { item.to_owned() });
    }
    if !set {
        parts.push(format!("{key}={value}"));
    }
    parts.join("|")
}

/// FEATS with one feature set, at its place in the order of names, or removed if `value` is `None`.
///
/// ```
/// use frostline_conllu::with_feature;
///
/// assert_eq!(with_feature("Case=Nom|Person=3", "Number", Some("Sing")), "Case=Nom|Number=Sing|Person=3");
/// assert_eq!(with_feature("Number=Sing", "Number", None), "_");
/// ```
pub fn with_feature(feats: &str, name: &str, value: Option<&str>) -> String {
    let name_of = |item: &str| item.split_once('=').map_or(item, |(name, _)| name).to_lowercase();
    let mut parts: Vec<String> = split_items(feats)
        .filter(|(_, item)| item.split_once('=').is_none_or(|(other, _)| other != name))
        .map(|(_, item)| item.to_owned())
        .collect();
    if let Some(value) = value {
        let lower = name.to_lowercase();
        let at = parts.iter().position(|item| name_of(item) > lower).unwrap_or(parts.len());
        parts.insert(at, format!("{name}={value}"));
    }
    if parts.is_empty() { "_".to_owned() } else { parts.join("|") }
}

/// The item of MISC for a token that no space follows.
pub(crate) const SPACE_AFTER_NO: &str = "SpaceAfter=No";

/// Returns the items of a `|`-separated value with their starts; none for `_`.
pub(crate) fn split_items(value: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let parts = (value != "_").then(|| value.split('|')).into_iter().flatten();
    parts.map(move |part| {
        let start = at;
        at += part.len() + 1;
        (start, part)
    })
}

pub(crate) fn feature(item: &str) -> Result<Feature<'_>, FaultKind> {
    let name = recognize((
        satisfy(|c| c.is_ascii_uppercase()),
        take_while(|c: char| c.is_ascii_alphanumeric()),
        opt(delimited(
            char('['),
            take_while1(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()),
            char(']'),
        )),
    ));
    let value = pair(
        satisfy(|c| c.is_ascii_uppercase() || c.is_ascii_digit()),
        take_while(|c: char| c.is_ascii_alphanumeric()),
    );
    let values = recognize(separated_list1(char(','), value));
    let parsed: IResult<_, _> =
        all_consuming(map(separated_pair(name, char('='), values), |(name, value)| Feature { name, value }))
            .parse(item);
    parsed.map(|(_, feature)| feature).map_err(|_| FaultKind::Feature { found: Quote::new(item) })
}

pub(crate) fn parse_head(value: &str) -> Result<u32, FaultKind> {
    let parsed: IResult<_, _> = all_consuming(alt((positive_number, map(tag("0"), |_| 0)))).parse(value);
    parsed.map(|(_, head)| head).map_err(|_| {
        let found = Quote::new(value);
        if is_positive(value) {
            FaultKind::NumberTooLarge { column: Column::Head, found }
        } else {
            FaultKind::Head { found }
        }
    })
}

pub(crate) fn parse_dependency(item: &str) -> Result<Dependency<'_>, FaultKind> {
    let bad = || FaultKind::Dependency { found: Quote::new(item) };
    let (head, relation) = item.split_once(':').ok_or_else(bad)?;
    let leading_zero = head.len() > 1 && head.starts_with('0') && !head.starts_with("0.");
    let head = match Id::parse(head) {
        _ if head == "0" => Id::Word(0),
        Some(id @ (Id::Word(_) | Id::Empty(..))) if !leading_zero => id,
        _ if Id::is_too_large(head) && !leading_zero && !head.contains('-') => {
            return Err(FaultKind::NumberTooLarge { column: Column::Deps, found: Quote::new(item) });
        }
        _ => return Err(bad()),
    };
    if is_relation(relation) { Ok(Dependency { head, relation }) } else { Err(bad()) }
}

/// Returns whether a relation, with or without subtypes, is one of the 37 that universaldependencies.org
/// defines.
#[rustfmt::skip]
pub(crate) fn is_universal(relation: &str) -> bool {
    let main = relation.split_once(':').map_or(relation, |(main, _)| main);
    matches!(
        main,
        "acl" | "advcl" | "advmod" | "amod" | "appos" | "aux" | "case" | "cc" | "ccomp" | "clf" | "compound"
        | "conj" | "cop" | "csubj" | "dep" | "det" | "discourse" | "dislocated" | "expl" | "fixed" | "flat"
        | "goeswith" | "iobj" | "list" | "mark" | "nmod" | "nsubj" | "nummod" | "obj" | "obl" | "orphan"
        | "parataxis" | "punct" | "reparandum" | "root" | "vocative" | "xcomp"
    )
}

/// DEPREL of a word: a universal relation, alone or with a subtype.
pub(crate) fn check_relation(value: &str) -> Result<(), FaultKind> {
    let letters = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase());
    let formed = match value.split_once(':') {
        Some((main, subtype)) => letters(main) && letters(subtype),
        None => letters(value),
    };
    if !formed {
        Err(FaultKind::Relation { found: Quote::new(value) })
    } else if !is_universal(value) {
        Err(FaultKind::RelationUnknown { found: Quote::new(value) })
    } else {
        Ok(())
    }
}

/// Returns whether an enhanced relation has the form that universaldependencies.org defines: a relation, then
/// up to three parts after colons: a subtype, a case or conjunction (uncapitalised letters of any script,
/// joined by `_`), and another subtype.
fn is_relation(text: &str) -> bool {
    let ascii = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase());
    let word = |part: &str| !part.is_empty() && part.chars().all(is_small_letter);
    let words = |part: &str| part.split('_').all(word);
    let mut parts = text.split(':');
    let main = parts.next().is_some_and(ascii);
    let rest: Vec<&str> = parts.take(4).collect();
    main && match rest[..] {
        [] => true,
        [a] => words(a),
        [a, b] => (ascii(a) && words(b)) || (words(a) && ascii(b)),
        [a, b, c] => ascii(a) && words(b) && ascii(c),
        _ => false,
    }
}

fn is_small_letter(c: char) -> bool {
    use GeneralCategory::{
        EnclosingMark, LowercaseLetter, ModifierLetter, NonspacingMark, OtherLetter, SpacingMark,
    };
    c.is_ascii_lowercase()
        || (!c.is_ascii()
            && matches!(
                c.general_category(),
                LowercaseLetter | ModifierLetter | OtherLetter | NonspacingMark | SpacingMark | EnclosingMark
            ))
}

pub(crate) fn parse_annotation(item: &str) -> Annotation<'_> {
    match item.split_once('=') {
        Some((key, value)) => Annotation { key, value: Some(value) },
        None => Annotation { key: item, value: None },
    }
}
