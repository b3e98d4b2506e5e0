//! Batches of requests that a script has made and that wait for their slots, in order.
//!
//! In an open loop they are made ahead, while there is nothing else to do, so that a slow script
//! does not make the server look slow. How far ahead depends on what the script may learn in the
//! meantime: one that sees answers, or makes each request for a certain connection, gets its call
//! as shortly before the slot as its own speed allows. In a closed loop nothing is due before it
//! can be sent, and batches are made when a connection is free.

use std::collections::VecDeque;

use crate::script::Batch;

/// Most batches made ahead.
const AHEAD: usize = 256;

/// Most batches made ahead by a script that may learn from answers.
const AHEAD_LEARNING: usize = 16;

/// Batches in the order in which they will be sent.
#[derive(Debug)]
pub(crate) struct Ring {
    ready: VecDeque<Batch>,
    spare: Vec<Batch>,
    /// Requests in `ready`.
    requests: u64,
    /// The string sent each time, where the script has no `request()`.
    pub(crate) repeated: Option<Batch>,
    /// Answers may change what the script asks next.
    pub(crate) is_learning: bool,
    /// Each batch is made for one connection.
    pub(crate) is_reserving: bool,
}

impl Ring {
    pub(crate) fn new(repeated: Option<Batch>, is_learning: bool, is_reserving: bool) -> Ring {
        Ring {
            ready: VecDeque::new(),
            spare: Vec::new(),
            requests: 0,
            repeated,
            is_learning,
            is_reserving,
        }
    }

    /// Most batches to be made ahead.
    pub(crate) fn limit(&self) -> usize {
        if self.is_learning || self.is_reserving { AHEAD_LEARNING } else { AHEAD }
    }

    /// Batches that are ready.
    pub(crate) fn len(&self) -> usize {
        self.ready.len()
    }

    /// Of these: made for a certain connection, which no longer stands with the free ones. In one
    /// run that is all of them or none.
    pub(crate) fn reserved(&self) -> usize {
        self.peek().map_or(0, |batch| batch.reserved.map_or(0, |_| self.len()))
    }

    /// Whether the batch to be sent next is made for a certain connection.
    pub(crate) fn is_reserved(&self) -> bool {
        self.peek().is_some_and(|batch| batch.reserved.is_some())
    }

    /// Requests that are ready.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// The batch to be sent next.
    pub(crate) fn peek(&self) -> Option<&Batch> {
        self.ready.front()
    }

    /// Takes the batch to be sent next.
    pub(crate) fn take(&mut self) -> Option<Batch> {
        let batch = self.ready.pop_front()?;
        self.requests -= batch.requests.len() as u64;
        Some(batch)
    }

    /// An empty batch to be filled.
    pub(crate) fn empty(&mut self) -> Batch {
        self.spare.pop().unwrap_or_default()
    }

    /// Adds a batch.
    pub(crate) fn push(&mut self, batch: Batch) {
        self.requests += batch.requests.len() as u64;
        self.ready.push_back(batch);
    }

    /// Gives a batch back for its memory.
    pub(crate) fn recycle(&mut self, mut batch: Batch) {
        batch.reserved = None;
        if self.spare.len() < AHEAD {
            self.spare.push(batch);
        }
    }
}
