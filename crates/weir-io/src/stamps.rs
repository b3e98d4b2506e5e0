//! What a stamped connection has sent and when the kernel says it did; and how events are laid out
//! so that the engine hears of that ahead of the answer.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use crate::Nanos;
use crate::happened::What;
use crate::stamping;
use crate::wall::{Wall, WallTime};

/// Transmissions kept until the next bytes arrive. The oldest ones are given up first.
const KEPT: usize = 64;

/// After so many looks into the error queue that found nothing, on a connection that never had
/// anything there, the driver does not stamp.
const LOOKS: u32 = 16;

/// The stamps of one connection.
#[derive(Default)]
pub(crate) struct Stamps {
    /// How many bytes the kernel has taken, wrapping as its own count does.
    taken: u32,
    /// How many of them are known to have been handed to the network, wrapping.
    through: u32,
    /// When, in order; not announced yet.
    transmitted: VecDeque<WallTime>,
    has_any: bool,
    fruitless: u32,
}

impl Stamps {
    /// The kernel has taken so many more bytes.
    #[inline]
    pub(crate) fn sent(&mut self, bytes: usize) {
        // Wrapping on purpose.
        self.taken = self.taken.wrapping_add(bytes as u32);
    }

    /// Whether the kernel has something to tell yet.
    #[inline]
    pub(crate) fn is_owed(&self) -> bool {
        self.taken.wrapping_sub(self.through).cast_signed() > 0
            && (self.has_any || self.fruitless < LOOKS)
    }

    /// Empties the error queue, as far as it is owed something. Says whether there was anything.
    pub(crate) fn collect(&mut self, fd: &OwnedFd) -> bool {
        let mut is_any = false;
        while self.is_owed() {
            // A socket that fails will say so to whoever reads the stream.
            let Ok(Some(transmission)) = stamping::take_transmission(fd) else {
                self.fruitless = self.fruitless.saturating_add(u32::from(!is_any));
                return is_any;
            };
            is_any = true;
            self.note(transmission);
        }
        is_any
    }

    fn note(&mut self, transmission: stamping::Transmission) {
        self.has_any = true;
        let through = transmission.last_byte.wrapping_add(1);
        // What was sent again is stamped again; the first time counts.
        if through.wrapping_sub(self.through).cast_signed() <= 0 {
            return;
        }
        self.through = through;
        if self.transmitted.len() == KEPT {
            self.transmitted.pop_front();
        }
        self.transmitted.push_back(transmission.stamp);
    }

    /// The next transmission that was over at `at`. A later one cannot have led to what happened
    /// then, and waits for the next event; one that cannot be dated is skipped.
    fn next_transmitted(&mut self, wall: &Wall, at: Nanos) -> Option<Nanos> {
        while let Some(stamp) = self.transmitted.front() {
            let tx_at = wall.convert(*stamp, at);
            if tx_at.is_some_and(|tx_at| tx_at > at.after(wall.error_ns())) {
                return None;
            }
            self.transmitted.pop_front();
            if let Some(tx_at) = tx_at {
                return Some(tx_at.min(at));
            }
        }
        None
    }

    /// Tells of bytes that arrived with `stamp` and were seen at `at`: first of what had been
    /// transmitted by then, then of the bytes. All stamps were had before the last look at the wall
    /// clock.
    pub(crate) fn tell<B>(
        &mut self,
        wall: &Wall,
        at: Nanos,
        (bytes, stamp): (B, Option<WallTime>),
        mut tell: impl FnMut(What<B>),
    ) {
        while let Some(tx_at) = self.next_transmitted(wall, at) {
            tell(What::Transmitted(tx_at));
        }
        // A stamp is never later than the event that it is a part of (METHOD 1.1, rule N).
        let rx_at = stamp.and_then(|stamp| wall.convert(stamp, at));
        let rx_at = rx_at.filter(|rx_at| *rx_at <= at.after(wall.error_ns()));
        tell(What::Received(bytes, rx_at.map(|rx_at| rx_at.min(at))));
    }
}
