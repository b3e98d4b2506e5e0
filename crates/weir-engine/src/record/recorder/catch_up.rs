//! Catching up after late sends. Requests that came due while the client was stopped leave together
//! afterwards, and wait for connections and for each other at the server: later requests, sent on
//! time, are delayed too. This module counts them. It knows neither the cause of the lateness nor
//! the responses: if all connections were busy, a stop looks like a server that was silent.

use weir_io::Nanos;
use weir_result::WorkerUsage;

use crate::exchange::Exchange;

/// Least lateness of a send that begins a catch-up, in nanoseconds. Shorter ones are the scheduling
/// of a busy machine, and are part of the send lag alone.
const LATE_NS: u64 = 2_000_000;

/// Longest catch-up, in multiples of the greatest lateness. At a utilisation ρ the server needs
/// ρ/(1 − ρ) times the stop for what came due in it: this covers a ρ of 0.95.
const LONGEST: u64 = 20;

/// The catch-up in progress, and the sum of those that delayed requests of the window.
#[derive(Debug, Default)]
pub(crate) struct CatchUp {
    pub(crate) is_on: bool,
    /// True if no event came for long before this turn's events.
    is_silent: bool,
    current: Current,
    sum: DelayedRequests,
}

/// The catch-up in progress.
#[derive(Debug, Default)]
struct Current {
    /// Intended time of the first late request.
    from: Nanos,
    /// Send time of the first late request.
    sent_at: Nanos,
    /// Requests in flight before the stop, once known.
    level: Option<u64>,
    /// True if the client certainly was late.
    is_sure: bool,
    /// Greatest time from a due time to the send, in nanoseconds.
    send_lag_max_ns: u64,
    /// Greatest lateness in this turn of the worker's loop, in nanoseconds.
    turn_lag_ns: u64,
    delayed: DelayedRequests,
}

/// Requests of the window that were sent during catch-ups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DelayedRequests {
    /// Number of these requests.
    requests: u64,
    /// Number of those in catch-ups after a silence, which the server or a stop may have caused.
    after_silence: u64,
    /// Greatest lateness of a catch-up, in nanoseconds: the sum over all stops in it. None of its
    /// requests was delayed by more.
    lag_max_ns: u64,
    /// Intended time of the first late request of the first of these catch-ups; `None` if there was
    /// no catch-up.
    from: Option<Nanos>,
}

impl CatchUp {
    /// Begins a turn whose first event came `waited_ns` after the last turn.
    #[inline]
    pub(crate) fn begin_turn(&mut self, waited_ns: u64) {
        self.is_silent = waited_ns > LATE_NS;
    }

    /// Takes in a request as it is sent; `measured` is 1 if it belongs to the window, else 0.
    #[inline]
    pub(crate) fn sent(&mut self, exchange: &Exchange, sched_lag_ns: u64, measured: u64) {
        if sched_lag_ns > LATE_NS || self.is_on || self.is_silent {
            self.count(exchange, sched_lag_ns, measured);
        }
    }

    #[cold]
    fn count(&mut self, exchange: &Exchange, sched_lag_ns: u64, measured: u64) {
        let send_lag_ns = exchange.sent_at.since(exchange.intended_at);
        let is_late = sched_lag_ns > LATE_NS;
        if !self.is_on {
            if !is_late && send_lag_ns <= LATE_NS {
                return;
            }
            self.is_on = true;
            let from = exchange.intended_at;
            let sent_at = exchange.sent_at;
            self.current = Current { from, sent_at, ..Current::default() };
        }
        let current = &mut self.current;
        if is_late {
            current.is_sure = true;
            current.turn_lag_ns = current.turn_lag_ns.max(sched_lag_ns);
        }
        current.send_lag_max_ns = current.send_lag_max_ns.max(send_lag_ns);
        current.delayed.requests += measured;
    }

    /// Takes in the end of a turn. Ends the catch-up once nothing is overdue, and no more requests
    /// are in flight than before the stop. `before` is their number at the start of the turn that
    /// sent the first late one.
    #[cold]
    pub(crate) fn follow(&mut self, now: Nanos, before: u64, in_flight: u64, is_overdue: bool) {
        self.end_turn();
        let Current { sent_at, send_lag_max_ns, .. } = self.current;
        let level = *self.current.level.get_or_insert(before);
        let is_long = now.since(sent_at) > LONGEST.saturating_mul(send_lag_max_ns);
        if !is_overdue && (in_flight <= level || is_long) {
            self.end();
        }
    }

    /// A stop during the catch-up comes on top of the ones before.
    fn end_turn(&mut self) {
        let lag_ns = std::mem::take(&mut self.current.turn_lag_ns);
        self.current.delayed.lag_max_ns += lag_ns;
    }

    fn end(&mut self) {
        self.end_turn();
        self.is_on = false;
        let Current { from, delayed, is_sure, .. } = self.current;
        if delayed.requests > 0 {
            match is_sure {
                true => self.sum.requests += delayed.requests,
                false => self.sum.after_silence += delayed.requests,
            }
            self.sum.lag_max_ns = self.sum.lag_max_ns.max(delayed.lag_max_ns);
            self.sum.from.get_or_insert(from);
        }
    }

    /// Writes the requests of the window that were sent during catch-ups to `usage`, at the end of
    /// the run.
    pub(crate) fn finish(&mut self, t0: Nanos, usage: &mut WorkerUsage) {
        let delayed = self.delayed();
        usage.catch_up_requests = delayed.requests;
        usage.after_silence_requests = delayed.after_silence;
        usage.catch_up_lag_ns = delayed.lag_max_ns;
        usage.carried_ns = delayed.from.map_or(0, |from| t0.since(from));
    }

    fn delayed(&mut self) -> DelayedRequests {
        if self.is_on {
            self.end();
        }
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn send(catch_up: &mut CatchUp, intended_ms: u64, sent_ms: u64, measured: u64) {
        let intended_at = Nanos(intended_ms * MS);
        let sent_at = Nanos(sent_ms * MS);
        let exchange = Exchange { intended_at, sent_at, ..Exchange::NONE };
        catch_up.sent(&exchange, sent_at.since(intended_at), measured);
    }

    fn delayed(requests: u64, lag_max_ms: u64, from: Option<Nanos>) -> DelayedRequests {
        DelayedRequests {
            requests,
            lag_max_ns: lag_max_ms * MS,
            from,
            ..DelayedRequests::default()
        }
    }

    #[test]
    fn requests_count_until_the_backlog_and_the_queue_are_gone() {
        let mut catch_up = CatchUp::default();
        send(&mut catch_up, 10, 11, 1);
        assert!(!catch_up.is_on, "one millisecond is scheduling");
        send(&mut catch_up, 20, 70, 0);
        send(&mut catch_up, 30, 70, 1);
        catch_up.follow(Nanos(70 * MS), 1, 2, false);
        assert!(catch_up.is_on, "two are in flight, before it was one");
        send(&mut catch_up, 80, 80, 1);
        catch_up.follow(Nanos(80 * MS), 3, 1, true);
        assert!(catch_up.is_on, "more are overdue");
        catch_up.follow(Nanos(90 * MS), 3, 1, false);
        assert!(!catch_up.is_on);
        send(&mut catch_up, 100, 100, 1);
        let from = Some(Nanos(20 * MS));
        assert_eq!(catch_up.delayed(), delayed(2, 50, from));
    }

    #[test]
    fn a_stop_during_a_catch_up_adds_to_it() {
        let mut catch_up = CatchUp::default();
        send(&mut catch_up, 20, 70, 1);
        send(&mut catch_up, 30, 70, 1);
        catch_up.follow(Nanos(70 * MS), 1, 2, true);
        send(&mut catch_up, 71, 91, 1);
        catch_up.follow(Nanos(91 * MS), 2, 3, false);
        let from = Some(Nanos(20 * MS));
        assert_eq!(catch_up.delayed(), delayed(3, 70, from));
    }

    #[test]
    fn after_a_silence_the_server_may_be_the_cause() {
        let wait = |waited_ms: u64| {
            let mut catch_up = CatchUp::default();
            catch_up.begin_turn(waited_ms * MS);
            let freed_at = Nanos(70 * MS);
            let exchange = Exchange { intended_at: Nanos(20 * MS), freed_at, ..Exchange::NONE };
            catch_up.sent(&Exchange { sent_at: freed_at, ..exchange }, 0, 1);
            catch_up.delayed()
        };
        assert_eq!(wait(2), DelayedRequests::default());
        let from = Some(Nanos(20 * MS));
        assert_eq!(
            wait(60),
            DelayedRequests { after_silence: 1, from, ..DelayedRequests::default() }
        );
    }

    #[test]
    fn one_that_delayed_nothing_of_the_window_does_not_count() {
        let mut catch_up = CatchUp::default();
        send(&mut catch_up, 20, 70, 0);
        catch_up.follow(Nanos(70 * MS), 0, 0, false);
        assert_eq!(catch_up.delayed(), DelayedRequests::default());
    }

    #[test]
    fn it_ends_with_the_run_or_after_twenty_times_the_lateness() {
        let mut catch_up = CatchUp::default();
        send(&mut catch_up, 20, 30, 1);
        catch_up.follow(Nanos(230 * MS), 0, 5, false);
        assert!(catch_up.is_on);
        catch_up.follow(Nanos(231 * MS), 0, 5, false);
        assert!(!catch_up.is_on);
        send(&mut catch_up, 300, 340, 1);
        let from = Some(Nanos(20 * MS));
        assert_eq!(catch_up.delayed(), delayed(2, 40, from));
    }
}
