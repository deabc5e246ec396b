//! Forward passes of a run: what each one drops, and in which precision it computes.

use frostline_freeze::{Group, ResolvedPolicy};
use frostline_kernels::Dropout;
use frostline_model::{BlockDropout, EncoderConfig, Pass};
use frostline_random::Stream;
use frostline_record::Settings;

/// The number of the first block's site on relative positions; smaller numbers belong to sites of every encoder.
const RELATIVE_SITES: u64 = 1 << 32;

/// A training step's pass: every dropout site, in the encoder and before the classifier.
pub(crate) fn training_pass(
    step: Stream,
    encoder: &EncoderConfig,
    policy: &ResolvedPolicy,
    settings: &Settings,
) -> Pass {
    let dropout = &settings.dropout;
    let acts = |group| dropout.encoder.is_on() && (dropout.frozen.is_on() || !policy.freezes_group(group));
    let head = dropout_site(step, 1, dropout.head);
    Pass { precision: settings.train.precision, head, ..encoder_dropout(step, encoder, &acts) }
}

/// A pass that drops nothing.
pub(crate) fn scoring_pass(encoder: &EncoderConfig, settings: &Settings) -> Pass {
    Pass { precision: settings.train.precision, ..Pass::plain(encoder.depth) }
}

/// The encoder's dropout sites of one step, in the groups in which dropout `acts`.
pub(crate) fn encoder_dropout(step: Stream, encoder: &EncoderConfig, acts: &dyn Fn(Group) -> bool) -> Pass {
    let inside =
        |group, number, rate| if acts(group) { dropout_site(step, number, rate) } else { Dropout::OFF };
    let block = |block: usize| {
        let (group, first) = (Group::Block(block), 2 + 3 * block as u64);
        BlockDropout {
            attention: inside(group, first, encoder.attention_dropout),
            attention_output: inside(group, first + 1, encoder.attention_output_dropout),
            output: inside(group, first + 2, encoder.dropout),
            relative: inside(group, RELATIVE_SITES + block as u64, encoder.dropout),
        }
    };
    Pass {
        embeddings: inside(Group::Embeddings, 0, encoder.embedding_dropout),
        blocks: (0..encoder.depth).map(block).collect(),
        ..Pass::plain(0)
    }
}

fn dropout_site(step: Stream, number: u64, rate: f64) -> Dropout {
    if rate == 0.0 { Dropout::OFF } else { Dropout::new(rate as f32, step.child(number).key()) }
}
