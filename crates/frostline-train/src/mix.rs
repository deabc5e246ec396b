//! Which batch of which task comes when: an epoch's order, decided before it.

use frostline_random::Stream;
use frostline_record::{Mixing, Settings};

use crate::{Run, Task};

/// One step: a task's place in the run's list, and the sentences.
pub(crate) type PlannedStep = (usize, Vec<usize>);

/// The steps of an epoch, counted from 1 over all stages. Tasks of weight 0 have none.
///
/// A pure function of seed, epoch and sizes: a run that is resumed from a checkpoint plans the same.
pub(crate) fn plan_epoch(
    tasks: &[Task<'_>],
    headline: usize,
    settings: &Settings,
    epoch: u64,
) -> Vec<PlannedStep> {
    let config = &settings.train;
    let mut queues: Vec<BatchQueue> = (0..tasks.len())
        .filter(|&task| tasks[task].weight > 0.0)
        .map(|task| {
            // The headline's order does not depend on what else is learned.
            let name =
                if task == headline { "shuffle".into() } else { format!("shuffle {}", tasks[task].name) };
            let stream = Stream::new(settings.seed, &name).child(epoch);
            let size = tasks[task].train.data.examples.len();
            BatchQueue { task, size, batch: config.batch, stream, order: Vec::new(), at: 0 }
        })
        .collect();
    let draw = Stream::new(settings.seed, "mixing").child(epoch);
    let order = match config.mixing {
        Mixing::Turns => in_turns(&queues),
        Mixing::Proportional => shuffle_queues(&queues, draw),
        Mixing::Temperature => draw_queues(&queues, draw, config.temperature),
    };
    order.into_iter().map(|queue| queues[queue].next()).collect()
}

impl Run<'_> {
    /// How many of its steps each task has, as they are drawn.
    #[must_use]
    pub fn steps_by_task(&self) -> Vec<u64> {
        let mut found = vec![0; self.tasks.len()];
        for epoch in 1..=u64::from(self.epochs()) {
            for (task, _) in plan_epoch(self.tasks, self.headline, self.settings, self.before.0 + epoch) {
                found[task] += 1;
            }
        }
        found
    }
}

/// One batch of each queue in turn, until all are through.
fn in_turns(queues: &[BatchQueue]) -> Vec<usize> {
    let rounds = queues.iter().map(BatchQueue::batches).max().unwrap_or(0);
    let left = |round| (0..queues.len()).filter(move |&queue| round < queues[queue].batches());
    (0..rounds).flat_map(left).collect()
}

/// As many batches of each queue as it has, shuffled.
fn shuffle_queues(queues: &[BatchQueue], draw: Stream) -> Vec<usize> {
    let owners = queues.iter().enumerate();
    let owners: Vec<usize> =
        owners.flat_map(|(queue, of)| std::iter::repeat_n(queue, of.batches())).collect();
    draw.permutation(owners.len()).into_iter().map(|at| owners[at]).collect()
}

/// As many steps as there are batches; each draws its queue with a chance that goes with its size to the
/// power of one over the temperature.
fn draw_queues(queues: &[BatchQueue], draw: Stream, temperature: f64) -> Vec<usize> {
    let steps: usize = queues.iter().map(BatchQueue::batches).sum();
    let chances: Vec<f64> =
        queues.iter().map(|queue| libm::pow(queue.size as f64, 1.0 / temperature)).collect();
    let sum: f64 = chances.iter().sum();
    (0..steps as u64).map(|step| pick_place(&chances, draw.unit(step) * sum)).collect()
}

/// The place at which so much of the chances, added up, is used; the last where rounding leaves some.
fn pick_place(chances: &[f64], mut left: f64) -> usize {
    let chosen = chances.iter().position(|chance| {
        left -= chance;
        left < 0.0
    });
    chosen.unwrap_or(chances.len() - 1)
}

/// A task's batches, without end: each round is shuffled anew.
struct BatchQueue {
    task: usize,
    size: usize,
    batch: usize,
    stream: Stream,
    /// Of the running round.
    order: Vec<usize>,
    at: usize,
}

impl BatchQueue {
    fn batches(&self) -> usize {
        self.size.div_ceil(self.batch)
    }

    fn next(&mut self) -> PlannedStep {
        let (round, place) = (self.at / self.batches(), self.at % self.batches());
        self.at += 1;
        if place == 0 {
            let stream = if round == 0 { self.stream } else { self.stream.child(round as u64) };
            self.order = stream.permutation(self.size);
        }
        let end = self.size.min((place + 1) * self.batch);
        (self.task, self.order[place * self.batch..end].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use frostline_record::TrainSettings;

    use super::*;
    use crate::{Dataset, Example};

    fn dataset(size: usize) -> Dataset {
        let example = Example { ids: vec![], rows: vec![], words: vec![], gold: vec![] };
        Dataset { examples: vec![example; size], unseen_tags: vec![] }
    }

    fn planned(mixing: Mixing, weights: [f64; 2], epoch: u64) -> Vec<PlannedStep> {
        planned_at(mixing, 2.0, weights, epoch)
    }

    fn planned_at(mixing: Mixing, temperature: f64, weights: [f64; 2], epoch: u64) -> Vec<PlannedStep> {
        let sets = [dataset(21), dataset(70)];
        let names = ["a", "b"];
        let tasks: Vec<Task<'_>> = (0..2)
            .map(|i| {
                let view = (&sets[i]).into();
                Task { name: names[i], head: i, weight: weights[i], train: view, dev: view }
            })
            .collect();
        let mut settings = Settings::default();
        settings.train = TrainSettings { batch: 10, mixing, temperature, ..settings.train };
        plan_epoch(&tasks, 0, &settings, epoch)
    }

    fn tasks(planned: &[PlannedStep]) -> String {
        planned.iter().map(|(task, _)| char::from(b'a' + *task as u8)).collect()
    }

    #[test]
    fn turns_alternate_until_the_smaller_task_is_through() {
        assert_eq!(tasks(&planned(Mixing::Turns, [1.0, 1.0], 1)), "abababbbbb");
        assert_eq!(tasks(&planned(Mixing::Turns, [0.0, 1.0], 1)), "bbbbbbb");
    }

    #[test]
    fn every_sentence_comes_once_in_an_epoch() {
        for mixing in [Mixing::Turns, Mixing::Proportional] {
            let planned = planned(mixing, [1.0, 1.0], 3);
            for (task, size) in [(0, 21), (1, 70)] {
                let mut seen: Vec<usize> =
                    planned.iter().filter(|step| step.0 == task).flat_map(|step| step.1.clone()).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..size).collect::<Vec<_>>());
            }
        }
        assert_ne!(planned(Mixing::Proportional, [1.0; 2], 1), planned(Mixing::Proportional, [1.0; 2], 2));
    }

    #[test]
    fn a_high_temperature_evens_tasks_out() {
        let share = |temperature: f64| {
            let all: String = (0..200)
                .map(|epoch| tasks(&planned_at(Mixing::Temperature, temperature, [1.0; 2], epoch)))
                .collect();
            all.matches('a').count() as f64 / all.len() as f64
        };
        for (temperature, expected) in [(1.0, 21.0 / 91.0), (1e9, 0.5)] {
            assert!((share(temperature) - expected).abs() < 0.03, "{temperature}: {}", share(temperature));
        }
    }

    #[test]
    fn another_task_leaves_the_headlines_batches_as_they_are() {
        let alone = planned(Mixing::Turns, [1.0, 0.0], 2);
        let both = planned(Mixing::Turns, [1.0, 1.0], 2);
        assert_eq!(alone, both.into_iter().filter(|step| step.0 == 0).collect::<Vec<_>>());
    }
}
