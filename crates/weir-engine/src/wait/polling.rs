//! Trials of busy-polling (`--wait auto` in a closed loop, with a server on this machine and a CPU
//! to spare). A server that wakes a sleeping client pays for it: the inter-processor interrupt and
//! the scheduler's work are in its `send`. A client that is awake spares a slow server that, and
//! only a trial shows how much. This module reads neither clock nor backend.

use weir_io::Nanos;

/// Length of a block, and of the time before it in which the load settles, in nanoseconds.
const BLOCK_NS: u64 = 4_000_000;
const SETTLING_NS: u64 = 1_000_000;

/// Pairs of blocks of a trial.
const PAIRS: u32 = 8;

/// A pair is for busy-polling, which takes a CPU, if that makes more than this ratio of the
/// throughput without.
const GAIN: (u128, u128) = (65, 64);

/// Busy-polling begins if at least `BEGIN` pairs of a trial are for it, and goes on until fewer
/// than `GO_ON` are.
const BEGIN: u32 = 7;
const GO_ON: u32 = 4;

/// Time from one trial to the next in nanoseconds: at first, and at last. It grows by `REST_GROWTH`
/// each time, so that a short run has a trial, and a long one spends little on them.
const REST_MIN_NS: u64 = 100_000_000;
const REST_MAX_NS: u64 = 3_200_000_000;
const REST_GROWTH: u64 = 4;

/// Responses at longer intervals than this on average, in nanoseconds, are not polled for: the time
/// of a wake-up is a few parts in a hundred of it at most.
const INTERVAL_MAX_NS: u64 = 100_000;

/// One worker's trials: pairs of blocks of time with and without busy-polling, whose throughputs
/// are compared. The times do not depend on what is found. So workers that start together poll
/// together, and each measures what polling by all of them does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Polling {
    is_polling: bool,
    stage: PollingStage,
    /// Begin and end of the stage.
    since: Nanos,
    until: Nanos,
    /// Responses in the stage.
    responses: u64,
    /// Throughput of the first block of the pair, during the second.
    first: Throughput,
    /// Pairs of this trial that are for busy-polling.
    wins: u32,
    /// True if the last trial was for busy-polling, and before the first.
    is_chosen: bool,
    rest_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PollingStage {
    /// Between two trials.
    #[default]
    Rest,
    /// Before the block of that number.
    Settling(u32),
    /// In the block of that number.
    Block(u32),
}

#[derive(Clone, Copy, Debug, Default)]
struct Throughput {
    responses: u64,
    length_ns: u64,
}

impl Polling {
    /// Returns the trials of a worker, none unless it `may_poll`.
    pub(crate) fn new(may_poll: bool) -> Polling {
        Polling {
            until: if may_poll { Nanos::ZERO } else { Nanos::MAX },
            // Most servers on the same machine gain, so a short run begins with it.
            is_chosen: may_poll,
            rest_ns: REST_MIN_NS,
            ..Polling::default()
        }
    }

    /// Records the end of a turn that delivered `responses` responses. Returns true if the next
    /// turn, which begins at `now`, busy-polls.
    #[inline]
    pub(crate) fn turned(&mut self, now: Nanos, responses: u64) -> bool {
        self.responses += responses;
        if now >= self.until {
            self.ended(now);
        }
        self.is_polling
    }

    /// Begins the next stage at `now`.
    #[cold]
    fn ended(&mut self, now: Nanos) {
        let throughput = Throughput { responses: self.responses, length_ns: now.since(self.since) };
        match self.stage {
            // The first rest begins with the load: a trial right then would measure its start.
            PollingStage::Rest if self.until == Nanos::ZERO => self.rest(now),
            PollingStage::Rest if throughput.is_slow() => {
                self.is_chosen = false;
                self.rest(now);
            }
            PollingStage::Rest => {
                self.wins = 0;
                self.settle(now, 0);
            }
            PollingStage::Settling(block) => self.begin(now, PollingStage::Block(block), BLOCK_NS),
            PollingStage::Block(block) if block % 2 == 0 => {
                self.first = throughput;
                self.settle(now, block + 1);
            }
            PollingStage::Block(block) => {
                let (with, without) = match self.is_polling {
                    true => (throughput, self.first),
                    false => (self.first, throughput),
                };
                self.wins += u32::from(with.is_gain_over(without));
                match block + 1 {
                    block if block < 2 * PAIRS => self.settle(now, block),
                    _ => self.decide(now),
                }
            }
        }
    }

    fn decide(&mut self, now: Nanos) {
        self.is_chosen = self.wins >= if self.is_chosen { GO_ON } else { BEGIN };
        self.rest(now);
    }

    fn rest(&mut self, now: Nanos) {
        self.is_polling = self.is_chosen;
        self.begin(now, PollingStage::Rest, self.rest_ns);
        self.rest_ns = (self.rest_ns * REST_GROWTH).min(REST_MAX_NS);
    }

    /// Settles for a block: without and with polling, with and without, and so on, as a drift of
    /// the load would favour what always came second.
    fn settle(&mut self, now: Nanos, block: u32) {
        self.is_polling = (block ^ (block >> 1)) & 1 == 1;
        self.begin(now, PollingStage::Settling(block), SETTLING_NS);
    }

    fn begin(&mut self, now: Nanos, stage: PollingStage, length_ns: u64) {
        (self.stage, self.since, self.until) = (stage, now, now.after(length_ns));
        self.responses = 0;
    }
}

impl Throughput {
    fn is_slow(self) -> bool {
        self.length_ns > self.responses * INTERVAL_MAX_NS
    }

    /// True if this throughput exceeds `other` by what makes polling worth a CPU.
    fn is_gain_over(self, other: Throughput) -> bool {
        let product =
            |responses: u64, length_ns: u64| u128::from(responses) * u128::from(length_ns);
        product(self.responses, other.length_ns) * GAIN.1
            > product(other.responses, self.length_ns) * GAIN.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Runs to `until_ns`, one response per turn: each takes `few_ns`, or `polled_ns` with
    /// polling. Returns the share of time with polling.
    fn share(
        polling: &mut Polling,
        now: &mut Nanos,
        until_ns: u64,
        few_ns: u64,
        polled_ns: u64,
    ) -> f64 {
        let since = *now;
        let mut polled = 0;
        while now.0 < until_ns {
            let is_polling = polling.turned(*now, 1);
            let took_ns = if is_polling { polled_ns } else { few_ns };
            *now = now.after(took_ns);
            polled += if is_polling { took_ns } else { 0 };
        }
        polled as f64 / now.since(since) as f64
    }

    #[test]
    fn who_gains_by_polling_polls() {
        let mut polling = Polling::new(true);
        let mut now = Nanos::ZERO;
        let at_first = share(&mut polling, &mut now, SECOND_NS / 5, 20_000, 18_000);
        assert!(at_first > 0.7, "{at_first}");
        let later = share(&mut polling, &mut now, 20 * SECOND_NS, 20_000, 18_000);
        assert!(later > 0.95, "{later}");
    }

    #[test]
    fn who_does_not_sleeps() {
        // A gain of one part in 100 is not worth a CPU.
        for polled_ns in [9_900, 11_000] {
            let mut polling = Polling::new(true);
            let mut now = Nanos::ZERO;
            let share = share(&mut polling, &mut now, 20 * SECOND_NS, 10_000, polled_ns);
            assert!(share > 0.0 && share < 0.03, "{share}");
        }
    }

    #[test]
    fn what_no_longer_pays_is_given_up() {
        let mut polling = Polling::new(true);
        let mut now = Nanos::ZERO;
        share(&mut polling, &mut now, SECOND_NS, 20_000, 18_000);
        share(&mut polling, &mut now, 6 * SECOND_NS, 20_000, 22_000);
        let later = share(&mut polling, &mut now, 20 * SECOND_NS, 20_000, 22_000);
        assert!(later < 0.03, "{later}");
        // Nor does it where responses have become rare.
        let mut polling = Polling::new(true);
        let mut now = Nanos::ZERO;
        share(&mut polling, &mut now, SECOND_NS, 20_000, 18_000);
        share(&mut polling, &mut now, 6 * SECOND_NS, 200_000, 180_000);
        let later = share(&mut polling, &mut now, 20 * SECOND_NS, 200_000, 180_000);
        assert_eq!(later, 0.0);
    }

    #[test]
    fn who_may_not_poll_never_does() {
        let mut polling = Polling::new(false);
        let mut now = Nanos::ZERO;
        assert_eq!(share(&mut polling, &mut now, 2 * SECOND_NS, 20_000, 10_000), 0.0);
    }

    #[test]
    fn workers_that_start_together_poll_together() {
        // One serves twice as many; what each finds differs, when it looks does not.
        let mut one = Polling::new(true);
        let mut other = Polling::new(true);
        let mut apart = 0;
        for turn in 0..1_000_000 {
            let now = Nanos(turn * 2_000);
            let is_resting = [&one, &other].map(|polling| polling.stage == PollingStage::Rest);
            let polls = [one.turned(now, 1), other.turned(now, 2)];
            apart += u32::from(is_resting == [false; 2] && polls[0] != polls[1]);
        }
        assert_eq!(apart, 0);
    }

    #[test]
    fn chance_begins_nothing() {
        // Of two equal throughputs either is ahead in half of the pairs: 7 of 8 are rare.
        let mut polling = Polling::new(true);
        let mut begun = 0;
        let mut random = 1_u64;
        for _ in 0..1_000 {
            polling.wins = 0;
            for _ in 0..PAIRS {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                polling.wins += (random >> 63) as u32;
            }
            polling.is_chosen = false;
            polling.decide(Nanos::ZERO);
            begun += u32::from(polling.is_chosen);
        }
        assert!(begun < 50, "{begun}");
    }
}
