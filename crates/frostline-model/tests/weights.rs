//! Weights of every family in other kinds of files: f16, bf16 and `torch.save`. The values are those of the committed
//! safetensors file in f32, rounded to the type of the file.

use std::fs;
use std::path::Path;

use frostline_model::{Checkpoint, EncoderConfig, HeadShape, ParameterSource as _};
use half::{bf16, f16};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

mod common;
use common::{MODELS, open, references};

/// The two bytes of a value, and the value that they stand for.
type Halve = fn(f32) -> [u8; 2];
type Round = fn(f32) -> f32;

/// Returns every parameter of a model with its values.
fn values_of(config: &EncoderConfig, weights: &Checkpoint) -> Vec<(String, Vec<f32>)> {
    let parameters = config.parameters(&[HeadShape::linear(5)]).into_iter();
    let named = parameters.map(|(path, shape)| {
        let path = path.replace("heads.0.classifier", "head").replace("heads.0.", "head.");
        let values = weights.values(&path, &shape).unwrap_or_else(|error| panic!("{error}"));
        (path, values)
    });
    named.collect()
}

/// Name, shape and values of each tensor of a committed model.
fn tensors_of(name: &str) -> Vec<(String, Vec<usize>, Vec<f32>)> {
    let bytes = fs::read(references().join(name).join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensors = file.tensors().into_iter().map(|(name, view)| {
        let values = view.data().as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four));
        (name, view.shape().to_vec(), values.collect())
    });
    tensors.collect()
}

/// Writes a model's tensors in two bytes each.
fn write_halves(path: &Path, name: &str, dtype: Dtype, halve: impl Fn(f32) -> [u8; 2]) {
    let halves: Vec<(String, Vec<usize>, Vec<u8>)> = tensors_of(name)
        .into_iter()
        .map(|(name, shape, values)| (name, shape, values.into_iter().flat_map(&halve).collect()))
        .collect();
    let views = halves.iter().map(|(name, shape, bytes)| {
        (name.clone(), TensorView::new(dtype, shape.clone(), bytes).expect("a tensor"))
    });
    fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
}

#[test]
fn half_precision_of_each_family_is_read_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let kinds: [(Dtype, Halve, Round); 2] = [
        (Dtype::F16, |value| f16::from_f32(value).to_le_bytes(), |value| f16::from_f32(value).to_f32()),
        (Dtype::BF16, |value| bf16::from_f32(value).to_le_bytes(), |value| bf16::from_f32(value).to_f32()),
    ];
    for name in MODELS {
        let (config, weights) = open(&references().join(name));
        let exact = values_of(&config, &weights);
        for (dtype, halve, round) in kinds {
            write_halves(&path, name, dtype, halve);
            let halves = Checkpoint::open(&path, &config).unwrap();
            halves.check(&config).unwrap();
            for ((path, found), (_, exact)) in values_of(&config, &halves).iter().zip(&exact) {
                let expected: Vec<f32> = exact.iter().map(|value| round(*value)).collect();
                assert_eq!(*found, expected, "{name} {dtype:?}: {path}");
            }
        }
    }
}

#[test]
fn pytorch_model_bin_of_each_family_has_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pytorch_model.bin");
    for name in MODELS {
        let (config, weights) = open(&references().join(name));
        let tensors: Vec<(String, Vec<u64>, Vec<f32>)> = tensors_of(name)
            .into_iter()
            .map(|(name, shape, values)| (name, shape.iter().map(|size| *size as u64).collect(), values))
            .collect();
        let tensors: Vec<(&str, &[u64], &[f32])> =
            tensors.iter().map(|(name, shape, values)| (name.as_str(), &shape[..], &values[..])).collect();
        fs::write(&path, frostline_testing::torch_file(&tensors)).unwrap();
        let torch = Checkpoint::open(&path, &config).unwrap();
        torch.check(&config).unwrap();
        assert_eq!(values_of(&config, &torch), values_of(&config, &weights), "{name}");
    }
}
