//! gRPC above HTTP/2 without I/O: messages with their prefix, statuses, and the texts of metadata.
//! Compressed messages of responses are decoded. It knows no schemas, and reads no clock.

mod response;

mod message;

mod encoding;
mod framer;
mod metadata;
mod status;

pub use framer::PREFIX_BYTES;
pub use message::{GrpcMessage, GrpcSplitter, push_message};
pub use metadata::{percent_decoded, timeout_text};
pub use response::{CallFault, CallRules, ReceivedCall, messages_of};
pub(crate) use response::{CallMessage, CallReader};
pub use status::GrpcStatus;
