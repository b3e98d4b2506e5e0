//! The health of the client's machine during a run (METHOD 1.9, "Machine"). A thread sleeps
//! 2.5 ms at a time, records how late it woke, and reads the kernel's counters when the window
//! opens and closes. It has no access to the load; the verdict judges its figures.

mod counters;
pub(crate) mod network;
mod round_trips;
mod server;
mod wall_clock;

use weir_engine::{BEAT_NS, Heartbeat, Job};
use weir_io::{Clock, Endpoint, Nanos};
use weir_machine::{OwnSchedStat, SchedStat, sys};
use weir_result::{ClientHealth, Measurements, RoundTrips, Stops};

use crate::background::{Beside, End};
use crate::prepare::location::is_local;
use counters::{CounterSources, MachineCounters};
pub(crate) use network::ephemeral_port_count;
use round_trips::RoundTripWatch;
use server::ServerProcesses;
use wall_clock::WallClock;

/// Total length of stops from which a short run is repeated, in nanoseconds: shorter ones move no
/// median of it.
const LONG_STOP_NS: u64 = 10_000_000;

/// Beats between two readings of the wall clock.
const BEATS_PER_SAMPLE: u64 = 40;

/// The thread that watches the machine, and further input for its result.
#[derive(Debug)]
pub(crate) struct Watcher {
    thread: Beside<(Option<Watched>, Heartbeat)>,
    endpoint: Endpoint,
    /// Number of addresses of this machine from which its connections come.
    sources: u64,
    is_local: Option<bool>,
}

/// Health of the machine, and round-trip times of the network.
type Watched = (ClientHealth, RoundTrips);

impl Watcher {
    /// Starts to watch a load. `window` returns t0 and t1 as soon as they are fixed; t1 is
    /// [`Nanos::MAX`] while only the number of requests ends the window. The search for a server on
    /// this machine is over when this returns, so that it takes no CPU time from the load.
    ///
    /// Returns `None` if no thread can be started: the load then runs without a watch.
    pub(crate) fn start(
        job: &Job,
        clock: Clock,
        window: impl Fn() -> Option<(Nanos, Nanos)> + Send + 'static,
    ) -> Option<Watcher> {
        let plan = &job.plan;
        let endpoint = job.target.endpoint.clone();
        let is_local = is_local(&endpoint);
        let server = match is_local {
            Some(true) => ServerProcesses::find(&endpoint),
            _ => ServerProcesses::default(),
        };
        // To a server on this machine there is no network to measure.
        let wants_trips = job.extras.round_trips && is_local == Some(false);
        let source = plan.connection.source(0);
        let trips = wants_trips.then(|| RoundTripWatch::new(endpoint.clone(), source));
        let sources = plan.connection.sources_used(plan.own_connections_max());
        let watch = move |end| watch(clock, server, trips, &window, end);
        let thread = Beside::start("weir-health", watch).ok()?;
        Some(Watcher { thread, endpoint, sources, is_local })
    }

    /// Ends the watch after the run and returns its result; `None` if the run never reached its
    /// window. What the run measured tells which stops could delay its requests.
    pub(crate) fn finish(self, measured: &Measurements) -> Option<(ClientHealth, RoundTrips)> {
        let (seen, heartbeat) = self.thread.finish()?;
        let (health, round_trips) = seen?;
        let health = ClientHealth {
            heartbeat_gap_ns: Some(heartbeat.gap_max_ns),
            heartbeat_gap_at_ns: Some(heartbeat.gap_at_ns),
            stops: Some(heartbeat.stops(measured)),
            // Connections closed shortly before still hold their ports.
            ephemeral_ports: network::ephemeral_ports(&self.endpoint, self.sources),
            is_server_local: self.is_local,
            ..health
        };
        Some((health, round_trips))
    }
}

/// Beats from now to the end of the run, and watches the machine from just before t0 to the first
/// beat after t1.
fn watch(
    clock: Clock,
    server: ServerProcesses,
    trips: Option<RoundTripWatch>,
    window: &impl Fn() -> Option<(Nanos, Nanos)>,
    end: End,
) -> (Option<Watched>, Heartbeat) {
    let sources = CounterSources::find(server);
    let mut beats = Beats::new(clock, end);
    // Reading the counters takes CPU time, so it has to end before the window begins.
    while window().is_none_or(|(t0, _)| clock.now().after(2 * BEAT_NS) < t0) {
        if beats.end.has_come() {
            return (None, beats.heartbeat);
        }
        beats.next(window);
    }
    let seen = watch_window(&mut beats, &sources, trips, window);
    // In the drain a stop delays the responses that the window still awaits.
    (Some(seen), beats.finish(window))
}

/// Watches the machine to the first beat after t1, or to the end of the run.
fn watch_window(
    beats: &mut Beats,
    sources: &CounterSources,
    mut trips: Option<RoundTripWatch>,
    window: &impl Fn() -> Option<(Nanos, Nanos)>,
) -> Watched {
    let clock = beats.clock;
    let before = MachineCounters::read(sources);
    let began_at = clock.now();
    let mut wall = WallClock::default();
    wall.sample(clock);
    for beat in 1u64.. {
        let woken_at = beats.next(window);
        let Some((t0, t1)) = window() else { break };
        if let Some(trips) = &mut trips {
            trips.beat(woken_at, t0, t1);
        }
        let ends = beats.end.has_come() || woken_at >= t1;
        if ends || beat.is_multiple_of(BEATS_PER_SAMPLE) {
            wall.sample(clock);
        }
        if ends {
            break;
        }
    }
    let after = MachineCounters::read(sources);
    let watched_ns = clock.now().since(began_at);
    let usage = |(before, after)| sources.server.usage([before, after], watched_ns);
    let health = ClientHealth {
        server_cpu: before.server.as_ref().zip(after.server.as_ref()).map(usage),
        clock_step_ns: wall.step_max_ns,
        ..after.since(&before, watched_ns)
    };
    (health, trips.map(RoundTripWatch::finish).unwrap_or_default())
}

/// The beats of the calling thread, until the run is over.
struct Beats {
    clock: Clock,
    end: End,
    times: OwnSchedStat,
    /// The counters at the last beat.
    last: Option<SchedStat>,
    heartbeat: Heartbeat,
    woken_at: Nanos,
}

impl Beats {
    fn new(clock: Clock, end: End) -> Beats {
        // Without this call the timer is less exact, by 50 µs.
        let _coarse = sys::set_timer_slack(1);
        let times = OwnSchedStat::open();
        let last = times.read();
        let heartbeat = Heartbeat::default();
        Beats { clock, end, times, last, heartbeat, woken_at: clock.now() }
    }

    /// Sleeps until the next beat, or until the run is over; returns the time.
    fn next(&mut self, window: &impl Fn() -> Option<(Nanos, Nanos)>) -> Nanos {
        let due_at = self.woken_at.after(BEAT_NS);
        self.end.sleep_until(self.clock, due_at);
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

    /// Beats to the end of the run.
    fn finish(mut self, window: &impl Fn() -> Option<(Nanos, Nanos)>) -> Heartbeat {
        while !self.end.has_come() {
            self.next(window);
        }
        self.next(window);
        self.heartbeat
    }
}

/// True if a short run with these stops should be repeated.
pub(crate) fn is_long(stops: Stops) -> bool {
    stops.effective_ns > LONG_STOP_NS
}

/// Runs `load` with a heartbeat beside it, and nothing else that watches the machine. Without a
/// thread for it the heartbeat finds no stop.
pub(crate) fn with_heartbeat<T>(clock: Clock, load: impl FnOnce() -> T) -> (T, Heartbeat) {
    let beats = Beside::start("weir-health", move |end| Beats::new(clock, end).finish(&|| None));
    let loaded = load();
    (loaded, beats.ok().and_then(Beside::finish).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use weir_http::Prepared;
    use weir_result::Plan;

    use super::*;

    fn watcher(window: Option<(Nanos, Nanos)>) -> Watcher {
        let endpoint = Endpoint::Tcp(([127, 0, 0, 1], 1).into());
        let request = Prepared::http1("GET", "/", "h", &[], None).expect("a request");
        let mut job = Job::new(Plan::default(), endpoint, request);
        job.extras.round_trips = true;
        Watcher::start(&job, Clock::start(), move || window).expect("a thread")
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
        End::default().sleep_until(Clock::start(), Nanos(250_000_000));
        let measured = Measurements::default();
        let (health, round_trips) = watcher.finish(&measured).expect("a window");
        assert_eq!(round_trips.connects, 0, "loopback is no network");
        assert!(health.watched_ns >= 19_000_000, "{health:?}");
        assert!(health.heartbeat_gap_ns.is_some_and(|gap| gap <= 200_000_000), "{health:?}");
        assert!(health.clock_step_ns.is_some(), "{health:?}");
        assert_eq!(health.is_server_local, Some(true));
    }
}
