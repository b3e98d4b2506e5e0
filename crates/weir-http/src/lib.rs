//! The client side of HTTP as values: requests and received bytes in, wire bytes and replies out.
//!
//! This crate never opens a socket, reads a clock, starts a thread or draws a random number; the
//! caller brings the bytes, in whatever pieces they came, and keeps the times. What a reply says
//! does not depend on where the pieces were cut, but for the flags that exist to tell just that.

#![forbid(unsafe_code)]

mod answer;
mod budget;
mod protocol;
mod raw;
mod request;

mod head;
mod http1;

mod error;

pub use answer::{Answer, Interest};
pub use budget::BodyBudget;
pub use error::{ProtocolError, RequestError};
pub use head::{Head, read_head};
pub use http1::{Http1, KnownHead};
pub use protocol::{Protocol, Reply, RequestId};
pub use raw::{RawRequest, RawRequestError, read_requests};
pub use request::{Prepared, RequestTraits};
