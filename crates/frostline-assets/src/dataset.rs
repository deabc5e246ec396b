//! A dataset: the files of its splits and their format. Files are found by name and not parsed.

use crate::format::{Format, SPLITS};
use crate::places::{AssetKind, FoundFolder};
use crate::{AssetError, Origin, Places, Source, Sources, read};

/// The files of a dataset that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetFiles {
    /// The name under which it was requested.
    pub name: String,
    /// The folder: an absolute path or `embedded:NAME`.
    pub folder: String,
    /// Where the files come from.
    pub origin: Origin,
    /// The format of its files.
    pub format: Format,
    /// The files by role: `train`, `dev` and `test`, some of which may be missing; see [`Format::required_splits`].
    pub sources: Sources,
}

impl Places {
    /// Finds a dataset. `name` is the name of a folder in [`Places::data`], in one of its direct
    /// subfolders or in the cache, a path, or an `embedded:` name. In the folder, a split is the file
    /// `*-ud-SPLIT.EXT`, otherwise `*-SPLIT.EXT` or `SPLIT.EXT`, and `EXT` determines the format:
    /// `conllu`, `iob2`, or `tsv` for labelled sentences.
    ///
    /// # Errors
    /// If there is no such folder (the message lists what exists and how to get the dataset) or two
    /// subfolders have one, if a split that the format requires is missing, if the folder has splits
    /// of two formats, if several files could be one split, if a split has no sentence, or if a file
    /// cannot be read.
    pub fn dataset(&self, name: &str) -> Result<DatasetFiles, AssetError> {
        self.dataset_cut(name, false)
    }

    /// Finds a dataset whose dev split is cut from train if `cut_dev`: then the file of train must exist, and that
    /// of dev need not.
    ///
    /// # Errors
    /// See [`Places::dataset`].
    pub fn dataset_cut(&self, name: &str, cut_dev: bool) -> Result<DatasetFiles, AssetError> {
        let place = self.find_place(AssetKind::Dataset, name)?;
        let files = place.file_names()?;
        let format = split_format(&place, &files)?;
        let mut sources = Sources::new();
        for split in SPLITS {
            let required = if cut_dev { split == "train" } else { format.required_splits().contains(&split) };
            if let Some(file) = pick_file(&place, &files, format, split, required)? {
                let source = place.source(file)?;
                check_not_empty(&source, format, split)?;
                sources.insert(split.into(), source);
            }
        }
        let origin = sources[if cut_dev { "train" } else { "dev" }].origin;
        Ok(DatasetFiles { name: name.into(), folder: place.show(), origin, format, sources })
    }

    /// Finds a dataset in CoNLL-U.
    ///
    /// # Errors
    /// See [`Places::dataset`], and if the dataset has another format.
    pub fn treebank(&self, name: &str) -> Result<DatasetFiles, AssetError> {
        let found = self.dataset(name)?;
        match found.format {
            Format::Conllu => Ok(found),
            format => Err(AssetError::NoTreebank { folder: found.folder, extension: format.extension() }),
        }
    }
}

/// Returns the format of the splits, which must be unique.
fn split_format(place: &FoundFolder, files: &[String]) -> Result<Format, AssetError> {
    let mut found =
        Format::ALL.into_iter().filter_map(|format| Some((format, format.first_matching_file(files)?)));
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

/// Returns the file of a split; `None` if an optional split is missing.
fn pick_file<'f>(
    place: &FoundFolder,
    files: &'f [String],
    format: Format,
    split: &'static str,
    required: bool,
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
    if !required {
        return Ok(None);
    }
    let expected = format.expected_names(split);
    Err(AssetError::NoSplit { folder: place.show(), split, expected, found: files.to_vec() })
}

/// Checks that a split has at least one line of a sentence. Its lines may be malformed.
///
/// # Errors
/// If there is none, or the file cannot be read.
fn check_not_empty(source: &Source, format: Format, split: &'static str) -> Result<(), AssetError> {
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
