//! Counters of the server, in groups. Each worker has its own, and the sums over the workers have
//! the same groups. How they are reported is unknown here.

use std::sync::atomic::{AtomicU64, Ordering};

use weir_http::ws::CloseCode;

use crate::fault::FaultKind;

/// Statuses of gRPC that are counted: those with a name.
pub(crate) const GRPC_STATUSES: usize = 17;

/// Counters of one worker: written by it alone, read by any thread. Alone on its cache lines, to
/// avoid false sharing between workers.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    pub(crate) accepted: AtomicU64,
    pub(crate) requests: RequestCounts<AtomicU64>,
    pub(crate) events: EventCounts<AtomicU64>,
    pub(crate) grpc: GrpcCounts<AtomicU64>,
    pub(crate) grpc_statuses: [AtomicU64; GRPC_STATUSES],
    pub(crate) websockets: WebSocketCounts<AtomicU64>,
    pub(crate) tls: TlsCounts<AtomicU64>,
}

/// Adds to a counter that only the calling thread writes. This is cheaper than a locked add.
#[inline]
pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

/// Declares a group of counters, each with its name in JSON: of one worker with [`AtomicU64`], of
/// all together with numbers. A count that a method computes may follow a counter.
macro_rules! counts {
    ($(#[$about:meta])+ $Group:ident {
        $(
            $(#[$of:meta])+
            $counter:ident = $name:literal $(, $computed:ident() = $computed_name:literal)?;
        )+
    }) => {
        $(#[$about])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $Group<T = u64> {
            $($(#[$of])+ pub $counter: T,)+
        }

        impl $Group {
            /// Adds the counters of a worker.
            pub(crate) fn add(&mut self, worker: &$Group<AtomicU64>) {
                $(self.$counter += worker.$counter.load(Ordering::Relaxed);)+
            }

            /// Returns the counts with their names, in the order of JSON.
            pub(crate) fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$(
                    ($name, self.$counter),
                    $(($computed_name, self.$computed()),)?
                )+]
            }
        }
    };
}

counts! {
    /// Requests, by what became of them.
    ///
    /// `received = answered + reset + closed + blackholed + partial + reset_streams + abandoned +
    /// owed` whenever no worker is between two updates, so always at the end.
    RequestCounts {
        /// Requests read to their last byte, except those counted in `bad` and those for
        /// `/weir/stats`.
        received = "requests";
        /// Requests whose whole response was passed to the kernel's queue; subset of `received`.
        answered = "answered";
        /// Requests answered by an injected reset; subset of `received`.
        reset = "reset";
        /// Requests answered by an injected close; subset of `received`.
        closed = "closed";
        /// Requests dropped by an injected fault that turned their connection into a black hole;
        /// subset of `received`.
        blackholed = "blackholed";
        /// Requests answered in part by an injected fault, and streams of events that were cut;
        /// subset of `received`.
        partial = "partial";
        /// Requests with injected bytes after the response; subset of `answered`.
        garbage = "garbage";
        /// Requests answered by an injected reset of their stream; subset of `received`.
        reset_streams = "reset_streams";
        /// Requests never answered because their connection or their stream had ended, or their
        /// connection had become a black hole, before their response was sent; subset of
        /// `received`.
        abandoned = "abandoned", owed() = "owed";
        /// Invalid or unsupported requests. In HTTP/1 they are answered with 4xx or 5xx and closed.
        /// In HTTP/2 their stream is reset, or the connection ends with GOAWAY if that is invalid.
        bad = "bad_requests";
        /// Requests of HTTP/2 that were not processed: beyond the limit of streams, above the last
        /// stream that GOAWAY announced, or by an injected fault. None of them is in `received`.
        refused = "refused";
        /// Requests refused by an injected fault; subset of `refused`.
        refused_by_fault = "refused_by_fault";
    }
}

impl RequestCounts {
    /// Returns the number of requests whose response is still held back; subset of `received`.
    pub fn owed(&self) -> u64 {
        let ended = self.answered
            + self.reset
            + self.closed
            + self.blackholed
            + self.partial
            + self.reset_streams
            + self.abandoned;
        self.received.saturating_sub(ended)
    }
}

impl<T> RequestCounts<T> {
    /// Returns the counter of an injected fault.
    pub(crate) fn injected(&self, kind: FaultKind) -> &T {
        match kind {
            FaultKind::Reset => &self.reset,
            FaultKind::Close => &self.closed,
            FaultKind::Blackhole => &self.blackholed,
            FaultKind::Partial => &self.partial,
            FaultKind::Garbage => &self.garbage,
            FaultKind::ResetStream => &self.reset_streams,
            FaultKind::RefuseStream => &self.refused_by_fault,
        }
    }
}

counts! {
    /// Responses that are streams of events.
    EventCounts {
        /// Requests whose response is such a stream; subset of [`RequestCounts::received`].
        streams = "event_streams";
        /// Events sent, but for a last `[DONE]`. Passed to the kernel, or in HTTP/2 waiting for the
        /// client's windows.
        sent = "events";
        /// Streams that ended early on purpose; subset of `streams` and of
        /// [`RequestCounts::partial`].
        cut = "event_streams_cut";
    }
}

counts! {
    /// Calls of gRPC, and their messages.
    GrpcCounts {
        /// Calls; subset of [`RequestCounts::received`].
        calls = "grpc_calls";
        /// Messages in requests of calls.
        received = "grpc_received";
        /// Messages sent in responses to calls. Passed to the kernel, or waiting for the client's
        /// windows.
        sent = "grpc_messages";
    }
}

counts! {
    /// WebSocket connections, and their messages.
    WebSocketCounts {
        /// Connections opened. Their upgrades are not in [`RequestCounts::received`].
        opened = "websockets", open() = "websockets_open";
        /// Connections with permessage-deflate; subset of `opened`.
        deflated = "ws_deflated";
        /// Messages received; subset of [`RequestCounts::received`].
        messages = "ws_messages";
        /// Echoes passed to the kernel's queue; subset of [`RequestCounts::answered`].
        echoes = "ws_echoes";
        /// Messages that the server sent by itself.
        pushed = "ws_pushed";
        /// Pings sent.
        pings = "ws_pings";
        /// Pongs received.
        pongs = "ws_pongs";
        /// Connections whose client sent a Close frame with code 1000; subset of `opened`.
        closed_1000 = "ws_closed_1000";
        /// The same with code 1001.
        closed_1001 = "ws_closed_1001";
        /// The same with another code, or with none.
        closed_other = "ws_closed_other";
        /// Connections that ended without a Close frame of the client; subset of `opened`.
        unclosed = "ws_unclosed";
    }
}

impl WebSocketCounts {
    /// Returns the number of connections that are open; subset of `opened`.
    pub fn open(&self) -> u64 {
        let ended = self.closed_1000 + self.closed_1001 + self.closed_other + self.unclosed;
        self.opened.saturating_sub(ended)
    }
}

impl<T> WebSocketCounts<T> {
    /// Returns the counter of connections that end with this Close frame of the client, or without
    /// one.
    pub(crate) fn ended(&self, closed: Option<CloseCode>) -> &T {
        match closed {
            Some(CloseCode::NORMAL) => &self.closed_1000,
            Some(CloseCode::GOING_AWAY) => &self.closed_1001,
            Some(_) => &self.closed_other,
            None => &self.unclosed,
        }
    }
}

counts! {
    /// Connections with TLS.
    TlsCounts {
        /// Completed handshakes.
        handshakes = "tls_handshakes";
        /// Handshakes that resumed a session; subset of `handshakes`.
        resumed = "tls_resumed";
        /// Connections that ended by an error of TLS, in the handshake or later.
        failures = "tls_failures";
    }
}
