//! What is the same for all topics: how pages, tables, figures and values become files. No renderer knows a topic.

pub(crate) mod csv;
pub(crate) mod escape;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod latex;
pub(crate) mod markdown;
pub(crate) mod parquet;
#[cfg(feature = "pdf")]
pub(crate) mod pdf;
pub(crate) mod svg;
pub(crate) mod terminal;
mod text;
