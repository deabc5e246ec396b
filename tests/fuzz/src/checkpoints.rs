//! Checkpoints of PyTorch: pickles, the archives around them, and folders of distributed checkpoints.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use frostline_checkpoint::{Checkpoint, ComparedSide, FreezeRule, Weights as _, compare};
use frostline_freeze::Policy;
use frostline_testing::{stored_zip, torch_file};
use tempfile::TempDir;

use crate::files::empty_folder;

/// The folder for files that can only be opened by their path.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

/// The most elements that are read of a checkpoint; inputs can describe tensors that repeat a short storage.
const MOST: u64 = 1 << 20;

/// Reads every tensor of a checkpoint, and compares it with itself.
fn open_checkpoint(path: &Path) {
    let Ok(opened) = Checkpoint::open(path) else { return };
    let all = opened.tensors().iter().try_fold(0u64, |sum, tensor| sum.checked_add(tensor.count()));
    if all.is_none_or(|all| all > MOST) {
        return;
    }
    for (place, tensor) in opened.tensors().iter().enumerate() {
        let mut bytes = vec![0; tensor.count() as usize * tensor.dtype.width()];
        // Parts of a distributed tensor can overlap, which shows when an element without a part is read.
        let _ = opened.read(place, 0..tensor.count(), &mut bytes);
    }
    for rule in
        [FreezeRule::Nothing, FreezeRule::Patterns(vec!["*".into()]), FreezeRule::Policy(Policy::none())]
    {
        if let Ok(found) = compare(ComparedSide::from(&opened), ComparedSide::from(&opened), &rule) {
            assert!(found.holds, "{found}");
        }
    }
}

/// The pickle of a file of `torch.save` with three storages.
pub(crate) fn fuzz_pickle(data: &[u8]) {
    let storage: Vec<u8> = (0..64).collect();
    let entries: [(&str, &[u8]); 4] =
        [("a/data.pkl", data), ("a/data/0", &storage), ("a/data/1", &storage[..16]), ("a/data/2", &[])];
    let path = FOLDER.path().join("pickle.pt");
    fs::write(&path, stored_zip(&entries)).expect("a temporary file");
    open_checkpoint(&path);
}

/// A file of `torch.save`, of the present format or the one before torch 1.6.
pub(crate) fn fuzz_torch(data: &[u8]) {
    let path = FOLDER.path().join("weights.pt");
    fs::write(&path, data).expect("a temporary file");
    open_checkpoint(&path);
}

/// `.metadata` of a folder with one file of tensors.
pub(crate) fn fuzz_distributed(data: &[u8]) {
    let folder = empty_folder(FOLDER.path(), "distributed");
    fs::write(folder.join(".metadata"), data).expect("a temporary file");
    let part = torch_file(&[("w", &[2, 2], &[1.0, 2.0, 3.0, 4.0])]);
    fs::write(folder.join("__0_0.distcp"), &part).expect("a temporary file");
    // A good part in another folder, which the metadata may try to name.
    fs::write(FOLDER.path().join("outside.distcp"), &part).expect("a temporary file");
    open_checkpoint(&folder);
}
