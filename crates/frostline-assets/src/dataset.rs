//! A dataset: the files of its splits, and the format that they are in.
//!
//! Owns the file names by which formats and splits are told. It refuses to parse.

use crate::places::{Kind, Place};
use crate::{AssetError, Origin, Places, Source, Sources, read};

/// The splits of a dataset.
const SPLITS: [&str; 3] = ["train", "dev", "test"];

/// What the files of a dataset hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Sentences with a tag for each word: a treebank.
    Conllu,
    /// Sentences with named entities: a layer over a treebank.
    Iob2,
    /// Sentences with one label each.
    Labelled,
}

/// A dataset that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// The name it was asked for by.
    pub name: String,
    /// Its folder: an absolute path or `embedded:NAME`.
    pub folder: String,
    /// How it got there.
    pub origin: Origin,
    /// What its files hold.
    pub format: Format,
    /// Its files by role: `train`, `dev` and `test`, of which some may be missing; see
    /// [`Format::required`].
    pub sources: Sources,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Conllu, Self::Iob2, Self::Labelled];

    /// Its name in plans and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conllu => "conllu",
            Self::Iob2 => "iob2",
            Self::Labelled => "labelled",
        }
    }

    /// What the names of its files end with, dot included.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Conllu => ".conllu",
            Self::Iob2 => ".iob2",
            Self::Labelled => ".tsv",
        }
    }

    /// The splits without which there is no dataset. A layer may do without train: Universal NER
    /// has some of dev and test alone.
    #[must_use]
    pub const fn required(self) -> &'static [&'static str] {
        match self {
            Self::Conllu | Self::Labelled => &["train", "dev"],
            Self::Iob2 => &["dev"],
        }
    }

    /// The names that the file of a split may have, as a person would write them.
    pub(crate) fn expected(self, split: &str) -> String {
        let extension = self.extension();
        match self {
            Self::Conllu | Self::Iob2 => format!("*-ud-{split}{extension} or {split}{extension}"),
            Self::Labelled => format!("*-{split}{extension} or {split}{extension}"),
        }
    }

    /// Whether one of the files is named as a split of this format, and which one is.
    fn evidence(self, files: &[String]) -> Option<&String> {
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

impl Places {
    /// Finds a dataset: the name of a folder in [`Places::data`] or in one of its direct subfolders,
    /// or in the cache, a path, or an `embedded:` name. In the folder, a split is the file
    /// `*-ud-SPLIT.EXT`, else `*-SPLIT.EXT` or `SPLIT.EXT`, and `EXT` tells the format: `conllu`,
    /// `iob2`, or `tsv` for labelled sentences.
    ///
    /// # Errors
    /// Where there is no such folder (the message says what there is and how to get it) or two
    /// subfolders have one, where a split that the format requires is missing, where the folder
    /// has splits of two formats, where several files could be one split, where a split has no
    /// sentence, or where a file cannot be read.
    pub fn dataset(&self, name: &str) -> Result<Dataset, AssetError> {
        let place = self.find(Kind::Dataset, name)?;
        let files = place.files()?;
        let format = format(&place, &files)?;
        let mut sources = Sources::new();
        for split in SPLITS {
            if let Some(file) = pick(&place, &files, format, split)? {
                let source = place.source(file)?;
                refuse_empty(&source, format, split)?;
                sources.insert(split.into(), source);
            }
        }
        let origin = sources["dev"].origin;
        Ok(Dataset { name: name.into(), folder: place.show(), origin, format, sources })
    }

    /// Finds a dataset in CoNLL-U.
    ///
    /// # Errors
    /// As [`Places::dataset`], and where the dataset is of another format.
    pub fn treebank(&self, name: &str) -> Result<Dataset, AssetError> {
        let found = self.dataset(name)?;
        match found.format {
            Format::Conllu => Ok(found),
            format => Err(AssetError::NoTreebank { folder: found.folder, extension: format.extension() }),
        }
    }
}

/// The one format of which there are splits.
fn format(place: &Place, files: &[String]) -> Result<Format, AssetError> {
    let mut found = Format::ALL.into_iter().filter_map(|format| Some((format, format.evidence(files)?)));
    let Some((format, file)) = found.next() else {
        return Err(AssetError::NoData { folder: place.show(), found: files.to_vec() });
    };
    match found.next() {
        None => Ok(format),
        Some((_, other)) => {
            Err(AssetError::TwoFormats { folder: place.show(), found: [file, other].map(Clone::clone) })
        }
    }
}

/// The file of a split; `None` where one is missing that may be.
fn pick<'f>(
    place: &Place,
    files: &'f [String],
    format: Format,
    split: &'static str,
) -> Result<Option<&'f String>, AssetError> {
    let plain = format!("{split}{}", format.extension());
    let (ud, dashed) = (format!("-ud-{plain}"), format!("-{plain}"));
    let patterns: [&dyn Fn(&str) -> bool; 3] =
        [&|file| file.ends_with(&ud), &|file| file.ends_with(&dashed), &|file| file == plain];
    for fits in patterns {
        let found: Vec<&String> = files.iter().filter(|file| fits(file)).collect();
        match found.as_slice() {
            [] => {}
            [file] => return Ok(Some(file)),
            many => {
                return Err(AssetError::ManySplits {
                    folder: place.show(),
                    split,
                    found: many.iter().map(|file| (*file).clone()).collect(),
                });
            }
        }
    }
    if !format.required().contains(&split) {
        return Ok(None);
    }
    let expected = format.expected(split);
    Err(AssetError::NoSplit { folder: place.show(), split, expected, found: files.to_vec() })
}

/// Refuses a split without a single line of a sentence. Whether its lines are well formed is not
/// asked here.
fn refuse_empty(source: &Source, format: Format, split: &'static str) -> Result<(), AssetError> {
    let contents = read(&source.path)?;
    let mut lines = contents.split(|&byte| byte == b'\n').enumerate();
    let has_sentence = lines.any(|(number, line)| {
        let is_other = match format {
            Format::Conllu | Format::Iob2 => line.starts_with(b"#"),
            Format::Labelled => number == 0 && line == b"sentence\tlabel",
        };
        !is_other && !line.trim_ascii().is_empty()
    });
    if has_sentence { Ok(()) } else { Err(AssetError::EmptySplit { path: source.path.clone(), split }) }
}
