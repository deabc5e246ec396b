//! A trained tagger in use: the library's `Tagger` and `frostline tag`, compared with the predictions
//! that its cell stored.

mod backends;
mod cell;
mod changed;
#[path = "../common/mod.rs"]
mod common;
mod faulty;
mod text;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use frostline_conllu::{Checks, read_lenient};
use frostline_kernels::backend;
use frostline_tagger::{NO_TAG, Options, Tagger};

use cell::{LENGTH, cell_folder, recorded_tags, shared_folder, with_head};

fn demo_file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../frostline-assets/demo").join(name);
    fs::read_to_string(path).unwrap()
}

/// Every word of a treebank, sentence by sentence.
fn treebank_words(text: &str) -> Vec<Vec<String>> {
    let forms = |sentence: frostline_conllu::Sentence<'_>| {
        sentence.words().map(|word| word.form().to_string()).collect::<Vec<_>>()
    };
    read_lenient(text.as_bytes(), Checks::default()).map(forms).filter(|words| !words.is_empty()).collect()
}

fn run_frostline(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command.args(arguments).current_dir(folder).env_remove("RUST_LOG").stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that stops early closes its input.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// The output of `frostline tag`, in the folder that contains the cell.
fn run_tag(arguments: &[&str], input: &[u8]) -> String {
    let arguments = [&["tag", "--run", "cell"][..], arguments].concat();
    let output = run_frostline(shared_folder().path(), &arguments, input);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn tags_are_those_of_the_cell_and_no_word_is_cut_off() {
    let _kept = shared_folder();
    let tagger = Tagger::load(cell_folder()).unwrap();
    let sentences = treebank_words(&demo_file("en/dev.conllu"));
    let recorded = recorded_tags("dev.tsv");
    assert_eq!(sentences.len(), recorded.len());
    let answers = tagger.tag_all(&sentences).unwrap();
    let (mut same, mut rescued) = (0, 0);
    for (recorded, answers) in recorded.iter().zip(&answers) {
        assert_eq!(recorded.len(), answers.len());
        assert!(answers.iter().all(|answer| answer.probability > 0.0 && answer.probability <= 1.0));
        if recorded.iter().any(|tag| tag == NO_TAG) {
            assert!(answers.iter().all(|answer| answer.tag != NO_TAG));
            rescued += 1;
        } else {
            assert!(recorded.iter().map(String::as_str).eq(answers.iter().map(|answer| answer.tag)));
            same += 1;
        }
    }
    assert!(same > 20 && rescued > 20, "{same} whole sentences, {rescued} longer ones");

    // One by one as all together, and all labels' probabilities.
    for (words, answers) in sentences.iter().zip(&answers).step_by(9) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let tags: Vec<&str> = answers.iter().map(|answer| answer.tag).collect();
        assert_eq!(tagger.tag(&words).unwrap(), tags);
        for (row, answer) in tagger.probabilities(&words).unwrap().iter().zip(answers) {
            let at = tagger.labels().iter().position(|label| label == answer.tag).unwrap();
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            assert!((row[at] - answer.probability).abs() < 1e-4);
            assert!(row.iter().all(|other| *other <= row[at]));
        }
    }
}

#[test]
fn what_cannot_be_spelled_has_no_tag() {
    let _kept = shared_folder();
    let tagger = Tagger::load(cell_folder()).unwrap();
    assert!(tagger.tag(&[]).unwrap().is_empty());
    let none: [Vec<&str>; 0] = [];
    assert!(tagger.tag_all(&none).unwrap().is_empty());
    let tags = tagger.tag(&["the", "\u{200b}", "frog", ""]).unwrap();
    assert_eq!((tags[1], tags[3]), (NO_TAG, NO_TAG));
    assert!(tags[0] != NO_TAG && tags[2] != NO_TAG);
    assert_eq!(tagger.tag(&["\u{200b}"]).unwrap(), [NO_TAG]);
    assert!(tagger.probabilities(&["\u{200b}"]).unwrap()[0].is_empty());

    // A sentence of a thousand words, and more than a batch of them, without any effect on the last.
    let long = ["the frog sees a stone"; 200].join(" ");
    let long: Vec<&str> = long.split(' ').collect();
    let short = tagger.tag(&["the", "frog"]).unwrap();
    let all = tagger.tag_all(&[long.clone(), long, vec!["the", "frog"]]).unwrap();
    assert_eq!(all[0], all[1]);
    assert!(all[0].iter().all(|answer| answer.tag != NO_TAG));
    assert!(all[2].iter().map(|answer| answer.tag).eq(short));
}

#[test]
fn a_folder_of_another_program_is_opened_with_options() {
    let _kept = shared_folder();
    let foreign = shared_folder().path().join("foreign");
    fs::create_dir_all(&foreign).unwrap();
    for entry in cell_folder().join("model").read_dir().unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "frostline.json" {
            fs::copy(entry.path(), foreign.join(entry.file_name())).unwrap();
        }
    }
    let options = |lowercase, max_length| Options { lowercase, max_length, ..Options::default() };
    let aligned = |tagger: &Tagger| {
        let options = tagger.aligner().options();
        (options.lowercase, options.max_length)
    };
    let ours = Tagger::load(cell_folder().join("model")).unwrap();
    assert_eq!(aligned(&ours), (true, LENGTH));
    assert_eq!(ours.saved().unwrap().tasks["upos"], "upos");
    let theirs = Tagger::load(&foreign).unwrap();
    assert!(theirs.saved().is_none());
    assert_eq!(aligned(&theirs), (false, 128));
    let configured = Tagger::open(&foreign, &options(Some(true), Some(LENGTH))).unwrap();
    assert_eq!(aligned(&configured), (true, LENGTH));
    let sentences = treebank_words(&demo_file("en/dev.conllu"));
    assert_eq!(ours.tag_all(&sentences).unwrap(), configured.tag_all(&sentences).unwrap());
    let input = demo_file("en/dev.conllu");
    let arguments = ["--format", "conllu"];
    let run = |run: &str, more: &[&str]| {
        let arguments = [&["tag", "--run", run][..], &arguments, more].concat();
        let output = run_frostline(shared_folder().path(), &arguments, input.as_bytes());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let given = ["--lowercase", "on", "--max-length", "12", "--precision", "f32", "--threads", "1"];
    assert!(run("cell", &[]) == run("foreign", &given));
    // Every command knows `auto`, which is flex where there is no GPU. On one, rounding could change a close tag.
    let (auto, best) = (run("cell", &["--backend", "auto"]), backend::best().expect("flex at least"));
    assert!(auto == run("cell", &["--backend", best]));
}

#[test]
fn an_unknown_backend_is_an_error() {
    let _kept = shared_folder();
    let unknown = Options { backend: Some("abacus".into()), ..Options::default() };
    let error = Tagger::open(cell_folder(), &unknown).unwrap_err().to_string();
    assert!(error.contains("no backend `abacus`"), "{error}");
}

#[test]
fn a_treebank_keeps_every_byte_but_the_tags() {
    let _kept = shared_folder();
    let dev = demo_file("en/dev.conllu");
    let extra = "# text = Don't\n0.1\tyou\t_\tPRON\t_\t_\t_\t_\t0:root\t_\n\
        1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n1\tDo\tdo\t_\t_\tA=B\t0\troot\t_\tX=Y\n\
        2\tn't\tnot\t_\t_\t_\t1\tadvmod\t_\t_\n3\t\u{200b}\t_\tX\t_\t_\t1\tdep\t_\t_\n\n# only a comment\n\n";
    let text = format!("{extra}{dev}");
    let expected = |line: &str| -> Option<[String; 2]> {
        let columns: Vec<&str> = line.split('\t').collect();
        columns[0].parse::<u32>().ok()?;
        Some([columns[..3].join("\t"), columns[4..].join("\t")])
    };
    let reference = run_tag(&["--format", "conllu"], text.as_bytes());
    assert_eq!(text.lines().count(), reference.lines().count());
    for (before, after) in text.lines().zip(reference.lines()) {
        match expected(before) {
            None => assert_eq!(before, after),
            some => assert_eq!(some, expected(after)),
        }
    }
    let tags = |text: &str| {
        let sentences = read_lenient(text.as_bytes(), Checks::default());
        let tags = |sentence: frostline_conllu::Sentence<'_>| {
            sentence.words().map(|word| word.upos().to_string()).collect::<Vec<_>>()
        };
        sentences.map(tags).collect::<Vec<_>>()
    };
    let found = tags(&reference);
    assert_eq!(found[0][2], NO_TAG);
    let recorded = recorded_tags("dev.tsv");
    assert_eq!(found[2..].len(), recorded.len());
    for (found, recorded) in found[2..].iter().zip(&recorded) {
        assert!(found == recorded || recorded.iter().any(|tag| tag == NO_TAG));
    }

    // Line ends, a byte order mark and an end without a line feed stay as they are.
    let odd = |text: &str| format!("\u{feff}{}", text.trim_end().replace('\n', "\r\n"));
    assert_eq!(run_tag(&["--format", "conllu"], odd(&text).as_bytes()), odd(&reference));
    fs::write(shared_folder().path().join("gold.conllu"), &text).unwrap();
    assert_eq!(run_tag(&["--input", "gold.conllu"], b""), reference);

    // Probabilities are in MISC; everything else is the same as without them.
    let with = run_tag(&["--format", "conllu", "--probabilities"], text.as_bytes());
    let stripped: Vec<String> = with
        .lines()
        .map(|line| match line.find("UposProb=") {
            None => line.to_string(),
            Some(at) => {
                let probability: f64 = line[at + 9..].parse().unwrap();
                assert!((0.0..=1.0).contains(&probability));
                let rest = &line[..at];
                rest.strip_suffix('|').map_or_else(|| format!("{rest}_"), String::from)
            }
        })
        .collect();
    assert!(stripped.iter().map(String::as_str).eq(reference.lines()));
    let probable = with.matches("UposProb=").count();
    assert_eq!(probable, found.iter().flatten().filter(|tag| *tag != NO_TAG).count());

    let lines = run_tag(&["--format", "conllu", "--output", "tsv", "--probabilities"], text.as_bytes());
    assert!(lines.lines().all(|line| line.is_empty() || line.split('\t').count() == 3));
    assert_eq!(lines.matches("\n\n").count(), recorded.len() + 1);
}

#[test]
fn a_label_is_written_to_the_requested_column() {
    let _kept = shared_folder();
    let text = "1\tthe\t_\tX\tx\tCase=Nom\t0\troot\t_\tA=B\n\n";
    let tag = Tagger::load(cell_folder()).unwrap().tag(&["the"]).unwrap()[0].to_string();
    let columns = |column: &str| {
        let out = run_tag(&["--format", "conllu", "--column", column], text.as_bytes());
        let columns: Vec<String> = out.lines().next().unwrap().split('\t').map(String::from).collect();
        columns
    };
    for (column, at, value) in [
        ("upos", 3, tag.clone()),
        ("xpos", 4, tag.clone()),
        ("deprel", 7, tag.clone()),
        ("feats.Kind", 5, format!("Case=Nom|Kind={tag}")),
        ("misc.Kind", 9, format!("A=B|Kind={tag}")),
    ] {
        let mut expected: Vec<String> = text.lines().next().unwrap().split('\t').map(String::from).collect();
        expected[at] = value;
        assert_eq!(columns(column), expected);
    }
    // The head of another task, with its own labels.
    let lines = run_tag(&["--task", "names", "--output", "tsv"], "the frog\n".as_bytes());
    let labels: Vec<&str> = lines.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    let known =
        Tagger::open(cell_folder(), &Options { task: Some("names".into()), ..Options::default() }).unwrap();
    assert!(labels.len() == 2 && labels.iter().all(|label| known.labels().iter().any(|it| it == label)));
    assert!(known.labels().iter().any(|label| label.starts_with("B-")));
}

#[test]
fn text_becomes_a_treebank() {
    let _kept = shared_folder();
    let text = "\u{feff}The frog (green) sees\ta  stone. It moves!\n\n   \nthis frog\r\nno line feed";
    let out = run_tag(&[], text.as_bytes());
    let sentences: Vec<_> = frostline_conllu::parse(&out).map(Result::unwrap).collect();
    let shown: Vec<String> = sentences
        .iter()
        .map(|sentence| {
            let word = |row: &frostline_conllu::TokenRow<'_>| {
                assert_ne!(row.upos(), NO_TAG);
                format!("{}{}", row.form(), if row.space_after() { " " } else { "" })
            };
            let spelled: String = sentence.words().map(word).collect();
            assert_eq!(Some(spelled.trim_end()), sentence.text());
            format!("{}: {spelled}", sentence.sent_id().unwrap())
        })
        .collect();
    assert_eq!(
        shown,
        ["1.1: The frog (green) sees a stone. ", "1.2: It moves! ", "4.1: this frog ", "5.1: no line feed "]
    );
    let tagger = Tagger::load(cell_folder()).unwrap();
    for sentence in &sentences {
        let words: Vec<&str> = sentence.words().map(|word| word.form()).collect();
        assert!(sentence.words().map(|word| word.upos()).eq(tagger.tag(&words).unwrap()));
    }
    for (arguments, nothing) in [(&[][..], ""), (&[], "\n \n"), (&["--format", "conllu"], "")] {
        let arguments = [&["tag", "--run", "cell"][..], arguments].concat();
        let output = run_frostline(shared_folder().path(), &arguments, nothing.as_bytes());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{nothing:?}");
    }
    // Sentences without a space between them are marked, so that the text can be reconstructed.
    let text = "It moves!The frog sees. It moves.";
    let out = run_tag(&[], text.as_bytes());
    let mut whole = String::new();
    for sentence in frostline_conllu::parse(&out).map(Result::unwrap) {
        for row in sentence.words() {
            whole += row.form();
            whole += if row.space_after() { " " } else { "" };
        }
    }
    assert_eq!(whole.trim_end(), text);
    let spaces = ["--words", "spaces", "--sentences", "lines", "--output", "tsv"];
    let lines = run_tag(&spaces, b"It moves. The (green) frog\n");
    let forms: Vec<&str> = lines.lines().filter_map(|line| Some(line.split_once('\t')?.0)).collect();
    assert_eq!(forms, ["It", "moves.", "The", "(green)", "frog"]);
}

#[test]
fn a_line_is_answered_before_the_next_is_read() {
    let _kept = shared_folder();
    for (arguments, question, lines) in [
        (["--format", "text"], "the frog moves\n", 6),
        (["--format", "conllu"], "1\tthe\t_\t_\t_\t_\t_\t_\t_\t_\n2\tfrog\t_\t_\t_\t_\t_\t_\t_\t_\n\n", 3),
        // Looks like a comment of CoNLL-U, but does not wait for a row to show it.
        (["--output", "conllu"], "# the frog moves\n", 7),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_frostline"))
            .args(["tag", "--run"])
            .arg(cell_folder())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = mpsc::channel();
        let listener = std::thread::spawn(move || {
            for line in stdout.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        for _ in 0..3 {
            stdin.write_all(question.as_bytes()).unwrap();
            // The input stays open: only a program that does not wait for more answers now.
            let answer: Vec<String> = (0..lines)
                .map(|_| answers.recv_timeout(Duration::from_secs(120)).expect("an answer"))
                .collect();
            assert_eq!(answer.last().map(String::as_str), Some(""), "{answer:?}");
        }
        drop(stdin);
        listener.join().unwrap();
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_treebank_on_standard_input_is_not_mistaken_for_text() {
    let _kept = shared_folder();
    let input = "# sent_id = 1\n# text = the\n1\tthe\t_\t_\t_\t_\t_\t_\t_\t_\n\n";
    let output = run_frostline(shared_folder().path(), &["tag", "--run", "cell"], input.as_bytes());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(output.stdout.is_empty() && errors.contains("say --format conllu"), "{errors}");
    assert!(run_tag(&["--format", "text"], input.as_bytes()).starts_with("# sent_id = 1.1\n"));
}

/// What cannot be read as words must not come out as if it had been tagged.
#[test]
fn rows_whose_words_are_uncertain_stop_it() {
    let _kept = shared_folder();
    let rest = "the\tthe\t_\t_\t_\t0\troot\t_\t_";
    let rows = [
        format!("\u{661}\t{rest}"),
        format!("\t{rest}"),
        format!("4294967296\t{rest}"),
        format!("x\t{rest}"),
        "1 the the _ _ _ 0 root _ _".to_string(),
        "1\tthe".to_string(),
    ];
    for row in rows {
        let input = format!("1\t{rest}\n\n{row}\n\n");
        let output = run_frostline(
            shared_folder().path(),
            &["tag", "--run", "cell", "--format", "conllu"],
            input.as_bytes(),
        );
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{row}: {errors}");
        assert!(errors.starts_with("error: -:3:"), "{row}: {errors}");
        assert_eq!(
            String::from_utf8(output.stdout).unwrap().lines().count(),
            2,
            "{row}: the sentence before it"
        );
    }
}

#[test]
fn sentences_before_an_untokenizable_word_are_written() {
    let _kept = shared_folder();
    let folder = tempfile::tempdir().unwrap();
    for entry in cell_folder().join("model").read_dir().unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    // A tokenizer without an unknown token.
    let path = folder.path().join("tokenizer.json");
    let (text, unknown) = (fs::read_to_string(&path).unwrap(), "\"unk_token\": \"[UNK]\"");
    assert!(text.contains(unknown));
    fs::write(&path, text.replace(unknown, "\"unk_token\": \"[NONE]\"")).unwrap();
    let input = "it sees the\nit sees the \u{2603}\n\u{2603}\nit\n";
    let output = run_frostline(folder.path(), &["tag", "--run", "."], input.as_bytes());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.starts_with("error: -:2: word 3 (\"\u{2603}\")"), "{errors}");
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.starts_with("# sent_id = 1.1\n") && out.lines().count() == 6, "{out}");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let _kept = shared_folder();
    let mut child = Command::new(env!("CARGO_BIN_EXE_frostline"))
        .args(["tag", "--run"])
        .arg(cell_folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let writer = std::thread::spawn(move || {
        drop(stdin.write_all("the frog sees a stone\n".repeat(20_000).as_bytes()))
    });
    let mut first = [0; 9];
    stdout.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"# sent_id");
    drop(stdout);
    writer.join().unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_saved_model_stores_how_words_were_read() {
    let _kept = shared_folder();
    let read = |name: &str| fs::read_to_string(cell_folder().join(name)).unwrap();
    insta::assert_snapshot!(
        ["model", "model-mood", "model-names"]
            .map(|folder| format!("{folder}\n{}", read(&format!("{folder}/frostline.json"))))
            .join("\n")
    );
    let config: serde_json::Value = serde_json::from_str(&read("model/tokenizer_config.json")).unwrap();
    assert_eq!(config["do_lower_case"], true);
    assert_eq!(config["tokenizer_class"], "DistilBertTokenizer");
}

#[test]
fn a_model_whose_output_is_no_number_tags_nothing() {
    let _kept = shared_folder();
    for (value, said) in [(f32::NAN, "`classifier.weight` contains NaN"), (f32::MAX, "is NaN or infinite")] {
        let here = tempfile::tempdir().unwrap();
        with_head(value, here.path());
        let output = run_frostline(here.path(), &["tag", "--run", "."], b"the ice thaws\n");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty() && error.contains(said), "{error}");
        let output =
            run_frostline(here.path(), &["logits", "--model", ".", "--input", "-"], b"the ice thaws\n");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty() && error.contains(said), "{error}");
    }
}

#[test]
fn errors_name_the_folder_or_the_line_and_the_next_step() {
    let _kept = shared_folder();
    let here = tempfile::tempdir().unwrap();
    faulty::make_faulty_folders(here.path());
    faulty::write_inputs(here.path());
    let cell = cell_folder().display().to_string();
    let mut shown = String::new();
    let backends = format!("it has: {}.", backend::names().join(", "));
    for (code, line) in faulty::FAULTY_COMMANDS {
        let arguments: Vec<&str> =
            line.split_whitespace().map(|part| if part == "CELL" { cell.as_str() } else { part }).collect();
        let output = run_frostline(here.path(), &arguments, b"");
        let errors = String::from_utf8(output.stderr).unwrap().replace(&cell, "CELL");
        let errors = errors.replace(&backends, "it has: [backends].");
        assert_eq!(output.status.code(), Some(*code), "{line}: {errors}");
        let lines = String::from_utf8(output.stdout).unwrap().lines().count();
        shown += &format!("$ frostline {line}\n[{code}, {lines} lines]\n{errors}\n");
    }
    insta::assert_snapshot!(shown);
}
