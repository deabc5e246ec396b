//! The origin and licence of a model's data and encoder, from their paths and the files next to them.

use std::path::Path;

use anyhow::Result;
use frostline_assets::{embedded, hub_id, licence_of, split_revision};
use frostline_record::{Cell, Init, Input, TaskSettings};

use crate::inputs;

/// The licence of embedded data: one of the project's two licences.
const EMBEDDED_LICENCE: &str = "apache-2.0";

/// The hub's names of licences that treebanks and encoders often have.
const HUB_LICENCES: [&str; 22] = [
    "apache-2.0",
    "mit",
    "bsd-3-clause",
    "cc0-1.0",
    "cc-by-2.0",
    "cc-by-2.5",
    "cc-by-3.0",
    "cc-by-4.0",
    "cc-by-sa-3.0",
    "cc-by-sa-4.0",
    "cc-by-nc-2.0",
    "cc-by-nc-3.0",
    "cc-by-nc-4.0",
    "cc-by-nc-sa-2.0",
    "cc-by-nc-sa-3.0",
    "cc-by-nc-sa-4.0",
    "cc-by-nc-nd-4.0",
    "gpl-2.0",
    "gpl-3.0",
    "lgpl-3.0",
    "lgpl-lr",
    "openrail",
];

/// A dataset or an encoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CardSource {
    /// The folder's name, or for an encoder the name in the settings.
    pub name: String,
    /// The ISO 639 code at the beginning of a treebank's file names, or a dataset's short name if it looks like
    /// a code.
    pub language: Option<String>,
    /// The name of a treebank of Universal Dependencies as its files have it: `en_ewt`. Nothing for own data, whose files may be
    /// named in the same way.
    pub treebank: Option<String>,
    /// The licence stated in files next to the source.
    pub licence: Option<String>,
    /// Whether the program carries it: then a program has made it up too.
    pub is_embedded: bool,
    /// Whether an encoder's weights were drawn and not read.
    pub is_random: bool,
}

impl CardSource {
    /// Returns the source of a task's data.
    ///
    /// # Errors
    /// If the cell names neither a train split nor a dev split of the data.
    pub fn of_data(cell: &Cell, task: &TaskSettings) -> Result<Self> {
        let dataset = cell.settings.dataset_of(task);
        let role = |split: &str| cell.settings.role(dataset, split);
        let input =
            cell.inputs.get(&role("train")).map_or_else(|| inputs::input(&cell.inputs, &role("dev")), Ok)?;
        let (folder, file) = split(&input.path);
        let treebank = file.split_once("-ud-").map(|(treebank, _)| treebank.to_string());
        let code = treebank.as_deref().map_or(dataset, |name| name.split('_').next().unwrap_or(name));
        let is_code = (2..=3).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_lowercase());
        let language = is_code.then(|| code.to_string());
        let found = Self::at(input, folder);
        let treebank = treebank.filter(|treebank| found.licence.is_some() && is_released(folder, treebank));
        Ok(Self { language, treebank, ..found })
    }

    /// Returns the source of the encoder.
    ///
    /// # Errors
    /// If the cell names no config.
    pub fn of_encoder(cell: &Cell) -> Result<Self> {
        let input = inputs::input(&cell.inputs, "config")?;
        let is_random = cell.settings.encoder.init == Init::Random;
        Ok(Self { is_random, ..Self::at(input, &cell.settings.encoder.name) })
    }

    fn at(input: &Input, name: &str) -> Self {
        let is_embedded = input.path.starts_with(embedded::PREFIX);
        let stated = || Some(licence_of(Path::new(&input.path).parent()?)?.name);
        Self {
            name: name.into(),
            language: None,
            treebank: None,
            licence: if is_embedded { Some(EMBEDDED_LICENCE.into()) } else { stated() },
            is_embedded,
            is_random: false,
        }
    }

    /// Returns the licence's name on the hub, if the hub has one.
    pub fn hub_licence(&self) -> Option<&'static str> {
        let slug = licence_slug(self.licence.as_deref()?);
        HUB_LICENCES.into_iter().find(|known| *known == slug)
    }

    /// Returns an encoder's name on the hub, as far as it can be one: `bert-base-uncased` or `google/bert`, and
    /// the whole name for a short one of a built-in plan.
    pub fn hub_model(&self) -> Option<String> {
        if self.is_embedded || self.is_random {
            return None;
        }
        let path = split_revision(&self.name).0.replace('\\', "/");
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let is_id = parts.len() == 2 && !path.starts_with(['/', '.', '~']);
        let id = if is_id { parts.join("/") } else { (*parts.last()?).to_string() };
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
        let can_be = id.chars().all(allowed) && id.starts_with(|c: char| c.is_ascii_alphanumeric());
        can_be.then(|| hub_id(&id).into())
    }

    /// Returns the licence in words.
    pub fn licence_text(&self) -> &str {
        self.licence.as_deref().unwrap_or("not stated in the files beside it")
    }
}

/// Returns whether a folder and its files are named as Universal Dependencies names a treebank:
/// `UD_English-EWT` with `en_ewt`.
fn is_released(folder: &str, treebank: &str) -> bool {
    let of_folder = folder.strip_prefix("UD_").and_then(|name| name.rsplit_once('-'));
    let of_files = treebank.split_once('_');
    of_folder.zip(of_files).is_some_and(|((_, name), (_, other))| name.to_lowercase() == other)
}

/// Returns the folder's name and the file's name at the end of a path of any system, or of a name such as
/// `embedded:en/train.conllu`.
fn split(path: &str) -> (&str, &str) {
    let (folder, file) = path.rsplit_once(['/', '\\']).unwrap_or(("", path));
    (folder.rsplit(['/', '\\']).next().unwrap_or(folder), file)
}

/// Returns the name of a licence as the hub spells names: lowercase letters, digits, `-` and `.`.
pub(super) fn licence_slug(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let mut slug = String::new();
    for c in lower.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }) {
        if !(c == '-' && (slug.is_empty() || slug.ends_with('-'))) {
            slug.push(c);
        }
    }
    let slug = slug.trim_end_matches(['-', '.']);
    match slug {
        "apache-license-2.0" | "apache-license-version-2.0" | "apache2.0" => "apache-2.0".into(),
        "mit-license" | "the-mit-license" => "mit".into(),
        "lgpllr" => "lgpl-lr".into(),
        "gnu-gpl-3.0" | "gnu-gpl-v3" => "gpl-3.0".into(),
        "gnu-gpl-2.0" | "gnu-gpl-v2" => "gpl-2.0".into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_licences_are_those_of_the_hub() {
        let cases = [
            ("CC BY-SA 4.0", "cc-by-sa-4.0"),
            ("CC BY-NC-SA 3.0", "cc-by-nc-sa-3.0"),
            ("apache-2.0", "apache-2.0"),
            ("Apache License 2.0", "apache-2.0"),
            ("LGPLLR", "lgpl-lr"),
            ("  Some: \"licence\" (v2) ", "some-licence-v2"),
            ("mit, cc-by-4.0", "mit-cc-by-4.0"),
        ];
        for (name, expected) in cases {
            assert_eq!(licence_slug(name), expected, "{name}");
        }
    }

    #[test]
    fn a_base_model_is_named_only_where_the_hub_could_have_it() {
        let encoder = |name: &str| CardSource {
            name: name.into(),
            language: None,
            treebank: None,
            licence: None,
            is_embedded: name.starts_with(embedded::PREFIX),
            is_random: false,
        };
        let cases = [
            ("distilbert-base-multilingual-cased", Some("distilbert-base-multilingual-cased")),
            ("FacebookAI/xlm-roberta-base", Some("FacebookAI/xlm-roberta-base")),
            ("FacebookAI/xlm-roberta-base@main", Some("FacebookAI/xlm-roberta-base")),
            ("/models/all-MiniLM-L6-v2", Some("sentence-transformers/all-MiniLM-L6-v2")),
            ("multilingual-e5-small", Some("intfloat/multilingual-e5-small")),
            ("../models/minilm/", Some("minilm")),
            ("C:\\models\\minilm", Some("minilm")),
            ("embedded:demo-distilbert", None),
            ("my encoder", None),
            ("..", None),
        ];
        for (name, expected) in cases {
            assert_eq!(encoder(name).hub_model().as_deref(), expected, "{name}");
        }
        assert_eq!(CardSource { is_random: true, ..encoder("minilm") }.hub_model(), None);
    }
}
