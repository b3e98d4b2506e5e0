//! TLS of a run: the counts with their rate.

use super::TlsSection;
use super::rates::per_second;
use crate::counters::TlsCounts;

impl TlsSection {
    /// Makes the section; `window_ns` is the window's length. `None` without TLS.
    pub(super) fn of(counts: Option<&TlsCounts>, window_ns: u64) -> Option<TlsSection> {
        let counts = counts?;
        let handshakes_per_second = per_second(counts.in_window, window_ns);
        Some(TlsSection { handshakes_per_second, ..TlsSection::from(counts) })
    }

    /// Returns the number of handshakes, which saturates.
    pub fn handshakes(&self) -> u64 {
        self.full.saturating_add(self.resumed)
    }
}
