//! One connection of the load, as the worker keeps it: the state of its socket and the stamps that
//! belong to the connection rather than to one request.

use weir_io::Nanos;

/// First wait before a failed connection is tried again.
const BACK_OFF_MIN_NS: u64 = 10_000_000;

/// Longest such wait.
const BACK_OFF_MAX_NS: u64 = 1_000_000_000;

/// What a connection's socket is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none; the next may be opened at `at`.
    Closed,
    /// In the queue of those to be opened.
    Queued,
    /// The socket connects, since `at`.
    Connecting,
    /// It is up since `at`, and TLS is being agreed on.
    Handshaking,
    /// It carries requests, since `at`.
    Open,
    /// It has carried what it may, since `at`: it takes no more and is renewed once all is
    /// answered.
    Retiring,
    /// Its last answer has come; the peer is to close it, and this side does at `at`.
    Closing,
}

/// One connection. The size of this is what a hundred thousand of them cost.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Which of the [`Places`](crate::places::Places) it has, or
    /// [`NONE`](crate::places::NONE).
    pub(crate) place: u32,
    pub(crate) state: State,
    /// The first attempt to open it has succeeded or failed.
    pub(crate) is_resolved: bool,
    /// This socket has brought a complete answer.
    has_answered: bool,
    /// Sockets in a row that brought none.
    fruitless: u8,
    /// The instant that the state is about.
    pub(crate) at: Nanos,
    /// When it last came to have room for a request; before its socket is up, when that began to
    /// connect.
    pub(crate) freed_at: Nanos,
    /// Requests that its protocol has places for.
    pub(crate) depth: u16,
    /// Requests in flight.
    pub(crate) load: u16,
    /// Of `load`: dispatched, and not yet handed to the backend.
    pub(crate) unsent: u16,
    /// Sockets it has had, wrapping: tells this one from the last few.
    pub(crate) opened: u16,
}

impl Connection {
    /// A connection that has not been opened yet.
    pub(crate) fn new(depth: u16, place: u32) -> Connection {
        Connection {
            place,
            state: State::Queued,
            is_resolved: false,
            has_answered: false,
            fruitless: 0,
            at: Nanos::ZERO,
            freed_at: Nanos::ZERO,
            depth,
            load: 0,
            unsent: 0,
            opened: 0,
        }
    }

    /// Begins to connect.
    pub(crate) fn connect(&mut self, at: Nanos) {
        self.state = State::Connecting;
        self.at = at;
        self.freed_at = at;
    }

    /// The socket is up.
    pub(crate) fn opened(&mut self, at: Nanos) {
        debug_assert_eq!((self.load, self.unsent), (0, 0));
        self.state = State::Open;
        self.has_answered = false;
        self.opened = self.opened.wrapping_add(1);
        self.at = at;
        self.freed_at = at;
    }

    /// A complete answer has come on this socket.
    #[inline]
    pub(crate) fn answered(&mut self) {
        self.has_answered = true;
        self.fruitless = 0;
    }

    /// When its socket is too old to take a request, if it may live for so long.
    pub(crate) fn retires_at(&self, lifetime_ns: u64) -> Nanos {
        match self.state {
            State::Open => self.at.after(lifetime_ns),
            _ => Nanos::MAX,
        }
    }

    /// Its socket ends as planned, which is no failure even where it brought no answer.
    pub(crate) fn end_as_planned(&mut self) {
        self.has_answered = true;
    }

    /// The socket is gone. One that worked may be renewed at once; one that never brought an answer
    /// waits, twice as long each time, so that a server which refuses or drops connections meets no
    /// storm of them. The wait counts from when the socket came up: one that was open for longer,
    /// and was closed for being idle, is renewed at once, or the load's slow slots would pay for
    /// waits of ours. Returns when it may be tried again.
    pub(crate) fn closed(&mut self, now: Nanos) -> Nanos {
        let retry_at = if self.has_answered {
            now
        } else {
            let from = match self.state {
                State::Open | State::Retiring => self.at,
                _ => now,
            };
            let wait_ns = BACK_OFF_MIN_NS << self.fruitless.min(7);
            self.fruitless = self.fruitless.saturating_add(1);
            from.after(wait_ns.min(BACK_OFF_MAX_NS)).max(now)
        };
        self.has_answered = false;
        self.state = State::Closed;
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
