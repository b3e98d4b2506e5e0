//! The watch of a server under a load that others make: the agents of a fleet.

use weir_io::{Clock, Nanos};
use weir_result::document::{ServerLoad, ServerSection};
use weir_result::{Document, Note};

use super::{Watch, WatchedLoad, Watching};
use crate::errors::Error;
use crate::interrupts::Interrupts;
use crate::observer::Observer;
use crate::prepare::redaction::Redaction;
use crate::spec::RunSpec;

/// A server that is watched, with its sources read once.
#[derive(Debug)]
pub struct WatchedServer {
    watching: Watching,
    /// Epoch of the watch's clock on CLOCK_MONOTONIC, in nanoseconds.
    epoch_ns: u64,
    /// Notes on what is watched.
    notes: Vec<Note>,
}

impl WatchedServer {
    /// Reads every source of a specification for the first time, and then once per second. `None`
    /// if there is nothing to watch.
    ///
    /// # Errors
    /// When a source cannot be read; the message names the flag.
    pub fn start(
        spec: &RunSpec,
        interrupts: &Interrupts,
        observer: &mut dyn Observer,
    ) -> Result<Option<WatchedServer>, Error> {
        let Some(watch) = Watch::open(spec, &Redaction::of(spec), interrupts, observer)? else {
            return Ok(None);
        };
        let notes = watch.notes();
        notes.iter().for_each(|note| observer.warning(note));
        let epoch_ns = watch.clock.epoch_monotonic_ns();
        // The load has no clock here: its window is known at its end.
        let watching = watch.start(Clock::start())?;
        Ok(Some(WatchedServer { watching, epoch_ns, notes }))
    }

    /// Returns the notes on what is watched.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Ends the watch after a load with this document, whose window began at a time of
    /// CLOCK_MONOTONIC, in nanoseconds. `None` if the readings are lost.
    pub fn finish(self, document: &Document, t0_monotonic_ns: u64) -> Option<ServerSection> {
        let is_whole = document.missing_parts().next().is_none();
        let lacks = "the requests of lost agents are not known".to_owned();
        let watched = WatchedLoad {
            t0: Nanos(t0_monotonic_ns.saturating_sub(self.epoch_ns)),
            window_s: document.throughput.window_s,
            load: load_of(document),
            first_status: None,
            not_compared: (!is_whole).then_some(lacks),
        };
        self.watching.conclude(watched)
    }
}

/// Counts all requests that a document knows of.
fn load_of(document: &Document) -> ServerLoad {
    let sent = document.accounting.sent;
    let beside = document.witness.iter().flat_map(|witness| &witness.slices);
    let answered = document.series.iter().map(|interval| interval.completed).sum::<u64>()
        + beside.map(|slice| slice.completed).sum::<u64>()
        + document.probe.as_ref().map_or(0, |probe| probe.service_time.count)
        + u64::from(document.run.preflight.is_some());
    let requests = sent.total.saturating_sub(sent.returned);
    ServerLoad {
        requests,
        unanswered: requests.saturating_sub(answered),
        uncertain: sent.returned + sent.failed,
        ..ServerLoad::default()
    }
}
