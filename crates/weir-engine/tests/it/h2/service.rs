//! A server of HTTP/2 in virtual time, by the server's side of weir-http.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex};

use weir_http::h2::frame::Settings;
use weir_http::h2::server::{H2Server, ServerEvent};
use weir_http::h2::{ErrorCode, H2Options};
use weir_io::Nanos;
use weir_sim::{Law, Link, Service, ServiceFactory};

use crate::cut::{Cut, Cutter};

/// Flags in the tokens of wake-ups. A token without one is a stream whose head is due.
const BODY: u64 = 1 << 32;
const LIMIT: u64 = 1 << 33;

/// Habits of a server. Shares are of the requests that arrive.
#[derive(Clone, Debug)]
pub(super) struct Habits {
    /// Time from a complete request to the head of its response.
    pub(super) service: Law,
    /// True to work on one request of a connection after the other.
    pub(super) queues: bool,
    /// Time from the head to the body, in nanoseconds.
    pub(super) body_ns: u64,
    pub(super) streams_max: u32,
    /// Later limits, with their times after the start of the connection in nanoseconds.
    pub(super) limits: Vec<(u64, u32)>,
    /// First window of each stream for requests, in bytes.
    pub(super) window_bytes: u32,
    /// False to leave windows as they are, once used.
    pub(super) refills: bool,
    pub(super) returned: f64,
    pub(super) failed: f64,
    pub(super) swallowed: f64,
    pub(super) retires: f64,
    /// Reason of retiring.
    pub(super) reason: ErrorCode,
    /// True to end each connection as it begins.
    pub(super) ends_at_once: bool,
    /// Requests of a connection after which its server does nothing more.
    pub(super) requests_max: usize,
    /// The end of each connection.
    pub(super) cut: Option<Cut>,
}

impl Default for Habits {
    fn default() -> Habits {
        let returned = 0.0;
        let failed = 0.0;
        let swallowed = 0.0;
        let retires = 0.0;
        Habits {
            service: Law::Fixed(2_000_000),
            queues: false,
            body_ns: 0,
            streams_max: 100,
            limits: Vec::new(),
            window_bytes: Settings::default().initial_window_bytes,
            refills: true,
            returned,
            failed,
            swallowed,
            retires,
            reason: ErrorCode::NO_ERROR,
            ends_at_once: false,
            requests_max: usize::MAX,
            cut: None,
        }
    }
}

/// Counts of all servers of a world.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) returned: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
    pub(super) retired: u64,
    /// Begin of the last connection.
    pub(super) accepted_at: Nanos,
}

/// The server's side of one connection.
#[derive(Debug)]
pub(super) struct H2Service {
    habits: Habits,
    counts: Arc<Mutex<Counts>>,
    server: H2Server,
    /// Streams in progress, with their request in the truth.
    waiting: BTreeMap<u32, usize>,
    requests: usize,
    /// End of the work on the requests so far, if they queue.
    busy_until: Nanos,
    /// Last stream that is processed, after GOAWAY.
    last_stream: u32,
    cutter: Cutter,
    out: Vec<u8>,
}

impl H2Service {
    /// Returns a factory of servers, and their counts.
    pub(super) fn factory(habits: Habits) -> (ServiceFactory, Arc<Mutex<Counts>>) {
        let counts = Arc::new(Mutex::new(Counts::default()));
        let shared = Arc::clone(&counts);
        let make = move || -> Box<dyn Service> {
            let settings = settings(&habits, habits.streams_max);
            let refills_windows = habits.refills;
            let options = H2Options { settings, refills_windows, ..H2Options::server() };
            Box::new(H2Service {
                cutter: Cutter::new(habits.cut),
                habits: habits.clone(),
                counts: Arc::clone(&shared),
                server: H2Server::new(&options),
                waiting: BTreeMap::new(),
                requests: 0,
                busy_until: Nanos::ZERO,
                last_stream: u32::MAX,
                out: Vec::new(),
            })
        };
        (ServiceFactory::new(make), counts)
    }

    fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.lock().expect("no server panicked"));
    }

    fn is_silent(&self) -> bool {
        self.requests >= self.habits.requests_max
    }

    fn request(&mut self, stream: u32, sent_at: Nanos, link: &mut Link<'_>) {
        if stream > self.last_stream {
            return;
        }
        self.requests += 1;
        let number = link.request(None, sent_at);
        let habits = &self.habits;
        if link.chance.chance(habits.returned) {
            self.count(|counts| counts.returned += 1);
            return self.server.reset_stream(stream, ErrorCode::REFUSED_STREAM);
        }
        if link.chance.chance(habits.failed) {
            self.count(|counts| counts.failed += 1);
            return self.server.reset_stream(stream, ErrorCode::INTERNAL_ERROR);
        }
        if link.chance.chance(habits.swallowed) {
            return;
        }
        if link.chance.chance(habits.retires) {
            self.count(|counts| counts.retired += 1);
            self.server.go_away(Some(stream), habits.reason);
            self.last_stream = stream;
            self.waiting.retain(|other, _| *other <= stream);
        }
        self.waiting.insert(stream, number);
        let mut ends_ns = habits.service.draw(link.chance);
        if habits.queues {
            self.busy_until = self.busy_until.max(link.now).after(ends_ns);
            ends_ns = self.busy_until.since(link.now);
        }
        link.wake(ends_ns, stream.into());
    }

    /// Sends what there is to send; `response` is the request that it is the response to, if it
    /// completes one.
    fn send(&mut self, response: Option<usize>, link: &mut Link<'_>) {
        self.server.poll_transmit(&mut self.out);
        let bytes = mem::take(&mut self.out);
        self.cutter.send(&bytes, response.map(|request| (request, 200)), link);
    }
}

impl Service for H2Service {
    fn accepted(&mut self, link: &mut Link<'_>) {
        self.count(|counts| counts.accepted_at = link.now);
        for (index, (after_ns, _)) in (0..).zip(&self.habits.limits) {
            link.wake(*after_ns, LIMIT | index);
        }
        if self.habits.ends_at_once {
            self.server.go_away(Some(0), self.habits.reason);
        }
        self.send(None, link);
    }

    fn received(&mut self, bytes: &[u8], sent_at: Nanos, link: &mut Link<'_>) {
        if self.is_silent() {
            return;
        }
        let bytes = self.cutter.receive(bytes, link);
        let mut requests = Vec::new();
        let mut resets = Vec::new();
        let read = self.server.receive(bytes, |event| match event {
            ServerEvent::Request { stream, is_end: true, .. }
            | ServerEvent::Data { stream, is_end: true, .. } => requests.push(stream),
            ServerEvent::Request { .. } | ServerEvent::Data { .. } => {}
            ServerEvent::Reset { stream, .. } => resets.push(stream),
            ServerEvent::Opened | ServerEvent::GoAway { .. } => {}
            other => panic!("the client sent {other:?}"),
        });
        read.expect("the client sends valid frames");
        requests.into_iter().for_each(|stream| self.request(stream, sent_at, link));
        for stream in resets {
            self.waiting.remove(&stream);
            self.count(|counts| counts.cancelled += 1);
        }
        self.send(None, link);
    }

    fn woken(&mut self, token: u64, link: &mut Link<'_>) {
        if self.is_silent() {
            return;
        }
        let low = u32::try_from(token & u64::from(u32::MAX)).expect("32 bits");
        match token & !u64::from(u32::MAX) {
            LIMIT => {
                let (_, streams_max) = self.habits.limits[low as usize];
                self.server.change_settings(&settings(&self.habits, streams_max));
                self.send(None, link);
            }
            0 if self.waiting.contains_key(&low) => {
                assert!(self.server.respond(low, 200, &[(b"server", b"weir-sim")], false));
                match self.habits.body_ns {
                    0 => self.woken(BODY | token, link),
                    body_ns => {
                        self.send(None, link);
                        link.wake(body_ns, BODY | token);
                    }
                }
            }
            _ => {
                let Some(request) = self.waiting.remove(&low) else { return };
                assert!(self.server.send_data(low, b"body", true));
                self.send(Some(request), link);
            }
        }
    }
}

fn settings(habits: &Habits, streams_max: u32) -> Settings {
    Settings {
        max_concurrent_streams: Some(streams_max),
        initial_window_bytes: habits.window_bytes,
        ..Settings::default()
    }
}
