//! The worker and its script: requests from the script, events reported to it, and its stop.

use std::sync::Arc;

use weir_http::Interest;
use weir_io::{Backend, ConnId, Nanos};

use super::Worker;
use crate::job::Job;
use crate::pool::Told;
use crate::request_queue::RequestQueue;
use crate::requests::{Repeated, RequestSource};
use crate::script::Script;

/// Returns the source of requests: the job's request or the script.
pub(super) fn source(
    job: &Job,
    script: Option<&mut Script<'_>>,
    backend: &mut impl Backend,
) -> RequestSource {
    let depth = job.plan.depth();
    if job.protocol.is_multiplexed() {
        return source_of_fields(job, script, backend);
    }
    let Some(script) = script else {
        let (one, traits) = (job.request.bytes(), job.request.traits());
        return RequestSource::Static(Repeated::new(one, traits, depth, backend));
    };
    let calls = script.calls();
    let is_learning = calls.response.is_some();
    if calls.request {
        return RequestSource::Queue(RequestQueue::new(None, is_learning, calls.knows_connections));
    }
    let batch = script.static_request(backend);
    match batch.requests[..] {
        [request] if !calls.knows_connections => {
            let one = batch.bytes.into();
            RequestSource::Static(Repeated::new(&one, request.traits, depth, backend))
        }
        _ => RequestSource::Queue(RequestQueue::new(Some(batch), false, calls.knows_connections)),
    }
}

/// Returns the source of requests for a multiplexed protocol.
fn source_of_fields(
    job: &Job,
    script: Option<&mut Script<'_>>,
    backend: &mut impl Backend,
) -> RequestSource {
    let Some(script) = script else {
        return RequestSource::Fields(Arc::new(job.request.request(job.scheme())));
    };
    let calls = script.calls();
    assert!(!calls.knows_connections, "a script that distinguishes connections requires HTTP/1");
    if calls.request {
        return RequestSource::Queue(RequestQueue::new(None, calls.response.is_some(), false));
    }
    let batch = script.static_request(backend);
    match &batch.fields[..] {
        [request] => RequestSource::Fields(Arc::clone(request)),
        _ => RequestSource::Queue(RequestQueue::new(Some(batch), false, false)),
    }
}

impl<B: Backend> Worker<'_, B> {
    /// Processes the work left by the last event: sends the layers' output, and reports events to
    /// the script. Returns the time at which the script's callbacks were done, zero if there was
    /// nothing to report.
    pub(super) fn flush_pending(&mut self, conn: ConnId) -> Nanos {
        self.send_output(conn);
        if self.pool.script.told.is_empty() {
            return Nanos::ZERO;
        }
        let mut told = std::mem::take(&mut self.pool.script.told);
        for one in told.drain(..) {
            self.tell(one);
        }
        if self.pool.limits.shows == Some(Interest::Body) {
            self.pool.forget_responses(conn);
        }
        self.pool.script.told = told;
        self.script.as_ref().map_or(Nanos::ZERO, |script| script.left_at)
    }

    /// Reports an event to the script.
    fn tell(&mut self, told: Told) {
        let Some(script) = &mut self.script else { return };
        match told {
            Told::Opened(conn) => script.opened(conn, &mut self.backend),
            Told::Responded { conn, nth, status } => {
                let shows = self.pool.limits.shows;
                let response =
                    (shows != Some(Interest::Status)).then(|| self.pool.response(conn, nth));
                script.response(conn, status, response, &mut self.backend);
            }
            // Before the load begins there are no delays: see `begin_rests`.
            Told::Freed(conn) if self.stage.is_sending => {
                self.begin_rest(conn);
            }
            Told::Freed(_) => {}
        }
    }

    /// Delays the open connections from S on, if the script has a `delay()`.
    pub(super) fn begin_rests(&mut self) {
        if self.pool.limits.rests {
            for conn in (0..self.pool.limits.connections).map(ConnId) {
                self.begin_rest(conn);
            }
        }
    }

    /// Delays `conn`, if it is free, by the script's `delay()`. The delay counts from the return of
    /// the call, but not from before S.
    fn begin_rest(&mut self, conn: ConnId) {
        let from = self.timeline.start;
        let opened = self.pool.connection(conn).opened;
        let Some(script) = &mut self.script else { return };
        if !self.pool.is_idle(conn, opened) {
            return;
        }
        match script.delay(conn, &mut self.backend) {
            0 => self.pool.ready.place(conn, 0),
            delay_ns => {
                let until = from.max(script.left_at).after(delay_ns);
                self.pool.rest(conn, until);
            }
        }
    }

    /// Ends the window at `at` if the script has failed or stopped its worker. If `request()`
    /// stopped it, the batches already made are sent first.
    pub(super) fn check_script(&mut self, at: Nanos) {
        let Some(script) = &self.script else { return };
        if !script.is_over() || !self.stage.is_sending || self.stage.is_cut {
            return;
        }
        let is_sent = match &self.requests {
            RequestSource::Queue(queue) => queue.len() == 0,
            RequestSource::Static(_) | RequestSource::Fields(_) => true,
        };
        if is_sent || !script.is_stopped() || !script.is_stopped_by_request {
            self.cut_window(at);
        }
    }
}
