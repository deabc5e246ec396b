//! Models, texts and commands with faults.

use std::fs;
use std::path::Path;

use crate::cell::cell_folder;

/// Commands with their exit codes, in a folder with [`make_faulty_folders`] and [`write_inputs`].
pub const FAULTY_COMMANDS: &[(i32, &str)] = &[
    (3, "tag --run nowhere"),
    (3, "tag --run empty"),
    (3, "tag --run sweep"),
    (3, "tag --run unsaved"),
    (3, "tag --run later"),
    (3, "tag --run damaged"),
    (3, "tag --run words"),
    (3, "tag --run deep"),
    (3, "tag --run wide"),
    #[cfg(unix)]
    (3, "tag --run device"),
    #[cfg(unix)]
    (3, "tag --run CELL --input /dev/zero"),
    (2, "tag --run headless"),
    (2, "tag --run sentences"),
    (2, "tag --run labels"),
    (0, "tag --run labels --output tsv --input ice.txt"),
    (2, "tag --run two"),
    (0, "tag --run two --task upos --output tsv --input ice.txt"),
    (2, "tag --run CELL --task mood"),
    (2, "tag --run CELL --task names"),
    (2, "tag --run CELL --task other"),
    (2, "tag --run labels --task other"),
    (2, "tag --run CELL --max-length 129"),
    (2, "tag --run CELL --max-length 2"),
    (2, "tag --run CELL --column lemma"),
    (2, "tag --run CELL --column misc.POS --output tsv"),
    (2, "tag --run bars --column misc.POS"),
    (2, "tag --run bars --column feats.POS"),
    (0, "tag --run bars --column xpos --input ice.txt"),
    (3, "tag --run tabs --column xpos"),
    (2, "tag --run CELL --sentences lines --words spaces --input order.conllu"),
    (2, "tag --run CELL --words unicode --format conllu"),
    (2, "tag --run CELL --input ice.tsv"),
    (0, "tag --run CELL --input ICE.CONLLU"),
    (3, "tag --run CELL --backend abacus"),
    (3, "tag --run CELL --input nowhere.txt"),
    (3, "tag --run CELL --input empty"),
    (1, "tag --run CELL --input columns.conllu"),
    (1, "tag --run CELL --input order.conllu"),
    (1, "tag --run CELL --input bytes.txt"),
    (0, "tag --run CELL --input spaces.conllu"),
];

/// Copies of the cell's model, each with a fault, and folders without a model.
pub fn make_faulty_folders(here: &Path) {
    for name in ["empty", "sweep/cells", "unsaved"] {
        fs::create_dir_all(here.join(name)).unwrap();
    }
    fs::write(here.join("unsaved/record.json"), "{}").unwrap();
    let copy = |name: &str, change: &dyn Fn(&Path)| copy_model(&here.join(name), change);
    let foreign = |folder: &Path| fs::remove_file(folder.join("frostline.json")).unwrap();
    copy("labels", &|folder| {
        foreign(folder);
        replace("config.json", "\"ADJ\"", "\"JJ\"")(folder);
    });
    copy("sentences", &|folder| {
        foreign(folder);
        replace("config.json", "ForTokenClassification", "ForSequenceClassification")(folder);
    });
    copy("bars", &replace("config.json", "\"ADJ\"", "\"NN|UTR|SIN\""));
    copy("tabs", &replace("config.json", "\"ADJ\"", "\"A\\tJ\""));
    copy("two", &replace("frostline.json", "\"upos\": \"upos\"", "\"upos\": \"upos\", \"x\": \"xpos\""));
    copy("later", &replace("frostline.json", "\"schema\": 1", "\"schema\": 2"));
    copy("damaged", &replace("tokenizer.json", "\"special_tokens\": {", "\"special_tokens\": {}, \"x\": {"));
    copy("words", &change("tokenizer.json", "/post_processor/special_tokens/[SEP]/ids/0", 700));
    copy("deep", &change("config.json", "/n_layers", 10_000_000));
    copy("wide", &change("config.json", "/vocab_size", 1 << 26));
    #[cfg(unix)]
    copy("device", &|folder| {
        fs::remove_file(folder.join("tokenizer.json")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.join("tokenizer.json")).unwrap();
    });
    copy("headless", &|folder| {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../frostline-assets/demo/demo-distilbert");
        fs::copy(demo.join("model.safetensors"), folder.join("model.safetensors")).unwrap();
    });
}

/// Copies the cell's model and changes the copy.
fn copy_model(to: &Path, change: &dyn Fn(&Path)) {
    fs::create_dir_all(to).unwrap();
    for entry in cell_folder().join("model").read_dir().unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    change(to);
}

/// Replaces text of a file in a folder.
fn replace(file: &'static str, from: &'static str, to: &'static str) -> impl Fn(&Path) {
    move |folder: &Path| {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(folder.join(file), text.replace(from, to)).unwrap();
    }
}

/// Changes a number of a JSON file in a folder.
fn change(file: &'static str, pointer: &'static str, number: u64) -> impl Fn(&Path) {
    move |folder: &Path| {
        let path = folder.join(file);
        let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        *json.pointer_mut(pointer).unwrap() = number.into();
        fs::write(path, json.to_string()).unwrap();
    }
}

/// Writes texts and treebanks, some of them faulty.
pub fn write_inputs(here: &Path) {
    let write = |name: &str, text: &[u8]| fs::write(here.join(name), text).unwrap();
    write("columns.conllu", b"1\tice\t_\t_\t_\t_\t_\t_\t_\t_\n\n# sent_id = s2\n1\tice\t_\n\n");
    write("order.conllu", b"1\tice\t_\t_\t_\t_\t_\t_\t_\t_\n3\tice\t_\t_\t_\t_\t_\t_\t_\t_\n\n");
    write("bytes.txt", b"ice\n\xff\n");
    write("ice.txt", b"ice\n");
    for name in ["ice.tsv", "ICE.CONLLU"] {
        write(name, b"1\tice\t_\t_\t_\t_\t_\t_\t_\t_\n\n");
    }
    write("spaces.conllu", b"# a\n1\t ice\t_\t_\t_\t_\t_\t_\t_\t_\n\n\n");
}
