//! Time stamps of one connection: the bytes sent, and the kernel's reports of their transmission.
//! Also orders events so that a transmission precedes the response to it.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use crate::raw_event::{Filled, RawEventKind};
use crate::socket_options::StampRequest;
use crate::stamping;
use crate::time::Nanos;
use crate::wall::{Wall, WallTime};

/// Most transmissions kept until the next bytes arrive; the oldest are dropped first.
const KEPT: usize = 64;

/// Empty reads of the error queue after which the driver counts as unable to stamp, if the
/// connection never had a stamp.
const LOOKS: u32 = 16;

/// Time-stamp state of one connection.
#[derive(Default)]
pub(crate) struct Stamps {
    /// True if every send is stamped.
    pub(crate) every_send: bool,
    /// Unstamped sends left before the next stamped one, if not every send is stamped.
    until_next: u32,
    /// Bytes taken by the kernel, wrapping as the kernel's own count does.
    taken: u32,
    /// Value of `taken` after the last send that the kernel stamps, wrapping.
    owed: u32,
    /// Bytes known to have been handed to the network, wrapping.
    through: u32,
    /// Transmit stamps in order, not reported yet.
    transmitted: VecDeque<WallTime>,
    has_any: bool,
    fruitless: u32,
}

impl Stamps {
    /// Creates the state for a request; `None` if the request is [`StampRequest::None`].
    pub(crate) fn new(request: StampRequest) -> Option<Stamps> {
        let every_send = request == StampRequest::All;
        (request != StampRequest::None).then(|| Stamps { every_send, ..Stamps::default() })
    }

    /// True if the next send must request its stamp, see [`stamping::SEND_CONTROL`].
    #[inline]
    pub(crate) fn requests_stamp(&self) -> bool {
        !self.every_send && self.until_next == 0
    }

    /// Records bytes of one send that the kernel has taken, and whether that send requested a
    /// stamp. Returns true if the kernel stamps them.
    #[inline]
    pub(crate) fn sent(&mut self, bytes: usize, with_stamp: bool) -> bool {
        // Wraps as the kernel's count does.
        self.taken = self.taken.wrapping_add(bytes as u32);
        let is_stamped = self.every_send || with_stamp;
        if is_stamped {
            self.owed = self.taken;
        }
        self.until_next =
            if is_stamped { StampRequest::SAMPLE - 1 } else { self.until_next.saturating_sub(1) };
        is_stamped
    }

    /// True if the kernel still has to report a stamp.
    #[inline]
    pub(crate) fn is_owed(&self) -> bool {
        self.owed.wrapping_sub(self.through).cast_signed() > 0
            && (self.has_any || self.fruitless < LOOKS)
    }

    /// Empties the error queue, as far as stamps are due. Returns true if there was any.
    pub(crate) fn collect(&mut self, fd: &OwnedFd) -> bool {
        let mut is_any = false;
        while self.is_owed() {
            // An error of the socket is left to the next read of the stream.
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
        // Retransmitted bytes are stamped again; the first transmission counts.
        if through.wrapping_sub(self.through).cast_signed() <= 0 {
            return;
        }
        self.through = through;
        if self.transmitted.len() == KEPT {
            self.transmitted.pop_front();
        }
        self.transmitted.push_back(transmission.stamp);
    }

    /// Returns the next transmission that was complete at `at`. A later one cannot have caused the
    /// event at `at` and waits for the next event. A stamp that cannot be converted is skipped.
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

    /// Reports bytes that arrived with `stamp` and were read at `at`: first the transmissions
    /// complete by then, then the bytes. All stamps must have been read before the last reading of
    /// the wall clock.
    pub(crate) fn report(
        &mut self,
        wall: &Wall,
        at: Nanos,
        bytes: Filled,
        stamp: Option<WallTime>,
        mut report: impl FnMut(RawEventKind),
    ) {
        while let Some(tx_at) = self.next_transmitted(wall, at) {
            report(RawEventKind::Transmitted { tx_at });
        }
        // A stamp is never later than the event it belongs to (METHOD 1.1, rule N).
        let rx_at = stamp.and_then(|stamp| wall.convert(stamp, at));
        let rx_at = rx_at.filter(|rx_at| *rx_at <= at.after(wall.error_ns()));
        report(RawEventKind::Received { bytes, rx_at: rx_at.map(|rx_at| rx_at.min(at)) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamping::Transmission;

    const AHEAD_NS: i64 = 1_000_000;

    fn all() -> Stamps {
        Stamps::new(StampRequest::All).expect("requests stamps")
    }

    /// Times reported at `at` for a connection with these sends and transmissions (last byte,
    /// time).
    fn reported(
        sent: &[usize],
        transmissions: &[(u32, u64)],
        at: u64,
        rx: Option<u64>,
    ) -> Vec<u64> {
        let wall = Wall::ahead_by(AHEAD_NS);
        let wall_time = |at: u64| WallTime(at + AHEAD_NS.unsigned_abs());
        let mut stamps = all();
        for bytes in sent {
            stamps.sent(*bytes, false);
        }
        for (last_byte, at) in transmissions {
            stamps.note(Transmission { last_byte: *last_byte, stamp: wall_time(*at) });
        }
        let mut reported = Vec::new();
        let bytes = Filled { buffer: 0, start: 0, len: 1 };
        stamps.report(&wall, Nanos(at), bytes, rx.map(wall_time), |what| match what {
            RawEventKind::Transmitted { tx_at } => reported.push(tx_at.0),
            RawEventKind::Received { rx_at: Some(rx_at), .. } => reported.push(1_000_000 + rx_at.0),
            RawEventKind::Received { rx_at: None, .. } => reported.push(0),
            _ => panic!("only these are reported"),
        });
        reported
    }

    #[test]
    fn transmissions_are_announced_once_and_in_order() {
        let check = |sent: &[usize], transmissions: &[(u32, u64)], expected: &[u64]| {
            assert_eq!(
                reported(sent, transmissions, 500, Some(400)),
                expected,
                "{transmissions:?}"
            );
        };
        check(&[60], &[(59, 100)], &[100, 1_000_400]);
        check(&[60, 60], &[(59, 100), (119, 200)], &[100, 200, 1_000_400]);
        // Retransmissions.
        check(&[60, 60], &[(59, 100), (59, 150), (119, 200), (119, 300)], &[100, 200, 1_000_400]);
        // Stamped after the bytes had been read, so not by a request they respond to.
        check(&[60, 60], &[(59, 100), (119, 501)], &[100, 1_000_400]);
        check(&[60], &[], &[1_000_400]);
    }

    #[test]
    fn a_receive_stamp_is_not_later_than_its_event() {
        assert_eq!(reported(&[], &[], 500, Some(500)), [1_000_500]);
        assert_eq!(reported(&[], &[], 500, Some(501)), [0]);
        assert_eq!(reported(&[], &[], 500, None), [0]);
    }

    #[test]
    fn the_count_of_bytes_wraps_as_the_kernels_does() {
        let mut stamps = all();
        let mut position = 0u64;
        for round in 0..1_000u64 {
            stamps.sent(7_000_001, false);
            assert!(stamps.is_owed());
            position += 7_000_001;
            let last_byte = ((position - 1) & 0xffff_ffff) as u32;
            stamps.note(Transmission { last_byte, stamp: WallTime(round) });
            assert!(!stamps.is_owed());
            assert_eq!(stamps.transmitted.back(), Some(&WallTime(round)));
        }
        assert_eq!(stamps.transmitted.len(), KEPT);
    }

    #[test]
    fn of_a_sample_only_requested_stamps_are_owed() {
        let mut stamps = Stamps::new(StampRequest::Sample).expect("requests stamps");
        for send in 0..100u32 {
            let with_stamp = stamps.requests_stamp();
            assert_eq!(with_stamp, send % StampRequest::SAMPLE == 0, "send {send}");
            assert_eq!(stamps.sent(10, with_stamp), with_stamp);
            assert_eq!(stamps.is_owed(), with_stamp);
            if with_stamp {
                stamps.note(Transmission { last_byte: 10 * send + 9, stamp: WallTime(1) });
            }
            assert!(!stamps.is_owed());
        }
        assert!(Stamps::new(StampRequest::None).is_none());
    }

    #[test]
    fn a_driver_that_does_not_stamp_is_not_polled_for_ever() {
        let (silent, _peer) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let silent = silent.into();
        let mut stamps = all();
        stamps.sent(1, false);
        let looks = (0..100).take_while(|_| stamps.is_owed() && !stamps.collect(&silent)).count();
        assert_eq!(looks, LOOKS as usize);
    }
}
