//! Which epoch is a run's result, and whether a run ends before its last one: both follow from the dev scores so far, so
//! that a run that is resumed decides as one that was never stopped.

use frostline_record::{Select, SelectBy, TrainSettings};

use crate::Epoch;

/// Whether the last epoch so far is the one to keep, of at most so many.
pub(crate) fn is_selected(settings: &TrainSettings, of: u32, headline: usize, epochs: &[Epoch]) -> bool {
    let (last, before) = epochs.split_last().expect("at least one epoch");
    match settings.select {
        Select::Last => last.epoch == of || stops_early(settings, of, headline, epochs),
        Select::Best => before.iter().all(|epoch| is_better(settings.select_by, headline, last, epoch)),
    }
}

/// Whether the run ends after the last epoch so far, of at most so many: as many epochs as `train.patience` allows were no
/// better than the best one before them.
pub(crate) fn stops_early(settings: &TrainSettings, of: u32, headline: usize, epochs: &[Epoch]) -> bool {
    let done = epochs.last().map_or(0, |epoch| epoch.epoch);
    let since_best = epochs.len() - 1 - best_epoch(settings.select_by, headline, epochs);
    settings.patience > 0 && done < of && since_best >= settings.patience as usize
}

/// The place of the best epoch; the earlier one where two are equal.
fn best_epoch(by: SelectBy, headline: usize, epochs: &[Epoch]) -> usize {
    (1..epochs.len()).fold(
        0,
        |best, at| {
            if is_better(by, headline, &epochs[at], &epochs[best]) { at } else { best }
        },
    )
}

fn is_better(by: SelectBy, headline: usize, one: &Epoch, other: &Epoch) -> bool {
    let [one, other] = [one, other].map(|epoch| epoch.dev[headline]);
    match by {
        SelectBy::Loss => one.loss_nats < other.loss_nats,
        SelectBy::Accuracy => one.tally.correct > other.tally.correct,
    }
}

#[cfg(test)]
mod tests {
    use frostline_score::Tally;

    use super::*;
    use crate::Scored;

    /// Epochs with these dev losses and right words.
    fn epochs(dev: &[(f64, u64)]) -> Vec<Epoch> {
        let scored =
            |&(loss_nats, correct)| Scored { loss_nats, tally: Tally { correct, ..Tally::default() } };
        let epoch = |(at, dev)| Epoch { epoch: at as u32 + 1, step: 0, train_loss_nats: 0.0, dev: vec![dev] };
        dev.iter().map(scored).enumerate().map(epoch).collect()
    }

    /// The epochs after which a run of six would stop, and those that would be kept at their end.
    fn decided(patience: u32, select: Select, by: SelectBy) -> (Vec<usize>, Vec<usize>) {
        let all = epochs(&[(0.9, 5), (0.7, 6), (0.7, 8), (0.8, 8), (0.9, 9), (0.6, 9)]);
        let settings = TrainSettings { patience, select, select_by: by, ..TrainSettings::default() };
        let ends = |decide: fn(&TrainSettings, u32, usize, &[Epoch]) -> bool| {
            (1..=6).filter(|end| decide(&settings, 6, 0, &all[..*end])).collect()
        };
        (ends(stops_early), ends(is_selected))
    }

    #[test]
    fn a_run_stops_after_as_many_epochs_without_a_better_one() {
        use Select::{Best, Last};
        use SelectBy::{Accuracy, Loss};
        assert_eq!(decided(0, Last, Loss), (vec![], vec![6]));
        // An equal loss is no better one. The last epoch that is run is the result.
        assert_eq!(decided(1, Last, Loss), (vec![3, 4, 5], vec![3, 4, 5, 6]));
        assert_eq!(decided(2, Best, Loss), (vec![4, 5], vec![1, 2, 6]));
        assert_eq!(decided(3, Best, Loss), (vec![5], vec![1, 2, 6]));
        assert_eq!(decided(1, Best, Accuracy), (vec![4], vec![1, 2, 3, 5]));
        // The last epoch of all stops nothing.
        assert_eq!(decided(4, Best, Accuracy), (vec![], vec![1, 2, 3, 5]));
    }
}
