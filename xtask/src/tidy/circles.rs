//! Import circles between the files of a crate: files that can only be understood together.
//!
//! A file needs another if it names one of its items: through `crate::`, `super::`, `self::` or the name of a
//! module that it declares itself. Re-exports are followed to the file that defines the item, and are not needs themselves.
//! A module is part of the modules above it, so what it takes from those does not count.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{test_modules, tokens};

/// Circles that are allowed, broken at one place: a file, a file that it needs, and the reason.
const REASONS: [(&str, &str, &str); 0] = [];

/// One crate's files by their module paths, as `["page", "curves"]`; the root's is empty.
#[derive(Default)]
struct Modules(BTreeMap<Vec<String>, Module>);

#[derive(Default)]
struct Module {
    file: String,
    tokens: Vec<String>,
    /// The items that it defines.
    items: BTreeSet<String>,
    /// What an import calls something here, and the path behind it from the crate's root.
    imports: BTreeMap<String, Vec<String>>,
    /// Paths that this file uses, from the crate's root.
    uses: BTreeSet<Vec<String>>,
}

/// Files that need each other, group by group, and what each needs of which other. `read` gives a file's text.
pub(super) fn check(files: &[String], read: impl Fn(&str) -> Option<String>) -> Vec<Vec<String>> {
    let mut sources: BTreeSet<&str> = BTreeSet::new();
    for name in files.iter().filter(|name| name.ends_with(".rs")) {
        sources.extend(name.find("/src/").map(|at| &name[..at + "/src/".len()]));
    }
    sources.into_iter().flat_map(|source| Modules::of(source, files, &read).circles()).collect()
}

impl Modules {
    fn of(source: &str, files: &[String], read: impl Fn(&str) -> Option<String>) -> Self {
        let mut modules = Self::default();
        let mut for_tests = BTreeSet::new();
        for file in files.iter().filter(|file| file.starts_with(source) && file.ends_with(".rs")) {
            let (Some(text), path) = (read(file), path_of(&file[source.len()..])) else { continue };
            for name in test_modules(&text) {
                for_tests.insert([path.clone(), vec![name]].concat());
            }
            let module = Module { file: file.clone(), tokens: tokens(&text), ..Module::default() };
            modules.0.insert(path, module);
        }
        modules.0.retain(|path, _| !for_tests.iter().any(|test| path.starts_with(test)));
        let paths: BTreeSet<Vec<String>> = modules.0.keys().cloned().collect();
        for (path, module) in &mut modules.0 {
            module.read(path, &paths);
        }
        modules
    }

    /// The file that a path leads to, through re-exports.
    fn resolve<'a>(&'a self, path: &'a [String], depth: usize) -> Option<&'a [String]> {
        let at = (0..=path.len()).rev().find(|&length| self.0.contains_key(&path[..length]))?;
        let (place, rest) = path.split_at(at);
        let module = &self.0[place];
        let Some(item) = rest.first() else { return Some(place) };
        if depth > 8 || module.items.contains(item) {
            return Some(place);
        }
        if let Some(behind) = module.imports.get(item).filter(|behind| *behind != path) {
            return self.resolve(behind, depth + 1);
        }
        Some(place)
    }

    /// Which files a file needs, and an item that it names there.
    fn needs(&self) -> Needs<'_> {
        let of = |path: &'_ [String], module: &'_ Module| {
            let found = module.uses.iter().filter_map(|used| {
                let place = self.resolve(used, 0)?.to_vec();
                let (other, there) = self.0.get_key_value(&place)?;
                let reasoned =
                    REASONS.iter().any(|(file, other, _)| *file == module.file && *other == there.file);
                (!path.starts_with(other) && !reasoned).then(|| (other.as_slice(), used.join("::")))
            });
            found.collect()
        };
        self.0.iter().map(|(path, module)| (path.as_slice(), of(path, module))).collect()
    }

    /// The groups of files that need each other, described need by need.
    fn circles(&self) -> Vec<Vec<String>> {
        let needs = self.needs();
        let reach: BTreeMap<&[String], BTreeSet<&[String]>> =
            needs.keys().map(|&start| (start, reached(start, &needs))).collect();
        let mut seen: BTreeSet<&[String]> = BTreeSet::new();
        let mut circles = Vec::new();
        for &start in needs.keys().filter(|start| reach[*start].contains(*start)) {
            let group: BTreeSet<&[String]> =
                reach[start].iter().filter(|other| reach[*other].contains(start)).copied().collect();
            if seen.insert(start) {
                seen.extend(&group);
                circles.push(self.describe(&group, &needs));
            }
        }
        circles
    }

    /// `a.rs needs b.rs (b::B)` for each need within a group.
    fn describe(&self, group: &BTreeSet<&[String]>, needs: &Needs<'_>) -> Vec<String> {
        let file = |path: &[String]| self.0[path].file.as_str();
        let mut needs_shown = Vec::new();
        for path in group {
            for (other, item) in needs[path].iter().filter(|(other, _)| group.contains(*other)) {
                needs_shown.push(format!("{} needs {} ({item})", file(path), file(other)));
            }
        }
        needs_shown
    }
}

/// What each file needs: the other file, and an item there.
type Needs<'a> = BTreeMap<&'a [String], BTreeMap<&'a [String], String>>;

/// The files that can be reached from a file; the file itself if it is on a circle.
fn reached<'a>(start: &'a [String], needs: &Needs<'a>) -> BTreeSet<&'a [String]> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&[String]> = needs[start].keys().copied().collect();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(needs[next].keys());
        }
    }
    found
}

/// `page/curves.rs` and `page/curves/mod.rs` are `page::curves`; `lib.rs` and `main.rs` have no name.
fn path_of(file: &str) -> Vec<String> {
    let stem = file.trim_end_matches(".rs");
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    match stem {
        "lib" | "mod" => Vec::new(),
        _ => stem.split('/').map(String::from).collect(),
    }
}

impl Module {
    /// Takes items, imports and used paths from the tokens.
    fn read(&mut self, path: &[String], paths: &BTreeSet<Vec<String>>) {
        const KINDS: [&str; 8] = ["struct", "enum", "fn", "type", "const", "static", "trait", "union"];
        let tokens = std::mem::take(&mut self.tokens);
        let word = |at: usize| tokens.get(at).map(String::as_str).unwrap_or_default();
        // Modules inside the file: the depth of their braces.
        let (mut inside, mut depth) = (Vec::new(), 0usize);
        let mut at = 0;
        while at < tokens.len() {
            match word(at) {
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    inside.pop_if(|opened| *opened == depth);
                }
                "mod" if word(at + 2) == "{" => inside.push(depth),
                kind if KINDS.contains(&kind) => drop(self.items.insert(word(at + 1).into())),
                "use" => {
                    let public = at > 0 && matches!(word(at - 1), "pub" | ")");
                    let mut found = Vec::new();
                    let end = tree(&tokens, at + 1, &[], &mut found);
                    for (path_used, name) in found {
                        let Some(full) = full(&path_used, path, inside.len(), paths) else { continue };
                        self.imports.insert(name, full.clone());
                        if !public {
                            self.uses.insert(full);
                        }
                    }
                    at = end;
                    continue;
                }
                first if word(at + 1) == "::" && (at == 0 || word(at - 1) != "::") => {
                    let mut found = Vec::new();
                    let path_used = std::iter::once(first);
                    let mut next = at + 1;
                    let mut segments: Vec<String> = path_used.map(String::from).collect();
                    while word(next) == "::"
                        && word(next + 1).starts_with(|c: char| c.is_alphabetic() || c == '_')
                    {
                        segments.push(word(next + 1).into());
                        next += 2;
                    }
                    found.extend(full(&segments, path, inside.len(), paths));
                    self.uses.extend(found);
                    at = next;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }
}

/// Reads one import's tree from `at`; gives the place behind it. Every leaf is a path and its name here.
fn tree(
    tokens: &[String],
    mut at: usize,
    before: &[String],
    found: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let word = |at: usize| tokens.get(at).map(String::as_str).unwrap_or(";");
    let mut path = before.to_vec();
    if word(at) == "::" {
        at += 1;
    }
    loop {
        match word(at) {
            "{" => {
                at += 1;
                while word(at) != "}" && word(at) != ";" {
                    at = tree(tokens, at, &path, found);
                    at += usize::from(word(at) == ",");
                }
                return at + 1;
            }
            // All of a module, which is a use of the module itself.
            "*" => {
                found.push((path, "*".into()));
                return at + 1;
            }
            "self" if !path.is_empty() => {}
            segment => path.push(segment.into()),
        }
        at += 1;
        if word(at) != "::" {
            break;
        }
        at += 1;
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if word(at) == "as" {
        name = word(at + 1).into();
        at += 2;
    }
    found.push((path, name));
    at
}

/// A path in a file, relative to the crate's root; `None` if it leads out of the crate.
fn full(
    used: &[String],
    here: &[String],
    inside: usize,
    paths: &BTreeSet<Vec<String>>,
) -> Option<Vec<String>> {
    let (first, rest) = used.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([here, rest].concat()),
        "super" => {
            let up = used.iter().take_while(|word| *word == "super").count();
            let keep = here.len().checked_sub(up.saturating_sub(inside))?;
            Some([&here[..keep], &used[up..]].concat())
        }
        _ => {
            let child = [here, std::slice::from_ref(first)].concat();
            paths.contains(&child).then(|| [here, used].concat())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Circles among files given as name and text.
    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let names: Vec<String> = files.iter().map(|(name, _)| format!("crates/a/src/{name}")).collect();
        let read = |name: &str| {
            files
                .iter()
                .find(|(file, _)| name.ends_with(&format!("/src/{file}")))
                .map(|(_, text)| (*text).into())
        };
        check(&names, read)
    }

    /// The files of each circle.
    fn names(files: &[(&str, &str)]) -> String {
        let first =
            |need: &String| need.trim_start_matches("crates/a/src/").split(' ').next().map(String::from);
        let shown = |way: &Vec<String>| {
            let files: BTreeSet<String> = way.iter().filter_map(first).collect();
            files.into_iter().collect::<Vec<_>>().join("+")
        };
        circles(files).iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn two_files_that_need_each_other() {
        let a = ("a.rs", "use crate::b::{B, other as o}; pub struct A;");
        assert_eq!(
            names(&[("lib.rs", "mod a; mod b;"), a, ("b.rs", "pub struct B(super::a::A);")]),
            "a.rs+b.rs"
        );
        assert_eq!(names(&[("lib.rs", "mod a; mod b;"), a, ("b.rs", "pub struct B;")]), "");
        let unseen =
            "pub struct B; // crate::a::A\n#[cfg(test)] mod tests { use crate::a::A; use super::*; }";
        assert_eq!(names(&[("lib.rs", "mod a; mod b;"), a, ("b.rs", unseen)]), "");
    }

    #[test]
    fn a_module_is_part_of_those_above_it() {
        let page = ("page.rs", "mod curves; mod lines; struct Page; fn f() { curves::draw() }");
        let curves = ("page/curves.rs", "use super::{Page, lines::line}; pub fn draw() {}");
        assert_eq!(names(&[page, curves, ("page/lines.rs", "pub fn line() {}")]), "");
        let back = ("page/lines.rs", "pub fn line() { super::curves::draw() }");
        assert_eq!(names(&[page, curves, back]), "page/curves.rs+page/lines.rs");
    }

    #[test]
    fn re_exports_lead_to_the_file_that_has_the_item() {
        let root = ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;");
        let a = ("a.rs", "pub struct A;");
        assert_eq!(names(&[root, a, ("b.rs", "use crate::A; pub struct B;")]), "");
        let back = ("a.rs", "pub struct A(crate::B);");
        assert_eq!(names(&[root, back, ("b.rs", "use crate::A; pub struct B;")]), "a.rs+b.rs");
        // Imported by the parent, used by a child of it.
        let parent = ("c.rs", "mod d; use crate::a::A;");
        let only = ("lib.rs", "mod a; mod c;");
        assert_eq!(names(&[only, a, parent, ("c/d.rs", "use super::A;")]), "");
    }

    #[test]
    fn modules_inside_a_file_and_modules_for_tests() {
        let inner = "pub struct A; mod inner { use super::A; fn f() { super::super::b::f() } }";
        let root = ("lib.rs", "mod a; mod b;");
        assert_eq!(names(&[root, ("a.rs", inner), ("b.rs", "use crate::a::A; pub fn f() {}")]), "a.rs+b.rs");
        let tested = ("a.rs", "pub struct A; #[cfg(test)] mod cases;");
        assert_eq!(
            names(&[
                root,
                tested,
                ("a/cases.rs", "use super::A; use crate::b::f;"),
                ("b.rs", "use crate::a::A; pub fn f() {}")
            ]),
            ""
        );
    }
}
