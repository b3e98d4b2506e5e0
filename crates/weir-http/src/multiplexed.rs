//! The interface of protocols that carry exchanges as independent streams of one connection.
//! Independent of any wire format; the engine drives each such protocol through it.
//!
//! It has two directions. Received bytes, requests and cancellations go in. Events and
//! bytes to send come out, in the manner of quinn-proto: after each call that may change something,
//! the caller takes them until there are no more.

use std::fmt::Debug;
use std::sync::Arc;

use crate::budget::BodyBudget;
use crate::error::ProtocolError;
use crate::grpc::CallRules;
use crate::messages::{MessageFormat, ReceivedMessage};
use crate::received_response::{Interest, ReceivedResponse};
use crate::request::Request;
use crate::request_id::RequestId;

/// Client side of one multiplexed connection. Times are the caller's, in nanoseconds.
///
/// After an error every call returns that error, until [`reset`](Multiplexed::reset).
pub trait Multiplexed: Debug + Send {
    /// Starts the opening exchange on a new socket, or on a new TLS session.
    fn open(&mut self, now_ns: u64);

    /// True if the opening exchange is complete and requests are accepted, as far as there is
    /// [`capacity`](Multiplexed::capacity).
    fn is_open(&self) -> bool;

    /// Returns the number of requests in a row that it accepts now. The peer may change it at any
    /// time.
    fn capacity(&self) -> u32;

    /// True if the connection accepts no more requests. The caller replaces it once those in flight
    /// have ended. This is no error.
    fn is_retiring(&self) -> bool;

    /// Starts a request. There must be capacity. Its id is below the number of streams that the
    /// protocol was made for, and is free again after the stream's last event. A protocol may keep
    /// the request: to send its body later, or to recognise it.
    fn request(&mut self, request: &Arc<Request>, now_ns: u64) -> RequestId;

    /// Gives up a request. There is no event for it, and its id is free.
    fn cancel(&mut self, id: RequestId, now_ns: u64);

    /// Parses received bytes and pushes the events in them, in order.
    ///
    /// # Errors
    /// If the peer broke the protocol. Events before the error are pushed; streams without an end
    /// among them are lost with the connection.
    fn receive(
        &mut self,
        bytes: &[u8],
        now_ns: u64,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), ProtocolError>;

    /// Appends the bytes to send now to `out`: requests, and frames of the protocol itself.
    fn poll_transmit(&mut self, out: &mut Vec<u8>);

    /// True if a response has started and is incomplete.
    fn is_mid_response(&self) -> bool;

    /// Queues the bytes that announce the end of the connection to the peer, before its socket is
    /// closed in order. The default announces nothing.
    fn close(&mut self) {}

    /// Prepares for a new socket of the same connection: nothing is in flight, allocations are
    /// kept.
    fn reset(&mut self);

    /// Returns the number of interim responses (1xx) since creation, including before resets.
    fn interim_responses(&self) -> u64;

    /// Sets the part of each response to store for [`response`](Multiplexed::response), with a
    /// budget that the bodies of several connections share. The default is nothing. A reset does
    /// not change it.
    fn set_interest(&mut self, interest: Interest, budget: &BodyBudget);

    /// Checks the messages of gRPC in responses from now on, for the responses of
    /// [`response`](Multiplexed::response). The interest must not be [`Interest::Status`]. Others
    /// than HTTP/2 have none.
    fn set_calls(&mut self, _rules: CallRules) {}

    /// Splits the bodies of responses into messages from now on, for
    /// [`messages`](Multiplexed::messages). The interest must not be [`Interest::Status`]. A
    /// protocol with messages of its own needs no format.
    fn set_messages(&mut self, _format: &MessageFormat) {}

    /// Returns the messages that the last call of [`receive`](Multiplexed::receive) completed, in
    /// order. Those of a stream precede its last event in that call.
    fn messages(&self) -> &[StreamMessage] {
        &[]
    }

    /// Returns the messages in the bytes of the last call of [`receive`](Multiplexed::receive)
    /// that the peer sent by itself, for no request, in order.
    fn pushed(&self) -> &[PushedMessage] {
        &[]
    }

    /// True if messages of the connection are compressed, as its sides have agreed.
    fn is_compressed(&self) -> bool {
        false
    }

    /// Returns the `nth` response, from 0, of those that the last call of
    /// [`receive`](Multiplexed::receive) completed. Each has pushed an event, in this order.
    ///
    /// # Panics
    /// If that call completed no more than `nth`, or the interest is [`Interest::Status`].
    fn response(&self, nth: usize) -> ReceivedResponse<'_>;

    /// True if a response so far was known to be an event stream. Not each one is looked at.
    fn has_event_streams(&self) -> bool {
        false
    }

    /// Frees the stored responses that the last call completed, before the next call does.
    fn forget_responses(&mut self);

    /// Returns the reason with which the peer has announced the end of the connection; `None` if it
    /// has not. Of several announcements, the last with an error counts.
    fn goaway(&self) -> Option<&'static EndReason>;

    /// Returns the peer's limit of streams at once on this connection, if it has announced one.
    fn streams_allowed(&self) -> Option<u32> {
        None
    }

    /// Returns the text that the peer gave with that reason, as it sent it; empty without one.
    fn goaway_text(&self) -> &str {
        ""
    }

    /// True if the peer allows no stream at all on this connection.
    fn allows_no_streams(&self) -> bool;

    /// Returns the waits of request bodies for the peer's flow-control windows since creation,
    /// including before resets. Those that have not ended count up to `now_ns`.
    fn window_waits(&self, now_ns: u64) -> WindowWaits;
}

/// Reason with which a peer ends a stream or a connection, by its names.
#[derive(Debug, PartialEq, Eq)]
pub struct EndReason {
    /// Name in the registry of the protocol.
    pub name: &'static str,
    /// Name in documents of an exchange that the peer ended for this reason. Stable, as
    /// [`ProtocolError::code`].
    pub reset_code: &'static str,
}

/// A message that a peer sent by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushedMessage {
    /// Bytes of its content.
    pub bytes: u64,
    /// Time since the one before it on the same connection, in nanoseconds; `None` if it is the
    /// first since the last reset.
    pub gap_ns: Option<u64>,
}

/// Waits of request bodies for the peer's flow-control windows. They are the peer's time, not the
/// client's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowWaits {
    /// Bodies that could not be sent at once.
    pub waits: u64,
    /// Time until the rest of these bodies was sent, or their streams ended, summed over them, in
    /// nanoseconds.
    pub waited_ns: u64,
}

impl WindowWaits {
    /// Adds a body that was sent, or given up, `waited_ns` after its start.
    pub(crate) fn record(&mut self, waited_ns: u64) {
        self.waits += u64::from(waited_ns > 0);
        self.waited_ns += waited_ns;
    }

    /// Adds the waits of another connection.
    pub fn add(&mut self, other: WindowWaits) {
        self.waits += other.waits;
        self.waited_ns += other.waited_ns;
    }
}

/// A message within the response of one stream. It is no [`StreamEvent`], so that streams without
/// messages pay nothing for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamMessage {
    /// The request of the stream.
    pub id: RequestId,
    /// The message.
    pub message: ReceivedMessage,
}

/// An event of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEvent {
    /// The request of the stream.
    pub id: RequestId,
    /// Kind of the event.
    pub kind: StreamEventKind,
}

/// The kind of a stream's event. All but [`Began`](StreamEventKind::Began) are its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEventKind {
    /// The final response has begun.
    Began {
        /// Arrival of its first byte, in nanoseconds.
        at_ns: u64,
    },
    /// The response is complete.
    Response {
        /// The status code, 200 to 999 (RFC 9110 §15).
        status: u16,
    },
    /// The stream ended without a complete response. The connection stays usable.
    Failed(ProtocolError),
    /// The peer ended the stream without a complete response, for the reason given. The connection
    /// stays usable.
    Reset(&'static EndReason),
    /// The peer has provably not processed the request, so that it may be sent again (RFC 9113
    /// §8.7).
    Returned,
}

impl StreamEventKind {
    /// True if it is the last event of its stream.
    pub fn is_last(&self) -> bool {
        !matches!(self, StreamEventKind::Began { .. })
    }
}
