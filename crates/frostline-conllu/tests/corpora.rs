//! Real treebanks, found through `FROSTLINE_SHARED`: read, counted, written back byte for byte.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use frostline_conllu::{Checks, parse, parse_iob2, parse_labelled, read_lenient};

fn find_files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(find_files(&path, ending));
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no .{ending} in {}", folder.display());
    found
}

#[test]
fn treebanks_are_read_strictly_and_round_trip_byte_for_byte() {
    let Some(shared) = frostline_testing::shared() else { return };
    for path in find_files(&shared.join("data/ud"), "conllu") {
        let bytes = fs::read(&path).expect("readable");
        let text = std::str::from_utf8(&bytes).expect("UTF-8");
        let mut back = Vec::new();
        for sentence in parse(text) {
            let sentence = sentence.unwrap_or_else(|f| panic!("{}", f.at(&path.display().to_string())));
            assert!(sentence.sent_id().is_some() && sentence.text().is_some());
            back.extend_from_slice(sentence.raw());
        }
        assert!(back == bytes, "{} came back changed", path.display());
        let lenient: usize = read_lenient(&bytes, Checks::default()).map(|s| s.words().count()).sum();
        let words = text.lines().filter(|l| l.split('\t').next().is_some_and(|i| i.parse::<u32>().is_ok()));
        assert_eq!(lenient, words.count());
    }
}

#[test]
fn entity_layers_match_their_treebank() {
    let Some(shared) = frostline_testing::shared() else { return };
    for split in ["dev", "test"] {
        let name = format!("en_ewt-ud-{split}");
        let layer = shared.join(format!("data/ner/UNER_English-EWT/{name}.iob2"));
        let bank = shared.join(format!("data/ud/UD_English-EWT/{name}.conllu"));
        let layer = fs::read_to_string(layer).expect("readable");
        let bank = fs::read_to_string(bank).expect("readable");
        let gold: HashMap<_, _> = parse(&bank)
            .map(|sentence| sentence.expect("well formed"))
            .map(|sentence| (sentence.sent_id().expect("named"), sentence))
            .collect();
        let (mut back, mut count, mut same, mut entities) = (String::new(), 0, 0, 0);
        for read in parse_iob2(&layer) {
            let read = read.unwrap_or_else(|f| panic!("{}", f.at(&name)));
            let gold = &gold[read.sent_id().expect("named")];
            // The layer was made for an earlier release: a few sentences were corrected since.
            let forms = read.rows.iter().map(|row| row.form);
            same += usize::from(forms.eq(gold.words().map(|row| row.form())));
            let begun = read.rows.iter().filter(|row| row.tag.starts_with("B-")).count();
            assert_eq!(read.entities().count(), begun);
            entities += begun;
            count += 1;
            back.push_str(read.raw);
        }
        assert_eq!(count, gold.len());
        eprintln!("{name}: {same} of {count} sentences have the treebank's words");
        assert!(same * 100 >= count * 99);
        assert_eq!(back, layer);
        assert!(entities > 0);
    }
}

#[test]
fn labelled_sentences_round_trip_byte_for_byte() {
    let Some(shared) = frostline_testing::shared() else { return };
    for (split, count) in [("train", 6920), ("dev", 872), ("test", 1821)] {
        let text = fs::read_to_string(shared.join(format!("data/sst2/{split}.tsv"))).expect("readable");
        let mut back = parse_labelled(&text).header().to_owned();
        let mut read = 0;
        for sentence in parse_labelled(&text) {
            let sentence = sentence.unwrap_or_else(|f| panic!("{}", f.at(split)));
            assert!(["0", "1"].contains(&sentence.label));
            back.push_str(sentence.raw);
            read += 1;
        }
        assert_eq!((read, back == text), (count, true), "{split}");
    }
}
