//! A treebank: the files of its train, dev and test split.

use crate::places::{Kind, Place};
use crate::{AssetError, Origin, Places, Source, Sources, read};

/// The splits of a treebank; all but the last must be there.
const SPLITS: [&str; 3] = ["train", "dev", "test"];

/// A treebank that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Treebank {
    /// The name it was asked for by.
    pub name: String,
    /// Its folder: an absolute path or `embedded:NAME`.
    pub folder: String,
    /// How it got there.
    pub origin: Origin,
    /// Its files by role: `train`, `dev`, and `test` where there is one.
    pub sources: Sources,
}

impl Places {
    /// Finds a treebank: the name of a folder in [`Places::data`] or in the cache, a path, or
    /// `embedded:en` or `embedded:pcm`. In the folder, a split is the file `*-ud-SPLIT.conllu`,
    /// else `*-SPLIT.conllu` or `SPLIT.conllu`.
    ///
    /// # Errors
    /// Where there is no such folder (the message says what there is and how to get it), where
    /// train or dev are missing, where several files could be one split, where a split has no
    /// sentence, or where a file cannot be read.
    pub fn treebank(&self, name: &str) -> Result<Treebank, AssetError> {
        let place = self.find(Kind::Treebank, name)?;
        let files = place.files()?;
        let mut sources = Sources::new();
        for split in SPLITS {
            if let Some(file) = pick(&place, &files, split)? {
                let source = place.source(file)?;
                refuse_empty(&source, split)?;
                sources.insert(split.into(), source);
            }
        }
        Ok(Treebank { name: name.into(), folder: place.show(), origin: sources["train"].origin, sources })
    }
}

/// The file of a split; `None` where a test split is missing.
fn pick<'f>(
    place: &Place,
    files: &'f [String],
    split: &'static str,
) -> Result<Option<&'f String>, AssetError> {
    let ud = format!("-ud-{split}.conllu");
    let dashed = format!("-{split}.conllu");
    let plain = format!("{split}.conllu");
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
    if split == "test" {
        return Ok(None);
    }
    Err(AssetError::NoSplit { folder: place.show(), split, found: files.to_vec() })
}

/// A split without a single word line has no sentence. Whether its lines are well formed is not
/// asked here.
fn refuse_empty(source: &Source, split: &'static str) -> Result<(), AssetError> {
    let contents = read(&source.path)?;
    let has_words = contents
        .split(|&byte| byte == b'\n')
        .any(|line| !line.starts_with(b"#") && !line.trim_ascii().is_empty());
    if has_words { Ok(()) } else { Err(AssetError::EmptySplit { path: source.path.clone(), split }) }
}
