//! Seeded random numbers: xoshiro256** seeded by splitmix64, one stream per purpose.

/// The seed that repeats a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

/// A generator of random numbers; the same seed and stream always give the same numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// Returns the generator of one purpose. Streams are independent: a change of the network's
    /// random numbers, say, leaves the service times unchanged.
    pub fn new(seed: Seed, stream: u64) -> Random {
        let mut counter = seed.0 ^ stream.wrapping_mul(0xd134_2543_de82_ef95);
        Random { state: std::array::from_fn(|_| splitmix(&mut counter)) }
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        // The published update, written without assigning in place.
        let c = c ^ a;
        let d = d ^ b;
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// Returns a number uniform in `[0, 1)`, from 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a number uniform in `[low, high]`. The bias of the multiplication is below 2⁻³² for
    /// spans that fit into 32 bits, far below the resolution of a test.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        debug_assert!(low <= high, "between {low} and {high}");
        let span = u128::from(high - low) + 1;
        let scaled = (u128::from(self.bits()) * span) >> 64;
        low + u64::try_from(scaled).expect("a 64-bit number scaled by at most 2^64 fits")
    }

    /// True with probability `share`.
    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }
}

/// Returns the next output of splitmix64, which mixes the bits of a counter.
fn splitmix(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *counter;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_sequence() {
        let mut counter = 1_234_567;
        assert_eq!(splitmix(&mut counter), 6_457_827_717_110_365_317);
        assert_eq!(splitmix(&mut counter), 3_203_168_211_198_807_973);
    }

    #[test]
    fn xoshiro_gives_the_published_sequence() {
        let mut random = Random { state: [1, 2, 3, 4] };
        let bits: Vec<u64> = (0..4).map(|_| random.bits()).collect();
        assert_eq!(bits, [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240]);
    }

    #[test]
    fn numbers_are_uniform_and_repeat() {
        let mut one = Random::new(Seed(7), 1);
        let mut two = Random::new(Seed(7), 1);
        let mut other = Random::new(Seed(7), 2);
        let mut tens = [0u32; 10];
        for _ in 0..100_000 {
            let number = one.between(10, 19);
            assert_eq!(number, two.between(10, 19));
            tens[(number - 10) as usize] += 1;
        }
        assert!(tens.iter().all(|&n| (9_600..10_400).contains(&n)), "{tens:?}");
        assert_ne!(one.bits(), other.bits());
    }
}
