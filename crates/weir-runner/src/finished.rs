//! The result of a run: its document, and what the caller still has to do with it.

use weir_machine::sys::Signal;
use weir_report::dialect::Figures;
use weir_result::{Document, Note};

use crate::errors::Error;
use crate::interrupts::{InterruptStage, Interrupts};
use crate::prepare::script::Scripts;

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The document.
    pub document: Document,
    /// The note on a server to which no connection could be opened, if the run ended because of it.
    pub no_server: Option<Note>,
    pub(crate) is_drain_cut: bool,
    /// Signals of the user, which end the run.
    pub interrupts: Interrupts,
    /// Figures of a report of wrk or wrk2, if there is one.
    pub figures: Option<Figures>,
    /// A script after the load, with the states that the workers give back.
    pub(crate) script: Option<(Scripts, Vec<weir_script::WorkerState>)>,
    /// Failures of the script or the list, each in one line, with the calls that led to it.
    pub source_failures: Vec<(String, String)>,
}

impl Finished {
    /// Returns the end of a run without a script and without rows.
    pub fn of(document: Document, interrupts: &Interrupts) -> Finished {
        Finished {
            document,
            no_server: None,
            is_drain_cut: false,
            interrupts: interrupts.clone(),
            figures: None,
            script: None,
            source_failures: Vec::new(),
        }
    }

    /// Returns the signal that ended the run, unless its window was complete.
    pub fn signal(&self) -> Option<Signal> {
        self.interrupts.received().filter(|_| !self.is_drain_cut)
    }

    /// True if the script or the list failed during the load: the document covers the time until
    /// then.
    pub fn has_source_failed(&self) -> bool {
        !self.source_failures.is_empty()
    }

    /// Calls `teardown()` and `done()` of the script, once the document is reported: from here on a
    /// signal has no run to end. Returns true if there is a script.
    ///
    /// # Errors
    /// When one of them fails.
    pub fn finish_script(&mut self) -> Result<bool, Error> {
        let (Some((mut scripts, states)), Some(figures)) = (self.script.take(), &self.figures)
        else {
            return Ok(false);
        };
        self.interrupts.enter(InterruptStage::Reported);
        scripts.finish(states, figures)?;
        Ok(true)
    }
}
