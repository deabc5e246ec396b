//! The data that a worker keeps from one cell to the next.

use crate::baselines::Probes;
use crate::corpora::Corpora;
use crate::data::CellData;
use crate::inputs::Verified;
use crate::prefix_rows::KeptPrefixes;
use crate::recent::Recent;

/// Maximum number of aligned data that a worker keeps. Each seed's sample is separate data, and a long learning
/// curve has hundreds.
const MOST_DATA: usize = 16;

/// The data that cells of one worker share.
pub(crate) struct SharedData {
    /// Parsed files, chosen sentences and alignments.
    pub corpora: Corpora,
    /// Data ready for training.
    pub data: Recent<CellData>,
    /// Logistic regressions.
    pub probes: Probes,
    /// Outputs of constant prefixes.
    pub prefixes: KeptPrefixes,
    /// Weights files.
    pub verified: Verified,
}

impl Default for SharedData {
    fn default() -> Self {
        Self {
            corpora: Corpora::default(),
            data: Recent::new(MOST_DATA),
            probes: Probes::default(),
            prefixes: KeptPrefixes::default(),
            verified: Verified::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use frostline_record::Cell;

    use super::*;
    use crate::demo_cell::demo_cell;
    use crate::load::load;

    fn cell(first: usize, labels: &str) -> Cell {
        demo_cell(|settings| {
            settings.data.first = first;
            settings.tasks.values_mut().for_each(|task| task.labels = labels.into());
        })
    }

    fn all<T>(recent: &Recent<T>) -> Vec<Arc<T>> {
        recent.values().cloned().collect()
    }

    #[test]
    fn cells_of_the_same_files_share_documents_and_alignments() {
        let mut shared = SharedData::default();
        let one = load(&cell(20, "upos"), false, &mut shared).expect("data");
        let (documents, alignments) = (all(&shared.corpora.documents), all(&shared.corpora.alignments));
        let aligned: usize = alignments.iter().map(|alignments| alignments.known()).sum();
        let used: usize = one.main().splits().into_iter().flatten().map(|set| set.examples.len()).sum();
        assert_eq!(aligned, used, "only chosen sentences are aligned");

        let again = load(&cell(20, "upos"), false, &mut shared).expect("data");
        assert!(Arc::ptr_eq(&one, &again));
        for (first, labels) in [(10, "upos"), (20, "deprel"), (5, "feats.Number"), (30, "upos")] {
            let other = load(&cell(first, labels), false, &mut shared).expect("data");
            assert_eq!(other.main().train.examples.len(), first);
            let same = |kept: Vec<bool>| assert!(kept.into_iter().all(|same| same), "{first} {labels}");
            let found = all(&shared.corpora.documents);
            assert_eq!(found.len(), documents.len());
            same(documents.iter().map(|one| found.iter().any(|two| Arc::ptr_eq(one, two))).collect());
            let found = all(&shared.corpora.alignments);
            assert_eq!(found.len(), alignments.len());
            same(alignments.iter().map(|one| found.iter().any(|two| Arc::ptr_eq(one, two))).collect());
        }
        let known: usize = alignments.iter().map(|alignments| alignments.known()).sum();
        assert_eq!(known, used + 10, "a sentence is aligned once");
    }
}
