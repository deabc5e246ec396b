//! Datasets in an archive that this program knows by name.

/// A dataset in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownDataset {
    /// The dataset's name in plans, and of its folder in the cache.
    pub name: &'static str,
    /// The archive's path on `Hosts::archives` of the feature `fetch`, from its first `/` on.
    pub path: &'static str,
    /// The size of the archive.
    ///
    /// # Units
    /// Bytes.
    pub bytes: u64,
    /// SHA-256 of the archive, in hexadecimal.
    pub sha256: &'static str,
    /// The folder in the archive.
    pub folder: &'static str,
    /// The files of the folder that are kept.
    pub files: &'static [&'static str],
    /// The version, for records.
    pub revision: &'static str,
    /// What a user of the dataset must know.
    pub remark: &'static str,
}

/// All such datasets.
pub const KNOWN_DATASETS: [KnownDataset; 1] = [KnownDataset {
    name: "sst2",
    path: "/glue/data/SST-2.zip",
    bytes: 7_439_277,
    sha256: "d67e16fb55739c1b32cdce9877596db1c127dc322d93c082281f64057c16deaa",
    folder: "SST-2",
    files: &["train.tsv", "dev.tsv", "test.tsv"],
    revision: "GLUE",
    remark: "its test file has no labels: cut a test split from train with --set data.cut_test=0.1",
}];

impl KnownDataset {
    /// Returns the dataset with this name, if it is one of [`KNOWN_DATASETS`].
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        KNOWN_DATASETS.iter().find(|known| known.name == name)
    }
}
