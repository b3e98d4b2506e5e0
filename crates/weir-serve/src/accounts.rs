//! Accounts of one worker: its counters, and the log of its requests. It decides nothing.

use std::sync::Arc;

use weir_http::grpc::GrpcStatus;
use weir_io::Nanos;

use crate::behaviour::Framing;
use crate::connection::Connection;
use crate::counters::{Counters, add};
use crate::draws::Draws;
use crate::event_stream::EventProgress;
use crate::fault::FaultKind;
use crate::grpc::{CallBody, CallReply, GrpcFault, prefixed};
use crate::limits::FILLER;
use crate::log::{Arrival, ArrivalLog, LogPlace};
use crate::request::ServedRequest;
use crate::response::{OwnContent, Response};
use crate::stats::Shared;
use crate::units::parse_digits;

/// Counters and log of one worker.
#[derive(Debug)]
pub(crate) struct Accounts {
    shared: Arc<Shared>,
    worker: usize,
    log: Option<ArrivalLog>,
}

impl Accounts {
    pub(crate) fn new(shared: Arc<Shared>, worker: usize) -> Accounts {
        let arrivals_max = shared.behaviour.arrivals_max;
        let log = (arrivals_max > 0).then(|| ArrivalLog::new(arrivals_max));
        Accounts { shared, worker, log }
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.shared.counters(self.worker)
    }

    /// Counts a request. Returns its place in the log, if arrivals are kept.
    pub(crate) fn took(
        &mut self,
        connection: &mut Connection,
        request: &ServedRequest,
        at: Nanos,
    ) -> Option<LogPlace> {
        connection.taken += 1;
        connection.owed += 1;
        add(&self.counters().requests.received, 1);
        self.log.as_mut()?.arrived(Arrival {
            connection: u32::try_from(connection.number).unwrap_or(u32::MAX),
            request: connection.taken - 1,
            received_ns: self.shared.epoch_monotonic_ns + at.0,
            sent_ns: None,
            slot: parse_digits(request.slot.as_bytes()),
        })
    }

    /// Counts a response that was sent as a whole, if its request is counted.
    pub(crate) fn answered(
        &mut self,
        connection: &mut Connection,
        is_counted: bool,
        log_place: Option<LogPlace>,
        now: Nanos,
    ) {
        connection.last_traffic_at = now;
        if is_counted {
            connection.owed -= 1;
            add(&self.counters().requests.answered, 1);
        }
        if let Some((log, place)) = self.log.as_mut().zip(log_place) {
            log.responded(place, self.shared.epoch_monotonic_ns + now.0);
        }
    }

    /// Counts a response that will never be sent, if its request is counted.
    pub(crate) fn abandoned(&self, connection: &mut Connection, is_counted: bool) {
        if is_counted {
            connection.owed -= 1;
            add(&self.counters().requests.abandoned, 1);
        }
    }

    /// Makes a response a stream of events, and counts it, unless it has no body.
    #[cold]
    pub(crate) fn begin_events(&self, response: &mut Response, draws: Draws) {
        response.body_bytes = 0;
        let route = response.route;
        let Some(settings) = self.shared.event_stream(route).filter(|_| response.has_body()) else {
            return;
        };
        let progress = EventProgress::new(settings, self.shared.take_stream(route), draws);
        response.events = Some(Box::new(progress));
        add(&self.counters().events.streams, 1);
    }

    /// Begins the messages of a response, if it has some: those of a call of gRPC with this body,
    /// or events. `message_bytes` is the length of a call's message, if that is not the request's.
    pub(crate) fn begin_messages(
        &mut self,
        response: &mut Response,
        call: Option<&CallBody>,
        message_bytes: Option<u64>,
        has_events: bool,
        draws: Draws,
    ) {
        if let Some(body) = call {
            self.begin_call(response, body, message_bytes, has_events);
        }
        if has_events && response.call().is_none_or(|call| call.is_ok()) {
            self.begin_events(response, draws);
        }
    }

    /// Makes a response that of a call, and counts it. `message_bytes` is the length of its
    /// message, if that is not the request's; it has none if it `has_events`.
    #[cold]
    pub(crate) fn begin_call(
        &self,
        response: &mut Response,
        body: &CallBody,
        message_bytes: Option<u64>,
        has_events: bool,
    ) {
        add(&self.counters().grpc.calls, 1);
        add(&self.counters().grpc.received, body.messages);
        let struck = GrpcFault::strike(&self.shared.behaviour.grpc_faults, self.shared.take_call());
        let status = struck.unwrap_or_else(|| body.status());
        let message = || match (response.body(&self.shared), message_bytes) {
            (Some(own), _) => prefixed(false, own),
            (None, Some(bytes)) => {
                prefixed(false, &vec![FILLER; usize::try_from(bytes).unwrap_or(0)])
            }
            (None, None) => body.echo(),
        };
        let message = (status == GrpcStatus::OK && !has_events).then(message);
        response.framing = Framing::UntilClose;
        response.body_bytes = 0;
        let is_echo = response.body(&self.shared).is_none() && message_bytes.is_none();
        let is_gzip = message.is_some() && is_echo && body.is_gzip();
        let reply = CallReply { status, message, is_gzip };
        response.own = Some(Box::new(OwnContent::Call(reply)));
    }

    /// Counts the status of a call that is sent, and messages.
    pub(crate) fn sent_call(&self, status: Option<GrpcStatus>, messages: u64) {
        let counters = self.counters();
        add(&counters.grpc.sent, messages);
        let place = status.and_then(|status| usize::try_from(status.0).ok());
        if let Some(counter) = place.and_then(|place| counters.grpc_statuses.get(place)) {
            add(counter, 1);
        }
    }

    pub(crate) fn injected(&self, kind: FaultKind) {
        add(self.counters().requests.injected(kind), 1);
    }

    /// Moves the kept arrivals to `Shared`.
    pub(crate) fn hand_over_arrivals(&mut self) {
        if let Some(log) = &mut self.log {
            let (arrivals, lost) = log.take();
            self.shared.keep_arrivals(self.worker, arrivals, lost);
        }
    }
}
