//! A worker's script: its callbacks with their times, and its failures.
//!
//! All calls into a script happen here, so that none of their time is attributed to the server
//! unseen. Each call is counted with its time, and the thread that waits for the worker can name a
//! call that does not return.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use weir_http::{RawRequestError, ReceivedResponse, Request, read_requests};
use weir_io::{Backend, ConnId, Nanos};
use weir_result::{Callback, CallbackUsage, ScriptUsage};
use weir_script::{About, Calls, ScriptError, WorkerState};
use weir_text::setting::STREAMS;

use super::batch::Batch;
use crate::control::{CallbackWatch, Control};

/// Calls of at least this length count as long, in nanoseconds: all connections of the worker wait
/// meanwhile.
const LONG_NS: u64 = 1_000_000;

/// A worker's script while the load runs.
#[derive(Debug)]
pub(crate) struct Script<'a> {
    state: &'a mut WorkerState,
    pub(crate) calls: Calls,
    control: &'a Control,
    watch: &'a CallbackWatch,
    worker: u32,
    usage: [CallbackUsage; 3],
    /// Requests that were made after their slots were due, while a connection was free.
    pub(crate) ran_dry: u64,
    /// Response bodies that were cut: the script received only their beginning.
    bodies_cut: u64,
    /// Time at which the last callback returned.
    pub(crate) left_at: Nanos,
    /// True if `request()` stopped the worker.
    pub(crate) is_stopped_by_request: bool,
    /// True if a callback has failed; none is called again.
    is_broken: bool,
    /// Scheme of the requests, if they are sent as fields.
    scheme: Option<&'static str>,
    /// The last string that was parsed into fields, which most scripts return again.
    last: Batch,
    /// Requests that await their responses, by connection; empty unless the script distinguishes
    /// connections.
    outstanding: Vec<Batch>,
}

impl<'a> Script<'a> {
    /// Returns the script of worker `number`. A `scheme` is given if requests are sent as fields.
    pub(crate) fn new(
        state: &'a mut WorkerState,
        number: u32,
        connections: u32,
        control: &'a Control,
        scheme: Option<&'static str>,
    ) -> Script<'a> {
        let calls = state.calls();
        let outstanding = if calls.takes_connections { connections } else { 0 };
        Script {
            state,
            calls,
            control,
            watch: control.watch(number),
            worker: number,
            usage: [CallbackUsage::default(); 3],
            ran_dry: 0,
            bodies_cut: 0,
            left_at: Nanos::ZERO,
            is_stopped_by_request: false,
            is_broken: false,
            scheme,
            last: Batch::default(),
            outstanding: vec![Batch::default(); outstanding as usize],
        }
    }

    /// Returns the string to send if the script has no `request()`.
    pub(crate) fn static_request(&mut self, backend: &mut impl Backend) -> Batch {
        let mut batch = Batch { bytes: self.state.static_request().to_vec(), ..Batch::default() };
        if let Err(error) = self.read(&mut batch) {
            self.fail(self.no_request("wrk.request()", &error), backend.now());
        }
        batch
    }

    /// Returns the target of the next connection, if the script sets one.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.state.address()
    }

    /// True if the script has failed or stopped its worker: it makes no more requests.
    pub(crate) fn is_over(&self) -> bool {
        self.is_broken || self.state.is_stopped()
    }

    /// True if the script stopped its own worker.
    pub(crate) fn is_stopped(&self) -> bool {
        !self.is_broken && self.state.is_stopped()
    }

    /// Reports a new socket of `conn` to the script.
    pub(crate) fn opened(&mut self, conn: ConnId, backend: &mut impl Backend) {
        if self.calls.takes_connections
            && let Err(error) = self.state.opened(conn.0)
        {
            self.fail(error, backend.now());
        }
    }

    /// Calls `request()` for the next string and stores it in `batch`. Returns the time at which
    /// the call returned; `None` if the string holds no requests, which is not an error after
    /// `wrk.thread:stop()`.
    pub(crate) fn request(
        &mut self,
        batch: &mut Batch,
        conn: Option<ConnId>,
        backend: &mut impl Backend,
    ) -> Option<Nanos> {
        if self.is_broken {
            return None;
        }
        let was_stopped = self.state.is_stopped();
        let from = self.enter(Callback::Request, backend);
        let made = self.state.request(conn.map(|conn| conn.0)).map(|bytes| {
            batch.bytes.clear();
            batch.bytes.extend_from_slice(bytes);
        });
        self.leave(Callback::Request, from, backend);
        self.is_stopped_by_request |= !was_stopped && self.state.is_stopped();
        batch.responded = 0;
        if made.is_ok() && batch.bytes.is_empty() && self.state.is_stopped() {
            return None;
        }
        let read = made
            .and_then(|()| self.read(batch).map_err(|error| self.no_request("request()", &error)));
        match read {
            Ok(()) => Some(self.left_at),
            Err(error) => {
                self.fail(error, self.left_at);
                None
            }
        }
    }

    /// Parses the requests of a batch from its string.
    fn read(&mut self, batch: &mut Batch) -> Result<(), RawRequestError> {
        read_requests(&batch.bytes, &mut batch.requests)?;
        let Some(scheme) = self.scheme else { return Ok(()) };
        if self.last.bytes != batch.bytes {
            self.last.fields.clear();
            self.last.bytes.clone_from(&batch.bytes);
            let mut from = 0;
            for request in &batch.requests {
                let bytes = &batch.bytes[from..from + request.bytes as usize];
                from += bytes.len();
                self.last.fields.push(Arc::new(Request::parse(bytes, scheme)?));
            }
        }
        batch.fields.clone_from(&self.last.fields);
        Ok(())
    }

    /// Stops the script, whose string has more requests than a connection has streams.
    #[cold]
    pub(crate) fn refuse_string(&mut self, requests: usize, streams: u32, now: Nanos) {
        let problem = format!(
            "request() returned {requests} requests in one string, and the connection allows \
             {streams} streams: use {STREAMS}, or return fewer"
        );
        self.fail(self.state.refused(&problem), now);
    }

    /// Calls `delay()` and returns the delay before the next request on `conn`, in nanoseconds.
    pub(crate) fn delay(&mut self, conn: ConnId, backend: &mut impl Backend) -> u64 {
        if self.is_over() {
            return 0;
        }
        let conn = self.calls.takes_connections.then_some(conn.0);
        let from = self.enter(Callback::Delay, backend);
        let requested = self.state.delay(conn);
        self.leave(Callback::Delay, from, backend);
        match requested {
            Ok(ms) => ms.saturating_mul(1_000_000),
            Err(error) => {
                self.fail(error, self.left_at);
                0
            }
        }
    }

    /// Calls `response()` for a response on `conn`, except after `wrk.thread:stop()`.
    pub(crate) fn response(
        &mut self,
        conn: ConnId,
        status: u16,
        response: Option<ReceivedResponse<'_>>,
        backend: &mut impl Backend,
    ) {
        if self.is_over() {
            return;
        }
        let is_cut = response.is_some_and(|response| response.is_cut);
        self.bodies_cut += u64::from(is_cut);
        self.state.set_body_cut(is_cut);
        let from = self.enter(Callback::Response, backend);
        let about = self.outstanding.get_mut(conn.index()).map(|batch| {
            let request = batch.next_responded();
            About { connection: conn.0, request }
        });
        let shown = match response {
            Some(response) => self.state.response(status, response.fields(), response.body, about),
            None => self.state.response(status, std::iter::empty(), &[], about),
        };
        self.leave(Callback::Response, from, backend);
        if let Err(error) = shown {
            self.fail(error, self.left_at);
        }
    }

    /// Stores the batch sent on `conn`. Returns a batch for reuse.
    pub(crate) fn sent(&mut self, conn: ConnId, batch: Batch) -> Batch {
        match self.outstanding.get_mut(conn.index()) {
            Some(place) => std::mem::replace(place, batch),
            None => batch,
        }
    }

    /// Returns the mean time of a `request()` so far, in nanoseconds.
    pub(crate) fn request_mean_ns(&self) -> u64 {
        let usage = &self.usage[Callback::Request as usize];
        usage.time_ns / usage.calls.max(1)
    }

    #[inline]
    fn enter(&mut self, callback: Callback, backend: &mut impl Backend) -> Nanos {
        let now = backend.now();
        self.watch.enter(callback, now);
        now
    }

    #[inline]
    fn leave(&mut self, callback: Callback, from: Nanos, backend: &mut impl Backend) {
        let now = backend.now();
        self.left_at = now;
        self.watch.leave();
        let usage = &mut self.usage[callback as usize];
        let span_ns = now.since(from);
        usage.calls += 1;
        usage.time_ns += span_ns;
        usage.longest_ns = usage.longest_ns.max(span_ns);
        if span_ns >= LONG_NS {
            usage.long_ns += span_ns;
        }
    }

    #[cold]
    fn no_request(&self, source: &str, error: &RawRequestError) -> ScriptError {
        self.state.refused(&format!("{source} returned no HTTP request: {error}"))
    }

    #[cold]
    fn fail(&mut self, error: ScriptError, now: Nanos) {
        self.is_broken = true;
        self.control.script_failed(self.worker, error, now);
    }

    /// Returns the script's usage. `is_cut` is true if the worker was ended early, for any reason.
    pub(crate) fn finish(self, is_cut: bool) -> ScriptUsage {
        let has_ended_it = self.is_stopped() || (is_cut && self.control.script_failure().is_some());
        let called = Callback::ALL.into_iter().zip(self.usage).filter(|(_, usage)| usage.calls > 0);
        ScriptUsage {
            states: 1,
            memory_max_bytes: self.state.memory_bytes() as u64,
            callbacks: called.collect::<BTreeMap<_, _>>(),
            ran_dry: self.ran_dry,
            bodies_cut: self.bodies_cut,
            stopped: u32::from(has_ended_it),
        }
    }
}
