//! Kernel time stamps (METHOD 1.2): the connections that request them, and the transmit stamps
//! received so far.

use weir_io::{ConnId, Nanos, StampRequest};
use weir_result::{Plan, StampChoice};

/// Default sampling interval: one in `SAMPLE` connections of each worker is stamped, at least one.
/// A sample of the sends on it is stamped (METHOD B.2).
const SAMPLE: u32 = 64;

/// Selection of the stamped connections, one in N, and their last transmit stamps.
#[derive(Debug)]
pub(crate) struct Stamping {
    every: u32,
    /// Stamps requested on stamped connections.
    request: StampRequest,
    /// The number of a stamped connection has `bits` in these places; no connection has them if
    /// none is stamped.
    mask: u32,
    bits: u32,
    transmitted_at: Vec<Option<Nanos>>,
    /// Sends since the last stream began, by stamped connection.
    sends: Vec<u32>,
}

impl Stamping {
    /// Returns the plan's selection, for a worker with `connections` connections. A connection with
    /// several streams at a time is not stamped, because its stamps belong to no one stream. Stamps
    /// of streams that happen to be alone would not represent the others. With messages each
    /// connection is: how a late read changed a gap depends on the one before.
    pub(crate) fn new(plan: &Plan, connections: u32, has_several_streams: bool) -> Stamping {
        let choice = if has_several_streams { StampChoice::None } else { plan.stamps };
        let sampled = if plan.messages.is_some() { 1 } else { SAMPLE };
        let (every, request) = match choice {
            StampChoice::None => (0, StampRequest::None),
            StampChoice::Sample => (sampled, StampRequest::Sample),
            StampChoice::All => (1, StampRequest::All),
        };
        let stamped = if every == 0 { 0 } else { connections.div_ceil(every) };
        debug_assert!(every == 0 || every.is_power_of_two());
        Stamping {
            every,
            request,
            mask: every.saturating_sub(1),
            bits: u32::from(every == 0),
            transmitted_at: vec![None; stamped as usize],
            sends: vec![0; stamped as usize],
        }
    }

    /// Returns the stamps to request on `conn`.
    pub(crate) fn request(&self, conn: ConnId) -> StampRequest {
        if self.covers(conn) { self.request } else { StampRequest::None }
    }

    /// True if `conn` requests stamps.
    #[inline]
    pub(crate) fn covers(&self, conn: ConnId) -> bool {
        conn.0 & self.mask == self.bits
    }

    /// Returns the number of stamped connections.
    pub(crate) fn connections(&self) -> u32 {
        u32::try_from(self.transmitted_at.len()).unwrap_or(u32::MAX)
    }

    /// Records that the kernel transmitted the last byte so far of `conn`.
    pub(crate) fn transmitted(&mut self, conn: ConnId, at: Nanos) {
        if let Some(index) = self.index(conn) {
            self.transmitted_at[index] = Some(at);
        }
    }

    /// Records that the only stream of `conn` begins.
    pub(crate) fn begin_stream(&mut self, conn: ConnId) {
        if let Some(index) = self.index(conn) {
            (self.transmitted_at[index], self.sends[index]) = (None, 0);
        }
    }

    /// Records a send on a connection with streams.
    pub(crate) fn sent(&mut self, conn: ConnId) {
        if let Some(index) = self.index(conn) {
            self.sends[index] += 1;
        }
    }

    /// Returns the transmit stamp of the stream that ends on `conn`; `None` if more than its
    /// request was sent since its start, as frames of the protocol itself.
    pub(crate) fn take_transmitted_of_stream(&mut self, conn: ConnId) -> Option<Nanos> {
        let is_alone = self.sends[self.index(conn)?] == 1;
        self.take_transmitted(conn).filter(|_| is_alone)
    }

    /// Returns and clears the latest transmit stamp of `conn`; `None` if there is none since the
    /// last call.
    pub(crate) fn take_transmitted(&mut self, conn: ConnId) -> Option<Nanos> {
        let index = self.index(conn)?;
        self.transmitted_at[index].take()
    }

    /// Returns the place of `conn` among the stamped connections.
    #[inline]
    fn index(&self, conn: ConnId) -> Option<usize> {
        self.covers(conn).then(|| (conn.0 / self.every) as usize)
    }
}
