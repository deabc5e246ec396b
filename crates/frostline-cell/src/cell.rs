//! One cell: from a job to a record in its folder.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use burn::module::AutodiffModule as _;
use frostline_files::claim::Commit;
use frostline_freeze::ResolvedPolicy;
use frostline_kernels::Train;
use frostline_kernels::backend::{Arithmetic, Work};
use frostline_model::{EncoderConfig, Network, ParameterSource, RandomInit};
use frostline_record::{
    self as record, Baseline, Cell, Change, Event, Job, MadeBy, Outcome, Precision, Record, SCHEMA,
    SavedFiles, Settings, StageParameters, read_record,
};
use frostline_train::{Saved, extras};
use tracing::field::Empty;
use tracing::{debug_span, info_span};

use crate::busy::Busy;
use crate::data::CellData;
use crate::heads::{HEAD_STD, head_names};
use crate::history::{History, elapsed_ms};
use crate::load::load;
use crate::outcome::{self, accounts};
use crate::params::{Naming, initialised_names};
use crate::save::Trained;
use crate::shared::SharedData;
use crate::stage::{ResolvedStage, StageRun};
use crate::version;
use crate::{baselines, card, changes, cost, forecast, history, inputs};

/// Returns the record of a finished cell with its outcome. The models next to it are checked too.
///
/// # Errors
/// If the folder contains no record, the cell failed, or a saved file has changed.
pub(crate) fn read_finished(folder: &Path) -> Result<(Record, Outcome)> {
    let missing = "it holds no record.json; give the folder of a finished cell, such as OUT/cells/NAME";
    let record = read_record(folder)?.context(missing)?;
    let Some(result) = record.result.clone() else {
        let error = record.error.as_deref().unwrap_or("it says no reason");
        bail!("the cell failed ({error}); fix that and run the sweep again");
    };
    result.files.check(folder, None)?;
    Ok((record, result))
}

/// A job on some backend; reports events as it goes.
pub struct CellTask<'a> {
    /// The job to run.
    pub job: &'a Job,
    /// The program and machine that do it.
    pub made_by: MadeBy,
    /// Data kept from earlier cells.
    pub shared: &'a mut SharedData,
    /// Receives the events.
    pub tell: &'a mut dyn FnMut(Event),
}

impl Work for CellTask<'_> {
    type Output = Result<()>;

    /// Runs the cell. A failure is reported as an event; the parent writes its record once it does not retry
    /// the cell.
    fn run<B: Train>(self, device: &B::Device) -> Result<()> {
        let Self { job, made_by, shared, tell } = self;
        let folder = Path::new(&job.folder);
        let id = job.cell.id.clone();
        let Settings { lang, policy, seed, .. } = &job.cell.settings;
        let told = info_span!("cell", id, %lang, %policy, seed, error = Empty);
        let outcome = told.in_scope(|| run_cell::<B>(job, &made_by, device, shared, tell));
        if let Err(error) = &outcome {
            told.record("error", format!("{error:#}"));
        }
        // The parent may kill this process once it receives `Done`.
        drop(told);
        match outcome {
            Ok(None) => tell(Event::Done { id }),
            Ok(Some((result, timing))) => match write_record(job, made_by, result, timing)? {
                Commit::Done => {
                    record::remove_checkpoints(folder);
                    tell(Event::Done { id });
                }
                Commit::Late | Commit::Lost => tell(Event::Late { id }),
            },
            Err(error) => {
                let error = format!("{error:#}");
                tell(Event::Failed { id, error });
            }
        }
        Ok(())
    }
}

fn write_record(job: &Job, made_by: MadeBy, result: Outcome, timing: record::Timing) -> Result<Commit> {
    let (result, timing) = (Some(result), Some(timing));
    let record = Record { schema: SCHEMA, cell: job.cell.clone(), result, timing, made_by, error: None };
    if record.cell.settings.save.model && job.is_held() {
        // Nothing depends on it, and `frostline export` writes one if it is missing.
        if let Err(error) = card::write_all(job.folder.as_ref(), &record) {
            tracing::warn!("no model card: {error:#}");
        }
    }
    Ok(record.write_claimed(job.folder.as_ref(), job.claim.as_ref())?)
}

/// The parts of a cell that exist before its model.
struct Prepared {
    data: Arc<CellData>,
    stages: Vec<ResolvedStage>,
    /// The encoder's shape, with what the policies add.
    encoder: EncoderConfig,
    /// Initial weights of the heads.
    head: RandomInit,
}

impl Prepared {
    fn load(cell: &Cell, verify: bool, shared: &mut SharedData) -> Result<Self> {
        let data = load(cell, verify, shared)?;
        let stages = ResolvedStage::all(cell, &data, verify)?;
        let policies: Vec<&ResolvedPolicy> = stages.iter().map(|stage| stage.timeline.whole()).collect();
        let added = extras(&cell.settings, &policies, data.encoder.depth)?;
        let encoder = EncoderConfig { extras: added, ..data.encoder.clone() };
        Ok(Self { data, stages, encoder, head: RandomInit::new(cell.settings.seed, HEAD_STD) })
    }

    fn last_stage(&self) -> &ResolvedStage {
        &self.stages[self.stages.len() - 1]
    }

    fn steps(&self) -> u64 {
        self.stages.iter().map(|stage| stage.steps(&self.data)).sum()
    }

    /// Checks that the device has the precision that each stage asks for, if it has no fallback.
    fn check_precision(&self, isa: &str) -> Result<()> {
        for stage in &self.stages {
            let asked = stage.settings.train.precision;
            ensure!(
                asked != Precision::Tf32 || asked.is_native_in(isa),
                "train.precision is `tf32`, which this device ({isa}) lacks: it needs the backend `cuda` on a GPU whose \
                 tensor cores have TF32; use f32 or bf16"
            );
        }
        Ok(())
    }

    /// The event after loading. `source` contains the pretrained weights.
    fn loaded(&self, cell: &Cell, source: &dyn ParameterSource, resumed: u64, load_ms: f64) -> Event {
        let Self { data, encoder, .. } = self;
        let accounts = |stage: &ResolvedStage| accounts(encoder, &data.heads, stage.timeline.whole());
        let stage_parameters = |stage: &ResolvedStage| StageParameters {
            name: stage.name.to_string(),
            trainable: accounts(stage).trainable,
        };
        let names = Naming { heads: &head_names(&cell.settings), hugging_face: false };
        Event::Loaded(record::Loaded {
            id: cell.id.clone(),
            steps: self.steps(),
            sentences: data.sentences,
            tags: data.main().tags.clone(),
            accounts: accounts(self.last_stage()),
            stages: self.stages.iter().map(stage_parameters).collect(),
            initialised: initialised_names(encoder, &data.heads, names, source),
            sample: data.sample.clone(),
            load_ms,
            resumed,
        })
    }

    /// The model after so many stages, to be saved.
    fn saved_model<'a>(
        &'a self,
        cell: &'a Cell,
        policies: &'a [&'a ResolvedPolicy],
        untouched: f64,
    ) -> Trained<'a> {
        let Self { data, stages, encoder, .. } = self;
        let last = &stages[policies.len() - 1].settings;
        Trained { cell, data, encoder, last, policies, untouched }
    }

    /// The cell's result.
    fn cell_outcome(
        &self,
        backend: &str,
        history: History,
        baselines: BTreeMap<String, BTreeMap<String, Baseline>>,
        changes: Vec<Change>,
        files: SavedFiles,
    ) -> Outcome {
        let Self { data, encoder, .. } = self;
        Outcome {
            headline: data.main().name.to_string(),
            tasks: data.tasks.iter().map(|task| (task.name.to_string(), task.facts.clone())).collect(),
            encoder: Some(outcome::encoder(encoder)),
            cost: cost::of_stage(data, encoder, self.last_stage(), backend),
            steps: history.steps,
            epochs: history.epochs,
            train_loss: history.losses,
            dev_points: history.dev_points,
            baselines,
            stages: history.stages,
            changes,
            files,
        }
    }
}

/// Opens the cell's live metrics, which continue if the cell is resumed, and returns a sink that writes them and passes each event on.
fn with_metrics<'a>(
    folder: &Path,
    is_resumed: bool,
    tell: &'a mut dyn FnMut(Event),
) -> Result<impl FnMut(Event) + use<'a>> {
    let path = folder.join("metrics.jsonl");
    if !is_resumed {
        frostline_files::remove(&path)?;
    }
    let mut metrics = frostline_files::append(&path)?;
    Ok(move |event: Event| {
        if matches!(event, Event::Step(_) | Event::Epoch { .. } | Event::Dev { .. }) {
            let line = serde_json::to_string(&event).expect("plain data always serialises") + "\n";
            // The live metrics are a convenience; the record does not depend on them.
            let _ = metrics.write_all(line.as_bytes());
        }
        tell(event);
    })
}

/// Runs a cell from start to end: data, model, its stages, files. Returns `None` with `verify`, which leaves nothing to record.
fn run_cell<B: Train>(
    job: &Job,
    made_by: &MadeBy,
    device: &B::Device,
    shared: &mut SharedData,
    tell: &mut dyn FnMut(Event),
) -> Result<Option<(Outcome, record::Timing)>> {
    let (clock, busy) = (Instant::now(), Busy::start());
    let Job { cell, folder, verify, .. } = job;
    let (settings, folder) = (&cell.settings, Path::new(folder));
    let span = debug_span!("load").entered();
    let prepared = Prepared::load(cell, *verify, shared)?;
    let Prepared { data, stages, encoder, head } = &prepared;
    let weights =
        || cell.inputs.iter().filter(|(role, _)| role.starts_with("weights")).map(|(_, input)| input);
    shared.verified.check(weights())?;
    let source = inputs::encoder_source(&cell.inputs, settings, encoder)?;
    let mut model = Network::<B>::build(encoder, &data.vocabulary, &data.heads, [&*source, head], device)?;
    shared.verified.check_unchanged(weights())?;
    let arithmetic = Arithmetic::of::<B>(device);
    prepared.check_precision(&version::isa_text(&arithmetic))?;
    let machine = version::machine(&arithmetic);
    let (mut history, mut saved) =
        if *verify { Default::default() } else { history::resume(folder, &cell.id, &machine) };
    history.steps_in_all = prepared.steps();
    let load_ms = elapsed_ms(clock);
    drop(span);
    let resumed = history.steps + saved.as_ref().map_or(0, Saved::step);
    tell(prepared.loaded(cell, &*source, resumed, load_ms));

    let mut tell = with_metrics(folder, saved.is_some(), tell)?;
    let policies: Vec<&ResolvedPolicy> = stages.iter().map(|stage| stage.timeline.whole()).collect();
    let finished_stages = history.stages.len();
    for (number, stage) in stages.iter().enumerate().skip(finished_stages) {
        let last = number + 1 == stages.len();
        let at = StageRun { job, data, encoder, stage, number, machine: &machine, last };
        let finished;
        (model, finished) = at.run(model, saved.take(), &mut history, shared, &mut tell)?;
        history.add_stage(finished);
        if settings.save.stages && !last && !*verify {
            ensure!(job.is_held(), "another process has this cell now");
            let names = [format!("stage-{}", stage.name), format!("stage-{}-peft", stage.name)];
            let trained = prepared.saved_model(cell, &policies[..=number], history.untouched);
            trained.save_as([&names[0], &names[1]], &model, &*source, folder)?;
        }
    }
    if *verify {
        return Ok(None);
    }

    let (clock, span) = (Instant::now(), debug_span!("save").entered());
    ensure!(job.is_held(), "another process has this cell now");
    if settings.save.model {
        prepared.saved_model(cell, &policies, history.untouched).save(&model, &*source, folder)?;
    }
    let last = prepared.last_stage();
    let changes = match settings.save.changes {
        true => changes::measure_changes(data, encoder, &model, [&*source, head], &last.settings)?,
        false => Vec::new(),
    };
    if settings.save.model || settings.save.stages || settings.save.changes {
        // The baselines have read the weights again.
        shared.verified.check_unchanged(weights())?;
    }
    let files = SavedFiles::of(folder)?;
    let saving_ms = elapsed_ms(clock);
    drop((span, model));

    // Baselines come last: they do not delay the first step, and a resumed cell does not fit them each time.
    let (clock, span) = (Instant::now(), debug_span!("baselines").entered());
    let SharedData { verified, probes, .. } = shared;
    let pretrained = || {
        let sources: [&dyn ParameterSource; 2] = [&*source, head];
        let model = Network::<B>::build(&data.encoder, &data.vocabulary, &data.heads, sources, device)?;
        verified.check_unchanged(weights())?;
        Ok(model.valid())
    };
    let baselines = baselines::of_cell(cell, data, pretrained, probes)?;
    drop(span);
    let mut timing = history.timing([load_ms, elapsed_ms(clock)], saving_ms, busy.end());
    let reads_prefix = timing.prefix.state.is_read();
    timing.predicted_step_ms = forecast::step_ms(data, encoder, stages, made_by, reads_prefix);
    let outcome = prepared.cell_outcome(&made_by.backend, history, baselines, changes, files);
    Ok(Some((outcome, timing)))
}
