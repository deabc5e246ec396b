//! Layouts of weights, each written by the test: names, types, shapes, elements, ties; and files that are damaged or hostile.

use std::fs;
use std::path::{Path, PathBuf};

use frostline_checkpoint::{Checkpoint, ComparedSide, FreezeRule, StorageLayout, Weights as _, compare};
use frostline_testing::{pickled_number, pickled_tensor, pickled_text, row_major, stored_zip, torch_file};

/// Writes a file into a folder.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// A safetensors file of f32.
fn safetensors(tensors: &[(&str, &[u64], &[f32])]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, shape, values) in tensors {
        let start = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        header.insert(
            name.to_string(),
            serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]}),
        );
    }
    let header = serde_json::to_vec(&header).unwrap();
    [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
}

/// The pickle of a file of `torch.save` with four elements 0 to 3 in the storage `0`, with this object.
fn torch_of(object: &[u8]) -> Vec<u8> {
    let pickle = [b"\x80\x02", object, b"."].concat();
    let data: Vec<u8> = (0..4).flat_map(|value| (value as f32).to_le_bytes()).collect();
    stored_zip(&[("a/data.pkl", &pickle), ("a/data/0", &data)])
}

/// All elements of a tensor.
fn values(checkpoint: &Checkpoint, name: &str) -> Vec<f32> {
    let place = checkpoint.tensors().iter().position(|tensor| tensor.name == name).unwrap();
    let count = checkpoint.tensors()[place].count();
    let mut bytes = vec![0; count as usize * 4];
    // In two pieces, as a comparison reads them.
    let (first, rest) = bytes.split_at_mut(count as usize / 2 * 4);
    checkpoint.read(place, 0..count / 2, first).unwrap();
    checkpoint.read(place, count / 2..count, rest).unwrap();
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

const TENSORS: [(&str, &[u64], &[f32]); 2] =
    [("a.weight", &[2, 2], &[1.0, 2.0, 3.0, 4.0]), ("b.bias", &[3], &[5.0, 6.0, 7.0])];

#[test]
fn the_same_tensors_are_read_from_every_layout() {
    let folder = tempfile::tempdir().unwrap();
    let index = r#"{"weight_map": {"a.weight": "one", "b.bias": "two"}}"#;
    let single = write(folder.path(), "model.safetensors", &safetensors(&TENSORS));
    let torch = write(folder.path(), "model.pt", &torch_file(&TENSORS));
    let shards = folder.path().join("shards");
    fs::create_dir(&shards).unwrap();
    write(&shards, "model-1.safetensors", &safetensors(&TENSORS[..1]));
    write(&shards, "model-2.safetensors", &safetensors(&TENSORS[1..]));
    let text = index.replace("one", "model-1.safetensors").replace("two", "model-2.safetensors");
    write(&shards, "model.safetensors.index.json", text.as_bytes());
    let bins = folder.path().join("bins");
    fs::create_dir(&bins).unwrap();
    write(&bins, "model-1.bin", &torch_file(&TENSORS[..1]));
    write(&bins, "model-2.bin", &torch_file(&TENSORS[1..]));
    let text = index.replace("one", "model-1.bin").replace("two", "model-2.bin");
    write(&bins, "pytorch_model.bin.index.json", text.as_bytes());
    let before = Checkpoint::open(&single).unwrap();
    for (path, layout) in [
        (&single, StorageLayout::Safetensors),
        (&torch, StorageLayout::Torch),
        (&shards, StorageLayout::Safetensors),
        (&bins, StorageLayout::Torch),
    ] {
        let opened = Checkpoint::open(path).unwrap();
        assert_eq!(opened.layout(), layout, "{}", path.display());
        assert_eq!(values(&opened, "a.weight"), TENSORS[0].2);
        assert_eq!(values(&opened, "b.bias"), TENSORS[1].2);
        let rule = FreezeRule::Patterns(vec!["*".into()]);
        let found = compare(ComparedSide::from(&before), ComparedSide::from(&opened), &rule).unwrap();
        assert!(found.holds && found.rows.len() == 2, "{found}");
    }
}

#[test]
fn strides_offsets_and_ties_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let tensor = |offset, shape: &[u64], strides: &[u64]| {
        pickled_tensor("FloatStorage", "0", 4, offset, shape, strides)
    };
    let object = [
        b"}(".to_vec(),
        pickled_text("transposed"),
        tensor(0, &[2, 2], &[1, 2]),
        pickled_text("last"),
        tensor(3, &[1], &[1]),
        pickled_text("expanded"),
        tensor(1, &[3, 2], &[0, 1]),
        pickled_text("one"),
        tensor(0, &[4], &[1]),
        pickled_text("two"),
        tensor(0, &[4], &[1]),
        pickled_text("scalar"),
        tensor(2, &[], &[]),
        b"u".to_vec(),
    ]
    .concat();
    let path = write(folder.path(), "a.pt", &torch_of(&object));
    let opened = Checkpoint::open(&path).unwrap();
    assert_eq!(values(&opened, "transposed"), [0.0, 2.0, 1.0, 3.0]);
    assert_eq!(values(&opened, "last"), [3.0]);
    assert_eq!(values(&opened, "expanded"), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    assert_eq!(values(&opened, "scalar"), [2.0]);
    let found =
        compare(ComparedSide::from(&opened), ComparedSide::from(&opened), &FreezeRule::Nothing).unwrap();
    assert_eq!(found.ties, [["one", "two"]]);
    assert!(found.rows.iter().all(|row| row.change.is_same()), "{found}");
}

/// The commands that call a function without arguments of interest.
fn calling(module: &str, name: &str) -> Vec<u8> {
    [format!("c{module}\n{name}\n(").as_bytes(), &pickled_text("touch /tmp/ran"), b"tR"].concat()
}

#[test]
fn hostile_pickles_are_refused_with_the_name_of_what_they_call() {
    let folder = tempfile::tempdir().unwrap();
    let error = |object: &[u8]| {
        let path = write(folder.path(), "a.pt", &torch_of(object));
        Checkpoint::open(&path).unwrap_err().reason
    };
    for (module, name) in [
        ("posix", "system"),
        ("nt", "system"),
        ("subprocess", "Popen"),
        ("builtins", "eval"),
        ("builtins", "__import__"),
        ("os", "popen"),
        ("runpy", "run_path"),
        ("__builtin__", "exec"),
    ] {
        let found = error(&calling(module, name));
        assert!(
            found.contains(&format!("it calls `{module}.{name}`")) && found.contains("Nothing was run"),
            "{found}"
        );
        // The older commands for objects, and names on the stack.
        let stacked = [&pickled_text(module)[..], &pickled_text(name), b"\x93)R"].concat();
        assert!(error(&stacked).contains(&format!("{module}.{name}")));
        let instance = format!("(i{module}\n{name}\n");
        assert!(error(instance.as_bytes()).contains(&format!("{module}.{name}")));
        let object = format!("(c{module}\n{name}\no");
        assert!(error(object.as_bytes()).contains(&format!("{module}.{name}")));
    }
    // Extensions, and ids of persistent objects other than storages.
    assert!(error(b"\x82\x01").contains("the command 0x82"));
    assert!(error(&[&pickled_text("x")[..], b"Q"].concat()).contains("not the id of a storage"));
    // A class of someone's own is an object without code, and next to weights it does no harm.
    let own = [
        b"}(".to_vec(),
        pickled_text("w"),
        pickled_tensor("FloatStorage", "0", 4, 0, &[4], &[1]),
        pickled_text("x"),
        b"cown.module\nThing\n)R}(".to_vec(),
        pickled_text("k"),
        pickled_number(1),
        b"ubu".to_vec(),
    ]
    .concat();
    let path = write(folder.path(), "own.pt", &torch_of(&own));
    let opened = Checkpoint::open(&path).unwrap();
    assert_eq!(opened.foreign_names().iter().collect::<Vec<_>>(), ["own.module.Thing"]);
    assert_eq!(opened.tensors().len(), 1);
}

#[test]
fn bombs_are_refused_without_much_memory() {
    let folder = tempfile::tempdir().unwrap();
    let error = |object: &[u8]| {
        let path = write(folder.path(), "a.pt", &torch_of(object));
        Checkpoint::open(&path).unwrap_err().reason
    };
    // Each list contains the one before ten times: 10^30 elements for a reader that follows them.
    let mut laughs = b"]q\x00".to_vec();
    for _ in 0..30 {
        laughs.extend(b"](h\x00h\x00h\x00h\x00h\x00h\x00h\x00h\x00h\x00h\x00eq\x00");
    }
    assert!(error(&laughs).contains("has too many parts"));
    // A list in itself.
    assert!(error(b"]q\x00h\x00a").contains("is nested too deeply"));
    // Lists in lists, deeper than any stack.
    let deep = [vec![b']'; 300_000], vec![b'a'; 299_999]].concat();
    assert!(error(&deep).contains("is nested too deeply"));
    // A dictionary of a thousand pairs that is copied by short commands.
    let mut copies = b"ccollections\nOrderedDict\nq\x01}(".to_vec();
    copies.extend((0..1000).flat_map(|key| [pickled_number(key), b"N".to_vec()].concat()));
    copies.extend(b"u\x85q\x020");
    copies.extend(b"h\x01h\x02R0".repeat(20_000));
    copies.extend(b"N");
    assert!(error(&copies).contains("values, which no checkpoint has"));
    // Text that is longer than the file.
    assert!(error(b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f").contains("it ends early"));
    assert!(error(b"").contains("a command finds no value"));
}

#[test]
fn tensors_beyond_their_storage_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let most = i64::MAX as u64;
    for (storage, offset, shape, strides, expected) in [
        (4, 1, vec![4], vec![1], "reach beyond its storage of 16 bytes"),
        (4, 0, vec![2, 2], vec![3, 1], "reach beyond its storage of 16 bytes"),
        (4, most, vec![2], vec![most], "reach beyond its storage"),
        (4, 0, vec![1 << 40, 1 << 40], vec![0, 0], "is too large"),
        (4, 0, vec![0, 1 << 40, 1 << 40], vec![0, 0, 0], "is too large"),
        (4, 0, vec![1 << 40], vec![0], "repeat a storage of 16 bytes"),
        // A storage that claims more elements than its entry has.
        (9, 0, vec![9], vec![1], "reach beyond its storage of 16 bytes"),
        (4, 0, vec![2], vec![], "1 dimensions and 0 strides"),
    ] {
        let object = pickled_tensor("FloatStorage", "0", storage, offset, &shape, &strides);
        let object = [b"}", &pickled_text("w")[..], &object, b"s"].concat();
        let path = write(folder.path(), "a.pt", &torch_of(&object));
        let error = Checkpoint::open(&path).unwrap_err();
        assert!(error.reason.contains(expected), "{shape:?} {strides:?}: {error}");
    }
    let other = [
        b"}",
        &pickled_text("w")[..],
        &pickled_tensor("FloatStorage", "7", 4, 0, &[4], &row_major(&[4])),
        b"s",
    ]
    .concat();
    let path = write(folder.path(), "a.pt", &torch_of(&other));
    assert!(
        Checkpoint::open(&path)
            .unwrap_err()
            .reason
            .contains("in the storage \"7\", which is not in the file")
    );
}

#[test]
fn archives_that_torch_does_not_write_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = torch_file(&TENSORS);
    let error = |bytes: &[u8]| {
        let path = write(folder.path(), "a.pt", bytes);
        Checkpoint::open(&path).unwrap_err().reason
    };
    let central = good.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let changed = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    assert!(error(&changed(central + 10, 8)).contains("archive/data.pkl is compressed"));
    assert!(error(&changed(central + 8, 1)).contains("archive/data.pkl is encrypted"));
    assert!(error(&changed(central + 46, b'b')).contains("has another name in its own header"));
    assert!(error(&changed(central + 45, 0x7f)).contains("begins beyond the archive"));
    assert!(error(&good[..good.len() - 30]).contains("it has no directory"));
    let twice = stored_zip(&[("a/data.pkl", b"N."), ("a/data.pkl", b"N.")]);
    assert!(error(&twice).contains("occurs twice"));
    assert!(
        error(&stored_zip(&[("a/data.pkl", b"N."), ("a/code/x.py", b"")]))
            .contains("a program of TorchScript")
    );
    assert!(error(&stored_zip(&[("a/data.pkl", b"N."), ("a/byteorder", b"big")])).contains("big-endian"));
    assert!(error(&stored_zip(&[("other", b"N.")])).contains("without one `data.pkl`"));
    assert!(error(&stored_zip(&[("a/data.pkl", b"N.")])).contains("it contains no tensors"));
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    assert!(error(&tar).contains("a tar archive as torch wrote before 0.1.10"));
    assert!(error(b"words").contains("neither a ZIP archive nor a pickle"));
}

#[test]
fn folders_without_one_meaning_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = || Checkpoint::open(folder.path()).unwrap_err().reason;
    assert!(error().contains("expected model.safetensors, model.safetensors.index.json, pytorch_model.bin"));
    fs::create_dir(folder.path().join("checkpoint-2")).unwrap();
    assert!(error().contains("give one of its folders: checkpoint-2"));
    write(folder.path(), "a.ckpt", &torch_file(&TENSORS));
    assert_eq!(Checkpoint::open(folder.path()).unwrap().tensors().len(), 2);
    write(folder.path(), "b.ckpt", &torch_file(&TENSORS));
    assert!(error().contains("several files of weights: a.ckpt, b.ckpt"));
    write(folder.path(), "model.safetensors", &safetensors(&TENSORS));
    assert!(Checkpoint::open(folder.path()).is_ok());
    write(folder.path(), "adapter_model.bin", &torch_file(&TENSORS));
    assert!(error().contains("both model.safetensors and adapter_model.bin"));
    let index =
        write(folder.path(), "x.index.json", br#"{"weight_map": {"a.weight": "../model.safetensors"}}"#);
    assert!(Checkpoint::open(&index).unwrap_err().reason.contains("which is not a file in its folder"));
}
