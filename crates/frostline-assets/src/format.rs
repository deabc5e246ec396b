//! The formats of datasets, recognised by the names of their files.

/// The splits of a dataset.
pub(crate) const SPLITS: [&str; 3] = ["train", "dev", "test"];

/// The format of a dataset's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Sentences with a tag for each word: a treebank.
    Conllu,
    /// Sentences with named entities: a layer over a treebank.
    Iob2,
    /// Sentences with one label each.
    Labelled,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Conllu, Self::Iob2, Self::Labelled];

    /// Returns the format's name in plans and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conllu => "conllu",
            Self::Iob2 => "iob2",
            Self::Labelled => "labelled",
        }
    }

    /// Returns the end of its file names, including the dot.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Conllu => ".conllu",
            Self::Iob2 => ".iob2",
            Self::Labelled => ".tsv",
        }
    }

    /// Returns the splits that a dataset must have. For a layer, train is optional: some layers of Universal
    /// NER have only dev and test.
    #[must_use]
    pub const fn required_splits(self) -> &'static [&'static str] {
        match self {
            Self::Conllu | Self::Labelled => &["train", "dev"],
            Self::Iob2 => &["dev"],
        }
    }

    /// Returns the names that the file of a split may have, for messages.
    pub(crate) fn expected_names(self, split: &str) -> String {
        let extension = self.extension();
        match self {
            Self::Conllu | Self::Iob2 => format!("*-ud-{split}{extension} or {split}{extension}"),
            Self::Labelled => format!("*-{split}{extension} or {split}{extension}"),
        }
    }

    /// Returns the first file that is named like a split of this format, if there is one.
    pub(crate) fn first_matching_file(self, files: &[String]) -> Option<&String> {
        files.iter().find(|file| {
            SPLITS.iter().any(|split| {
                file.strip_suffix(self.extension())
                    .and_then(|stem| stem.strip_suffix(split))
                    .is_some_and(|before| before.is_empty() || before.ends_with('-'))
            })
        })
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
