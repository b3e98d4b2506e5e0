//! The mask of a client's payload (RFC 6455 §5.3), and the sequence that masks and keys are taken
//! from. Neither draws a random number: the start of the sequence is the caller's.

/// Applies a mask to a part of a payload that begins `offset` bytes into it. Applied again, it
/// restores the part.
pub(crate) fn apply(bytes: &mut [u8], mask: [u8; 4], offset: usize) {
    let mut turned = mask;
    turned.rotate_left(offset % 4);
    let twice = [turned, turned].concat();
    let word = u64::from_ne_bytes(twice.try_into().expect("eight bytes"));
    let mut words = bytes.chunks_exact_mut(8);
    for bytes in &mut words {
        let masked = u64::from_ne_bytes((&*bytes).try_into().expect("chunks of eight")) ^ word;
        bytes.copy_from_slice(&masked.to_ne_bytes());
    }
    let rest = words.into_remainder().iter_mut();
    rest.zip(turned.into_iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
}

/// A sequence of numbers without visible order (SplitMix64). The same begin gives the same numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaskSequence(u64);

impl MaskSequence {
    pub(super) fn new(begin: u64) -> MaskSequence {
        MaskSequence(begin)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns the mask of the next frame.
    pub(super) fn next_mask(&mut self) -> [u8; 4] {
        let bytes = self.next().to_ne_bytes();
        [bytes[0], bytes[1], bytes[2], bytes[3]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_applied_byte_by_byte() {
        let mask = [1, 20, 0, 255];
        for length in 0..40 {
            let plain: Vec<u8> = (0..length).collect();
            let expected: Vec<u8> =
                plain.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
            for cut in 0..=plain.len() {
                let mut masked = plain.clone();
                let (first, second) = masked.split_at_mut(cut);
                apply(first, mask, 0);
                apply(second, mask, cut);
                assert_eq!(masked, expected, "cut at {cut} of {length}");
            }
        }
    }
}
