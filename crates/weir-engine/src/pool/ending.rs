//! Ends without a response: failures, timeouts, and the end of the run.

use weir_http::ProtocolError;
use weir_io::{Close, ConnId, Nanos};
use weir_result::{ErrorKind, FailureCause, FailureKind, FailurePhase};

use super::{Action, ConnectionPool};
use crate::completion::{Completion, Outcome};
use crate::connection::State;
use crate::exchange::{Exchange, Phase};
use crate::protocol_slots::NONE;

impl ConnectionPool {
    /// Handles the timer of a connection.
    pub(crate) fn expire(&mut self, conn: ConnId, now: Nanos) -> Action {
        if self.limits.streams {
            return self.expire_streams(conn, now);
        }
        self.expire_socket(conn, now)
    }

    /// Handles the timer of a connection whose exchanges end with it.
    pub(super) fn expire_socket(&mut self, conn: ConnId, now: Nanos) -> Action {
        let connection = &self.connections[conn.index()];
        let due = match connection.state {
            State::Connecting | State::Handshaking => {
                connection.at.after(self.limits.connect_timeout_ns)
            }
            State::Closing | State::Closed => connection.at,
            State::Open | State::Retiring => {
                let oldest = self.oldest(conn);
                let overdue_at =
                    oldest.map_or(Nanos::MAX, |sent_at| sent_at.after(self.limits.timeout_ns));
                overdue_at.min(connection.retires_at(self.renewal.lifetime_ns))
            }
            State::Queued => return Action::None,
        };
        if now < due {
            self.deadlines.arm(conn, due);
            return Action::None;
        }
        let connection = &self.connections[conn.index()];
        match connection.state {
            State::Connecting | State::Handshaking => {
                self.fail(conn, now, ErrorKind::Errno(0), FailureCause::Timeout);
            }
            State::Open if connection.retires_at(self.renewal.lifetime_ns) <= now => {
                return self.outlive(conn, now);
            }
            State::Open | State::Retiring if self.limits.late_responses => {
                self.mark_overdue(conn, now);
                return Action::None;
            }
            State::Open | State::Retiring => self.time_out(conn, now),
            State::Closed => {
                self.queue(conn, now);
                return Action::None;
            }
            State::Closing | State::Queued => {
                self.layers.announce_close(conn);
                self.end_all(conn, now, Outcome::TransportError(ErrorKind::ClosedBeforeAnswer));
                self.shut(conn, now);
            }
        }
        Action::Close(Close::Graceful)
    }

    /// Handles a failed connection. The oldest request in flight fails for the given reason, the
    /// ones behind it because their responses can no longer arrive.
    pub(crate) fn fail(&mut self, conn: ConnId, at: Nanos, kind: ErrorKind, cause: FailureCause) {
        let connection = &self.connections[conn.index()];
        let phase = match connection.state {
            State::Connecting | State::Handshaking => FailurePhase::Connect,
            _ if connection.load == 0 => FailurePhase::Idle,
            _ => FailurePhase::InUse,
        };
        self.count_failure(conn, phase, cause);
        self.end_all(conn, at, Outcome::TransportError(kind));
        self.shut(conn, at);
    }

    /// Handles a connection whose peer broke the protocol; returns the way to close it.
    #[cold]
    pub(super) fn fail_protocol(
        &mut self,
        conn: ConnId,
        error: ProtocolError,
        at: Nanos,
    ) -> Action {
        let code = error.code();
        self.fail(conn, at, ErrorKind::Protocol(code), FailureCause::Protocol(code));
        Action::Close(Close::Reset)
    }

    /// Saves the requests in flight of a failed socket for [`ConnectionPool::unsend`].
    #[cold]
    pub(super) fn note_failing(&mut self, conn: ConnId) {
        self.incoming.failing.clear();
        let place = self.connections[conn.index()].place;
        // The bytes of streams do not tell which of their requests were sent.
        if place != NONE && !self.limits.streams {
            let live = self.places.exchanges_of(place).iter().filter(|place| place.is_live());
            self.incoming.failing.extend(live.map(|exchange| (exchange.sent_at, exchange.phase)));
        }
    }

    /// Counts the requests that the last failed socket did not send. It had `bytes` bytes left, and
    /// a request has `each` bytes. They are the youngest requests, including one that was sent in
    /// part.
    #[cold]
    pub(crate) fn unsend(&mut self, bytes: u64, each: u64) {
        let requests = bytes.div_ceil(each.max(1));
        self.incoming.failing.sort_by_key(|(sent_at, _)| std::cmp::Reverse(*sent_at));
        let requests = usize::try_from(requests).unwrap_or(usize::MAX);
        for (_, phase) in self.incoming.failing.iter().take(requests) {
            self.recorder.unsent(*phase);
        }
    }

    /// Counts the last `requests` requests on `conn` as unsent, because TLS could not encrypt them.
    #[cold]
    pub(crate) fn unsend_unsealed(&mut self, conn: ConnId, requests: usize) {
        self.note_failing(conn);
        self.unsend(requests as u64, 1);
    }

    /// Ends every exchange in flight on `conn`: the oldest as `oldest`, the others as closed before
    /// their response (none is ever sent again). Streams wait for no other, and all end as the
    /// oldest. If the oldest has timed out, so has each one sent as long ago.
    fn end_all(&mut self, conn: ConnId, at: Nanos, oldest: Outcome) {
        let place = self.connections[conn.index()].place;
        if place == NONE {
            return;
        }
        let is_stamped = self.stamping.covers(conn);
        let (_, places) = self.places.parts(place);
        let overdue_before = match oldest {
            Outcome::TimedOut => at.before(self.limits.timeout_ns),
            _ => Nanos::ZERO,
        };
        let mut is_oldest = true;
        // Ids wrap around, so the time stamps decide; a connection has few enough requests to scan
        // them all.
        while let Some(exchange) =
            places.iter_mut().filter(|place| place.is_live()).min_by_key(|place| place.sent_at)
        {
            let shares_fate = is_oldest || self.limits.streams;
            let outcome = if shares_fate || exchange.sent_at <= overdue_before {
                oldest
            } else {
                Outcome::TransportError(ErrorKind::ClosedBeforeAnswer)
            };
            let completion = Completion { conn, exchange: *exchange, outcome, at, kernel: None };
            self.recorder.completed(exchange, outcome, at, 1);
            self.observers.completed(&completion, is_stamped);
            *exchange = Exchange::NONE;
            is_oldest = false;
        }
        let connection = &mut self.connections[conn.index()];
        self.counts.in_flight -= u64::from(connection.load);
        connection.load = 0;
        connection.unsent = 0;
    }

    /// Updates the state of `conn` for a socket that is closed or about to be.
    pub(crate) fn shut(&mut self, conn: ConnId, at: Nanos) {
        debug_assert_eq!(self.connections[conn.index()].load, 0);
        match self.connections[conn.index()].state {
            State::Connecting | State::Handshaking => self.counts.connecting -= 1,
            State::Open | State::Retiring | State::Closing => self.counts.open -= 1,
            State::Closed | State::Queued => return,
        }
        self.ready.remove(conn);
        self.resolve(conn);
        self.layers.forget(conn);
        self.script.rests.cancel(conn);
        let place = self.connections[conn.index()].place;
        if self.limits.leases && place != NONE {
            self.places.at(place).protocol.reset();
            self.end_lease(conn);
        }
        let retry_at = self.connections[conn.index()].closed(at);
        if self.limits.streams {
            self.forget_streams(conn, at);
        }
        match retry_at <= at {
            true => self.queue(conn, at),
            false => self.deadlines.arm(conn, retry_at),
        }
    }

    /// Returns the send time of the oldest request in flight on `conn` that is not overdue already.
    pub(super) fn oldest(&self, conn: ConnId) -> Option<Nanos> {
        let lent = self.connections[conn.index()].place;
        if lent == NONE {
            return None;
        }
        let places = self.places.exchanges_of(lent);
        let waiting = places.iter().filter(|place| place.is_live() && !place.is_overdue);
        waiting.map(|place| place.sent_at).min()
    }

    /// Counts the failure of a connection.
    pub(super) fn count_failure(&mut self, conn: ConnId, phase: FailurePhase, cause: FailureCause) {
        self.recorder.connection_failed(FailureKind { phase, cause });
        self.observers.connection_failed(conn, phase);
    }

    fn time_out(&mut self, conn: ConnId, now: Nanos) {
        self.count_failure(conn, FailurePhase::InUse, FailureCause::Timeout);
        self.end_all(conn, now, Outcome::TimedOut);
        self.shut(conn, now);
    }

    /// Censors the members of M that are still in flight at the end of the run. Their responses are
    /// still awaited, so that the server has responded to every request, but no longer measured.
    pub(crate) fn censor(&mut self, now: Nanos) {
        for (conn, exchange) in self.places.live() {
            if exchange.phase == Phase::Measured {
                self.recorder.censored(exchange, now);
                let is_stamped = self.stamping.covers(conn);
                self.observers.completed(&in_flight(conn, exchange, now), is_stamped);
                (exchange.phase, exchange.is_resolved) = (Phase::Tail, true);
            }
        }
        self.censor_returned(now);
    }

    /// Ends the exchanges still in flight because the sockets are about to be closed.
    pub(crate) fn abandon(&mut self, now: Nanos) {
        for (conn, exchange) in self.places.live() {
            self.recorder.abandoned(exchange, now);
            let is_stamped = self.stamping.covers(conn);
            self.observers.completed(&in_flight(conn, exchange, now), is_stamped);
        }
    }
}

/// Returns the completion of an exchange that is still in flight at the end of the run.
fn in_flight(conn: ConnId, exchange: &Exchange, at: Nanos) -> Completion {
    let outcome = Outcome::InFlightAtEnd;
    Completion { conn, exchange: *exchange, outcome, at, kernel: None }
}
