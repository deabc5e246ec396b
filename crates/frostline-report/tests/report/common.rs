//! Builds sweeps and records by hand: what a run would have left behind, with made-up numbers.

use std::collections::BTreeMap;

use frostline_record::{
    AccountRow, Accounts, Cell, Cost, EpochRow, EpochTiming, Forms, FreezeCheck, Input, LossPoint, MadeBy,
    Outcome, Plan, PredictedMemory, Record, Reference, SCHEMA, SavedFiles, Score, Settings, Spelled,
    SplitFacts, StageOutcome, StoredFile, Sweep, TaskFacts, TaskOutcome, Timing, Unit, sha256,
};

/// What a policy reaches: accuracy after the last epoch, trainable parameters, seconds.
pub type Reach = (f64, u64, f64);

/// A language: dev words, train sentences, and what each policy reaches in it.
pub struct Lang {
    pub name: &'static str,
    pub dev_words: u64,
    pub sentences: u64,
    pub reach: Vec<(&'static str, Reach)>,
}

/// Numbers near those of a real study.
pub fn paper() -> Vec<Lang> {
    let reach = |rows: [(f64, f64); 5]| {
        let names = ["none", "all", "first-2", "first-4", "alternating"];
        let trainable = [134_747_153, 92_219_921, 120_571_409, 106_395_665, 113_483_537];
        let rows = rows.into_iter().zip(trainable);
        let reach = rows.map(|((accuracy, s), trainable)| (accuracy, trainable, s));
        names.into_iter().zip(reach).collect()
    };
    vec![
        Lang {
            name: "en",
            dev_words: 25_151,
            sentences: 12_544,
            reach: reach([
                (0.9636, 540.0),
                (0.9158, 352.0),
                (0.9630, 447.0),
                (0.9612, 400.0),
                (0.9624, 423.0),
            ]),
        },
        Lang {
            name: "pcm",
            dev_words: 14_850,
            sentences: 7_279,
            reach: reach([
                (0.9824, 388.0),
                (0.9322, 196.0),
                (0.9813, 249.0),
                (0.9771, 223.0),
                (0.9823, 236.0),
            ]),
        },
    ]
}

/// A small synthetic demo whose last policy stays far behind.
pub fn demo() -> Vec<Lang> {
    let reach = |rows: [(f64, u64, f64); 5]| {
        let names = ["none", "all", "first-2", "alternating", "head-only"];
        names.into_iter().zip(rows).collect()
    };
    vec![
        Lang {
            name: "en",
            dev_words: 1_032,
            sentences: 600,
            reach: reach([
                (0.988, 412_431, 4.1),
                (0.951, 61_711, 2.2),
                (0.987, 295_519, 3.4),
                (0.979, 237_071, 3.1),
                (0.912, 1_935, 1.2),
            ]),
        },
        Lang {
            name: "pcm",
            dev_words: 968,
            sentences: 600,
            reach: reach([
                (0.985, 412_431, 4.3),
                (0.944, 61_711, 2.3),
                (0.984, 295_519, 3.5),
                (0.985, 237_071, 3.2),
                (0.897, 1_935, 1.3),
            ]),
        },
    ]
}

/// A plan over languages with these further lines of TOML; seeds are 42, 43, ...
pub fn sweep(name: &str, langs: &[Lang], seeds: u64, synthetic: bool, grid: &str) -> Sweep {
    let names: Vec<&str> = langs.iter().map(|lang| lang.name).collect();
    let policies: Vec<&str> = langs[0].reach.iter().map(|(policy, _)| *policy).collect();
    let seeds: Vec<u64> = (42..42 + seeds).collect();
    let places = if synthetic {
        "en = \"embedded:en\"\npcm = \"embedded:pcm\""
    } else {
        "en = \"UD_English-EWT\"\npcm = \"UD_Naija-NSC\""
    };
    let toml = format!(
        "schema = 4\nname = \"{name}\"\nabout = \"A plan written for a test.\"\n\
         synthetic = {synthetic}\n[treebanks]\n{places}\n\
         [grid]\nlang = {names:?}\npolicy = {policies:?}\nseed = {seeds:?}\n{grid}"
    );
    let plan = Plan::parse(&toml, "test.toml").expect("a good plan");
    let settings = plan.expand().expect("a good grid");
    let cells = settings.into_iter().map(|settings| {
        let inputs = inputs(&settings);
        Cell::new(settings, inputs, "flex", "c0de")
    });
    Sweep {
        schema: SCHEMA,
        cells: cells.collect(),
        plan,
        overrides: Vec::new(),
        twins: Vec::new(),
        reference: reference("partial-freezing"),
        rates: None,
        block_scores: Vec::new(),
        rounds: None,
        search_continues: false,
    }
}

/// One of the references that come with the project.
pub fn reference(name: &str) -> Option<Reference> {
    let path = format!("{}/../../configs/references/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("a reference");
    Some(Reference::parse(&text, &path).expect("a good reference"))
}

/// A record for every cell.
pub fn records(sweep: &Sweep, langs: &[Lang]) -> Vec<Record> {
    let cells = sweep.cells.iter();
    cells.map(|cell| record(cell, langs)).collect()
}

/// What a finished cell would have left behind.
pub fn record(cell: &Cell, langs: &[Lang]) -> Record {
    let settings = &cell.settings;
    let lang = langs.iter().find(|lang| settings.lang == lang.name);
    let lang = lang.expect("a known language");
    let reach = lang.reach.iter().find(|(name, _)| settings.policy == *name);
    let (accuracy, trainable, seconds) = reach.expect("a known policy").1;
    // A learning rate other than the study's costs a little, so that axes differ.
    let rate = (settings.optimizer.lr / 5e-5).log2().abs();
    let accuracy = (accuracy - 0.006 * rate + 0.0009 * wobble(settings)).clamp(0.0, 1.0);
    let seconds = seconds * (1.0 + 0.01 * wobble(settings));
    let total = lang.reach.iter().map(|(_, reach)| reach.1).max();
    Record {
        schema: SCHEMA,
        cell: cell.clone(),
        result: Some(outcome(settings, lang, accuracy, trainable, total.unwrap_or(0))),
        timing: Some(timing(settings, lang, seconds)),
        made_by: maker(),
        error: None,
    }
}

/// The same cell, failed.
pub fn failed(cell: &Cell, error: &str) -> Record {
    Record {
        schema: SCHEMA,
        cell: cell.clone(),
        result: None,
        timing: None,
        made_by: maker(),
        error: Some(error.into()),
    }
}

pub fn maker() -> MadeBy {
    MadeBy {
        version: "0.1.0".into(),
        code: "c0de".into(),
        revision: "abc1234".into(),
        backend: "flex".into(),
        device: "A processor of the test".into(),
        isa: "avx512".into(),
        bits: Default::default(),
        threads: 2,
        node: String::new(),
    }
}

/// A number in [-1, 1] that depends on language, policy and seed.
fn wobble(settings: &Settings) -> f64 {
    let key = format!("{}{}{}", settings.lang, settings.policy, settings.seed);
    let digits = &sha256(key.as_bytes())[..6];
    let number = u32::from_str_radix(digits, 16).expect("hexadecimal digits");
    f64::from(number) / f64::from(0x7f_ffff_u32) - 1.0
}

fn outcome(settings: &Settings, lang: &Lang, accuracy: f64, trainable: u64, total: u64) -> Outcome {
    let per_epoch = lang.sentences.div_ceil(settings.train.batch as u64);
    let epochs: Vec<EpochRow> = (1..=settings.train.epochs)
        .map(|epoch| {
            let done = f64::from(epoch) / f64::from(settings.train.epochs);
            let missing = (1.0 - accuracy) * (1.0 + 0.9 * (1.0 - done).powi(2));
            EpochRow {
                epoch,
                step: per_epoch * u64::from(epoch),
                train_loss_nats: 2.2 * missing * (1.15 - done * 0.6),
                stage: 1,
                trainable,
                dev: score(lang.dev_words, 1.0 - missing),
                dev_f1: BTreeMap::new(),
                others: BTreeMap::new(),
            }
        })
        .collect();
    let steps = per_epoch * u64::from(settings.train.epochs);
    let mut scores = BTreeMap::new();
    if let Some(last) = epochs.last() {
        scores.insert("dev".to_string(), last.dev.clone());
    }
    if settings.eval.test {
        scores.insert("test".into(), score(lang.dev_words + 17, accuracy - 0.002));
    }
    let file = |split: &str| StoredFile::new(format!("{split}.tsv"), split.as_bytes());
    let found = TaskOutcome {
        predictions: scores.keys().map(|split| (split.clone(), file(split))).collect(),
        scores,
    };
    let facts = TaskFacts {
        unit: Unit::Words,
        tags: ["NOUN", "VERB"].map(String::from).to_vec(),
        train: split_facts(lang.sentences, [16, 22], 0),
        dev: split_facts(lang.dev_words / 13, [13, 18], 1),
        test: settings.eval.test.then(|| split_facts(lang.dev_words / 13, [13, 18], 1)),
    };
    Outcome {
        headline: "upos".into(),
        tasks: [("upos".to_string(), facts)].into(),
        encoder: None,
        cost: cost(trainable, total),
        steps,
        train_loss: (1..=steps / settings.train.log_every)
            .map(|i| {
                let step = i * settings.train.log_every;
                let ripple = 1.0 + 0.12 * ((i * 37 % 11) as f64 / 11.0 - 0.5);
                let start = 2.5 * (-(step as f64) / (0.08 * steps as f64)).exp();
                LossPoint {
                    step,
                    loss_nats: (start + 2.6 * (1.0 - accuracy)) * ripple,
                    lr: settings.optimizer.lr * (1.0 - step as f64 / steps as f64),
                }
            })
            .collect(),
        epochs,
        dev_points: Vec::new(),
        baselines: BTreeMap::new(),
        stages: vec![StageOutcome {
            name: "train".into(),
            policy: settings.policy.to_string(),
            accounts: Accounts {
                total,
                trainable,
                groups: vec![AccountRow { group: "head".into(), total: 13_073, trainable: 13_073 }],
            },
            steps,
            selected_epoch: settings.train.epochs,
            tasks: [("upos".to_string(), found)].into(),
            freezing: FreezeCheck { frozen: 64, moved: 38, unmoved: Vec::new() },
            settled: Vec::new(),
            stopped_early: None,
        }],
        changes: Vec::new(),
        files: SavedFiles::default(),
    }
}

/// A split of so many words and subwords per sentence; a tenth of its words is unknown where `unknown` is 1.
fn split_facts(sentences: u64, [words, subwords]: [u64; 2], unknown: u64) -> SplitFacts {
    let all = sentences * words;
    SplitFacts {
        sentences,
        words: all,
        subwords: sentences * subwords,
        truncated: 3,
        vanished: 0,
        spelled: Spelled { words: all - 3, subwords: sentences * (subwords - 2) },
        tags: [("NOUN", all - all / 4), ("VERB", all / 4)].map(|(tag, n)| (tag.to_string(), n)).into(),
        forms: Forms {
            words: all,
            types: all / 8,
            unknown_words: unknown * all / 10,
            unknown_types: unknown * all / 16,
            ambiguous_words: all / 3,
            ambiguous_types: all / 50,
        },
        repeated: sentences / 100,
        like_train: None,
        like_dev: None,
        unlabelled: 0,
        blank: 0,
        longest: 0,
    }
}

/// A step's cost where forward takes a third and the rest shrinks with what learns.
fn cost(trainable: u64, total: u64) -> Cost {
    let left = (1.0 + 2.0 * trainable as f64 / total as f64) / 3.0;
    Cost {
        gflop_per_step: 89.6 * left,
        predicted_speedup: 1.0 / left,
        predicted_speedup_cached: 2.0 / left,
        subwords_per_step: 352.0,
        context_subwords: 33.0,
        speaking_per_step: 256.0,
        word_rows: 12_000,
        memory: Some(memory(trainable)),
    }
}

/// What a step keeps: 12 bytes per trainable parameter, and activations that shrink with them.
fn memory(trainable: u64) -> PredictedMemory {
    PredictedMemory { gradients: 4 * trainable, moments: 8 * trainable, activations: (60 << 20) + trainable }
}

fn score(words: u64, accuracy: f64) -> Score {
    Score {
        loss_nats: 4.4 * (1.0 - accuracy),
        sentences: words / 13,
        words,
        correct: (accuracy * words as f64) as u64,
        truncated: words / 5_000,
        vanished: 0,
        unseen: 0,
        unseen_tags: Vec::new(),
        entities: None,
    }
}

fn timing(settings: &Settings, lang: &Lang, seconds: f64) -> Timing {
    let epochs = f64::from(settings.train.epochs);
    let steps = (lang.sentences.div_ceil(settings.train.batch as u64)) as f64 * epochs;
    let (train_ms, eval_ms, load_ms) = (seconds * 1e3, seconds * 90.0, seconds * 25.0);
    Timing {
        load_ms,
        train_ms,
        eval_ms,
        baselines_ms: 0.0,
        total_ms: train_ms + eval_ms + load_ms,
        step_ms_median: train_ms / steps,
        samples_per_s: lang.sentences as f64 * epochs / seconds,
        steps_per_s: steps / seconds,
        tokens_per_s: lang.sentences as f64 * 22.0 * epochs / seconds,
        epochs: (0..settings.train.epochs)
            .map(|_| EpochTiming { train_ms: train_ms / epochs, eval_ms: eval_ms / epochs })
            .collect(),
        prefix: frostline_record::PrefixUse::default(),
        peak_rss_mib: 812.0,
        load: None,
        predicted_step_ms: None,
    }
}

fn inputs(settings: &Settings) -> BTreeMap<String, Input> {
    let input = |role: &str, path: String| {
        let sha256 = sha256(path.as_bytes());
        let bytes = 1_000_000 + path.len() as u64;
        (role.to_string(), Input { path, sha256, bytes })
    };
    let lang = &settings.lang;
    BTreeMap::from([
        input("train", format!("/data/{lang}-treebank/{lang}-train.conllu")),
        input("dev", format!("/data/{lang}-treebank/{lang}-dev.conllu")),
        input("weights", format!("/models/{}/model.safetensors", settings.encoder.name)),
    ])
}
