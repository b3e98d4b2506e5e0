//! Busy-polling of `auto` in an open loop: for the response of a request, if responses are fast.

use weir_io::{Nanos, WaitPolicy};

/// Longest usual time of a response for which `auto` busy-polls, in nanoseconds; it sleeps at once
/// if responses usually take longer.
const USUAL_MAX_NS: u64 = 250_000;

/// One nanosecond in this many may be spent on busy-polling.
const BUDGET_SHARE: u64 = 8;

/// A response is late once it has taken this many times the usual time.
const LATE: u64 = 4;

/// Upper limit of the saved budget of busy-polling, in nanoseconds.
const SAVINGS_NS: u64 = 1_000_000;

/// The budget of busy-polling of one worker, and the usual time of its responses.
#[derive(Clone, Debug)]
pub(super) struct Attention {
    /// Budget in nanoseconds.
    savings_ns: u64,
    /// End of the last turn.
    turned_at: Nanos,
    /// Begin of the time with requests on the wire; `None` while there is none.
    since: Option<Nanos>,
    /// Moving average of such a time, in nanoseconds; [`u64::MAX`] before the first.
    usual_ns: u64,
}

impl Attention {
    pub(super) fn new() -> Attention {
        Attention { savings_ns: 0, turned_at: Nanos::ZERO, since: None, usual_ns: u64::MAX }
    }

    /// Returns the policy of a wait from `now` to the next slot at `until`: busy-poll for the
    /// response, or sleep (`None`).
    ///
    /// A sleeping thread wakes later than a response arrives from nearby. So polling pays if
    /// responses are that fast and few enough that polling for each fits the budget. Polling for
    /// only some would mix two kinds of times. With little time until the next slot the CPU hardly
    /// enters a sleep state and wakes quickly, so the thread sleeps.
    pub(super) fn policy(&self, now: Nanos, until: Nanos) -> Option<WaitPolicy> {
        let usual_ns = self.usual_ns;
        if usual_ns > USUAL_MAX_NS
            || self.savings_ns < usual_ns
            || until.since(now) < usual_ns.saturating_mul(BUDGET_SHARE)
        {
            return None;
        }
        let late_ns = usual_ns * LATE;
        Some(WaitPolicy::Attentive { awake_until: now.after(late_ns.min(self.savings_ns)) })
    }

    /// Records the end of a turn with `in_flight` requests on the wire, after a wait by `policy`.
    #[inline]
    pub(super) fn turned(&mut self, now: Nanos, policy: WaitPolicy, in_flight: u64) {
        let span_ns = now.since(self.turned_at);
        self.turned_at = now;
        self.savings_ns = match policy {
            WaitPolicy::Attentive { .. } => self.savings_ns.saturating_sub(span_ns),
            _ => (self.savings_ns + span_ns / BUDGET_SHARE).min(SAVINGS_NS),
        };
        match (self.since, in_flight) {
            (None, 1..) => self.since = Some(now),
            (Some(since), 0) => {
                let took_ns = now.since(since);
                self.since = None;
                self.usual_ns = match self.usual_ns {
                    u64::MAX => took_ns,
                    usual_ns => usual_ns - usual_ns / 8 + took_ns / 8,
                };
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the share of time spent on busy-polling, with `rate` responses per second that take
    /// `took_ns` each.
    fn attention(rate: u64, took_ns: u64) -> f64 {
        let mut attention = Attention::new();
        let gap_ns = 1_000_000_000 / rate;
        let mut now = Nanos::ZERO;
        let mut awake_ns = 0;
        for _ in 0..rate {
            now = now.after(gap_ns - took_ns);
            attention.turned(now, WaitPolicy::Hybrid, 1);
            let policy = attention.policy(now, now.after(gap_ns)).unwrap_or(WaitPolicy::Hybrid);
            now = now.after(took_ns);
            if let WaitPolicy::Attentive { awake_until } = policy {
                assert!(awake_until >= now, "it was not long enough");
                awake_ns += took_ns;
            }
            attention.turned(now, policy, 0);
        }
        awake_ns as f64 / now.0 as f64
    }

    #[test]
    fn attention_is_cheap() {
        let check = |rate, took_ns, low, high| {
            let share = attention(rate, took_ns);
            assert!((low..=high).contains(&share), "{rate}/s, {took_ns} ns: {share}");
        };
        check(100, 40_000, 0.0039, 0.0041);
        check(1_000, 40_000, 0.038, 0.041);
        check(1_000, 120_000, 0.11, 0.125);
        check(2_000, 60_000, 0.11, 0.125);
        check(10_000, 12_000, 0.11, 0.125);
        check(2_000, 70_000, 0.0, 0.0);
        check(10_000, 20_000, 0.0, 0.0);
        check(1_000, 260_000, 0.0, 0.0);
    }

    #[test]
    fn a_late_response_is_awaited_as_far_as_there_are_savings() {
        let check = |savings_ns, until, expected| {
            let attention = Attention { usual_ns: 10_000, savings_ns, ..Attention::new() };
            assert_eq!(attention.policy(Nanos::ZERO, Nanos(until)), expected, "{savings_ns}");
        };
        let awake_until = |ns| Some(WaitPolicy::Attentive { awake_until: Nanos(ns) });
        check(100_000, 80_000, awake_until(40_000));
        check(25_000, 80_000, awake_until(25_000));
        check(9_999, 80_000, None);
        check(100_000, 79_999, None);
    }
}
