//! Counters of the server: kept per worker while it runs, summed on request, and written as JSON
//! for `/weir/stats`.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use weir_http::grpc::GrpcStatus;
use weir_io::Nanos;

use crate::behaviour::Behaviour;
use crate::event_stream::EventStream;
use crate::fault::FaultKind;
use crate::log::Arrival;
use crate::routes::{PreparedRoute, Routed};

/// Declares the counters of a server, in the order of JSON, each with the workers' counter whose
/// sum it is, if [`Shared::stats`] does not compute it.
macro_rules! stats {
    ($($(#[$about:meta])+ $name:ident $(= $counter:ident $([$nth:literal])?)?;)+) => {
        /// Counters of a server, at one moment or at its end.
        ///
        /// `requests = answered + reset + closed + blackholed + partial + reset_streams +
        /// abandoned + owed` whenever no worker is between two updates, so always at the end.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Stats {
            $($(#[$about])+ pub $name: u64,)+
            /// Connections accepted, by worker: their sum is `accepted`.
            pub accepted_by_worker: Vec<u64>,
            /// Calls of gRPC by status, those that have one: statuses are numbers from 0 to 16.
            pub grpc_statuses: Vec<u64>,
            /// Requests of each route, in the order of the routes.
            pub routes: Vec<RouteStats>,
            /// Recorded arrivals ([`Behaviour::arrivals_max`]), in order, for each worker. Filled
            /// only at the end, by [`Handle::stop`](crate::Handle::stop).
            pub arrivals: Vec<Vec<Arrival>>,
            /// Requests that did not fit into the log; subset of `requests`. Filled only at the
            /// end.
            pub arrivals_lost: u64,
        }

        impl Stats {
            /// Returns the sums over the workers.
            fn sums(workers: &[Counters]) -> Stats {
                let sum = |of: fn(&Counters) -> &AtomicU64| {
                    workers.iter().map(|worker| of(worker).load(Ordering::Relaxed)).sum::<u64>()
                };
                Stats {
                    $($($name: sum(|worker| &worker.$counter$([$nth])?),)?)+
                    ..Stats::default()
                }
            }

            /// Returns the counters by name.
            fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name)),+]
            }
        }
    };
}

stats! {
    /// Connections accepted.
    accepted;
    /// Requests read to their last byte, except those counted in `bad_requests` and those for
    /// `/weir/stats`.
    requests = requests;
    /// Requests whose whole response was passed to the kernel's queue; subset of `requests`.
    answered = answered;
    /// Requests answered by an injected reset; subset of `requests`.
    reset = injected[0];
    /// Requests answered by an injected close; subset of `requests`.
    closed = injected[1];
    /// Requests dropped by an injected fault that turned their connection into a black hole; subset
    /// of `requests`.
    blackholed = injected[2];
    /// Requests answered in part by an injected fault, and streams of events that were cut; subset
    /// of `requests`.
    partial = injected[3];
    /// Requests with injected bytes after the response; subset of `answered`.
    garbage = injected[4];
    /// Requests answered by an injected reset of their stream; subset of `requests`.
    reset_streams = injected[5];
    /// Requests never answered because their connection or their stream had ended, or their
    /// connection had become a black hole, before their response was sent; subset of `requests`.
    abandoned = abandoned;
    /// Requests whose response is still held back; subset of `requests`.
    owed;
    /// Invalid or unsupported requests. In HTTP/1 they are answered with 4xx or 5xx and closed. In
    /// HTTP/2 their stream is reset, or the connection ends with GOAWAY if that is invalid.
    bad_requests = bad_requests;
    /// Requests of HTTP/2 that were not processed: beyond the limit of streams, above the last
    /// stream that GOAWAY announced, or by an injected fault. None of them is in `requests`.
    refused = refused;
    /// Requests refused by an injected fault; subset of `refused`.
    refused_by_fault = injected[6];
    /// Requests whose response is a stream of events; subset of `requests`.
    event_streams = event_streams;
    /// Events sent, but for a last `[DONE]`. Passed to the kernel, or in HTTP/2 waiting for the
    /// client's windows.
    events = events;
    /// Streams of events that ended early on purpose; subset of `event_streams` and `partial`.
    event_streams_cut = event_streams_cut;
    /// Calls of gRPC; subset of `requests`.
    grpc_calls = grpc_calls;
    /// Messages in requests of calls.
    grpc_received = grpc_received;
    /// Messages sent in responses to calls. Passed to the kernel, or waiting for the client's
    /// windows.
    grpc_messages = grpc_messages;
    /// WebSocket connections opened. Their upgrades are not in `requests`.
    websockets = websockets;
    /// WebSocket connections that are open; subset of `websockets`.
    websockets_open;
    /// WebSocket connections with permessage-deflate; subset of `websockets`.
    ws_deflated = ws_deflated;
    /// Messages received on WebSocket connections; subset of `requests`.
    ws_messages = ws_messages;
    /// Echoes passed to the kernel's queue; subset of `answered`.
    ws_echoes = ws_echoes;
    /// Messages that the server sent by itself.
    ws_pushed = ws_pushed;
    /// Pings sent.
    ws_pings = ws_pings;
    /// Pongs received.
    ws_pongs = ws_pongs;
    /// WebSocket connections whose client sent a Close frame with code 1000; subset of
    /// `websockets`.
    ws_closed_1000 = ws_closed_1000;
    /// The same with code 1001.
    ws_closed_1001 = ws_closed_1001;
    /// The same with another code, or with none.
    ws_closed_other = ws_closed_other;
    /// WebSocket connections that ended without a Close frame of the client; subset of
    /// `websockets`.
    ws_unclosed = ws_unclosed;
    /// Completed TLS handshakes.
    tls_handshakes = tls_handshakes;
    /// TLS handshakes that resumed a session; subset of `tls_handshakes`.
    tls_resumed = tls_resumed;
    /// Connections that ended by an error of TLS, in the handshake or later.
    tls_failures = tls_failures;
}

impl Stats {
    /// Returns the counters as one JSON object on one line, without the arrivals.
    pub fn to_json(&self) -> String {
        let mut json = String::from("{");
        for (name, count) in self.named() {
            // Writing to a string cannot fail.
            let _ = write!(json, "\"{name}\":{count},");
        }
        let _ = write!(json, "\"accepted_by_worker\":{:?}", self.accepted_by_worker);
        if self.grpc_calls > 0 {
            let counts = (0..).zip(&self.grpc_statuses).filter(|(_, count)| **count > 0);
            let counts = counts.filter_map(|(status, count)| {
                Some(format!("\"{}\":{count}", GrpcStatus(status).name()?))
            });
            let counts: Vec<String> = counts.collect();
            let _ = write!(json, ",\"grpc_statuses\":{{{}}}", counts.join(","));
        }
        if !self.routes.is_empty() {
            let routes: Vec<String> = self.routes.iter().map(RouteStats::to_json).collect();
            let _ = write!(json, ",\"routes\":[{}]", routes.join(","));
        }
        json.push('}');
        json
    }
}

/// Counters of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteStats {
    /// The route's path as it is written, `/item/*`.
    pub path: String,
    /// The route's method, if it has one.
    pub method: Option<String>,
    /// Requests that took the route; subset of [`Stats::requests`].
    pub requests: u64,
    /// Requests whose response is broken on purpose; subset of `requests`.
    pub broken: u64,
}

impl RouteStats {
    /// Returns the counters as a JSON object. Neither paths nor methods have characters that JSON
    /// escapes.
    fn to_json(&self) -> String {
        let RouteStats { path, method, requests, broken } = self;
        let method = method.as_ref().map(|method| format!("\"method\":\"{method}\","));
        let method = method.unwrap_or_default();
        format!("{{\"path\":\"{path}\",{method}\"requests\":{requests},\"broken\":{broken}}}")
    }
}

/// State shared by the workers of one server: the behaviour and the counters.
#[derive(Debug)]
pub struct Shared {
    pub(crate) behaviour: Behaviour,
    /// `CLOCK_MONOTONIC` at the epoch of the backends' clock.
    pub(crate) epoch_monotonic_ns: u64,
    counters: Vec<Counters>,
    requests_begun: AtomicU64,
    /// Calls of gRPC.
    calls_begun: AtomicU64,
    /// Requests of each route.
    route_requests: Vec<AtomicU64>,
    /// Streams of events of each route, and at the end of those without one.
    streams_begun: Vec<AtomicU64>,
    /// Time of the first request in nanoseconds since the epoch; [`u64::MAX`] before it.
    first_request_at: AtomicU64,
    /// Recorded arrivals by worker, and the number of those that did not fit.
    arrivals: Mutex<Vec<(Vec<Arrival>, u64)>>,
    /// Reasons of TLS failures, each once, in the order of their first occurrence.
    tls_errors: Mutex<Vec<String>>,
}

/// Different reasons of TLS failures that are kept.
#[cfg(any(feature = "tls", test))]
const TLS_ERRORS_MAX: usize = 64;

impl Shared {
    /// Makes the state for `workers` workers whose backends share one clock, whose epoch was at
    /// `epoch_monotonic_ns` (see `weir_io::Clock::epoch_monotonic_ns`).
    pub fn new(behaviour: Behaviour, epoch_monotonic_ns: u64, workers: usize) -> Arc<Shared> {
        let route_requests: Vec<_> = behaviour.routes.iter().map(|_| AtomicU64::new(0)).collect();
        let streams_begun = (0..=route_requests.len()).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Shared {
            behaviour,
            epoch_monotonic_ns,
            counters: (0..workers).map(|_| Counters::default()).collect(),
            requests_begun: AtomicU64::new(0),
            calls_begun: AtomicU64::new(0),
            route_requests,
            streams_begun,
            first_request_at: AtomicU64::new(u64::MAX),
            arrivals: Mutex::new(vec![Default::default(); workers]),
            tls_errors: Mutex::default(),
        })
    }

    /// Returns the current counters, summed over the workers.
    pub fn stats(&self) -> Stats {
        let accepted = |worker: &Counters| worker.accepted.load(Ordering::Relaxed);
        let mut stats = Stats::sums(&self.counters);
        stats.accepted_by_worker = self.counters.iter().map(accepted).collect();
        stats.accepted = stats.accepted_by_worker.iter().sum();
        let of_status = |place: usize| {
            let of_worker = |worker: &Counters| worker.grpc_statuses[place].load(Ordering::Relaxed);
            self.counters.iter().map(of_worker).sum()
        };
        stats.grpc_statuses = (0..GRPC_STATUSES).map(of_status).collect();
        let ended = stats.answered
            + stats.reset
            + stats.closed
            + stats.blackholed
            + stats.partial
            + stats.reset_streams
            + stats.abandoned;
        stats.owed = stats.requests.saturating_sub(ended);
        let closed =
            stats.ws_closed_1000 + stats.ws_closed_1001 + stats.ws_closed_other + stats.ws_unclosed;
        stats.websockets_open = stats.websockets.saturating_sub(closed);
        let of_routes = self.behaviour.routes.iter().zip(&self.route_requests);
        let count = |(prepared, requests): (&PreparedRoute, &AtomicU64)| {
            let route = &prepared.route;
            let requests = requests.load(Ordering::Relaxed);
            let broken = route.broken.as_ref().map_or(0, |broken| requests / broken.every);
            let path = route.path.text();
            let method = route.method.clone();
            RouteStats { path, method, requests, broken }
        };
        stats.routes = of_routes.map(count).collect();
        stats
    }

    pub(crate) fn counters(&self, worker: usize) -> &Counters {
        &self.counters[worker]
    }

    /// Returns the number of the next request of the process, from zero.
    pub(crate) fn next_index(&self) -> u64 {
        self.requests_begun.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the number of the next call of gRPC of the process, from 1.
    pub(crate) fn take_call(&self) -> u64 {
        self.calls_begun.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts a request of a route, over all workers. Returns true if its response
    /// is a broken one.
    pub(crate) fn take_route(&self, index: u16) -> bool {
        let earlier = self.route_requests[usize::from(index)].fetch_add(1, Ordering::Relaxed);
        let broken = self.behaviour.routes.get(index).route.broken.as_ref();
        broken.is_some_and(|broken| (earlier + 1).is_multiple_of(broken.every))
    }

    /// Counts a stream of events of a route, or of those without one, over all workers. Returns its
    /// number, from 1.
    pub(crate) fn take_stream(&self, route: Option<Routed>) -> u64 {
        let last = self.streams_begun.len() - 1;
        let place = route.map_or(last, |routed| usize::from(routed.index));
        self.streams_begun[place].fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the stream of events that the responses of a route, or those without one, are.
    pub(crate) fn event_stream(&self, route: Option<Routed>) -> Option<&EventStream> {
        match route {
            None => self.behaviour.events.as_ref(),
            Some(routed) if routed.is_broken => None,
            Some(routed) => {
                let prepared = self.behaviour.routes.get(routed.index);
                self.behaviour.event_stream(Some(&prepared.route))
            }
        }
    }

    /// Records that a request arrived at `at`; only the first call has an effect.
    pub(crate) fn note_request(&self, at: Nanos) {
        if self.first_request_at.load(Ordering::Relaxed) == u64::MAX {
            let new = at.0;
            let order = Ordering::Relaxed;
            let _ = self.first_request_at.compare_exchange(u64::MAX, new, order, order);
        }
    }

    /// Returns the end of the stall that covers `now`, if there is one.
    pub(crate) fn stalled_until(&self, now: Nanos) -> Option<Nanos> {
        let first_at = self.first_request_at.load(Ordering::Relaxed);
        let since = now.0.checked_sub(first_at)?;
        let spans = self.behaviour.stalls.iter().map(|stall| {
            let begin = crate::units::span_ns(stall.at);
            (begin, begin.saturating_add(crate::units::span_ns(stall.length)))
        });
        let covering = spans.filter(|&(begin, end)| (begin..end).contains(&since));
        covering.map(|(_, end)| Nanos(first_at).after(end)).max()
    }

    /// Keeps the reason of a TLS failure, unless it is known or there are too many.
    #[cfg(any(feature = "tls", test))]
    pub(crate) fn note_tls_error(&self, reason: String) {
        let mut errors = self.tls_errors.lock().unwrap_or_else(PoisonError::into_inner);
        if errors.len() < TLS_ERRORS_MAX && !errors.contains(&reason) {
            errors.push(reason);
        }
    }

    /// Returns the reasons of TLS failures after the first `known` ones.
    pub(crate) fn tls_errors(&self, known: usize) -> Vec<String> {
        let errors = self.tls_errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.get(known..).map(<[String]>::to_vec).unwrap_or_default()
    }

    /// Stores the arrivals that a worker has logged, and the number of those that did not fit.
    pub(crate) fn keep_arrivals(&self, worker: usize, arrivals: Vec<Arrival>, lost: u64) {
        let mut kept = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        kept[worker] = (arrivals, lost);
    }

    /// Moves the workers' logged arrivals into `stats`.
    pub(crate) fn move_arrivals(&self, stats: &mut Stats) {
        let mut kept = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        for (arrivals, lost) in kept.drain(..) {
            stats.arrivals.push(arrivals);
            stats.arrivals_lost += lost;
        }
    }
}

/// Statuses of gRPC that are counted: those with a name.
const GRPC_STATUSES: usize = 17;

/// Counters of one worker: written by it alone, read by any thread. Alone on its cache lines, to
/// avoid false sharing between workers.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    pub(crate) accepted: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) answered: AtomicU64,
    /// Injected faults, in the order of [`FaultKind::ALL`].
    pub(crate) injected: [AtomicU64; FaultKind::ALL.len()],
    pub(crate) abandoned: AtomicU64,
    pub(crate) bad_requests: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) event_streams: AtomicU64,
    pub(crate) events: AtomicU64,
    pub(crate) event_streams_cut: AtomicU64,
    pub(crate) grpc_calls: AtomicU64,
    pub(crate) grpc_received: AtomicU64,
    pub(crate) grpc_messages: AtomicU64,
    pub(crate) grpc_statuses: [AtomicU64; GRPC_STATUSES],
    pub(crate) websockets: AtomicU64,
    pub(crate) ws_deflated: AtomicU64,
    pub(crate) ws_messages: AtomicU64,
    pub(crate) ws_echoes: AtomicU64,
    pub(crate) ws_pushed: AtomicU64,
    pub(crate) ws_pings: AtomicU64,
    pub(crate) ws_pongs: AtomicU64,
    pub(crate) ws_closed_1000: AtomicU64,
    pub(crate) ws_closed_1001: AtomicU64,
    pub(crate) ws_closed_other: AtomicU64,
    pub(crate) ws_unclosed: AtomicU64,
    pub(crate) tls_handshakes: AtomicU64,
    pub(crate) tls_resumed: AtomicU64,
    pub(crate) tls_failures: AtomicU64,
}

/// Adds to a counter that only the calling thread writes. This is cheaper than a locked add.
#[inline]
pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_and_written() {
        let shared = Shared::new(Behaviour::default(), 0, 2);
        add(&shared.counters(0).accepted, 2);
        add(&shared.counters(1).accepted, 1);
        add(&shared.counters(0).requests, 10);
        add(&shared.counters(1).answered, 4);
        for (k, injected) in (1u64..).zip(&shared.counters(1).injected) {
            add(injected, k);
        }
        add(&shared.counters(1).injected[4], 2);
        add(&shared.counters(0).requests, 20);
        add(&shared.counters(0).refused, 9);
        add(&shared.counters(0).websockets, 5);
        add(&shared.counters(0).ws_closed_1000, 1);
        add(&shared.counters(1).ws_unclosed, 1);
        add(&shared.counters(1).tls_handshakes, 3);
        assert_eq!(
            shared.stats().to_json(),
            "{\"accepted\":3,\"requests\":30,\"answered\":4,\"reset\":1,\"closed\":2,\
             \"blackholed\":3,\"partial\":4,\"garbage\":7,\"reset_streams\":6,\"abandoned\":0,\
             \"owed\":10,\"bad_requests\":0,\"refused\":9,\"refused_by_fault\":7,\
             \"event_streams\":0,\"events\":0,\"event_streams_cut\":0,\
             \"grpc_calls\":0,\"grpc_received\":0,\"grpc_messages\":0,\
             \"websockets\":5,\"websockets_open\":3,\"ws_deflated\":0,\"ws_messages\":0,\
             \"ws_echoes\":0,\"ws_pushed\":0,\"ws_pings\":0,\"ws_pongs\":0,\"ws_closed_1000\":1,\
             \"ws_closed_1001\":0,\"ws_closed_other\":0,\"ws_unclosed\":1,\
             \"tls_handshakes\":3,\"tls_resumed\":0,\"tls_failures\":0,\
             \"accepted_by_worker\":[2, 1]}"
        );
    }

    #[test]
    fn reasons_of_failures_are_kept_once() {
        let shared = Shared::new(Behaviour::default(), 0, 1);
        for reason in ["a", "b", "a"] {
            shared.note_tls_error(reason.to_owned());
        }
        assert_eq!((shared.tls_errors(0).join(" "), shared.tls_errors(2)), ("a b".into(), vec![]));
        (0..100).for_each(|k| shared.note_tls_error(k.to_string()));
        assert_eq!(shared.tls_errors(1).len(), TLS_ERRORS_MAX - 1);
    }

    #[test]
    fn stalls_count_from_the_first_request() {
        let stalls = ["1s+2s", "2s+3s", "9s+1s"].map(|text| text.parse().expect(text));
        let behaviour = Behaviour { stalls: stalls.to_vec(), ..Behaviour::default() };
        let shared = Shared::new(behaviour, 0, 1);
        let second = |s: u64| Nanos(s * 1_000_000_000);
        assert_eq!(shared.stalled_until(second(1)), None);
        shared.note_request(second(10));
        shared.note_request(second(11));
        let check = |at: u64, until: Option<u64>| {
            assert_eq!(shared.stalled_until(second(at)), until.map(second), "at {at} s");
        };
        check(9, None);
        check(10, None);
        check(11, Some(13));
        check(12, Some(15));
        check(14, Some(15));
        check(15, None);
        check(19, Some(20));
        check(20, None);
    }
}
