//! Tables as Parquet: one row group, uncompressed, every column optional. Only the format's own writer of columns is used,
//! so that Arrow is not compiled.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::table::{ColumnHead, Quantity, Table, TableValue};

/// A table as the bytes of a file.
///
/// # Panics
/// Never: memory takes all that is written, and every column has the type in the schema.
pub(crate) fn write_table(table: &Table) -> Vec<u8> {
    write_columns(table).expect("columns of the types that the schema says, written to memory")
}

fn write_columns(table: &Table) -> Result<Vec<u8>, ParquetError> {
    let fields = table.heads.iter().map(column_field).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("results").with_fields(fields).build()?);
    let properties = WriterProperties::builder().set_created_by("frostline".into()).build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (at, head) in table.heads.iter().enumerate() {
        let Some(to) = group.next_column()? else { break };
        let values = table.rows.iter().map(|row| &row[at]);
        match head.unit {
            Quantity::Text => write_column::<ByteArrayType>(to, values, |value| match value {
                TableValue::Text(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            }),
            Quantity::Truth => write_column::<BoolType>(to, values, |value| match value {
                TableValue::Truth(truth) => Some(*truth),
                _ => None,
            }),
            Quantity::Count => write_column::<Int64Type>(to, values, TableValue::as_whole),
            _ => write_column::<DoubleType>(to, values, TableValue::as_real),
        }?;
    }
    group.close()?;
    file.into_inner()
}

fn column_field(head: &ColumnHead) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match head.unit {
        Quantity::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Quantity::Truth => (Physical::BOOLEAN, None),
        Quantity::Count => (Physical::INT64, None),
        _ => (Physical::DOUBLE, None),
    };
    let field = Type::primitive_type_builder(&head.name, physical).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(field.with_logical_type(logical).build()?))
}

/// Writes a column: its values without those that are missing, and for each row whether it has one.
fn write_column<'v, T: DataType>(
    mut to: SerializedColumnWriter<'_>,
    values: impl Iterator<Item = &'v TableValue>,
    stored: impl Fn(&TableValue) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let values: Vec<Option<T::T>> = values.map(stored).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.into_iter().flatten().collect();
    to.typed::<T>().write_batch(&present, Some(&levels), None)?;
    to.close()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;

    use super::*;
    use crate::render::csv;
    use crate::table::TableColumns;

    /// A row with words, a whole number, a number, and yes or no; all may be missing.
    type Row = (Option<&'static str>, Option<i64>, Option<f64>, Option<bool>);

    const ROWS: [Row; 4] = [
        (Some("nan"), Some(i64::MIN), Some(0.1), Some(true)),
        (None, None, None, None),
        (Some("a,\"ü\"\n"), Some(0), Some(-0.0), Some(false)),
        (Some("none"), Some(i64::MAX), Some(f64::NAN), None),
    ];

    fn found(rows: &[Row]) -> Table {
        let columns = TableColumns::default()
            .column("words", Quantity::Text, |row: &Row| row.0)
            .column("count", Quantity::Count, |row| row.1)
            .column("share", Quantity::Exact, |row| row.2)
            .column("is_good", Quantity::Truth, |row| row.3);
        columns.table(rows.iter().copied())
    }

    #[test]
    fn what_is_written_reads_back_with_its_types() {
        let bytes = write_table(&found(&ROWS));
        let reader = SerializedFileReader::new(Bytes::from(bytes.clone())).expect("Parquet");
        let kinds: Vec<Physical> = reader
            .metadata()
            .file_metadata()
            .schema_descr()
            .columns()
            .iter()
            .map(|column| column.physical_type())
            .collect();
        assert_eq!(kinds, [Physical::BYTE_ARRAY, Physical::INT64, Physical::DOUBLE, Physical::BOOLEAN]);
        let rows: Vec<Vec<Field>> = reader
            .get_row_iter(None)
            .expect("rows")
            .map(|row| row.expect("a row").get_column_iter().map(|(_, field)| field.clone()).collect())
            .collect();
        let expected = |row: &Row| {
            vec![
                row.0.map_or(Field::Null, |text| Field::Str(text.into())),
                row.1.map_or(Field::Null, Field::Long),
                row.2.filter(|real| real.is_finite()).map_or(Field::Null, Field::Double),
                row.3.map_or(Field::Null, Field::Bool),
            ]
        };
        assert_eq!(rows, ROWS.iter().map(expected).collect::<Vec<_>>());
        assert_eq!(bytes, write_table(&found(&ROWS)), "the same bytes again");
    }

    #[test]
    fn a_table_without_rows_has_its_columns() {
        let reader = SerializedFileReader::new(Bytes::from(write_table(&found(&[])))).expect("Parquet");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
        assert_eq!(reader.metadata().file_metadata().schema_descr().num_columns(), 4);
    }

    #[test]
    fn the_same_table_as_csv() {
        assert_eq!(
            csv::write_table(&found(&ROWS)),
            "words,count,share,is_good\nnan,-9223372036854775808,0.1,true\n,,,\n\"a,\"\"ü\"\"\n\",0,-0.0,false\n\
             none,9223372036854775807,,\n"
        );
    }
}
