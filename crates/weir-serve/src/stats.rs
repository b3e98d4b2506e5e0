//! The counters of the server, summed over the workers on request, and written as JSON for
//! `/weir/stats`; and the state that the workers share.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use weir_http::grpc::GrpcStatus;
use weir_io::Nanos;

use crate::behaviour::Behaviour;
use crate::content::RequestContent;
use crate::counters::{
    Counters, EventCounts, GRPC_STATUSES, GrpcCounts, RequestCounts, TlsCounts, WebSocketCounts,
};
use crate::draws::Draws;
use crate::event_stream::EventStream;
use crate::log::Arrival;
use crate::routes::{PreparedRoute, Routed};
use crate::shop::{Shop, ShopReply, ShopStats};

/// Counters of a server, at one moment or at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections accepted, by worker: their sum is `accepted`.
    pub accepted_by_worker: Vec<u64>,
    /// Requests, by what became of them.
    pub requests: RequestCounts,
    /// Responses that are streams of events.
    pub events: EventCounts,
    /// Calls of gRPC, and their messages.
    pub grpc: GrpcCounts,
    /// Calls of gRPC by status, those that have one: statuses are numbers from 0 to 16.
    pub grpc_statuses: [u64; GRPC_STATUSES],
    /// WebSocket connections, and their messages.
    pub websockets: WebSocketCounts,
    /// Connections with TLS.
    pub tls: TlsCounts,
    /// Requests of each route, in the order of the routes.
    pub routes: Vec<RouteStats>,
    /// The counters of the shop, if there is one.
    pub shop: Option<ShopStats>,
    /// Recorded arrivals ([`Behaviour::arrivals_max`]), in order, for each worker. Filled only at
    /// the end, by [`Handle::stop`](crate::Handle::stop).
    pub arrivals: Vec<Vec<Arrival>>,
    /// Requests that did not fit into the log; subset of `requests`. Filled only at the end.
    pub arrivals_lost: u64,
}

impl Stats {
    /// Adds the counters of the next worker.
    fn add(&mut self, worker: &Counters) {
        let accepted = worker.accepted.load(Ordering::Relaxed);
        self.accepted += accepted;
        self.accepted_by_worker.push(accepted);
        self.requests.add(&worker.requests);
        self.events.add(&worker.events);
        self.grpc.add(&worker.grpc);
        for (sum, count) in self.grpc_statuses.iter_mut().zip(&worker.grpc_statuses) {
            *sum += count.load(Ordering::Relaxed);
        }
        self.websockets.add(&worker.websockets);
        self.tls.add(&worker.tls);
    }

    /// Returns the counters as one JSON object on one line, without the arrivals.
    pub fn to_json(&self) -> String {
        let mut json = format!("{{\"accepted\":{},", self.accepted);
        let groups = [
            self.requests.named(),
            self.events.named(),
            self.grpc.named(),
            self.websockets.named(),
            self.tls.named(),
        ];
        for (name, count) in groups.into_iter().flatten() {
            // Writing to a string cannot fail.
            let _ = write!(json, "\"{name}\":{count},");
        }
        let _ = write!(json, "\"accepted_by_worker\":{:?}", self.accepted_by_worker);
        if self.grpc.calls > 0 {
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
        if let Some(shop) = &self.shop {
            let _ = write!(json, ",\"shop\":{}", shop.to_json());
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
    /// Requests that took the route; subset of [`RequestCounts::received`].
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

/// State shared by the workers of one server: the behaviour, the shop and the counters.
#[derive(Debug)]
pub struct Shared {
    pub(crate) behaviour: Behaviour,
    /// The shop, if the behaviour has one.
    shop: Option<Shop>,
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
        Shared::with_tls(behaviour, epoch_monotonic_ns, workers, false)
    }

    /// Makes the same for connections with TLS, if `is_tls`.
    pub(crate) fn with_tls(
        behaviour: Behaviour,
        epoch_monotonic_ns: u64,
        workers: usize,
        is_tls: bool,
    ) -> Arc<Shared> {
        let route_requests: Vec<_> = behaviour.routes.iter().map(|_| AtomicU64::new(0)).collect();
        let streams_begun = (0..=route_requests.len()).map(|_| AtomicU64::new(0)).collect();
        // Another server has other ids, so that cookies of this one are unknown there.
        let ids = Draws::new(behaviour.seed, epoch_monotonic_ns);
        let shop = behaviour.shop.as_ref().map(|options| Shop::new(options, ids, is_tls));
        Arc::new(Shared {
            behaviour,
            shop,
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
        let mut stats = Stats::default();
        self.counters.iter().for_each(|worker| stats.add(worker));
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
        stats.shop = self.shop.as_ref().map(Shop::stats);
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

    /// Returns the shop's response to a request with this content, read at `now` and answered at
    /// `sent_at`; `None` without a shop.
    #[cold]
    pub(crate) fn shop_reply(
        &self,
        content: &RequestContent,
        now: Nanos,
        sent_at: Nanos,
    ) -> Option<ShopReply> {
        Some(self.shop.as_ref()?.respond(content.shop()?, now, sent_at))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::add;
    use crate::fault::FaultKind;

    #[test]
    fn counters_are_summed_and_written() {
        let shared = Shared::new(Behaviour::default(), 0, 2);
        add(&shared.counters(0).accepted, 2);
        add(&shared.counters(1).accepted, 1);
        add(&shared.counters(0).requests.received, 10);
        add(&shared.counters(1).requests.answered, 4);
        for (k, kind) in (1u64..).zip(FaultKind::ALL) {
            add(shared.counters(1).requests.injected(kind), k);
        }
        add(shared.counters(1).requests.injected(FaultKind::Garbage), 2);
        add(&shared.counters(0).requests.received, 20);
        add(&shared.counters(0).requests.refused, 9);
        add(&shared.counters(0).websockets.opened, 5);
        add(&shared.counters(0).websockets.closed_1000, 1);
        add(&shared.counters(1).websockets.unclosed, 1);
        add(&shared.counters(1).tls.handshakes, 3);
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
