//! The decision of a late client to gather many responses (`--wait auto` in a closed loop): where
//! trials show that this costs no throughput. It knows neither the clock nor the backend.

use weir_io::Nanos;

/// Turns of a block, and those before it in which the load settles.
const BLOCK_TURNS: u32 = 64;
const SETTLING_TURNS: u32 = 32;

/// Many are no loss where they bring at least this share of the throughput. By Little's law the
/// mean response time then grows by as little.
const NO_LOSS: (u128, u128) = (31, 32);

/// Decided once so many more pairs of blocks speak for one side than for the other.
const DECIDED: i32 = 4;
const SCORE_MAX: i32 = 8;

/// For how long many may gather: one part in so many of the mean response time, within bounds.
const SPAN_SHARE: u64 = 20;
const SPAN_MIN_NS: u64 = 20_000;
const SPAN_MAX_NS: u64 = 100_000;

/// Blocks until the next pair once that is so. A trial costs throughput only where many do.
const REST_OF_MANY: u32 = 16;
const REST_OF_FEW: u32 = 2_048;

/// One worker's trials: pairs of blocks of turns, the first with few answers gathered at a time and
/// the second with many, of which the throughputs are compared.
#[derive(Clone, Debug)]
pub(crate) struct Gathering {
    is_many: bool,
    /// Turns until the block ends; beyond [`BLOCK_TURNS`] it has not begun.
    turns: u32,
    block: Block,
    /// The first block of the pair, if this is the second.
    few: Option<Block>,
    /// Pairs in which many were no loss, less the others.
    score: i32,
    /// Blocks until the next pair.
    rest: u32,
    /// For how long many gather.
    span_ns: u32,
}

/// A stretch of turns.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    since: Nanos,
    length_ns: u64,
    answers: u64,
}

impl Gathering {
    pub(crate) fn new() -> Gathering {
        Gathering {
            is_many: false,
            turns: SETTLING_TURNS + BLOCK_TURNS,
            block: Block::default(),
            few: None,
            score: 0,
            rest: 0,
            span_ns: SPAN_MIN_NS as u32,
        }
    }

    /// The last turn brought so many answers; the next begins at `now` with so many connections
    /// busy. Returns for how long that one is to gather many, if it is.
    #[inline]
    pub(crate) fn turned(&mut self, now: Nanos, answers: u64, busy: u32) -> Option<u32> {
        if self.turns == BLOCK_TURNS {
            self.block = Block { since: now, ..Block::default() };
        } else {
            self.block.answers += answers;
        }
        if self.turns == 0 {
            self.block.length_ns = now.since(self.block.since);
            self.ended(busy);
            self.turns = SETTLING_TURNS + BLOCK_TURNS;
        }
        self.turns -= 1;
        self.is_many.then_some(self.span_ns)
    }

    /// A block has ended: chooses the next one.
    fn ended(&mut self, busy: u32) {
        if !self.is_many {
            self.span_ns = span_ns(self.block, busy);
        }
        if let Some(few) = self.few.take() {
            self.compared(few);
        } else if self.rest > 0 {
            self.rest -= 1;
        } else if self.is_many {
            // The next pair begins with few.
            self.is_many = false;
        } else {
            self.few = Some(self.block);
            self.is_many = true;
        }
    }

    /// A pair has ended, of which these were few.
    fn compared(&mut self, few: Block) {
        let product = |answers: u64, length_ns: u64| u128::from(answers) * u128::from(length_ns);
        let is_no_loss = product(self.block.answers, few.length_ns) * NO_LOSS.1
            >= product(few.answers, self.block.length_ns) * NO_LOSS.0;
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

/// A share of the mean response time, which is connections over throughput (Little's law).
fn span_ns(block: Block, busy: u32) -> u32 {
    let response_ns = u64::from(busy) * block.length_ns / block.answers.max(1);
    (response_ns / SPAN_SHARE).clamp(SPAN_MIN_NS, SPAN_MAX_NS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes on for so many turns: of 5 answers each where few are gathered, else of 20, each of
    /// which then takes `many_ns` instead of 7 µs. Returns the share of turns with many.
    fn share_of_many(gathering: &mut Gathering, turns: u32, many_ns: u64) -> f64 {
        let (mut now, mut answers, mut many) = (Nanos::ZERO, 5, 0);
        for _ in 0..turns {
            let is_many = gathering.turned(now, answers, 100).is_some();
            answers = if is_many { 20 } else { 5 };
            now = now.after(answers * if is_many { many_ns } else { 7_000 });
            many += u32::from(is_many);
        }
        f64::from(many) / f64::from(turns)
    }

    #[test]
    fn many_are_gathered_where_that_is_no_loss() {
        let mut gathering = Gathering::new();
        share_of_many(&mut gathering, 1_000, 7_000);
        assert!(share_of_many(&mut gathering, 100_000, 7_000) > 0.9);
        // A loss of less than the 32nd part is none.
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
        let check = |answers, expected| {
            let block = Block { since: Nanos(9), length_ns: 1_000_000, answers };
            assert_eq!(span_ns(block, 100), expected, "{answers}");
        };
        check(100, 50_000);
        check(1_000, 20_000);
        check(1, 100_000);
        check(0, 100_000);
    }

    #[test]
    fn chance_decides_nothing() {
        // A pair in three is spoiled by something else.
        let mut gathering = Gathering::new();
        let (few, mut won) = (Block { since: Nanos(0), length_ns: 100, answers: 100 }, 0);
        for pair in 0..300 {
            gathering.block = Block { answers: if pair % 3 == 0 { 50 } else { 100 }, ..few };
            gathering.compared(few);
            won += u32::from(gathering.is_many);
        }
        assert!(won > 280, "{won}");
    }
}
