//! Kernel counters of a backend's own TCP sockets (`TCP_INFO`, tcp(7)), read when the sockets are
//! closed. Independent of events.

use std::io;
use std::os::fd::OwnedFd;

use crate::socket;

/// Sockets that are all read. A read takes about 1 µs; opening and closing a socket takes 30 µs.
const EXACT_SOCKETS: u64 = 1024;

/// Sampling interval of the sockets after those: one in this many is read, and weighted by it.
const SAMPLE: u64 = 16;

/// Most round-trip times kept.
const RTTS_MAX: usize = 256;

/// Kernel counters of a backend's own TCP sockets, summed over those already closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpTally {
    /// Sockets closed.
    pub sockets: u64,
    /// Part of `sockets` whose counters were read.
    pub sampled: u64,
    /// Retransmitted segments, scaled from `sampled` to `sockets`.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts, scaled likewise; `None` if the kernel does not report them (before
    /// Linux 6.7).
    pub retransmission_timeouts: Option<u64>,
    /// Minimum round-trip time of each of the last sockets read, in nanoseconds.
    pub rtts_min_ns: Vec<u64>,
    /// True if the sockets are not TCP.
    is_off: bool,
    /// Entry of `rtts_min_ns` to overwrite next.
    oldest: usize,
}

impl TcpTally {
    /// Counts a socket that is about to be closed. Failed sockets are all read: they are few, and
    /// losses are likely on them.
    #[inline]
    pub(crate) fn closing(&mut self, fd: &OwnedFd, has_failed: bool) {
        if self.is_off {
            return;
        }
        self.sockets += 1;
        let is_exact = has_failed || self.sockets <= EXACT_SOCKETS;
        if is_exact || self.sockets.is_multiple_of(SAMPLE) {
            self.read(fd, if is_exact { 1 } else { SAMPLE });
        }
    }

    #[cold]
    fn read(&mut self, fd: &OwnedFd, weight: u64) {
        match TcpInfo::of(fd) {
            Ok(info) => self.add(info, weight),
            // Unix sockets have no `TCP_INFO`.
            Err(_) => *self = TcpTally { is_off: true, ..TcpTally::default() },
        }
    }

    fn add(&mut self, info: TcpInfo, weight: u64) {
        let timeouts = info.timeouts.map(|timeouts| weight * u64::from(timeouts));
        self.retransmission_timeouts = match self.sampled {
            0 => timeouts,
            _ => self.retransmission_timeouts.zip(timeouts).map(|(sum, more)| sum + more),
        };
        self.sampled += 1;
        self.retransmitted_segments += weight * u64::from(info.retransmitted);
        let Some(rtt_min_ns) = info.rtt_min_ns else { return };
        if self.rtts_min_ns.len() < RTTS_MAX {
            self.rtts_min_ns.push(rtt_min_ns);
        } else {
            self.rtts_min_ns[self.oldest] = rtt_min_ns;
            self.oldest = (self.oldest + 1) % RTTS_MAX;
        }
    }
}

/// A part of `struct tcp_info` (linux/tcp.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// `tcpi_total_retrans`.
    retransmitted: u32,
    /// `tcpi_total_rto`.
    timeouts: Option<u16>,
    /// `tcpi_min_rtt`, the minimum of the last 300 s.
    pub(crate) rtt_min_ns: Option<u64>,
}

/// Offsets in the kernel's structure, which only grows at its end.
const TOTAL_RETRANS: usize = 100;
const MIN_RTT: usize = 148;
const TOTAL_RTO: usize = 240;

/// Bytes of the structure up to the last field used.
pub(crate) const INFO_BYTES: usize = 242;

impl TcpInfo {
    /// Reads the kernel's counters of a TCP socket.
    pub(crate) fn of(fd: &OwnedFd) -> io::Result<TcpInfo> {
        let mut buffer = [0; INFO_BYTES];
        let len = socket::tcp_info(fd, &mut buffer)?;
        Ok(TcpInfo::parse(&buffer[..len.min(INFO_BYTES)]))
    }

    fn parse(info: &[u8]) -> TcpInfo {
        let word = |at: usize| Some(u32::from_ne_bytes(*info.get(at..)?.first_chunk()?));
        // The value is the maximum until there is a sample.
        let rtt_min_us = word(MIN_RTT).filter(|us| *us != u32::MAX && *us != 0);
        let timeouts = info.get(TOTAL_RTO..).and_then(|rest| rest.first_chunk());
        TcpInfo {
            retransmitted: word(TOTAL_RETRANS).unwrap_or(0),
            timeouts: timeouts.map(|bytes| u16::from_ne_bytes(*bytes)),
            rtt_min_ns: rtt_min_us.map(|us| u64::from(us) * 1000),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;

    fn socket() -> (TcpListener, OwnedFd) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("loopback");
        (listener, stream.into())
    }

    #[test]
    fn a_connection_over_loopback_has_a_round_trip_and_lost_nothing() {
        let (_listener, fd) = socket();
        let info = TcpInfo::of(&fd).expect("a TCP socket");
        assert_eq!((info.retransmitted, info.timeouts.unwrap_or(0)), (0, 0));
        assert!(info.rtt_min_ns.is_some_and(|ns| ns > 0), "{info:?}");
    }

    #[test]
    fn what_an_older_kernel_lacks_is_none() {
        let mut info = [0; INFO_BYTES];
        info[TOTAL_RETRANS..][..4].copy_from_slice(&7u32.to_ne_bytes());
        info[MIN_RTT..][..4].copy_from_slice(&31u32.to_ne_bytes());
        info[TOTAL_RTO..][..2].copy_from_slice(&2u16.to_ne_bytes());
        let whole = TcpInfo { retransmitted: 7, timeouts: Some(2), rtt_min_ns: Some(31_000) };
        assert_eq!(TcpInfo::parse(&info), whole);
        assert_eq!(TcpInfo::parse(&info[..232]), TcpInfo { timeouts: None, ..whole });
        let oldest = TcpInfo { timeouts: None, rtt_min_ns: None, ..whole };
        assert_eq!(TcpInfo::parse(&info[..104]), oldest);
        info[MIN_RTT..][..4].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(TcpInfo::parse(&info), TcpInfo { rtt_min_ns: None, ..whole });
    }

    #[test]
    fn many_sockets_are_sampled_and_scaled() {
        let (_listener, fd) = socket();
        let mut tally = TcpTally::default();
        for _ in 0..EXACT_SOCKETS + 100 * SAMPLE {
            tally.closing(&fd, false);
        }
        assert_eq!((tally.sockets, tally.sampled), (EXACT_SOCKETS + 1600, EXACT_SOCKETS + 100));
        assert_eq!(tally.rtts_min_ns.len(), RTTS_MAX);
        tally.closing(&fd, true);
        assert_eq!(tally.sampled, EXACT_SOCKETS + 101, "a failed one is always read");
        let info = TcpInfo { retransmitted: 3, timeouts: Some(1), rtt_min_ns: Some(5) };
        tally.add(info, SAMPLE);
        tally.add(info, 1);
        assert_eq!(tally.retransmitted_segments, 3 * SAMPLE + 3);
        assert!(tally.retransmission_timeouts.is_none_or(|timeouts| timeouts == SAMPLE + 1));
        assert_eq!(tally.rtts_min_ns.iter().filter(|ns| **ns == 5).count(), 2);
    }

    #[test]
    fn unix_sockets_are_none() {
        let (one, _other) = UnixStream::pair().expect("a pair");
        let fd = OwnedFd::from(one);
        let mut tally = TcpTally::default();
        (0..3).for_each(|_| tally.closing(&fd, false));
        assert_eq!((tally.sockets, tally.sampled), (0, 0));
    }
}
