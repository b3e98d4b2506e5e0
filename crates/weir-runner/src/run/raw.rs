//! A file with a row for every request, written by its own thread while a load runs.

use std::fmt;
use std::io::{self, Write};
use std::thread::{self, JoinHandle};

use anyhow::Result;
use weir_machine::sys;
use weir_report::raw::{RawAbout, RawTrial, RawWriter};
use weir_result::document::{DocumentParts, RawSection};
use weir_result::{Note, Part, Plan, RawLog};
use weir_text::units;

use crate::errors::NoThread;
use crate::run::load::Epoch;

/// Size of the buffer between the workers and the writer, in bytes: a third of a million rows. The
/// disk may pause for the time in which as many requests are sent.
const BUFFER_BYTES: usize = 32 << 20;

/// An open file for the rows of all requests, in Parquet: of one run, or of the trials of a study.
pub struct RawOutput {
    name: String,
    /// The writer, or the first error; `None` while a run's thread has it.
    writer: Option<io::Result<Writer>>,
}

type Writer = RawWriter<Box<dyn Write + Send>>;

impl fmt::Debug for RawOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawOutput").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The rows of a run that are being written. Dropping it ends the rows of a run that failed.
pub(crate) struct RawRun<'a> {
    output: &'a mut RawOutput,
    log: RawLog,
    writer: Option<JoinHandle<io::Result<Writer>>>,
}

impl RawOutput {
    /// Begins `file`, which is empty and open for writing, with the rows of one run. Documents and
    /// messages have `name`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn of_run(name: String, file: Box<dyn Write + Send>) -> io::Result<RawOutput> {
        let writer = RawWriter::new(file, env!("CARGO_PKG_VERSION"))?;
        Ok(RawOutput { name, writer: Some(Ok(writer)) })
    }

    /// Begins a file likewise, whose rows name the trial that they are of.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn of_study(name: String, file: Box<dyn Write + Send>) -> io::Result<RawOutput> {
        let writer = RawWriter::of_study(file, env!("CARGO_PKG_VERSION"))?;
        Ok(RawOutput { name, writer: Some(Ok(writer)) })
    }

    /// Begins the rows of a trial. [`RawOutput::finish`] returns its error.
    pub fn begin_trial(&mut self, trial: RawTrial) {
        if let Some(mut writer) = self.take() {
            self.writer = Some(writer.begin_trial(trial).map(|()| writer));
        }
    }

    /// Completes the file.
    ///
    /// # Errors
    /// When it, or rows of a run, could not be written.
    pub fn finish(self) -> io::Result<()> {
        self.writer.map_or(Ok(()), |writer| writer?.finish())
    }

    /// Takes the writer; `None` after an error, which stays.
    fn take(&mut self) -> Option<Writer> {
        self.writer.take_if(|writer| writer.is_ok())?.ok()
    }

    /// Starts the thread that writes the rows of a run of this plan. `None` after an error.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(crate) fn start(&mut self, plan: &Plan) -> Result<Option<RawRun<'_>>> {
        let Some(mut writer) = self.take() else { return Ok(None) };
        let (log, source) = RawLog::new(BUFFER_BYTES, plan.own_threads());
        let names = plan.list.as_ref().map(|list| list.names.clone()).unwrap_or_default();
        let write = move || {
            let _usual = sys::lower_priority();
            writer.set_names(&names)?;
            source.receive(|rows| writer.write(rows)).map(|()| writer)
        };
        let builder = thread::Builder::new().name("weir-raw".to_owned());
        let writer = Some(builder.spawn(write).map_err(NoThread)?);
        Ok(Some(RawRun { output: self, log, writer }))
    }
}

impl RawRun<'_> {
    /// The log to which workers write their rows.
    pub(crate) fn log(&self) -> RawLog {
        self.log.clone()
    }

    /// Ends the rows after the workers have ended. `None` if they could not be written, which
    /// [`RawOutput::finish`] reports.
    pub(crate) fn finish(mut self, epoch: &Epoch, parts: &DocumentParts) -> Option<RawSection> {
        self.end();
        let mut writer = self.output.take()?;
        let workers = || parts.measurements.workers.iter();
        let lost = self.log.lost();
        let ended = writer.end_run(&RawAbout {
            run_id: &epoch.run_id(),
            epoch_unix_ns: epoch.unix_ns,
            epoch_monotonic_ns: epoch.clock.epoch_monotonic_ns(),
            t0_ns: workers().map(|worker| worker.window_ns.0).min(),
            t1_ns: workers().map(|worker| worker.window_ns.1).max(),
            lost,
            plan: &parts.given.plan,
        });
        let rows = ended.as_ref().ok().copied();
        self.output.writer = Some(ended.map(|_| writer));
        let file = self.output.name.clone();
        Some(RawSection {
            part: parts.given.plan.part.map_or(1, Part::index),
            file,
            rows: rows?,
            lost,
        })
    }

    /// Waits until all rows are written, and returns the writer to the output.
    fn end(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        self.log.end();
        self.output.writer = Some(writer.join().expect("the writer of rows does not panic"));
    }
}

impl Drop for RawRun<'_> {
    fn drop(&mut self) {
        self.end();
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
