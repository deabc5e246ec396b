//! One cell: from a job to a record in its folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use burn::module::AutodiffModule as _;
use frostline_freeze::Policy;
use frostline_kernels::{Precision, Train};
use frostline_model::{Export, RandomInit, Source, Tagger, hugging_face_config, snapshot};
use frostline_record::{self as record, Cell, Event, Job, MadeBy, Outcome, Record, SCHEMA, Settings};
use frostline_train::{
    DropoutConfig, Event as TrainEvent, Finished, OptimizerConfig, Run, ScheduleKind, Select, TrainConfig,
    evaluate, train,
};

use crate::backend::{Task, isa_on};
use crate::cost;
use crate::data::{Data, Shared, load};
use crate::inputs;
use crate::outcome::{
    accounts, epoch_row, loss_point, prediction_lines, score, timing, train_facts, translate,
};
use crate::prefix::Request;

/// Standard deviation of the head's first weights, as in Hugging Face's classifiers.
pub(crate) const HEAD_STD: f64 = 0.02;

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
    let Job { cell, folder, prefix_cache, verify } = job;
    let (settings, folder) = (&cell.settings, Path::new(folder));
    let data = load(cell, *verify, shared)?;
    let encoder = &data.encoder;
    let policy = Policy::parse(&settings.policy, encoder.depth)?;
    let accounts = accounts(encoder, data.tags.len(), &policy);
    let weights = cell.inputs.iter().filter(|(role, _)| role.starts_with("weights"));
    shared.verify(weights.map(|(_, input)| input))?;
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

    let isa = isa_on::<B>(device);
    let request = Request {
        cell,
        place: prefix_cache.as_ref().filter(|_| !*verify),
        policy: &policy,
        config: &config,
        data: &data,
        isa: &isa,
    };
    let splits = request.splits(&model.valid(), shared, tell)?;
    let run = Run {
        config: &config,
        encoder,
        policy: &policy,
        train: splits.view(&data.train, 0),
        dev: splits.view(&data.dev, 1),
    };
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
        let scored =
            evaluate(&finished.model, encoder, splits.view(test, 2), config.precision, config.eval_tokens);
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
    let timing = timing(&finished, &data, splits.used, load_ms, test_ms, ms(clock) + load_ms);
    let outcome = Outcome {
        accounts,
        tags: data.tags.clone(),
        train: train_facts(&data.train),
        cost: cost::of_cell(&data, &policy, config.batch),
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
            layer_decay: o.layer_decay,
            clip_norm: o.clip_norm,
        },
        schedule: match settings.schedule.kind {
            record::ScheduleKind::Linear => ScheduleKind::Linear,
            record::ScheduleKind::Cosine => ScheduleKind::Cosine,
            record::ScheduleKind::SlantedTriangular => ScheduleKind::SlantedTriangular,
            record::ScheduleKind::Constant => ScheduleKind::Constant,
        },
        warmup: settings.schedule.warmup,
        dropout: DropoutConfig {
            head: settings.dropout.head,
            encoder: on(settings.dropout.encoder),
            frozen: on(settings.dropout.frozen),
        },
        precision: match settings.train.precision {
            record::Precision::F32 => Precision::F32,
            record::Precision::Bf16 => Precision::Bf16,
        },
        eval_tokens: settings.eval.batch_tokens,
    }
}

/// Writes the trained tagger as a Hugging Face folder `model/`.
fn save_model<B: Train>(
    cell: &Cell,
    folder: &Path,
    data: &Data,
    finished: &Finished<B>,
    source: &dyn Source,
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

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
