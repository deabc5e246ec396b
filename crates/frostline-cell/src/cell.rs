//! One cell: from a job to a record in its folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use burn::module::AutodiffModule as _;
use frostline_freeze::{ResolvedPolicy, Timeline};
use frostline_kernels::Train;
use frostline_model::{EncoderConfig, Network, RandomInit};
use frostline_record::{
    self as record, Checkpoints, Event, Job, MadeBy, Outcome, Record, SCHEMA, Settings, StageOutcome,
    read_record,
};
use frostline_train::{
    Finished, Run, RunEvent, Saved, Task as Learned, evaluate, extras, features, settling_rule, timeline,
    train,
};

use crate::data::{Data, TaskData};
use crate::heads::head_names;
use crate::load::load;
use crate::outcome::{accounts, epoch_row, loss_point, prediction_file, prediction_lines, score, settled};
use crate::prefix::{Request, Splits};
use crate::save::Trained;
use crate::shared::Shared;
use crate::story::Story;
use crate::version::isa_on;
use crate::{baselines, changes, cost, inputs, story};
use frostline_kernels::backend::Work;

/// Standard deviation of the head's first weights, as in Hugging Face's classifiers.
pub(crate) const HEAD_STD: f64 = 0.02;

/// The record of a finished cell, and what it found.
///
/// # Errors
/// Where the folder holds no record, or the cell failed.
pub(crate) fn finished(folder: &Path) -> Result<(Record, Outcome)> {
    let missing = "it holds no record.json; give the folder of a finished cell, such as OUT/cells/NAME";
    let record = read_record(folder)?.context(missing)?;
    let Some(result) = record.result.clone() else {
        let error = record.error.as_deref().unwrap_or("it says no reason");
        bail!("the cell failed ({error}); mend that and run the sweep again");
    };
    Ok((record, result))
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

impl Work for CellTask<'_> {
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
                story::forget(folder);
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

/// The story of a cell: data, model, its stages, files. Nothing to record with `verify`.
fn run_cell<B: Train>(
    job: &Job,
    device: &B::Device,
    shared: &mut Shared,
    tell: &mut dyn FnMut(Event),
) -> Result<Option<(Outcome, record::Timing)>> {
    let clock = Instant::now();
    let Job { cell, folder, verify, .. } = job;
    let (settings, folder) = (&cell.settings, Path::new(folder));
    let data = load(cell, *verify, shared)?;
    let stages = Stage::all(settings, &data, *verify)?;
    let policies: Vec<&ResolvedPolicy> = stages.iter().map(|stage| stage.timeline.last()).collect();
    let added = extras(settings, &policies, data.encoder.depth)?;
    let encoder = &EncoderConfig { extras: added, ..data.encoder.clone() };
    let weights = cell.inputs.iter().filter(|(role, _)| role.starts_with("weights"));
    shared.verified.check(weights.map(|(_, input)| input))?;
    let source = inputs::encoder_source(&cell.inputs, settings, encoder)?;
    let head = RandomInit::new(settings.seed, HEAD_STD);
    let mut model = Network::<B>::build(encoder, &data.vocabulary, &data.heads, [&*source, &head], device)?;
    let isa = isa_on::<B>(device);
    let (mut story, mut saved) =
        if *verify { Default::default() } else { story::resume(folder, &cell.id, &isa) };
    story.steps_in_all = stages.iter().map(|stage| stage.steps(&data)).sum();
    let load_ms = ms(clock);
    let last = &stages[stages.len() - 1];
    tell(Event::Loaded(record::Loaded {
        id: cell.id.clone(),
        steps: story.steps_in_all,
        sentences: data.sentences,
        tags: data.main().tags.clone(),
        accounts: accounts(encoder, &data.heads, last.timeline.last()),
        sample: data.sample.clone(),
        load_ms,
        resumed: story.steps + saved.as_ref().map_or(0, Saved::step),
    }));
    let goes_on = saved.is_some();
    let mut metrics = File::options()
        .create(true)
        .write(true)
        .append(goes_on)
        .truncate(!goes_on)
        .open(folder.join("metrics.jsonl"))
        .context("cannot write metrics.jsonl")?;
    let mut tell = |event: Event| {
        if matches!(event, Event::Step(_) | Event::Epoch { .. }) {
            let line = serde_json::to_string(&event).expect("plain data always serialises");
            // The live metrics are a convenience; the record does not depend on them.
            let _ = writeln!(metrics, "{line}");
        }
        tell(event);
    };
    let clock = Instant::now();
    let baselines = if *verify {
        Default::default()
    } else {
        baselines::of_cell(cell, &data, &model.valid(), &mut shared.probes)?
    };
    let baselines_ms = ms(clock);
    let begun = story.stages.len();
    for (number, stage) in stages.iter().enumerate().skip(begun) {
        let last = number + 1 == stages.len();
        let at = At { job, data: &data, encoder, stage, number, isa: &isa, last };
        let finished;
        (model, finished) = at.run(model, saved.take(), &mut story, shared, &mut tell)?;
        story.add_stage(finished);
    }
    if *verify {
        return Ok(None);
    }
    let clock = Instant::now();
    if settings.save.model {
        let trained = Trained {
            cell,
            data: &data,
            encoder,
            last: &last.settings,
            policies: &policies,
            untouched: story.untouched,
        };
        trained.save(&model, &*source, folder)?;
    }
    let changes = match settings.save.changes {
        true => changes::measure(&data, encoder, &model, [&*source, &head], &last.settings)?,
        false => Vec::new(),
    };
    let timing = story.timing([load_ms, baselines_ms], ms(clock));
    let outcome = Outcome {
        headline: data.main().name.clone(),
        tasks: data.tasks.iter().map(|task| (task.name.clone(), task.facts.clone())).collect(),
        cost: cost::of_cell(&data, encoder, last.timeline.last(), last.settings.train.batch),
        steps: story.steps,
        epochs: story.epochs,
        train_loss: story.losses,
        baselines,
        stages: story.stages,
        changes,
    };
    Ok(Some((outcome, timing)))
}

/// One stage, resolved.
struct Stage {
    name: String,
    settings: Settings,
    timeline: Timeline,
    /// Blocks of the prefix that no stage up to this one changes.
    constant: Option<usize>,
}

impl Stage {
    fn all(settings: &Settings, data: &Data, verify: bool) -> Result<Vec<Self>> {
        let mut stages: Vec<Self> = Vec::new();
        for (name, mut settings) in settings.in_stages()? {
            if verify {
                settings.train.epochs = settings.train.epochs.min(1);
            }
            let heads = head_names(&settings);
            let policy = settings.policy.resolve(data.encoder.depth, &heads)?;
            let before = stages.last().map_or(Some(usize::MAX), |stage| stage.constant);
            let constant = before.zip(policy.constant_prefix()).map(|(before, now)| before.min(now));
            let mut stage = Self { name, timeline: policy.clone().into(), constant, settings };
            stage.timeline = timeline(&policy, &stage.settings, stage.steps(data));
            stages.push(stage);
        }
        if stages.iter().any(|stage| stage.timeline.last().mixes()) {
            // A mix that is there in one stage is there in all, and reads every block.
            stages.iter_mut().for_each(|stage| stage.constant = stage.constant.map(|_| 0));
        }
        Ok(stages)
    }

    fn learned<'a>(&self, data: &'a Data, splits: Option<&'a Splits>) -> Vec<Learned<'a>> {
        let learned = |(number, task): (usize, &'a TaskData)| {
            let view = |set: &'a _, split| match splits {
                Some(splits) => splits.view(set, number, split),
                None => set.into(),
            };
            Learned {
                name: &task.name,
                head: task.head,
                weight: self.settings.tasks[&task.name].weight,
                train: view(&task.train, 0),
                dev: view(&task.dev.set, 1),
            }
        };
        data.tasks.iter().enumerate().map(learned).collect()
    }

    fn steps(&self, data: &Data) -> u64 {
        self.as_run(data, &data.encoder, &self.learned(data, None), (0, 0)).steps()
    }

    fn as_run<'a>(
        &'a self,
        data: &'a Data,
        encoder: &'a EncoderConfig,
        tasks: &'a [Learned<'a>],
        before: (u64, u64),
    ) -> Run<'a> {
        let run = Run::new(&self.settings, encoder, &self.timeline, tasks);
        let settling = settling_rule(self.timeline.last(), &self.settings);
        Run { headline: data.headline, before, settling, ..run }
    }
}

/// A stage and where it stands in its cell.
struct At<'a> {
    job: &'a Job,
    data: &'a Data,
    /// With what policies add.
    encoder: &'a EncoderConfig,
    stage: &'a Stage,
    number: usize,
    isa: &'a str,
    last: bool,
}

impl At<'_> {
    /// Trains, and scores what came of it.
    fn run<B: Train>(
        &self,
        model: Network<B>,
        saved: Option<Saved>,
        story: &mut Story,
        shared: &mut Shared,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(Network<B>, StageOutcome)> {
        let Self { job, data, encoder, stage, .. } = *self;
        let Job { cell, prefix_cache, verify, .. } = job;
        let request = Request {
            cell,
            place: prefix_cache.as_ref().filter(|_| !*verify),
            constant: stage.constant,
            settings: &stage.settings,
            data,
            isa: self.isa,
        };
        let splits = request.splits(&model.valid(), &mut shared.prefixes, tell)?;
        story.add_prefix(splits.used);
        let tasks = stage.learned(data, Some(&splits));
        let mut run = stage.as_run(data, encoder, &tasks, story.before());
        run.memory = prefix_cache.as_ref().map_or(0, |place| (place.memory_mib << 20) as usize);
        run.checkpoints = if *verify { Checkpoints::NEVER } else { job.checkpoints };
        let mut listen = |event: RunEvent<'_>| match event {
            RunEvent::Checkpoint(saved) => story.keep(Path::new(&job.folder), &cell.id, self.isa, saved),
            RunEvent::Loss { point, epoch, tokens_per_s, times, .. } => {
                let point = loss_point(point, story.steps);
                tell(Event::Step(story.step_event(
                    &cell.id,
                    &point,
                    epoch,
                    stage.settings.train.epochs,
                    tokens_per_s,
                    times,
                )));
                story.losses.push(point);
            }
            RunEvent::Epoch(epoch, dev, policy) => {
                let trainable = accounts(encoder, &data.heads, policy).trainable;
                let row = epoch_row(
                    epoch,
                    dev,
                    data,
                    [self.number as u64, story.epochs_before, story.steps],
                    trainable,
                );
                tell(Event::Epoch { id: cell.id.clone(), row: row.clone() });
                story.epochs.push(row);
            }
        };
        let finished = train::<B>(&run, model, saved, &mut listen)?;
        let outcome =
            if *verify { StageOutcome::default() } else { self.outcome(&finished, &splits, story)? };
        story.count(&finished, data, &tasks);
        Ok((finished.model, outcome))
    }

    /// Scores and predictions of the selected epoch's model.
    fn outcome<B: Train>(
        &self,
        finished: &Finished<B>,
        splits: &Splits,
        story: &mut Story,
    ) -> Result<StageOutcome> {
        let Self { job, data, encoder, stage, .. } = *self;
        let folder = Path::new(&job.folder);
        let save = &stage.settings.save;
        let clock = Instant::now();
        let model = finished.model.valid();
        let mut tasks = BTreeMap::new();
        for (number, (task, dev)) in data.tasks.iter().zip(&finished.dev).enumerate() {
            let test = task.test.as_ref().map(|test| {
                let view = splits.view(&test.set, number, 2);
                evaluate(&model, task.head, encoder, view, &stage.settings)
            });
            let mut found = record::TaskOutcome::default();
            for ((split, scored), evaluation) in
                task.scored().zip([Some(dev), test.as_ref()].into_iter().flatten())
            {
                found.scores.insert(split.into(), score(evaluation, scored, task));
                if save.predictions {
                    let text = prediction_lines(task, scored, evaluation)?;
                    let name = (number != data.headline).then_some(task.name.as_str());
                    let file = prediction_file((!self.last).then_some(&stage.name), name, split);
                    record::write_atomically(&folder.join(&file), text.as_bytes())?;
                    let sha256 = record::sha256(text.as_bytes());
                    found.predictions.insert(split.into(), record::StoredFile { file, sha256 });
                }
            }
            tasks.insert(task.name.clone(), found);
        }
        if save.features && self.last {
            let bytes = self.features(&model, splits)?;
            record::write_atomically(&folder.join("features.safetensors"), &bytes)?;
        }
        story.scored_ms += ms(clock);
        Ok(StageOutcome {
            name: stage.name.clone(),
            policy: stage.settings.policy.to_string(),
            accounts: accounts(encoder, &data.heads, stage.timeline.last()),
            steps: finished.steps,
            selected_epoch: (story.epochs_before + u64::from(finished.selected)) as u32,
            tasks,
            freezing: finished.freezing.clone(),
            settled: settled(&finished.settled),
        })
    }

    /// What goes into the headline's head, \[words or sentences, H\] for each split.
    fn features<B: frostline_kernels::Kernels>(
        &self,
        model: &Network<B>,
        splits: &Splits,
    ) -> Result<Vec<u8>> {
        use safetensors::{Dtype, tensor::TensorView};
        let data = self.data;
        let hidden = data.encoder.hidden;
        let mut all = Vec::new();
        for (number, (name, set)) in
            ["train", "dev", "test"].into_iter().zip(data.main().splits()).enumerate()
        {
            let Some(set) = set else { continue };
            let view = splits.view(set, data.headline, number);
            let rows = features(model, &data.encoder, view, &self.stage.settings);
            let bytes: Vec<u8> = rows.iter().flat_map(|value| value.to_le_bytes()).collect();
            all.push((name, vec![rows.len() / hidden, hidden], bytes));
        }
        let views = all
            .iter()
            .map(|(name, shape, bytes)| Ok((*name, TensorView::new(Dtype::F32, shape.clone(), bytes)?)));
        Ok(safetensors::serialize(views.collect::<Result<Vec<_>>>()?, None)?)
    }
}

pub(crate) fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
