//! The intervals of a load on the bus: what an agent measured is not lost with it.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::Result;
use weir_result::Interval;

use crate::bus::Bus;
use crate::envelope::intervals_of;

/// Keeps the intervals of a load, one after the other, in a thread of its own: the load waits for
/// no bus.
#[derive(Debug)]
pub(crate) struct IntervalStore {
    intervals: Sender<Interval>,
    thread: JoinHandle<()>,
}

impl IntervalStore {
    /// Starts the thread for an agent's part of a run. None if it cannot be started; then the
    /// document alone is kept.
    pub(crate) fn start(bus: &Arc<Bus>, run: &str, agent: &str) -> Option<IntervalStore> {
        let (intervals, given) = channel::<Interval>();
        let bus = Arc::clone(bus);
        let run = run.to_owned();
        let name = intervals_of(agent);
        let keep = move || {
            for (number, interval) in given.iter().enumerate() {
                let Ok(text) = serde_json::to_vec(&interval) else { continue };
                // Without a bus for a minute the load is over, and its document has them all.
                if bus.deliver(&run, &format!("{name}.{number}"), &text).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("weir-intervals".to_owned()).spawn(keep).ok()?;
        Some(IntervalStore { intervals, thread })
    }

    /// Keeps an interval soon.
    pub(crate) fn keep(&self, interval: &Interval) {
        // The thread ends with its last interval alone.
        let _kept = self.intervals.send(interval.clone());
    }

    /// Waits until all are kept.
    pub(crate) fn finish(self) {
        drop(self.intervals);
        // A panic of the thread loses intervals that the document has as well.
        let _panicked = self.thread.join();
    }
}

/// Returns the intervals of an agent that the bus keeps, in order of time.
///
/// # Errors
/// When the bus does not answer.
pub(crate) fn kept_intervals(bus: &Bus, run: &str, agent: &str) -> Result<Vec<Interval>> {
    let texts = bus.kept_below(run, &intervals_of(agent))?;
    let read = texts.iter().filter_map(|text| serde_json::from_slice(text).ok());
    let mut intervals: Vec<Interval> = read.collect();
    intervals.sort_by_key(|interval| interval.start_ns);
    Ok(intervals)
}
