//! Writes the page of a made-up sweep, to look at, to measure and to test in a browser:
//! `cargo run -p frostline-report --example page -- FOLDER CELLS [SENTENCES]`. Two languages; names, words and errors are as
//! hostile as files may make them; one cell has failed and one is missing.

#[path = "../tests/report/common.rs"]
#[allow(dead_code)]
mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use common::{Lang, failed, record};
use frostline_record::{
    Cell, Load, PairedTimes, Record, SCHEMA, Score, StoredFile, Sweep, TimedPolicy, sha256,
};
use frostline_report::Report;

/// Words and tags of the made-up treebank. The last words are what nobody should put into a page.
const WORDS: [(&str, &str); 16] = [
    ("the", "DET"),
    ("ice", "NOUN"),
    ("melts", "VERB"),
    ("slowly", "ADV"),
    ("cold", "ADJ"),
    ("Anna", "PROPN"),
    ("walks", "VERB"),
    ("under", "ADP"),
    ("bridges", "NOUN"),
    (".", "PUNCT"),
    ("می\u{200c}خواهم", "VERB"),
    ("</script><script>document.title='broken'</script>", "X"),
    ("\"onmouseover='document.title=1'", "SYM"),
    ("<img src=x onerror=document.title=2>", "X"),
    ("\u{202e}reversed\u{2066}", "X"),
    ("<!--", "SYM"),
];

const ERROR: &str =
    "the worker ended with signal 9\n</script><img src=x onerror=\"document.title=3\">\u{1b}[31m";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("usage: page FOLDER CELLS [SENTENCES]")?);
    let cells: u64 = arguments.next().ok_or("usage: page FOLDER CELLS [SENTENCES]")?.parse()?;
    let sentences: usize = arguments.next().map_or(Ok(400), |count| count.parse())?;
    let (policies, seeds) = if cells <= 60 { (5, cells.div_ceil(10)) } else { (50, cells.div_ceil(100)) };
    let langs = langs(policies);
    let mut sweep = common::sweep("made-up", &langs, seeds, true, "");
    sweep.plan.about =
        "Made-up numbers, </title><script>document.title=4</script> and **bold** claims.".into();
    let mut files = BTreeMap::new();
    let mut records: Vec<Record> =
        sweep.cells.iter().map(|cell| with_words(cell, &langs, sentences, &mut files)).collect();
    if let Some(last) = sweep.cells.last() {
        records.pop();
        if let Some(before) = records.pop() {
            records.push(failed(&before.cell, ERROR));
        }
        println!("{} cells, {} without a record: {}", sweep.cells.len(), 1, last.title());
    }
    write(&folder, &sweep, &records, &files)
}

/// Two languages whose policies reach a little less the more they freeze.
fn langs(policies: usize) -> Vec<Lang> {
    let names: Vec<&'static str> = match policies {
        5 => vec!["none", "all", "first-2", "first-4", "alternating"],
        _ => (0..policies)
            .map(|at| if at == 0 { "none".into() } else { format!("blocks-{}", at % 12) + &below(at) })
            .map(leak)
            .collect(),
    };
    let reach = |less: f64| {
        let each = names.iter().enumerate().map(|(at, name)| {
            let share = at as f64 / policies as f64;
            (
                *name,
                (
                    0.968 - less - 0.06 * share * share,
                    22_000_000 - (19e6 * share) as u64,
                    300.0 - 180.0 * share,
                ),
            )
        });
        each.collect()
    };
    vec![
        Lang { name: "en", dev_words: 4_000, sentences: 1_200, reach: reach(0.0) },
        Lang { name: "pcm", dev_words: 4_000, sentences: 1_200, reach: reach(0.012) },
    ]
}

/// Further blocks, so that all names differ.
fn below(at: usize) -> String {
    (0..at / 12).map(|more| format!(".{}", 12 + more)).collect()
}

fn leak(name: String) -> &'static str {
    Box::leak(name.into_boxed_str())
}

/// A record with a file of predictions that agrees with it.
fn with_words(cell: &Cell, langs: &[Lang], sentences: usize, files: &mut BTreeMap<String, String>) -> Record {
    let mut record = record(cell, langs);
    let Some(result) = &mut record.result else { return record };
    let wanted = result.scores()["dev"].accuracy();
    let (text, words, correct) = predictions(cell, sentences, wanted);
    let stage = result.stages.last_mut().expect("a stage");
    let task = stage.tasks.get_mut("upos").expect("the task");
    task.predictions = [("dev".to_string(), StoredFile::new("dev.tsv", text.as_bytes()))].into();
    let score = Score { words, correct, sentences: sentences as u64, ..task.scores["dev"].clone() };
    task.scores.insert("dev".into(), score);
    files.insert(sha256(text.as_bytes()), text);
    record
}

/// A file of predictions, and its counts of words and right ones.
fn predictions(cell: &Cell, sentences: usize, wanted: f64) -> (String, u64, u64) {
    let mut text = String::from("sent_id\tid\tform\tgold\tpredicted\ttrain\n");
    let (mut words, mut correct) = (0, 0);
    let salt = number(&format!("{}{}", cell.settings.policy, cell.settings.seed));
    for sentence in 0..sentences {
        for place in 0..5 + sentence % 17 {
            let at = (sentence * 7 + place * 3 + place * place) % 97;
            let (form, gold) = WORDS[if at < 92 { at % 11 } else { at - 81 }];
            // Hard words are hard for everybody.
            let luck = number(&format!("{sentence} {place}")) % 1000 + (salt ^ (sentence * 31 + place)) % 180;
            let right = (luck as f64) < 1180.0 * wanted;
            let said = if right { gold } else { WORDS[(at + 1) % 10].1 };
            let known = ["unambiguous", "ambiguous", "unknown"][at % 3];
            text += &format!("<i>s{sentence}\t{}\t{form}\t{gold}\t{said}\t{known}\n", place + 1);
            words += 1;
            correct += u64::from(said == gold);
        }
    }
    (text, words, correct)
}

/// A number that depends on a text.
fn number(text: &str) -> usize {
    usize::from_str_radix(&sha256(text.as_bytes())[..8], 16).unwrap_or(0)
}

/// Steps in turns, in which each policy saves a tenth more of the time than the one before, with a little noise.
fn times(sweep: &Sweep) -> Vec<PairedTimes> {
    let of_group = |cells: Vec<Cell>| {
        let timed = |(place, cell): (usize, &Cell)| {
            let share = (1.0 - 0.1 * place as f64).max(0.2);
            let step = |round: u32| 40.0 * share * (1.0 + 0.02 * f64::from(round * 7 % 11));
            TimedPolicy {
                cell: cell.id.clone(),
                step_ms: (0..20).map(step).collect(),
                cpu_ms: None,
                peak_rss_mib: None,
                peak_device_mib: None,
            }
        };
        PairedTimes {
            schema: SCHEMA,
            policies: cells.iter().enumerate().map(timed).collect(),
            subwords: vec![350; 20],
            load: Load::default(),
            made_by: common::maker(),
        }
    };
    sweep.timed_groups(|_| true).into_iter().map(of_group).collect()
}

fn write(
    folder: &std::path::Path,
    sweep: &Sweep,
    records: &[Record],
    predictions: &BTreeMap<String, String>,
) -> Result<(), Box<dyn std::error::Error>> {
    let report = Report::new(
        sweep,
        records,
        &times(sweep),
        Some(&mut |_, file| predictions.get(&file.sha256).cloned()),
    );
    let files = report.files()?;
    for file in &files {
        let path = folder.join(&file.path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, &file.bytes)?;
        if file.path == "index.html" {
            println!("{}: {} bytes", path.display(), file.bytes.len());
        }
    }
    Ok(())
}
