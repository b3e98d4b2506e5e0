//! Random choices of a run, which its seed repeats on any machine.

/// Numbers of Steele's SplitMix64.
pub(super) struct Draw {
    state: u64,
}

impl Draw {
    pub(super) fn of(seed: u64) -> Draw {
        Draw { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from `least` to `most`.
    pub(super) fn number(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    /// Returns true in one of `of` draws.
    pub(super) fn one_in(&mut self, of: u64) -> bool {
        self.number(1, of) == 1
    }

    pub(super) fn choice<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.number(0, of.len() as u64 - 1) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_numbers() {
        let numbers = |seed| {
            let mut draw = Draw::of(seed);
            [draw.number(0, 9), draw.number(5, 5), draw.number(1, 1_000)]
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
        assert_eq!(numbers(3)[1], 5);
    }
}
