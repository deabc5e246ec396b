//! CoNLL-U as Arrow columns: strings with nulls for `_`, and numbers for HEAD. Both tables share the same columns.

use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder as _, StringBuilder, UInt32Builder};
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use frostline_conllu::{Checks, Column, Sentence, read_lenient};

use crate::table::Table;

/// Offsets of strings have 32 bits: a batch ends after so many bytes of text.
const MOST_BYTES: usize = 1 << 30;

/// A mean row of a treebank, for the first size of buffers.
const BYTES_PER_ROW: usize = 60;

/// One file.
pub struct NamedBytes {
    pub name: String,
    pub bytes: Arc<Vec<u8>>,
}

/// The columns of all files, batch by batch.
pub struct TreebankColumns {
    batches: Vec<ColumnBatch>,
    token_schema: SchemaRef,
    sentence_schema: SchemaRef,
}

struct ColumnBatch {
    /// `id` to `misc`, in the format's order.
    columns: Vec<ArrayRef>,
    /// The number of each row's sentence, from 0 over all files.
    numbers: ArrayRef,
    /// Where each sentence's rows begin, and the end.
    offsets: Vec<i32>,
    sent_ids: ArrayRef,
    texts: ArrayRef,
    token_files: ArrayRef,
    sentence_files: ArrayRef,
}

/// A batch that is being filled.
struct Filling {
    file: i32,
    columns: Vec<StringBuilder>,
    heads: UInt32Builder,
    numbers: UInt32Builder,
    offsets: Vec<i32>,
    sent_ids: StringBuilder,
    texts: StringBuilder,
    bytes: usize,
}

impl TreebankColumns {
    /// Reads the columns of files that were checked.
    ///
    /// # Errors
    /// If a sentence is longer than a batch.
    pub fn read(parts: &[NamedBytes]) -> Result<Self, String> {
        let names: ArrayRef = Arc::new(StringArray::from_iter_values(parts.iter().map(|part| &part.name)));
        let (mut batches, mut number) = (Vec::new(), 0u32);
        for (file, part) in parts.iter().enumerate() {
            let new = || Filling::new(file as i32, part.bytes.len().min(MOST_BYTES));
            let mut filling = new();
            for sentence in read_lenient(&part.bytes, Checks::default()) {
                let bytes = sentence.raw().len();
                if bytes > MOST_BYTES {
                    let line = sentence.line();
                    return Err(format!(
                        "the sentence in line {line} has {bytes} bytes, expected at most {MOST_BYTES} for a table; split it"
                    ));
                }
                if filling.bytes + bytes > MOST_BYTES {
                    batches.push(std::mem::replace(&mut filling, new()).finish(&names)?);
                }
                filling.add(&sentence, number);
                number += 1;
            }
            batches.push(filling.finish(&names)?);
        }
        let (token_schema, sentence_schema) = schemas(&names)?;
        Ok(Self { batches, token_schema, sentence_schema })
    }

    /// A row for each token.
    pub fn tokens(&self) -> Result<Table, String> {
        let batch = |batch: &ColumnBatch| {
            let mut arrays = vec![batch.token_files.clone(), batch.numbers.clone()];
            arrays.extend(batch.columns.iter().cloned());
            RecordBatch::try_new(self.token_schema.clone(), arrays).map_err(|error| error.to_string())
        };
        let batches = self.batches.iter().map(batch).collect::<Result<_, _>>()?;
        Ok(Table::new(self.token_schema.clone(), batches))
    }

    /// A row for each sentence; the lists lie over the same columns.
    pub fn sentences(&self) -> Result<Table, String> {
        let batch = |batch: &ColumnBatch| {
            let offsets = OffsetBuffer::new(ScalarBuffer::from(batch.offsets.clone()));
            let mut arrays = vec![batch.sentence_files.clone(), batch.sent_ids.clone(), batch.texts.clone()];
            for column in &batch.columns {
                let list =
                    ListArray::try_new(item(column.data_type()), offsets.clone(), column.clone(), None);
                arrays.push(Arc::new(list.map_err(|error| error.to_string())?));
            }
            RecordBatch::try_new(self.sentence_schema.clone(), arrays).map_err(|error| error.to_string())
        };
        let batches = self.batches.iter().map(batch).collect::<Result<_, String>>()?;
        Ok(Table::new(self.sentence_schema.clone(), batches))
    }
}

impl Filling {
    fn new(file: i32, bytes: usize) -> Self {
        let rows = bytes / BYTES_PER_ROW;
        let column = |_| StringBuilder::with_capacity(rows, rows * 6);
        Self {
            file,
            columns: Column::ALL.iter().map(column).collect(),
            heads: UInt32Builder::with_capacity(rows),
            numbers: UInt32Builder::with_capacity(rows),
            offsets: vec![0],
            sent_ids: StringBuilder::new(),
            texts: StringBuilder::new(),
            bytes: 0,
        }
    }

    fn add(&mut self, sentence: &Sentence<'_>, number: u32) {
        self.sent_ids.append_option(sentence.sent_id());
        self.texts.append_option(sentence.text());
        for row in sentence.rows() {
            for (column, (builder, value)) in self.columns.iter_mut().zip(row.columns()).enumerate() {
                match column {
                    column if column == Column::Head as usize => {}
                    // FORM and LEMMA may be an underscore.
                    column if column > Column::Lemma as usize && value == "_" => builder.append_null(),
                    _ => builder.append_value(value),
                }
            }
            self.heads.append_option(row.head().parse().ok());
            self.numbers.append_value(number);
        }
        self.offsets.push(self.numbers.len() as i32);
        self.bytes += sentence.raw().len();
    }

    fn finish(mut self, names: &ArrayRef) -> Result<ColumnBatch, String> {
        let column = |(column, builder): (usize, &mut StringBuilder)| -> ArrayRef {
            if column == Column::Head as usize {
                Arc::new(self.heads.finish())
            } else {
                Arc::new(builder.finish())
            }
        };
        let columns: Vec<ArrayRef> = self.columns.iter_mut().enumerate().map(column).collect();
        let file = self.file;
        let files = |rows: usize| -> Result<ArrayRef, String> {
            let keys = Int32Array::from_iter_values(std::iter::repeat_n(file, rows));
            let made = DictionaryArray::try_new(keys, names.clone()).map_err(|error| error.to_string())?;
            Ok(Arc::new(made))
        };
        Ok(ColumnBatch {
            token_files: files(self.numbers.len())?,
            sentence_files: files(self.offsets.len() - 1)?,
            columns,
            numbers: Arc::new(self.numbers.finish()),
            offsets: self.offsets,
            sent_ids: Arc::new(self.sent_ids.finish()),
            texts: Arc::new(self.texts.finish()),
        })
    }
}

fn item(kind: &DataType) -> Arc<Field> {
    Arc::new(Field::new("item", kind.clone(), true))
}

/// The columns of both tables.
fn schemas(names: &ArrayRef) -> Result<(SchemaRef, SchemaRef), String> {
    let empty = Filling::new(0, 0).finish(names)?;
    let file = Field::new("file", empty.token_files.data_type().clone(), false);
    let kinds = || Column::ALL.iter().zip(&empty.columns);
    let always = |column: &Column| matches!(column, Column::Id | Column::Form | Column::Lemma);
    let name = |column: &Column| column.name().to_lowercase();
    let mut tokens = vec![file.clone(), Field::new("sentence", DataType::UInt32, false)];
    tokens.extend(kinds().map(|(c, array)| Field::new(name(c), array.data_type().clone(), !always(c))));
    let mut sentences =
        vec![file, Field::new("sent_id", DataType::Utf8, true), Field::new("text", DataType::Utf8, true)];
    let list = |(c, array): (&Column, &ArrayRef)| {
        Field::new(name(c), DataType::List(item(array.data_type())), false)
    };
    sentences.extend(kinds().map(list));
    Ok((Arc::new(Schema::new(tokens)), Arc::new(Schema::new(sentences))))
}
