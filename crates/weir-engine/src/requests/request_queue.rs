//! The queue of request batches that a script has made, waiting for their slots in order.
//!
//! In an open loop batches are made ahead, in idle time, so that a slow script does not make the
//! server look slow. The lead depends on the script. One that reads responses, or makes each
//! request for a certain connection, is called as shortly before the slot as its own speed allows.
//! In a closed loop nothing is due before it can be sent, and batches are made when a connection is
//! free.

use std::collections::VecDeque;

use super::batch::Batch;

/// Most batches made ahead.
const AHEAD: usize = 256;

/// Most batches made ahead by a script whose requests may depend on responses.
const AHEAD_LEARNING: usize = 16;

/// Batches in the order in which they will be sent.
#[derive(Debug, Default)]
pub(crate) struct RequestQueue {
    ready: VecDeque<Batch>,
    spare: Vec<Batch>,
    /// Requests in `ready`.
    pub(crate) requests: u64,
    /// The string to send each time, if the script has no `request()`.
    pub(crate) repeated: Option<Batch>,
    /// True if responses may change the script's next request.
    pub(crate) is_learning: bool,
    /// True if each batch is made for one connection.
    pub(crate) takes_connections: bool,
    /// True if the connection that is free next is reserved for a batch when it is made.
    pub(crate) reserves: bool,
}

impl RequestQueue {
    /// Returns the most batches to make ahead.
    pub(crate) fn limit(&self) -> usize {
        if self.is_learning || self.takes_connections { AHEAD_LEARNING } else { AHEAD }
    }

    /// Returns the number of batches that are ready.
    pub(crate) fn len(&self) -> usize {
        self.ready.len()
    }

    /// Returns the number of ready batches that are made for a certain connection, which is
    /// therefore not among the free ones. In one run that is all of them or none.
    pub(crate) fn reserved(&self) -> usize {
        self.peek().map_or(0, |batch| batch.reserved.map_or(0, |_| self.len()))
    }

    /// Returns the next batch to send.
    pub(crate) fn peek(&self) -> Option<&Batch> {
        self.ready.front()
    }

    /// Removes and returns the next batch to send.
    pub(crate) fn take(&mut self) -> Option<Batch> {
        let batch = self.ready.pop_front()?;
        self.requests -= batch.requests.len() as u64;
        Some(batch)
    }

    /// Returns an empty batch to fill, with reused memory if there is some.
    pub(crate) fn empty(&mut self) -> Batch {
        self.spare.pop().unwrap_or_default()
    }

    /// Adds a batch.
    pub(crate) fn push(&mut self, batch: Batch) {
        self.requests += batch.requests.len() as u64;
        self.ready.push_back(batch);
    }

    /// Keeps a used batch, whose memory [`empty`](RequestQueue::empty) reuses.
    pub(crate) fn recycle(&mut self, mut batch: Batch) {
        batch.reserved = None;
        if self.spare.len() < AHEAD {
            self.spare.push(batch);
        }
    }
}
