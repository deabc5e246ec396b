//! One stage of a cell: its run, then scoring and writing.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use burn::module::AutodiffModule as _;
use frostline_freeze::{PrefixMode, Timeline};
use frostline_kernels::Train;
use frostline_model::{EncoderConfig, Network};
use frostline_record::{self as record, Cell, Checkpoints, Event, FileName, Job, Settings, StageOutcome};
use frostline_train::{
    Finished, Run, RunEvent, Saved, Task as Learned, evaluate, features, settling_rule, timeline, train,
};
use tracing::{debug_span, info_span};

use crate::blocks::blocks_of_cell;
use crate::data::{CellData, TaskData};
use crate::heads::head_names;
use crate::history::{History, elapsed_ms};
use crate::outcome::{accounts, dev_point, epoch_row, loss_point, prediction_lines, score, settled_groups};
use crate::prefix::{PrefixRequest, Splits};
use crate::shared::SharedData;
use crate::stop;

/// One stage, resolved.
pub(crate) struct ResolvedStage {
    pub name: FileName,
    pub settings: Settings,
    pub timeline: Timeline,
    /// Blocks of the prefix that no stage up to this one changes.
    pub constant: Option<usize>,
}

impl ResolvedStage {
    /// Returns the stages of a cell, in order; with `verify`, each has at most one epoch.
    ///
    /// # Errors
    /// If a policy does not fit the encoder.
    pub fn all(cell: &Cell, data: &CellData, verify: bool) -> Result<Vec<Self>> {
        let mut stages: Vec<Self> = Vec::new();
        for (name, mut settings) in cell.settings.in_stages()? {
            if verify {
                settings.train.epochs = settings.train.epochs.min(1);
            }
            let heads = head_names(&settings);
            let policy = settings.policy.resolve(blocks_of_cell(cell, &data.encoder), &heads)?;
            let before = stages.last().map_or(Some(usize::MAX), |stage| stage.constant);
            let constant = before.zip(policy.constant_prefix()).map(|(before, now)| before.min(now));
            let mut stage = Self { name, timeline: policy.clone().into(), constant, settings };
            stage.timeline = timeline(&policy, &stage.settings, stage.steps(data));
            stages.push(stage);
        }
        if stages.iter().any(|stage| stage.timeline.whole().mixes()) {
            // A mix that is there in one stage is there in all, and reads every block.
            stages.iter_mut().for_each(|stage| stage.constant = stage.constant.map(|_| 0));
        }
        Ok(stages)
    }

    fn learned<'a>(&self, data: &'a CellData, splits: Option<&'a Splits>) -> Vec<Learned<'a>> {
        let learned = |(number, task): (usize, &'a TaskData)| {
            let view = |set: &'a _, split| match splits {
                Some(splits) => splits.view(set, number, split),
                None => set.into(),
            };
            Learned {
                name: &task.name,
                head: task.head,
                weight: self.settings.tasks[task.name.as_str()].weight,
                train: view(&task.train, 0),
                dev: view(&task.dev.set, 1),
            }
        };
        data.tasks.iter().enumerate().map(learned).collect()
    }

    /// Returns how the prefix is computed in this stage, if there is a cache for it.
    pub fn prefix_mode(&self, has_cache: bool) -> PrefixMode {
        let dropout = &self.settings.dropout;
        let acts = dropout.encoder.is_on() && dropout.frozen.is_on();
        match self.constant {
            Some(blocks) if has_cache && !acts => PrefixMode::Cached(blocks),
            _ => PrefixMode::Computed,
        }
    }

    /// Returns the tasks that the stage trains.
    pub fn tasks<'a>(&self, data: &'a CellData) -> Vec<&'a TaskData> {
        let learns = |task: &&TaskData| self.settings.tasks[task.name.as_str()].weight > 0.0;
        data.tasks.iter().filter(learns).collect()
    }

    /// Returns the share of the stage's steps for each of [`ResolvedStage::tasks`].
    pub fn shares(&self, data: &CellData) -> Vec<f64> {
        let tasks = self.learned(data, None);
        let steps = self.as_run(data, &data.encoder, &tasks, (0, 0)).steps_by_task();
        let own = tasks.iter().zip(steps).filter(|(task, _)| task.weight > 0.0);
        let own: Vec<f64> = own.map(|(_, steps)| steps as f64).collect();
        let all: f64 = own.iter().sum();
        own.iter().map(|steps| if all > 0.0 { steps / all } else { 1.0 / own.len() as f64 }).collect()
    }

    /// Steps of the stage.
    pub fn steps(&self, data: &CellData) -> u64 {
        self.as_run(data, &data.encoder, &self.learned(data, None), (0, 0)).steps()
    }

    /// How often it scores dev.
    pub fn dev_passes(&self, data: &CellData) -> u64 {
        let (epochs, every) = (u64::from(self.settings.train.epochs), self.settings.eval.every_steps);
        let steps = self.steps(data);
        let ends = |step: &u64| step.is_multiple_of(steps / epochs.max(1));
        let within = (1..steps).filter(|step| every > 0 && step.is_multiple_of(every) && !ends(step));
        epochs + within.count() as u64
    }

    fn as_run<'a>(
        &'a self,
        data: &'a CellData,
        encoder: &'a EncoderConfig,
        tasks: &'a [Learned<'a>],
        before: (u64, u64),
    ) -> Run<'a> {
        let run = Run::new(&self.settings, encoder, &self.timeline, tasks);
        let settling = settling_rule(self.timeline.whole(), &self.settings);
        Run { headline: data.headline, before, settling, ..run }
    }
}

/// A stage and its position in its cell.
pub(crate) struct StageRun<'a> {
    pub job: &'a Job,
    pub data: &'a CellData,
    /// The encoder, including parameters that policies add.
    pub encoder: &'a EncoderConfig,
    pub stage: &'a ResolvedStage,
    pub number: usize,
    pub machine: &'a str,
    pub last: bool,
}

impl StageRun<'_> {
    /// Trains the stage and scores the result.
    ///
    /// # Errors
    /// If training diverges or a file cannot be written.
    pub fn run<B: Train>(
        &self,
        model: Network<B>,
        saved: Option<Saved>,
        history: &mut History,
        shared: &mut SharedData,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(Network<B>, StageOutcome)> {
        let Self { job, data, encoder, stage, .. } = *self;
        let Job { cell, prefix_cache, verify, .. } = job;
        let _told = info_span!("stage", name = %stage.name, policy = %stage.settings.policy).entered();
        let request = PrefixRequest {
            cell,
            place: prefix_cache.as_ref().filter(|_| !*verify),
            constant: stage.constant,
            settings: &stage.settings,
            data,
            machine: self.machine,
        };
        let prefix = || request.splits(&model.valid(), &mut shared.prefixes, tell);
        let splits = debug_span!("prefix").in_scope(prefix)?;
        history.add_prefix(splits.used);
        let tasks = stage.learned(data, Some(&splits));
        let mut run = stage.as_run(data, encoder, &tasks, history.before());
        run.memory = prefix_cache.as_ref().map_or(0, |place| (place.memory_mib << 20) as usize);
        run.checkpoints = if *verify { Checkpoints::NEVER } else { job.checkpoints };
        run.asked = (!*verify).then_some(&stop::ASKED);
        let mut listen = |event: RunEvent<'_>| match event {
            RunEvent::Checkpoint(saved) => {
                // Training on altered rows must not continue.
                if splits.check_unchanged().is_ok() {
                    history.keep(job, self.machine, saved);
                }
                stop::end_if_asked();
            }
            RunEvent::Loss { point, epoch, tokens_per_s, times, .. } => {
                let point = loss_point(point, history.steps);
                tell(Event::Step(history.step_event(
                    &cell.id,
                    &point,
                    epoch,
                    stage.settings.train.epochs,
                    tokens_per_s,
                    times,
                )));
                history.losses.push(point);
            }
            RunEvent::Epoch(epoch, dev, policy) => {
                let trainable = accounts(encoder, &data.heads, policy).trainable;
                let row = epoch_row(
                    epoch,
                    dev,
                    data,
                    [self.number as u64, history.epochs_before, history.steps],
                    trainable,
                );
                tell(Event::Epoch { id: cell.id.clone(), row: row.clone() });
                history.epochs.push(row);
            }
            RunEvent::Dev { step, epoch, dev } => {
                let before = [history.epochs_before, history.steps];
                let point = dev_point(step, epoch, dev, data, before);
                tell(Event::Dev { id: cell.id.clone(), point: point.clone() });
                history.dev_points.push(point);
            }
        };
        let finished = train::<B>(&run, model, saved, &mut listen)?;
        // The cell's files belong to another process if it has taken over the cell.
        ensure!(job.is_held(), "another process has this cell now");
        let outcome =
            if *verify { StageOutcome::default() } else { self.task_outcome(&finished, &splits, history)? };
        splits.check_unchanged()?;
        history.count(&finished);
        Ok((finished.model, outcome))
    }

    /// Scores and predictions of the selected epoch's model.
    fn task_outcome<B: Train>(
        &self,
        finished: &Finished<B>,
        splits: &Splits,
        history: &mut History,
    ) -> Result<StageOutcome> {
        let Self { job, data, encoder, stage, .. } = *self;
        let folder = Path::new(&job.folder);
        let save = &stage.settings.save;
        let _told = debug_span!("evaluate", split = "test").entered();
        let clock = Instant::now();
        let model = finished.model.valid();
        let mut tasks = BTreeMap::new();
        for (number, (task, dev)) in data.tasks.iter().zip(&finished.dev).enumerate() {
            let test = task.test.as_ref().map(|test| {
                let view = splits.view(&test.set, number, 2);
                evaluate(&model, task.head, encoder, view, &stage.settings)
            });
            let test = test.transpose()?;
            let mut found = record::TaskOutcome::default();
            for ((split, scored), evaluation) in
                task.scored().zip([Some(dev), test.as_ref()].into_iter().flatten())
            {
                found.scores.insert(split.into(), score(evaluation, scored, task));
                if save.predictions {
                    let text = prediction_lines(task, scored, evaluation)?;
                    let name = (number != data.headline).then_some(&task.name);
                    let file = record::prediction_file((!self.last).then_some(&stage.name), name, split);
                    frostline_files::write(&folder.join(&file), text.as_bytes())?;
                    found.predictions.insert(split.into(), record::StoredFile::new(file, text.as_bytes()));
                }
            }
            tasks.insert(task.name.to_string(), found);
        }
        if save.features && self.last {
            let bytes = self.head_inputs(&model, splits)?;
            frostline_files::write(&folder.join("features.safetensors"), &bytes)?;
        }
        history.scored_ms += elapsed_ms(clock);
        let ran = finished.epochs.len() as u32;
        let stopped = ran > 0 && ran < stage.settings.train.epochs;
        Ok(StageOutcome {
            name: stage.name.to_string(),
            policy: stage.settings.policy.to_string(),
            accounts: accounts(encoder, &data.heads, stage.timeline.whole()),
            steps: finished.steps,
            selected_epoch: (history.epochs_before + u64::from(finished.selected)) as u32,
            tasks,
            freezing: finished.freezing.clone(),
            settled: settled_groups(&finished.settled),
            stopped_early: stopped.then_some(history.epochs_before as u32 + ran),
        })
    }

    /// Returns the inputs of the headline's head, \[words or sentences, H\] for each split.
    fn head_inputs<B: frostline_kernels::Kernels>(
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
