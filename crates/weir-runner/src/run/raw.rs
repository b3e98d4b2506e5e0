//! A file with a row for every request, written by its own thread while the load runs.

use std::fmt;
use std::io::{self, Write};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use weir_report::raw::{RawAbout, RawWriter};
use weir_result::document::RawSection;
use weir_result::{Measurements, Note, Part, Plan, RawLog};
use weir_text::setting::RAW;
use weir_text::{printable, units};

use crate::background;
use crate::errors::NoThread;
use crate::run::load::Epoch;

/// Size of the buffer between the workers and the writer, in bytes: a third of a million rows. The
/// disk may pause for the time in which as many requests are sent.
const BUFFER_BYTES: usize = 32 << 20;

/// An open file for the rows of all requests, in Parquet.
pub struct RawOutput {
    /// Name of the file, for the document and for messages.
    pub name: String,
    /// The file, empty and open for writing.
    pub file: Box<dyn Write + Send>,
}

impl fmt::Debug for RawOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawOutput").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A file that is being written.
pub(crate) struct RawRun {
    name: String,
    log: RawLog,
    writer: JoinHandle<io::Result<RawWriter<Box<dyn Write + Send>>>>,
}

impl RawOutput {
    /// Begins the file and starts its thread, which receives the rows of `workers` worker threads.
    ///
    /// # Errors
    /// When the file cannot be written or the thread cannot be started.
    pub(crate) fn start(self, workers: u32) -> Result<RawRun> {
        let RawOutput { name, file } = self;
        let mut writer = RawWriter::new(file)
            .with_context(|| format!("{RAW} {} cannot be written", printable(&name)))?;
        let (log, source) = RawLog::new(BUFFER_BYTES, workers);
        let write = move || {
            background::lower_priority();
            source.receive(|rows| writer.write(rows)).map(|()| writer)
        };
        let builder = thread::Builder::new().name("weir-raw".to_owned());
        let writer = builder.spawn(write).map_err(NoThread)?;
        Ok(RawRun { name, log, writer })
    }
}

impl RawRun {
    /// The log to which workers write their rows.
    pub(crate) fn log(&self) -> RawLog {
        self.log.clone()
    }

    /// Completes the file after the workers have ended.
    ///
    /// # Errors
    /// When it could not be written.
    pub(crate) fn finish(
        self,
        plan: &Plan,
        epoch: &Epoch,
        measurements: &Measurements,
    ) -> io::Result<RawSection> {
        self.log.end();
        let writer = self.writer.join().expect("the writer of rows does not panic")?;
        let workers = || measurements.workers.iter();
        let lost = self.log.lost();
        let about = RawAbout {
            weir_version: env!("CARGO_PKG_VERSION"),
            run_id: &epoch.run_id(),
            epoch_unix_ns: epoch.unix_ns(),
            epoch_monotonic_ns: epoch.clock.epoch_monotonic_ns(),
            t0_ns: workers().map(|worker| worker.window_ns.0).min(),
            t1_ns: workers().map(|worker| worker.window_ns.1).max(),
            lost,
            plan,
        };
        let rows = writer.finish(&about)?;
        Ok(RawSection { part: plan.part.map_or(1, Part::index), file: self.name, rows, lost })
    }
}

/// The note on missing rows.
pub(crate) fn note(raw: &RawSection) -> Option<Note> {
    (raw.lost > 0).then(|| {
        let text = format!(
            "{} of {} requests are not in {}: the writer could not keep up; all are in this report",
            units::count(raw.lost),
            units::count(raw.lost + raw.rows),
            raw.file,
        );
        Note::new("raw_rows_lost", text)
    })
}
