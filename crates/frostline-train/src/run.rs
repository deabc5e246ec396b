//! One run from first step to last: the whole story is in [`train`].

use std::time::Instant;

use frostline_kernels::Train;
use frostline_model::Network;
use frostline_random::Stream;
use tracing::field::Empty;
use tracing::{debug_span, info_span};

use crate::freezer::Freezer;
use crate::losses::Losses;
use crate::mix::{PlannedStep, plan_epoch};
use crate::progress::Progress;
use crate::resume::{RunStart, resume, save};
use crate::step::{TrainingStep, wait_for_device};
use crate::task::Due;
use crate::{Evaluation, Finished, LrSchedule, Run, RunEvent, Saved, Sink, TrainError, stopping};

/// Trains a model, from the start or from where an earlier attempt was `saved`.
///
/// # Errors
/// If the loss is NaN or infinite, if `saved` is of another model, or if a frozen parameter changed (a bug).
///
/// # Panics
/// If a cached prefix contains something that is trained or dropped.
pub fn train<B: Train>(
    run: &Run<'_>,
    model: Network<B>,
    saved: Option<Saved>,
    sink: &mut dyn Sink,
) -> Result<Finished<B>, TrainError> {
    let Run { settings, tasks, headline, before, .. } = *run;
    let RunStart { mut model, mut optimizer, mut freezer, mut at, mut best } = resume(run, model, saved)?;
    let (epochs, steps) = (run.epochs(), run.steps());
    let schedule = LrSchedule::new(&settings.schedule, settings.optimizer.lr, steps);
    let (mut losses, mut last_checkpoint) = (Losses::new(), Instant::now());

    for epoch in at.epoch..=epochs {
        let span = info_span!("epoch", epoch, of = epochs, loss_nats = Empty, dev = Empty).entered();
        let batches = plan_epoch(tasks, headline, settings, before.0 + u64::from(epoch));
        while let Some(batch) = batches.get(at.done) {
            let clock = Instant::now();
            model = freezer.before_step(at.step, model, &mut optimizer);
            let lr = schedule.at(at.step);
            let step = pack_batch(run, &freezer, batch, at.step, lr);
            let subwords = step.subwords();
            let _span = debug_span!("step", step = at.step + 1, subwords, lr).entered();
            let result;
            (model, result) = step.forward_backward_update(model, &mut optimizer);
            losses.push(result.loss);
            at.add_step(batch.1.len(), subwords, result.unread_rows);
            let due = Due::after_step(run, &at, batches.len(), last_checkpoint);
            if due.reads_model() {
                model = optimizer.give_back(model);
            }
            model = freezer.after_step(at.step, result.norms, due.checkpoint, model, &mut optimizer);
            let waited_for = read_losses::<B>(run, due, &mut losses, &mut at, &schedule)?;
            at.times.add_step(step_ms(run, clock, &model), waited_for);
            if due.log && at.add_loss_point(lr) {
                sink.event(loss_event(&at, steps));
            }
            // The checkpoint comes last, so that a resumed run does not score this step again.
            if due.dev {
                score_dev(run, &model, &freezer, &schedule, &mut at, sink)?;
            }
            if due.checkpoint {
                let saved = || save(&at, &freezer, &model, best.as_ref(), &optimizer);
                last_checkpoint = hand_out_checkpoint(saved, sink);
            }
        }
        let dev = score_dev(run, &model, &freezer, &schedule, &mut at, sink)?;
        let row = at.add_epoch(batches.len(), &dev);
        span.record("loss_nats", row.train_loss_nats).record("dev", dev[headline].tally.accuracy_all_words());
        sink.event(RunEvent::Epoch(row, &dev, freezer.policy()));
        if stopping::is_selected(&settings.train, epochs, headline, &at.epochs) {
            at.best = Some((epoch, at.untouched));
            best = Some((model.clone(), Some(dev)));
        }
        (at.epoch, at.done) = (epoch + 1, 0);
        if stopping::stops_early(&settings.train, epochs, headline, &at.epochs) {
            break;
        }
    }
    Finished::select(run, &freezer, at, model, best, optimizer.states())
}

/// Packs the sentences of a task's batch for a step, counted from 0.
fn pack_batch<'a, B: Train>(
    run: &'a Run<'_>,
    freezer: &'a Freezer<'_, B>,
    (task, sentences): &PlannedStep,
    step: u64,
    lr: f64,
) -> TrainingStep<'a> {
    let Run { settings, encoder, before, .. } = *run;
    let masks = Stream::new(settings.seed, "dropout").child(before.1 + step);
    TrainingStep::new(encoder, settings, freezer.policy(), freezer.tasks()[*task], sentences, masks, lr)
}

/// Reads the losses that are due. Returns the number of steps for which this waits.
fn read_losses<B: Train>(
    run: &Run<'_>,
    due: Due,
    losses: &mut Losses<B::InnerBackend>,
    at: &mut Progress,
    schedule: &LrSchedule,
) -> Result<usize, TrainError> {
    if !due.reads_losses() {
        return Ok(1);
    }
    let waited_for = if B::k_queues() && !run.waits { losses.len() } else { 1 };
    losses.read_into(at, schedule)?;
    Ok(waited_for)
}

/// Scores every task's dev split, and reports the scores if they are due at this step. If the last update made the model's output
/// infinite, no later step's loss would show it.
fn score_dev<B: Train>(
    run: &Run<'_>,
    model: &Network<B>,
    freezer: &Freezer<'_, B>,
    schedule: &LrSchedule,
    at: &mut Progress,
    sink: &mut dyn Sink,
) -> Result<Vec<Evaluation>, TrainError> {
    let clock = Instant::now();
    let evaluation = debug_span!("evaluate", split = "dev");
    let dev = evaluation.in_scope(|| run.score(model, &freezer.tasks())).map_err(|error| match error {
        TrainError::NotFinite { .. } => {
            TrainError::Diverged { step: at.step, loss: f32::NAN, lr: schedule.at(at.step.saturating_sub(1)) }
        }
        other => other,
    })?;
    at.scoring_ms += elapsed_ms(clock);
    if run.dev_is_due(at.step) {
        sink.event(RunEvent::Dev { step: at.step, epoch: at.epoch, dev: &dev });
    }
    Ok(dev)
}

/// Hands out the run's state. Returns the time at which this was done.
fn hand_out_checkpoint(saved: impl FnOnce() -> Saved, sink: &mut dyn Sink) -> Instant {
    let _span = debug_span!("checkpoint").entered();
    sink.event(RunEvent::Checkpoint(&saved()));
    Instant::now()
}

/// The event of the last point of the loss curve, in a run of so many steps.
fn loss_event(at: &Progress, steps: u64) -> RunEvent<'_> {
    let point = &at.losses[at.losses.len() - 1];
    RunEvent::Loss { point, epoch: at.epoch, steps, tokens_per_s: at.tokens_per_s(), times: &at.times }
}

/// The time of a step in milliseconds. If the run waits for each step, its device first finishes it.
fn step_ms<B: Train>(run: &Run<'_>, clock: Instant, model: &Network<B>) -> f64 {
    if run.waits {
        wait_for_device(model);
    }
    elapsed_ms(clock)
}

fn elapsed_ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
