//! The goodput of responses with messages (METHOD 1.26): conditions on the times of one response.

use weir_io::Nanos;
use weir_result::{GapDoubts, GoodputTerm, GoodputTime};

use super::Exchange;

/// Conditions that a response has to meet, all of them, to count as good.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goodput {
    /// The conditions; at most [`Goodput::TERMS_MAX`].
    pub terms: Vec<GoodputTerm>,
}

impl Goodput {
    /// Greatest number of conditions.
    pub const TERMS_MAX: usize = 4;

    /// True if a response that ended at `at` meets all conditions, by its times in this reading.
    pub(crate) fn is_met(
        &self,
        response: &MessageProgress,
        exchange: &Exchange,
        at: Nanos,
        reading: TimeReading,
    ) -> bool {
        let gaps = response.count.saturating_sub(1);
        let times = response.times(exchange, at, reading);
        self.terms.iter().zip(response.over).all(|(term, over)| match term.time {
            GoodputTime::Total => times.total_ns < term.limit_ns,
            _ if response.count == 0 => false,
            GoodputTime::First => times.first_ns < term.limit_ns,
            GoodputTime::MeanGap => {
                gaps == 0 || times.span_ns < term.limit_ns.saturating_mul(gaps.into())
            }
            GoodputTime::PerToken => {
                let tokens = response.tokens_after_first();
                gaps == 0 || times.span_ns < term.limit_ns.saturating_mul(tokens.into())
            }
            GoodputTime::Gap(p) => {
                let rank = (p / 100.0 * f64::from(gaps)).ceil() as u32;
                over[reading as usize] <= gaps - rank.min(gaps)
            }
        })
    }

    /// Counts a gap by the conditions whose limits it is not below, in each reading.
    pub(crate) fn count_gap(&self, over: &mut [[u32; READINGS]; Goodput::TERMS_MAX], gap: &Gap) {
        for (over, term) in over.iter_mut().zip(&self.terms) {
            for (over, reading) in over.iter_mut().zip(TimeReading::ALL) {
                *over += u32::from(gap.in_reading(reading) >= term.limit_ns);
            }
        }
    }
}

/// Number of [readings](TimeReading).
const READINGS: usize = TimeReading::ALL.len();

/// A way to read the times of a response, of which the client may have read parts late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeReading {
    /// As measured.
    Measured,
    /// Between the kernel's stamps, and without the lateness of the send.
    Stamped,
    /// The shortest that are possible if the client was stopped at any time.
    Shortest,
    /// The longest that are possible then.
    Longest,
}

impl TimeReading {
    pub(crate) const ALL: [TimeReading; 4] =
        [TimeReading::Measured, TimeReading::Stamped, TimeReading::Shortest, TimeReading::Longest];
}

/// Times of the last byte of a message: its read, and the span in which it reached this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The read, as measured.
    pub(crate) read_at: Nanos,
    /// Receipt by the kernel of what the client read before it, or its own if it is known.
    pub(crate) earliest: Nanos,
    /// Receipt by the kernel of the last packet of its read, or the read itself without a stamp. It
    /// is the message's own if the client reads promptly.
    pub(crate) latest: Nanos,
}

/// Time from one message to the next, in nanoseconds: as measured, and as it may have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) measured_ns: u64,
    pub(crate) stamped_ns: u64,
    shortest_ns: u64,
    longest_ns: u64,
}

impl Gap {
    /// Returns the gap between a message and the next.
    pub(crate) fn new(before: Arrival, next: Arrival) -> Gap {
        Gap {
            measured_ns: next.read_at.since(before.read_at),
            stamped_ns: next.latest.since(before.latest),
            shortest_ns: next.earliest.since(before.latest),
            longest_ns: next.latest.since(before.earliest),
        }
    }

    fn in_reading(&self, reading: TimeReading) -> u64 {
        match reading {
            TimeReading::Measured => self.measured_ns,
            TimeReading::Stamped => self.stamped_ns,
            TimeReading::Shortest => self.shortest_ns,
            TimeReading::Longest => self.longest_ns,
        }
    }

    /// Counts the gap in `doubts` if the client may have changed it.
    pub(crate) fn doubt(&self, doubts: &mut GapDoubts) {
        let share_ns = self.measured_ns / LATENESS_SHARE;
        let late_ns = self.measured_ns.abs_diff(self.stamped_ns);
        if late_ns > share_ns.max(LATE_NS) {
            doubts.late += 1;
            doubts.late_ns = doubts.late_ns.max(late_ns);
        }
        let shorter_ns = self.stamped_ns.saturating_sub(self.shortest_ns);
        let possible_ns = self.longest_ns.saturating_sub(self.stamped_ns).max(shorter_ns);
        if possible_ns > share_ns.max(POSSIBLE_NS) {
            doubts.possible += 1;
            doubts.possible_ns = doubts.possible_ns.max(possible_ns);
        }
    }
}

/// Changes of a gap that count: more than one in this many of its length, and more than a wake-up
/// takes on a busy machine, or on a quiet one (METHOD 1.9).
const LATENESS_SHARE: u64 = 20;
const LATE_NS: u64 = 100_000;
const POSSIBLE_NS: u64 = 20_000;

/// Times of one response in one reading, in nanoseconds.
struct ResponseTimes {
    first_ns: u64,
    total_ns: u64,
    /// From the first message to the last.
    span_ns: u64,
}

/// The messages of one response so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageProgress {
    /// Messages that count.
    pub(crate) count: u32,
    /// Tokens that the server has counted and sent, of a response that has ended; `None` without
    /// such a count.
    pub(crate) tokens: Option<u32>,
    pub(crate) bytes: u64,
    /// Arrivals of the first and the last message that counts; [`Arrival::NONE`] without one.
    pub(crate) first: Arrival,
    pub(crate) last: Arrival,
    /// Time of the last message of any kind; [`Nanos::ZERO`] without one.
    pub(crate) heard_at: Nanos,
    /// Kernel receive stamp of the last message that counts, if there is one.
    pub(crate) stamp: Option<Nanos>,
    /// Time up to which the client has read: the arrival of the last packet that it read, or the
    /// read itself without a stamp; [`Nanos::ZERO`] before the first message.
    pub(crate) read_until: Nanos,
    /// Gaps that are not below the limit of each condition, in each reading.
    pub(crate) over: [[u32; READINGS]; Goodput::TERMS_MAX],
    /// True after an error within the stream.
    pub(crate) has_error: bool,
    /// True after a mark of its end.
    pub(crate) has_end_mark: bool,
}

impl MessageProgress {
    /// The state before the first message.
    pub(crate) const NONE: MessageProgress = MessageProgress {
        count: 0,
        tokens: None,
        bytes: 0,
        first: Arrival::NONE,
        last: Arrival::NONE,
        heard_at: Nanos::ZERO,
        stamp: None,
        read_until: Nanos::ZERO,
        over: [[0; READINGS]; Goodput::TERMS_MAX],
        has_error: false,
        has_end_mark: false,
    };

    /// Number of tokens after the first, by the server's count; of messages without one.
    fn tokens_after_first(&self) -> u32 {
        self.tokens.unwrap_or(self.count).saturating_sub(1)
    }

    /// Returns the time per token as measured; `None` with one message or one token.
    pub(crate) fn time_per_token_ns(&self) -> Option<u64> {
        let tokens = u64::from(self.tokens_after_first());
        (self.count > 1 && tokens > 0).then(|| self.span_ns() / tokens)
    }

    /// Returns the time from the read of the first message to that of the last.
    pub(crate) fn span_ns(&self) -> u64 {
        self.last.read_at.since(self.first.read_at)
    }

    /// Returns the times of the response to `exchange` that ended at `at`.
    fn times(&self, exchange: &Exchange, at: Nanos, reading: TimeReading) -> ResponseTimes {
        let first = self.first;
        let last = self.last;
        let sent_at = exchange.sent_at;
        let due_at = exchange.intended_at;
        // Without messages the end of the response has no stamp.
        let end = match self.count {
            0 => Arrival { read_at: at, earliest: sent_at, latest: at },
            _ => last,
        };
        match reading {
            TimeReading::Measured => ResponseTimes {
                first_ns: first.read_at.since(due_at),
                total_ns: at.since(due_at),
                span_ns: self.span_ns(),
            },
            TimeReading::Stamped => {
                let due_at = due_at.after(exchange.sched_lag());
                let ended_at = if at == last.read_at { end.latest } else { at };
                ResponseTimes {
                    first_ns: first.latest.since(due_at),
                    total_ns: ended_at.since(due_at),
                    span_ns: last.latest.since(first.latest),
                }
            }
            TimeReading::Shortest => ResponseTimes {
                first_ns: first.earliest.since(sent_at),
                total_ns: end.earliest.since(sent_at),
                span_ns: last.earliest.since(first.latest),
            },
            TimeReading::Longest => ResponseTimes {
                first_ns: first.read_at.since(due_at),
                total_ns: at.since(due_at),
                span_ns: last.latest.since(first.earliest),
            },
        }
    }
}

impl Arrival {
    pub(crate) const NONE: Arrival =
        Arrival { read_at: Nanos::ZERO, earliest: Nanos::ZERO, latest: Nanos::ZERO };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the progress of a response sent at 0, with messages at these times.
    fn response(goodput: &Goodput, times: &[u64]) -> MessageProgress {
        let mut progress = MessageProgress::NONE;
        progress.count = times.len() as u32;
        progress.first.read_at = Nanos(times.first().copied().unwrap_or(0));
        progress.last.read_at = Nanos(times.last().copied().unwrap_or(0));
        for pair in times.windows(2) {
            goodput.count_gap(&mut progress.over, &Gap::new(known(pair[0]), known(pair[1])));
        }
        progress
    }

    fn is_met(time: GoodputTime, limit_ns: u64, times: &[u64]) -> bool {
        let goodput = Goodput { terms: vec![GoodputTerm { time, limit_ns }] };
        let exchange = Exchange {
            intended_at: Nanos(0),
            freed_at: Nanos(0),
            sent_at: Nanos(0),
            ..Exchange::NONE
        };
        let response = response(&goodput, times);
        goodput.is_met(&response, &exchange, Nanos(1_000), TimeReading::Measured)
    }

    /// A message that arrived and was read at the same time.
    fn known(at: u64) -> Arrival {
        Arrival { read_at: Nanos(at), earliest: Nanos(at), latest: Nanos(at) }
    }

    /// A message that arrived in this span and was read at `at`, in milliseconds.
    fn read(at: u64, earliest: u64, latest: u64) -> Arrival {
        let [read_at, earliest, latest] = [at, earliest, latest].map(|ms| Nanos(ms * 1_000_000));
        Arrival { read_at, earliest, latest }
    }

    #[test]
    fn a_late_read_changes_two_gaps() {
        let found = |before, next| {
            let mut doubts = GapDoubts::default();
            Gap::new(before, next).doubt(&mut doubts);
            let GapDoubts { late, late_ns, possible, possible_ns } = doubts;
            (late, late_ns / 1_000_000, possible, possible_ns / 1_000_000)
        };
        // Read at once, then 15 ms late, then at once.
        let messages = [read(10, 10, 10), read(45, 30, 30), read(50, 50, 50)];
        assert_eq!(found(messages[0], messages[1]), (1, 15, 0, 0), "35 ms instead of 20");
        assert_eq!(found(messages[1], messages[2]), (1, 15, 0, 0), "5 ms instead of 20");
        assert_eq!(found(messages[0], messages[2]), (0, 0, 0, 0));
        // Two of one read: the first may have arrived at any time since the read before.
        let messages = [read(10, 10, 10), read(50, 10, 50), read(50, 50, 50)];
        assert_eq!(found(messages[0], messages[1]), (0, 0, 1, 40), "40 ms, or 0");
        assert_eq!(found(messages[1], messages[2]), (0, 0, 1, 40), "0 ms, or 40");
        let messages = [read(10, 10, 10), read(45, 10, 30)];
        assert_eq!(found(messages[0], messages[1]), (1, 15, 1, 20), "35 ms instead of 0 to 20");
    }

    #[test]
    fn limits_are_exclusive() {
        let times = [100, 110, 130, 160];
        assert!(
            is_met(GoodputTime::First, 101, &times) && !is_met(GoodputTime::First, 100, &times)
        );
        assert!(is_met(GoodputTime::Total, 1_001, &times));
        assert!(!is_met(GoodputTime::Total, 1_000, &times));
        for mean in [GoodputTime::MeanGap, GoodputTime::PerToken] {
            assert!(is_met(mean, 21, &times) && !is_met(mean, 20, &times));
        }
    }

    #[test]
    fn a_percentile_of_gaps_is_of_the_nearest_rank() {
        // Gaps of 10, 20 and 30.
        let times = [100, 110, 130, 160];
        for (p, value) in [(1.0, 10), (33.0, 10), (34.0, 20), (66.0, 20), (67.0, 30), (100.0, 30)] {
            let gap = GoodputTime::Gap(p);
            assert!(is_met(gap, value + 1, &times) && !is_met(gap, value, &times), "p{p}");
        }
    }

    #[test]
    fn a_response_with_one_message_has_no_gap_that_is_too_long() {
        assert!(is_met(GoodputTime::Gap(99.0), 1, &[100]) && is_met(GoodputTime::MeanGap, 1, &[1]));
        assert!(!is_met(GoodputTime::Gap(99.0), 1, &[]), "one without a message is not good");
    }
}
