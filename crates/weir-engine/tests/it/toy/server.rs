//! The toy protocol's server, in virtual time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use weir_io::Nanos;
use weir_sim::{Law, Link, Service, ServiceFactory};

use super::{Frame, Frames, Kind};

/// Habits of a server. Shares are of the requests that arrive.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    /// Time from a request to the start of its response, and again to its end.
    pub(crate) service: Law,
    /// Limits on the number of streams: the first one, and then one after every fifth request.
    pub(crate) limits: Vec<u32>,
    pub(crate) returned: f64,
    pub(crate) failed: f64,
    pub(crate) swallowed: f64,
    pub(crate) not_found: f64,
    pub(crate) retires: f64,
    pub(crate) closes: f64,
    pub(crate) resets: f64,
    pub(crate) spoils: f64,
}

impl Default for Habits {
    fn default() -> Habits {
        Habits {
            service: Law::Fixed(1_000_000),
            limits: vec![100],
            returned: 0.0,
            failed: 0.0,
            swallowed: 0.0,
            not_found: 0.0,
            retires: 0.0,
            closes: 0.0,
            resets: 0.0,
            spoils: 0.0,
        }
    }
}

/// Counts of all servers of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Requests that were not returned.
    pub(crate) processed: u64,
    pub(crate) returned: u64,
    pub(crate) cancelled: u64,
}

/// The server's side of one connection.
#[derive(Debug)]
pub(crate) struct ToyServer {
    habits: Habits,
    counts: Arc<Mutex<Counts>>,
    frames: Frames,
    /// Streams in progress: their request in the truth, and true once the response has begun.
    streams: BTreeMap<u32, (usize, bool)>,
    requests: usize,
    is_retired: bool,
}

impl ToyServer {
    /// Returns a factory of servers, and their counts.
    pub(crate) fn factory(habits: Habits) -> (ServiceFactory, Arc<Mutex<Counts>>) {
        let counts = Arc::new(Mutex::new(Counts::default()));
        let shared = Arc::clone(&counts);
        let make = move || -> Box<dyn Service> {
            Box::new(ToyServer {
                habits: habits.clone(),
                counts: Arc::clone(&shared),
                frames: Frames::default(),
                streams: BTreeMap::new(),
                requests: 0,
                is_retired: false,
            })
        };
        (ServiceFactory::new(make), counts)
    }

    fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.lock().expect("no server panicked"));
    }

    fn request(&mut self, stream: u32, sent_at: Nanos, link: &mut Link<'_>) {
        let number = link.request(None, sent_at);
        self.requests += 1;
        let habits = &self.habits;
        if self.is_retired || link.chance.chance(habits.returned) {
            self.count(|counts| counts.returned += 1);
            return send(link, Kind::Returned, stream, 0);
        }
        self.count(|counts| counts.processed += 1);
        if self.requests.is_multiple_of(5) {
            let limit = habits.limits[self.requests / 5 % habits.limits.len()];
            send(link, Kind::Limit, 0, limit);
        }
        if link.chance.chance(habits.failed) {
            return send(link, Kind::Failed, stream, 0);
        }
        if link.chance.chance(habits.closes) {
            return link.close();
        }
        if link.chance.chance(habits.resets) {
            return link.reset();
        }
        if link.chance.chance(habits.spoils) {
            return link.send(b"\xffnonsense");
        }
        if link.chance.chance(habits.swallowed) {
            return;
        }
        if link.chance.chance(habits.retires) {
            self.is_retired = true;
            send(link, Kind::Retire, 0, stream);
        }
        self.streams.insert(stream, (number, false));
        let begins_ns = habits.service.draw(link.chance);
        link.wake(begins_ns, stream.into());
    }
}

impl Service for ToyServer {
    fn accepted(&mut self, _link: &mut Link<'_>) {}

    fn received(&mut self, bytes: &[u8], sent_at: Nanos, link: &mut Link<'_>) {
        for frame in self.frames.read(bytes).expect("the client sends valid frames") {
            match frame.kind {
                Kind::Hello => send(link, Kind::Limit, 0, self.habits.limits[0]),
                Kind::Request => self.request(frame.stream, sent_at, link),
                Kind::Cancel => {
                    self.streams.remove(&frame.stream);
                    self.count(|counts| counts.cancelled += 1);
                }
                other => panic!("the client sent {other:?}"),
            }
        }
    }

    fn woken(&mut self, token: u64, link: &mut Link<'_>) {
        let stream = u32::try_from(token).expect("it was a stream");
        let Some((request, has_begun)) = self.streams.get_mut(&stream) else { return };
        if !*has_begun {
            *has_begun = true;
            send(link, Kind::Began, stream, 0);
            let ends_ns = self.habits.service.draw(link.chance);
            return link.wake(ends_ns, token);
        }
        let request = *request;
        let status = link.chance.chance(self.habits.not_found);
        let status = if status { 404 } else { 200 };
        self.streams.remove(&stream);
        let frame = Frame { kind: Kind::Response, stream, value: status.into() };
        link.respond(request, status, &frame.bytes());
    }
}

fn send(link: &mut Link<'_>, kind: Kind, stream: u32, value: u32) {
    link.send(&Frame { kind, stream, value }.bytes());
}
