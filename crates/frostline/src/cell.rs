//! One cell: from a job to a record in its folder.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use frostline_freeze::{Accounts, Parameter, Policy};
use frostline_kernels::Train;
use frostline_model::{EncoderConfig, Export, RandomInit, Tagger, Vocabulary, hugging_face_config, snapshot};
use frostline_record::{self as record, Cell, Event, Job, MadeBy, Outcome, Record, SCHEMA, Sample, Settings};
use frostline_train::{
    Dataset, DropoutConfig, Epoch, Evaluation, Event as TrainEvent, Finished, OptimizerConfig, Run,
    ScheduleKind, Select, Split, TrainConfig, evaluate, tag_set, train,
};

use crate::backend::Task;
use crate::{corpus, inputs, version};

/// Standard deviation of the head's first weights, as in Hugging Face's classifiers.
pub(crate) const HEAD_STD: f64 = 0.02;

/// What cells of one worker share: aligned data, by what it was made from.
#[derive(Default)]
pub struct Shared {
    data: HashMap<String, Arc<Data>>,
    /// Weights files whose bytes have the hash that their cells name.
    verified: HashSet<String>,
}

/// A cell's data, aligned.
struct Data {
    tags: Vec<String>,
    train: Dataset,
    dev: Dataset,
    test: Option<Dataset>,
    vocabulary: Vocabulary,
    encoder: EncoderConfig,
    sample: Sample,
    /// Sentences in train, dev and test.
    sentences: [u64; 3],
}

/// A job on some backend; tells events as it goes.
pub struct CellTask<'a> {
    /// What to do.
    pub job: &'a Job,
    /// Who does it.
    pub made_by: MadeBy,
    /// What earlier cells left.
    pub shared: &'a mut Shared,
    /// Who listens.
    pub tell: &'a mut dyn FnMut(Event),
}

impl Task for CellTask<'_> {
    type Output = Result<()>;

    /// Runs the cell. A failure becomes a record with its error, except with `verify`.
    fn run<B: Train>(self, device: &B::Device) -> Result<()> {
        let Self { job, made_by, shared, tell } = self;
        let folder = Path::new(&job.folder);
        let lock = File::create(folder.join(".lock")).context("cannot lock the cell's folder")?;
        if lock.try_lock().is_err() {
            bail!("another sweep is working on {}; wait for it or choose another --out", folder.display());
        }
        let id = job.cell.id.clone();
        match run_cell::<B>(job, device, shared, tell) {
            Ok(None) => tell(Event::Done { id }),
            Ok(Some((result, timing))) => {
                write_record(job, made_by, Ok((result, timing)))?;
                tell(Event::Done { id });
            }
            Err(error) => {
                let error = format!("{error:#}");
                if !job.verify {
                    write_record(job, made_by, Err(error.clone()))?;
                }
                tell(Event::Failed { id, error });
            }
        }
        Ok(())
    }
}

fn write_record(
    job: &Job,
    made_by: MadeBy,
    outcome: Result<(Outcome, record::Timing), String>,
) -> Result<()> {
    let (result, timing, error) = match outcome {
        Ok((result, timing)) => (Some(result), Some(timing), None),
        Err(error) => (None, None, Some(error)),
    };
    let record = Record { schema: SCHEMA, cell: job.cell.clone(), result, timing, made_by, error };
    let text = serde_json::to_string_pretty(&record)?;
    Ok(record::write_atomically(&Path::new(&job.folder).join("record.json"), text.as_bytes())?)
}

/// The story of a cell: data, model, training, scores, files. Nothing to record with `verify`.
fn run_cell<B: Train>(
    job: &Job,
    device: &B::Device,
    shared: &mut Shared,
    tell: &mut dyn FnMut(Event),
) -> Result<Option<(Outcome, record::Timing)>> {
    let clock = Instant::now();
    let Job { cell, folder, verify } = job;
    let (settings, folder) = (&cell.settings, Path::new(folder));
    let data = load(cell, *verify, shared)?;
    let encoder = &data.encoder;
    let policy = Policy::parse(&settings.policy, encoder.depth)?;
    let accounts = accounts(encoder, data.tags.len(), &policy);
    for (_, input) in cell.inputs.iter().filter(|(role, _)| role.starts_with("weights")) {
        if !shared.verified.contains(&input.sha256) {
            inputs::verify(input)?;
            shared.verified.insert(input.sha256.clone());
        }
    }
    let source = inputs::encoder_source(&cell.inputs, settings, encoder)?;
    let head = RandomInit::new(settings.seed, HEAD_STD);
    let model = Tagger::<B>::build(encoder, &data.vocabulary, data.tags.len(), [&*source, &head], device)?;
    let config = train_config(settings, *verify);
    let load_ms = ms(clock);
    tell(Event::Loaded(record::Loaded {
        id: cell.id.clone(),
        steps: data.train.examples.len().div_ceil(config.batch) as u64 * u64::from(config.epochs),
        sentences: data.sentences,
        tags: data.tags.clone(),
        accounts: accounts.clone(),
        sample: data.sample.clone(),
        load_ms,
    }));

    let run = Run { config: &config, encoder, policy: &policy, train: &data.train, dev: &data.dev };
    let mut metrics = File::create(folder.join("metrics.jsonl")).context("cannot write metrics.jsonl")?;
    let mut listen = |event: TrainEvent<'_>| {
        let event = translate(event, &cell.id, &config, &data);
        let line = serde_json::to_string(&event).expect("plain data always serialises");
        // The live metrics are a convenience; the record does not depend on them.
        let _ = writeln!(metrics, "{line}");
        tell(event);
    };
    let finished = train::<B>(&run, model, &mut listen)?;
    if *verify {
        return Ok(None);
    }

    let clock = Instant::now();
    let selected = &finished.epochs[finished.selected as usize - 1];
    let mut evaluations = vec![("dev", &data.dev, selected.dev.clone())];
    if let Some(test) = &data.test {
        let scored = evaluate(&finished.model, encoder, test, config.eval_tokens);
        evaluations.push(("test", test, scored));
    }
    let test_ms = ms(clock);
    let mut predictions = BTreeMap::new();
    if settings.save.predictions {
        for (split, _, evaluation) in &evaluations {
            let text = inputs::text(&cell.inputs, split)?;
            let bytes = prediction_lines(&text, &data.tags, evaluation)?;
            let file = format!("{split}.tsv");
            record::write_atomically(&folder.join(&file), bytes.as_bytes())?;
            let sha256 = record::sha256(bytes.as_bytes());
            predictions.insert((*split).to_string(), record::StoredFile { file, sha256 });
        }
    }
    if settings.save.model {
        save_model::<B>(cell, folder, &data, &finished, &*source)?;
    }
    let scores = evaluations.iter().map(|(split, data, e)| ((*split).to_string(), score(e, data))).collect();
    let timing = timing(&finished, &data, load_ms, test_ms, ms(clock) + load_ms);
    let outcome = Outcome {
        accounts,
        tags: data.tags.clone(),
        train: train_facts(&data.train),
        steps: finished.steps,
        epochs: finished.epochs.iter().map(|epoch| epoch_row(epoch, &data.dev)).collect(),
        train_loss: finished.losses.iter().map(loss_point).collect(),
        selected_epoch: finished.selected,
        scores,
        predictions,
        freezing: record::FreezeCheck {
            frozen: finished.freezing.frozen,
            moved: finished.freezing.moved,
            unmoved: finished.freezing.unmoved.clone(),
        },
    };
    Ok(Some((outcome, timing)))
}

/// Reads and aligns a cell's data, or finds it among what earlier cells left.
fn load(cell: &Cell, verify: bool, shared: &mut Shared) -> Result<Arc<Data>> {
    let Settings { data, seed, eval, .. } = &cell.settings;
    let seed = if data.fraction < 1.0 { *seed } else { 0 };
    let hashes: Vec<&str> = cell.inputs.values().map(|input| input.sha256.as_str()).collect();
    let key = serde_json::to_string(&(hashes, data, seed, eval, verify))?;
    if let Some(data) = shared.data.get(&key) {
        return Ok(data.clone());
    }
    let encoder = inputs::encoder_config(&cell.inputs)?;
    inputs::check_length(&cell.settings, &encoder)?;
    let aligner = inputs::aligner(&cell.inputs, data)?;
    let path = |role: &str| cell.inputs.get(role).map(|input| input.path.clone()).unwrap_or_default();
    let [train_text, dev_text] = ["train", "dev"].map(|role| inputs::text(&cell.inputs, role));
    let (train_text, dev_text) = (train_text?, dev_text?);
    let test_text =
        if eval.test { Some(inputs::text(&cell.inputs, "test").context("eval.test is on")?) } else { None };
    let mut train = corpus::choose(corpus::sentences(&train_text, &path("train"))?, data, seed);
    let mut dev = corpus::sentences(&dev_text, &path("dev"))?;
    let mut test = test_text.as_ref().map(|text| corpus::sentences(text, &path("test"))).transpose()?;
    let count = |sentences: &[_]| sentences.len() as u64;
    let tags = tag_set(&train);
    let sentences = [count(&train), count(&dev), test.as_deref().map_or(0, count)];
    if verify {
        train.truncate(cell.settings.train.batch);
        dev.truncate(cell.settings.train.batch);
        test = None;
    }
    let build = |name, sentences: &[_]| {
        let dataset = Dataset::build(&Split { name, sentences }, &aligner, &tags)?;
        if data.strict_tags && !dataset.unseen_tags.is_empty() {
            bail!(
                "{} has tags that train lacks: {}; without data.strict_tags they count as wrong answers",
                path(name),
                dataset.unseen_tags.join(", ")
            );
        }
        Ok(dataset)
    };
    let mut sets =
        (build("train", &train)?, build("dev", &dev)?, test.map(|t| build("test", &t)).transpose()?);
    let all = sets.0.ids().chain(sets.1.ids()).chain(sets.2.iter().flat_map(Dataset::ids));
    let vocabulary = Vocabulary::of(encoder.vocabulary.max(aligner.vocab_size()), all);
    if let Some(&id) = vocabulary.rows().last().filter(|&&id| id as usize >= encoder.vocabulary) {
        bail!(
            "the tokenizer gives the id {id}, but the encoder's word table has only {} rows; they do not belong together",
            encoder.vocabulary
        );
    }
    for set in [&mut sets.0, &mut sets.1].into_iter().chain(sets.2.as_mut()) {
        set.compact(&vocabulary);
    }
    let sample = sample(&train, &sets.0, &aligner);
    let data =
        Data { tags, train: sets.0, dev: sets.1, test: sets.2, vocabulary, encoder, sample, sentences };
    let data = Arc::new(data);
    shared.data.insert(key, data.clone());
    Ok(data)
}

/// The first train sentence of at least four words, as the model sees it.
fn sample(
    train: &[frostline_train::TaggedSentence<'_>],
    data: &Dataset,
    aligner: &frostline_align::Aligner,
) -> Sample {
    let at = train.iter().position(|s| (4..=12).contains(&s.words.len())).unwrap_or(0);
    let example = &data.examples[at];
    let mut labels = vec![String::new(); example.ids.len()];
    let tagged = train[at].tags.iter().filter(|&&tag| tag != "_");
    for (word, tag) in example.words.iter().zip(tagged) {
        if let Ok(position) = word {
            labels[*position as usize] = (*tag).to_string();
        }
    }
    Sample {
        words: train[at].words.iter().map(|&word| word.into()).collect(),
        subwords: aligner.tokens(&example.ids),
        labels,
    }
}

/// Parameters of a tagger under a policy, as a record shows them.
#[must_use]
pub fn accounts(encoder: &EncoderConfig, labels: usize, policy: &Policy) -> record::Accounts {
    let parameters: Vec<Parameter> =
        encoder.parameters(labels).into_iter().map(|(path, shape)| Parameter { path, shape }).collect();
    let accounts = Accounts::of(&parameters, policy);
    record::Accounts {
        total: accounts.total(),
        trainable: accounts.trainable(),
        groups: accounts
            .groups
            .iter()
            .map(|row| record::AccountRow {
                group: row.group.to_string(),
                total: row.total,
                trainable: row.trainable,
            })
            .collect(),
    }
}

fn train_config(settings: &Settings, verify: bool) -> TrainConfig {
    let o = &settings.optimizer;
    let on = |switch| switch == record::Switch::On;
    TrainConfig {
        seed: settings.seed,
        epochs: if verify { 1 } else { settings.train.epochs },
        batch: settings.train.batch,
        log_every: settings.train.log_every,
        select: match (settings.train.select, settings.train.select_by) {
            (record::Select::Last, _) => Select::Last,
            (record::Select::Best, record::SelectBy::Loss) => Select::LowestLoss,
            (record::Select::Best, record::SelectBy::Accuracy) => Select::HighestAccuracy,
        },
        optimizer: OptimizerConfig {
            lr: o.lr,
            beta1: o.beta1,
            beta2: o.beta2,
            eps: o.eps,
            weight_decay: o.weight_decay,
            clip_norm: o.clip_norm,
        },
        schedule: match settings.schedule.kind {
            record::ScheduleKind::Linear => ScheduleKind::Linear,
            record::ScheduleKind::Constant => ScheduleKind::Constant,
        },
        warmup: settings.schedule.warmup,
        dropout: DropoutConfig {
            head: settings.dropout.head,
            encoder: on(settings.dropout.encoder),
            frozen: on(settings.dropout.frozen),
        },
        eval_tokens: settings.eval.batch_tokens,
    }
}

/// A training event in the words of the protocol.
fn translate(event: TrainEvent<'_>, id: &str, config: &TrainConfig, data: &Data) -> Event {
    match event {
        TrainEvent::Loss { point, epoch, steps, tokens_per_s, times } => {
            let per_step = times.steps_ms.iter().sum::<f64>() / times.steps_ms.len() as f64;
            let per_eval = times.epochs_ms.iter().map(|[_, eval]| *eval).reduce(f64::max).unwrap_or(per_step);
            let evals = f64::from(config.epochs) - times.epochs_ms.len() as f64;
            let left = (steps - point.step) as f64 * per_step + evals * per_eval;
            Event::Step(record::StepEvent {
                id: id.into(),
                step: point.step,
                steps,
                epoch,
                loss_nats: point.loss_nats,
                lr: point.lr,
                tokens_per_s,
                left_s: left / 1e3,
            })
        }
        TrainEvent::Epoch(epoch) => Event::Epoch { id: id.into(), row: epoch_row(epoch, &data.dev) },
    }
}

fn epoch_row(epoch: &Epoch, dev: &Dataset) -> record::EpochRow {
    record::EpochRow {
        epoch: epoch.epoch,
        step: epoch.step,
        train_loss_nats: epoch.train_loss_nats,
        dev: score(&epoch.dev, dev),
    }
}

fn loss_point(point: &frostline_train::LossPoint) -> record::LossPoint {
    record::LossPoint { step: point.step, loss_nats: point.loss_nats, lr: point.lr }
}

fn score(evaluation: &Evaluation, data: &Dataset) -> record::Score {
    let tally = &evaluation.tally;
    record::Score {
        loss_nats: evaluation.loss_nats,
        sentences: data.examples.len() as u64,
        words: tally.words,
        correct: tally.correct,
        truncated: tally.truncated,
        vanished: tally.vanished,
        unseen: tally.unseen_scored,
        unseen_tags: data.unseen_tags.clone(),
    }
}

fn train_facts(train: &Dataset) -> record::TrainFacts {
    let mut facts = record::TrainFacts {
        sentences: train.examples.len() as u64,
        words: 0,
        subwords: train.subwords() as u64,
        truncated: 0,
        vanished: 0,
    };
    for word in train.examples.iter().flat_map(|example| &example.words) {
        facts.words += 1;
        match word {
            Err(frostline_score::Prediction::Truncated) => facts.truncated += 1,
            Err(frostline_score::Prediction::Vanished) => facts.vanished += 1,
            _ => {}
        }
    }
    facts
}

/// Every word with its gold and predicted tag: `sent_id`, word number, form, gold, predicted;
/// `-` where there is no prediction.
fn prediction_lines(text: &str, tags: &[String], evaluation: &Evaluation) -> Result<String> {
    use std::fmt::Write as _;
    let mut out = String::from("sent_id\tid\tform\tgold\tpredicted\n");
    let mut outcomes = evaluation.words.iter();
    for sentence in frostline_conllu::parse(text) {
        let sentence = sentence.map_err(|fault| anyhow::anyhow!("{fault}"))?;
        if sentence.words().next().is_none() {
            continue;
        }
        let mut words = outcomes.next().context("more sentences than predictions")?.iter();
        let id = sentence.sent_id().unwrap_or("-");
        for row in sentence.words().filter(|row| row.upos() != "_") {
            let outcome = words.next().context("more words than predictions")?;
            let predicted = match outcome.predicted {
                frostline_score::Prediction::Tag(tag) => &tags[tag],
                _ => "-",
            };
            writeln!(out, "{id}\t{}\t{}\t{}\t{predicted}", row.id(), row.form(), row.upos())?;
        }
    }
    Ok(out)
}

/// Writes the trained tagger as a Hugging Face folder `model/`.
fn save_model<B: Train>(
    cell: &Cell,
    folder: &Path,
    data: &Data,
    finished: &Finished<B>,
    source: &dyn frostline_model::Source,
) -> Result<()> {
    let target = folder.join("model");
    fs::create_dir_all(&target)?;
    let parameters = snapshot(&finished.model);
    let export = Export {
        config: &data.encoder,
        parameters: &parameters,
        vocabulary: &data.vocabulary,
        source,
        other_rows: finished.untouched_rows,
    };
    record::write_atomically(&target.join("model.safetensors"), &export.safetensors()?)?;
    let config = hugging_face_config(&inputs::text(&cell.inputs, "config")?, &data.tags)?;
    record::write_atomically(&target.join("config.json"), config.as_bytes())?;
    let files = [
        ("tokenizer", "tokenizer.json"),
        ("vocabulary", "vocab.txt"),
        ("tokenizer-config", "tokenizer_config.json"),
    ];
    for (role, file) in files {
        if cell.inputs.contains_key(role) {
            record::write_atomically(&target.join(file), inputs::text(&cell.inputs, role)?.as_bytes())?;
        }
    }
    Ok(())
}

fn timing<B: Train>(
    finished: &Finished<B>,
    data: &Data,
    load_ms: f64,
    test_ms: f64,
    rest_ms: f64,
) -> record::Timing {
    let times = &finished.times;
    let train_ms: f64 = times.steps_ms.iter().sum();
    let dev_ms: f64 = times.epochs_ms.iter().map(|[_, eval]| eval).sum();
    let mut steady: Vec<f64> = times.steps_ms.iter().skip(3).copied().collect();
    steady.sort_by(f64::total_cmp);
    let per_s = |count: f64| 1e3 * count / train_ms.max(1e-9);
    let epochs = finished.epochs.len() as f64;
    record::Timing {
        load_ms,
        train_ms,
        eval_ms: dev_ms + test_ms,
        total_ms: train_ms + dev_ms + rest_ms,
        step_ms_median: steady.get(steady.len() / 2).copied().unwrap_or(0.0),
        samples_per_s: per_s(data.train.examples.len() as f64 * epochs),
        steps_per_s: per_s(finished.steps as f64),
        tokens_per_s: per_s(data.train.subwords() as f64 * epochs),
        epochs: times
            .epochs_ms
            .iter()
            .map(|&[train_ms, eval_ms]| record::EpochTiming { train_ms, eval_ms })
            .collect(),
        peak_rss_mib: version::peak_rss_mib(),
    }
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
