//! The queue of connections to open, and the time of the next connect.

use std::collections::VecDeque;
use std::ops::Range;

use weir_io::{ConnId, Nanos};

use crate::time::ConnectPace;

/// Most sockets of one worker that connect at once: enough to hide a round trip, few enough not to
/// be a flood. A connect rate replaces this limit.
pub(crate) const CONNECTING_MAX: u32 = 512;

/// One worker's queue.
#[derive(Debug)]
pub(crate) struct OpenQueue {
    /// Connections to open for the first time.
    first: Range<u32>,
    /// Connections to reopen, and those that are opened during the load, in order of arrival; they
    /// follow the connections of `first`.
    again: VecDeque<ConnId>,
    /// Limit of the connect rate, if there is one.
    pub(super) pace: Option<ConnectPace>,
}

impl OpenQueue {
    /// Returns a queue of `connections` connections that have never been open.
    pub(crate) fn new(connections: u32) -> OpenQueue {
        OpenQueue { first: 0..connections, again: VecDeque::new(), pace: None }
    }

    /// True if no connection waits to be opened.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_empty() && self.again.is_empty()
    }

    /// True if a further socket may connect beside `connecting` others.
    pub(crate) fn allows(&self, connecting: u32) -> bool {
        connecting < CONNECTING_MAX || self.pace.is_some()
    }

    /// Limits the rate at which connections are opened.
    pub(crate) fn set_pace(&mut self, pace: ConnectPace) {
        self.pace = Some(pace);
    }

    /// Returns the number of connections that wait to be opened.
    pub(crate) fn len(&self) -> u64 {
        (self.first.len() + self.again.len()) as u64
    }

    /// Adds a connection to reopen, or to open during the load.
    pub(crate) fn push(&mut self, conn: ConnId, at: Nanos) {
        let is_first = self.is_empty();
        if let Some(pace) = &mut self.pace
            && is_first
        {
            pace.skip_to(at);
        }
        self.again.push_back(conn);
    }

    /// Returns the time from which the next connection may be opened; [`Nanos::MAX`] if the queue
    /// is empty or the rate is not limited.
    #[inline]
    pub(crate) fn next_at(&self) -> Nanos {
        match &self.pace {
            Some(pace) if !self.is_empty() => pace.next(),
            _ => Nanos::MAX,
        }
    }

    /// Removes the next connection that may be opened at `now`.
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<ConnId> {
        if self.pace.as_ref().is_some_and(|pace| pace.next() > now) {
            return None;
        }
        let conn = self.first.next().map(ConnId).or_else(|| self.again.pop_front())?;
        if let Some(pace) = &mut self.pace {
            pace.take();
        }
        Some(conn)
    }
}
