//! gRPC above HTTP/2 without I/O: messages with their prefix, statuses, and the texts of metadata.
//! It knows neither schemas nor compression, and reads no clock.

mod message;
mod metadata;
mod status;

pub use message::{GrpcMessage, GrpcSplitter, PREFIX_BYTES, push_message};
pub use metadata::{percent_decoded, timeout_text};
pub use status::GrpcStatus;
