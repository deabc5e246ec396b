//! What a Rust file names: its items, imports, paths and macros, without those in its tests.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// What a file has outside of its tests.
#[derive(Debug, Default)]
pub(super) struct SourceFile {
    /// The names of the items that it defines.
    pub items: BTreeSet<String>,
    /// What its `use` declarations bring in.
    pub imports: Vec<Import>,
    /// The paths in its code, each with the number of inline modules around it. Those of macros' arguments are
    /// included; a macro's name ends in `!`.
    pub paths: Vec<(Vec<String>, usize)>,
    /// The names of the files that it declares as modules for tests only: `#[cfg(test)] mod NAME;`.
    pub test_modules: BTreeSet<String>,
    inside: usize,
}

/// One name that a `use` declaration brings in; `*` for all names of a module.
#[derive(Debug)]
pub(super) struct Import {
    pub path: Vec<String>,
    pub name: String,
    /// Whether others can reach it here: a re-export.
    pub public: bool,
    /// The number of inline modules around it.
    pub inside: usize,
}

impl SourceFile {
    /// Reads a file; `None` if it is no Rust.
    pub fn parse_file(text: &str) -> Option<Self> {
        let mut source = Self::default();
        source.visit_file(&syn::parse_file(text).ok()?);
        Some(source)
    }

    /// The paths in the tokens of a macro's arguments.
    fn add_macro_paths(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) if colons == 2 || path.is_empty() => path.push(name.to_string()),
                TokenTree::Punct(sign) if sign.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                    continue;
                }
                other => {
                    let called = matches!(&other, TokenTree::Punct(sign) if sign.as_char() == '!');
                    if let Some(last) = path.last_mut().filter(|_| called) {
                        last.push('!');
                    }
                    self.add_path(std::mem::take(&mut path));
                    match other {
                        TokenTree::Group(group) => self.add_macro_paths(group.stream()),
                        TokenTree::Ident(name) => path.push(name.to_string()),
                        TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                    }
                }
            }
            colons = 0;
        }
        self.add_path(path);
    }

    fn add_path(&mut self, path: Vec<String>) {
        if !path.is_empty() {
            self.paths.push((path, self.inside));
        }
    }

    fn add_imports(&mut self, tree: &syn::UseTree, mut path: Vec<String>, public: bool) {
        let inside = self.inside;
        let (last, name) = match tree {
            syn::UseTree::Path(part) => {
                path.push(part.ident.to_string());
                return self.add_imports(&part.tree, path, public);
            }
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.add_imports(item, path.clone(), public));
            }
            syn::UseTree::Glob(_) => ("self".into(), "*".into()),
            syn::UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
            syn::UseTree::Rename(name) => (name.ident.to_string(), name.rename.to_string()),
        };
        let itself = last == "self" && !path.is_empty();
        let name = if itself && name == "self" { path.last().cloned().unwrap_or_default() } else { name };
        path.extend((!itself).then_some(last));
        self.imports.push(Import { path, name, public, inside });
    }
}

impl Visit<'_> for SourceFile {
    fn visit_item(&mut self, item: &syn::Item) {
        use syn::Item::{Const, Enum, Fn, Static, Struct, Trait, Type, Union};
        if let syn::Item::Mod(syn::ItemMod { attrs, ident, content: None, .. }) = item
            && is_test(attrs)
        {
            self.test_modules.insert(ident.to_string());
        }
        if item_attributes(item).is_some_and(is_test) {
            return;
        }
        match item {
            Struct(syn::ItemStruct { ident, .. })
            | Enum(syn::ItemEnum { ident, .. })
            | Fn(syn::ItemFn { sig: syn::Signature { ident, .. }, .. })
            | Type(syn::ItemType { ident, .. })
            | Const(syn::ItemConst { ident, .. })
            | Static(syn::ItemStatic { ident, .. })
            | Trait(syn::ItemTrait { ident, .. })
            | Union(syn::ItemUnion { ident, .. }) => drop(self.items.insert(ident.to_string())),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &syn::ItemMod) {
        self.inside += 1;
        visit::visit_item_mod(self, module);
        self.inside -= 1;
    }

    fn visit_item_use(&mut self, item: &syn::ItemUse) {
        self.add_imports(&item.tree, Vec::new(), !matches!(item.vis, syn::Visibility::Inherited));
    }

    fn visit_path(&mut self, path: &syn::Path) {
        self.add_path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        let mut path: Vec<String> = call.path.segments.iter().map(|part| part.ident.to_string()).collect();
        path.last_mut().expect("a macro has a name").push('!');
        self.add_path(path);
        self.add_macro_paths(call.tokens.clone());
    }

    fn visit_impl_item_fn(&mut self, function: &syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    // `pub(in crate::a)` needs nothing of `a`, and what attributes name is of other crates.
    fn visit_visibility(&mut self, _: &syn::Visibility) {}
    fn visit_attribute(&mut self, _: &syn::Attribute) {}
}

/// The attributes of the kinds of items that tests consist of.
fn item_attributes(item: &syn::Item) -> Option<&[syn::Attribute]> {
    use syn::Item::{Const, Enum, Fn, Impl, Macro, Mod, Static, Struct, Trait, Type, Use};
    Some(match item {
        Const(syn::ItemConst { attrs, .. })
        | Enum(syn::ItemEnum { attrs, .. })
        | Fn(syn::ItemFn { attrs, .. })
        | Impl(syn::ItemImpl { attrs, .. })
        | Macro(syn::ItemMacro { attrs, .. })
        | Mod(syn::ItemMod { attrs, .. })
        | Static(syn::ItemStatic { attrs, .. })
        | Struct(syn::ItemStruct { attrs, .. })
        | Trait(syn::ItemTrait { attrs, .. })
        | Type(syn::ItemType { attrs, .. })
        | Use(syn::ItemUse { attrs, .. }) => attrs,
        _ => return None,
    })
}

/// Whether these attributes make an item part of tests: `#[cfg(test)]`, or `#[cfg(all(test, …))]`.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    conditions.filter_map(|attribute| attribute.meta.require_list().ok()).any(|list| {
        let text = list.tokens.to_string().replace(' ', "");
        text == "test" || text.starts_with("all(test,")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_those_of_tests() {
        let text = "//! crate::a\nuse crate::{b::{self, C as D}, e::*}; pub(crate) use super::f::G; struct H(x::I);\n\
                    fn j() { let s = \"crate::d\"; say!(\"{}\", k::l(m, [n::o::p!(1)])); }\n\
                    mod inner { use super::H; }\n#[cfg(test)] mod cases;\n#[cfg(all(test, unix))] mod tests { use y::Z; }\n\
                    #[cfg(test)] use q::R; impl H { #[cfg(test)] fn t() { u::v() } }";
        let source = SourceFile::parse_file(text).expect("a file");
        let import = |it: &Import| format!("{} {} {} {}", it.path.join("::"), it.name, it.public, it.inside);
        assert_eq!(
            source.imports.iter().map(import).collect::<Vec<_>>(),
            [
                "crate::b b false 0",
                "crate::b::C D false 0",
                "crate::e * false 0",
                "super::f::G G true 0",
                "super::H H false 1"
            ]
        );
        assert_eq!(source.items.iter().collect::<Vec<_>>(), ["H", "j"]);
        assert_eq!(source.test_modules.iter().collect::<Vec<_>>(), ["cases"]);
        let paths: Vec<String> = source.paths.iter().map(|(path, _)| path.join("::")).collect();
        assert_eq!(paths, ["x::I", "say!", "k::l", "m", "n::o::p!", "H"]);
        assert!(SourceFile::parse_file("fn {").is_none());
    }
}
