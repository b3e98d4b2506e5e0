//! SHA-1 (RFC 3174) of a short text. The handshake needs it to show that the peer has read the key;
//! nothing here is a secret. A crate for it would bring five others.

/// Bytes of a block.
const BLOCK_BYTES: usize = 64;

/// Returns the digest of `message`.
pub(super) fn sha1(message: &[u8]) -> [u8; 20] {
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut padded = message.to_vec();
    padded.push(0x80);
    // The length in bits is the end of the last block.
    while padded.len() % BLOCK_BYTES != BLOCK_BYTES - 8 {
        padded.push(0);
    }
    padded.extend_from_slice(&(message.len() as u64 * 8).to_be_bytes());
    padded.chunks_exact(BLOCK_BYTES).for_each(|block| absorb(&mut state, block));
    let mut digest = [0; 20];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

fn absorb(state: &mut [u32; 5], block: &[u8]) {
    let mut words = [0u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes(bytes.try_into().expect("chunks of four"));
    }
    for at in 16..80 {
        let mixed = words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16];
        words[at] = mixed.rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (at, word) in words.into_iter().enumerate() {
        let (mixed, constant) = match at / 20 {
            0 => ((b & c) | (!b & d), 0x5a82_7999),
            1 => (b ^ c ^ d, 0x6ed9_eba1),
            2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6_u32),
        };
        let sum = a.rotate_left(5).wrapping_add(mixed).wrapping_add(e);
        let sum = sum.wrapping_add(constant).wrapping_add(word);
        (a, b, c, d, e) = (sum, a, b.rotate_left(30), c, d);
    }
    for (word, added) in state.iter_mut().zip([a, b, c, d, e]) {
        *word = word.wrapping_add(added);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3174 §7.3, and lengths around the ends of blocks by another implementation.
    #[test]
    fn known_digests() {
        let check = |message: &[u8], expected: &str| {
            let digest: String = sha1(message).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digest, expected, "{} bytes", message.len());
        };
        check(b"", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        check(b"abc", "a9993e364706816aba3e25717850c26c9cd0d89d");
        check(
            b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
        );
        check(&[b'a'; 55], "c1c8bbdc22796e28c0e15163d20899b65621d65a");
        check(&[b'a'; 64], "0098ba824b5c16427bd7a1122a5a442a25ec644d");
        check(&[b'a'; 1_000_000], "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    }
}
