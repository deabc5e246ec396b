//! Shared by the tests: the location of the reference data, a reader of forms and tags, a tiny vocabulary.
#![allow(dead_code)] // every test binary uses its own part

use std::path::PathBuf;

/// Returns the study's tokenizer folder.
pub fn multilingual(shared: &std::path::Path) -> PathBuf {
    shared.join("models/distilbert-base-multilingual-cased")
}

/// Returns the treebank files with reference digests: name of the split, path.
pub fn splits(shared: &std::path::Path) -> Vec<(String, PathBuf)> {
    let banks = [("en_ewt-ud", "UD_English-EWT"), ("pcm_nsc-ud", "UD_Naija-NSC")];
    let mut all = Vec::new();
    for (stem, folder) in banks {
        for split in ["train", "dev", "test"] {
            let name = format!("{stem}-{split}");
            let path = shared.join(format!("data/ud/{folder}/{name}.conllu"));
            all.push((name, path));
        }
    }
    all
}

/// A sentence's words, which are the rows with integer ids.
#[derive(Default)]
pub struct TaggedSentence {
    pub sent_id: Option<String>,
    pub forms: Vec<String>,
    pub upos: Vec<String>,
}

impl TaggedSentence {
    pub fn words(&self) -> Vec<&str> {
        self.forms.iter().map(String::as_str).collect()
    }
}

pub fn read_conllu(path: &std::path::Path) -> Vec<TaggedSentence> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let blocks = text.split("\n\n").filter(|block| !block.is_empty());
    let sentence = |block: &str| {
        let mut sentence = TaggedSentence::default();
        for line in block.split('\n') {
            if let Some(id) = line.strip_prefix("# sent_id = ") {
                sentence.sent_id = Some(id.to_owned());
            }
            let fields: Vec<_> = line.split('\t').collect();
            if fields.len() == 10 && fields[0].bytes().all(|b| b.is_ascii_digit()) {
                sentence.forms.push(fields[1].to_owned());
                sentence.upos.push(fields[3].to_owned());
            }
        }
        sentence
    };
    blocks.map(sentence).collect()
}

/// Returns a committed file of `tests/data`.
pub fn data(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
