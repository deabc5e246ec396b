//! What is the same for all topics: how pages, tables, figures and values become files. No renderer knows a topic.
//!
//! # To add an output format
//!
//! A renderer in `crates/frostline-report/src/render/`: it takes a `Page`, a `Table`, `Fields` or a `Figure` and
//! returns text, independent of topics. The format of a value is determined by its `Quantity`, only in
//! `render/text.rs`. Text in a page may carry the inline marks of Markdown (code, strong, emphasis, links), which
//! another format translates. `report.rs` lists the files of a report. The rows of `results.csv` and
//! `results.parquet` are one `Table`, described by the columns in `results/`; `paper/` is what LaTeX
//! gets. PDF needs the feature `pdf`.

pub(crate) mod csv;
pub(crate) mod escape;
pub(crate) mod html;
pub(crate) mod latex;
pub(crate) mod markdown;
pub(crate) mod parquet;
#[cfg(feature = "pdf")]
pub(crate) mod pdf;
pub(crate) mod svg;
pub(crate) mod terminal;
mod text;
