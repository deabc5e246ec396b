//! Names are found where they should be, and every way to miss says what is there and what to do.

use std::fs;
use std::path::Path;

use frostline_assets::{AssetError, Origin, Places, read, read_pinned, sha256};

const SENTENCE: &str = "1\tice\tice\tNOUN\t_\t_\t0\troot\t_\t_\n\n";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A data folder with two treebanks, a models folder with one encoder, and a cache with one each.
fn places(root: &Path) -> Places {
    for split in ["train", "dev", "test"] {
        write(&root.join(format!("data/UD_Toy-A/xx_a-ud-{split}.conllu")), SENTENCE);
        write(&root.join(format!("cache/treebanks/UD_Toy-C/{split}.conllu")), SENTENCE);
    }
    for split in ["train", "dev"] {
        write(&root.join(format!("data/UD_Toy-B/{split}.conllu")), SENTENCE);
    }
    for folder in ["models/tiny", "cache/encoders/owner/cached"] {
        write(&root.join(folder).join("config.json"), "{}");
        write(&root.join(folder).join("vocab.txt"), "[PAD]\n");
    }
    Places {
        data: Some(root.join("data")),
        models: Some(root.join("models")),
        cache: Some(root.join("cache")),
    }
}

/// An error's text with the temporary folder's name taken out.
fn shown(root: &Path, error: &AssetError) -> String {
    error.to_string().replace(root.to_str().unwrap(), "ROOT")
}

#[test]
fn a_treebank_is_found_by_name_in_the_cache_and_by_path() {
    let root = tempfile::tempdir().unwrap();
    let places = places(root.path());
    let given = places.treebank("UD_Toy-A").unwrap();
    assert_eq!(given.origin, Origin::Given);
    let train = &given.sources["train"];
    assert!(Path::new(&train.path).is_absolute() && train.path.ends_with("xx_a-ud-train.conllu"));
    assert_eq!((train.bytes, &*train.sha256), (SENTENCE.len() as u64, &*sha256(SENTENCE.as_bytes())));
    assert_eq!(&*read(&train.path).unwrap(), SENTENCE.as_bytes());

    let plain = places.treebank("UD_Toy-B").unwrap();
    assert_eq!(plain.sources.keys().collect::<Vec<_>>(), ["dev", "train"]);
    assert_eq!(places.treebank("UD_Toy-C").unwrap().origin, Origin::Cache);

    let path = root.path().join("data/UD_Toy-A");
    let by_path = Places::default().treebank(path.to_str().unwrap()).unwrap();
    assert_eq!(by_path.sources, given.sources);
}

#[test]
fn a_missing_treebank_lists_what_there_is() {
    let root = tempfile::tempdir().unwrap();
    let error = places(root.path()).treebank("UD_Toy-X").unwrap_err();
    insta::assert_snapshot!(shown(root.path(), &error), @r"
    there is no treebank `UD_Toy-X`
      in ROOT/data (--data): UD_Toy-A, UD_Toy-B
      in ROOT/cache/treebanks (cache): UD_Toy-C
      in the binary: embedded:en, embedded:pcm
      give the folder it lies in with --data DIR, or get it with `cargo xtask fetch UD_Toy-X`
    ");
    let error = Places::default().treebank("UD_Toy-X").unwrap_err();
    insta::assert_snapshot!(error, @r"
    there is no treebank `UD_Toy-X`
      no --data folder was given
      in the binary: embedded:en, embedded:pcm
      give the folder it lies in with --data DIR, or get it with `cargo xtask fetch UD_Toy-X`
    ");
    for name in ["", ".", "..", "embedded:xx"] {
        let error = places(root.path()).treebank(name).unwrap_err();
        assert!(matches!(error, AssetError::NoTreebank { .. }), "{name}: {error}");
    }
}

#[test]
fn empty_missing_and_doubled_splits_are_told_apart() {
    let root = tempfile::tempdir().unwrap();
    let places = places(root.path());
    let folder = root.path().join("data/UD_Toy-A");
    for (split, text) in [("train", ""), ("dev", "\n\n"), ("test", "# sent_id = 1\n\n")] {
        let file = folder.join(format!("xx_a-ud-{split}.conllu"));
        write(&file, text);
        let error = places.treebank("UD_Toy-A").unwrap_err();
        assert!(
            shown(root.path(), &error).starts_with(&format!(
                "ROOT/data/UD_Toy-A/xx_a-ud-{split}.conllu: the {split} split is empty: it has 0 sentences"
            )),
            "{error}"
        );
        write(&file, SENTENCE);
    }
    write(&folder.join("yy_a-ud-dev.conllu"), SENTENCE);
    insta::assert_snapshot!(shown(root.path(), &places.treebank("UD_Toy-A").unwrap_err()), @"ROOT/data/UD_Toy-A: several files could be the dev split: xx_a-ud-dev.conllu, yy_a-ud-dev.conllu; keep one, or join them");
    fs::remove_file(folder.join("yy_a-ud-dev.conllu")).unwrap();
    fs::remove_file(folder.join("xx_a-ud-dev.conllu")).unwrap();
    insta::assert_snapshot!(shown(root.path(), &places.treebank("UD_Toy-A").unwrap_err()), @"ROOT/data/UD_Toy-A: no dev split; expected a file named *-ud-dev.conllu or dev.conllu, there is: xx_a-ud-test.conllu, xx_a-ud-train.conllu");
}

#[test]
fn an_encoder_is_found_with_or_without_weights() {
    let root = tempfile::tempdir().unwrap();
    let places = places(root.path());
    let bare = places.encoder("tiny", false).unwrap();
    assert_eq!(bare.sources.keys().collect::<Vec<_>>(), ["config", "vocabulary"]);
    let error = places.encoder("tiny", true).unwrap_err();
    insta::assert_snapshot!(shown(root.path(), &error), @"ROOT/models/tiny: the encoder has no weights; expected model.safetensors or model.safetensors.index.json, there is: config.json, vocab.txt; draw them at random from the config with --encoder-init random, or get them with `cargo xtask fetch tiny`");

    let folder = root.path().join("models/tiny");
    write(&folder.join("tokenizer_config.json"), "{}");
    write(&folder.join("model.safetensors"), "w");
    let whole = places.encoder("tiny", true).unwrap();
    assert_eq!(
        whole.sources.keys().collect::<Vec<_>>(),
        ["config", "tokenizer-config", "vocabulary", "weights"]
    );
    write(&folder.join("tokenizer.json"), "{}");
    let whole = places.encoder("tiny", true).unwrap();
    assert_eq!(whole.sources.keys().collect::<Vec<_>>(), ["config", "tokenizer", "weights"]);

    let cached = places.encoder("owner/cached", false).unwrap();
    assert_eq!(cached.origin, Origin::Cache);
    let error = places.encoder("owner/other", false).unwrap_err();
    insta::assert_snapshot!(shown(root.path(), &error), @r"
    there is no encoder `owner/other`
      in ROOT/models (--models): tiny
      in ROOT/cache/encoders (cache): owner/cached
      in the binary: embedded:demo-distilbert
      give the folder it lies in with --models DIR, or get it with `cargo xtask fetch owner/other`
    ");
    fs::remove_file(folder.join("config.json")).unwrap();
    let error = places.encoder("tiny", false).unwrap_err();
    assert!(matches!(error, AssetError::NoFile { role: "config", .. }), "{error}");
}

#[test]
fn sharded_weights_come_with_every_shard() {
    let root = tempfile::tempdir().unwrap();
    let places = places(root.path());
    let folder = root.path().join("models/tiny");
    let index = folder.join("model.safetensors.index.json");
    write(&index, r#"{"weight_map":{"a":"m-2.safetensors","b":"m-1.safetensors","c":"m-1.safetensors"}}"#);
    write(&folder.join("m-1.safetensors"), "1");
    let error = places.encoder("tiny", true).unwrap_err();
    assert!(error.to_string().contains("it names m-2.safetensors, which is not there"), "{error}");
    write(&folder.join("m-2.safetensors"), "2");
    let files = places.encoder("tiny", true).unwrap().sources;
    assert_eq!(files["weights-1"].sha256, sha256(b"1"));
    assert_eq!(files["weights-2"].sha256, sha256(b"2"));
    assert!(files.contains_key("weights-index"));
    for bad in ["{", "{}", r#"{"weight_map":{"a":"../x"}}"#, r#"{"weight_map":{"a":1}}"#] {
        write(&index, bad);
        let error = places.encoder("tiny", true).unwrap_err();
        assert!(matches!(error, AssetError::BadIndex { .. }), "{bad}: {error}");
    }
}

#[test]
fn a_changed_file_is_not_taken_for_the_one_that_was_hashed() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x");
    write(&path, "new");
    let path = path.to_str().unwrap();
    assert_eq!(&*read_pinned(path, &sha256(b"new")).unwrap(), b"new");
    let error = read_pinned(path, &sha256(b"old")).unwrap_err();
    assert!(matches!(error, AssetError::Changed { .. }), "{error}");
    let error = read("embedded:en/trian.conllu").unwrap_err().to_string();
    assert!(error.contains("embedded:en/train.conllu"), "{error}");
    assert!(matches!(read("/nowhere/at/all"), Err(AssetError::Io { .. })));
}
