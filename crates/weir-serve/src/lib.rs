//! The reference server behind `weir serve`: HTTP/1, HTTP/2 and WebSocket, with and without TLS,
//! with exactly programmed responses, delays, stalls and faults, so that a client's figures can be
//! compared with known values.
//!
//! [`spawn`] starts it on threads of this process and is all that most callers need. A [`Server`]
//! runs the same loop on any [`Backend`](weir_io::Backend). The server sides of the protocols are
//! weir-http's; rustls is the server side of TLS. This crate depends on no plan or histogram;
//! it reads no clock but the backend's, reads no file, and prints nothing.

#![forbid(unsafe_code)]

mod options;

mod behaviour;
mod content_coding;
mod delay;
mod draws;
mod event_stream;
mod extra_header;
mod fault;
mod grpc;
mod http_version;
mod limits;
mod routes;
mod shop;
mod tls;
mod units;
mod web_socket_options;

mod content;
mod reply;
mod request;

mod counters;
mod log;
mod pending;
mod reason;
mod response;
mod stats;
mod stream_head;
mod web_socket;

mod accounts;
mod action;
mod connection;
mod http2;
mod responder;
mod server;

mod handle;

pub use behaviour::{Behaviour, Drip, Framing, Mode, OptionsError, Stall};
pub use content_coding::ContentCoding;
pub use counters::{EventCounts, GrpcCounts, RequestCounts, TlsCounts, WebSocketCounts};
pub use delay::Delay;
pub use draws::Draws;
pub use event_stream::{EventCut, EventData, EventStall, EventStream};
pub use extra_header::ExtraHeader;
pub use fault::{Fault, FaultKind, Share};
pub use grpc::GrpcFault;
pub use handle::{Handle, ServeError, spawn};
pub use http_version::{Http2Options, HttpVersion};
pub use log::{Arrival, write_arrivals};
pub use options::ServeOptions;
pub use pending::Fifo;
pub use routes::{BrokenResponses, Route, RouteBody, RoutePath, Routes};
pub use server::Server;
pub use shop::{ShopOptions, ShopStats};
pub use stats::{RouteStats, Shared, Stats};
pub use tls::TlsConfig;
#[cfg(feature = "tls")]
pub use tls::{Identity, TlsConfigError, TlsOptions, TlsVersion};
pub use units::ParseError;
pub use web_socket_options::WebSocketOptions;
