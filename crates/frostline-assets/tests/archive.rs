//! ZIP archives of datasets: unpacked files, their places, and refused archives.

use std::fs;
use std::io::{Cursor, Write as _};
use std::path::Path;

use frostline_assets::{Places, unpack_archive};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const SENTENCE: &str = "1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n\n";

fn zip_of(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Returns an archive whose list gives each file this size.
fn zip_that_claims(files: &[(&str, &str)], bytes: u64) -> Vec<u8> {
    let whole = zip_of(files);
    let start = whole.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let end = whole.windows(4).position(|four| four == b"PK\x05\x06").unwrap();
    let (mut out, mut left) = (whole[..start].to_vec(), &whole[start..end]);
    while !left.is_empty() {
        let name = usize::from(u16::from_le_bytes([left[28], left[29]]));
        let (entry, rest) = left.split_at(46 + name);
        let mut header = entry[..46].to_vec();
        // The size is in a field of ZIP64, which has 64 bits.
        header[24..28].copy_from_slice(&[0xff; 4]);
        header[30..32].copy_from_slice(&12_u16.to_le_bytes());
        out.extend([&header[..], &entry[46..], &[1, 0, 8, 0], &bytes.to_le_bytes()].concat());
        left = rest;
    }
    let list = (out.len() - start) as u32;
    out.extend(&whole[end..]);
    let at = out.len() - whole[end..].len();
    out[at + 12..at + 16].copy_from_slice(&list.to_le_bytes());
    out
}

fn list_folder(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(list_folder(&path)),
            false => found.push(path.to_str().unwrap().to_string()),
        }
    }
    found.sort();
    found
}

#[test]
fn an_archive_is_given_in_place_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("own.zip");
    let files = [
        ("release/UD_Toy-A/xx_a-ud-train.conllu", SENTENCE),
        ("release/UD_Toy-A/xx_a-ud-dev.conllu", SENTENCE),
        ("release/UD_Toy-A/LICENSE.txt", "CC0"),
        ("release/UD_Toy-A/stats.xml", "<x/>"),
        ("UD_Toy-B-r2.16/xx_b-ud-train.conllu", SENTENCE),
        ("UD_Toy-B-r2.16/xx_b-ud-dev.conllu", SENTENCE),
        ("train.tsv", "sentence\tlabel\na\t1\n"),
        ("dev.tsv", "sentence\tlabel\nb\t0\n"),
        ("README.md", "own"),
        ("scripts/README.md", "not a dataset's"),
        ("__MACOSX/UD_Toy-A/._xx_a-ud-dev.conllu", "x"),
    ];
    fs::write(&archive, zip_of(&files)).unwrap();
    let cache = folder.path().join("cache");
    let places = Places { data: Some(archive.clone()), models: None, cache: Some(cache.clone()), hub: None };
    let places = places.unpacked().unwrap();
    for (name, file) in
        [("UD_Toy-A", "xx_a-ud-dev.conllu"), ("UD_Toy-B", "xx_b-ud-dev.conllu"), ("own", "dev.tsv")]
    {
        let found = places.dataset(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(found.sources["dev"].path.ends_with(file), "{found:?}");
    }
    let unpacked = places.data.unwrap();
    let prefix = unpacked.to_str().unwrap().len() + 1;
    let names: Vec<String> = list_folder(&unpacked).iter().map(|path| path[prefix..].to_string()).collect();
    let expected = [
        "UD_Toy-A/LICENSE.txt",
        "UD_Toy-A/xx_a-ud-dev.conllu",
        "UD_Toy-A/xx_a-ud-train.conllu",
        "UD_Toy-B/xx_b-ud-dev.conllu",
        "UD_Toy-B/xx_b-ud-train.conllu",
        "own/README.md",
        "own/dev.tsv",
        "own/train.tsv",
    ];
    assert_eq!(names, expected);
    // Equal contents share a folder; other contents get a separate folder.
    assert_eq!(unpack_archive(&archive, &cache).unwrap(), unpacked);
    fs::write(&archive, zip_of(&files[..2])).unwrap();
    assert_ne!(unpack_archive(&archive, &cache).unwrap(), unpacked);
}

#[test]
fn what_an_archive_claims_to_unpack_to_is_limited_for_all_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("x.zip");
    let splits = [("A/train.conllu", SENTENCE), ("A/dev.conllu", SENTENCE)];
    let notes = [("A/train.conllu", SENTENCE), ("A/README.md", "x"), ("A/LICENSE.txt", "x")];
    // The sums of the first two do not fit into 64 bits.
    for (files, each) in [(&splits[..], 1 << 63), (&splits, u64::MAX), (&splits, 9 << 30), (&notes, 6 << 30)]
    {
        fs::write(&archive, zip_that_claims(files, each)).unwrap();
        let error = unpack_archive(&archive, &folder.path().join("cache")).unwrap_err().to_string();
        assert!(error.contains("at most 17179869184 are unpacked"), "{each}: {error}");
    }
}

#[test]
fn a_note_for_one_place_is_there_once_and_names_can_be_printed() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("x.zip");
    let cache = folder.path().join("cache");
    let files =
        [("A/dev.conllu", SENTENCE), ("x/A/README.md", "1"), ("y/A/README.md", "2"), ("B/README.md", "3")];
    fs::write(&archive, zip_of(&files)).unwrap();
    let error = unpack_archive(&archive, &cache).unwrap_err().to_string();
    assert!(error.contains("x/A/README.md and y/A/README.md would both be A/README.md"), "{error}");
    let files =
        [("A/dev.conllu", SENTENCE), ("A/\u{1b}[2Jdev.conllu", SENTENCE), ("A\nB/dev.conllu", SENTENCE)];
    fs::write(&archive, zip_of(&files)).unwrap();
    let unpacked = unpack_archive(&archive, &cache).unwrap();
    assert_eq!(list_folder(&unpacked), [unpacked.join("A/dev.conllu").to_str().unwrap()]);
}

#[test]
fn archives_that_are_none_are_refused_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside.conllu");
    let whole = zip_of(&[("A/train.conllu", SENTENCE), ("A/dev.conllu", SENTENCE)]);
    let mut wrong_size = whole.clone();
    // The uncompressed size in the central directory, 24 bytes behind its signature.
    let at = wrong_size.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    wrong_size[at + 24] -= 1;
    // The method, 10 bytes behind it: 98 is PPMd, 12 is bzip2, which the tests' build of `zip` has too.
    let of_method = |method: u8| {
        let mut other = whole.clone();
        other[at + 10] = method;
        other
    };
    let mut wrong_byte = whole.clone();
    wrong_byte[45] ^= 0x55;
    let cases: [(&str, Vec<u8>, &str); 10] = [
        ("no archive", b"text".to_vec(), "not a ZIP archive"),
        ("cut off", whole[..whole.len() / 2].to_vec(), "not a ZIP archive"),
        ("empty", zip_of(&[]), "no dataset"),
        ("none", zip_of(&[("a.txt", "x")]), "no dataset"),
        ("a way out", zip_of(&[("../../outside.conllu", SENTENCE)]), "no dataset"),
        (
            "twice",
            zip_of(&[("x/A/dev.conllu", SENTENCE), ("y/A/dev.conllu", SENTENCE)]),
            "both be A/dev.conllu",
        ),
        ("PPMd", of_method(98), "A/train.conllu is compressed with "),
        ("bzip2", of_method(12), "and only deflate is read; unpack"),
        ("no method", of_method(77), "A/train.conllu is compressed with "),
        ("a wrong size", wrong_size, "differs in length"),
    ];
    for (what, bytes, expected) in cases.into_iter().chain([("a wrong byte", wrong_byte, "A/train.conllu: ")])
    {
        let archive = folder.path().join("x.zip");
        fs::write(&archive, bytes).unwrap();
        let cache = folder.path().join("cache");
        let error = unpack_archive(&archive, &cache).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("x.zip"), "{what}: {error}");
        assert!(!outside.exists() && (!cache.exists() || list_folder(&cache).is_empty()), "{what}");
    }
}
