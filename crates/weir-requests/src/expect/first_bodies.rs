//! Digests of the first bodies of a run, which `same` compares others with. Workers share them.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::OnceLock;

/// Digest of the first body of each name. A keyed hash of 64 bits, with the length: two different
/// bodies have the same digest with a probability of 2⁻⁶⁴.
#[derive(Debug)]
pub struct FirstBodies {
    by_name: Vec<OnceLock<(usize, u64)>>,
    /// Keys of the hash, drawn for each run.
    keys: RandomState,
}

impl FirstBodies {
    /// Returns the digests of this many names; none is known yet.
    pub fn new(names: usize) -> FirstBodies {
        FirstBodies {
            by_name: (0..names).map(|_| OnceLock::new()).collect(),
            keys: RandomState::new(),
        }
    }

    /// True if a body equals the first body of a name, or is the first.
    pub fn is_same(&self, name: usize, body: &[u8]) -> bool {
        let digest = (body.len(), self.keys.hash_one(body));
        *self.by_name[name].get_or_init(|| digest) == digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_body_of_each_name_is_what_others_equal() {
        let first = FirstBodies::new(2);
        assert!(first.is_same(0, b"a"));
        assert!(first.is_same(1, b"b"));
        assert!(first.is_same(0, b"a"));
        for other in [&b"b"[..], b"", b"ab"] {
            assert!(!first.is_same(0, other), "{other:?}");
        }
    }
}
