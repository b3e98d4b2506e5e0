//! The health of the client's machine during a run (METHOD 1.9, "Machine"). A thread sleeps
//! 2.5 ms at a time, records how late it woke, and reads the kernel's counters when the window
//! opens and closes. It has no access to the load; the verdict judges its figures.

mod counters;
pub(crate) mod network;
mod round_trips;
mod server;
mod wall_clock;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use weir_engine::{BEAT_NS, Heartbeat};
use weir_io::{Clock, Endpoint, Nanos};
use weir_machine::{OwnSchedStat, SchedStat};
use weir_result::{self, ClientHealth, Measurements, Stops};

use crate::prepare::location::is_local;
use counters::{Counters, Sources};
pub(crate) use network::ephemeral_port_count;
use round_trips::RoundTrips;
use server::Server;
use wall_clock::WallClock;

/// Total length of stops from which a short run is repeated, in nanoseconds: shorter ones move no
/// median of it.
const LONG_STOP_NS: u64 = 10_000_000;

/// Beats between two readings of the wall clock.
const BEATS_PER_SAMPLE: u64 = 40;

/// The thread that watches the machine, and further input for its result.
#[derive(Debug)]
pub(crate) struct Watcher {
    thread: JoinHandle<(Option<Seen>, Heartbeat)>,
    is_over: Arc<AtomicBool>,
    endpoint: Endpoint,
    sources: u64,
    is_local: Option<bool>,
}

/// The target's connections, watched in addition to the machine.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    /// The server's address.
    pub(crate) endpoint: Endpoint,
    /// Number of addresses of this machine from which its connections come.
    pub(crate) sources: u64,
    /// The first of those addresses, if they are given.
    pub(crate) source: Option<IpAddr>,
    /// True if handshakes may measure the network's round-trip time.
    pub(crate) round_trips: bool,
}

/// The result of the watch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    /// Health of the machine.
    pub(crate) health: ClientHealth,
    /// Round-trip times of the network.
    pub(crate) round_trips: weir_result::RoundTrips,
}

impl Watcher {
    /// Starts to watch a load. `window` returns t0 and t1 as soon as they are fixed; t1 is
    /// [`Nanos::MAX`] while only the number of requests ends the window. The search for a server on
    /// this machine is over when this returns, so that it takes no CPU time from the load.
    ///
    /// Returns `None` if no thread can be started: the load then runs without a watch.
    pub(crate) fn start(
        clock: Clock,
        watched: Watched,
        window: impl Fn() -> Option<(Nanos, Nanos)> + Send + 'static,
    ) -> Option<Watcher> {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let Watched { endpoint, sources, source, round_trips } = watched;
        let is_local = is_local(&endpoint);
        let server = match is_local {
            Some(true) => Server::find(&endpoint),
            _ => Server::default(),
        };
        // To a server on this machine there is no network to measure.
        let wants_trips = round_trips && is_local == Some(false);
        let trips = wants_trips.then(|| RoundTrips::new(endpoint.clone(), source));
        let builder = thread::Builder::new().name("weir-health".to_owned());
        let thread = builder.spawn(move || watch(clock, server, trips, &window, &over)).ok()?;
        Some(Watcher { thread, is_over, endpoint, sources, is_local })
    }

    /// Ends the watch after the run and returns its result; `None` if the run never reached its
    /// window. What the run measured tells which stops could delay its requests.
    pub(crate) fn finish(self, measured: &Measurements) -> Option<Seen> {
        self.is_over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let (seen, heartbeat) = self.thread.join().ok()?;
        let seen = seen?;
        let health = ClientHealth {
            heartbeat_gap_ns: Some(heartbeat.gap_max_ns()),
            heartbeat_gap_at_ns: Some(heartbeat.gap_at_ns()),
            stops: Some(heartbeat.stops(measured)),
            // Connections closed shortly before still hold their ports.
            ephemeral_ports: network::ephemeral_ports(&self.endpoint, self.sources),
            is_server_local: self.is_local,
            ..seen.health
        };
        Some(Seen { health, ..seen })
    }
}

/// Beats from now to the end of the run, and watches the machine from just before t0 to the first
/// beat after t1.
fn watch(
    clock: Clock,
    server: Server,
    trips: Option<RoundTrips>,
    window: &impl Fn() -> Option<(Nanos, Nanos)>,
    is_over: &AtomicBool,
) -> (Option<Seen>, Heartbeat) {
    // Without this call the timer is less exact, by 50 µs.
    let _coarse = weir_sys::set_timer_slack(1);
    let sources = Sources::find(server);
    let mut beats = Beats::new(clock, is_over);
    // Reading the counters takes CPU time, so it has to end before the window begins.
    while window().is_none_or(|(t0, _)| clock.now().after(2 * BEAT_NS) < t0) {
        if beats.are_over() {
            return (None, beats.heartbeat);
        }
        beats.next(window);
    }
    let seen = watch_window(&mut beats, &sources, trips, window);
    // In the drain a stop delays the responses that the window still awaits.
    while !beats.are_over() {
        beats.next(window);
    }
    beats.next(window);
    (Some(seen), beats.heartbeat)
}

/// Watches the machine to the first beat after t1, or to the end of the run.
fn watch_window(
    beats: &mut Beats<'_>,
    sources: &Sources,
    mut trips: Option<RoundTrips>,
    window: &impl Fn() -> Option<(Nanos, Nanos)>,
) -> Seen {
    let clock = beats.clock;
    let before = Counters::read(sources);
    let began_at = clock.now();
    let mut wall = WallClock::default();
    wall.sample(clock);
    for beat in 1u64.. {
        let woken_at = beats.next(window);
        let Some((t0, t1)) = window() else { break };
        if let Some(trips) = &mut trips {
            trips.beat(woken_at, (t0, t1));
        }
        let ends = beats.are_over() || woken_at >= t1;
        if ends || beat.is_multiple_of(BEATS_PER_SAMPLE) {
            wall.sample(clock);
        }
        if ends {
            break;
        }
    }
    let after = Counters::read(sources);
    let watched_ns = clock.now().since(began_at);
    let health = ClientHealth {
        server_cpu: after.server_since(&before, sources, watched_ns),
        clock_step_ns: wall.step_max_ns(),
        ..after.since(&before, watched_ns)
    };
    Seen { health, round_trips: trips.map(RoundTrips::finish).unwrap_or_default() }
}

/// The beats of the calling thread, until the run is over.
struct Beats<'a> {
    clock: Clock,
    is_over: &'a AtomicBool,
    times: OwnSchedStat,
    /// The counters at the last beat.
    last: Option<SchedStat>,
    heartbeat: Heartbeat,
    woken_at: Nanos,
}

impl Beats<'_> {
    fn new(clock: Clock, is_over: &AtomicBool) -> Beats<'_> {
        let times = OwnSchedStat::open();
        let last = times.read();
        let heartbeat = Heartbeat::default();
        Beats { clock, is_over, times, last, heartbeat, woken_at: clock.now() }
    }

    fn are_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Sleeps until the next beat, or until the run is over; returns the time.
    fn next(&mut self, window: &impl Fn() -> Option<(Nanos, Nanos)>) -> Nanos {
        let due_at = self.woken_at.after(BEAT_NS);
        sleep_until(self.clock, due_at, &|| self.are_over());
        self.woken_at = self.clock.now();
        // Neither the time for which this thread ran, nor that for which it was runnable but not
        // running, is a stop, although it wakes late.
        let now = self.times.read();
        let times = now.zip(self.last).map(|(now, last)| now.since(last));
        self.last = now;
        // To read counters takes this thread longer than a beat on some machines.
        let due_at = due_at.after(times.map_or(0, |times| times.ran_ns));
        let waited_ns = times.map(|times| times.waited_ns);
        self.heartbeat.beat(due_at, self.woken_at, waited_ns, window());
        self.woken_at
    }
}

/// True if a short run with these stops should be repeated.
pub(crate) fn is_long(stops: Stops) -> bool {
    stops.effective_ns > LONG_STOP_NS
}

/// Runs `load` with a heartbeat beside it, and nothing else that watches the machine. Without a
/// thread for it the heartbeat finds no stop.
pub(crate) fn with_heartbeat<T>(clock: Clock, load: impl FnOnce() -> T) -> (T, Heartbeat) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = || {
            let _coarse = weir_sys::set_timer_slack(1);
            let mut beats = Beats::new(clock, &is_over);
            while !beats.are_over() {
                beats.next(&|| None);
            }
            beats.next(&|| None);
            beats.heartbeat
        };
        let builder = thread::Builder::new().name("weir-health".to_owned());
        let thread = builder.spawn_scoped(scope, watch);
        let loaded = load();
        is_over.store(true, Ordering::Release);
        let heartbeat = thread.ok().and_then(|thread| {
            thread.thread().unpark();
            thread.join().ok()
        });
        (loaded, heartbeat.unwrap_or_default())
    })
}

/// Sleeps until `due_at`, or until the run is over.
fn sleep_until(clock: Clock, due_at: Nanos, is_over: &impl Fn() -> bool) {
    loop {
        let left_ns = due_at.since(clock.now());
        if left_ns == 0 || is_over() {
            return;
        }
        thread::park_timeout(Duration::from_nanos(left_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watcher(window: Option<(Nanos, Nanos)>) -> Watcher {
        let endpoint = Endpoint::Tcp(([127, 0, 0, 1], 1).into());
        let watched = Watched { endpoint, sources: 1, source: None, round_trips: true };
        Watcher::start(Clock::start(), watched, move || window).expect("a thread")
    }

    #[test]
    fn a_run_that_never_reached_its_window_was_not_watched() {
        for window in [None, Some((Nanos::MAX, Nanos::MAX))] {
            assert_eq!(watcher(window).finish(&Measurements::default()), None);
        }
    }

    #[test]
    fn a_window_is_watched_to_its_end() {
        let watcher = watcher(Some((Nanos::ZERO, Nanos(200_000_000))));
        // The thread of the load would run as long.
        sleep_until(Clock::start(), Nanos(250_000_000), &|| false);
        let measured = Measurements::default();
        let Seen { health, round_trips } = watcher.finish(&measured).expect("a window");
        assert_eq!(round_trips.connects, 0, "loopback is no network");
        assert!(health.watched_ns >= 19_000_000, "{health:?}");
        assert!(health.heartbeat_gap_ns.is_some_and(|gap| gap <= 200_000_000), "{health:?}");
        assert!(health.clock_step_ns.is_some(), "{health:?}");
        assert_eq!(health.is_server_local, Some(true));
    }
}
