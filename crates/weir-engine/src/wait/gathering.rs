//! Adaptive coalescing of responses (`--wait auto` in a closed loop): a busy client collects many
//! responses per wake-up, if trials show that this costs no throughput. This module reads neither
//! clock nor backend.

use weir_io::Nanos;

/// Turns of a block, and turns before each block in which the load settles.
const BLOCK_TURNS: u32 = 64;
const SETTLING_TURNS: u32 = 32;

/// Coalescing counts as no loss if it delivers at least this share of the throughput. By Little's
/// law the mean response time then grows by as little.
const NO_LOSS: (u128, u128) = (31, 32);

/// A decision needs this many more pairs of blocks for one side than for the other.
const DECIDED: i32 = 4;
const SCORE_MAX: i32 = 8;

/// Time for which responses are coalesced: one part in `SPAN_SHARE` of the mean response time,
/// within bounds in nanoseconds.
const SPAN_SHARE: u64 = 20;
const SPAN_MIN_NS: u64 = 20_000;
const SPAN_MAX_NS: u64 = 100_000;

/// Responses at longer intervals than this on average, in nanoseconds, are not coalesced: a wake-up
/// for each costs a fifth of a CPU at most.
const INTERVAL_MAX_NS: u64 = 50_000;

/// Blocks until the next pair after a decision. A trial costs throughput only if coalescing does.
const REST_OF_MANY: u32 = 16;
const REST_OF_FEW: u32 = 2_048;

/// One worker's trials: pairs of blocks of turns, the first without and the second with coalescing,
/// whose throughputs are compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathering {
    is_many: bool,
    /// Turns until the block ends; beyond [`BLOCK_TURNS`] it has not begun.
    turns: u32,
    block: TurnBlock,
    /// The first block of the pair, during the second block.
    few: Option<TurnBlock>,
    /// Pairs in which coalescing was no loss, minus the others.
    score: i32,
    /// Blocks until the next pair.
    rest: u32,
    /// Time for which responses are coalesced, in nanoseconds.
    span_ns: u32,
}

/// Consecutive turns, with the responses they delivered.
#[derive(Clone, Copy, Debug, Default)]
struct TurnBlock {
    since: Nanos,
    length_ns: u64,
    responses: u64,
}

impl Gathering {
    pub(crate) fn new() -> Gathering {
        Gathering {
            turns: SETTLING_TURNS + BLOCK_TURNS,
            span_ns: SPAN_MIN_NS as u32,
            ..Gathering::default()
        }
    }

    /// Records the end of a turn that delivered `responses` responses. The next turn begins at
    /// `now` with `busy` busy connections. Returns the time for which that turn coalesces, `None`
    /// if it does not.
    #[inline]
    pub(crate) fn turned(&mut self, now: Nanos, responses: u64, busy: u32) -> Option<u32> {
        if self.turns == BLOCK_TURNS {
            self.block = TurnBlock { since: now, ..TurnBlock::default() };
        } else {
            self.block.responses += responses;
        }
        if self.turns == 0 {
            self.block.length_ns = now.since(self.block.since);
            self.ended(busy);
            self.turns = SETTLING_TURNS + BLOCK_TURNS;
        }
        self.turns -= 1;
        self.is_many.then_some(self.span_ns)
    }

    /// Begins the block anew: what follows is a turn of another kind.
    #[inline]
    pub(crate) fn interrupt(&mut self) {
        self.turns = SETTLING_TURNS + BLOCK_TURNS;
    }

    /// Chooses the next block after one has ended.
    fn ended(&mut self, busy: u32) {
        if !self.is_many {
            self.span_ns = span_ns(self.block, busy);
        }
        if self.block.length_ns > self.block.responses * INTERVAL_MAX_NS {
            (self.few, self.is_many) = (None, false);
        } else if let Some(few) = self.few.take() {
            self.compared(few);
        } else if self.rest > 0 {
            self.rest -= 1;
        } else if self.is_many {
            // The next pair begins without coalescing.
            self.is_many = false;
        } else {
            self.few = Some(self.block);
            self.is_many = true;
        }
    }

    /// Compares the block that has ended with `few`, the first block of its pair.
    fn compared(&mut self, few: TurnBlock) {
        let product =
            |responses: u64, length_ns: u64| u128::from(responses) * u128::from(length_ns);
        let is_no_loss = product(self.block.responses, few.length_ns) * NO_LOSS.1
            >= product(few.responses, self.block.length_ns) * NO_LOSS.0;
        let score = self.score + if is_no_loss { 1 } else { -1 };
        self.score = score.clamp(-SCORE_MAX, SCORE_MAX);
        self.is_many = self.score >= DECIDED;
        self.rest = match self.score.abs() {
            DECIDED.. if self.is_many => REST_OF_MANY,
            DECIDED.. => REST_OF_FEW,
            _ => 0,
        };
    }
}

/// Returns a share of the mean response time, which is connections over throughput (Little's law).
fn span_ns(block: TurnBlock, busy: u32) -> u32 {
    let response_ns = u64::from(busy) * block.length_ns / block.responses.max(1);
    (response_ns / SPAN_SHARE).clamp(SPAN_MIN_NS, SPAN_MAX_NS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `turns` turns. Without coalescing each delivers 5 responses of 7 µs each; with it, 20
    /// of `many_ns` each. Returns the share of turns with coalescing.
    fn share_of_many(gathering: &mut Gathering, turns: u32, many_ns: u64) -> f64 {
        let mut now = Nanos::ZERO;
        let mut responses = 5;
        let mut many = 0;
        for _ in 0..turns {
            let is_many = gathering.turned(now, responses, 100).is_some();
            responses = if is_many { 20 } else { 5 };
            now = now.after(responses * if is_many { many_ns } else { 7_000 });
            many += u32::from(is_many);
        }
        f64::from(many) / f64::from(turns)
    }

    #[test]
    fn many_are_gathered_where_that_is_no_loss() {
        let mut gathering = Gathering::new();
        share_of_many(&mut gathering, 1_000, 7_000);
        assert!(share_of_many(&mut gathering, 100_000, 7_000) > 0.9);
        // A loss of less than one part in 32 counts as none.
        assert!(share_of_many(&mut gathering, 100_000, 7_200) > 0.9);
    }

    #[test]
    fn few_are_gathered_where_more_are_a_loss() {
        let mut gathering = Gathering::new();
        share_of_many(&mut gathering, 2_000, 7_500);
        let share = share_of_many(&mut gathering, 1_000_000, 7_500);
        assert!(share > 0.0 && share < 0.002, "{share}");
    }

    #[test]
    fn what_becomes_a_loss_is_given_up() {
        let mut gathering = Gathering::new();
        share_of_many(&mut gathering, 100_000, 7_000);
        share_of_many(&mut gathering, 50_000, 8_000);
        assert!(share_of_many(&mut gathering, 100_000, 8_000) < 0.01);
    }

    #[test]
    fn the_span_is_a_share_of_the_mean_response_time() {
        let check = |responses, expected| {
            let block = TurnBlock { since: Nanos(9), length_ns: 1_000_000, responses };
            assert_eq!(span_ns(block, 100), expected, "{responses}");
        };
        check(100, 50_000);
        check(1_000, 20_000);
        check(1, 100_000);
        check(0, 100_000);
    }

    #[test]
    fn chance_decides_nothing() {
        // One pair in three is distorted by something else.
        let mut gathering = Gathering::new();
        let few = TurnBlock { since: Nanos(0), length_ns: 100, responses: 100 };
        let mut won = 0;
        for pair in 0..300 {
            gathering.block = TurnBlock { responses: if pair % 3 == 0 { 50 } else { 100 }, ..few };
            gathering.compared(few);
            won += u32::from(gathering.is_many);
        }
        assert!(won > 280, "{won}");
    }
}
