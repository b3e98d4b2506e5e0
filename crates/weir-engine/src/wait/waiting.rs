//! Receive strategy: the wait policy of each turn, from the pacing and `--wait`.
//!
//! A wait never lasts beyond the next due slot. The policy decides about responses: to wake for
//! each one, to coalesce many, or to busy-poll.

use weir_io::{Nanos, WaitPolicy};
use weir_result::{Pacing, Wait};

use super::attention::Attention;
use super::gathering::Gathering;
use super::polling::Polling;
use crate::job::Job;

/// Least number of busy connections or streams for coalescing. With fewer, a response that is held
/// back reduces the load.
const GATHER_MIN: u32 = 8;

/// Most events coalesced: the number of buffers of a ring, less a reserve.
const GATHER_MAX: u32 = 48;

/// Longest time of coalescing if only throughput counts, in nanoseconds.
const GATHER_NS: u32 = 100_000;

/// The same in `auto`, unless trials have shown that more costs nothing. The number of events
/// coalesced then is likely to be available already.
const GATHER_AUTO_NS: u32 = 20_000;

/// In `auto`, a client is late if a wait delivers at least this many responses, in as many events.
/// The number of such waits must exceed the number of others by `LATE_WAITS`: a client that
/// keeps up sees some by chance.
const LATE_RESPONSES: u32 = 3;
const LATE_WAITS: u32 = 8;

/// Upper limit of that difference.
const LATE_WAITS_MAX: u32 = 16;

/// One turn in this many waits for more events than came last.
const ASK_FOR_MORE: u32 = 16;

/// Busy-polling for a response after a turn, if only latency counts, in nanoseconds.
const ATTENTION_NS: u64 = 100_000;

/// The receive strategy of one worker.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    choice: Wait,
    /// Wait policy for slots.
    pacing: WaitPolicy,
    /// True if a connection may await several responses.
    is_pipelined: bool,
    /// True if the responses that a connection awaits are independent of each other.
    has_streams: bool,
    /// Events of the last wait.
    processed_events: u32,
    /// Waits that delivered as many responses as to a late client, minus those that did not.
    late: u32,
    /// Responses of the last wait.
    responses: u64,
    /// Trials that decide whether `auto` coalesces as much as `throughput`.
    gathering: Gathering,
    /// Trials that decide whether `auto` busy-polls in a closed loop.
    polling: Polling,
    /// Budget of busy-polling of `auto` in an open loop.
    attention: Option<Attention>,
    /// Turns since a wait for more events than came last.
    modest: u32,
    /// Waits that delivered events, and their events.
    pub(crate) seen: WakeUps,
}

/// Wake-ups of a worker that delivered events, and the number of those events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WakeUps {
    pub(crate) wakes: u64,
    pub(crate) events: u64,
}

impl Waiting {
    /// Returns the strategy for a job.
    pub(crate) fn new(job: &Job) -> Waiting {
        let plan = &job.plan;
        let has_plan = job.plan.has_due_times();
        let pacing = match plan.pacing {
            _ if plan.wait == Wait::Spin => WaitPolicy::Spin,
            Pacing::Spin => WaitPolicy::Spin,
            Pacing::Hybrid if has_plan => WaitPolicy::Hybrid,
            _ => WaitPolicy::Sleep,
        };
        let is_pipelined = plan.depth() > 1;
        let has_streams = is_pipelined && job.protocol.is_multiplexed();
        let polling = Polling::new(job.workers.may_poll && pacing == WaitPolicy::Sleep);
        let attention = (has_plan && plan.wait == Wait::Auto).then(Attention::new);
        let waiting = Waiting::with(plan.wait, pacing);
        Waiting { is_pipelined, has_streams, polling, attention, ..waiting }
    }

    fn with(choice: Wait, pacing: WaitPolicy) -> Waiting {
        Waiting {
            choice,
            pacing,
            is_pipelined: false,
            has_streams: false,
            processed_events: 0,
            late: 0,
            responses: 0,
            gathering: Gathering::new(),
            polling: Polling::new(false),
            attention: None,
            modest: 0,
            seen: WakeUps::default(),
        }
    }

    /// Returns the policy of a wait from `now` to `until` at the latest, for responses on `busy`
    /// connections or streams.
    #[inline]
    pub(crate) fn policy(&mut self, now: Nanos, until: Nanos, busy: u32) -> WaitPolicy {
        match self.choice {
            _ if self.pacing == WaitPolicy::Spin || busy == 0 => self.pacing,
            Wait::Throughput => {
                let worth = self.worth();
                self.gather(busy, worth, GATHER_NS)
            }
            Wait::Latency => WaitPolicy::Attentive { awake_until: now.after(ATTENTION_NS) },
            Wait::Auto if self.attention.is_some() => self.attend(now, until),
            Wait::Auto if self.polling.turned(now, self.responses) => {
                self.gathering.interrupt();
                WaitPolicy::Attentive { awake_until: now.after(ATTENTION_NS) }
            }
            // A worker that finds several responses per wait is late already. Waiting until a few
            // have arrived makes it hardly later. With streams the trials begin at once: requests
            // that are sent together are often answered together, so that both sides gain.
            Wait::Auto if self.late >= LATE_WAITS || self.has_streams => {
                match self.gathering.turned(now, self.responses, busy) {
                    Some(within_ns) => {
                        let worth = self.worth();
                        self.gather(busy, worth, within_ns)
                    }
                    None if self.late < LATE_WAITS => self.pacing,
                    // With pipelining more would arrive together only because more did before.
                    None if !self.is_pipelined => self.gather(busy, LATE_RESPONSES, GATHER_AUTO_NS),
                    None => {
                        self.gather(busy, self.processed_events.max(LATE_RESPONSES), GATHER_AUTO_NS)
                    }
                }
            }
            Wait::Auto | Wait::Spin => self.pacing,
        }
    }

    /// Returns the number of events worth waiting for: as many as came last, so that fast
    /// connections do not wait for slow ones. Now and then it is more, so that the number can grow
    /// again.
    fn worth(&mut self) -> u32 {
        self.modest += 1;
        // A pipelined connection has more requests in flight, so the server need not wait for the
        // client.
        if self.is_pipelined || self.modest == ASK_FOR_MORE {
            self.modest = 0;
            return GATHER_MAX;
        }
        self.processed_events
    }

    /// Returns the policy that waits for `worth` events. It waits for three in four of the
    /// connections at most, so that the server has work while the client has.
    fn gather(&self, busy: u32, worth: u32, within_ns: u32) -> WaitPolicy {
        let events = worth.min(busy - busy / 4).min(GATHER_MAX);
        if busy < GATHER_MIN || events < 2 {
            return self.pacing;
        }
        WaitPolicy::Gather { events, within_ns }
    }

    /// Returns the policy of `auto` in an open loop: busy-poll for the response, or wait as for
    /// slots.
    fn attend(&self, now: Nanos, until: Nanos) -> WaitPolicy {
        let attention = self.attention.as_ref().filter(|_| self.pacing == WaitPolicy::Hybrid);
        attention.and_then(|attention| attention.policy(now, until)).unwrap_or(self.pacing)
    }

    /// Records a wait that delivered `events` events, and with them `responses` responses.
    #[inline]
    pub(crate) fn processed_events(&mut self, events: u32, responses: u64) {
        self.seen.wakes += u64::from(events > 0);
        self.seen.events += u64::from(events);
        self.processed_events = events;
        let is_late = responses.min(events.into()) >= LATE_RESPONSES.into();
        self.late = match is_late {
            true => (self.late + 1).min(LATE_WAITS_MAX),
            false => self.late.saturating_sub(1),
        };
        self.responses = responses;
    }

    /// Records the end of a turn with `in_flight` requests on the wire, after a wait by `policy`.
    /// Has an effect only in `auto` and in an open loop.
    #[inline]
    pub(crate) fn turned(&mut self, now: Nanos, policy: WaitPolicy, in_flight: u64) {
        if let Some(attention) = &mut self.attention {
            attention.turned(now, policy, in_flight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(policy: WaitPolicy) -> Option<u32> {
        match policy {
            WaitPolicy::Gather { events, .. } => Some(events),
            _ => None,
        }
    }

    #[test]
    fn throughput_gathers_three_of_four_at_most() {
        let check = |busy, expected| {
            let waiting = Waiting::with(Wait::Throughput, WaitPolicy::Sleep);
            let mut waiting = Waiting { processed_events: 100, ..waiting };
            assert_eq!(events(waiting.policy(Nanos::ZERO, Nanos::MAX, busy)), expected, "{busy}");
        };
        check(0, None);
        check(7, None);
        check(8, Some(6));
        check(20, Some(15));
        check(1_000, Some(48));
    }

    #[test]
    fn the_fast_do_not_wait_for_the_slow() {
        // Twenty connections: five get fast responses, fifteen slow ones.
        let mut waiting = Waiting::with(Wait::Throughput, WaitPolicy::Sleep);
        let mut in_vain = 0;
        for _ in 0..1_000 {
            let requested = events(waiting.policy(Nanos::ZERO, Nanos::MAX, 20)).unwrap_or(1);
            in_vain += u32::from(requested > 5);
            waiting.processed_events(requested.min(5), 5);
        }
        assert!((20..=70).contains(&in_vain), "{in_vain}");
        // Once all are fast again, the number grows again.
        for _ in 0..20 {
            let requested = events(waiting.policy(Nanos::ZERO, Nanos::MAX, 20)).unwrap_or(1);
            waiting.processed_events(requested, requested.into());
        }
        assert_eq!(events(waiting.policy(Nanos::ZERO, Nanos::MAX, 20)), Some(15));
    }

    #[test]
    fn a_pipeline_waits_however_few_came_in_time() {
        let waiting = Waiting::with(Wait::Throughput, WaitPolicy::Sleep);
        let mut waiting = Waiting { is_pipelined: true, ..waiting };
        for _ in 0..100 {
            assert_eq!(events(waiting.policy(Nanos::ZERO, Nanos::MAX, 20)), Some(15));
            waiting.processed_events(2, 32);
        }
    }

    #[test]
    fn auto_gathers_a_few_where_as_many_come_together_anyway() {
        let mut waiting = Waiting::with(Wait::Auto, WaitPolicy::Sleep);
        let mut after = |counts: &[u32], busy| {
            counts.iter().for_each(|count| waiting.processed_events(*count, u64::from(*count)));
            events(waiting.policy(Nanos::ZERO, Nanos::MAX, busy))
        };
        assert_eq!(after(&[], 100), None);
        assert_eq!(after(&[2; 100], 100), None);
        assert_eq!(after(&[3; 7], 100), None);
        assert_eq!(after(&[3], 100), Some(3));
        assert_eq!(after(&[], 7), None);
        assert_eq!(after(&[40], 100), Some(3));
        // Several small waits are needed before the client counts as in time again.
        assert_eq!(after(&[1], 100), Some(3));
        assert_eq!(after(&[1], 100), None);
        assert_eq!(after(&[40], 100), Some(3));
        assert_eq!(after(&[40; 100], 100), Some(3));
        assert_eq!(after(&[1; 8], 100), Some(3));
        assert_eq!(after(&[1], 100), None);
        // Many events with few responses do not count as late.
        (0..100).for_each(|_| waiting.processed_events(40, 2));
        assert_eq!(events(waiting.policy(Nanos::ZERO, Nanos::MAX, 100)), None);
    }

    #[test]
    fn auto_gathers_as_throughput_does_where_that_is_no_loss() {
        // Responses arrive every 7 µs, or `loss_ns` later each if they are coalesced for long.
        let share_of_long = |loss_ns: u64| {
            let mut waiting = Waiting::with(Wait::Auto, WaitPolicy::Sleep);
            let mut now = Nanos::ZERO;
            let mut long = 0;
            for _ in 0..20_000 {
                let policy = waiting.policy(now, Nanos::MAX, 100);
                let is_long = matches!(policy, WaitPolicy::Gather { within_ns: 20_001.., .. });
                let came = events(policy).unwrap_or(3).min(15);
                waiting.processed_events(came, came.into());
                let response_ns = if is_long { 7_000 + loss_ns } else { 7_000 };
                now = now.after(u64::from(came) * response_ns);
                long += u32::from(is_long);
            }
            f64::from(long) / 20_000.0
        };
        assert!(share_of_long(0) > 0.8, "{}", share_of_long(0));
        assert!(share_of_long(500) < 0.1, "{}", share_of_long(500));
    }

    #[test]
    fn who_spins_spins() {
        let mut waiting = Waiting::with(Wait::Throughput, WaitPolicy::Spin);
        assert_eq!(waiting.policy(Nanos::ZERO, Nanos::MAX, 100), WaitPolicy::Spin);
    }
}
