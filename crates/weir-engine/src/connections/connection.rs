//! One connection of the load, as the worker stores it: the state of its socket and the time stamps
//! that belong to the connection rather than to one request.

use weir_io::Nanos;

/// First delay before a failed connection is retried, in nanoseconds.
const BACK_OFF_MIN_NS: u64 = 10_000_000;

/// Longest such delay, in nanoseconds.
const BACK_OFF_MAX_NS: u64 = 1_000_000_000;

/// The state of a connection's socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SocketState {
    /// There is no socket; the next one may be opened at `at`.
    Closed,
    /// The connection waits in the queue of connections to open.
    #[default]
    Queued,
    /// The socket has been connecting since `at`.
    Connecting,
    /// The socket connected at `at`; the TLS handshake is in progress.
    Handshaking,
    /// The connection has been open for requests since `at`.
    Open,
    /// The connection has reached its limit of requests or age. It has been open since `at`, takes
    /// no more requests, and is renewed once all responses have arrived.
    Retiring,
    /// The last response has arrived. The peer is expected to close the connection; this side
    /// closes it at `at`.
    Closing,
}

/// Marks a connection without a leased slot.
pub(crate) const NO_SLOT: u32 = u32::MAX;

/// One connection. A worker keeps one of these per connection, open or not, so its size bounds the
/// memory of 100,000 idle connections.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// Index of the slot that is leased from the lane, or [`NO_SLOT`].
    pub(crate) slot: u32,
    pub(crate) state: SocketState,
    /// True once the first attempt to open the connection has succeeded or failed.
    pub(crate) is_resolved: bool,
    /// True if this socket has delivered a complete response, or ends as planned, which is no
    /// failure.
    pub(crate) has_responded: bool,
    /// Consecutive sockets that delivered no response.
    fruitless: u8,
    /// The instant that the state refers to.
    pub(crate) at: Nanos,
    /// Time at which the connection last gained room for a request. Before its socket is connected:
    /// the time at which connecting began.
    pub(crate) freed_at: Nanos,
    /// Requests in flight that the protocol allows.
    pub(crate) depth: u16,
    /// Requests in flight.
    pub(crate) load: u16,
    /// Of `load`: dispatched, and not yet handed to the backend.
    pub(crate) unsent: u16,
    /// Number of sockets so far, wrapping to 1; distinguishes the current socket from the last few,
    /// and a connection that was never open.
    pub(crate) opened: u16,
}

impl Connection {
    /// Returns a connection that has not been opened yet. It waits to be opened if it `is_first`.
    pub(crate) fn new(depth: u16, is_first: bool) -> Connection {
        let state = if is_first { SocketState::Queued } else { SocketState::Closed };
        Connection { slot: NO_SLOT, depth, state, is_resolved: !is_first, ..Connection::default() }
    }

    /// Records that the socket begins to connect.
    pub(crate) fn connect(&mut self, at: Nanos) {
        self.state = SocketState::Connecting;
        self.at = at;
        self.freed_at = at;
    }

    /// Records that the connection is open for requests.
    pub(crate) fn opened(&mut self, at: Nanos) {
        debug_assert_eq!((self.load, self.unsent), (0, 0));
        self.state = SocketState::Open;
        self.has_responded = false;
        self.opened = self.opened.wrapping_add(1).max(1);
        self.at = at;
        self.freed_at = at;
    }

    /// Records a complete response on this socket.
    #[inline]
    pub(crate) fn responded(&mut self) {
        self.has_responded = true;
        self.fruitless = 0;
    }

    /// Returns the time from which the socket is too old to take a request; [`Nanos::MAX`] unless
    /// it is open.
    pub(crate) fn retires_at(&self, lifetime_ns: u64) -> Nanos {
        match self.state {
            SocketState::Open => self.at.after(lifetime_ns),
            _ => Nanos::MAX,
        }
    }

    /// Records the end of the socket and returns the earliest time of a retry.
    ///
    /// A socket that delivered a response is replaced at once. One that did not is retried after a
    /// delay that doubles each time, so that a server which refuses or drops connections meets no
    /// connect storm. The delay counts from the time the socket opened. So a connection that was
    /// open for longer, and was closed for being idle, is replaced at once; otherwise slow slots
    /// would include the client's own delays.
    pub(crate) fn closed(&mut self, now: Nanos) -> Nanos {
        let retry_at = if self.has_responded {
            now
        } else {
            let from = match self.state {
                SocketState::Open | SocketState::Retiring => self.at,
                _ => now,
            };
            let wait_ns = BACK_OFF_MIN_NS << self.fruitless.min(7);
            self.fruitless = self.fruitless.saturating_add(1);
            from.after(wait_ns.min(BACK_OFF_MAX_NS)).max(now)
        };
        self.has_responded = false;
        self.state = SocketState::Closed;
        self.at = retry_at;
        retry_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_are_thirty_two_megabytes() {
        assert_eq!(size_of::<Connection>(), 32);
    }
}
