//! Finished intervals, sent to the program during the run.

use std::sync::mpsc::Sender;

use weir_result::Interval;

/// Receives each finished interval with the number of its worker. `None` is sent by the program
/// itself, after the last one.
pub type LiveSender = Sender<Option<(u32, Interval)>>;

/// One worker's sending side of the channel.
#[derive(Debug)]
pub(crate) struct Live {
    /// Worker number, from 0.
    pub(crate) worker: u32,
    /// Channel to the program; `None` if nothing receives.
    pub(crate) sender: Option<LiveSender>,
}

impl Live {
    /// Sends an interval. A closed channel is no error.
    pub(crate) fn send(&self, interval: &Interval) {
        if let Some(sender) = &self.sender {
            let _gone = sender.send(Some((self.worker, interval.clone())));
        }
    }
}
