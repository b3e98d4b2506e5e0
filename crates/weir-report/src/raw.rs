//! Slots of one run, or of all trials of a study, one by one as a Parquet file, which common data
//! tools read as it is. docs/RESULTS.md defines the columns. This module depends neither on the
//! source of the rows nor on the destination of the bytes.

mod columns;

use std::io::{self, Write};
use std::mem;
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
use serde_json::{Map, Value};
use weir_result::{Plan, RawRow};

pub use columns::RawTrial;

use columns::{COLUMNS, ColumnBuffers, schema, write_trial};

/// Version of the columns; a changed meaning is a new version.
pub const RAW_SCHEMA_VERSION: u32 = 1;

/// Rows of a row group. A reader takes a group at a time, and the writer buffers one: about 15 MB.
const GROUP_ROWS: usize = 128 * 1024;

/// Metadata about a run in a file of rows.
#[derive(Clone, Copy, Debug)]
pub struct RawAbout<'a> {
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
    tool: String,
    /// True if rows name their trial.
    is_study: bool,
    /// The trial whose rows are written.
    trial: Option<RawTrial>,
    /// Rows of the next row group.
    group: Vec<RawRow>,
    buffers: ColumnBuffers,
    /// Rows of the present run.
    rows: u64,
    /// Metadata of each run that has ended.
    runs: Vec<Map<String, Value>>,
}

impl<W: Write + Send> RawWriter<W> {
    /// Starts a file for one run of this version of weir.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: W, weir_version: &str) -> io::Result<RawWriter<W>> {
        RawWriter::begin(out, weir_version, false)
    }

    /// Starts a file for the trials of a study, each begun with [`RawWriter::begin_trial`].
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn of_study(out: W, weir_version: &str) -> io::Result<RawWriter<W>> {
        RawWriter::begin(out, weir_version, true)
    }

    fn begin(out: W, weir_version: &str, is_study: bool) -> io::Result<RawWriter<W>> {
        let file = SerializedFileWriter::new(out, schema(is_study), Arc::new(properties()));
        Ok(RawWriter {
            file: file.map_err(io_error)?,
            tool: format!("weir {weir_version}"),
            is_study,
            trial: None,
            group: Vec::with_capacity(GROUP_ROWS),
            buffers: ColumnBuffers::default(),
            rows: 0,
            runs: Vec::new(),
        })
    }

    /// Begins the rows of a trial. The rows of a trial that failed before its end stay.
    ///
    /// # Errors
    /// Errors of the output; the file is unusable then.
    pub fn begin_trial(&mut self, trial: RawTrial) -> io::Result<()> {
        self.flush()?;
        self.rows = 0;
        self.trial = Some(trial);
        Ok(())
    }

    /// Sets the names of the requests of a list, which the rows that follow have by index; none
    /// without a list.
    ///
    /// # Errors
    /// Errors of the output; the file is unusable then.
    pub fn set_names(&mut self, names: &[String]) -> io::Result<()> {
        self.flush()?;
        self.buffers.set_names(names);
        Ok(())
    }

    /// Appends rows.
    ///
    /// # Errors
    /// Errors of the output; the file is unusable then.
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

    /// Ends the rows of a run, and keeps what the file says about it. Returns their number.
    ///
    /// # Errors
    /// Errors of the output; the file is unusable then.
    pub fn end_run(&mut self, about: &RawAbout<'_>) -> io::Result<u64> {
        self.flush()?;
        self.runs.push(described(about, self.trial.as_ref(), self.rows)?);
        Ok(self.rows)
    }

    /// Finishes the file.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        for (key, value) in self.metadata() {
            self.file.append_key_value_metadata(KeyValue::new(format!("weir.{key}"), value));
        }
        self.file.close().map_err(io_error)?;
        Ok(())
    }

    /// Returns the metadata of the file: of one run its facts, of a study a list of them.
    fn metadata(&mut self) -> Vec<(String, String)> {
        let mut pairs = vec![
            ("schema_version".to_owned(), RAW_SCHEMA_VERSION.to_string()),
            ("tool".to_owned(), self.tool.clone()),
        ];
        let runs = mem::take(&mut self.runs);
        if self.is_study {
            let trials = Value::Array(runs.into_iter().map(Value::Object).collect());
            pairs.push(("trials".to_owned(), trials.to_string()));
            return pairs;
        }
        let facts = runs.into_iter().flatten().map(|(key, value)| match value {
            Value::String(text) => (key, text),
            value => (key, value.to_string()),
        });
        pairs.extend(facts);
        pairs
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        self.write_group().map_err(io_error)?;
        self.rows += self.group.len() as u64;
        self.group.clear();
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        if self.is_study {
            let trial = self.trial.as_ref().expect("a trial was begun before its rows came");
            write_trial(trial, self.group.len(), &mut group)?;
        }
        for column in &COLUMNS {
            let mut writer = group.next_column()?.expect("the schema was made from these columns");
            column.write(&self.group, &mut self.buffers, &mut writer)?;
            writer.close()?;
        }
        group.close().map(drop)
    }
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

/// Returns what a file says about a run with this number of rows.
fn described(
    about: &RawAbout<'_>,
    trial: Option<&RawTrial>,
    rows: u64,
) -> io::Result<Map<String, Value>> {
    let RawAbout { run_id, epoch_unix_ns, epoch_monotonic_ns, t0_ns, t1_ns, lost, plan } = *about;
    let trial = trial.into_iter().flat_map(|trial| {
        [("trial", Value::from(trial.number)), ("variant", trial.variant.clone().into())]
    });
    let facts = [
        ("run_id", run_id.into()),
        ("epoch_unix_ns", epoch_unix_ns.into()),
        ("epoch_monotonic_ns", epoch_monotonic_ns.into()),
        ("rows", rows.into()),
        ("lost", lost.into()),
        ("plan", serde_json::to_value(plan)?),
    ];
    let window = [("t0_ns", t0_ns), ("t1_ns", t1_ns)];
    let window = window.into_iter().filter_map(|(key, ns)| Some((key, Value::from(ns?))));
    let all = trial.chain(facts).chain(window);
    Ok(all.map(|(key, value)| (key.to_owned(), value)).collect())
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
