//! HTTP without I/O. The client side takes requests and received bytes, and returns wire bytes and
//! responses; [`server`] takes received bytes and returns requests. [`h2`] is HTTP/2, [`ws`]
//! WebSocket; [`sse`] and [`grpc`] are messages in bodies.
//!
//! This crate never opens a socket, reads a clock, starts a thread or draws a random number. The
//! caller passes received bytes in pieces of any size, and records the times. Responses do not
//! depend on the sizes of the pieces, except for the flags that describe just that. Both sides
//! share the parts of messages.

#![forbid(unsafe_code)]

mod exchange;
mod prepared;
mod protocol;

mod method;
mod multiplexed;
mod request;

mod client;
pub mod grpc;
pub mod h2;
mod head;
mod raw;
pub mod server;
pub mod sse;
pub mod ws;

mod budget;
mod error;
mod message;
mod messages;
mod received_response;
mod request_id;
mod request_traits;
mod response_event;

pub use budget::BodyBudget;
pub use client::{HeadCache, Http1, unfinished_response};
pub use error::{ProtocolError, RequestError};
pub use exchange::{ExchangeError, ExchangeProgress, SingleExchange};
pub use head::{Head, read_head};
pub use message::connection_fields::is_of_connection;
pub use messages::{
    MessageContent, MessageFormat, MessageFraming, MessageKind, MessageReader, MessageReading,
    ReceivedMessage, TokenUsage,
};
pub use method::is_safe_method;
pub use multiplexed::{
    EndReason, Multiplexed, PushedMessage, StreamEvent, StreamEventKind, StreamMessage, WindowWaits,
};
pub use prepared::Prepared;
pub use protocol::{MultiplexedFactory, ProtocolFactory};
pub use raw::{RawRequest, RawRequestError, read_requests};
pub use received_response::{Interest, ReceivedResponse};
pub use request::Request;
pub use request_id::RequestId;
pub use request_traits::RequestTraits;
pub use response_event::ResponseEvent;
