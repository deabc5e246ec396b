//! `frostline export`: copies the model of a cell to a Hugging Face folder, or writes it as ONNX.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use frostline_cell::export::{OutputExists, SavedFolder, export};
use frostline_cell::export_onnx::{NoClassifier, OnnxFiles, OnnxLayout, OnnxOptions, export_onnx};
use frostline_record::Record;
use frostline_sweep::units::format_bytes;
use frostline_tagger::ModelFolder;

use super::Stop;
use super::readable::Readable;

/// Copy the model that a cell saved to a folder that Hugging Face's tools can open, or write it as ONNX.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline export --run study/cells/CELL --out my-tagger
    frostline export --run study/cells/CELL --onnx --out my-tagger-onnx
    frostline export --model my-tagger --onnx --layout transformers.js --quantize --out web")]
pub struct Export {
    /// Folder of a cell that ran with `--set save.model=true`, such as OUT/cells/NAME.
    #[arg(long, value_name = "CELL_FOLDER", required_unless_present = "model")]
    run: Option<PathBuf>,
    /// A token or sequence classifier in Hugging Face's layout instead of a cell; needs `--onnx`.
    #[arg(long, value_name = "DIR", conflicts_with = "run", requires = "onnx")]
    model: Option<PathBuf>,
    /// Write an ONNX model (opset 17) instead of safetensors.
    #[arg(long)]
    onnx: bool,
    /// Where the files of an ONNX model are placed.
    #[arg(long, value_enum, default_value_t = Layout::Optimum, requires = "onnx")]
    layout: Layout,
    /// Also write model_quantized.onnx, with weights and embeddings in int8: a quarter of the size, and a few other tags.
    #[arg(long, requires = "onnx")]
    quantize: bool,
    /// The new folder; it must be empty or not exist yet.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// The places of files in a folder with an ONNX model.
#[derive(Clone, Copy, ValueEnum)]
enum Layout {
    /// model.onnx next to config and tokenizer, for optimum and onnxruntime.
    Optimum,
    /// onnx/model.onnx below them, for transformers.js.
    #[value(name = "transformers.js")]
    TransformersJs,
}

impl Export {
    /// Exports the model, and prints the names of its files.
    ///
    /// # Errors
    /// As for [`frostline_cell::export::export`] and [`export_onnx`].
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let mut out = Readable(out);
        match (&self.run, &self.model) {
            (Some(run), _) if self.onnx => {
                let saved = SavedFolder::open(run)?;
                self.write_onnx(&saved.record.cell.title(), &saved.model, Some(&saved.record), &mut out)
            }
            (Some(run), _) => self.copy_folder(run, &mut out),
            (None, Some(model)) => {
                let folder = ModelFolder::open(model)?;
                self.write_onnx(&model.display().to_string(), &folder, None, &mut out)
            }
            (None, None) => unreachable!("clap requires a source"),
        }
    }

    fn copy_folder(&self, run: &Path, out: &mut Readable<'_>) -> Result<()> {
        let (record, files) = export(run, &self.out).map_err(as_argument)?;
        writeln!(out, "{}: {} in {}", record.cell.title(), files.join(", "), self.out.display())?;
        print_lowercase(record.cell.settings.data.lowercase, out)
    }

    fn write_onnx(
        &self,
        title: &str,
        folder: &ModelFolder,
        record: Option<&Record>,
        out: &mut Readable<'_>,
    ) -> Result<()> {
        let layout = match self.layout {
            Layout::Optimum => OnnxLayout::Optimum,
            Layout::TransformersJs => OnnxLayout::TransformersJs,
        };
        let options = OnnxOptions { layout, quantize: self.quantize };
        let written = export_onnx(folder, record, &self.out, options).map_err(as_argument)?;
        let OnnxFiles { files, lowercase, rounded } = written;
        let shown = |(name, bytes): &(String, Option<u64>)| match bytes {
            Some(bytes) => format!("{name} ({})", format_bytes(*bytes)),
            None => name.clone(),
        };
        let files: Vec<String> = files.iter().map(shown).collect();
        writeln!(out, "{title}: {} in {}", files.join(", "), self.out.display())?;
        print_lowercase(lowercase, out)?;
        if rounded {
            writeln!(
                out,
                "its linear layers were not trained in f32; ONNX models compute in f32, so that single tags may differ"
            )?;
        }
        if self.quantize {
            writeln!(out, "int8 changes single tags: compare the two models on your own text")?;
        }
        Ok(())
    }
}

/// Makes a folder that exists already, and a model without a classifier, an error of the arguments.
fn as_argument(error: anyhow::Error) -> anyhow::Error {
    match error.is::<OutputExists>() || error.is::<NoClassifier>() {
        true => Stop::Arguments(error.to_string()).into(),
        false => error,
    }
}

fn print_lowercase(lowercase: bool, out: &mut Readable<'_>) -> Result<()> {
    if lowercase {
        writeln!(out, "it was trained on lowercased words (data.lowercase): lowercase its input too")?;
    }
    Ok(())
}
