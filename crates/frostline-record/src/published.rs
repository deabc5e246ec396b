//! Records as they are published: without words of treebanks, models, and places on a machine.

use std::path::Path;

use crate::{Cell, Input, Record, SavedFiles, StoredFile, Sweep, sha256};

/// What stands in the place of a word.
const NO_WORD: &str = "_";

/// What a published record says of a cell that failed: the message may quote data and paths.
const FAILED: &str = "it failed; the sweep's own folder says why";

impl StoredFile {
    /// The SHA-256 of the bytes that should be beside the record: of the copy without words where there is one.
    #[must_use]
    pub fn here(&self) -> &str {
        self.without_words.as_deref().unwrap_or(&self.sha256)
    }

    /// The text of this file of predictions without words, whose digest is noted here.
    ///
    /// # Errors
    /// Where the text is not this file's, or is no file of predictions: the reason.
    pub fn remove_words(&mut self, text: &str) -> Result<String, String> {
        if sha256(text.as_bytes()) != *self.here() {
            return Err("its bytes are not those that the record names".into());
        }
        let text = without_words(text)?;
        self.without_words = Some(sha256(text.as_bytes()));
        Ok(text)
    }
}

/// Predictions with sentences that are only numbered and words that are blank.
fn without_words(text: &str) -> Result<String, String> {
    let mut lines = text.lines();
    let mut out = lines.next().unwrap_or_default().to_string() + "\n";
    let (mut sentence, mut before) = (0_u64, ("", 0_u32));
    for (at, line) in lines.enumerate() {
        let fault = || format!("line {} is not one of predictions", at + 2);
        let columns: Vec<&str> = line.split('\t').collect();
        let [id, number, _, rest @ ..] = columns.as_slice() else { return Err(fault()) };
        let place = number.parse().map_err(|_| fault())?;
        if sentence == 0 || before.0 != *id || place <= before.1 {
            sentence += 1;
        }
        before = (id, place);
        out += &format!("{sentence}\t{number}\t{NO_WORD}\t{}\n", rest.join("\t"));
    }
    Ok(out)
}

impl Sweep {
    /// The sweep without places on this machine.
    #[must_use]
    pub fn published(mut self) -> Self {
        self.cells.iter_mut().for_each(Cell::forget_places);
        self
    }
}

impl Record {
    /// The record without words, saved models, names of nodes, and places on this machine. `text` reads a file beside the record;
    /// the files of predictions that belong beside the new record are returned with their names.
    ///
    /// # Errors
    /// Names a file of predictions that is not there, or is not what the record says.
    pub fn published(
        mut self,
        text: impl Fn(&str) -> Result<String, String>,
    ) -> Result<(Self, Vec<(String, String)>), String> {
        self.cell.forget_places();
        self.made_by.forget_node();
        self.error = self.error.map(|_| FAILED.into());
        let mut files = Vec::new();
        if let Some(result) = &mut self.result {
            result.files = SavedFiles::default();
            let tasks = result.stages.iter_mut().flat_map(|stage| stage.tasks.values_mut());
            for stored in tasks.flat_map(|task| task.predictions.values_mut()) {
                let without = text(&stored.file).and_then(|text| stored.remove_words(&text));
                let without = without.map_err(|why| format!("{}: {why}", stored.file))?;
                files.push((stored.file.clone(), without));
            }
        }
        Ok((self, files))
    }
}

impl Cell {
    /// Leaves of every input's path the file and its folder. The id does not depend on paths.
    fn forget_places(&mut self) {
        self.inputs.values_mut().for_each(Input::forget_place);
    }
}

impl Input {
    fn forget_place(&mut self) {
        let path = Path::new(&self.path);
        let folder = path.parent().and_then(Path::file_name);
        if let (true, Some(folder), Some(file)) = (path.is_absolute(), folder, path.file_name()) {
            self.path = format!("{}/{}", folder.to_string_lossy(), file.to_string_lossy());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MadeBy;

    const TAGGED: &str = "sent_id\tid\tform\tgold\tpredicted\ttrain\n\
        a-1\t1\tshe\tPRON\tPRON\tambiguous\n\
        a-1\t3\tsings\tVERB\tNOUN\tunknown\n\
        a-2\t5\tyes\tINTJ\t_\tunknown\n\
        -\t1\tno\tINTJ\tINTJ\tunambiguous\n\
        -\t1\tno\tINTJ\tINTJ\tunambiguous\n";

    #[test]
    fn sentences_keep_their_borders_and_tags_and_lose_their_words() {
        let mut stored = StoredFile::new("dev.tsv", TAGGED.as_bytes());
        let text = stored.remove_words(TAGGED).expect("predictions");
        assert_eq!(
            text,
            "sent_id\tid\tform\tgold\tpredicted\ttrain\n\
             1\t1\t_\tPRON\tPRON\tambiguous\n\
             1\t3\t_\tVERB\tNOUN\tunknown\n\
             2\t5\t_\tINTJ\t_\tunknown\n\
             3\t1\t_\tINTJ\tINTJ\tunambiguous\n\
             4\t1\t_\tINTJ\tINTJ\tunambiguous\n"
        );
        assert_eq!(
            (stored.sha256.clone(), stored.here()),
            (sha256(TAGGED.as_bytes()), &*sha256(text.as_bytes()))
        );
        let again = stored.remove_words(&text).expect("what is published can be published again");
        assert_eq!(again, text);
        assert!(stored.remove_words(TAGGED).is_err(), "words came back");
    }

    #[test]
    fn what_is_not_predictions_is_not_published() {
        for text in ["head\na-1\t1", "head\na-1\tx\tword\tNOUN\tNOUN"] {
            let why = StoredFile::new("dev.tsv", text.as_bytes()).remove_words(text).expect_err(text);
            assert_eq!(why, "line 2 is not one of predictions");
        }
    }

    #[test]
    fn a_nodes_name_has_a_stand_in_that_stays_the_same() {
        let published = |node: &str| {
            let mut maker = MadeBy {
                version: String::new(),
                code: String::new(),
                revision: String::new(),
                backend: "flex".into(),
                device: "a processor".into(),
                isa: "avx512".into(),
                bits: Default::default(),
                threads: 2,
                node: node.into(),
            };
            maker.forget_node();
            maker.node
        };
        let name = published("secret.example.org");
        assert!(name.starts_with("unnamed-") && name.len() == 16 && !name.contains("secret"), "{name}");
        assert_eq!(published("secret.example.org"), name);
        assert_ne!(published("other.example.org"), name);
        assert_eq!(published(&name), name, "what is published can be published again");
        assert_eq!(published(""), "", "there is nothing to hide");
    }

    #[test]
    fn a_path_keeps_its_file_and_folder() {
        let path = |path: &str| {
            let mut input = Input { path: path.into(), sha256: String::new(), bytes: 0 };
            input.forget_place();
            input.path
        };
        assert_eq!(path("/ud/UD_Naija-NSC/dev.conllu"), "UD_Naija-NSC/dev.conllu");
        assert_eq!(path("embedded:demo/en/dev.conllu"), "embedded:demo/en/dev.conllu");
    }
}
