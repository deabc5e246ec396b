//! Packed batches: some sentences of a dataset, end to end without padding.

use frostline_kernels::{Index, Pack, Shared, Values, share};
use frostline_model::{EncoderConfig, PackedInput};

use crate::View;

/// Some sentences of a dataset, packed.
pub(crate) struct Batch {
    /// Their subwords, and the rows at label positions.
    pub input: PackedInput,
    /// The labels at these rows, M.
    pub labels: Index,
    /// Blocks of the constant prefix, and the hidden states above it, \[N, H\].
    pub prefix: Option<(usize, Values)>,
}

impl Batch {
    /// Packs these sentences in so many parts of about the same number of sentences, for training.
    pub fn parts(encoder: &EncoderConfig, view: View<'_>, sentences: &[usize], parts: usize) -> Vec<Self> {
        let size = sentences.len().div_ceil(parts).max(1);
        sentences.chunks(size).map(|part| Self::new(encoder, view, part, true)).collect()
    }

    /// Packs these sentences. Words whose tag train lacks have no label; unless `only_known`, they have
    /// the label 0, so that they are predicted.
    pub fn new(encoder: &EncoderConfig, view: View<'_>, sentences: &[usize], only_known: bool) -> Self {
        let data = view.data;
        let lengths: Vec<usize> = sentences.iter().map(|&s| data.examples[s].ids.len()).collect();
        let numbers: Vec<u64> = sentences.iter().map(|&s| s as u64).collect();
        let pack = Pack::new(&lengths, &numbers);
        let mut ids = Vec::with_capacity(pack.len());
        let (mut label_rows, mut labels) = (Vec::new(), Vec::new());
        for &sentence in sentences {
            let example = &data.examples[sentence];
            let start = ids.len() as u32;
            ids.extend_from_slice(&example.rows);
            for (word, gold) in example.words.iter().zip(&example.gold) {
                if let Ok(position) = word
                    && (gold.is_some() || !only_known)
                {
                    label_rows.push(start + position);
                    labels.push(gold.unwrap_or(0));
                }
            }
        }
        let rows = pack.len();
        let mut prefix = view.prefix.map(|prefix| {
            (prefix.blocks, Values::new(prefix.gather(data, sentences), [rows, prefix.hidden]))
        });
        let mut labels = Index::from(labels);
        let mut input = PackedInput::new(encoder, pack, ids, label_rows);
        let states = prefix.iter_mut().map(|(_, states)| Shared::Values(states));
        share(input.shared().chain([Shared::Index(&mut labels)]).chain(states));
        Self { input, labels, prefix }
    }
}
