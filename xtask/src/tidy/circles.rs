//! Import circles between the files of a crate: files that can only be understood together.
//!
//! A file needs another if it names one of its items: through `crate::`, `super::`, `self::` or the name of a
//! module that it declares itself. Re-exports are followed to the file that defines the item. A file that takes an item from a
//! re-export in a module elsewhere needs that module too: import the defining module instead.
//! A module is part of the modules above it, so what it takes from those does not count.

use std::collections::{BTreeMap, BTreeSet};

use super::source::SourceFile;

/// Circles that are allowed, broken at one place: a file, a file that it needs, and the reason.
const REASONS: [(&str, &str, &str); 0] = [];

/// One crate's files by their module paths, as `["page", "curves"]`; the root's is empty.
struct Modules(BTreeMap<Vec<String>, Module>);

struct Module {
    file: String,
    /// The items that it defines.
    items: BTreeSet<String>,
    /// What an import calls something here, the path behind it from the crate's root, and whether it is a re-export.
    imports: BTreeMap<String, (Vec<String>, bool)>,
    /// Paths that this file uses, from the crate's root.
    uses: BTreeSet<Vec<String>>,
}

/// Files that need each other, group by group, and what each needs of which other. `read` gives a file's text.
pub(super) fn find_circles(files: &[String], read: impl Fn(&str) -> Option<String>) -> Vec<Vec<String>> {
    let mut sources: BTreeSet<&str> = BTreeSet::new();
    for name in files.iter().filter(|name| name.ends_with(".rs")) {
        sources.extend(name.find("/src/").map(|at| &name[..at + "/src/".len()]));
    }
    sources.into_iter().flat_map(|source| Modules::from_files(source, files, &read).list_circles()).collect()
}

impl Modules {
    fn from_files(folder: &str, files: &[String], read: impl Fn(&str) -> Option<String>) -> Self {
        let files = files.iter().filter(|file| file.starts_with(folder) && file.ends_with(".rs"));
        let mut sources: BTreeMap<Vec<String>, (&String, SourceFile)> = files
            .filter_map(|file| {
                Some((path_of(&file[folder.len()..]), (file, SourceFile::parse_file(&read(file)?)?)))
            })
            .collect();
        let tests = |(path, (_, source)): (&Vec<String>, &(&String, SourceFile))| {
            let child = |name: &String| [path.as_slice(), std::slice::from_ref(name)].concat();
            source.test_modules.iter().map(child).collect::<Vec<_>>()
        };
        let tests: Vec<Vec<String>> = sources.iter().flat_map(tests).collect();
        sources.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
        let paths: BTreeSet<Vec<String>> = sources.keys().cloned().collect();
        let module = |(path, (file, source)): (Vec<String>, (&String, SourceFile))| {
            (path.clone(), Module::new(file, &path, source, &paths))
        };
        Self(sources.into_iter().map(module).collect())
    }

    /// The file that a path leads to, behind the modules whose re-exports it leads through.
    fn resolve_path<'a>(&'a self, path: &'a [String]) -> Vec<&'a [String]> {
        let (mut path, mut places) = (path, Vec::new());
        while let Some(at) = (0..=path.len()).rev().find(|&length| self.0.contains_key(&path[..length])) {
            let (place, rest) = path.split_at(at);
            let module = &self.0[place];
            let import = rest.first().filter(|item| !module.items.contains(*item));
            match import.and_then(|item| module.imports.get(item)) {
                Some((behind, public)) if behind != path && places.len() < 8 => {
                    places.extend(public.then_some(place));
                    path = behind;
                }
                _ => {
                    places.push(place);
                    break;
                }
            }
        }
        places
    }

    /// Which files a file needs, and an item that it names there.
    fn files_needed<'a>(&'a self) -> FileNeeds<'a> {
        let of = |path: &'a [String], module: &'a Module| -> BTreeMap<&'a [String], String> {
            let found = module.uses.iter().flat_map(|used| {
                let places = self.resolve_path(used).into_iter().filter(|other| !path.starts_with(other));
                places.map(|other| (other, used.join("::"))).collect::<Vec<_>>()
            });
            let reasoned = |other: &[String]| {
                REASONS.iter().any(|(file, needed, _)| *file == module.file && *needed == self.0[other].file)
            };
            found.filter(|(other, _)| !reasoned(other)).collect()
        };
        self.0.iter().map(|(path, module)| (path.as_slice(), of(path, module))).collect()
    }

    /// The groups of files that need each other, described need by need.
    fn list_circles(&self) -> Vec<Vec<String>> {
        let needs = self.files_needed();
        let reach: BTreeMap<&[String], BTreeSet<&[String]>> =
            needs.keys().map(|&start| (start, reachable_files(start, &needs))).collect();
        let mut seen: BTreeSet<&[String]> = BTreeSet::new();
        let mut circles = Vec::new();
        for &start in needs.keys().filter(|start| reach[*start].contains(*start)) {
            let group: BTreeSet<&[String]> =
                reach[start].iter().filter(|other| reach[*other].contains(start)).copied().collect();
            if seen.insert(start) {
                seen.extend(&group);
                circles.push(self.describe_group(&group, &needs));
            }
        }
        circles
    }

    /// `a.rs needs b.rs (b::B)` for each need within a group.
    fn describe_group(&self, group: &BTreeSet<&[String]>, needs: &FileNeeds<'_>) -> Vec<String> {
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
type FileNeeds<'a> = BTreeMap<&'a [String], BTreeMap<&'a [String], String>>;

/// The files that can be reached from a file; the file itself if it is on a circle.
fn reachable_files<'a>(start: &'a [String], needs: &FileNeeds<'a>) -> BTreeSet<&'a [String]> {
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
    fn new(file: &str, path: &[String], source: SourceFile, paths: &BTreeSet<Vec<String>>) -> Self {
        let (mut imports, mut uses) = (BTreeMap::new(), BTreeSet::new());
        for import in source.imports {
            let Some(full) = path_from_root(&import.path, path, import.inside, paths) else { continue };
            if !import.public {
                uses.insert(full.clone());
            }
            imports.insert(import.name, (full, import.public));
        }
        let longer = source.paths.iter().filter(|(used, _)| used.len() > 1);
        uses.extend(longer.filter_map(|(used, inside)| path_from_root(used, path, *inside, paths)));
        Self { file: file.into(), items: source.items, imports, uses }
    }
}

/// A path in a file, relative to the crate's root; `None` if it leads out of the crate.
fn path_from_root(
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
    fn circles_among(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let names: Vec<String> = files.iter().map(|(name, _)| format!("crates/a/src/{name}")).collect();
        let read = |name: &str| {
            files
                .iter()
                .find(|(file, _)| name.ends_with(&format!("/src/{file}")))
                .map(|(_, text)| (*text).into())
        };
        find_circles(&names, read)
    }

    /// The files of each circle.
    fn circle_files(files: &[(&str, &str)]) -> String {
        let first =
            |need: &String| need.trim_start_matches("crates/a/src/").split(' ').next().map(String::from);
        let shown = |way: &Vec<String>| {
            let files: BTreeSet<String> = way.iter().filter_map(first).collect();
            files.into_iter().collect::<Vec<_>>().join("+")
        };
        circles_among(files).iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn two_files_that_need_each_other() {
        let a = ("a.rs", "use crate::b::{B, other as o}; pub struct A;");
        assert_eq!(
            circle_files(&[("lib.rs", "mod a; mod b;"), a, ("b.rs", "pub struct B(super::a::A);")]),
            "a.rs+b.rs"
        );
        assert_eq!(circle_files(&[("lib.rs", "mod a; mod b;"), a, ("b.rs", "pub struct B;")]), "");
        let unseen =
            "pub struct B; // crate::a::A\n#[cfg(test)] mod tests { use crate::a::A; use super::*; }";
        assert_eq!(circle_files(&[("lib.rs", "mod a; mod b;"), a, ("b.rs", unseen)]), "");
    }

    #[test]
    fn a_module_is_part_of_those_above_it() {
        let page = ("page.rs", "mod curves; mod lines; struct Page; fn f() { curves::draw() }");
        let curves = ("page/curves.rs", "use super::{Page, lines::line}; pub fn draw() {}");
        assert_eq!(circle_files(&[page, curves, ("page/lines.rs", "pub fn line() {}")]), "");
        let back = ("page/lines.rs", "pub fn line() { super::curves::draw() }");
        assert_eq!(circle_files(&[page, curves, back]), "page/curves.rs+page/lines.rs");
    }

    #[test]
    fn re_exports_lead_to_the_file_that_has_the_item() {
        let root = ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;");
        let a = ("a.rs", "pub struct A;");
        assert_eq!(circle_files(&[root, a, ("b.rs", "use crate::A; pub struct B;")]), "");
        let back = ("a.rs", "pub struct A(crate::B);");
        assert_eq!(circle_files(&[root, back, ("b.rs", "use crate::A; pub struct B;")]), "a.rs+b.rs");
        // Through a module elsewhere that re-exports it.
        let facade = ("b/mod.rs", "pub mod c; pub use c::C; use crate::a::A;");
        let only = ("lib.rs", "mod a; mod b;");
        let through = ("a.rs", "use crate::b::C; pub struct A(C);");
        assert_eq!(circle_files(&[only, facade, through, ("b/c.rs", "pub struct C;")]), "a.rs+b/mod.rs");
        let past = ("a.rs", "use crate::b::c::C; pub struct A(C);");
        assert_eq!(circle_files(&[only, facade, past, ("b/c.rs", "pub struct C;")]), "");
        // Imported by the parent, used by a child of it.
        let parent = ("c.rs", "mod d; use crate::a::A;");
        let only = ("lib.rs", "mod a; mod c;");
        assert_eq!(circle_files(&[only, a, parent, ("c/d.rs", "use super::A;")]), "");
    }

    #[test]
    fn modules_inside_a_file_and_modules_for_tests() {
        let inner = "pub struct A; mod inner { use super::A; fn f() { super::super::b::f() } }";
        let root = ("lib.rs", "mod a; mod b;");
        assert_eq!(
            circle_files(&[root, ("a.rs", inner), ("b.rs", "use crate::a::A; pub fn f() {}")]),
            "a.rs+b.rs"
        );
        let tested = ("a.rs", "pub struct A; #[cfg(test)] mod cases;");
        assert_eq!(
            circle_files(&[
                root,
                tested,
                ("a/cases.rs", "use super::A; use crate::b::f;"),
                ("b.rs", "use crate::a::A; pub fn f() {}")
            ]),
            ""
        );
    }
}
