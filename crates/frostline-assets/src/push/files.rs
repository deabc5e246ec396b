//! The files of a model that are pushed.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::error::PushError;
use crate::source::hex;

/// How deep folders are searched: `onnx/model.onnx` is one deep.
const MOST_DEPTH: usize = 2;

/// The first bytes of a file, by which the hub decides whether it is text.
const SAMPLE: u64 = 512;

/// The largest file that is read into memory: what the hub does not take as a large file.
///
/// # Units
/// Bytes.
const MOST_BYTES: u64 = 64 << 20;

/// The ends of names of files that a model consists of. Pickles, which can contain programs, are not among them.
const KINDS: [&str; 9] =
    [".json", ".safetensors", ".md", ".txt", ".model", ".onnx", ".onnx_data", ".jinja", ".cff"];

/// A file to push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushFile {
    /// The path in the repository, with `/` between folders.
    pub name: String,
    /// The size.
    ///
    /// # Units
    /// Bytes.
    pub bytes: u64,
    /// The bytes, or where they are.
    pub content: PushContent,
}

/// The bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushContent {
    /// A file on disk.
    File(PathBuf),
    /// Text that was made for the push.
    Text(String),
}

/// The files of a model's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFiles {
    /// What is pushed, sorted by name.
    pub files: Vec<PushFile>,
    /// What is not, sorted: files of other kinds, such as pickles, and hidden ones.
    pub left_out: Vec<String>,
}

/// Returns the files of a model's folder: its weights as safetensors or an ONNX model, config, tokenizer, model card and licences.
///
/// # Errors
/// If it has no config, weights or tokenizer, or cannot be read.
pub fn model_files(folder: &Path) -> Result<ModelFiles, PushError> {
    let mut found = ModelFiles::default();
    collect(folder, "", 0, &mut found)?;
    found.files.sort_by(|a, b| a.name.cmp(&b.name));
    found.left_out.sort();
    match found.missing_part() {
        Some(missing) => Err(PushError::NoModel { folder: folder.into(), missing }),
        None => Ok(found),
    }
}

impl ModelFiles {
    /// Returns what a model cannot be without and is not there.
    fn missing_part(&self) -> Option<&'static str> {
        let has = |names: &[&str]| self.files.iter().any(|file| names.contains(&file.name.as_str()));
        if !has(&["config.json"]) {
            Some("config.json")
        } else if !self
            .files
            .iter()
            .any(|file| [".safetensors", ".onnx"].iter().any(|end| file.name.ends_with(end)))
        {
            Some("weights as safetensors or an ONNX model")
        } else if !has(&["tokenizer.json", "vocab.txt"]) {
            Some("tokenizer.json or vocab.txt")
        } else {
            None
        }
    }
}

fn collect(folder: &Path, above: &str, depth: usize, found: &mut ModelFiles) -> Result<(), PushError> {
    let fail = frostline_files::FileError::of(folder);
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(fail)?;
    for entry in entries {
        let path = entry.path();
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        let facts = fs::metadata(&path).map_err(frostline_files::FileError::of(&path))?;
        let last = entry.file_name().to_string_lossy().into_owned();
        let is_hidden = last.starts_with('.') || last.contains(char::is_control);
        let is_model = KINDS.iter().any(|kind| last.ends_with(kind)) || last.starts_with("LICEN");
        if facts.is_dir() && !is_hidden && depth < MOST_DEPTH {
            collect(&path, &format!("{name}/"), depth + 1, found)?;
        } else if facts.is_file() && !is_hidden && is_model {
            found.files.push(PushFile { name, bytes: facts.len(), content: PushContent::File(path) });
        } else {
            found.left_out.push(name);
        }
    }
    Ok(())
}

impl PushFile {
    /// Returns a text under a name.
    #[must_use]
    pub fn from_text(name: &str, text: String) -> Self {
        Self { name: name.into(), bytes: text.len() as u64, content: PushContent::Text(text) }
    }

    /// Returns all bytes.
    pub(super) fn read(&self) -> Result<Vec<u8>, PushError> {
        match &self.content {
            PushContent::File(path) => Ok(frostline_files::read(path, MOST_BYTES)?),
            PushContent::Text(text) => Ok(text.clone().into_bytes()),
        }
    }

    /// Returns the first bytes.
    pub(super) fn sample(&self) -> Result<Vec<u8>, PushError> {
        let mut sample = Vec::new();
        let read = self.open()?.take(SAMPLE).read_to_end(&mut sample);
        read.map_err(frostline_files::FileError::of(self.path()))?;
        Ok(sample)
    }

    /// Opens the file at its beginning.
    pub(super) fn open(&self) -> Result<Box<dyn Read + '_>, PushError> {
        Ok(match &self.content {
            PushContent::File(path) => Box::new(frostline_files::open(path)?),
            PushContent::Text(text) => Box::new(text.as_bytes()),
        })
    }

    /// Returns SHA-256 in hexadecimal.
    pub(super) fn sha256(&self) -> Result<String, PushError> {
        let mut hasher = Sha256::new();
        self.read_pieces(|piece| hasher.update(piece))?;
        Ok(hex(&hasher.finalize()))
    }

    /// Returns the id that git has for these bytes.
    pub(super) fn git_blob_id(&self) -> Result<String, PushError> {
        let mut hasher = Sha1::new();
        hasher.update(format!("blob {}\0", self.bytes));
        self.read_pieces(|piece| hasher.update(piece))?;
        Ok(hex(&hasher.finalize()))
    }

    fn read_pieces(&self, mut each: impl FnMut(&[u8])) -> Result<(), PushError> {
        let (mut from, mut buffer) = (self.open()?, vec![0; 1 << 18]);
        loop {
            let n = from.read(&mut buffer).map_err(frostline_files::FileError::of(self.path()))?;
            if n == 0 {
                return Ok(());
            }
            each(&buffer[..n]);
        }
    }

    /// Returns the path for messages.
    pub(super) fn path(&self) -> &Path {
        match &self.content {
            PushContent::File(path) => path,
            PushContent::Text(_) => Path::new(&self.name),
        }
    }
}
