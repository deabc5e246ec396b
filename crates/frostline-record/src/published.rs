//! Records as they are published: without words of treebanks, models, and places on a machine.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Cell, Input, Plan, Record, SavedFiles, StoredFile, Sweep, TrackSettings, sha256};

/// The replacement of a word.
const NO_WORD: &str = "_";

/// The message of a failed cell in a published record; the original may quote data and paths.
const FAILED: &str = "it failed; the sweep's own folder says why";

impl StoredFile {
    /// Returns the SHA-256 of the file next to the record: of the copy without words if there is one.
    #[must_use]
    pub fn here(&self) -> &str {
        self.without_words.as_deref().unwrap_or(&self.sha256)
    }

    /// Returns the text of this file of predictions without words, whose digest is noted here.
    ///
    /// # Errors
    /// If the text is not this file's, or is no file of predictions: the reason.
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
    let head = lines.next().unwrap_or_default();
    let mut out = format!("{head}\n");
    let is_numbered = head.ends_with("\tsentence");
    let (mut sentence, mut before) = (0_u64, ("", 0_u32));
    for (at, line) in lines.enumerate() {
        let fault = || format!("line {} is not one of predictions", at + 2);
        let columns: Vec<&str> = line.split('\t').collect();
        let [id, number, _, rest @ ..] = columns.as_slice() else { return Err(fault()) };
        let place = number.parse().map_err(|_| fault())?;
        match rest.last().filter(|_| is_numbered) {
            Some(number) => sentence = number.parse().map_err(|_| fault())?,
            None if sentence == 0 || before.0 != *id || place <= before.1 => sentence += 1,
            None => {}
        }
        before = (id, place);
        out += &format!("{sentence}\t{number}\t{NO_WORD}\t{}\n", rest.join("\t"));
    }
    Ok(out)
}

/// The paths in a sweep's settings, each with its replacement after publication: its last name, with a number
/// if several are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(Vec<(String, String)>);

impl Places {
    fn collect_names<'a>(named: impl Iterator<Item = &'a str>) -> Self {
        let all: BTreeSet<&str> = named.filter(|place| is_place(place)).collect();
        let mut taken = BTreeSet::new();
        let mut found: Vec<_> = all
            .into_iter()
            .filter_map(|place| {
                let name = last_name(place)?;
                let numbered = (2..).map(|number| format!("{name}-{number}"));
                let short =
                    std::iter::once(name.to_string()).chain(numbered).find(|name| !taken.contains(name))?;
                taken.insert(short.clone());
                Some((place.to_string(), short))
            })
            .collect();
        // One may be the beginning of another.
        found.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
        Self(found)
    }

    /// Returns the value without these paths, and without any other path in its texts.
    fn hidden_in<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        let mut plain = serde_json::to_value(value).expect("plain data always serialises");
        self.hide_places(&mut plain);
        serde_json::from_value(plain).expect("texts are as good as other texts")
    }

    fn hide_places(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                for (place, short) in &self.0 {
                    *text = replace_whole_name(text, place, short);
                }
                *text = without_paths(text);
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.hide_places(value)),
            Value::Object(values) => values.values_mut().for_each(|value| self.hide_places(value)),
            _ => {}
        }
    }
}

/// Returns whether the name of an encoder or a dataset is a path. `OWNER/NAME` is a name, as hubs have them.
fn is_place(name: &str) -> bool {
    let parts = || name.split(['/', '\\']);
    !name.starts_with("embedded:")
        && (begins_as_path(name)
            || name.contains('\\')
            || parts().count() > 2
            || parts().any(|part| part == ".."))
}

/// Returns whether a word begins as paths do: at a root, in the user's folder, here or above, or on a drive.
fn begins_as_path(word: &str) -> bool {
    let drive = |word: &str| {
        let bytes = word.as_bytes();
        bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && b"/\\".contains(&bytes[2])
    };
    let home = |word: &str| word.starts_with('~') && word.contains('/');
    ["/", "./", "../", ".\\", "..\\", "\\\\"].iter().any(|start| word.starts_with(start))
        || home(word)
        || drive(word)
}

/// Returns the last name of a path; nothing if it has none.
fn last_name(path: &str) -> Option<&str> {
    let mut names = path.rsplit(['/', '\\']).filter(|name| !matches!(*name, "" | "." | ".." | "~"));
    names.next().filter(|name| !name.ends_with(':'))
}

/// Returns the text with each word that is a path cut to its last name.
fn without_paths(text: &str) -> String {
    let is_border = |sign: char| sign.is_whitespace() || "\"'`=,;()[]{}<>|".contains(sign);
    let mut out = String::new();
    for piece in text.split_inclusive(is_border) {
        let word = piece.trim_end_matches(is_border);
        // The text after a colon may be a path, as in `file:/data/me/x` or `scores of dev:/data/me/x`.
        let is_address = word.contains("://") && !word.starts_with("file:");
        let colon = word
            .find(':')
            .filter(|&at| !is_address && !begins_as_path(word) && !word.starts_with("embedded:") && at > 0);
        let (before, path) = word.split_at(colon.map_or(0, |at| at + 1));
        let is_path =
            !is_address && (begins_as_path(path) || path.split(['/', '\\']).any(|part| part == ".."));
        out += before;
        out += last_name(path).filter(|_| is_path).unwrap_or(path);
        out += &piece[word.len()..];
    }
    out
}

/// Returns as many of the last names of each path as distinguish it from the others.
#[must_use]
pub fn shortened<'a>(paths: &BTreeSet<&'a str>) -> BTreeMap<&'a str, String> {
    let names = |path: &'a str| path.split(['/', '\\']).filter(|name| !name.is_empty()).collect::<Vec<_>>();
    let all: BTreeSet<Vec<&str>> = paths.iter().map(|path| names(path)).collect();
    let short = |path: &'a str| {
        let own = names(path);
        let end = |most: usize| &own[own.len().saturating_sub(most)..];
        let is_told = |most: &usize| all.iter().filter(|other| other.ends_with(end(*most))).count() == 1;
        end((1..own.len()).find(is_told).unwrap_or(own.len())).join("/")
    };
    paths.iter().map(|path| (*path, short(path))).collect()
}

/// Returns the text with every occurrence of a path replaced, alone or followed by a subpath.
fn replace_whole_name(text: &str, place: &str, short: &str) -> String {
    let is_of_name = |sign: char| sign.is_alphanumeric() || "._-".contains(sign);
    let (mut out, mut from) = (String::new(), 0);
    for (at, found) in text.match_indices(place) {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        if !before.is_some_and(|sign| is_of_name(sign) || sign == '/') && !after.is_some_and(is_of_name) {
            out += &text[from..at];
            out += short;
            from = at + found.len();
        }
    }
    out + &text[from..]
}

impl Sweep {
    /// Returns the paths that the plan and the cells name.
    #[must_use]
    pub fn places(&self) -> Places {
        let Plan { treebanks, reference, settings, grid, policies, langs, .. } = &self.plan;
        let encoders = self.cells.iter().map(|cell| &cell.settings).chain([settings]);
        let own = policies.values().chain(langs.values()).filter_map(|stage| stage.get("encoder.name"));
        let axis = grid.get("encoder.name").into_iter().flatten().chain(own).filter_map(toml::Value::as_str);
        let named = treebanks.values().map(String::as_str).chain([reference.as_str()]).chain(axis);
        Places::collect_names(named.chain(encoders.map(|settings| settings.encoder.name.as_str())))
    }

    /// Returns the sweep without places on this machine, and without the trackers that it was reported to.
    #[must_use]
    pub fn published(mut self) -> Self {
        let places = self.places();
        self.cells.iter_mut().for_each(Cell::forget_places);
        if let Some(rounds) = &mut self.rounds {
            rounds.planned.clear();
        }
        self.plan.track = TrackSettings::default();
        self.overrides.retain(|assigned| !assigned.starts_with("track."));
        places.hidden_in(self)
    }
}

impl Record {
    /// Returns the record without words, saved models, names of nodes, and paths on this machine, which come
    /// from its inputs and the sweep's settings. `text` reads a file next to the record. The files of
    /// predictions that belong next to the new record are returned with their names.
    ///
    /// # Errors
    /// If a file of predictions is missing or differs from the record; the error names it.
    pub fn published(
        mut self,
        places: &Places,
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
        Ok((places.hidden_in(self), files))
    }
}

impl Cell {
    /// Leaves the file's name of every input's path. The id does not depend on paths.
    fn forget_places(&mut self) {
        self.inputs.values_mut().for_each(Input::forget_place);
    }
}

impl Input {
    fn forget_place(&mut self) {
        if !self.path.starts_with("embedded:")
            && let Some(name) = last_name(&self.path)
        {
            self.path = name.into();
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
    fn sentences_with_numbers_keep_them() {
        let text = "sent_id\tid\tform\tgold\tpredicted\ttrain\tsentence\n\
            -\t1\tno\tINTJ\tINTJ\tunknown\t1\n-\t2\tno\tINTJ\tINTJ\tunknown\t4\n";
        let without = without_words(text).expect("predictions");
        assert_eq!(
            without,
            "sent_id\tid\tform\tgold\tpredicted\ttrain\tsentence\n\
             1\t1\t_\tINTJ\tINTJ\tunknown\t1\n4\t2\t_\tINTJ\tINTJ\tunknown\t4\n"
        );
    }

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
    fn places_that_settings_name_are_told_apart() {
        let places = Places::collect_names(
            ["/mnt/a/enc", "/mnt/b/enc", "/data/UD_X", "/data/UD_X/new", "UD_Y", "../UD_Z", "/", "hub/name"]
                .into_iter(),
        );
        let hidden = |text: &str| places.hidden_in(text.to_string());
        assert_eq!(
            hidden("encoder.name=[\"/mnt/a/enc\", \"/mnt/b/enc\"]"),
            "encoder.name=[\"enc\", \"enc-2\"]"
        );
        assert_eq!(hidden("/data/UD_X/new and /data/UD_X"), "new and UD_X");
        assert_eq!(hidden("/data/UD_X/dev.conllu, /data/UD_X2"), "UD_X/dev.conllu, UD_X2");
        assert_eq!(hidden("old/data/UD_X"), "old/data/UD_X");
        assert_eq!(hidden("UD_Y, hub/name and ../UD_Z"), "UD_Y, hub/name and UD_Z");
        let nested = places.hidden_in(vec![Some(("/data/UD_X".to_string(), 1e-4, u64::MAX))]);
        assert_eq!(nested, [Some(("UD_X".to_string(), 1e-4, u64::MAX))]);
    }

    #[test]
    fn an_inputs_path_keeps_its_file() {
        let path = |path: &str| {
            let mut input = Input { path: path.into(), sha256: String::new(), bytes: 0 };
            input.forget_place();
            input.path
        };
        assert_eq!(path("/data/alice/dev.conllu"), "dev.conllu");
        assert_eq!(path("../data/alice/dev.conllu"), "dev.conllu");
        assert_eq!(path(r"C:\data\alice\dev.conllu"), "dev.conllu");
        assert_eq!(path("embedded:demo/en/dev.conllu"), "embedded:demo/en/dev.conllu");
    }

    #[test]
    fn a_path_in_any_text_is_cut_to_its_last_name() {
        let cases = [
            ("../data/alice/enc", "enc"),
            ("encoder.name=../data/alice/enc", "encoder.name=enc"),
            ("trained in ~/data/alice/x, see ./alice/notes.md", "trained in x, see notes.md"),
            ("data/../../alice/x", "x"),
            ("(/data/alice/x)\t'/data/alice/y'", "(x)\t'y'"),
            ("file:///data/alice/x:/data/alice/y", "file:y"),
            ("log:/data/alice/x", "log:x"),
            (r"C:\data\alice\x or \\server\alice\x or C:/alice/x", "x or x or x"),
            ("/data/alice/", "alice"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_paths(text), expected, "{text}");
        }
        for text in [
            "and/or",
            "1/2",
            "hub/name",
            "https://doi.org/10.1/x",
            "embedded:demo/en",
            "a: b",
            "/",
            "..",
            "~",
            "50 %/s",
        ] {
            assert_eq!(without_paths(text), text);
        }
    }

    #[test]
    fn no_text_of_a_published_sweep_has_a_path() {
        let plan = "schema = 4\nname = 'x'\nabout = 'from /data/alice/about'\ncaveats = ['see ../alice/caveat']\n\
                    reference = 'alice/paper/figures.toml'\n\
                    [treebanks]\nen = '../data/alice/UD_X'\npcm = 'work/of/alice/UD_Y'\nde = 'UD_Z'\n\
                    [settings]\nencoder.name = '~/alice/enc'\n\
                    [grid]\nlang = ['en', 'pcm', 'de']\npolicy = ['none']\nseed = [1]\n\
                    'encoder.name' = ['~/alice/enc', 'alice/models/enc', 'hub/name']\n";
        let plan = Plan::parse(plan, "x.toml").expect("a plan");
        let cells = plan.expand().expect("settings").into_iter().map(|settings| {
            let path = |path: &str| Input { path: path.into(), sha256: String::new(), bytes: 0 };
            let inputs =
                [("train".into(), path("alice/train.conllu")), ("dev".into(), path("../alice/dev.conllu"))];
            Cell::new(settings, inputs.into(), "flex", "c0de")
        });
        let cells = cells.collect();
        let overrides = vec!["encoder.name=~/alice/enc".into(), "save.to=\"./alice/x\"".into()];
        let (reference, rates) = (None, None);
        let sweep = Sweep {
            schema: crate::SCHEMA,
            plan,
            overrides,
            cells,
            twins: Vec::new(),
            reference,
            rates,
            block_scores: Vec::new(),
            rounds: None,
            search_continues: false,
        };
        let published = sweep.published();
        let text = serde_json::to_string_pretty(&published).expect("plain data");
        assert!(!text.contains("alice"), "{text}");
        assert!(
            text.contains("\"enc\"") && text.contains("\"enc-2\"") && text.contains("hub/name"),
            "{text}"
        );
        assert_eq!(published.clone().published(), published, "what is published can be published again");
    }
}
