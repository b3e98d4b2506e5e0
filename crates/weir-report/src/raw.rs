//! Slots one by one as a Parquet file, which common data tools read as it is. docs/RESULTS.md
//! defines the columns. This module depends neither on the source of the rows nor on the
//! destination of the bytes.

mod columns;

use std::io::{self, Write};
use std::sync::Arc;

#[cfg(not(feature = "zstd"))]
use parquet::basic::GzipLevel;
#[cfg(feature = "zstd")]
use parquet::basic::ZstdLevel;
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use weir_result::{Plan, RawRow};

use columns::{COLUMNS, ColumnBuffers, schema};

/// Version of the columns; a changed meaning is a new version.
pub const RAW_SCHEMA_VERSION: u32 = 1;

/// Rows of a row group. A reader takes a group at a time, and the writer buffers one: about 15 MB.
const GROUP_ROWS: usize = 128 * 1024;

/// Metadata about the run in a file of rows.
#[derive(Clone, Copy, Debug)]
pub struct RawAbout<'a> {
    /// The version of weir.
    pub weir_version: &'a str,
    /// The run's id, as in its document.
    pub run_id: &'a str,
    /// Wall-clock time of the epoch in nanoseconds since 1970, UTC.
    pub epoch_unix_ns: u64,
    /// The epoch on CLOCK_MONOTONIC, in nanoseconds; relates rows to the log of a server on the
    /// same machine.
    pub epoch_monotonic_ns: u64,
    /// Start of the measured window, in nanoseconds from the epoch; none if there was no load.
    pub t0_ns: Option<u64>,
    /// End of the measured window, exclusive; of several workers the last one's.
    pub t1_ns: Option<u64>,
    /// Rows that are missing because the writer was too far behind.
    pub lost: u64,
    /// The run's plan.
    pub plan: &'a Plan,
}

/// Writes rows to a Parquet file.
pub struct RawWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    /// Rows of the next row group.
    group: Vec<RawRow>,
    buffers: ColumnBuffers,
    rows: u64,
}

impl<W: Write + Send> RawWriter<W> {
    /// Starts the file.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: W) -> io::Result<RawWriter<W>> {
        let file = SerializedFileWriter::new(out, schema(), Arc::new(properties()));
        Ok(RawWriter {
            file: file.map_err(io_error)?,
            group: Vec::with_capacity(GROUP_ROWS),
            buffers: ColumnBuffers::default(),
            rows: 0,
        })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// Errors of `out`; the file is unusable then.
    pub fn write(&mut self, mut rows: &[RawRow]) -> io::Result<()> {
        while !rows.is_empty() {
            let (now, later) = rows.split_at(rows.len().min(GROUP_ROWS - self.group.len()));
            self.group.extend_from_slice(now);
            rows = later;
            if self.group.len() == GROUP_ROWS {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Finishes the file.
    ///
    /// Returns the number of rows in it.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self, about: &RawAbout) -> io::Result<u64> {
        self.flush()?;
        for (key, value) in metadata(about, self.rows)? {
            self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        self.file.close().map_err(io_error)?;
        Ok(self.rows)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        write_group(&mut self.file, &self.group, &mut self.buffers).map_err(io_error)?;
        self.rows += self.group.len() as u64;
        self.group.clear();
        Ok(())
    }
}

fn write_group<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    rows: &[RawRow],
    buffers: &mut ColumnBuffers,
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for column in &COLUMNS {
        let mut writer = group.next_column()?.expect("the schema was made from these columns");
        column.write(rows, buffers, &mut writer)?;
        writer.close()?;
    }
    group.close().map(drop)
}

fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("weir version {}", env!("CARGO_PKG_VERSION")))
        .set_compression(compression())
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for column in COLUMNS.iter().filter(|column| column.is_instant()) {
        // Rows are nearly in the order of time: differences are small, and values seldom repeat.
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// The lowest level: others take several times the CPU time, on the measuring machine, for a tenth
/// of the size.
#[cfg(feature = "zstd")]
fn compression() -> Compression {
    Compression::ZSTD(ZstdLevel::try_new(1).expect("a level that zstd has"))
}

/// The lowest level, in a build without C code for this.
#[cfg(not(feature = "zstd"))]
fn compression() -> Compression {
    Compression::GZIP(GzipLevel::try_new(1).expect("a level that gzip has"))
}

fn metadata(about: &RawAbout, rows: u64) -> io::Result<Vec<(&'static str, String)>> {
    let mut pairs = vec![
        ("weir.schema_version", RAW_SCHEMA_VERSION.to_string()),
        ("weir.tool", format!("weir {}", about.weir_version)),
        ("weir.run_id", about.run_id.to_owned()),
        ("weir.epoch_unix_ns", about.epoch_unix_ns.to_string()),
        ("weir.epoch_monotonic_ns", about.epoch_monotonic_ns.to_string()),
        ("weir.rows", rows.to_string()),
        ("weir.lost", about.lost.to_string()),
        ("weir.plan", serde_json::to_string(about.plan)?),
    ];
    pairs.extend(about.t0_ns.map(|ns| ("weir.t0_ns", ns.to_string())));
    pairs.extend(about.t1_ns.map(|ns| ("weir.t1_ns", ns.to_string())));
    Ok(pairs)
}

/// Returns the error of the output itself, if that is the cause.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}
