//! The network's round-trip time under load: a few TCP handshakes inside the window, one after the
//! other, timed by the kernel. The round-trip times of the load's sockets do not show it. The
//! acknowledgement of a request rides on its response, so they include the server's time; their
//! minimum is from before the load.

use std::net::IpAddr;

use weir_io::{Endpoint, Handshake, Nanos};
use weir_result::RoundTrips as Counted;

/// Handshakes in a window; equally spaced if its length is known.
const HANDSHAKES: u64 = 3;

/// Time from t0 to the first handshake, in nanoseconds, if the window's length is unknown. The time
/// doubles for each further one.
const FIRST_NS: u64 = 100_000_000;

/// The handshakes of a run.
#[derive(Debug)]
pub(super) struct RoundTripWatch {
    endpoint: Endpoint,
    source: Option<IpAddr>,
    begun: u64,
    /// Handshake in progress.
    current: Option<Handshake>,
    rtts_ns: Vec<u64>,
}

impl RoundTripWatch {
    /// Prepares handshakes with `endpoint`, from `source` or from any local address.
    pub(super) fn new(endpoint: Endpoint, source: Option<IpAddr>) -> RoundTripWatch {
        RoundTripWatch { endpoint, source, begun: 0, current: None, rtts_ns: Vec::new() }
    }

    /// Begins a handshake if one is due in the window from `t0` to `t1`, and checks the one in
    /// progress.
    pub(super) fn beat(&mut self, now: Nanos, t0: Nanos, t1: Nanos) {
        self.check();
        if self.begun < HANDSHAKES && now >= due_at(self.begun, t0, t1) && now < t1 {
            // A handshake in progress when the next is due is abandoned.
            self.begun += 1;
            self.current = Handshake::begin(&self.endpoint, self.source).ok();
        }
    }

    fn check(&mut self) {
        if let Some(rtt_ns) = self.current.as_ref().and_then(Handshake::round_trip_ns) {
            self.rtts_ns.push(rtt_ns);
            self.current = None;
        }
    }

    /// Returns the number of completed handshakes and their median round-trip time.
    pub(super) fn finish(mut self) -> Counted {
        self.check();
        self.rtts_ns.sort_unstable();
        Counted {
            connects: self.rtts_ns.len() as u64,
            rtt_ns: self.rtts_ns.get(self.rtts_ns.len() / 2).copied(),
        }
    }
}

/// The time at which the handshake with this number is due; the first is 0.
fn due_at(number: u64, t0: Nanos, t1: Nanos) -> Nanos {
    match t1 {
        Nanos::MAX => t0.after(FIRST_NS << number),
        t1 => t0.after(t1.since(t0) / (HANDSHAKES + 1) * (number + 1)),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn they_are_spread_over_the_window() {
        let of = |t1| [0, 1, 2].map(|number| due_at(number, Nanos(1_000), t1).0);
        assert_eq!(of(Nanos(5_000)), [2_000, 3_000, 4_000]);
        assert_eq!(of(Nanos::MAX), [100_001_000, 200_001_000, 400_001_000]);
    }

    #[test]
    fn the_kernel_times_them() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let mut trips = RoundTripWatch::new(Endpoint::Tcp(address), None);
        let t1 = Nanos(4_000);
        trips.beat(Nanos(999), Nanos::ZERO, t1);
        assert!(trips.current.is_none(), "none is due");
        for at in [1_000, 2_000, 3_000] {
            trips.beat(Nanos(at), Nanos::ZERO, t1);
            let accepted = listener.accept().expect("a connection");
            while trips.current.as_ref().is_some_and(|current| current.round_trip_ns().is_none()) {
                thread::yield_now();
            }
            drop(accepted);
        }
        trips.beat(Nanos(3_500), Nanos::ZERO, t1);
        let counted = trips.finish();
        assert_eq!(counted.connects, 3);
        assert!(counted.rtt_ns.is_some_and(|ns| ns > 0), "{counted:?}");
    }

    #[test]
    fn a_handshake_that_fails_counts_for_nothing() {
        let gone = TcpListener::bind("127.0.0.1:0").and_then(|gone| gone.local_addr());
        let mut trips = RoundTripWatch::new(Endpoint::Tcp(gone.expect("a port")), None);
        trips.beat(Nanos(1_000), Nanos::ZERO, Nanos(4_000));
        assert_eq!(trips.finish(), Counted::default());
    }
}
