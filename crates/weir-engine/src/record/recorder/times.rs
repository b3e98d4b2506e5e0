//! Times of the members of M, over the whole run.

use weir_result::Tally;

use super::failures::Failures;
use super::lags_by_stage::LagTallies;
use crate::exchange::{Exchange, Outcome};

/// Times of the members of M. Response times of `ok` slots are with the slices.
#[derive(Debug, Default)]
pub(super) struct Times {
    pub(super) response: Failures,
    pub(super) service: Failures,
    pub(super) unwaited: Unwaited,
    pub(super) waited: Waited,
    pub(super) first_byte: Tally,
    /// Time until the last response of each batch (`Te − T0`), if the report needs it.
    pub(super) batch: Option<Tally>,
}

/// Slots of an open loop that found a free connection. All of their lag is the client's, and their
/// response time without it is the service time.
#[derive(Debug, Default)]
pub(super) struct Unwaited {
    pub(super) lag: Tally,
    pub(super) service_ok: Tally,
}

/// Slots that waited for a connection: their lag, its two parts, and their times.
#[derive(Debug, Default)]
pub(super) struct Waited {
    pub(super) send_lag: Tally,
    pub(super) sched_lag: Tally,
    pub(super) connection_wait: Tally,
    pub(super) service_ok: Tally,
    /// Response time without the scheduling lag (`Te − T0 − sched_lag`).
    pub(super) unlagged_ok: Tally,
}

impl Times {
    /// Returns the tallies that lags are recorded in.
    pub(super) fn lags(&mut self) -> LagTallies<'_> {
        LagTallies {
            unwaited: &mut self.unwaited.lag,
            waited_send: &mut self.waited.send_lag,
            waited_sched: &mut self.waited.sched_lag,
        }
    }

    /// Records the send lag of a request of an open loop, split into `connection_wait` and
    /// `sched_lag`.
    #[inline]
    pub(super) fn lag(&mut self, exchange: &Exchange, sched_lag: u64) {
        let wait = exchange.connection_wait();
        if wait == 0 {
            self.unwaited.lag.record(sched_lag);
        } else {
            self.waited.send_lag.record(exchange.sent_at.since(exchange.intended_at));
            self.waited.sched_lag.record(sched_lag);
            self.waited.connection_wait.record(wait);
        }
    }

    /// Records `times` responses of an open loop that are `ok`, by their service time.
    #[inline(always)]
    pub(super) fn ok(
        &mut self,
        exchange: &Exchange,
        response_ns: u64,
        service_ns: u64,
        times: u32,
    ) {
        if exchange.connection_wait() == 0 {
            self.unwaited.service_ok.record_times(service_ns, times);
        } else {
            let unlagged_ns = response_ns - exchange.sched_lag();
            self.waited.service_ok.record_times(service_ns, times);
            self.waited.unlagged_ok.record_times(unlagged_ns, times);
        }
    }

    /// Records the times of a slot that is not `ok`.
    pub(super) fn failed(&mut self, outcome: Outcome, response_ns: u64, service_ns: u64) {
        self.response.record(outcome, response_ns);
        self.service.record(outcome, service_ns);
    }

    /// Returns the longest service time of a response so far.
    pub(super) fn service_max_ns(&self) -> u64 {
        let Times { unwaited, waited, .. } = self;
        unwaited.service_ok.exact().max_ns.max(waited.service_ok.exact().max_ns)
    }
}
