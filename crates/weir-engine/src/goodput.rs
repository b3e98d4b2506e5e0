//! The goodput of responses with messages (METHOD 1.26): conditions on the times of one response.

use weir_io::Nanos;

/// Conditions that a response has to meet, all of them, to count as good.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goodput {
    /// The conditions; at most [`Goodput::TERMS_MAX`].
    pub terms: Vec<GoodputTerm>,
}

/// A condition: a time of a response is below a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoodputTerm {
    /// The time.
    pub time: GoodputTime,
    /// Its limit in nanoseconds; the time has to be less.
    pub limit_ns: u64,
}

/// A time of one response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GoodputTime {
    /// Time to the first message, from the planned send.
    First,
    /// Response time.
    Total,
    /// Mean gap between messages.
    MeanGap,
    /// Percentile of the gaps between messages, in percent; 100 is the greatest.
    Gap(f64),
}

impl Goodput {
    /// Greatest number of conditions.
    pub const TERMS_MAX: usize = 4;

    /// True if a response meets all conditions. `over` has the number of its gaps that are not
    /// below the limit of each.
    pub(crate) fn is_met(&self, response: &MessageProgress, times: (Nanos, Nanos)) -> bool {
        let (intended_at, ended_at) = times;
        let gaps = response.count.saturating_sub(1);
        self.terms.iter().zip(response.over).all(|(term, over)| match term.time {
            _ if response.count == 0 => false,
            GoodputTime::First => response.first_at.since(intended_at) < term.limit_ns,
            GoodputTime::Total => ended_at.since(intended_at) < term.limit_ns,
            GoodputTime::MeanGap => {
                let span_ns = response.last_at.since(response.first_at);
                gaps == 0 || span_ns < term.limit_ns.saturating_mul(gaps.into())
            }
            GoodputTime::Gap(p) => {
                let rank = (p / 100.0 * f64::from(gaps)).ceil() as u32;
                over <= gaps - rank.min(gaps)
            }
        })
    }
}

/// The messages of one response so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageProgress {
    /// Messages that count.
    pub(crate) count: u32,
    pub(crate) bytes: u64,
    /// Times of the first and the last message that counts; [`Nanos::ZERO`] without one.
    pub(crate) first_at: Nanos,
    pub(crate) last_at: Nanos,
    /// Time of the last message of any kind; [`Nanos::ZERO`] without one.
    pub(crate) heard_at: Nanos,
    /// Kernel receive stamp of the last message that counts, if there is one.
    pub(crate) stamp: Option<Nanos>,
    /// Gaps that are not below the limit of each condition.
    pub(crate) over: [u32; Goodput::TERMS_MAX],
    /// True after an error within the stream.
    pub(crate) has_error: bool,
    /// True after a mark of its end.
    pub(crate) has_end_mark: bool,
}

impl MessageProgress {
    /// The state before the first message.
    pub(crate) const NONE: MessageProgress = MessageProgress {
        count: 0,
        bytes: 0,
        first_at: Nanos::ZERO,
        last_at: Nanos::ZERO,
        heard_at: Nanos::ZERO,
        stamp: None,
        over: [0; Goodput::TERMS_MAX],
        has_error: false,
        has_end_mark: false,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the progress of a response sent at 0, with messages at these times.
    fn response(goodput: &Goodput, times: &[u64]) -> MessageProgress {
        let mut progress = MessageProgress::NONE;
        progress.count = times.len() as u32;
        progress.first_at = Nanos(times.first().copied().unwrap_or(0));
        progress.last_at = Nanos(times.last().copied().unwrap_or(0));
        for (index, term) in goodput.terms.iter().enumerate() {
            let gaps = times.windows(2).filter(|pair| pair[1] - pair[0] >= term.limit_ns);
            progress.over[index] = gaps.count() as u32;
        }
        progress
    }

    fn is_met(time: GoodputTime, limit_ns: u64, times: &[u64]) -> bool {
        let goodput = Goodput { terms: vec![GoodputTerm { time, limit_ns }] };
        goodput.is_met(&response(&goodput, times), (Nanos::ZERO, Nanos(1_000)))
    }

    #[test]
    fn limits_are_exclusive() {
        let times = [100, 110, 130, 160];
        assert!(
            is_met(GoodputTime::First, 101, &times) && !is_met(GoodputTime::First, 100, &times)
        );
        assert!(is_met(GoodputTime::Total, 1_001, &times));
        assert!(!is_met(GoodputTime::Total, 1_000, &times));
        let mean = GoodputTime::MeanGap;
        assert!(is_met(mean, 21, &times) && !is_met(mean, 20, &times));
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
