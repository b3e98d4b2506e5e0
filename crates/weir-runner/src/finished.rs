//! The result of a run: its document, and what the caller still has to do with it.

use std::io;

use weir_io::Signal;
use weir_report::dialect::Figures;
use weir_result::{Document, Note};

use crate::errors::Error;
use crate::figures::figures;
use crate::interrupts::Interrupts;
use crate::load::Outcome;
use crate::script::{self, Scripts};

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The document.
    pub document: Document,
    /// The note on a server to which no connection could be opened, if the run ended because of it.
    pub no_server: Option<Note>,
    /// Error of the file of rows. Without one, the document names the file.
    pub raw_written: io::Result<()>,
    pub(crate) outcome: Outcome,
    pub(crate) scripts: Option<Scripts>,
    pub(crate) batch_times: bool,
    pub(crate) interrupts: Interrupts,
}

impl Finished {
    /// Returns the signal that ended the run, unless its window was complete.
    pub fn signal(&self) -> Option<Signal> {
        self.interrupts.received().filter(|_| !self.outcome.is_drain_cut)
    }

    /// The signals of the run and of what follows it.
    pub fn interrupts(&self) -> &Interrupts {
        &self.interrupts
    }

    /// True if the script failed during the load: the document covers the time until then.
    pub fn has_script_failed(&self) -> bool {
        !self.outcome.failures.is_empty()
    }

    /// Returns the failures of the script during the load: each in one line, and the calls that led
    /// to it, one per line.
    pub fn script_failures(&self) -> Vec<(String, &str)> {
        let described = self.outcome.failures.iter().map(|failure| {
            let calls = failure.error.message.split_once('\n').map_or("", |(_, calls)| calls);
            (script::describe(failure), calls)
        });
        described.collect()
    }

    /// Returns the figures of wrk's report.
    pub fn figures(&self) -> Figures {
        figures(&self.document, &self.outcome.measurements, self.batch_times)
    }

    /// Calls `teardown()` and `done()` of the script, once the document is reported: from here on a
    /// signal has no run to end. Returns true if there is a script.
    ///
    /// # Errors
    /// When one of them fails.
    pub fn finish_script(&mut self) -> Result<bool, Error> {
        let figures = self.scripts.is_some().then(|| self.figures());
        let (Some(scripts), Some(figures)) = (&mut self.scripts, figures) else {
            return Ok(false);
        };
        self.interrupts.reported();
        scripts.finish(std::mem::take(&mut self.outcome.states), &figures)?;
        Ok(true)
    }
}
