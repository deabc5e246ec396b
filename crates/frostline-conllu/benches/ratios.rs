//! Prints how fast this crate reads and writes, as ratios of the time that plain splitting takes.
//!
//! R is `std::str::from_utf8` over the file, then for every line of `split('\n')` its `split('\t')`
//! fields pushed into one reused vector, black-boxed per line. A ratio of 2 means twice as fast as
//! R. This crate's readers also pass all ten columns of every row to the black box. Times are the
//! best of many interleaved rounds, so that a busy machine slows all of them equally.
//!
//! The file is English-EWT train if `FROSTLINE_SHARED` is set, and generated sentences otherwise.

use std::{
    fmt::Write as _,
    hint::black_box,
    time::{Duration, Instant},
};

use frostline_conllu::{Checks, Reader, Sentence, Writer, read_lenient, read_strict};

const ROUNDS: usize = 25;

/// A benchmark with its name, and the ratio to R it has to reach.
struct Benchmark<'a> {
    name: &'static str,
    target: Option<f64>,
    rounds: usize,
    run: Box<dyn FnMut() + 'a>,
    best: Duration,
}

impl<'a> Benchmark<'a> {
    fn new(name: &'static str, target: Option<f64>, run: impl FnMut() + 'a) -> Self {
        Self { name, target, rounds: ROUNDS, run: Box::new(run), best: Duration::MAX }
    }

    /// Another crate, in fewer rounds.
    fn of_peer(name: &'static str, run: impl FnMut() + 'a) -> Self {
        Self { rounds: 5, ..Self::new(name, None, run) }
    }
}

fn main() {
    // `cargo test --benches` runs this too: nothing to measure there.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let (name, bytes) = read_input();
    let text = std::str::from_utf8(&bytes).expect("the file is UTF-8");
    let sentences: Vec<_> = read_lenient(&bytes, Checks::default()).collect();
    println!("{name}: {} bytes, {} sentences", bytes.len(), sentences.len());
    let mut benchmarks = make_benchmarks(&bytes, text, &sentences);
    for round in 0..ROUNDS {
        for benchmark in benchmarks.iter_mut().filter(|benchmark| round < benchmark.rounds) {
            let start = Instant::now();
            (benchmark.run)();
            benchmark.best = benchmark.best.min(start.elapsed());
        }
    }
    print_ratios(&benchmarks);
    print_growth();
}

/// Time per byte at two sizes, for texts on which a careless reader takes quadratic time: equal
/// figures mean linear time. (A test in `src/bytes_examined.rs` enforces this by counting the bytes.)
fn print_growth() {
    let row = |id: usize| format!("{id}\tf\tl\tX\tx\tA=B\t{}\tdep\t_\tC=D\n", id - 1);
    let line = |value: String| format!("1\tf\tl\tX\tx\t_\t0\troot\t_\t{value}\n\n");
    let words = |n: usize| (1..=n / 30).map(row).collect::<String>() + "\n";
    let cases: [(&str, &dyn Fn(usize) -> String); 6] = [
        ("one sentence of words", &words),
        ("one line of tabs", &|n| "\t".repeat(n) + "\n\n"),
        ("one MISC of spaces", &|n| line(" ".repeat(n))),
        ("one MISC of items", &|n| line("A=b|".repeat(n / 4))),
        ("one MISC of letters", &|n| line("é".repeat(n / 2))),
        ("one sentence of faults", &|n| "x\n".repeat(n / 2) + "\n"),
    ];
    println!("\n{:26}{:>14}{:>14}   ns per byte, all checks on", "", "0.6 MB", "4.8 MB");
    for (name, make) in cases {
        print!("{name:26}");
        for bytes in [600_000, 4_800_000] {
            let text = make(bytes);
            let time = (0..3).map(|_| {
                let start = Instant::now();
                let sentences =
                    read_lenient(text.as_bytes(), Checks { typed: true, metadata: true, nfc: true });
                black_box(sentences.last());
                start.elapsed()
            });
            print!("{:14.2}", time.min().expect("three").as_secs_f64() * 1e9 / text.len() as f64);
        }
        println!();
    }
}

fn read_input() -> (String, Vec<u8>) {
    if let Some(shared) = std::env::var_os("FROSTLINE_SHARED") {
        let path = std::path::Path::new(&shared).join("data/ud/UD_English-EWT/en_ewt-ud-train.conllu");
        return ("English-EWT train".into(), std::fs::read(path).expect("EWT train is readable"));
    }
    let mut text = String::new();
    for s in 0..12_000 {
        writeln!(text, "# sent_id = made-up-{s}\n# text = made up {s}").expect("memory");
        for w in 1..=17 {
            let feats = ["_", "Number=Sing", "Mood=Ind|Tense=Past|VerbForm=Fin"][w % 3];
            writeln!(text, "{w}\tword{s}\tword\tNOUN\tNN\t{feats}\t{}\tdep\t_\t_", w - 1).expect("memory");
        }
        text.push('\n');
    }
    ("made-up sentences (FROSTLINE_SHARED is unset)".into(), text.into_bytes())
}

fn make_benchmarks<'a>(bytes: &'a [u8], text: &'a str, sentences: &'a [Sentence<'a>]) -> Vec<Benchmark<'a>> {
    let plain = Benchmark::new("R", None, move || split_plainly(bytes));
    let own = reader_benchmarks(bytes).into_iter().chain(writer_benchmarks(bytes, sentences));
    std::iter::once(plain).chain(own).chain(peer_benchmarks(bytes, text)).collect()
}

/// This crate's readers.
fn reader_benchmarks(bytes: &[u8]) -> [Benchmark<'_>; 3] {
    let read_strictly = move || {
        for sentence in read_strict(bytes, Checks::default()) {
            consume_sentence(&sentence.expect("well formed"));
        }
    };
    let read_leniently = move || {
        for sentence in read_lenient(bytes, Checks::default()) {
            consume_sentence(&sentence);
        }
    };
    let read_stream = move || {
        let mut reader = Reader::new(std::io::BufReader::new(bytes), Checks::default());
        while let Some(sentence) = reader.next_strict().expect("memory") {
            consume_sentence(&sentence.expect("well formed"));
        }
    };
    [
        Benchmark::new("strict slice", Some(0.6), read_strictly),
        Benchmark::new("lenient slice", Some(0.9), read_leniently),
        Benchmark::new("streaming", Some(0.6), read_stream),
    ]
}

/// This crate's writer.
fn writer_benchmarks<'a>(bytes: &'a [u8], sentences: &'a [Sentence<'a>]) -> [Benchmark<'a>; 2] {
    let mut out = Vec::with_capacity(bytes.len() + 1024);
    let mut composed = Vec::with_capacity(bytes.len() + 1024);
    let write_sentences = move || {
        out.clear();
        let mut writer = Writer::new(&mut out);
        for sentence in sentences {
            writer.sentence(sentence).expect("memory");
        }
        black_box(&out);
        assert!(out.len() == bytes.len());
    };
    let write_columns = move || {
        composed.clear();
        let mut writer = Writer::new(&mut composed);
        for sentence in sentences {
            for comment in &sentence.comments {
                writer.comment(comment).expect("one line");
            }
            for row in sentence.rows() {
                writer.row(&row.columns()).expect("no tabs");
            }
            writer.end().expect("memory");
        }
        black_box(&composed);
        assert!(composed.len() == bytes.len());
    };
    [
        Benchmark::new("writer, as read", Some(1.2), write_sentences),
        Benchmark::new("writer, column by column", Some(1.2), write_columns),
    ]
}

/// Other crates' readers.
fn peer_benchmarks<'a>(bytes: &'a [u8], text: &'a str) -> [Benchmark<'a>; 3] {
    let read_conll = move || {
        let lines = text.lines().map(str::to_owned).collect();
        black_box(conll::conllu::parser::parse(lines).expect("well formed"));
    };
    let read_rustling = move || {
        let files = vec![text.to_owned()];
        black_box(rustling::conllu::Conllu::from_strs(files, None, false).expect("well formed"));
    };
    let read_rs_conllu = move || {
        black_box(rs_conllu::parsers::Parser::new(bytes).parse().expect("well formed"));
    };
    [
        Benchmark::of_peer("conll 0.2", read_conll),
        Benchmark::of_peer("rustling 0.9", read_rustling),
        Benchmark::of_peer("rs-conllu 0.4", read_rs_conllu),
    ]
}

/// R: the minimum that any reader has to do.
fn split_plainly(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    let mut fields = Vec::new();
    for line in text.split('\n') {
        fields.clear();
        fields.extend(line.split('\t'));
        black_box(&fields);
    }
}

/// Uses all of a sentence, so that the optimiser cannot remove the reading.
fn consume_sentence(sentence: &Sentence<'_>) {
    for row in sentence.rows() {
        black_box(row.columns());
    }
    black_box(sentence);
}

fn print_ratios(benchmarks: &[Benchmark<'_>]) {
    let plain = benchmarks[0].best.as_secs_f64();
    println!("{:26}{:>10}{:>10}{:>9}", "", "best ms", "x R", "target");
    for benchmark in benchmarks {
        let (seconds, target) = (benchmark.best.as_secs_f64(), benchmark.target);
        let target = target.map_or_else(String::new, |target| format!(">= {target}"));
        println!("{:26}{:>10.2}{:>10.2}{target:>9}", benchmark.name, seconds * 1e3, plain / seconds);
    }
    let peers = benchmarks.iter().filter(|benchmark| benchmark.rounds < ROUNDS);
    let fastest = peers.min_by_key(|benchmark| benchmark.best).expect("three peers");
    let lenient =
        benchmarks.iter().find(|benchmark| benchmark.name == "lenient slice").expect("it is measured");
    let ratio = fastest.best.as_secs_f64() / lenient.best.as_secs_f64();
    println!("lenient slice is {ratio:.2} x the fastest peer, {} (target >= 3.5)", fastest.name);
}
