//! Exponential gaps that are a pure function of seed and rate.

use weir_result::Rate;

/// Gaps per block; each block has a generator of its own, keyed by (seed, block).
const BLOCK: u64 = 1024;

/// Offsets are summed in 1/1024 ns, so that rounding gaps cannot shift a long plan.
const SUBTICKS: f64 = 1024.0;

/// The arrival times of one Poisson process.
#[derive(Clone, Debug)]
pub(crate) struct Gaps {
    seed: u64,
    pub(crate) mean_ns: f64,
    index: u64,
    state: u64,
    offset_subticks: u64,
}

impl Gaps {
    /// Returns the process with `rate` arrivals per second.
    pub(crate) fn new(seed: u64, rate: Rate) -> Gaps {
        Gaps { seed, mean_ns: 1e9 / rate.rps(), index: 0, state: 0, offset_subticks: 0 }
    }

    /// Returns the same process, restarted from its beginning.
    pub(crate) fn restarted(&self) -> Gaps {
        Gaps { index: 0, state: 0, offset_subticks: 0, ..self.clone() }
    }
}

/// The arrivals: their indices, and their offsets from the start in whole nanoseconds.
impl Iterator for Gaps {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let index = self.index;
        if index.is_multiple_of(BLOCK) {
            self.state = mix(self.seed ^ mix(index / BLOCK));
        }
        self.index += 1;
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        // 53 random bits in (0, 1]: the logarithm is finite.
        let uniform = ((mix(self.state) >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let gap = -uniform.ln() * self.mean_ns * SUBTICKS;
        self.offset_subticks = self.offset_subticks.saturating_add(gap as u64);
        Some((index, self.offset_subticks / SUBTICKS as u64))
    }
}

/// Returns the output of SplitMix64's finaliser (Steele, Lea, Flood: Fast Splittable Pseudorandom
/// Number Generators, OOPSLA 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_mean_and_variance_of_an_exponential() {
        let mut gaps = Gaps::new(42, Rate { numerator: 1_000, denominator: 1 });
        let mut last = 0;
        let mut sum = 0.0;
        let mut squares = 0.0;
        let n = 200_000;
        for _ in 0..n {
            let (_, offset) = gaps.next().expect("there is no last one");
            let gap = (offset - last) as f64 / 1e6;
            (last, sum, squares) = (offset, sum + gap, squares + gap * gap);
        }
        let mean = sum / f64::from(n);
        let variance = squares / f64::from(n) - mean * mean;
        // Standard errors: mean 0.0022, variance about 0.0063; bounds at five of them.
        assert!((mean - 1.0).abs() < 0.011, "{mean}");
        assert!((variance - 1.0).abs() < 0.032, "{variance}");
    }

    #[test]
    fn the_plan_depends_on_the_seed_alone() {
        let rate = Rate { numerator: 5, denominator: 1 };
        let walk = |seed| Gaps::new(seed, rate).take(3_000).collect::<Vec<_>>();
        assert_eq!(walk(1), walk(1));
        assert_ne!(walk(1), walk(2));
    }
}
