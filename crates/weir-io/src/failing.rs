//! Unsent bytes of failing connections, stored from the failed send to the event that reports it,
//! and until the next such event. Few connections fail at a time.

use std::collections::BTreeMap;

/// Unsent bytes by connection.
#[derive(Debug, Default)]
pub(crate) struct Failing {
    pending: BTreeMap<u32, u64>,
    pub(crate) reported: u64,
}

impl Failing {
    /// Adds bytes of a connection that will not be sent.
    #[cold]
    pub(crate) fn lost(&mut self, index: u32, bytes: u64) {
        *self.pending.entry(index).or_default() += bytes;
    }

    /// Records that the failure of a connection is being reported.
    #[cold]
    pub(crate) fn report(&mut self, index: u32) {
        self.reported = self.pending.remove(&index).unwrap_or(0);
    }

    /// Drops the bytes of a connection that is closed without its failure being reported.
    #[inline]
    pub(crate) fn forget(&mut self, index: u32) {
        if !self.pending.is_empty() {
            self.pending.remove(&index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_has_its_own() {
        let mut failing = Failing::default();
        failing.lost(1, 10);
        failing.lost(2, 5);
        failing.lost(1, 3);
        failing.report(1);
        assert_eq!(failing.reported, 13);
        failing.forget(2);
        failing.report(2);
        assert_eq!(failing.reported, 0);
        assert!(failing.pending.is_empty());
    }
}
