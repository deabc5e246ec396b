//! Faults that can be found before any cell starts, by all that costs little.

use std::collections::HashSet;

use anyhow::{Result, bail, ensure};
use frostline_freeze::{PeftMethod, ResolvedPolicy};
use frostline_model::EncoderConfig;
use frostline_record::{Cell, CellFacts, HeadKind, Init, Settings, TaskSettings};
use frostline_train::extras;

use crate::blocks::{blocks_of_cell, encoder_blocks};
use crate::corpora::{Corpora, PADDING, TaskSentences, drawn_by};
use crate::corpus::Portions;
use crate::document::NO_FEATURE;
use crate::heads::{head_kind, head_names};
use crate::{facts, inputs};

/// The most kinds of data that are described: a plan of learning curves has one for each size.
const MOST_KINDS: usize = 12;

/// Checks cells, each thing once: configs, policies, tokenizers, the weights' shapes, treebanks, and with
/// `strict_tags` their tags. Returns facts about the data of the first kinds of cells, regardless of their
/// seeds, so that the caller can print warnings that are no faults.
///
/// # Errors
/// The first fault, naming file and place.
pub fn cells(cells: &[Cell]) -> Result<Vec<CellFacts>> {
    check_cells(cells, &mut Corpora::default())
}

/// [`cells`], with the files that a worker has parsed.
pub(crate) fn check_cells(cells: &[Cell], corpora: &mut Corpora) -> Result<Vec<CellFacts>> {
    let mut seen = HashSet::new();
    for cell in cells {
        let settings = &cell.settings;
        let key = (
            &settings.policy,
            &settings.stages,
            &settings.tasks,
            (settings.save.model, settings.save.stages),
            &cell.inputs,
        );
        if seen.insert(serde_json::to_string(&key)?) {
            let encoder = inputs::encoder_config(&cell.inputs)?;
            check_export(settings, &encoder)?;
            let depth = encoder.depth;
            for (_, stage) in settings.in_stages()? {
                let policy = stage.policy.resolve(blocks_of_cell(cell, &encoder), &head_names(settings))?;
                check_biases(&policy, &encoder)?;
                check_unfreezing(&stage, &encoder)?;
                extras(settings, &[&policy], depth)?;
            }
        }
        let key = (&settings.data, &settings.tasks, &settings.encoder, drawn_by(cell), &cell.inputs);
        if seen.insert(serde_json::to_string(&key)?) {
            check_inputs(cell, corpora)?;
        }
    }
    describe_data(cells, corpora)
}

/// Returns facts about the data of the first kinds of cells.
fn describe_data(cells: &[Cell], corpora: &mut Corpora) -> Result<Vec<CellFacts>> {
    let (mut seen, mut all) = (HashSet::new(), Vec::new());
    for cell in cells {
        let settings = &cell.settings;
        let tokenizer = inputs::TOKENIZER.map(|role| cell.inputs.get(role).map(|input| &input.sha256));
        let kind = serde_json::to_string(&(&settings.lang, &settings.data, &settings.tasks, tokenizer))?;
        if seen.len() < MOST_KINDS && seen.insert(kind) {
            // A sentence that cannot be aligned fails only its own cells, whose records contain the error.
            all.extend(facts::of_cell(cell, corpora).ok());
        }
    }
    Ok(all)
}

/// Checks that the model can be saved if the settings require it.
fn check_export(settings: &Settings, encoder: &EncoderConfig) -> Result<()> {
    let foreign = |task: &TaskSettings| !encoder.family.has_head(head_kind(task.head));
    if let Some((name, task)) =
        settings.tasks.iter().find(|(_, task)| (settings.save.model || settings.save.stages) && foreign(task))
    {
        let [has, fits] = match task.head {
            HeadKind::Distilbert => ["distilbert", "pooler"],
            _ => ["pooler", "distilbert"],
        };
        bail!(
            "`tasks.{name}.head = \"{has}\"` stands on an encoder of the family {:?}, for which transformers has no such \
             model to save: write \"{fits}\", or leave `save.model` and `save.stages` off",
            encoder.family
        );
    }
    Ok(())
}

/// Checks that the encoder has biases if the policy trains them alone.
fn check_biases(policy: &ResolvedPolicy, encoder: &EncoderConfig) -> Result<()> {
    let methods = &policy.policy().tuning().methods;
    if encoder.architecture.has_no_bias() && methods.iter().all(|method| *method == PeftMethod::BitFit) {
        ensure!(
            methods.is_empty(),
            "`{policy}` trains biases alone, but the encoder's blocks have none; write `+norms` or `+lora`"
        );
    }
    Ok(())
}

/// Checks that blocks can thaw one after the other, if the settings require it.
fn check_unfreezing(settings: &Settings, encoder: &EncoderConfig) -> Result<()> {
    ensure!(
        settings.unfreeze.every == 0 || !encoder_blocks(encoder).share_weights(),
        "`unfreeze.every` is {}, so that blocks thaw one after the other, but blocks of this encoder have the same weights; leave it at \
         0, or use the policy `lp-ft`",
        settings.unfreeze.every
    );
    Ok(())
}

/// Whether a cell's files can be read and belong together.
fn check_inputs(cell: &Cell, corpora: &mut Corpora) -> Result<()> {
    let settings = &cell.settings;
    let encoder = inputs::encoder_config(&cell.inputs)?;
    inputs::check_length(settings, &encoder)?;
    let weights = || match settings.encoder.init {
        Init::Pretrained => Ok(inputs::checkpoint(&cell.inputs, settings, &encoder)?.check(&encoder)?),
        Init::Random => Ok(()),
    };
    let data = || {
        let aligner = corpora.aligner(&cell.inputs, &settings.data)?;
        inputs::check_ids(&cell.inputs, &aligner.aligner, &encoder)?;
        corpora.tasks(cell)?.iter().try_for_each(|task| check_sentences(settings, task))
    };
    let (weights, data) = rayon::join(weights, data);
    weights.and(data)
}

/// Checks that a task has sentences to train on and to score, and with `strict_tags` the same tags in both.
fn check_sentences(settings: &Settings, task: &TaskSentences) -> Result<()> {
    let TaskSentences { name, settings: TaskSettings { labels, .. }, portions, tags } = task;
    let Portions { train, dev, test } = portions;
    let learned = train.sentences.len();
    ensure!(
        learned > 0,
        "no sentence is left to learn from for the task `{name}`; check the train file and `data.leave_out`"
    );
    // A word without the feature is labelled as such, so that no value at all is no label at all.
    let is_label = |tag: &str| tag != PADDING && !(tag == NO_FEATURE && labels.starts_with("feats."));
    ensure!(
        tags.iter().any(|tag| is_label(tag)),
        "{}: none of the {learned} train sentences is labelled for the task `{name}` (`labels = \"{labels}\"`); choose \
         labels that the file has",
        train.file.path
    );
    for scored in [Some(dev), test.as_ref()].into_iter().flatten() {
        let path = &scored.file.path;
        if scored.sentences.is_empty() {
            let why = match settings.data.scored_genre.is_empty() {
                true => "",
                false => ": `data.scored_genre` leaves none",
            };
            bail!("{path} has no sentence to score{why}");
        }
        ensure!(
            !scored.tag_set(labels).is_empty(),
            "{path}: none of its {} sentences is labelled for the task `{name}` (`labels = \"{labels}\"`), so that nothing can be \
             scored; choose labels that the file has, or leave the split out",
            scored.sentences.len()
        );
        if settings.data.strict_tags {
            let found = scored.tag_set(labels).into_iter();
            let unseen: Vec<&str> = found.filter(|tag| !tags.iter().any(|known| known == tag)).collect();
            ensure!(
                unseen.is_empty(),
                "{path} has tags that the {learned} chosen train sentences lack: {}; without data.strict_tags such words \
                 count as wrong answers and are reported",
                unseen.join(", ")
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo_cell::demo_cell;

    fn cell(seed: u64, change: impl FnOnce(&mut Settings)) -> Cell {
        demo_cell(|settings| {
            settings.seed = seed;
            change(settings);
        })
    }

    #[test]
    fn each_kind_of_data_is_described_once_whatever_the_seed() {
        let short = |settings: &mut Settings| settings.data.max_length = 8;
        let all = [cell(1, |_| ()), cell(2, |_| ()), cell(1, short), cell(2, short)];
        let found = cells(&all).expect("no fault");
        assert_eq!(found.iter().map(|facts| &facts.cell).collect::<Vec<_>>(), [&all[0].id, &all[2].id]);
        let dev = |at: usize| &found[at].tasks["upos"].dev;
        assert_eq!((dev(0).truncated, dev(0).unlabelled, dev(0).blank), (0, 0, 0));
        assert!(dev(1).truncated > dev(1).words / 20, "sentences are longer than six subwords");
        assert!(dev(0).longest > 8 && dev(0).longest == dev(1).longest, "before truncation");
        // A plan of learning curves has many kinds.
        let many: Vec<Cell> = (1..=20)
            .map(|first| cell(1, |settings: &mut Settings| settings.data.first = 10 * first))
            .collect();
        assert_eq!(cells(&many).expect("no fault").len(), MOST_KINDS);
    }
}
