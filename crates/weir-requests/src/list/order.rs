//! The order in which a load sends the rows of a list: a pure function of a slot's number.

use thiserror::Error;

/// Greatest number of turns in a pass, with weights in their lowest terms.
pub const PASS_MAX: u64 = 1 << 20;

/// Order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// File order, round and round; a row with a weight has as many turns in each pass.
    Sequential,
    /// At random with this seed, by weight, each turn independent of the others.
    Random {
        /// Seed of the numbers.
        seed: u64,
    },
    /// File order, each row once.
    Once,
}

/// Weights for which there is no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WeightError {
    /// The turns of a pass are more than [`PASS_MAX`].
    #[error(
        "the weights add up to {turns} in lowest terms, which is more than {PASS_MAX}: give \
         smaller ones"
    )]
    TooManyTurns {
        /// Sum of the weights in lowest terms.
        turns: u64,
    },
    /// Rows with weights cannot each be sent once.
    #[error("a list with weights is not sent once: leave them out, or choose another order")]
    OnceWithWeights,
}

/// The rows in their order.
#[derive(Clone, Debug)]
pub struct Sequence {
    order: Order,
    /// Row of each turn of a pass; empty if each row has one, in file order.
    turns: Box<[u32]>,
    /// Number of turns in a pass.
    pass: u64,
}

impl Sequence {
    /// Returns the order of `rows` rows without weights.
    ///
    /// # Panics
    /// If there are none.
    pub fn plain(order: Order, rows: u64) -> Sequence {
        assert!(rows > 0, "a list has rows");
        Sequence { order, turns: Box::default(), pass: rows }
    }

    /// Returns the order of rows with these weights, each at least 1.
    ///
    /// # Errors
    /// If they have no order.
    ///
    /// # Panics
    /// If there are none, or one is 0.
    pub fn weighted(order: Order, weights: &[u32]) -> Result<Sequence, WeightError> {
        assert!(!weights.is_empty() && !weights.contains(&0), "rows have weights");
        let divisor = weights.iter().fold(0, |divisor, weight| gcd(divisor, *weight));
        if weights.iter().all(|weight| *weight == divisor) {
            return Ok(Sequence::plain(order, weights.len() as u64));
        }
        if order == Order::Once {
            return Err(WeightError::OnceWithWeights);
        }
        let turns = weights.iter().map(|weight| u64::from(weight / divisor)).sum();
        if turns > PASS_MAX {
            return Err(WeightError::TooManyTurns { turns });
        }
        // Rounds in file order, each with the rows that have turns left: equal rows are apart.
        let mut left: Vec<(u32, u32)> =
            (0..).zip(weights).map(|(row, weight)| (row, weight / divisor)).collect();
        let mut rows = Vec::with_capacity(turns as usize);
        while !left.is_empty() {
            rows.extend(left.iter().map(|(row, _)| *row));
            left.iter_mut().for_each(|(_, turns)| *turns -= 1);
            left.retain(|(_, turns)| *turns > 0);
        }
        Ok(Sequence { order, turns: rows.into(), pass: turns })
    }

    /// Returns the order in which slot i has row `rows[i]`, each slot once.
    ///
    /// # Panics
    /// If there are none.
    pub fn listed(rows: Box<[u32]>) -> Sequence {
        let pass = rows.len() as u64;
        Sequence { turns: rows, ..Sequence::plain(Order::Once, pass) }
    }

    /// Returns the number of turns in a pass.
    pub fn pass(&self) -> u64 {
        self.pass
    }

    /// True if each row is sent once.
    pub fn is_once(&self) -> bool {
        self.order == Order::Once
    }

    /// Returns the row of the slot with this index in the run; `None` behind the end.
    #[inline]
    pub fn row(&self, slot: u64) -> Option<u64> {
        match self.order {
            Order::Sequential => Some(self.at(slot % self.pass)),
            Order::Random { seed } => Some(self.at(below(self.pass, mixed(seed, slot)))),
            Order::Once => (slot < self.pass).then(|| self.at(slot)),
        }
    }

    /// Like [`Sequence::row_of`], for one worker. Without a division if `walk` has the request
    /// before.
    ///
    /// # Panics
    /// As there.
    #[inline(always)]
    pub fn next_row_of(&self, walk: &mut Walk, nth: u64, worker: u32, workers: u32) -> u64 {
        let Order::Sequential = self.order else { return self.row_of(nth, worker, workers) };
        if nth != walk.nth || nth == 0 {
            walk.turn = self.turn_of(nth, worker.into(), workers.into());
        }
        let row = self.at(walk.turn);
        walk.turn += 1;
        if walk.turn == self.pass {
            walk.turn = 0;
        }
        walk.nth = nth + 1;
        row
    }

    /// Returns the row of the `nth` request of worker `worker` of `workers` in a closed loop. That
    /// is slot `nth · workers + worker`; the workers begin in different places of the list, and
    /// each goes through all of it, so that a fast one does not send some rows more often.
    ///
    /// # Panics
    /// If each row is sent once.
    #[inline(always)]
    pub fn row_of(&self, nth: u64, worker: u32, workers: u32) -> u64 {
        let worker = u64::from(worker);
        let workers = u64::from(workers);
        match self.order {
            Order::Sequential => self.at(self.turn_of(nth, worker, workers)),
            Order::Random { seed } => {
                let slot = nth.wrapping_mul(workers).wrapping_add(worker);
                self.at(below(self.pass, mixed(seed, slot)))
            }
            Order::Once => panic!("a list that is sent once is shared by index"),
        }
    }

    /// Returns the turn of the `nth` request of a worker of a closed loop.
    #[inline]
    fn turn_of(&self, nth: u64, worker: u64, workers: u64) -> u64 {
        // A list has fewer than 2^63 rows: they are lines of a file.
        let turn = nth % self.pass + self.begin(worker, workers);
        if turn < self.pass { turn } else { turn - self.pass }
    }

    /// Returns the turn with which a worker of a closed loop begins.
    #[inline]
    fn begin(&self, worker: u64, workers: u64) -> u64 {
        match worker.checked_mul(self.pass) {
            Some(product) => product / workers,
            None => (u128::from(worker) * u128::from(self.pass) / u128::from(workers)) as u64,
        }
    }

    /// Returns the row of a turn of a pass.
    #[inline]
    fn at(&self, turn: u64) -> u64 {
        self.turns.get(turn as usize).map_or(turn, |row| u64::from(*row))
    }
}

/// The next request of a worker of a closed loop: its number, and its turn of a pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walk {
    nth: u64,
    turn: u64,
}

fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Returns the number of this index in SplitMix64's sequence (Steele, Lea and Flood 2014).
pub(crate) fn mixed(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Maps a random number to one below `bound`, with a bias below bound / 2⁶⁴ (Lemire 2019).
pub(crate) fn below(bound: u64, random: u64) -> u64 {
    ((u128::from(random) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(sequence: &Sequence, slots: u64) -> Vec<u64> {
        (0..slots).filter_map(|slot| sequence.row(slot)).collect()
    }

    #[test]
    fn a_walk_finds_the_same_rows() {
        let weighted = Sequence::weighted(Order::Sequential, &[3, 1, 2]).expect("an order");
        let random = Sequence::plain(Order::Random { seed: 9 }, 5);
        for sequence in [Sequence::plain(Order::Sequential, 4), weighted, random] {
            let mut walk = Walk::default();
            for nth in (0..20).chain([7, 8, 9, 0, 1, 30]) {
                let row = sequence.next_row_of(&mut walk, nth, 1, 3);
                assert_eq!(row, sequence.row_of(nth, 1, 3), "{sequence:?} {nth}");
            }
        }
    }

    #[test]
    fn passes_follow_each_other() {
        let plain = Sequence::plain(Order::Sequential, 3);
        assert_eq!(rows(&plain, 7), [0, 1, 2, 0, 1, 2, 0]);
        let weighted = Sequence::weighted(Order::Sequential, &[6, 2, 4]).expect("an order");
        assert_eq!(weighted.pass(), 6);
        assert_eq!(rows(&weighted, 8), [0, 1, 2, 0, 2, 0, 0, 1]);
        assert_eq!(plain.row(u64::MAX), Some(0));
    }

    #[test]
    fn once_ends() {
        let once = Sequence::plain(Order::Once, 3);
        assert_eq!(rows(&once, 10), [0, 1, 2]);
        let listed = Sequence::listed([2, 0, 2].into());
        assert_eq!((rows(&listed, 10), listed.is_once()), (vec![2, 0, 2], true));
        let equal = Sequence::weighted(Order::Once, &[2, 2]).expect("an order");
        assert_eq!(rows(&equal, 10), [0, 1]);
        let error = Sequence::weighted(Order::Once, &[1, 2]).expect_err("weights");
        assert_eq!(error, WeightError::OnceWithWeights);
    }

    /// However far the others have come.
    #[test]
    fn each_worker_of_a_closed_loop_sends_every_row() {
        let sequence = Sequence::weighted(Order::Sequential, &[2, 1, 1]).expect("an order");
        for worker in 0..2 {
            let mut rows: Vec<u64> = (0..4).map(|nth| sequence.row_of(nth, worker, 2)).collect();
            rows.sort_unstable();
            assert_eq!(rows, [0, 0, 1, 2]);
        }
        assert_eq!([0, 1].map(|worker| sequence.row_of(0, worker, 2)), [0, 2]);
        let random = Sequence::weighted(Order::Random { seed: 3 }, &[2, 1]).expect("an order");
        assert_eq!(Some(random.row_of(5, 1, 3)), random.row(16));
    }

    #[test]
    fn a_pass_has_a_limit() {
        let most = PASS_MAX as u32 - 1;
        assert!(Sequence::weighted(Order::Sequential, &[most, 1]).is_ok());
        let error = Sequence::weighted(Order::Sequential, &[most, 2]).expect_err("one too many");
        assert_eq!(error, WeightError::TooManyTurns { turns: PASS_MAX + 1 });
    }

    /// The first numbers of SplitMix64 with seed 0, from its authors' program.
    #[test]
    fn random_numbers_are_splitmix64s() {
        let first: Vec<u64> = (0..3).map(|index| mixed(0, index)).collect();
        assert_eq!(first, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
        assert_eq!((below(10, 0), below(10, u64::MAX)), (0, 9));
    }

    /// χ² with two degrees of freedom exceeds 23 with a probability of 10⁻⁵.
    #[test]
    fn random_rows_come_by_weight() {
        let sequence = Sequence::weighted(Order::Random { seed: 7 }, &[1, 3, 6]).expect("an order");
        let slots = 100_000;
        let mut counts = [0_u32; 3];
        rows(&sequence, slots).into_iter().for_each(|row| counts[row as usize] += 1);
        let expected = [0.1, 0.3, 0.6].map(|share| share * slots as f64);
        let squares = counts.iter().zip(expected);
        let chi: f64 = squares.map(|(n, e)| (f64::from(*n) - e).powi(2) / e).sum();
        assert!(chi < 23.0, "{counts:?}");
        let again = Sequence::weighted(Order::Random { seed: 7 }, &[1, 3, 6]).expect("an order");
        assert_eq!(rows(&again, 100), rows(&sequence, 100));
    }
}
