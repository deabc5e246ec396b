//! Describes a cell for the display: which parameters learn once it is loaded, and how fast it was once it is done.

use frostline_record::{Loaded, Record, StageParameters};

use crate::units::{count_noun, group_thousands};

/// The most names of newly initialised parameters that are printed.
const MOST_NAMES: usize = 8;

/// Describes what each stage trains and freezes, and which parameters no file of the encoder contains.
pub(crate) fn describe_parameters(loaded: &Loaded) -> String {
    let total = loaded.accounts.total;
    let several = loaded.stages.len() > 1;
    let of_stage = |stage: &StageParameters| {
        let name = if several { format!("{}: ", stage.name) } else { String::new() };
        let (trainable, frozen) =
            (group_thousands(stage.trainable), group_thousands(total.saturating_sub(stage.trainable)));
        format!("{name}{trainable} trainable | {frozen} frozen")
    };
    let stages: Vec<String> = loaded.stages.iter().map(of_stage).collect();
    let mut text = format!("learns    {}\n", stages.join("; then "));
    let names = &loaded.initialised;
    if let Some(more) = names.len().checked_sub(MOST_NAMES).filter(|&more| more > 0) {
        text += &format!(
            "new       newly initialised, not from the encoder's files: {} and {}\n",
            names[..MOST_NAMES].join(", "),
            count_noun(more, "other tensor")
        );
    } else if !names.is_empty() {
        text += &format!("new       newly initialised, not from the encoder's files: {}\n", names.join(", "));
    }
    text
}

/// Describes how fast a cell trained, and all operations of its matrix products; of a cell with several stages, whose
/// steps differ, only the former.
pub(crate) fn describe_throughput(record: &Record) -> Option<String> {
    let (result, timing) = record.result.as_ref().zip(record.timing.as_ref())?;
    let mut text = format!("{:.1} sentences/s, {:.2} steps/s", timing.samples_per_s, timing.steps_per_s);
    if result.stages.len() == 1 {
        let gflop = result.cost.gflop_per_step * result.steps as f64;
        text += &match gflop {
            gflop if gflop < 1e3 => format!(", {gflop:.0} GFLOP in all"),
            gflop => format!(", {:.1} TFLOP in all", gflop / 1e3),
        };
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use frostline_record::{Accounts, Sample};

    use super::*;

    fn loaded_event(stages: &[(&str, u64)], initialised: usize) -> Loaded {
        let stage = |&(name, trainable): &(&str, u64)| StageParameters { name: name.into(), trainable };
        Loaded {
            id: String::new(),
            steps: 9,
            sentences: [3, 2, 2],
            tags: Vec::new(),
            accounts: Accounts { total: 66_955_010, trainable: 66_955_010, groups: Vec::new() },
            stages: stages.iter().map(stage).collect(),
            initialised: (0..initialised).map(|number| format!("p{number}")).collect(),
            sample: Sample { words: Vec::new(), subwords: Vec::new(), labels: Vec::new() },
            load_ms: 1.0,
            resumed: 0,
        }
    }

    #[test]
    fn every_stage_has_what_it_trains_and_freezes() {
        let text = describe_parameters(&loaded_event(&[("head", 592_130), ("full", 66_955_010)], 4));
        insta::assert_snapshot!(text.trim_end(), @r"
        learns    head: 592,130 trainable | 66,362,880 frozen; then full: 66,955,010 trainable | 0 frozen
        new       newly initialised, not from the encoder's files: p0, p1, p2, p3
        ");
        let text = describe_parameters(&loaded_event(&[("train", 592_130)], 100));
        insta::assert_snapshot!(text.trim_end(), @r"
        learns    592,130 trainable | 66,362,880 frozen
        new       newly initialised, not from the encoder's files: p0, p1, p2, p3, p4, p5, p6, p7 and 92 other tensors
        ");
        assert_eq!(describe_parameters(&loaded_event(&[("train", 1)], 0)).lines().count(), 1);
    }
}
