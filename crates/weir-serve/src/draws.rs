//! Counter-based random numbers: the draws of request `index` are a pure function of (seed, index,
//! lane), so a run can be repeated and checked however its threads were scheduled. No state, no
//! clock.

/// Random numbers of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    key: u64,
}

impl Draws {
    /// Makes the draws of request `index`, counted from zero over the whole process, under `seed`.
    pub fn new(seed: u64, index: u64) -> Draws {
        // Two rounds, so that neighbouring seeds and neighbouring indices do not share a pattern.
        let seeded = scramble(seed.wrapping_add(STEP));
        Draws { key: scramble(seeded ^ index.wrapping_mul(STEP)) }
    }

    /// Returns draws of their own for part `part` of the request.
    pub(crate) fn nested(self, part: u64) -> Draws {
        Draws::new(self.key, part)
    }

    /// Returns the number of lane `lane`, uniform in (0, 1]. Never zero, so its logarithm is
    /// finite.
    pub fn uniform(self, lane: u64) -> f64 {
        // 53 bits fill a double exactly.
        ((self.bits(lane) >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Returns the random bits of lane `lane`.
    pub(crate) fn bits(self, lane: u64) -> u64 {
        scramble(self.key.wrapping_add((lane + 1).wrapping_mul(STEP)))
    }

    /// Returns a standard normal number from lanes `lane` and `lane + 1` (Box and Muller 1958).
    pub fn normal(self, lane: u64) -> f64 {
        let radius = (-2.0 * self.uniform(lane).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform(lane + 1)).cos()
    }
}

/// The odd integer nearest to 2^64 divided by the golden ratio: multiples of it fill the range
/// evenly (Weyl sequence).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection in which every bit of the input moves about half the bits of the output (the
/// finaliser known as "variant 13" of Stafford's mixers).
fn scramble(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_is_uniform_over_indices_and_lanes() {
        let n = 100_000u64;
        for lane in 0..3 {
            let mut bins = [0u32; 100];
            let mut product = 0.0;
            let mut before = 0.5;
            for index in 0..n {
                let u = Draws::new(7, index).uniform(lane);
                assert!(u > 0.0 && u <= 1.0);
                bins[((u * 100.0) as usize).min(99)] += 1;
                product += (u - 0.5) * (before - 0.5);
                before = u;
            }
            // Chi-square with 99 degrees of freedom: 99.99 % of samples lie below 161.
            let expected = n as f64 / 100.0;
            let chi: f64 = bins.iter().map(|&b| (f64::from(b) - expected).powi(2) / expected).sum();
            assert!(chi < 161.0, "chi-square {chi} in lane {lane}");
            let correlation = product / n as f64 * 12.0;
            assert!(correlation.abs() < 0.02, "serial correlation {correlation}");
        }
    }

    #[test]
    fn the_same_key_gives_the_same_draw() {
        assert_eq!(Draws::new(1, 2).uniform(3), Draws::new(1, 2).uniform(3));
        assert_ne!(Draws::new(1, 2).uniform(3), Draws::new(2, 1).uniform(3));
        assert_ne!(Draws::new(1, 2).uniform(0), Draws::new(1, 2).uniform(1));
    }
}
