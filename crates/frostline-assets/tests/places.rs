//! Names are found in the expected places, and every error lists what exists and the next step.

use std::fs;
use std::path::Path;

use frostline_assets::{AssetError, Origin, Places, read, read_pinned, sha256};

const SENTENCE: &str = "1\tice\tice\tNOUN\t_\t_\t0\troot\t_\t_\n\n";

fn write_file(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns a data folder with two treebanks, a models folder with one encoder, and a cache with one each.
fn make_places(root: &Path) -> Places {
    for split in ["train", "dev", "test"] {
        write_file(&root.join(format!("data/UD_Toy-A/xx_a-ud-{split}.conllu")), SENTENCE);
        write_file(&root.join(format!("cache/treebanks/UD_Toy-C/{split}.conllu")), SENTENCE);
    }
    for split in ["train", "dev"] {
        write_file(&root.join(format!("data/UD_Toy-B/{split}.conllu")), SENTENCE);
    }
    for folder in ["models/tiny", "cache/encoders/owner/cached"] {
        write_file(&root.join(folder).join("config.json"), "{}");
        write_file(&root.join(folder).join("vocab.txt"), "[PAD]\n");
    }
    Places {
        data: Some(root.join("data")),
        models: Some(root.join("models")),
        cache: Some(root.join("cache")),
        hub: None,
    }
}

/// Returns an error's text without the temporary folder's name.
fn error_text(root: &Path, error: &AssetError) -> String {
    error.to_string().replace(root.to_str().unwrap(), "ROOT")
}

#[test]
fn a_treebank_is_found_by_name_in_the_cache_and_by_path() {
    let root = tempfile::tempdir().unwrap();
    let places = make_places(root.path());
    let given = places.dataset("UD_Toy-A").unwrap();
    assert_eq!(given.origin, Origin::Given);
    let train = &given.sources["train"];
    assert!(Path::new(&train.path).is_absolute() && train.path.ends_with("xx_a-ud-train.conllu"));
    assert_eq!((train.bytes, &*train.sha256), (SENTENCE.len() as u64, &*sha256(SENTENCE.as_bytes())));
    assert_eq!(&*read(&train.path).unwrap(), SENTENCE.as_bytes());

    let plain = places.dataset("UD_Toy-B").unwrap();
    assert_eq!(plain.sources.keys().collect::<Vec<_>>(), ["dev", "train"]);
    assert_eq!(places.dataset("UD_Toy-C").unwrap().origin, Origin::Cache);

    let path = root.path().join("data/UD_Toy-A");
    let by_path = Places::default().dataset(path.to_str().unwrap()).unwrap();
    assert_eq!(by_path.sources, given.sources);
}

#[test]
fn a_missing_treebank_lists_what_exists() {
    let root = tempfile::tempdir().unwrap();
    let error = make_places(root.path()).dataset("UD_Toy-X").unwrap_err();
    insta::assert_snapshot!(error_text(root.path(), &error), @r"
    there is no dataset `UD_Toy-X`
      in ROOT/data (--data): UD_Toy-A, UD_Toy-B
      in ROOT/cache/treebanks (cache): UD_Toy-C
      embedded in the program: embedded:en, embedded:names, embedded:pcm, embedded:reviews
      give the folder that contains it with --data DIR, or get it with `frostline fetch UD_Toy-X`
    ");
    let error = Places::default().dataset("UD_Toy-X").unwrap_err();
    insta::assert_snapshot!(error, @r"
    there is no dataset `UD_Toy-X`
      no --data folder was given
      embedded in the program: embedded:en, embedded:names, embedded:pcm, embedded:reviews
      give the folder that contains it with --data DIR, or get it with `frostline fetch UD_Toy-X`
    ");
    for name in ["", ".", "..", "embedded:xx"] {
        let error = make_places(root.path()).dataset(name).unwrap_err();
        assert!(matches!(error, AssetError::NoDataset { .. }), "{name}: {error}");
    }
}

#[test]
fn empty_missing_and_repeated_splits_are_different_errors() {
    let root = tempfile::tempdir().unwrap();
    let places = make_places(root.path());
    let folder = root.path().join("data/UD_Toy-A");
    for (split, text) in [("train", ""), ("dev", "\n\n"), ("test", "# sent_id = 1\n\n")] {
        let file = folder.join(format!("xx_a-ud-{split}.conllu"));
        write_file(&file, text);
        let error = places.dataset("UD_Toy-A").unwrap_err();
        assert!(
            error_text(root.path(), &error).starts_with(&format!(
                "ROOT/data/UD_Toy-A/xx_a-ud-{split}.conllu: the {split} split has 0 sentences"
            )),
            "{error}"
        );
        write_file(&file, SENTENCE);
    }
    write_file(&folder.join("yy_a-ud-dev.conllu"), SENTENCE);
    insta::assert_snapshot!(error_text(root.path(), &places.dataset("UD_Toy-A").unwrap_err()), @"ROOT/data/UD_Toy-A: several files could be the dev split: xx_a-ud-dev.conllu, yy_a-ud-dev.conllu; keep one, or join them");
    fs::remove_file(folder.join("yy_a-ud-dev.conllu")).unwrap();
    fs::remove_file(folder.join("xx_a-ud-dev.conllu")).unwrap();
    insta::assert_snapshot!(error_text(root.path(), &places.dataset("UD_Toy-A").unwrap_err()), @"ROOT/data/UD_Toy-A: no dev split; expected a file named *-ud-dev.conllu or dev.conllu, found: xx_a-ud-test.conllu, xx_a-ud-train.conllu");
}

#[test]
fn the_names_of_the_splits_determine_the_format() {
    let root = tempfile::tempdir().unwrap();
    let places = make_places(root.path());
    const LAYER: &str = "# sent_id = s1\n1\tice\tO\n\n";
    for split in ["dev", "test"] {
        write_file(&root.path().join(format!("data/layer/xx_a-ud-{split}.iob2")), LAYER);
        write_file(&root.path().join(format!("data/more/xx_a-{split}.iob2")), LAYER);
    }
    for split in ["train", "dev"] {
        write_file(&root.path().join(format!("data/more/xx_a-{split}.iob2")), LAYER);
        write_file(&root.path().join(format!("data/reviews/{split}.tsv")), "sentence\tlabel\n# good\t1\n");
        write_file(&root.path().join(format!("data/dashed/x-{split}.tsv")), "good\t1");
    }
    for other in ["UD_Toy-A/stats.xml", "reviews/adev.tsv", "reviews/dev.tsv.bak", "layer/LICENSE.txt"] {
        write_file(&root.path().join("data").join(other), "x");
    }
    let found: Vec<String> = ["UD_Toy-A", "UD_Toy-B", "layer", "more", "reviews", "dashed"]
        .map(|name| {
            let found = places.dataset(name).unwrap();
            format!("{name}: {} {:?}", found.format, found.sources.keys().collect::<Vec<_>>())
        })
        .into();
    insta::assert_snapshot!(found.join("\n"), @r#"
    UD_Toy-A: conllu ["dev", "test", "train"]
    UD_Toy-B: conllu ["dev", "train"]
    layer: iob2 ["dev", "test"]
    more: iob2 ["dev", "test", "train"]
    reviews: labelled ["dev", "train"]
    dashed: labelled ["dev", "train"]
    "#);

    let error = places.treebank("reviews").unwrap_err();
    insta::assert_snapshot!(error_text(root.path(), &error), @"ROOT/data/reviews: found .tsv files, expected a treebank with .conllu files; give another dataset");
    assert_eq!(places.treebank("UD_Toy-A").unwrap(), places.dataset("UD_Toy-A").unwrap());

    write_file(&root.path().join("data/layer/xx_a-ud-dev.conllu"), SENTENCE);
    let error = places.dataset("layer").unwrap_err();
    insta::assert_snapshot!(error_text(root.path(), &error), @"ROOT/data/layer: found splits of two formats, xx_a-ud-dev.conllu and xx_a-ud-dev.iob2, expected one format; move the other files elsewhere");
}

#[test]
fn a_dataset_needs_what_its_format_requires() {
    let root = tempfile::tempdir().unwrap();
    let places = make_places(root.path());
    let mut all = String::new();
    for (name, file, text) in [
        ("none", "README.md", "x"),
        ("labelled", "train.tsv", "good\t1\n"),
        ("layer", "xx-ud-test.iob2", "1\tice\tO\n\n"),
        ("empty-layer", "dev.iob2", "# sent_id = s1\n\n"),
        ("empty-labelled", "dev.tsv", "sentence\tlabel\n\n"),
    ] {
        write_file(&root.path().join("data").join(name).join(file), text);
        if name == "empty-labelled" {
            write_file(
                &root.path().join("data").join(name).join("train.tsv"),
                "sentence\tlabel\nsentence\tlabel\n",
            );
        }
        all += &error_text(root.path(), &places.dataset(name).unwrap_err());
        all += "\n";
    }
    insta::assert_snapshot!(all, @r"
    ROOT/data/none: no train, dev or test file; expected names such as *-ud-train.conllu, train.iob2 or train.tsv, found: README.md
    ROOT/data/labelled: no dev split; expected a file named *-dev.tsv or dev.tsv, found: train.tsv
    ROOT/data/layer: no dev split; expected a file named *-ud-dev.iob2 or dev.iob2, found: xx-ud-test.iob2
    ROOT/data/empty-layer/dev.iob2: the dev split has 0 sentences, expected at least one; get the dataset again, or remove the file if it is the test split
    ROOT/data/empty-labelled/dev.tsv: the dev split has 0 sentences, expected at least one; get the dataset again, or remove the file if it is the test split
    ");
}

#[test]
fn datasets_may_be_one_folder_deeper() {
    let root = tempfile::tempdir().unwrap();
    let places = make_places(root.path());
    let data = root.path().join("data");
    for split in ["train", "dev"] {
        write_file(&data.join(format!("ud/UD_Toy-D/xx_d-ud-{split}.conllu")), SENTENCE);
        write_file(&data.join(format!("ner/UNER_Toy-D/xx_d-ud-{split}.iob2")), "1\tice\tO\n\n");
    }
    // A name may have slashes or not.
    for (short, long) in [("UD_Toy-D", "ud/UD_Toy-D"), ("UNER_Toy-D", "ner/UNER_Toy-D")] {
        let (found, same) = (places.dataset(short).unwrap(), places.dataset(long).unwrap());
        assert_eq!((&found.sources, &found.folder), (&same.sources, &same.folder));
        assert_eq!((found.name.as_str(), found.origin), (short, Origin::Given));
    }
    let error = places.dataset("UD_Toy-E").unwrap_err();
    assert!(
        error.to_string().contains("(--data): UD_Toy-A, UD_Toy-B, ner/UNER_Toy-D, ud/UD_Toy-D\n"),
        "{error}"
    );

    for split in ["train", "dev"] {
        write_file(&data.join(format!("old/UD_Toy-D/xx_d-ud-{split}.conllu")), SENTENCE);
        write_file(&data.join(format!("old/UD_Toy-C/{split}.conllu")), SENTENCE);
        write_file(&data.join(format!("old/UD_Toy-A/{split}.conllu")), SENTENCE);
    }
    let error = places.dataset("UD_Toy-D").unwrap_err();
    insta::assert_snapshot!(error_text(root.path(), &error), @"there are several datasets `UD_Toy-D` in ROOT/data: old/UD_Toy-D, ud/UD_Toy-D; give the full name, such as `old/UD_Toy-D`, or its folder with --data DIR");
    assert!(places.dataset("old/UD_Toy-D").unwrap().folder.ends_with("old/UD_Toy-D"));
    // Searched before the cache and after the data folder itself, and never outside it.
    assert_eq!(places.dataset("UD_Toy-C").unwrap().origin, Origin::Given);
    assert!(places.dataset("UD_Toy-A").unwrap().folder.ends_with("data/UD_Toy-A"));
    let error = places.dataset("../ud/UD_Toy-D").unwrap_err();
    assert!(matches!(error, AssetError::NoDataset { .. }), "{error}");
}

#[test]
fn an_encoder_is_found_with_or_without_weights() {
    let root = tempfile::tempdir().unwrap();
    let places = make_places(root.path());
    let bare = places.encoder("tiny", false).unwrap();
    assert_eq!(bare.sources.keys().collect::<Vec<_>>(), ["config", "vocabulary"]);
    let error = places.encoder("tiny", true).unwrap_err();
    insta::assert_snapshot!(error_text(root.path(), &error), @"ROOT/models/tiny: the encoder has no weights; expected model.safetensors, pytorch_model.bin, or the index of one of them in shards, found: config.json, vocab.txt; initialise them at random with --encoder-init random, or get them with `frostline fetch tiny`");

    let folder = root.path().join("models/tiny");
    write_file(&folder.join("tokenizer_config.json"), "{}");
    write_file(&folder.join("model.safetensors"), "w");
    let whole = places.encoder("tiny", true).unwrap();
    assert_eq!(
        whole.sources.keys().collect::<Vec<_>>(),
        ["config", "tokenizer-config", "vocabulary", "weights"]
    );
    write_file(&folder.join("tokenizer.json"), "{}");
    let whole = places.encoder("tiny", true).unwrap();
    assert_eq!(
        whole.sources.keys().collect::<Vec<_>>(),
        ["config", "tokenizer", "tokenizer-config", "weights"]
    );

    let cached = places.encoder("owner/cached", false).unwrap();
    assert_eq!(cached.origin, Origin::Cache);
    let error = places.encoder("owner/other", false).unwrap_err();
    insta::assert_snapshot!(error_text(root.path(), &error), @r"
    there is no encoder `owner/other`
      in ROOT/models (--models): tiny
      in ROOT/cache/encoders (cache): owner/cached
      embedded in the program: embedded:demo-distilbert
      give the folder that contains it with --models DIR, or get it with `frostline fetch owner/other`
    ");
    // A folder of either name of an encoder of the built-in plans is that encoder.
    let short = root.path().join("models/all-MiniLM-L6-v2");
    write_file(&short.join("config.json"), "{}");
    write_file(&short.join("vocab.txt"), "a");
    let found = places.encoder("sentence-transformers/all-MiniLM-L6-v2", false).unwrap();
    assert_eq!((found.origin, found.folder.ends_with("all-MiniLM-L6-v2")), (Origin::Given, true));
    fs::remove_file(folder.join("config.json")).unwrap();
    let error = places.encoder("tiny", false).unwrap_err();
    assert!(matches!(error, AssetError::NoFile { role: "config", .. }), "{error}");
}

#[test]
fn sharded_weights_come_with_every_shard() {
    let root = tempfile::tempdir().unwrap();
    let places = make_places(root.path());
    let folder = root.path().join("models/tiny");
    let index = folder.join("model.safetensors.index.json");
    write_file(
        &index,
        r#"{"weight_map":{"a":"m-2.safetensors","b":"m-1.safetensors","c":"m-1.safetensors"}}"#,
    );
    write_file(&folder.join("m-1.safetensors"), "1");
    let error = places.encoder("tiny", true).unwrap_err();
    assert!(error.to_string().contains("it names m-2.safetensors, which does not exist"), "{error}");
    write_file(&folder.join("m-2.safetensors"), "2");
    let files = places.encoder("tiny", true).unwrap().sources;
    assert_eq!(files["weights-1"].sha256, sha256(b"1"));
    assert_eq!(files["weights-2"].sha256, sha256(b"2"));
    assert!(files.contains_key("weights-index"));
    for bad in ["{", "{}", r#"{"weight_map":{"a":"../x"}}"#, r#"{"weight_map":{"a":1}}"#] {
        write_file(&index, bad);
        let error = places.encoder("tiny", true).unwrap_err();
        assert!(matches!(error, AssetError::BadIndex { .. }), "{bad}: {error}");
    }
}

#[test]
fn a_file_that_changed_since_it_was_hashed_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x");
    write_file(&path, "new");
    let path = path.to_str().unwrap();
    assert_eq!(&*read_pinned(path, &sha256(b"new")).unwrap(), b"new");
    let error = read_pinned(path, &sha256(b"old")).unwrap_err();
    assert!(matches!(error, AssetError::Changed { .. }), "{error}");
    let error = read("embedded:en/trian.conllu").unwrap_err().to_string();
    assert!(error.contains("embedded:en/train.conllu"), "{error}");
    assert!(matches!(read("/nowhere/at/all"), Err(AssetError::Io { .. })));
}
