//! Ends that no answer brings: deadlines that come, and the end of the run.

use weir_io::{Close, ConnId, Nanos};
use weir_run::{ErrorKind, FailureCause, FailureKind, FailurePhase};

use super::{Action, Traffic};
use crate::connection::State;
use crate::exchange::Phase;
use crate::recorder::Ended;
use crate::stamps::KernelTimes;

impl Traffic {
    /// Looks at a connection whose deadline has come.
    pub(crate) fn expire(&mut self, conn: ConnId, now: Nanos) -> Action {
        let connection = &self.connections[conn.index()];
        let due = match connection.state {
            State::Connecting { since } => since.after(self.limits.connect_timeout_ns),
            State::Handshaking { since, .. } => since.after(self.limits.connect_timeout_ns),
            State::Closing { until } => until,
            State::Open | State::Retiring => {
                let oldest = self.oldest(conn);
                let overdue_at =
                    oldest.map_or(Nanos::MAX, |sent_at| sent_at.after(self.limits.timeout_ns));
                overdue_at.min(connection.retires_at(self.limits.lifetime_ns))
            }
            State::Closed { retry_at } => retry_at,
            State::Queued => return Action::None,
        };
        if now < due {
            self.deadlines.arm(conn, due);
            return Action::None;
        }
        let connection = &self.connections[conn.index()];
        match connection.state {
            State::Connecting { .. } | State::Handshaking { .. } => {
                self.fail(conn, now, ErrorKind::Errno(0), FailureCause::Timeout);
            }
            State::Open if connection.retires_at(self.limits.lifetime_ns) <= now => {
                return self.outlive(conn, now);
            }
            State::Open | State::Retiring if self.limits.late_answers => {
                self.mark_overdue(conn, now);
                return Action::None;
            }
            State::Open | State::Retiring => self.time_out(conn, now),
            State::Closed { .. } => {
                self.queue(conn, now);
                return Action::None;
            }
            State::Closing { .. } | State::Queued => {
                self.end_all(conn, now, Ended::Failed(ErrorKind::ClosedBeforeAnswer));
                self.shut(conn, now);
            }
        }
        Action::Close(Close::Graceful)
    }

    /// When the oldest request in flight on `conn` was sent; none that is overdue already counts.
    pub(super) fn oldest(&self, conn: ConnId) -> Option<Nanos> {
        let depth = usize::from(self.limits.depth);
        let places = &self.exchanges[conn.index() * depth..][..depth];
        let waiting = places.iter().filter(|place| place.is_live() && !place.is_overdue);
        waiting.map(|place| place.sent_at).min()
    }

    /// The connection has failed.
    pub(super) fn count_failure(&mut self, conn: ConnId, phase: FailurePhase, cause: FailureCause) {
        self.recorder.connection_failed(FailureKind { phase, cause });
        if let Some(destinations) = &mut self.destinations {
            destinations.failed(conn, phase);
        }
    }

    fn time_out(&mut self, conn: ConnId, now: Nanos) {
        self.count_failure(conn, FailurePhase::InUse, FailureCause::Timeout);
        self.end_all(conn, now, Ended::TimedOut);
        self.shut(conn, now);
    }

    /// The run is over: members of M that are still in flight are censored here. Their answers are
    /// still awaited, so that the server has answered all it was sent, but no longer measured.
    pub(crate) fn censor(&mut self, now: Nanos) {
        let depth = usize::from(self.limits.depth);
        for (place, exchange) in self.exchanges.iter_mut().enumerate() {
            if exchange.is_live() && exchange.phase == Phase::Measured {
                self.recorder.censored(exchange, now);
                let conn = ConnId((place / depth) as u32);
                if let Some(rows) = &mut self.rows {
                    rows.ended(conn, exchange, Ended::InFlight, now, KernelTimes::UNKNOWN);
                }
                if let Some(destinations) = &mut self.destinations {
                    destinations.ended(conn, exchange, Ended::InFlight);
                }
                (exchange.phase, exchange.is_resolved) = (Phase::Tail, true);
            }
        }
    }

    /// The sockets are about to be closed: what is still in flight is given up.
    pub(crate) fn abandon(&mut self, now: Nanos) {
        let depth = usize::from(self.limits.depth);
        for (place, exchange) in self.exchanges.iter().enumerate() {
            if exchange.is_live() {
                self.recorder.abandoned(exchange, now);
                let conn = ConnId((place / depth) as u32);
                if let Some(rows) = &mut self.rows {
                    rows.ended(conn, exchange, Ended::InFlight, now, KernelTimes::UNKNOWN);
                }
            }
        }
    }
}
