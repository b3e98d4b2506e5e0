//! The worker and its script: what it makes of it, what it tells it, and when it heeds it.

use weir_io::{Backend, ConnId, Nanos, Segment};

use super::{INTERRUPTED_TAIL_NS, Worker};
use crate::job::Job;
use crate::requests::{Repeated, RequestSource};
use crate::ring::Ring;
use crate::script::Script;
use crate::traffic::Told;

/// Where the requests come from: the job, or its script.
pub(super) fn source(
    job: &Job,
    script: Option<&mut Script<'_>>,
    backend: &mut impl Backend,
) -> RequestSource {
    let depth = job.plan.pipeline;
    let Some(script) = script else {
        let (one, traits) = (job.request.bytes().clone(), job.request.traits());
        return RequestSource::Static(Repeated::new(one, traits, depth, backend));
    };
    let calls = script.calls();
    let is_learning = calls.response.is_some();
    if calls.request {
        return RequestSource::Ring(Ring::new(None, is_learning, calls.knows_connections));
    }
    let batch = script.static_request();
    match batch.requests[..] {
        [request] if !calls.knows_connections => {
            let one = batch.bytes.into();
            RequestSource::Static(Repeated::new(one, request.traits, depth, backend))
        }
        _ => RequestSource::Ring(Ring::new(Some(batch), false, calls.knows_connections)),
    }
}

impl<B: Backend> Worker<'_, B> {
    /// Does what the last event has left to do: sends what TLS has to say, and tells the script.
    pub(super) fn run_errands(&mut self, conn: ConnId) {
        if !self.traffic.to_peer.is_empty() {
            let pooled = self.backend.pool(&self.traffic.to_peer);
            self.traffic.to_peer.clear();
            self.backend.send(conn, &[Segment::Pooled(pooled)]);
        }
        if self.traffic.told.is_empty() {
            return;
        }
        let mut told = std::mem::take(&mut self.traffic.told);
        if let Some(script) = &mut self.script {
            for one in told.drain(..) {
                match one {
                    Told::Opened(conn) => script.opened(conn),
                    Told::Answered { conn, nth, status } => {
                        let shows = self.traffic.limits.shows;
                        let answer = (shows != Some(weir_http::Interest::Status))
                            .then(|| self.traffic.answer(conn, nth));
                        script.response(conn, status, answer, &mut self.backend);
                    }
                    Told::Freed(conn) => {
                        let opened = self.traffic.connection(conn).opened;
                        if self.is_sending && self.traffic.is_idle(conn, opened) {
                            let delay_ns = script.delay(conn, &mut self.backend);
                            let now = self.backend.now();
                            self.traffic.rest(conn, now, delay_ns);
                        }
                    }
                }
            }
        }
        self.traffic.told = told;
    }

    /// Asks how long each connection rests from the start on: those that were opened before it had
    /// nothing to rest for.
    pub(super) fn rest_all(&mut self, start: Nanos) {
        let Some(script) = self.script.as_mut().filter(|script| script.calls().delay) else {
            return;
        };
        for conn in (0..self.traffic.limits.connections).map(ConnId) {
            let opened = self.traffic.connection(conn).opened;
            if self.traffic.is_idle(conn, opened) {
                let delay_ns = script.delay(conn, &mut self.backend);
                self.traffic.rest(conn, start, delay_ns);
            }
        }
    }

    /// Ends the window where the script has stopped its worker.
    pub(super) fn heed_script(&mut self, now: Nanos) {
        let is_stopped = self.script.as_ref().is_some_and(Script::is_stopped);
        if is_stopped && self.is_sending && !self.is_cut {
            self.traffic.recorder.timeline.cut(now, INTERRUPTED_TAIL_NS);
            self.is_cut = true;
        }
    }
}
