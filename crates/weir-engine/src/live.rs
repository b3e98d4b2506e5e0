//! Messages to the program during the run: the intervals of the time series as they end, and four
//! times per second the state of the worker.

mod worker_frame;

use std::sync::mpsc::Sender;

use weir_io::Nanos;
use weir_result::{Interval, NameTotals};

pub use worker_frame::WorkerFrame;

/// Span between two frames, in nanoseconds.
pub(crate) const FRAME_NS: u64 = 250_000_000;

/// Receives the messages of all workers.
pub type LiveSender = Sender<LiveMessage>;

/// A message during the run.
#[derive(Clone, Debug)]
pub enum LiveMessage {
    /// A worker, by its number from 0, has finished an interval.
    Interval(u32, Interval),
    /// The state of a worker, by its number from 0, at the instant of the message.
    Frame(u32, Box<WorkerFrame>),
    /// The totals by name of a worker, by its number from 0, after its last exchange.
    Names(u32, Vec<NameTotals>),
    /// The run is over. The program itself sends this after all others.
    End,
}

/// One worker's sending side of the channel.
#[derive(Debug)]
pub(crate) struct WorkerLive {
    /// Worker number, from 0.
    pub(crate) worker: u32,
    /// Channel to the program; `None` if nothing receives.
    sender: Option<LiveSender>,
    /// Time of the next frame.
    pub(crate) frame_at: Nanos,
}

impl WorkerLive {
    /// Returns the sending side of worker `worker`, without frames until [`WorkerLive::begin`].
    pub(crate) fn new(worker: u32, sender: Option<LiveSender>) -> WorkerLive {
        WorkerLive { worker, sender, frame_at: Nanos::MAX }
    }

    /// Begins the frames with the load at `start`.
    pub(crate) fn begin(&mut self, start: Nanos) {
        if self.sender.is_some() {
            self.frame_at = start.after(FRAME_NS);
        }
    }

    /// True if the program receives the messages.
    pub(crate) fn is_received(&self) -> bool {
        self.sender.is_some()
    }

    /// Sends the state of the worker, and sets the time of the next frame. Missed frames are left
    /// out.
    #[cold]
    pub(crate) fn send_frame(&mut self, frame: WorkerFrame) {
        let missed = frame.at.since(self.frame_at) / FRAME_NS;
        self.frame_at = self.frame_at.after((missed + 1) * FRAME_NS);
        self.send(LiveMessage::Frame(self.worker, Box::new(frame)));
    }

    /// Sends a finished interval.
    pub(crate) fn send_interval(&self, interval: &Interval) {
        if self.sender.is_some() {
            self.send(LiveMessage::Interval(self.worker, interval.clone()));
        }
    }

    /// Sends the last totals by name.
    pub(crate) fn send_names(&self, names: impl FnOnce() -> Vec<NameTotals>) {
        if self.sender.is_some() {
            self.send(LiveMessage::Names(self.worker, names()));
        }
    }

    /// Sends a message. A closed channel is no error.
    fn send(&self, message: LiveMessage) {
        if let Some(sender) = &self.sender {
            let _gone = sender.send(message);
        }
    }
}
