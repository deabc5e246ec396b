//! Models that read the same subwords: they have one tokenizer and one configuration, and are computed together.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use frostline_align::{Aligned, Aligner};
use frostline_model::{EncoderConfig, passes};
use frostline_record::SavedModel;
use rayon::prelude::*;

use crate::answer::Part;
use crate::engine::{BATCH_TOKENS, TaggerEngine, Window};
use crate::slices::{Slice, cut_slices, group_slices};

/// What a tagger has of its own, next to encoder and tokenizer.
#[derive(Debug)]
pub struct TaggerModel {
    pub(crate) place: PathBuf,
    pub(crate) labels: Vec<String>,
    pub(crate) saved: Option<SavedModel>,
}

impl TaggerModel {
    /// Returns all labels, in the model's order.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Returns the metadata that Frostline saved with the model; `None` if another program saved it.
    #[must_use]
    pub fn saved(&self) -> Option<&SavedModel> {
        self.saved.as_ref()
    }

    /// Returns the folder of the model itself.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }
}

/// Models with one tokenizer and one configuration.
pub(crate) struct ModelGroup {
    pub models: Vec<TaggerModel>,
    pub aligner: Aligner,
    pub encoder: EncoderConfig,
    pub engine: Box<dyn TaggerEngine>,
}

/// Gets the place of a model among the wanted ones, of a part, of a word among the part's own, and its logits.
pub(crate) type VisitWord<'a> = dyn FnMut([usize; 3], &[f32]) + Send + 'a;

impl ModelGroup {
    /// Returns the number of context words that a part needs on either side: as many as a window can contain.
    pub fn context(&self) -> usize {
        self.aligner.options().max_length
    }

    /// Calls `visit` for every wanted model and every own word that has a subword, with its logits, one per label. Memory is
    /// bounded by the words of a group.
    pub fn visit_words(&self, wanted: &[usize], parts: &[Part<'_>], visit: &mut VisitWord<'_>) -> Result<()> {
        let slices: Vec<Slice<'_>> = cut_slices(parts, self.context()).collect();
        for group in group_slices(&slices) {
            let mut windows = self.label_windows(group)?;
            // Windows of equal length are batched together, which saves work on backends that pad.
            windows.sort_by_key(|window| (window.ids.len(), window.slice));
            let length = |window: &Window| window.ids.len();
            let logits = |batch: &[Window]| self.engine.logits(wanted, batch);
            let give = |batch: &[Window], logits: Vec<Vec<f32>>| {
                let mut all = wanted.iter().zip(&logits).enumerate();
                all.try_for_each(|(at, (&model, logits))| {
                    let mut visit = |[part, word]: [usize; 2], row: &[f32]| visit([at, part, word], row);
                    self.models[model].visit_positions(group, batch, logits, &mut visit)
                })
            };
            passes(self.engine.on_threads(), &windows, BATCH_TOKENS, length, logits, give)?;
        }
        Ok(())
    }

    /// Returns the windows of subwords that label an own word of a slice.
    fn label_windows(&self, slices: &[Slice<'_>]) -> Result<Vec<Window>> {
        let aligned: Vec<_> = slices
            .par_iter()
            .map(|slice| self.aligner.align_windows(slice.words).map_err(|error| slice.sentence_error(error)))
            .collect::<Result<_, _>>()?;
        let mut windows = Vec::with_capacity(slices.len());
        for (slice, aligned) in aligned.into_iter().enumerate() {
            let own = &slices[slice].own;
            let labels_own = |window: &Aligned| {
                window.label_positions.iter().any(|&(_, word)| own.contains(&(word as usize)))
            };
            for window in aligned.into_iter().filter(labels_own) {
                let rows = self.encoder.vocabulary;
                if let Some(id) = window.ids.iter().find(|&&id| id as usize >= rows) {
                    bail!(
                        "{}: the tokenizer gives the id {id}, but the word table has {rows} rows; they do not belong together",
                        self.models[0].place.display()
                    );
                }
                windows.push(Window { slice, ids: window.ids, label_positions: window.label_positions });
            }
        }
        Ok(windows)
    }
}

impl TaggerModel {
    /// Calls `visit` for every label position of a batch.
    fn visit_positions(
        &self,
        slices: &[Slice<'_>],
        batch: &[Window],
        logits: &[f32],
        visit: &mut dyn FnMut([usize; 2], &[f32]),
    ) -> Result<()> {
        let mut rows = logits.chunks_exact(self.labels.len());
        for window in batch {
            let Slice { part, own, done, .. } = &slices[window.slice];
            for &(_, word) in &window.label_positions {
                let row = rows.next().expect("one row per label position");
                let word = word as usize;
                if !row.iter().all(|logit| logit.is_finite()) {
                    bail!(
                        "{}: the model's output for sentence {} is NaN or infinite, so it predicts nothing; \
                         use other weights",
                        self.place.display(),
                        part + 1
                    );
                }
                if own.contains(&word) {
                    visit([*part, done + word - own.start], row);
                }
            }
        }
        Ok(())
    }
}
