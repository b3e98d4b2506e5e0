//! Shuffling from a fixed seed, so that a permutation test is a function of its data.

/// Seed of all permutation tests.
const SEED: u64 = 0x5765_6972_2073_6565;

/// Shuffles of a test; the smallest p is 1/(`SHUFFLES` + 1).
pub(crate) const SHUFFLES: u32 = 999;

/// Returns the p-value of the observed order: the share of orders, including the observed one,
/// whose statistic is at least as large.
pub(crate) fn permutation_p(values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> f64 {
    significant_p(values, SHUFFLES, 1.0, statistic).unwrap_or(1.0)
}

/// Returns the p-value of the observed order from this many shuffles if it is at most `p_max`.
/// Otherwise `None`, as soon as that is certain: noise then costs a few shuffles.
pub(crate) fn significant_p(
    values: &[f64],
    shuffles: u32,
    p_max: f64,
    statistic: impl Fn(&[f64]) -> f64,
) -> Option<f64> {
    let found = statistic(values);
    let mut shuffled = values.to_vec();
    let mut shuffle = Shuffle::new();
    let mut as_large = 1;
    let p = |as_large: u32| f64::from(as_large) / f64::from(shuffles + 1);
    for _ in 0..shuffles {
        shuffle.shuffle(&mut shuffled);
        as_large += u32::from(statistic(&shuffled) >= found);
        if p(as_large) > p_max {
            return None;
        }
    }
    (p(as_large) <= p_max).then(|| p(as_large))
}

/// A generator that mixes successive counter values until every bit depends on every other
/// (SplitMix64; Steele, Lea and Flood, OOPSLA 2014). It is good enough for shuffles and short.
pub struct Shuffle {
    counter: u64,
}

impl Shuffle {
    pub(crate) fn new() -> Shuffle {
        Shuffle::seeded(SEED)
    }

    /// Returns a generator with this seed.
    pub fn seeded(seed: u64) -> Shuffle {
        Shuffle { counter: seed }
    }

    /// Shuffles the values (Fisher and Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }

    /// Returns a number below `limit`. The bias of the multiplication is limit/2⁶⁴.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.counter ^ (self.counter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_to_every_place_equally_often() {
        let mut shuffle = Shuffle::new();
        let mut seen = [[0_u32; 4]; 4];
        for _ in 0..40_000 {
            let mut values = [0.0, 1.0, 2.0, 3.0];
            shuffle.shuffle(&mut values);
            for (place, value) in values.iter().enumerate() {
                seen[place][*value as usize] += 1;
            }
        }
        // Each should occur 10,000 times, with standard deviation 87.
        assert!(seen.iter().flatten().all(|&times| times.abs_diff(10_000) < 400), "{seen:?}");
    }

    #[test]
    fn only_the_found_order_is_sorted() {
        let sorted: Vec<f64> = (0..20).map(f64::from).collect();
        let ascents = |values: &[f64]| values.windows(2).filter(|w| w[0] < w[1]).count() as f64;
        assert_eq!(permutation_p(&sorted, ascents), 0.001);
        assert_eq!(permutation_p(&sorted, |_| 0.0), 1.0);
    }

    /// The one ascending order of 20 values has p 1/1,000; an order like all others has none.
    #[test]
    fn significance_is_the_same_p_or_none() {
        let sorted: Vec<f64> = (0..20).map(f64::from).collect();
        let first = |values: &[f64]| values[0];
        let p = permutation_p(&sorted[1..], |values| -first(values));
        assert!((0.03..0.08).contains(&p), "one of 19 values is first: {p}");
        for (p_max, expected) in [(1.0, Some(p)), (p, Some(p)), (p - 0.001, None)] {
            let found = significant_p(&sorted[1..], SHUFFLES, p_max, |values| -first(values));
            assert_eq!(found, expected, "{p_max}");
        }
        // Too few shuffles can never show so small a p.
        let ascents = |values: &[f64]| values.windows(2).filter(|w| w[0] < w[1]).count() as f64;
        assert_eq!(significant_p(&sorted, 99, 0.01, ascents), Some(0.01));
        assert_eq!(significant_p(&sorted, 98, 0.01, ascents), None);
    }

    #[test]
    fn the_same_for_ever() {
        let mut values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        Shuffle::new().shuffle(&mut values);
        let mut again = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        Shuffle::new().shuffle(&mut again);
        assert_eq!(values, again);
    }
}
