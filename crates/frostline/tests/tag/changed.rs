//! A saved model that was changed after its cell had ended is used by no command.

use std::fs;
use std::path::{Path, PathBuf};

use frostline_tagger::{Options, Tagger};
use tempfile::TempDir;

use crate::cell::{cell_folder, shared_folder};
use crate::run_frostline;

/// A copy of the cell, to be changed.
fn copy_cell() -> (TempDir, PathBuf) {
    fn copy_into(from: &Path, to: &Path) {
        fs::create_dir(to).unwrap();
        for entry in from.read_dir().unwrap() {
            let entry = entry.unwrap();
            let to = to.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => copy_into(&entry.path(), &to),
                false => drop(fs::copy(entry.path(), to).unwrap()),
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("cell");
    copy_into(&cell_folder(), &place);
    (folder, place)
}

fn edit_file(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn replace_text(path: &Path, from: &str, to: &str) {
    edit_file(path, |bytes| {
        let text = String::from_utf8(std::mem::take(bytes)).unwrap();
        assert!(text.contains(from), "{from}");
        *bytes = text.replace(from, to).into_bytes();
    });
}

/// Why a folder cannot be used.
fn use_error(folder: &Path, what: &str) -> String {
    match Tagger::load(folder) {
        Ok(_) => panic!("{what}: not noticed"),
        Err(error) => error.to_string(),
    }
}

/// A change of a cell's folder, and what it is.
type CellChange = (&'static str, fn(&Path));

#[test]
fn a_model_that_is_not_the_one_its_cell_saved_is_not_used() {
    let _kept = shared_folder();
    // Each makes a model that opens and tags.
    let changes: [CellChange; 6] = [
        ("a bit of the weights", |cell| {
            edit_file(&cell.join("model/model.safetensors"), |bytes| *bytes.last_mut().unwrap() ^= 1);
        }),
        ("two labels", |cell| {
            let path = cell.join("model/config.json");
            replace_text(&path, "\"NOUN\"", "\"#\"");
            replace_text(&path, "\"VERB\"", "\"NOUN\"");
            replace_text(&path, "\"#\"", "\"VERB\"");
        }),
        ("how words are prepared", |cell| {
            replace_text(&cell.join("model/frostline.json"), "\"lowercase\": true", "\"lowercase\": false");
        }),
        ("another tokenizer", |cell| {
            fs::write(cell.join("model/tokenizer_config.json"), "{}").unwrap();
        }),
        ("another head's model", |cell| {
            fs::rename(cell.join("model"), cell.join("other")).unwrap();
            fs::rename(cell.join("model-names"), cell.join("model")).unwrap();
        }),
        ("a file that is read beside the others", |cell| {
            fs::write(cell.join("model/special_tokens_map.json"), "{}").unwrap();
        }),
    ];
    let mut errors = Vec::new();
    for (what, change) in changes {
        let (folder, place) = copy_cell();
        Tagger::load(&place).expect("the copy is whole");
        change(&place);
        let error = use_error(&place, what);
        assert_eq!(self::use_error(&place.join("model"), what), error);
        errors.push(error.replace(&folder.path().display().to_string(), "FOLDER"));
        let commands: [&[&str]; 4] = [
            &["tag", "--run", "cell"],
            &["export", "--run", "cell", "--out", "exported"],
            &["audit", "cell"],
            &["bench", "tag", "--run", "cell", "--treebank", "cell/dev.tsv"],
        ];
        for arguments in commands {
            let output = run_frostline(folder.path(), arguments, b"the frog\n");
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(
                !output.status.success() && said.contains("the cell saved"),
                "{what}, {arguments:?}: {said}"
            );
        }
        assert!(!folder.path().join("exported").exists());
    }
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_model_without_its_record_and_another_task_s_model_stay_usable() {
    let _kept = shared_folder();
    let (_folder, place) = copy_cell();
    edit_file(&place.join("model/model.safetensors"), |bytes| *bytes.last_mut().unwrap() ^= 1);
    let names = Options { task: Some("names".into()), ..Options::default() };
    Tagger::open(&place, &names).expect("its files are as they were");
    fs::remove_file(place.join("record.json")).unwrap();
    Tagger::load(&place).expect("a folder that is no cell's");
}
