//! The checks of `Checks::typed`: the columns' values are valid, columns that belong to words are empty in
//! ranges and empty nodes, heads form a tree, and enhanced heads reach every node.
//!
//! These are the rules of level 2 of the UD validator for rows. Checks of a whole sentence are skipped if level
//! 1 found a fault in it.

use std::collections::HashSet;

use crate::{
    bytes_examined,
    check::FoundFault,
    earlier_sentences::SeenIds,
    fault::FaultKind,
    id::Id,
    quote::Quote,
    row::{Column, RowKind, TokenRow},
    sentence::Sentence,
    values::{
        SPACE_AFTER_NO, Upos, check_relation, feature, is_universal, parse_annotation, parse_dependency,
        parse_head, split_items,
    },
};

/// MISC keys that may occur only once.
const ONCE: [&str; 8] = ["SpaceAfter", "Lang", "Translit", "LTranslit", "Gloss", "LId", "LDeriv", "Ref"];

/// The columns that are checked, the first two only in ranges. FORM is free, and ID is checked at level 1.
const CHECKED: [Column; 8] = [
    Column::Lemma,
    Column::Xpos,
    Column::Upos,
    Column::Feats,
    Column::Head,
    Column::Deprel,
    Column::Deps,
    Column::Misc,
];

/// Checks every row, then the sentence unless level 1 found it not to be `sound`. Reports at most one
/// fault for each column of a row; `report` receives the row's index.
pub(crate) fn check(
    sentence: &Sentence<'_>,
    sound: bool,
    seen: &mut SeenIds,
    mut report: impl FnMut(usize, FoundFault),
) {
    let mut clean = true;
    let mut range = None;
    for (index, row) in sentence.rows.iter().enumerate() {
        bytes_examined::add(row.text.len());
        if row.kind == RowKind::Range {
            range = row.key();
        }
        if row.columns == 10 && row.kind != RowKind::Unknown {
            for &column in &CHECKED[if row.kind == RowKind::Range { 0 } else { 2 }..] {
                if let Some((at, kind)) = check_value(row, column, range) {
                    clean = false;
                    report(index, (column_start(row, column) + at, kind));
                }
            }
        }
    }
    if sound && clean {
        check_sentence(sentence, |index, column, kind| {
            report(index, (column_start(&sentence.rows[index], column), kind));
        });
    }
    if sound && !sentence.rows.is_empty() {
        check_enhanced_consistency(sentence, seen, |index, kind| {
            report(index, (column_start(&sentence.rows[index], Column::Deps), kind));
        });
    }
}

/// Checks that enhanced dependencies are in all sentences or in none, by the first of each kind.
fn check_enhanced_consistency(
    sentence: &Sentence<'_>,
    seen: &mut SeenIds,
    mut report: impl FnMut(usize, FaultKind),
) {
    if seen.enhanced.is_some() && seen.plain.is_some() {
        return;
    }
    let is_enhanced = |row: &TokenRow<'_>| row.is_empty_node() || (row.is_word() && row.deps() != "_");
    let enhanced = sentence.rows.iter().position(is_enhanced);
    let line = sentence.line_of(&sentence.rows[enhanced.unwrap_or(0)]);
    match enhanced {
        Some(index) if seen.enhanced.is_none() => {
            seen.enhanced = Some(line);
            if let Some(line) = seen.plain {
                report(index, FaultKind::EnhancedExtra { line });
            }
        }
        None if seen.plain.is_none() => {
            seen.plain = Some(line);
            if let Some(line) = seen.enhanced {
                report(0, FaultKind::EnhancedMissing { line });
            }
        }
        _ => {}
    }
}

/// Returns the start of a column of a ten-column row.
fn column_start(row: &TokenRow<'_>, column: Column) -> usize {
    match column as usize {
        0 => 0,
        n => row.tabs[n - 1] as usize + 1,
    }
}

/// Returns the first fault of one value, regardless of the rest of the sentence but for the last range before.
fn check_value(row: &TokenRow<'_>, column: Column, range: Option<Id>) -> Option<FoundFault> {
    let text = row.get(column)?;
    if text == "_" && !matches!((row.kind, column), (RowKind::Word, _)) {
        return None;
    }
    let found = || Quote::new(text);
    match (row.kind, column) {
        (RowKind::Range, Column::Misc) => check_misc(text, None),
        (RowKind::Range, Column::Feats) if text == "Typo=Yes" => None,
        (RowKind::Range, _) => Some((0, FaultKind::OnRange { column, found: found() })),
        (RowKind::Empty, Column::Head | Column::Deprel) => {
            Some((0, FaultKind::OnEmptyNode { column, found: found() }))
        }
        (RowKind::Empty, Column::Misc) => check_misc(text, Some(Silent::EmptyNode)),
        (_, Column::Misc) => {
            let silent = match range {
                Some(Id::Range(first, last)) => {
                    let in_range =
                        matches!(row.key(), Some(Id::Word(word)) if (first..=last).contains(&word));
                    in_range.then_some(Silent::InRange(first, last))
                }
                _ => None,
            };
            check_misc(text, silent)
        }
        (_, Column::Upos) => text.parse::<Upos>().err().map(|kind| (0, kind)),
        (_, Column::Feats) => check_feats(text),
        (_, Column::Head) => parse_head(text).err().map(|kind| (0, kind)),
        (_, Column::Deprel) => check_relation(text).err().map(|kind| (0, kind)),
        (_, Column::Deps) => check_deps(text),
        _ => None,
    }
}

/// A row whose form the text does not contain as such, so that no space can follow it.
#[derive(Clone, Copy)]
enum Silent {
    EmptyNode,
    InRange(u32, u32),
}

fn check_feats(text: &str) -> Option<FoundFault> {
    let mut before: Option<&str> = None;
    let mut names = RowNames::default();
    for (at, item) in split_items(text) {
        let feature = match feature(item) {
            Ok(feature) => feature,
            Err(kind) => return Some((at, kind)),
        };
        if before.is_some_and(|before| lowercase_bytes(before).gt(lowercase_bytes(item))) {
            return Some((at, FaultKind::FeatureOrder { found: Quote::new(item) }));
        }
        if !names.add(feature.name) {
            return Some((at, FaultKind::FeatureRepeated { found: Quote::new(feature.name) }));
        }
        let mut values = RowNames::default();
        let mut last: Option<&str> = None;
        for value in feature.values() {
            if last.is_some_and(|last| lowercase_bytes(last).gt(lowercase_bytes(value))) {
                return Some((at, FaultKind::FeatureValueOrder { found: Quote::new(item) }));
            }
            if !values.add(value) {
                return Some((at, FaultKind::FeatureValueRepeated { found: Quote::new(item) }));
            }
            last = Some(value);
        }
        before = Some(item);
    }
    None
}

/// Features and values are ordered by their lowercase letters.
fn lowercase_bytes(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().map(|b| b.to_ascii_lowercase())
}

/// Finds duplicates in a list sorted case-insensitively. It compares neighbours, and needs a set only
/// while neighbours differ in case alone.
#[derive(Default)]
struct RowNames<'a> {
    last: Option<&'a str>,
    variants: HashSet<&'a str>,
}

impl<'a> RowNames<'a> {
    fn add(&mut self, name: &'a str) -> bool {
        let last = self.last.replace(name);
        match last {
            Some(last) if last == name => false,
            Some(last) if last.eq_ignore_ascii_case(name) => {
                self.variants.insert(last);
                self.variants.insert(name)
            }
            _ => {
                self.variants.clear();
                true
            }
        }
    }
}

fn check_deps(text: &str) -> Option<FoundFault> {
    let mut before: Option<((u32, u32), &str)> = None;
    for (at, item) in split_items(text) {
        let dependency = match parse_dependency(item) {
            Ok(dependency) => dependency,
            Err(kind) => return Some((at, kind)),
        };
        let key = (id_order(dependency.head), dependency.relation);
        if before == Some(key) {
            return Some((at, FaultKind::DependencyRepeated { found: Quote::new(item) }));
        }
        if before.is_some_and(|before| before > key) {
            return Some((at, FaultKind::DependencyOrder { found: Quote::new(item) }));
        }
        let name = dependency.relation;
        if !is_universal(name) && name != "ref" && !name.starts_with("ref:") {
            return Some((at, FaultKind::DependencyRelation { found: Quote::new(item) }));
        }
        before = Some(key);
    }
    None
}

fn id_order(id: Id) -> (u32, u32) {
    match id {
        Id::Word(n) | Id::Range(n, _) => (n, 0),
        Id::Empty(major, minor) => (major, minor),
    }
}

/// Returns whether `piece` is anywhere in a short item. Faster there than `str::contains`, which prepares a
/// search.
fn contains_piece(item: &str, piece: &str) -> bool {
    item.len() >= piece.len() && memchr::memmem::find(item.as_bytes(), piece.as_bytes()).is_some()
}

fn check_misc(text: &str, silent: Option<Silent>) -> Option<FoundFault> {
    let mut seen = [false; ONCE.len()];
    for (at, item) in split_items(text) {
        // The validator, too, looks for these two anywhere in an item.
        if contains_piece(item, "NoSpaceAfter=Yes") {
            return Some((at, FaultKind::NoSpaceAfter { found: Quote::new(item) }));
        }
        if let Some(silent) = silent
            && contains_piece(item, SPACE_AFTER_NO)
        {
            let found = Quote::new(item);
            let kind = match silent {
                Silent::EmptyNode => FaultKind::SpaceAfterOnEmptyNode { found },
                Silent::InRange(first, last) => FaultKind::SpaceAfterInRange { found, first, last },
            };
            return Some((at, kind));
        }
        let it = parse_annotation(item);
        if let Some(index) = ONCE.iter().position(|key| *key == it.key) {
            if seen[index] {
                return Some((at, FaultKind::MiscRepeated { found: Quote::new(it.key) }));
            }
            seen[index] = true;
        }
        if it.key == "SpaceAfter" && it.value.is_some_and(|value| value != "No") {
            return Some((at, FaultKind::SpaceAfter { found: Quote::new(item) }));
        }
    }
    None
}

/// Checks of the whole sentence: heads exist and form a tree, and enhanced heads reach every node.
fn check_sentence(sentence: &Sentence<'_>, mut report: impl FnMut(usize, Column, FaultKind)) {
    let nodes = Nodes::from_sentence(sentence);
    let mut heads = vec![0; nodes.words.len()];
    let mut sound = true;
    let mut root = None;
    for (word, &index) in nodes.words.iter().enumerate().skip(1) {
        let row = &sentence.rows[index];
        let head = row.governor().ok().flatten().unwrap_or_default() as usize;
        heads[word] = head;
        let kind = if head == word {
            FaultKind::HeadSelf { word }
        } else if head >= nodes.words.len() {
            FaultKind::HeadUnknown { found: Quote::new(row.head()), words: nodes.words.len() - 1 }
        } else if let (0, Some(first)) = (head, root) {
            FaultKind::SecondRoot { first, second: word }
        } else {
            root = root.or((head == 0).then_some(word));
            continue;
        };
        sound = false;
        report(index, Column::Head, kind);
    }
    if sound && let Some(word) = on_a_cycle(&heads) {
        report(nodes.words[word], Column::Head, FaultKind::NoPathToRoot { word });
    }
    nodes.check_enhanced_graph(sentence, report);
}

/// Returns the first word whose chain of heads leads into a cycle. `heads[0]` is the root.
fn on_a_cycle(heads: &[usize]) -> Option<usize> {
    let mut seen_from = vec![0; heads.len()];
    for word in 1..heads.len() {
        let mut at = word;
        while at != 0 && seen_from[at] == 0 {
            seen_from[at] = word;
            at = heads[at];
        }
        // A chain that joins an earlier word's chain continues as that one did: to the root.
        if at != 0 && seen_from[at] == word {
            return Some(word);
        }
    }
    None
}

/// The words and empty nodes of a sentence without faults, numbered in text order from 1; 0 is the root.
struct Nodes {
    /// Row index of each word; entry 0 is the root.
    words: Vec<usize>,
    /// Node number of each word, and one past the last node.
    starts: Vec<usize>,
    /// Row index of each node; entry 0 is the root.
    rows: Vec<usize>,
}

impl Nodes {
    fn from_sentence(sentence: &Sentence<'_>) -> Self {
        let mut nodes = Nodes { words: vec![usize::MAX], starts: vec![0], rows: vec![usize::MAX] };
        for (index, row) in sentence.rows.iter().enumerate() {
            if row.is_word() {
                nodes.words.push(index);
                nodes.starts.push(nodes.rows.len());
            }
            if row.is_word() || row.is_empty_node() {
                nodes.rows.push(index);
            }
        }
        nodes.starts.push(nodes.rows.len());
        nodes
    }

    /// Returns the node number of an enhanced head, if there is such a node.
    fn node_number(&self, id: Id) -> Option<usize> {
        let (word, minor) = id_order(id);
        let (word, minor) = (word as usize, minor as usize);
        let end = *self.starts.get(word + 1)?;
        let number = self.starts[word] + minor;
        (number < end).then_some(number)
    }

    /// Returns whether the ID of a node starts with zeros, so that no enhanced head is equal to it.
    fn has_zeros(&self, sentence: &Sentence<'_>, node: usize) -> bool {
        let row = self.rows.get(node).and_then(|&index| sentence.rows.get(index));
        row.is_some_and(|row| row.id().starts_with('0') && !row.id().starts_with("0."))
    }

    /// Checks that enhanced heads exist and, if the sentence has an enhanced graph (an edge or an
    /// empty node), that they reach every node.
    fn check_enhanced_graph(
        &self,
        sentence: &Sentence<'_>,
        mut report: impl FnMut(usize, Column, FaultKind),
    ) {
        let mut edges = Vec::new();
        let mut sound = true;
        for (node, &index) in self.rows.iter().enumerate().skip(1) {
            for dependency in sentence.rows[index].dependencies().flatten() {
                let kind = match self.node_number(dependency.head) {
                    Some(head) if head == node => FaultKind::DependencySelf { node: dependency.head },
                    Some(head) if self.has_zeros(sentence, head) => {
                        let found = Quote::new(sentence.rows[self.rows[head]].id());
                        FaultKind::DependencyZeros { head: dependency.head, found }
                    }
                    Some(head) => {
                        edges.push((head, node));
                        continue;
                    }
                    None => FaultKind::DependencyUnknown { head: dependency.head },
                };
                sound = false;
                report(index, Column::Deps, kind);
                break;
            }
        }
        let graph = !edges.is_empty() || self.rows.len() > self.words.len();
        if sound
            && graph
            && let Some(node) = first_unreached_node(self.rows.len(), &mut edges)
        {
            let index = self.rows[node];
            let node = Quote::new(sentence.rows[index].id());
            report(index, Column::Deps, FaultKind::DependencyUnreached { node });
        }
    }
}

/// Returns the first of `nodes` that no chain of edges leads to from node 0.
fn first_unreached_node(nodes: usize, edges: &mut [(usize, usize)]) -> Option<usize> {
    edges.sort_unstable();
    let mut reached = vec![false; nodes];
    reached[0] = true;
    let mut open = vec![0];
    while let Some(head) = open.pop() {
        let from = edges.partition_point(|&(other, _)| other < head);
        for &(_, node) in edges[from..].iter().take_while(|&&(other, _)| other == head) {
            if !std::mem::replace(&mut reached[node], true) {
                open.push(node);
            }
        }
    }
    reached.iter().position(|reached| !reached)
}
