//! Weights in a file of `torch.save`: the same numbers as from safetensors, under the same names.

use frostline_model::{Checkpoint, Family, ParameterSource as _};
use frostline_testing::torch_file;

#[test]
fn a_parameter_is_read_from_pytorch_model_bin() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pytorch_model.bin");
    // BERT's older name of a norm, the name without the family's prefix, and the name in data-parallel training.
    let file = torch_file(&[
        ("bert.embeddings.LayerNorm.gamma", &[2], &[1.0, 2.0]),
        ("embeddings.token_type_embeddings.weight", &[2, 2], &[3.0, 4.0, 5.0, 6.0]),
        ("module.bert.encoder.layer.0.output.dense.weight", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    ]);
    std::fs::write(&path, file).unwrap();
    let opened = Checkpoint::open(&path, Family::BERT).unwrap();
    assert_eq!(opened.values("encoder.embeddings.norm.gamma", &[2]).unwrap(), [1.0, 2.0]);
    assert_eq!(opened.values("encoder.embeddings.token_type", &[2, 2]).unwrap(), [3.0, 4.0, 5.0, 6.0]);
    assert_eq!(opened.rows("encoder.embeddings.token_type", [2, 2], &[1]).unwrap(), [5.0, 6.0]);
    // Linear weights are stored the other way round.
    let weight = opened.values("encoder.blocks.0.output.weight", &[3, 2]).unwrap();
    assert_eq!(weight, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let error = opened.values("encoder.embeddings.word", &[9, 2]).unwrap_err().to_string();
    assert!(
        error.contains("pytorch_model.bin") && error.contains("bert.embeddings.word_embeddings.weight"),
        "{error}"
    );
}

#[test]
fn a_file_that_would_run_code_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pytorch_model.bin");
    let entries: [(&str, &[u8]); 1] = [("a/data.pkl", b"\x80\x02cposix\nsystem\n(X\x02\x00\x00\x00lstR.")];
    std::fs::write(&path, frostline_testing::stored_zip(&entries)).unwrap();
    let error = Checkpoint::open(&path, Family::BERT).err().expect("refused").to_string();
    assert!(error.contains("it calls `posix.system`") && error.contains("Nothing was run"), "{error}");
}
