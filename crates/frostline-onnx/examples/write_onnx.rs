//! Writes an encoder with random weights as an ONNX model, to look at its nodes or to time it. Without arguments it is a small one
//! in the folder for temporary files.
//!
//! ```text
//! cargo run -p frostline-onnx --example write_onnx -- config.json model.onnx
//! ```

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use frostline_model::{EncoderConfig, HeadShape, RandomInit};
use frostline_onnx::{MOST_INSIDE, OnnxExport};

/// The number of labels: the universal parts of speech.
const LABELS: usize = 17;

/// A small encoder.
const SMALL: &str = r#"{"model_type": "bert", "vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 12, "type_vocab_size": 2}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (config, out) = match &arguments[..] {
        [] => (SMALL.to_string(), std::env::temp_dir().join("frostline-small.onnx")),
        [config, out] => (std::fs::read_to_string(config)?, PathBuf::from(out)),
        _ => return Err("give a config.json and the new file".into()),
    };
    write(&EncoderConfig::parse(&config, "config.json")?, &out)?;
    println!("{}", out.display());
    Ok(())
}

/// Writes the model; the weights of a large one are in a second file.
fn write(config: &EncoderConfig, out: &Path) -> Result<(), Box<dyn Error>> {
    let weights = RandomInit::new(42, config.initializer_range);
    let head = HeadShape::linear(LABELS);
    let model = OnnxExport { config, head: &head, of_sentences: false, weights: &weights }.model()?;
    let mut file = BufWriter::new(File::create(out)?);
    if model.weight_bytes() <= MOST_INSIDE {
        model.write(&mut file)?;
    } else {
        let data = out.with_added_extension("data");
        let name = data.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut data = BufWriter::new(File::create(&data)?);
        model.write_in_two(&mut file, &name, &mut data)?;
        data.flush()?;
    }
    Ok(file.flush()?)
}

#[test]
fn a_file_is_written() {
    let config = EncoderConfig::parse(SMALL, "config.json").expect("a config");
    let place = std::env::temp_dir().join(format!("frostline-onnx-{}.onnx", std::process::id()));
    write(&config, &place).expect("it is written");
    let bytes = std::fs::read(&place).expect("a file");
    std::fs::remove_file(&place).expect("removed");
    let weights = config.parameters(&[HeadShape::linear(LABELS)]);
    let weights: usize = weights.iter().map(|(_, shape)| 4 * shape.iter().product::<usize>()).sum();
    assert!(bytes.len() > weights && bytes.starts_with(&[8, 8]), "{} bytes", bytes.len());
}
