//! Measures taggers that share embeddings and their lowest blocks next to the same taggers loaded one by one: time and memory.
//!
//! The models have MiniLM's size (six blocks, 384 numbers per subword, 30,522 rows of words) and random weights; each has
//! its own two highest blocks and its own head. Each way is measured in a process of its own, on one thread.
//!
//! `cargo run --release -p frostline-tagger --example shared_trunk -- [TAGGERS] [SHARED_BLOCKS]`
//!
//! With a new FOLDER as the third argument the models are written there, for `tests/tagger-server/load.py`, and nothing is measured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use frostline_model::{
    EncoderConfig, HeadKind, HeadShape, HuggingFaceExport, ModelError, ParameterSource, RandomInit, Values,
    Vocabulary, hugging_face_config,
};
use frostline_tagger::{Answer, Options, Sharing, Tagger, Taggers};

const CONFIG: &str = r#"{"model_type": "distilbert", "dim": 384, "n_layers": 6, "n_heads": 12, "hidden_dim": 1536,
    "vocab_size": 30522, "max_position_embeddings": 512, "activation": "gelu"}"#;

const TAGS: usize = 17;

/// Sentences of a batch, and the number of their words; each word has one subword.
const SHAPES: [[usize; 2]; 2] = [[1, 22], [32, 22]];

/// How often a batch is tagged; the fastest time counts.
const REPEATS: usize = 5;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["measure", way, root] => measure(way, Path::new(root)),
        [] => compare(10, 4),
        [taggers] => compare(taggers.parse()?, 4),
        [taggers, blocks] => compare(taggers.parse()?, blocks.parse()?),
        [taggers, blocks, folder] => write_models(Path::new(folder), taggers.parse()?, blocks.parse()?),
        _ => bail!("expected the number of taggers and of shared blocks, as in 10 4"),
    }
}

/// Writes the models, measures both ways in turns and prints what each took.
fn compare(taggers: usize, blocks: usize) -> Result<()> {
    let root = std::env::temp_dir().join(format!("frostline-shared-trunk-{}", std::process::id()));
    println!("{taggers} taggers that share embeddings and {blocks} of 6 blocks; one thread");
    let written = write_models(&root, taggers, blocks);
    let measured = written.and_then(|()| {
        ["separate", "shared"].map(|way| run_measurement(way, &root)).into_iter().collect::<Result<Vec<_>>>()
    });
    std::fs::remove_dir_all(&root)?;
    let [separate, shared] = &measured?[..] else { bail!("two measurements") };
    ensure!(separate.bits == shared.bits, "the answers differ in their bits");
    println!("answers   the same bits");
    println!(
        "memory    {:.0} MiB separate, {:.0} MiB shared: {:.2}",
        separate.memory_mib,
        shared.memory_mib,
        shared.memory_mib / separate.memory_mib
    );
    for (at, [sentences, words]) in SHAPES.into_iter().enumerate() {
        let (one, other) = (separate.seconds[at] * 1e3, shared.seconds[at] * 1e3);
        println!(
            "speed     {sentences} x {} subwords: {one:.1} ms separate, {other:.1} ms shared: {:.2} times",
            words + 2,
            one / other
        );
    }
    Ok(())
}

/// What a process has measured.
struct Measured {
    memory_mib: f64,
    /// For each of [`SHAPES`].
    seconds: Vec<f64>,
    /// A digest of all answers' bits.
    bits: String,
}

fn run_measurement(way: &str, root: &Path) -> Result<Measured> {
    let output = Command::new(std::env::current_exe()?).args(["measure", way]).arg(root).output()?;
    ensure!(output.status.success(), "{way}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let [memory, seconds @ .., bits] = &words[..] else { bail!("{way}: {text}") };
    Ok(Measured {
        memory_mib: memory.parse()?,
        seconds: seconds.iter().map(|seconds| seconds.parse()).collect::<Result<_, _>>()?,
        bits: (*bits).into(),
    })
}

/// Loads the taggers in one way, tags, and prints a line of numbers.
fn measure(way: &str, root: &Path) -> Result<()> {
    let mut folders: Vec<PathBuf> =
        root.read_dir()?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    folders.sort();
    let options = Options { threads: Some(1), ..Options::default() };
    let before = resident_mib()?;
    let (together, separate) = if way == "shared" {
        let taggers = Taggers::open_many(&folders, &options)?;
        let Sharing { blocks, parameters, separate_parameters, .. } = taggers.sharing();
        eprintln!("{blocks:?}, {parameters} of {separate_parameters} parameters");
        (Some(taggers), Vec::new())
    } else {
        (None, folders.iter().map(|folder| Tagger::open(folder, &options)).collect::<Result<Vec<_>>>()?)
    };
    let mut digest = 0_u64;
    let mut seconds = Vec::new();
    for [sentences, words] in SHAPES {
        let batch = sample_sentences(sentences, words);
        let mut fastest = f64::INFINITY;
        for _ in 0..REPEATS {
            let begun = (Instant::now(), processor_seconds());
            let answers: Vec<Vec<Vec<Answer<'_>>>> = match &together {
                Some(taggers) => taggers.tag_all(&batch)?,
                None => separate.iter().map(|tagger| tagger.tag_all(&batch)).collect::<Result<_>>()?,
            };
            // Processor time if the system has it: other programs may run.
            let elapsed = match (begun.1, processor_seconds()) {
                (Some(begun), Some(ended)) => ended - begun,
                _ => begun.0.elapsed().as_secs_f64(),
            };
            fastest = fastest.min(elapsed);
            digest = answers.iter().flatten().flatten().fold(digest, add_answer);
        }
        seconds.push(fastest);
    }
    let numbers: Vec<String> = seconds.iter().map(f64::to_string).collect();
    println!("{} {} {digest:016x}", resident_mib()? - before, numbers.join(" "));
    Ok(())
}

fn add_answer(digest: u64, answer: &Answer<'_>) -> u64 {
    let bytes = answer.tag.bytes().chain(answer.probability.to_bits().to_le_bytes());
    bytes.fold(digest, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Sentences of different words of the vocabulary.
fn sample_sentences(sentences: usize, words: usize) -> Vec<Vec<String>> {
    let word = |number: usize| format!("w{}", number * 7919 % 30_000);
    let sentence = |first: usize| (0..words).map(|at| word(first * words + at)).collect();
    (0..sentences).map(sentence).collect()
}

/// Memory of this process that is resident.
fn resident_mib() -> Result<f64> {
    let status =
        std::fs::read_to_string("/proc/self/status").context("memory is read from /proc, as on Linux")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<f64>()? / 1024.0)
}

/// Processor time of this thread and of ended ones, in nanoseconds as the scheduler counts it.
fn processor_seconds() -> Option<f64> {
    let mut all = 0.0;
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        all += text.split(' ').next()?.parse::<f64>().ok()? / 1e9;
    }
    Some(all)
}

/// Parameters by path.
type Parameters = BTreeMap<String, Values>;

/// Returns whether a tagger has a parameter of its own, with so many shared blocks.
fn is_own(path: &str, shared: usize) -> bool {
    let block = path.strip_prefix("encoder.blocks.").and_then(|rest| rest.split('.').next()?.parse().ok());
    block.map_or_else(|| !path.starts_with("encoder."), |block: usize| block >= shared)
}

/// Returns random parameters of a tagger for which `is_wanted` is true.
fn draw_parameters(seed: u64, is_wanted: impl Fn(&str) -> bool) -> Result<Parameters> {
    let config = EncoderConfig::parse(CONFIG, "the example's config")?;
    let parameters = config.parameters(&[HeadShape::linear(TAGS)]).into_iter();
    let draw = |(path, shape): (String, Vec<usize>)| {
        let data = RandomInit::new(seed, 0.02).values(&path, &shape)?;
        Ok((path, Values { shape, data }))
    };
    parameters.filter(|(path, _)| is_wanted(path)).map(draw).collect()
}

/// Writes the folders of taggers whose blocks from `shared` on are their own.
fn write_models(root: &Path, taggers: usize, shared: usize) -> Result<()> {
    let mut parameters = draw_parameters(42, |path| !is_own(path, shared))?;
    for number in 0..taggers {
        parameters.extend(draw_parameters(1000 + number as u64, |path| is_own(path, shared))?);
        write_model(&root.join(format!("tagger-{number:02}")), &parameters)?;
    }
    Ok(())
}

fn write_model(folder: &Path, parameters: &Parameters) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let config = EncoderConfig::parse(CONFIG, "the example's config")?;
    let vocabulary = Vocabulary::full(config.vocabulary);
    let export = HuggingFaceExport {
        config: &config,
        parameters,
        head: 0,
        vocabulary: &vocabulary,
        source: &WordTable(&parameters["encoder.embeddings.word"].data),
        other_rows: 1.0,
    };
    let tags: Vec<String> = (0..TAGS).map(|tag| format!("T{tag}")).collect();
    std::fs::write(folder.join("model.safetensors"), export.safetensors()?)?;
    std::fs::write(folder.join("config.json"), hugging_face_config(CONFIG, &tags, HeadKind::Linear)?)?;
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(String::from);
    let words: Vec<String> = special.into_iter().chain((0..30_517).map(|word| format!("w{word}"))).collect();
    std::fs::write(folder.join("vocab.txt"), words.join("\n") + "\n")?;
    std::fs::write(folder.join("tokenizer_config.json"), r#"{"do_lower_case": true}"#)?;
    Ok(())
}

/// The rows of words that an export asks for.
struct WordTable<'a>(&'a [f32]);

impl ParameterSource for WordTable<'_> {
    fn has(&self, _: &str) -> bool {
        false
    }

    fn values(&self, _: &str, _: &[usize]) -> Result<Vec<f32>, ModelError> {
        Ok(self.0.to_vec())
    }
}
