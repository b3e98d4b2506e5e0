//! The columns of a file of rows: their names and types, and how a field of a row becomes a value.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedColumnWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use weir_result::RawRow;

/// All columns of a run, in order: worker, connection and outcome first, then the instants in the
/// order of time.
pub(super) const COLUMNS: [RawColumn; 17] = [
    RawColumn::of("worker", ColumnValues::Number(32, |row| Some(row.worker))),
    RawColumn::optional("connection", ColumnValues::Number(32, connection)),
    RawColumn::of("phase", ColumnValues::Text(|row| Some(row.phase.name().into()))),
    RawColumn::of("outcome", ColumnValues::Text(|row| Some(row.outcome.name().into()))),
    RawColumn::optional("status", ColumnValues::Number(16, status)),
    RawColumn::optional("error", ColumnValues::Text(|row| row.error_name().map(Cow::Owned))),
    RawColumn::optional("name", ColumnValues::Name),
    RawColumn::optional("messages", ColumnValues::Number(32, messages)),
    RawColumn::optional("message_bytes", ColumnValues::Number(32, message_bytes)),
    RawColumn::of("intended_at", ColumnValues::Instant(|row| row.intended_at)),
    RawColumn::optional("freed_at", ColumnValues::Instant(|row| row.freed_at)),
    RawColumn::optional("sent_at", ColumnValues::Instant(|row| row.sent_at)),
    RawColumn::optional("tx_at", ColumnValues::Instant(|row| row.tx_at)),
    RawColumn::optional("first_byte_at", ColumnValues::Instant(|row| row.first_byte_at)),
    RawColumn::optional("first_message_at", ColumnValues::Instant(|row| row.messages.first_at)),
    RawColumn::optional("rx_at", ColumnValues::Instant(|row| row.rx_at)),
    RawColumn::of("ended_at", ColumnValues::Instant(|row| row.ended_at)),
];

/// One column.
pub(super) struct RawColumn {
    /// Its name.
    pub(super) name: &'static str,
    /// True if it may have no value.
    is_optional: bool,
    values: ColumnValues,
}

/// Source of a column's values.
enum ColumnValues {
    /// Unsigned numbers of this many bits.
    Number(i8, fn(&RawRow) -> Option<u32>),
    /// Nanoseconds; [`RawRow::NEVER`] is no value.
    Instant(fn(&RawRow) -> u64),
    /// One of a few words.
    Text(fn(&RawRow) -> Option<Cow<'static, str>>),
    /// The name of a request of a list.
    Name,
}

/// Buffers in which columns are built, one after the other.
#[derive(Default)]
pub(super) struct ColumnBuffers {
    numbers: Vec<i32>,
    instants: Vec<i64>,
    texts: Vec<ByteArray>,
    /// Names of the requests of a list, by index.
    names: Vec<ByteArray>,
    /// 1 if a row has a value, 0 if not.
    levels: Vec<i16>,
    /// All words so far, so that each is allocated once.
    words: BTreeMap<Cow<'static, str>, ByteArray>,
}

impl ColumnBuffers {
    /// Sets the names of the requests in the rows that follow, by index.
    pub(super) fn set_names(&mut self, names: &[String]) {
        self.names = names.iter().map(|name| ByteArray::from(name.as_str())).collect();
    }
}

impl RawColumn {
    const fn of(name: &'static str, values: ColumnValues) -> RawColumn {
        RawColumn { name, is_optional: false, values }
    }

    const fn optional(name: &'static str, values: ColumnValues) -> RawColumn {
        RawColumn { name, is_optional: true, values }
    }

    /// True if its values are instants in nanoseconds.
    pub(super) fn is_instant(&self) -> bool {
        matches!(self.values, ColumnValues::Instant(_))
    }

    /// Writes this column of the rows.
    pub(super) fn write(
        &self,
        rows: &[RawRow],
        buffers: &mut ColumnBuffers,
        writer: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let ColumnBuffers { numbers, instants, texts, names, levels, words } = buffers;
        let is_optional = self.is_optional;
        match self.values {
            ColumnValues::Number(_, value) => {
                // The bits are kept: the column is declared unsigned.
                split(rows, |row| value(row).map(u32::cast_signed), numbers, levels);
                let levels = is_optional.then_some(levels.as_slice());
                writer.typed::<Int32Type>().write_batch(numbers, levels, None)
            }
            ColumnValues::Instant(value) => {
                split(rows, |row| i64::try_from(value(row)).ok(), instants, levels);
                let levels = is_optional.then_some(levels.as_slice());
                writer.typed::<Int64Type>().write_batch(instants, levels, None)
            }
            ColumnValues::Text(value) => {
                split(rows, |row| value(row).map(|text| word(words, text)), texts, levels);
                let levels = is_optional.then_some(levels.as_slice());
                writer.typed::<ByteArrayType>().write_batch(texts, levels, None)
            }
            ColumnValues::Name => {
                split(rows, |row| names.get(usize::from(row.name)).cloned(), texts, levels);
                writer.typed::<ByteArrayType>().write_batch(texts, Some(levels), None)
            }
        }
        .map(drop)
    }

    fn schema(&self) -> TypePtr {
        let repetition = if self.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let (physical, logical) = match self.values {
            ColumnValues::Number(bit_width, _) => {
                let integer = LogicalType::integer(bit_width, false);
                (PhysicalType::INT32, Some(integer))
            }
            ColumnValues::Instant(_) => (PhysicalType::INT64, None),
            ColumnValues::Text(_) | ColumnValues::Name => {
                (PhysicalType::BYTE_ARRAY, Some(LogicalType::String))
            }
        };
        let column = Type::primitive_type_builder(self.name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build();
        Arc::new(column.expect("a type that the format has"))
    }
}

/// Returns the bytes of a word, which are allocated once.
fn word(words: &mut BTreeMap<Cow<'static, str>, ByteArray>, text: Cow<'static, str>) -> ByteArray {
    if let Some(known) = words.get(&text) {
        return known.clone();
    }
    let bytes = ByteArray::from(text.as_ref());
    words.insert(text, bytes.clone());
    bytes
}

/// Separates the values from the levels: for each row, 1 if it has a value.
fn split<T>(
    rows: &[RawRow],
    mut value: impl FnMut(&RawRow) -> Option<T>,
    values: &mut Vec<T>,
    levels: &mut Vec<i16>,
) {
    values.clear();
    levels.clear();
    for row in rows {
        let value = value(row);
        levels.push(value.is_some().into());
        values.extend(value);
    }
}

/// A trial of a study, which each of its rows names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTrial {
    /// Number of the trial, from 1, as in the study.
    pub number: u32,
    /// Name of its variant; empty if all trials are alike.
    pub variant: String,
}

/// Columns of a study's file, before all others. They have one value in a row group.
const TRIAL_COLUMNS: [RawColumn; 2] = [
    RawColumn::of("trial", ColumnValues::Number(32, |_| None)),
    RawColumn::optional("variant", ColumnValues::Text(|_| None)),
];

/// Writes the columns of a row group that say which trial its rows are of.
pub(super) fn write_trial<W: Write + Send>(
    trial: &RawTrial,
    rows: usize,
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let missing = "the schema was made from these columns";
    let mut number = group.next_column()?.expect(missing);
    let numbers = vec![trial.number.cast_signed(); rows];
    number.typed::<Int32Type>().write_batch(&numbers, None, None)?;
    number.close()?;
    let mut variant = group.next_column()?.expect(missing);
    let has_one = !trial.variant.is_empty();
    let names = vec![ByteArray::from(trial.variant.as_str()); if has_one { rows } else { 0 }];
    let levels = vec![i16::from(has_one); rows];
    variant.typed::<ByteArrayType>().write_batch(&names, Some(&levels), None)?;
    variant.close()
}

/// The schema of a file of one run, or of a study.
pub(super) fn schema(is_study: bool) -> TypePtr {
    let of_trial = TRIAL_COLUMNS.iter().filter(|_| is_study);
    let fields = of_trial.chain(&COLUMNS).map(RawColumn::schema).collect();
    let schema = Type::group_type_builder("slots").with_fields(fields).build();
    Arc::new(schema.expect("columns with names of their own"))
}

fn connection(row: &RawRow) -> Option<u32> {
    (row.connection != RawRow::NO_CONNECTION).then_some(row.connection)
}

fn messages(row: &RawRow) -> Option<u32> {
    row.messages.is_measured().then_some(row.messages.count)
}

fn message_bytes(row: &RawRow) -> Option<u32> {
    row.messages.is_measured().then_some(row.messages.bytes)
}

fn status(row: &RawRow) -> Option<u32> {
    (row.status != 0).then_some(row.status.into())
}
