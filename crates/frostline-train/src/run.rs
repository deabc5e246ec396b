//! One run from first step to last: the whole story is in [`train`].

use std::time::Instant;

use burn::prelude::Backend;
use frostline_freeze::{Group, LayerDecay};
use frostline_kernels::Train;
use frostline_model::Network;
use frostline_random::Stream;
use frostline_record::Settings;
use tracing::field::Empty;
use tracing::{debug_span, info_span};

use crate::batch::Batch;
use crate::freezer::Freezer;
use crate::losses::Losses;
use crate::mix::plan;
use crate::pass;
use crate::progress::Progress;
use crate::resume::{Start, resume, save};
use crate::step::{Step, wait};
use crate::{Evaluation, Finished, LrSchedule, Optimizer, Run, RunEvent, Saved, Sink, TrainError, stopping};

/// Trains a model, from the start or from where an earlier attempt was `saved`.
///
/// # Errors
/// Where the loss is NaN or infinite; where what was saved is of another model; where a frozen
/// parameter changed (a bug).
///
/// # Panics
/// Where a view's prefix holds what learns or is dropped.
pub fn train<B: Train>(
    run: &Run<'_>,
    model: Network<B>,
    saved: Option<Saved>,
    sink: &mut dyn Sink,
) -> Result<Finished<B>, TrainError> {
    let Run { settings, encoder, tasks, headline, before, .. } = *run;
    run.check_prefixes();
    let mut optimizer = Optimizer::new(settings.optimizer.clone(), encoder.depth);
    let Start { model, mut best, mut at } = resume(model, saved, &mut optimizer)?;
    let (mut freezer, mut model) = Freezer::new(run, at.step, std::mem::take(&mut at.settling), model);
    let (epochs, steps) = (run.epochs(), run.steps());
    let schedule = LrSchedule::new(&settings.schedule, settings.optimizer.lr, steps);
    let masks = Stream::new(settings.seed, "dropout");
    let mut last_checkpoint = Instant::now();
    let mut losses = Losses::new();

    for epoch in at.epoch..=epochs {
        let told = info_span!("epoch", epoch, of = epochs, loss_nats = Empty, dev = Empty).entered();
        let planned = plan(tasks, headline, settings, before.0 + u64::from(epoch));
        while at.done < planned.len() {
            let clock = Instant::now();
            model = freezer.before_step(at.step, model);
            let (task, sentences) = &planned[at.done];
            let task = freezer.tasks()[*task];
            let parts = Batch::parts(encoder, task.train, sentences, settings.train.accumulate);
            let subwords: usize = parts.iter().map(|part| part.input.pack().len()).sum();
            let told = debug_span!("step", step = at.step + 1, subwords, lr = Empty).entered();
            let pass = pass::training(masks.child(before.1 + at.step), encoder, freezer.policy(), settings);
            let lr = schedule.at(at.step);
            let learns = freezer.policy().learns_through(task.head);
            let step = Step { encoder, head: task.head, weight: task.weight, parts, pass: &pass, lr, learns };
            let taken;
            (model, taken) = step.take(model, &mut optimizer);
            at.add_step(sentences.len(), subwords);
            losses.push(taken.loss);
            told.record("lr", lr);
            // A step without a gradient decays nothing, nor does what is frozen.
            if taken.updated && !freezer.policy().freezes("encoder.embeddings.word") {
                at.untouched *= 1.0 - embeddings_decay(settings, encoder.depth, lr);
            }
            let saves = run.checkpoint_is_due(at.step, last_checkpoint);
            let ends = at.done == planned.len();
            let scores = !ends && run.dev_is_due(at.step);
            if saves || scores || ends {
                model = optimizer.give_back(model);
            }
            model = freezer.after_step(at.step, taken.norms, saves, model, &mut optimizer);
            let logs = at.step.is_multiple_of(settings.train.log_every) || at.step == steps;
            let reads = logs || saves || scores || ends;
            let unread = losses.len();
            if reads {
                read(&mut losses, &mut at, &schedule)?;
            }
            if run.waits {
                wait(&model);
            }
            at.times.steps_ms.push(ms(clock));
            if reads && B::k_queues() && !run.waits {
                at.times.share_last(unread);
            }
            if logs && at.add_loss_point(lr) {
                let (point, times) = (&at.losses[at.losses.len() - 1], &at.times);
                sink.event(RunEvent::Loss { point, epoch, steps, tokens_per_s: at.tokens_per_s(), times });
            }
            // Before the checkpoint, from which this score is not made again.
            if scores {
                let clock = Instant::now();
                let dev = score_dev(run, &model, &freezer, &at, &schedule)?;
                at.scoring_ms += ms(clock);
                sink.event(RunEvent::Dev { step: at.step, epoch, dev: &dev });
            }
            if saves {
                debug_span!("checkpoint").in_scope(|| {
                    sink.event(RunEvent::Checkpoint(&save(&at, &freezer, &model, best.as_ref(), &optimizer)));
                });
                last_checkpoint = Instant::now();
            }
        }
        let clock = Instant::now();
        let dev = score_dev(run, &model, &freezer, &at, &schedule)?;
        if run.dev_is_due(at.step) {
            sink.event(RunEvent::Dev { step: at.step, epoch, dev: &dev });
        }
        at.add_epoch(epoch, planned.len(), &dev, ms(clock));
        let row = &at.epochs[at.epochs.len() - 1];
        told.record("loss_nats", row.train_loss_nats).record("dev", dev[headline].tally.accuracy_all_words());
        sink.event(RunEvent::Epoch(&at.epochs[at.epochs.len() - 1], &dev, freezer.policy()));
        let stops = stopping::stops(&settings.train, epochs, headline, &at.epochs);
        if stopping::is_selected(&settings.train, epochs, headline, &at.epochs) {
            at.best = Some((epoch, at.untouched));
            best = Some((model.clone(), Some(dev)));
        }
        (at.epoch, at.done) = (epoch + 1, 0);
        if stops {
            break;
        }
    }
    Finished::select(run, &freezer, at, model, best, optimizer.states())
}

/// Every task's dev split. Where the last update made the model's output infinite, no later step's loss would tell.
fn score_dev<B: Train>(
    run: &Run<'_>,
    model: &Network<B>,
    freezer: &Freezer<'_, B>,
    at: &Progress,
    schedule: &LrSchedule,
) -> Result<Vec<Evaluation>, TrainError> {
    let evaluation = debug_span!("evaluate", split = "dev");
    evaluation.in_scope(|| run.score(model, &freezer.tasks())).map_err(|error| match error {
        TrainError::NotFinite { .. } => {
            TrainError::Diverged { step: at.step, loss: f32::NAN, lr: schedule.at(at.step.saturating_sub(1)) }
        }
        other => other,
    })
}

/// Adds the losses that are still on the device. A step without labels has none, and no part in a mean: counted as 0, it
/// would make the loss look smaller than it is.
fn read<B: Backend>(
    losses: &mut Losses<B>,
    at: &mut Progress,
    schedule: &LrSchedule,
) -> Result<(), TrainError> {
    let losses = losses.read();
    for (step, loss) in (at.step + 1 - losses.len() as u64..).zip(losses) {
        let Some(loss) = loss else { continue };
        if !loss.is_finite() {
            return Err(TrainError::Diverged { step, loss, lr: schedule.at(step - 1) });
        }
        at.add_loss(loss);
    }
    Ok(())
}

/// The share by which weight decay shrinks the embeddings in one step.
fn embeddings_decay(settings: &Settings, depth: usize, lr: f64) -> f64 {
    let rates = LayerDecay::new(settings.optimizer.layer_decay, depth);
    lr * rates.of(Group::Embeddings) * settings.optimizer.decay()
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
